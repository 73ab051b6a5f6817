"""Shows one duet: what differs, its findings, and which conditions do not hold."""

from pathlib import Path
from typing import TYPE_CHECKING

from logreplay.cli.display.comparison import print_comparison, say_gates
from logreplay.cli.display.differences import print_differences
from logreplay.cli.display.terminal import print_json, print_text, say, say_finding
from logreplay.cli.display.words import explained, print_arrivals
from logreplay.cli.exit_codes import Exit, of_checks
from logreplay.options.load import log_sentence
from logreplay.runs.reports import remember

if TYPE_CHECKING:
    from logreplay.duet_result import DuetResult


def show_duet(result: "DuetResult", *, alternate: bool, as_json: bool, quiet: bool, history: Path | None) -> Exit:
    """Print what differs and the findings; return the exit code."""
    found, summary = result.comparison, result.summary
    if not (found and result.health):
        say(result.sentence, quiet=quiet and bool(result.stopped))
        return Exit.INTERRUPTED if result.stopped else Exit.FAILED
    if as_json:
        print_json(summary)
    elif not quiet:
        print_arrivals(summary["options"])
        print_comparison(found, ("baseline", "candidate"), statuses=not alternate)
        if result.answers:
            print_differences(result.answers)
    for sentence in filter(None, (*result.left_out, log_sentence(summary["replay"]), *found.notes, found.not_covered)):
        say(sentence, quiet=quiet)
    for finding in result.findings:
        say_finding(finding.severity, finding.text, quiet=quiet)
    if result.stopped:
        say(f"{result.stopped}; the rows are kept", quiet=quiet and result.stopped == "interrupted")
    of = f" ({' and '.join(result.health.failing)})" if result.verdict == "TARGET_FAILING" else ""
    say(f"verdict: {explained(result)}{of}\nresults: {result.files[0]}", quiet=quiet)
    say_gates(result.checks)
    if note := remember("duet", summary, history):
        say(note)  # also if quiet: a file lacks the row that was asked for
    if not as_json:
        for sentence in filter(None, (result.health.sentence, found.sentence)):
            print_text(sentence)
    if result.stopped:
        return Exit.INTERRUPTED if result.stopped == "interrupted" else Exit.CONDITION
    return of_checks(result.checks) if result.health.valid else Exit.INVALID
