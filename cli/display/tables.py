"""Tables on a terminal: open, never folded, no figure cut; numbers to the right."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table


class OpenTable:
    """Rows under heads, without lines, printed on stdout."""

    def __init__(self, *heads: str, words: Collection[str] = ("verdict",), dispensable: Sequence[str] = ()) -> None:
        """Begin a table.

        Args:
            heads: of the columns. The first one is text, the others are figures.
            words: heads of others that are text.
            dispensable: heads of columns to leave out, the first one first, where a terminal has too little room.
        """
        self._heads, self._words, self._dispensable = heads, words, dispensable
        self._rows: list[list[str]] = []

    def add(self, *cells: str) -> None:
        """Add a row; signs that could steer a terminal are shown as ``?``."""
        self._rows.append(["".join(sign if sign.isprintable() else "?" for sign in cell) for cell in cells])

    def print(self) -> None:
        """Print it, and a blank line after it; nothing if it has no rows."""
        if not self._rows:
            return
        console = Console(highlight=False, markup=False)
        table, width = self._made(())
        for number in range(1, len(self._dispensable) + 1):
            if not console.is_terminal or width <= console.width:
                break
            table, width = self._made(self._dispensable[:number])
        console.width = max(console.width, width)  # what still does not fit is continued on the next line, not cut
        console.print(table)
        console.print()

    def _made(self, without: Sequence[str]) -> tuple[Table, int]:
        """The table without some columns, and its width."""
        table = Table(box=None)
        kept = [index for index, head in enumerate(self._heads) if head not in without]
        for index in kept:
            left = index == 0 or self._heads[index] in self._words
            table.add_column(self._heads[index], justify="left" if left else "right", no_wrap=True)
        for row in self._rows:
            table.add_row(*(row[index] for index in kept))
        return table, table.__rich_measure__(wide := Console(width=10_000), wide.options).maximum


def print_classic(summary: Mapping[str, Any]) -> None:
    """Print the figures of a run as siege and ab count them."""
    from logreplay.analysis.summary import ab_counts, ab_rows, siege_rows

    table = OpenTable("as siege counts", "", " ", words=(" ",))
    for figure in siege_rows(summary):
        table.add(*figure)
    table.print()
    table = OpenTable("as ab counts", " ", words=(" ",))
    for count in ab_counts(summary):
        table.add(*count)
    table.print()
    spread, ladder = ab_rows(summary)
    table = OpenTable("", "min", "mean", "sd", "median", "max")
    for row in spread:
        table.add(*row)
    table.print()
    click.echo("served within: " + ", ".join(f"{percent} {value}" for percent, value in ladder))


def print_times(summary: Mapping[str, Any]) -> None:
    """Print the times of a run, by percentile."""
    from logreplay.analysis.summary import latency_rows

    table = OpenTable("", "response time", "service time", "our lag")
    for cells in latency_rows(summary):
        table.add(*cells)
    table.print()
