"""``logreplay find``: the highest rate that keeps a bound."""

from typing import Any

import click

from logreplay.cli.options.progress import WithLive
from logreplay.cli.options.replay import folder_options, replay_options
from logreplay.cli.options.requests import arrivals_option
from logreplay.cli.options.think import parse_pauses
from logreplay.cli.options.types import DURATION, RATE, ParsedType, percent
from logreplay.cli.running.find import BOUNDS, FindOptions, find_rate
from logreplay.cli.running.log_and_target import LogName


def _bound_options(command: Any) -> Any:
    for name in reversed(BOUNDS):
        command = click.option(f"--{name}", type=DURATION, help=f"Bound on the {name} of the response time.")(command)
    return command


@click.command(
    cls=WithLive,
    short_help="The highest rate that keeps a bound.",
    yields_to={
        "workers": {"hook", "by_client"},
        "arrivals": {"vusers"},
        "max_in_flight": {"vusers"},
        "late": {"vusers"},
        "shuffle": {"random"},
        "random": {"shuffle"},
    },
    needs={"think": {"vusers"}},
)
@click.argument("log", required=False, type=LogName())
@click.argument("target", required=False)
@_bound_options
@click.option("--max-errors", type=percent(), default="1%", show_default=True, help="Share of requests that may fail.")
@click.option("--start", type=RATE, default="10", show_default=True, help="Lowest rate, tried first.")
@click.option("--max-tps", type=RATE, help="Never try a higher rate.")
@click.option("--precision", type=percent(), default="5%", show_default=True, help="How close the bracket must be.")
@click.option(
    "--trial",
    "trial_s",
    type=DURATION,
    help="Length of a full trial; those that confirm take twice as long. Default: 60s, or as needed.",
)
@click.option("--trials", type=click.IntRange(1), default=25, show_default=True, help="No more trials than these.")
@click.option("--budget", type=DURATION, default="15m", show_default=True, help="Time for all trials.")
@arrivals_option("poisson", "even")
@click.option(
    "--vusers", is_flag=True, help="Search for users who wait for their answers; all rates are numbers of them."
)
@click.option(
    "--think",
    type=ParsedType(parse_pauses),
    metavar="D|D..D",
    help="--vusers: pause of a user after each response, or a range to draw each pause from evenly; default: none.",
)
@click.option("--tps", type=RATE, help="Say how many such machines this rate needs.")
@folder_options
@replay_options
def find(**given: Any) -> int:
    """Find the highest rate at which TARGET keeps a bound on response time.

    At least one bound, such as --p99 300ms; several must hold together. A failed request counts as late. Starting at
    the lowest rate, trials go up by a factor of 1.6 until one fails, close in on the limit, and then repeat the rate
    that passed: what is promised was seen several times. It takes about ten trials.

    LOG is an access log or a normalized CSV, without it the bundled sample log; TARGET is http://HOST:PORT, without
    it a built-in one. Exit code 4: the bound does not hold even at the lowest rate; 3: there is no valid answer.

    \b
    Example:
      logreplay find access.log http://127.0.0.1:8080 --p99 300ms --start 50 --tps 2000
    """
    limits = {name: given.pop(name) for name in BOUNDS}
    return find_rate(FindOptions(limits=limits, **given))
