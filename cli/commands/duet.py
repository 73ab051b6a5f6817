"""``logreplay duet``: two versions side by side."""

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
@click.argument("log", type=LogName())
@click.argument("baseline")
@click.argument("candidate")
@options
def duet(log: "Log", baseline: str, candidate: str, **given: Any) -> int:
    """Replay LOG against BASELINE and CANDIDATE at once; compare their times. Needs a rate, such as --tps.

    Each request goes to both targets at the same instant, in random order: what disturbs one disturbs the
    other, so a duet detects far smaller changes than two runs one after the other. Rates count requests to each
    target; with --alternate, to both together. Each target that is not on this machine needs --allow-target.

    \b
    Example:
      logreplay duet access.log http://127.0.0.1:8080 http://127.0.0.1:8081 --tps 100 --for 1m
    """
    from logreplay.calls.duet_call import DuetCall
    from logreplay.cli.display.duet import show_duet
    from logreplay.runs.pair import duet_once
    from logreplay.runs.reports import reported

    values, shown = parts(given)
    call = DuetCall(log=log, baseline=baseline, candidate=candidate, **values)
    junit, history = call.written["--junit"], call.written["--history"]
    with SIGNALS.hearing(), reported("duet", junit, history) as report:
        result = report(duet_once(call, shown.terminal()))
    return show_duet(result, alternate=call.alternate, as_json=shown.as_json, quiet=shown.quiet, history=history)
