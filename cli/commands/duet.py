"""``logreplay duet``: two versions side by side."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from logreplay.cli.options.from_table import options, parts
from logreplay.cli.options.help_groups import GroupedCommand
from logreplay.cli.options.log_name import LogName
from logreplay.cli.options.replay import ReplayOptions
from logreplay.cli.options.schedule import NEEDS, YIELDS_TO
from logreplay.cli.signals import SIGNALS
from logreplay.options.answer_rules import AnswerRules
from logreplay.options.load import Load

if TYPE_CHECKING:
    from logreplay.inputs.logs import Log


@dataclass(frozen=True, slots=True, kw_only=True)
class _DuetOptions(ReplayOptions):
    """One duet, as the user asked for it."""

    log: "Log"
    baseline: str
    candidate: str
    noise: str | None
    load: Load
    answer_rules: AnswerRules
    alternate: bool
    fail_above: float | None
    fail_different: float | None
    junit: Path | None
    history: Path | None
    target: str | None = None
    demo_target: bool = False


@click.command(cls=GroupedCommand, yields_to=YIELDS_TO, needs=NEEDS)
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

    options = _DuetOptions(log=log, baseline=baseline, candidate=candidate, **parts(given))
    call = DuetCall(
        log=options.log,
        baseline=options.baseline,
        candidate=options.candidate,
        noise=options.noise,
        load=options.load,
        request_rules=options.request_rules,
        sender_rules=options.sender_rules,
        telling=options.telling,
        answer_rules=options.answer_rules,
        alternate=options.alternate,
        fail_above=options.fail_above,
        fail_different=options.fail_different,
        stop_at=options.stop_at,
        output=options.output,
        force=options.force,
        written={"--junit": options.junit, "--history": options.history},
    )
    options.warn_beyond_timeout({})
    if options.history:
        from logreplay.analysis.output.history import check, of_duet

        check(options.history, of_duet({}))
    with SIGNALS.hearing():
        result = duet_once(call, options.terminal())
    return show_duet(
        result,
        alternate=options.alternate,
        as_json=options.as_json,
        quiet=options.quiet,
        junit=options.junit,
        history=options.history,
    )
