"""Prints tables without lines on standard output: no folded row, no cut figure, numbers to the right."""

import shutil
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len

from logreplay.cli.display.terminal import print_text
from logreplay.core.masking import terminal_safe
from logreplay.core.plural import number_of

if TYPE_CHECKING:
    import polars as pl

_MOST_ROWS: Final = 100
"""Steps shown on a terminal."""
_UNKNOWN: Final = "–"
"""Text of a cell without a figure; a column of these alone is not printed."""


class OpenTable:
    """Rows under heads, without lines, printed on stdout."""

    def __init__(self, *heads: str, words: Collection[str] = ("verdict",), dispensable: Sequence[str] = ()) -> None:
        """Begin a table: the first column and those of ``words`` are text, the others are figures.

        Where a terminal has too little room, columns of ``dispensable`` heads are left out, the first one first.
        """
        self._heads, self._words, self._dispensable = heads, words, dispensable
        self._rows: list[list[str]] = []

    def add(self, *cells: str) -> None:
        """Add a row; signs that could steer a terminal are shown as ``?``."""
        self._rows.append([terminal_safe(cell) for cell in cells])

    def add_all(self, rows: Iterable[Sequence[str]]) -> "OpenTable":
        """Add rows; return this table."""
        for row in rows:
            self.add(*row)
        return self

    def print(self) -> None:
        """Print it, and a blank line after it; nothing if it has no rows."""
        if not self._rows:
            return
        known = [0, *(at for at in range(1, len(self._heads)) if any(row[at] != _UNKNOWN for row in self._rows))]
        columns = [_Column.of(self._heads[at], [row[at] for row in self._rows], text=self._text(at)) for at in known]
        room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        for name in self._dispensable:
            if room is None or sum(column.width + 2 for column in columns) <= room:
                break
            columns = [column for column in columns if column.head != name]
        for number in range(-1, len(self._rows)):
            line = "  ".join(column.cell(number) for column in columns)
            print_text(f" {line}".rstrip(), bold=number < 0)
        print_text()

    def _text(self, at: int) -> bool:
        return at == 0 or self._heads[at] in self._words


@dataclass(frozen=True, slots=True)
class _Column:
    """A column whose cells are filled up to its width; text to the left."""

    head: str
    cells: Sequence[str]
    width: int
    text: bool

    @classmethod
    def of(cls, head: str, cells: Sequence[str], *, text: bool) -> "_Column":
        return cls(head, cells, max(map(cell_len, (head, *cells))), text)

    def cell(self, number: int) -> str:
        """A cell by its row; -1 is the head."""
        shown = self.head if number < 0 else self.cells[number]
        blanks = " " * (self.width - cell_len(shown))
        return shown + blanks if self.text else blanks + shown


def print_classic(summary: Mapping[str, Any]) -> None:
    """Print the figures of a run as siege and ab count them."""
    from logreplay.analysis.summary_rows import ab_counts, ab_rows, siege_rows

    OpenTable("as siege counts", "", " ", words=(" ",)).add_all(siege_rows(summary)).print()
    OpenTable("as ab counts", " ", words=(" ",)).add_all(ab_counts(summary)).print()
    spread, ladder = ab_rows(summary)
    OpenTable("", "min", "mean", "sd", "median", "max").add_all(spread).print()
    print_text("served within: " + ", ".join(f"{percent} {value}" for percent, value in ladder))


def print_times(summary: Mapping[str, Any]) -> None:
    """Print the times of a run, by percentile."""
    from logreplay.analysis.summary_rows import latency_heads, latency_rows

    OpenTable("", *latency_heads(summary)).add_all(latency_rows(summary)).print()


def print_costs(summary: Mapping[str, Any]) -> None:
    """Print the cost of each route; nothing if it was not measured."""
    if not (costs := summary.get("costs")):
        return
    from logreplay.analysis.costs.route_costs import RouteCost, cost_rows

    heads, *rows = cost_rows([RouteCost(**row) for row in costs["routes"]])
    OpenTable(*heads, words=heads[-1:]).add_all(rows).print()


def print_summary(
    summary: Mapping[str, Any], steps: "pl.DataFrame | None", *, classic: bool = False, short: bool = False
) -> None:
    """Print the tables of one run on stdout: steps if there are several, times, ``classic`` figures of siege and ab.

    Of several rates only the times of the highest stable step are printed; if ``short``, none.
    """
    import polars as pl

    from logreplay.analysis.input.external_metrics import PREFIX, watched_in
    from logreplay.analysis.summary_rows import last_stable, place_of_stable, saturation_rate, step_names, step_rows

    limit = saturation_rate(summary)
    if steps is not None and steps.height > 1:
        level = "users" if "users" in steps.columns else "rate/s"
        heads = (level, "sent/s", "goodput", "errors", "mean", "p50", "p90", "p95", "p99", "p99 95% CI", "lag p95")
        names = watched_in(steps.columns)
        dispensable = ("sent/s", "p90", "lag p95", "p95", "p99 95% CI", "mean", *names)
        table = OpenTable(*heads, *names, "verdict", dispensable=dispensable)
        shown = steps.head(_MOST_ROWS)
        for (*times, verdict), step in zip(step_rows(shown, limit), shown.iter_rows(named=True), strict=True):
            figures = (step[PREFIX + name] for name in names)
            table.add(*times, *("–" if figure is None else f"{figure:.4g}" for figure in figures), verdict)
        table.print()
        if steps.height > _MOST_ROWS:
            print_text(f"{number_of(steps.height - _MOST_ROWS, 'more step is', 'more steps are')} in steps.csv")
    if short:
        return
    if steps is not None and "by_step" in summary:
        label = last_stable(steps)
        if label is None:
            return
        name = step_names(steps, summary)[label]
        summary = next(step for step in summary["by_step"] if step["step"] == label)
        last = steps.row(by_predicate=pl.col("step") == label, named=True)
        print_text(f"times at {place_of_stable(last, name, limit)}")
    print_times(summary)
    if classic and "siege" in summary:
        print_classic(summary)
