"""Options of ``run`` that set due times: a rate, the log's own times, a shape over time, or users who wait."""

import click

from logreplay.cli.options import sender
from logreplay.cli.options.groups import bundle
from logreplay.cli.options.requests import arrivals_option
from logreplay.cli.options.types import DURATION, RATE, ParsedType, Whole
from logreplay.cli.settings.precedence import exclusive
from logreplay.options import load
from logreplay.options.load import Load

_option = click.option
_OPTIONS = (
    _option("--tps", "--rate", "tps", type=RATE, metavar="R", help="Send R requests/s."),
    arrivals_option("poisson", "even", "log"),
    _option(
        "--speed", type=ParsedType(load.speed_of), metavar="X", help="Replay at the log's own times, X times as fast."
    ),
    _option(
        "--ramp",
        type=ParsedType(load.ramp_of),
        metavar="R..R",
        help="Change the rate steadily from the first to the last R.",
    ),
    _option(
        "--steps",
        type=ParsedType(load.steps_of),
        metavar="R:D,…",
        help="Send at one rate after the other: 50:10s,100:20s.",
    ),
    _option(
        "-c",
        "--vusers",
        type=Whole(1, 1_000_000),
        metavar="N",
        help="Send with N users; each waits for its response.",
    ),
    _option(
        "--think",
        type=ParsedType(load.think_of),
        default=0.0,
        metavar="D|D..D|log",
        help="Pause of a user after each response.  [default: 0]",
    ),
    _option("--follow", is_flag=True, help="Replay new lines of LOG while it is written."),
    _option("--delay", type=DURATION, metavar="D", help="With --follow: send D after the logged time.  [default: 5s]"),
    _option(
        "--for", "--duration", "duration", type=DURATION, metavar="D", help="Run for D.  [default: once through LOG]"
    ),
    _option(
        "-n", "--requests", type=Whole(1), metavar="N", help="Send at most N requests.  [default: once through LOG]"
    ),
    _option("--loop/--no-loop", default=None, help="Restart LOG at its end.  [default: if --for or -n needs it]"),
    _option("--skip-idle", type=DURATION, metavar="D", help="Shorten gaps in the log's times to D."),
)


YIELDS_TO = {
    **sender.YIELDS_TO,
    **exclusive("tps", "speed", "ramp", "steps", "vusers", "follow"),
    "duration": {"steps"},
    "max_in_flight": {"vusers"},
    "late": {"vusers"},
    "shuffle": {"random", "speed", "follow", "arrivals=log"},
    "random": {"shuffle", "speed", "follow", "arrivals=log"},
    "arrivals=log": {"shuffle", "random"},
    "workers": {"follow", "hook"},
    "loop": {"follow"},
    "beginning": {"follow"},
    "target": {"demo_target"},
    "verbose": {"as_json", "quiet"},
    "as_json": {"verbose", "classic"},
    "classic": {"as_json", "quiet"},
    "debug": {"quiet"},
    **{name: {"dry_run"} for name in ("live", "metrics", "watch", "junit", "history")},
    "quiet": {"verbose", "classic", "debug"},
}
NEEDS = {
    **sender.NEEDS,
    "think": {"vusers"},
    "delay": {"follow"},
    "arrivals=log": {"tps"},
    "arrivals=poisson": {"tps", "ramp", "steps"},
    "arrivals=even": {"tps", "ramp", "steps"},
    "skip_idle": {"speed", "arrivals=log"},
}
pacing_options = bundle("load", Load, _OPTIONS)
"""Gives a command the options of pacing; it receives them as one ``load``."""
