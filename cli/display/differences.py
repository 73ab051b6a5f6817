"""Prints how the answers of two targets differ."""

from typing import TYPE_CHECKING, Final

from logreplay.cli.display.tables import OpenTable
from logreplay.cli.display.terminal import print_text
from logreplay.core.masking import masked
from logreplay.core.plural import number_of

if TYPE_CHECKING:
    from logreplay.analysis.response_diff.aggregate import AnswerDifferences

_ROWS: Final = 30
_VALUE: Final = 30


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
