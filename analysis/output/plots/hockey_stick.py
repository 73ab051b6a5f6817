"""The hockey stick, and what all pictures share: colours, figures, axes.

Each picture takes an Axes and tables, draws, and returns the Axes; no global state is touched.

Tables are those of `logreplay.analysis.tables.windows`, as Polars or pandas frames. Colours are told apart with colour
vision deficiencies as well, and by line style.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from logreplay.analysis.statistics.quantiles import Floats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.legend import Legend

    Table = pl.DataFrame | pd.DataFrame

Bools: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"

BLUE: Final = "#0072b2"
ORANGE: Final = "#e69f00"
RED: Final = "#d55e00"
GREEN: Final = "#009e73"
GREY: Final = "#7f7f7f"
"""Okabe and Ito's palette: distinct to all kinds of colour vision."""


def figure(draw: Callable[["Axes"], object], *, size: tuple[float, float] = (9.0, 5.5)) -> Figure:
    """Draw on the one Axes of a fresh figure, which belongs to nobody else."""
    made = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(made)
    draw(made.add_subplot())
    return made


def save(made: Figure, path: str | Path) -> Path:
    """Write a figure, as PNG or SVG by the ending of the name.

    The same data give the same bytes: no date, no random ids.
    """
    path = Path(path)
    with rc_context({"svg.hashsalt": "logreplay"}):
        made.savefig(path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})
    return path


def column(table: "Table", name: str) -> Floats:
    """A column as floats, NaN where there is no value."""
    return np.asarray(table[name].to_numpy(), dtype=np.float64)


def by_rate(steps: "Table", *names: str) -> tuple[Floats, ...]:
    """Return the rates of a step table, ascending, and these columns of it.

    Of several trials at a rate it is the median of those that have a value.
    """
    table = pl.DataFrame({name: column(steps, name) for name in ("rate", *names)}).fill_nan(None)
    medians = table.group_by("rate").median().sort("rate")
    return tuple(column(medians, name) for name in ("rate", *names))


def _mostly(steps: "Table", *verdicts: str) -> Bools:
    """Whether half of the trials at each rate, ascending, or more have one of these verdicts."""
    rates, trial = np.unique(column(steps, "rate"), return_inverse=True)
    if "verdict" not in steps.columns:
        return np.zeros(len(rates), np.bool_)
    return np.bincount(trial, np.isin(steps["verdict"].to_numpy(), verdicts)) >= np.bincount(trial) / 2


def hockey_stick(
    ax: "Axes",
    seconds: "Table",
    steps: "Table",
    *,
    verdict: str = "",
    saturation: Mapping[str, Any] | None = None,
    onset: Mapping[str, Any] | None = None,
    slo: float | None = None,
    linear: bool = False,
) -> "Axes":
    """Draw response time against offered rate: one dot a second, percentile bands by step.

    Args:
        ax: where to draw.
        seconds: per-second table.
        steps: step table, with the column ``verdict`` if there is one.
        verdict: the sentence above the picture.
        saturation: ``found``, ``rate``, ``low``, ``high`` as in summary.json.
        onset: the same.
        slo: bound of the response time, seconds.
        linear: linear time axis, cut off where the wall would flatten the rest; otherwise logarithmic.
    """
    middle = "p50" if "p50" in seconds.columns and np.isfinite(column(steps, "p50")).any() else "mean"
    rate, *known = by_rate(steps, middle, "p95", "p99")
    curves = dict(zip((middle, "p95", "p99"), known, strict=True))
    offered, median = column(seconds, "offered"), column(seconds, middle)
    finite = np.concatenate([values[np.isfinite(values)] for values in (median, *curves.values())])
    top = _top(finite, slo, linear)
    bounded = {name: np.where(np.isinf(values), top, values) for name, values in curves.items()}

    past = _past_stop(_mostly(steps, "overloaded", "errors"))
    beyond = column(steps, "step")[np.isin(column(steps, "rate"), rate[past])]
    _dots(ax, offered, median, np.isin(_step_of(seconds), beyond), middle)
    ax.fill_between(rate, bounded[middle], bounded["p95"], color=BLUE, alpha=0.25, lw=0, label="p50–p95")
    ax.fill_between(rate, bounded["p95"], bounded["p99"], color=BLUE, alpha=0.12, lw=0, label="p95–p99")
    ax.plot(rate[~past], curves[middle][~past], color=BLUE, marker="o", ms=4, lw=1.6, zorder=4, label=middle)
    ax.plot(rate[past], curves[middle][past], color=BLUE, marker="o", mfc="none", ms=4, lw=0.8, zorder=4)
    ax.plot(rate, curves["p99"], color=BLUE, lw=0.8, ls="--", zorder=4, label="p99")
    _marks(ax, saturation, onset, slo)
    _hatch_void(ax, rate, _mostly(steps, "generator-limited"))
    ax.set_xlim(0, max(rate.max(), offered.max()) * 1.03)
    if linear:
        ax.set_ylim(0, top)
    elif (finite > 0).any():
        ax.set_yscale("log")
        ax.set_ylim(finite[finite > 0].min() / 1.6, top)
    plain_numbers(ax.yaxis)
    finish(ax, "offered rate, requests/s", "response time from the scheduled instant, s", framealpha=0.9)
    if verdict:
        ax.set_title(verdict, fontsize=10.5, loc="left", wrap=True)
    return ax


def _dots(ax: "Axes", offered: Floats, median: Floats, beyond: Bools, name: str) -> None:
    """Draw one dot a second: hollow beyond the rates at which a sweep stops, crosses where most requests failed."""
    answered = np.isfinite(median)
    hollow = answered & beyond
    ax.scatter(offered[answered & ~hollow], median[answered & ~hollow], s=7, color=GREY, alpha=0.55, lw=0,
               rasterized=True, zorder=2, label=f"one second ({name})")  # fmt: skip
    if hollow.any():
        ax.scatter(offered[hollow], median[hollow], s=7, facecolor="none", edgecolor=GREY, alpha=0.7, lw=0.5,
                   rasterized=True, zorder=2, label="after two bad rates in a row")  # fmt: skip
    failed = np.isinf(median)
    if failed.any():
        ax.scatter(offered[failed], np.full(failed.sum(), 0.985), s=14, marker="x", color=RED, lw=0.8, zorder=3,
                   transform=ax.get_xaxis_transform(), label="one second (most failed)")  # fmt: skip


def _marks(
    ax: "Axes", saturation: Mapping[str, Any] | None, onset: Mapping[str, Any] | None, slo: float | None
) -> None:
    """Draw saturation with its range, onset, and the bound."""
    if saturation and saturation.get("found"):
        ax.axvspan(saturation["low"], saturation["high"], color=ORANGE, alpha=0.18, lw=0)
        ax.axvline(saturation["rate"], color=ORANGE, lw=1.8, label=f"saturation ~{saturation['rate']:.0f}/s")
    if onset and onset.get("found"):
        ax.axvline(onset["rate"], color=ORANGE, lw=1.2, ls=":", label=f"onset ~{onset['rate']:.0f}/s")
    if slo is not None:
        ax.axhline(slo, color=GREEN, lw=1.2, ls="--", label=f"bound {slo:g} s")


def finish(
    ax: "Axes",
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


def logarithmic(ax: "Axes") -> None:
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


def _top(finite: Floats, slo: float | None, linear: bool) -> float:
    """Upper end of the time axis."""
    if not len(finite):
        return 1.0
    highest = float(finite.max())
    if not linear:
        return max(highest, slo or 0.0) * 2.2
    floor = float(np.quantile(finite, 0.25))
    return min(highest, 5 * slo if slo else 30 * floor) * 1.05


def _step_of(seconds: "Table") -> Floats:
    """The step of each second, NaN where it is not known."""
    return column(seconds, "step") if "step" in seconds.columns else np.full(len(seconds), np.nan)


def _past_stop(bad: Bools) -> Bools:
    """The rates above the first two in a row that were not carried: there the backlog of one is felt in the next."""
    pairs = np.flatnonzero(bad[:-1] & bad[1:])
    return np.arange(len(bad)) >= (pairs[0] + 2 if len(pairs) else len(bad))


def _hatch_void(ax: "Axes", rate: Floats, void: Bools) -> None:
    """Hatch the rates at which this machine, not the target, was measured."""
    if not void.any():
        return
    middles = (rate[1:] + rate[:-1]) / 2
    low = np.concatenate(([rate[0]], middles))
    high = np.concatenate((middles, [rate[-1]]))
    for left, right in zip(low[void], high[void], strict=True):
        ax.axvspan(left, right, facecolor="none", edgecolor=GREY, hatch="//", alpha=0.4, lw=0, zorder=1)
    ax.fill_between([], [], facecolor="none", edgecolor=GREY, hatch="//", label="void: replay machine limited")
