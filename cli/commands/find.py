"""``logreplay find``: the highest rate that keeps a bound."""

from dataclasses import replace
from secrets import randbelow
from typing import Any

import click
from click.core import ParameterSource

from logreplay.analysis.wording import spoken
from logreplay.cli.options import sender
from logreplay.cli.options.help_groups import GroupedCommand
from logreplay.cli.options.log_name import LogName
from logreplay.cli.options.replay import folder_options, junit_option, replay_options
from logreplay.cli.options.requests import arrivals_option, restart_option
from logreplay.cli.options.types import DURATION, RATE, ParsedType, Whole, percent
from logreplay.cli.running.find import BOUNDS, FindOptions, find_rate
from logreplay.options.think import parse_pauses


def _bound_options(command: Any) -> Any:
    for name in reversed(BOUNDS):
        text = f"Bound on the {spoken(name)} response time."
        command = click.option(f"--{name}", type=DURATION, metavar="D", help=text)(command)
    return command


@click.command(
    cls=GroupedCommand,
    yields_to={
        **sender.YIELDS_TO,
        "target": {"demo_target"},
        "workers": {"hook", "by_client"},
        "arrivals": {"vusers"},
        "max_in_flight": {"vusers"},
        "late": {"vusers"},
        "shuffle": {"random"},
        "random": {"shuffle"},
    },
    needs={**sender.NEEDS, "think": {"vusers"}},
)
@click.argument("log", required=False, type=LogName())
@click.argument("target", required=False)
@_bound_options
@click.option(
    "--max-errors",
    type=percent(),
    default="1%",
    show_default=True,
    metavar="P%",
    help="Share of requests that may fail.",
)
@click.option("--start", type=RATE, default="10", show_default=True, metavar="R", help="First and lowest rate.")
@click.option("--max-tps", type=RATE, metavar="R", help="Never try a higher rate.  [default: no limit]")
@click.option(
    "--precision",
    type=percent(),
    default="5%",
    show_default=True,
    metavar="P%",
    help="Narrow the bracket no further than P%.",
)
@click.option(
    "--trial",
    "trial_s",
    type=DURATION,
    metavar="D",
    help="Length of a full trial.  [default: --budget/15]",
)
@click.option("--trials", type=Whole(1), default=25, show_default=True, metavar="N", help="Make at most N trials.")
@click.option("--budget", type=DURATION, default="2m", show_default=True, metavar="D", help="Time for all trials.")
@arrivals_option("poisson", "even")
@click.option("-c", "--vusers", is_flag=True, help="Search a number of users; rates are then user counts.")
@click.option(
    "--think",
    type=ParsedType(parse_pauses),
    metavar="D|D..D",
    help="Pause of a user after each response.  [default: 0]",
)
@restart_option
@click.option("--tps", "--rate", "tps", type=RATE, metavar="R", help="Say how many such machines carry R.")
@junit_option
@folder_options
@replay_options
def find(**given: Any) -> int:
    """Find the highest rate at which TARGET keeps a bound on response time, such as --p99 300ms.

    Give one or more bounds; all must hold, and --max-errors bounds the requests that fail. Short
    trials, each 1.6 times as fast as the last, close in on the limit; one long trial for the rest of --budget confirms
    a rate that is lower by a margin. LOG is an access log or a normalized CSV; TARGET is http://HOST:PORT. Exit code 4:
    the bound does not hold at the lowest rate; 3: no valid answer. Units: R requests/s, D a duration (300ms, 10s, 5m; a
    bare 10 is seconds), P% a share (5% or 0.05).

    \b
    Example:
      logreplay find access.log http://127.0.0.1:8080 --p99 300ms --start 50 --tps 2000
    """
    limits = {name: given.pop(name) for name in BOUNDS}
    if click.get_current_context().get_parameter_source("seed") is ParameterSource.DEFAULT:
        given["request_rules"] = replace(given["request_rules"], seed=randbelow(1_000_000))
    return find_rate(FindOptions(limits=limits, **given))


next(param for param in find.params if param.name == "seed").show_default = "a new one"  # type: ignore[attr-defined]
