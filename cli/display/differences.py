"""Prints how the answers of two targets differ."""

from typing import TYPE_CHECKING, Final

import click

from logreplay.cli.display.tables import OpenTable
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
        table.add(row.route, row.place, row.kind, *shares, *values)
    pairs = sum(total.pairs for total in found.totals.values())
    if found.counting:
        click.echo(f"answers differ in {percent(found.share)} of {pairs:,} pairs:")
        table.print()
    else:
        click.echo(f"answers: no difference{' that counts' if found.rows else ''} in {number_of(pairs, 'pair')}")
    if (hidden := len(found.counting) - _ROWS) > 0:
        click.echo(f"{number_of(hidden, 'more difference is', 'more differences are')} in differences.csv")
    if others := [row for row in found.rows if not row.counts]:
        why = (
            "not clearly more frequent than between the baselines"
            if found.noise
            else "between UUIDs, time stamps or tokens"
        )
        click.echo(f"differences that do not count: {len(others)}, {why} (differences.csv)")
    click.echo(f"headers not compared: {', '.join(IGNORED_HEADERS)}")
    for sentence in found.left_out:
        click.echo(sentence)
    for word in found.unused:
        click.echo(f"--ignore {word} matched no difference")
