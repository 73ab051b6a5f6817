"""Draws the curve of response time against rate as lines of text; knows of no terminal.

A cell of text holds 2 x 4 dots (Unicode braille), so that a curve of 60 cells is 120 dots wide.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median
from typing import Final, Literal

_LABELS: Final = 8
_DOTS: Final = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""Bit of each dot of a braille cell: by column, then from the top. Source: Unicode block U+2800."""
_COLOURS: Final = {"p50": "\x1b[34m", "p99": "\x1b[33m", "bound": "\x1b[32m"}
_PLAIN: Final = "\x1b[0m"
_UNITS: Final = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))

Kind = Literal["p50", "p99", "bound"]


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A step or trial: response times at a rate, seconds; ``good``: the target carried it."""

    rate: float
    p50: float
    p99: float
    good: bool = True


def draw(
    points: Sequence[CurvePoint],
    *,
    width: int,
    height: int,
    unit: str = "req/s",
    bound: float | None = None,
    colour: bool = False,
) -> list[str]:
    """Draw p50 and p99 against the rate: rates from 0, times on a logarithmic scale.

    Args:
        points: in any order; of several at one rate, the lines go through the median.
        width: columns of the drawing, labels included.
        height: lines, likewise.
        unit: unit of the rates, in at most 8 signs.
        bound: a response time to draw as a line, seconds.
        colour: with escape sequences for colours.

    Returns:
        At most ``height`` lines of at most ``width`` columns; none for less than two rates, or without room.
    """
    rates = sorted({point.rate for point in points})
    if len(rates) < 2 or width < 40 or height < 8:
        return []
    times = [time for point in points for time in (point.p50, point.p99)] + ([bound] if bound else [])
    canvas = _Canvas(width - _LABELS - 2, height - 3, rates[-1], *_decades(times))
    if bound:
        canvas.across(bound)
    kinds: tuple[Kind, Kind] = ("p99", "p50")
    for kind in kinds:
        for one, other in pairwise(_typical(points, kind)):
            canvas.line(one, other, kind)
    for kind in kinds:
        for point in points:
            mark = ("●" if kind == "p50" else "▲") if point.good else "x"
            canvas.mark(point.rate, getattr(point, kind), mark, kind)
    legend = "response time   ● p50   ▲ p99" + "   x failed" * any(not point.good for point in points)
    legend += f"   ╌ bound {_time(bound)}" if bound else ""
    return [legend[:width], *canvas.lines(colour=colour), *_axis(rates[-1], canvas.columns, unit)]


def _typical(points: Sequence[CurvePoint], kind: Kind) -> list[tuple[float, float]]:
    ordered = sorted(points, key=lambda point: point.rate)
    grouped = groupby(ordered, key=lambda point: point.rate)
    return [(rate, median(getattr(point, kind) for point in same)) for rate, same in grouped]


def _decades(times: Sequence[float]) -> tuple[float, float]:
    """Ends of the scale: a little beyond the times, a factor of five apart at least."""
    low, high = max(min(times), 1e-6) / 1.2, max(*times, 1e-6) * 1.2
    return (low, high) if high >= 5 * low else (low / math.sqrt(5 * low / high), high * math.sqrt(5 * low / high))


class _Canvas:
    """Cells in which dots, marks and a scale are set."""

    def __init__(self, columns: int, rows: int, most: float, low: float, high: float) -> None:
        self.columns, self._rows, self._most = columns, rows, most
        self._low, self._octaves = low, math.log(high / low)
        self._high = high
        self._cells: list[list[int | str]] = [[0] * columns for _ in range(rows)]
        self._kinds: dict[tuple[int, int], Kind] = {}

    def across(self, time: float) -> None:
        """Draw a dashed line at a time."""
        row = self._y(time) // 4
        for column in range(self.columns):
            self._cells[row][column] = "╌"
            self._kinds[row, column] = "bound"

    def line(self, one: tuple[float, float], other: tuple[float, float], kind: Kind) -> None:
        """Draw a line between two points, each a rate and a time."""
        (x, y), (to_x, to_y) = ((self._x(rate), self._y(time)) for rate, time in (one, other))
        steps = max(abs(to_x - x), abs(to_y - y), 1)
        for step in range(steps + 1):
            self._dot(x + round((to_x - x) * step / steps), y + round((to_y - y) * step / steps), kind)

    def mark(self, rate: float, time: float, mark: str, kind: Kind) -> None:
        """Put a sign at a rate and a time."""
        row, column = self._y(time) // 4, self._x(rate) // 2
        self._cells[row][column] = mark
        self._kinds[row, column] = kind

    def _dot(self, x: int, y: int, kind: Kind) -> None:
        row, column = y // 4, x // 2
        cell = self._cells[row][column]
        self._cells[row][column] = (cell if isinstance(cell, int) else 0) | _DOTS[x % 2][y % 4]
        self._kinds[row, column] = kind

    def _x(self, rate: float) -> int:
        return round(rate / self._most * (2 * self.columns - 1))

    def _y(self, time: float) -> int:
        share = math.log(max(time, self._low) / self._low) / self._octaves
        return round((1 - share) * (4 * self._rows - 1))

    def lines(self, *, colour: bool) -> Iterator[str]:
        """The rows, each after the label of its time."""
        labels = {self._y(time) // 4: _time(time) for time in reversed(list(_ticks(self._low, self._high)))}
        for row, cells in enumerate(self._cells):
            label = labels.get(row, "")
            text = "".join(self._cell(row, column, colour=colour) for column in range(len(cells)))
            yield f"{label:>{_LABELS}} {'┤' if label else '│'}{text}".rstrip()

    def _cell(self, row: int, column: int, *, colour: bool) -> str:
        cell = self._cells[row][column]
        if not cell:
            return " "
        text = cell if isinstance(cell, str) else chr(0x2800 + cell)
        return f"{_COLOURS[self._kinds[row, column]]}{text}{_PLAIN}" if colour else text


def _ticks(low: float, high: float) -> Iterator[float]:
    """1, 2 and 5 of each decade within the scale; of a long scale the decades only."""
    within = [
        digit * 10.0**decade
        for decade in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for digit in ((1,) if high > 1000 * low else (1, 2, 5))
    ]
    return (time for time in within if low <= time <= high)


def _axis(most: float, columns: int, unit: str) -> tuple[str, str]:
    """The line under the canvas, and the rates below it."""
    step = _step(most, columns // 10)
    line, labels = ["─"] * columns, [" "] * (columns + _LABELS + 2)
    for index in range(math.floor(most / step + 1e-9) + 1):
        rate = index * step
        column = round(rate / most * (columns - 0.5) - 0.25)
        line[min(column, columns - 1)] = "┴"
        text = f"{rate:g}"
        first = min(_LABELS + 2 + column - len(text) // 2, len(labels) - len(text))
        labels[first : first + len(text)] = text
    scale = "".join(labels).rstrip()
    return f"{'':{_LABELS}} └{''.join(line)}", f"{unit:>{_LABELS}}{scale[_LABELS:]}"


def _step(most: float, parts: int) -> float:
    """A round number that fits about ``parts`` times into the whole."""
    rough = most / max(parts, 1)
    decade = 10.0 ** math.floor(math.log10(rough))
    return next(digit * decade for digit in (1, 2, 5, 10) if digit * decade >= rough * 0.999)


def _time(seconds: float) -> str:
    name, size = next((each for each in _UNITS if seconds >= each[1]), _UNITS[-1])
    return f"{seconds / size:.3g} {name}"
