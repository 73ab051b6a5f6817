"""``logreplay sweep``: one step for each rate, and the curve of response time against rate."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from logreplay.cli.options.progress import WithLive
from logreplay.cli.options.replay import folder_options, replay_options
from logreplay.cli.options.requests import arrivals_option
from logreplay.cli.options.think import parse_pauses
from logreplay.cli.options.types import DURATION, PAUSE, ParsedType, parse_rates
from logreplay.cli.running.sweep import SweepOptions, sweep_rates


def _users(text: str) -> Sequence[int]:
    """Read ``1,10,50`` as numbers of users.

    Raises:
        ValueError: not numbers, or one is not larger than the one before it.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() and 0 < int(part) <= 1_000_000 for part in parts):
        raise ValueError(f"{text!r} are no numbers of users; write 1,10,50")
    users = [int(part) for part in parts]
    if users != sorted(set(users)):
        raise ValueError(f"{text!r}: each number of users must be larger than the one before it")
    return users


@click.command(
    cls=WithLive,
    short_help="A step per rate, and where the curve bends.",
    yields_to={
        "workers": {"hook"},
        "max_in_flight": {"vusers"},
        "late": {"vusers"},
        "arrivals": {"vusers"},
        "arrivals=log": {"shuffle", "random"},
        "shuffle": {"random", "arrivals=log"},
        "random": {"shuffle", "arrivals=log"},
        "refine": {"vusers"},
        "settle": {"vusers", "arrivals=log"},
        "output": {"resume"},
    },
    needs={"think": {"vusers"}},
)
@click.argument("rates", required=False, metavar="RATES")
@click.argument("log", required=False)
@click.argument("target", required=False)
@click.option("--for", "duration", type=DURATION, default="10s", show_default=True, help="How long each step is.")
@arrivals_option("poisson", "even", "log")
@click.option(
    "--vusers", type=ParsedType(_users), metavar="N,N,…", help="Instead of RATES: so many users who wait, step by step."
)
@click.option(
    "--think",
    type=ParsedType(parse_pauses),
    default=0.0,
    metavar="D|D..D",
    help="Pause of a user after each response, or a range to draw each pause from evenly; default: none.",
)
@click.option(
    "--warmup",
    type=PAUSE,
    help="Send at the lowest rate first; not judged, kept in warmup.csv.",
)
@click.option("--settle", type=PAUSE, help="Before each step, send at its rate; not judged, likewise.")
@click.option(
    "--repeat", type=click.IntRange(1, 1000), default=1, show_default=True, help="Go through all rates N times."
)
@click.option("--order", type=click.Choice(["given", "up", "down", "shuffle"]), default="given", show_default=True)
@click.option("--keep-going", is_flag=True, help="Go on after two rates in a row that the target did not carry.")
@click.option("--refine", is_flag=True, help="Afterwards, smaller steps where the target saturates.")
@click.option("--resume", type=click.Path(path_type=Path), help="Folder of an interrupted sweep: make what is missing.")
@folder_options
@replay_options
def sweep(rates: str | None, log: str | None, target: str | None, **given: Any) -> int:
    """Replay LOG against TARGET at each of RATES, and find where the response-time curve bends.

    RATES are requests per second: 50..400, 50..400:25 or 10,20,50. Every step sends the log from its beginning;
    between steps all answers are waited for. After two rates in a row that the target did not carry, no higher one
    is tried. Every finished step is on disk: an interrupted sweep goes on where it was, if called again with the
    same arguments and --resume DIR.

    LOG is an access log or a normalized CSV, without it the bundled sample log; TARGET is http://HOST:PORT, without
    it a built-in one. Exit code 4: a condition of --stop came true.

    \b
    Example:
      logreplay sweep 50..400 access.log http://127.0.0.1:8080 --for 30s --stop 'errors>5%/10s' -o sweep
      logreplay sweep --vusers 1,10,50,100,200,300 access.log http://127.0.0.1:8080
    """
    if given["vusers"] and _rates_win(rates):
        given |= {"vusers": None, "think": 0.0}
    if given["vusers"]:
        rates, log, target = None, *_without_rates(rates, log, target)
    return sweep_rates(SweepOptions(rates=rates, log=log, target=target, **given))


def _rates_win(rates: str | None) -> bool:
    """Return whether RATES are typed, and the users come from the settings."""
    source = click.get_current_context().get_parameter_source
    typed, users = (source(name) is ParameterSource.COMMANDLINE for name in ("rates", "vusers"))
    try:
        return typed and not users and bool(parse_rates(rates or ""))
    except ValueError:
        return False


def _without_rates(*given: str | None) -> tuple[str | None, str | None]:
    """LOG and TARGET where no RATES are given: what was typed moves up, what was not comes from the settings."""
    source = click.get_current_context().get_parameter_source
    names = ("rates", "log", "target")
    typed = [value for name, value in zip(names, given, strict=True) if source(name) is ParameterSource.COMMANDLINE]
    if len(typed) > 2:
        raise click.UsageError("--vusers stands instead of RATES: give LOG and TARGET only")
    log, target = [*typed, *given[1 + len(typed) :]]
    return log, target
