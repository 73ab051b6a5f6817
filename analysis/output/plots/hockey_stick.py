"""The hockey stick, and what all pictures share: colours, figures, axes.

Each picture takes an Axes and tables, draws, and returns the Axes; no global state is touched.

Tables are those of `logreplay.analysis.tables.aggregate`. Colours are told apart with colour vision deficiencies as
well, and by line style.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import polars as pl
from matplotlib import rc_context, rcdefaults, rcParams
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from logreplay.analysis.format_time import show, show_range, show_rate
from logreplay.analysis.statistics.quantiles import PERCENTILES, SMALLEST_SAMPLE, Bools, Floats
from logreplay.analysis.verdict.saturation import first_lasting
from logreplay.analysis.verdict.stability import MIX, VOID
from logreplay.core.errors import UsageError
from logreplay.core.masking import safe_to_show

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.legend import Legend


BLUE: Final = "#0072b2"
ORANGE: Final = "#e69f00"
RED: Final = "#d55e00"
GREEN: Final = "#009e73"
PURPLE: Final = "#8c3f73"
GREY: Final = "#6f6f6f"
"""Okabe and Ito's palette, purple darker: distinct to all kinds of colour vision."""

_WIDE_INCHES: Final = 8.0
"""Width of a picture, in inches, from which its legend has three columns."""
_MOST_RATES: Final = 40
"""Rates that are drawn one by one."""


class Picture(Figure):
    """A figure that a notebook shows, also where no backend of Matplotlib draws into it."""

    def _repr_png_(self) -> bytes:
        return png(self)


def png(made: Figure) -> bytes:
    """Draw a figure for a notebook."""
    drawn = BytesIO()
    with style({}):
        made.savefig(drawn, format="png", dpi=100, metadata={"Software": None})
    return drawn.getvalue()


@contextmanager
def style(changes: Mapping[Any, Any]) -> Iterator[None]:
    """Draw with Matplotlib's defaults and these changes.

    A ``matplotlibrc`` of the current folder does not count: it may be a stranger's, and can start programs.
    """
    with rc_context():
        rcdefaults()
        rcParams.update(changes)
        yield


def figure(
    draw: Callable[[Axes], object],
    *,
    size: tuple[float, float] = (9.0, 5.5),
    changes: Mapping[Any, Any] = MappingProxyType({}),
) -> Figure:
    """Draw on the only Axes of a new figure; ``changes`` are those of the `style`."""
    with style(changes):
        made = Picture(figsize=size, layout="constrained")
        FigureCanvasAgg(made)
        draw(made.add_subplot())
        return made


def axes_given(ax: object) -> Axes:
    """Return the Axes that a program gives.

    Raises:
        UsageError: it is something else, such as the array of several that ``subplots`` returns.
    """
    if not isinstance(ax, Axes):
        raise UsageError(f"ax={type(ax).__name__}: expected one Axes of Matplotlib, such as plt.gca()", ("ax",))
    return ax


def drawn(draw: Callable[[Axes], Axes], ax: object) -> Figure | Axes:
    """Draw on the Axes that a program gives, which are returned; or as a figure of its own if they are None."""
    return figure(draw) if ax is None else draw(axes_given(ax))


def save(made: Figure, path: str | Path) -> Path:
    """Write a figure, as PNG or SVG by the ending of the name.

    The same data give the same bytes: no date, no random ids.
    """
    path = Path(path)
    with style({"svg.hashsalt": "logreplay"}):
        made.savefig(path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})
    return path


def column(table: pl.DataFrame, name: str) -> Floats:
    """A column as floats, NaN where there is no value."""
    return np.asarray(table[name].to_numpy(), dtype=np.float64)


def by_rate(steps: pl.DataFrame, *names: str) -> tuple[Floats, ...]:
    """Return the rates of a step table, ascending, and these columns of it.

    Of several trials at a rate it is the median of those that have a value.
    """
    table = pl.DataFrame({name: column(steps, name) for name in ("rate", *names)}).fill_nan(None)
    medians = table.group_by("rate").median().sort("rate")
    return tuple(column(medians, name) for name in ("rate", *names))


def _mostly(steps: pl.DataFrame, *verdicts: str) -> Bools:
    """Whether half of the trials at each rate, ascending, or more have one of these verdicts."""
    _, trial = np.unique(column(steps, "rate"), return_inverse=True)
    return np.bincount(trial, np.isin(steps["verdict"].to_numpy(), verdicts)) >= np.bincount(trial) / 2


def hockey_stick(
    ax: Axes,
    seconds: pl.DataFrame,
    steps: pl.DataFrame,
    *,
    verdict: str = "",
    caption: str = "",
    saturation: Mapping[str, Any] | None = None,
    onset: Mapping[str, Any] | None = None,
    slo: float | None = None,
    linear: bool = False,
) -> Axes:
    """Draw response time against offered rate: a dot for each second, a curve for each percentile of the steps.

    Curves are solid among the rates that the target carried and among those that it did not. Between the two they are
    dashed: no rate in between was measured. A hollow point marks a percentile of too few requests; where p99 is not
    known for that reason, the point is the longest time of the step.

    ``verdict`` is the sentence above the picture, ``caption`` the text below it; ``saturation`` and ``onset`` are as in
    summary.json; ``slo`` is a bound in seconds. A linear time axis is cut off where overload would flatten the rest.
    """
    limited = limited_rates(grouped(steps))
    steps = sent_in_time(grouped(steps))
    middle = "p50" if "p50" in seconds.columns and np.isfinite(column(steps, "p50")).any() else "mean"
    percentiles = percentiles_by_rate(steps, middle)
    rate = by_rate(steps)[0]
    offered, median = column(seconds, "offered"), 1000 * column(seconds, middle)
    drawn = [median, *(times for _, times, _ in percentiles)]
    finite = np.concatenate([values[np.isfinite(values)] for values in drawn])
    bound = None if slo is None else 1000 * slo
    top = _top(finite, bound, linear)
    wall = first_overloaded(steps)
    _dots(ax, offered, median, middle)
    measured = [np.where(np.isinf(times), np.nan, times) for _, times, _ in percentiles]
    for lower, upper, alpha in zip(measured, measured[1:], (0.22, 0.1), strict=False):
        for part in (slice(0, wall), slice(wall, None)):
            ax.fill_between(rate[part], lower[part], upper[part], color=BLUE, alpha=alpha, lw=0)
    for (name, times, known), style, marker in zip(percentiles, ("-", "--", ":"), "o^s", strict=False):
        _curve(ax, rate, times, known, wall, (name, style, marker))
    _failed(ax, steps)
    _legend_of_marks(ax, wall < len(rate), not all(known.all() for _, _, known in percentiles))
    _marks(ax, saturation, onset, slo)
    _hatch_void(ax, limited)
    ax.set_xlim(0, max(rate.max(), offered.max()) * 1.03)
    if linear:
        ax.set_ylim(0, top)
    elif (finite > 0).any():
        ax.set_yscale("log")
        ax.set_ylim(finite[finite > 0].min() / 1.6, top)
    milliseconds(ax.yaxis)
    finish(ax, "offered rate, requests/s", "response time from the scheduled send time, ms", framealpha=0.9)
    legend_below(ax)
    if verdict:
        ax.set_title(verdict[:1].upper() + verdict[1:], fontsize=10.5, loc="left", wrap=True, parse_math=False)
    if caption:
        ax.annotate(caption, (0, 0), (0, -38), xycoords="axes fraction", textcoords="offset points", va="top",
                    fontsize=8, color=GREY, parse_math=False)  # fmt: skip
    return ax


def sent_in_time(steps: pl.DataFrame) -> pl.DataFrame:
    """The steps without those at the rates of `limited_rates`; all steps if nothing would be left."""
    left = steps.filter(~pl.col("rate").is_in([rate for rate, _, _ in limited_rates(steps)]))
    return left if left.height else steps


def limited_rates(steps: pl.DataFrame) -> list[tuple[float, float, float]]:
    """Rates at which this machine, not the target, was measured, each with the span half way to its neighbours."""
    rate, limited = by_rate(steps)[0], _mostly(steps, "generator-limited", VOID)
    middles = (rate[1:] + rate[:-1]) / 2
    low, high = np.concatenate((rate[:1], middles)), np.concatenate((middles, rate[-1:]))
    return list(zip(rate[limited].tolist(), low[limited].tolist(), high[limited].tolist(), strict=True))


def first_overloaded(steps: pl.DataFrame) -> int:
    """Return the index, among the rates ascending, from which the target was overloaded; their number if none."""
    bad = _mostly(steps, "overloaded", "errors")
    first = first_lasting(bad)
    return len(bad) if first is None else first


def grouped(steps: pl.DataFrame) -> pl.DataFrame:
    """Put many rates, as of windows of a recorded log, into few classes of equal width; leave few rates unchanged.

    An invalid trial, or a step without some routes, is left out where the same rate has a valid one.
    """
    if {VOID, MIX} & {*steps["verdict"].to_list()}:
        void = pl.col("verdict").is_in([VOID, MIX])
        steps = steps.filter(~void | void.all().over("rate"))
    rate = column(steps, "rate")
    if len(np.unique(rate)) <= _MOST_RATES:
        return steps
    width = (rate.max() - rate.min()) / (_MOST_RATES // 2)
    classes = rate.min() + width * (np.floor((rate - rate.min()) / width) + 0.5)
    return steps.with_columns(rate=classes)


def percentiles_by_rate(steps: pl.DataFrame, middle: str) -> list[tuple[str, Floats, Bools]]:
    """Return name, milliseconds by rate, and whether enough requests support it, of each percentile that is known.

    Where they do not, the longest time of the step stands for it.
    """
    _, number, longest = by_rate(steps, "scheduled", "max")
    found = []
    for name, times in zip((middle, "p95", "p99"), by_rate(steps, middle, "p95", "p99")[1:], strict=True):
        supported = number >= SMALLEST_SAMPLE.get(PERCENTILES.get(name, 0), 1)
        if np.isfinite(times).any():
            found.append((name, 1000 * np.where(np.isnan(times) & ~supported, longest, times), supported))
    return found


def _curve(ax: Axes, rate: Floats, times: Floats, known: Bools, wall: int, look: tuple[str, str, str]) -> None:
    """Draw a percentile: a line on each side of the wall, dashes across it, hollow points where it is not known."""
    name, style, marker = look
    ax.plot([], [], color=BLUE, ls=style, marker=marker, ms=4, label=name)
    measured = np.where(np.isinf(times), np.nan, times)
    width = 1.6 if style == "-" else 1.0
    for part in (slice(0, wall), slice(wall, None)):
        ax.plot(rate[part], measured[part], color=BLUE, ls=style, lw=width, zorder=4,
                marker=marker, ms=4, markevery=np.flatnonzero(known[part]).tolist())  # fmt: skip
    if 0 < wall < len(rate):
        ax.plot(rate[wall - 1 : wall + 1], measured[wall - 1 : wall + 1], color=GREY, ls=(0, (2, 3)), lw=0.9, zorder=3)
    if not known.all():
        ax.plot(rate[~known], measured[~known], color=BLUE, marker=marker, mfc="white", ms=5, lw=0, zorder=5)


def rates_failed(steps: pl.DataFrame, name: str) -> Floats:
    """Return the rates at which a percentile falls on a failed request."""
    rate, times = by_rate(steps, name)
    return np.asarray(rate[np.isinf(times)])


def _failed(ax: Axes, steps: pl.DataFrame) -> None:
    """Mark at the top of the picture the rates at which a percentile falls on a failed request."""
    for name, height, marker in (("p99", 0.955, "s"), ("p95", 0.925, "^")):
        rates = rates_failed(steps, name)
        if len(rates):
            ax.scatter(rates, np.full(len(rates), height), s=26, marker=marker, facecolors="none", edgecolors=RED,
                       lw=1.0, zorder=5, transform=ax.get_xaxis_transform(),
                       label=f"{name} failed: it falls on a failed request")  # fmt: skip


def legend_below(ax: Axes) -> None:
    """Move the legend below the axes, off the points, where a layout makes room for it; elsewhere it stays."""
    legend, made = ax.get_legend(), ax.get_figure(root=True)
    if legend is None or made is None or not made.get_layout_engine():
        return
    handles, labels = ax.get_legend_handles_labels()
    legend.remove()
    columns, size = (3, 8.0) if made.get_figwidth() >= _WIDE_INCHES else (2, 6.5)
    made.legend(handles, labels, loc="outside lower left", ncols=columns, fontsize=size, framealpha=0.0)


def _legend_of_marks(ax: Axes, wall: bool, hollow: bool) -> None:
    """Name in the legend what the dashes and the hollow points mean, where there are any."""
    if wall:
        ax.plot([], [], color=GREY, ls=(0, (2, 3)), lw=0.9, label="last stable to first overloaded: not measured")
    if hollow:
        ax.plot([], [], color=BLUE, marker="s", mfc="white", ms=5, lw=0, label="too few requests (p99: longest)")


def _dots(ax: Axes, offered: Floats, median: Floats, name: str) -> None:
    """Draw one dot a second, and crosses at the top where most requests failed."""
    answered, failed = np.isfinite(median), np.isinf(median)
    ax.scatter(offered[answered], median[answered], s=7, color=GREY, alpha=0.55, lw=0,
               rasterized=True, zorder=2, label=f"{name} of one second")  # fmt: skip
    if failed.any():
        ax.scatter(offered[failed], np.full(failed.sum(), 0.985), s=14, marker="x", color=RED, lw=0.8, zorder=3,
                   transform=ax.get_xaxis_transform(), label="one second in which most failed")  # fmt: skip


def _marks(ax: Axes, saturation: Mapping[str, Any] | None, onset: Mapping[str, Any] | None, slo: float | None) -> None:
    """Draw saturation and onset with their ranges, and the bound; told apart by line style too."""
    for name, bend, colour, style in (("saturation", saturation, ORANGE, "-"), ("onset", onset, PURPLE, "-.")):
        if bend and bend.get("found"):
            ax.axvspan(bend["low"], bend["high"], color=colour, alpha=0.13, lw=0)
            label = f"{name} ~{show_rate(bend['rate'])}/s ({show_range(bend['low'], bend['high'])}/s)"
            ax.axvline(bend["rate"], color=colour, lw=1.8, ls=style, label=label)
    if slo is not None:
        ax.axhline(1000 * slo, color=GREEN, lw=1.2, ls="--", label=f"bound {show(slo)}")


def finish(
    ax: Axes,
    horizontal: str,
    vertical: str,
    corner: Literal["upper left", "lower right"] = "upper left",
    framealpha: float | None = None,
) -> "Legend":
    """Name both axes, draw the grid and, in a corner, the legend."""
    ax.set_xlabel(horizontal)
    ax.set_ylabel(vertical)
    ax.grid(alpha=0.25, lw=0.5)
    return ax.legend(loc=corner, fontsize=8, framealpha=framealpha)


def drawable(name: str, longest: int) -> str:
    """A name that can be drawn, whatever a log put into it: secrets masked, cut at its end."""
    drawn = safe_to_show(name)
    return drawn if len(drawn) <= longest else f"{drawn[: longest - 1]}…"


def logarithmic(ax: Axes) -> None:
    """Make the vertical axis logarithmic, if any line holds a value that can be shown on it."""
    if any(np.any(np.asarray(line.get_ydata(), dtype=np.float64) > 0) for line in ax.get_lines()):
        ax.set_yscale("log")


def plain_numbers(axis: "Axis") -> None:
    """Label an axis 0.01, 0.1, 1 also where it is logarithmic."""

    def between(value: float, _: object) -> str:
        low, high = axis.get_view_interval()
        return f"{value:g}" if high < 100 * low and f"{value:e}"[0] in "25" else ""  # crowded over more decades

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(FuncFormatter(between))


def milliseconds(axis: "Axis") -> None:
    """Label an axis of milliseconds in full; a logarithmic one at 1, 2 and 5 times each power of ten."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    if axis.get_scale() == "log":
        axis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=100))
        axis.set_minor_locator(NullLocator())


def _top(finite: Floats, slo: float | None, linear: bool) -> float:
    """Upper end of the time axis."""
    if not len(finite):
        return 1.0
    highest = float(finite.max())
    if not linear:
        return max(highest, slo or 0.0) * 2.2
    floor = float(np.quantile(finite, 0.25))
    return min(highest, 5 * slo if slo else 30 * floor) * 1.05


def _hatch_void(ax: Axes, limited: list[tuple[float, float, float]]) -> None:
    """Hatch the rates at which this machine, not the target, was measured."""
    if not limited:
        return
    for _, left, right in limited:
        ax.axvspan(left, right, facecolor="none", edgecolor=GREY, hatch="//", alpha=0.4, lw=0, zorder=1)
    ax.fill_between(
        [], [], facecolor="none", edgecolor=GREY, hatch="//", label="invalid: the replay machine was the limit"
    )
