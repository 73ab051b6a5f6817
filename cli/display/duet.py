"""Shows one duet: how times and answers differ, its findings, and which conditions do not hold."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from logreplay.cli.display.comparison import print_comparison, say_gates
from logreplay.cli.display.tables import OpenTable
from logreplay.cli.display.terminal import print_json, print_text, say, say_finding
from logreplay.cli.display.words import explained, print_arrivals
from logreplay.cli.exit_codes import Exit, of_checks
from logreplay.core.masking import masked
from logreplay.core.plural import number_of
from logreplay.options.load import log_sentence
from logreplay.runs.reports import remember

if TYPE_CHECKING:
    from logreplay.analysis.response_diff.aggregate import AnswerDifferences
    from logreplay.folder_results import DuetResult

_ROWS: Final = 30
_VALUE: Final = 30


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


def print_differences(found: "AnswerDifferences") -> None:
    """Print the differences that count, and what the others are."""
    from logreplay.analysis.output.duet_page import percent
    from logreplay.analysis.response_diff.rules import IGNORED_HEADERS

    table = OpenTable(
        *("route", "place", "kind", "pairs", "share", "noise", "baseline", "candidate"),
        words=("place", "kind", "baseline", "candidate"),
        dispensable=("candidate", "baseline"),
    )
    for row in found.counting[:_ROWS]:
        values = (value if len(value) <= _VALUE else value[:_VALUE] + "…" for value in (row.baseline, row.candidate))
        shares = (f"{row.count:,}", percent(row.share), percent(row.noise_share))
        table.add(masked(row.route), row.place, row.kind, *shares, *values)
    pairs = sum(total.pairs for total in found.totals.values())
    if found.counting:
        print_text(f"answers differ in {percent(found.share)} of {pairs:,} pairs:")
        table.print()
    else:
        print_text(f"answers: no difference{' that counts' if found.rows else ''} in {number_of(pairs, 'pair')}")
    if (hidden := len(found.counting) - _ROWS) > 0:
        print_text(f"{number_of(hidden, 'more difference is', 'more differences are')} in differences.csv")
    if others := [row for row in found.rows if not row.counts]:
        why = (
            "not clearly more frequent than between the baselines"
            if found.noise
            else "between UUIDs, time stamps or tokens"
        )
        print_text(f"differences that do not count: {len(others)}, {why} (differences.csv)")
    print_text(f"headers not compared: {', '.join(IGNORED_HEADERS)}")
    for sentence in found.left_out:
        print_text(sentence)
    for word in found.unused:
        print_text(f"--ignore {word} matched no difference")
