"""``logreplay duet``: two versions side by side."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from logreplay.cli.options.answers import comparing_options
from logreplay.cli.options.help_groups import GroupedCommand
from logreplay.cli.options.log_name import LogName
from logreplay.cli.options.progress import telling_options
from logreplay.cli.options.replay import ReplayOptions, history_option, junit_option
from logreplay.cli.options.requests import shaping_options
from logreplay.cli.options.schedule import NEEDS, YIELDS_TO, pacing_options
from logreplay.cli.options.sender import sending_options
from logreplay.cli.options.stop import stop_option
from logreplay.cli.options.types import percent
from logreplay.cli.settings.share import share_option
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
@pacing_options
@click.option("--alternate", is_flag=True, help="Send each request to one target, drawn at random, not to both.")
@click.option("--noise", metavar="URL", help="Second instance of BASELINE: what differs between the two is noise.")
@click.option(
    "--fail-above",
    type=percent(most=10),
    metavar="P%",
    help="Exit with 4 if CANDIDATE is slower by more, such as 5%, or if 1% more of its requests failed; with 3 if that "
    "cannot be judged.",
)
@click.option(
    "--fail-different",
    type=percent(),
    metavar="P%",
    help="Exit with 4 if more of the pairs have different answers, such as 0.1%.",
)
@junit_option
@history_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write results to this folder.  [default: duet-TIME]",
)
@click.option("--force", is_flag=True, help="Replace an existing result.")
@share_option
@click.option("--json", "as_json", is_flag=True, help="Print summary.json instead of tables.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
@comparing_options
@stop_option
@telling_options
@shaping_options
@sending_options
def duet(**given: Any) -> int:
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

    options = _DuetOptions(**given)
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
