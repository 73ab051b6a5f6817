"""``logreplay find``: the highest rate that keeps a bound."""

from typing import TYPE_CHECKING, Any

import click

from logreplay.cli.options.from_table import options
from logreplay.cli.options.help_groups import GroupedCommand
from logreplay.cli.options.replay import parts
from logreplay.cli.options.types import LogName
from logreplay.cli.signals import SIGNALS

if TYPE_CHECKING:
    from logreplay.inputs.logs import Log


@click.command(cls=GroupedCommand)
@click.argument("log", required=False, type=LogName())
@click.argument("target", required=False)
@options
def find(log: "Log | None", target: str | None, **given: Any) -> int:
    """Find the highest rate at which TARGET keeps a bound on response time, such as --p99 300ms.

    Give one or more bounds; all must hold, and --max-errors bounds the requests that fail. Short
    trials, each 1.6 times as fast as the last, close in on the limit; one long trial for the rest of --budget confirms
    a rate that is lower by a margin. LOG is an access log or a normalized CSV; TARGET is http://HOST:PORT. Exit code 4:
    the bound does not hold at the lowest rate; 3: no valid answer. Units: R requests/s, D a duration (300ms, 10s, 5m; a
    bare 10 is seconds), P% a share (5% or 0.05).

    \b
    Example:
      logreplay find access.log http://127.0.0.1:8080 --p99 300ms --start 50 --demand 2000
    """
    from logreplay.calls.find_call import FindCall, seed_of, taken_bounds
    from logreplay.cli.display.rates import show_find
    from logreplay.runs.rate_search import find_once
    from logreplay.runs.reports import reported

    values, shown = parts({**given, "seed": seed_of(given["seed"]), "target": target})
    bounds = taken_bounds(values)
    call = FindCall(log=log, bounds=bounds, **values)
    with SIGNALS.hearing(), reported("find", call.written["--junit"]) as report:
        result = report(find_once(call, shown.terminal(min(bounds.values(), default=None))))
    return show_find(result, as_json=shown.as_json, quiet=shown.quiet)
