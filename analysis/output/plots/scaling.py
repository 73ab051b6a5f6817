"""The picture of a scale-out: throughput against machines or users, the law with its range, and n times one."""

from typing import TYPE_CHECKING

import numpy as np

from logreplay.analysis.format_time import show_rate
from logreplay.analysis.output.plots.hockey_stick import BLUE, GREY, ORANGE, finish
from logreplay.analysis.scaling.law import ENDS_PERCENT
from logreplay.analysis.scaling.scale_out import FARTHEST, ScaleOut

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def scaling(ax: "Axes", found: ScaleOut, unit: str = "machines") -> "Axes":
    """Draw the points with their ranges, a straight line through one, and the law where the curve has bent."""
    numbers = np.array([point.number for point in found.points], np.float64)
    rates, low, high = (np.array([getattr(each, name) for each in found.points]) for name in ("rate", "low", "high"))
    law = found.drawn()
    farthest = numbers[-1] * (FARTHEST if found.kind == "bent" else 1.15)
    grid = np.linspace(1, farthest, 200)
    single = law.values[0] if found.kind == "bent" else rates[0] / numbers[0]
    ax.plot(grid, single * grid, color=GREY, ls="--", lw=1, label="n times one")
    if found.kind == "bent":
        below, above = np.percentile(law.drawn_rates(grid), ENDS_PERCENT, axis=0)
        ax.fill_between(grid, below, above, color=ORANGE, alpha=0.2, lw=0, label="95 %")
        ax.plot(grid, law.rates(grid), color=ORANGE, lw=1.6, label="universal scalability law")
    if found.kind == "wall" and law.knee:
        ax.axhline(law.knee[1], color=ORANGE, lw=1.2, label=f"wall at {show_rate(law.knee[1], 4)}/s")
    ax.errorbar(numbers, rates, yerr=(np.maximum(rates - low, 0), np.maximum(high - rates, 0)), color=BLUE, ls="",
                marker="o", ms=5, capsize=2, label="measured, with its range")  # fmt: skip
    ax.set_xlim(0, farthest * 1.03)
    ax.set_ylim(0, 1.25 * max(high.max(), float(law.rates(grid).max()) if found.kind == "bent" else 0.0))
    if len(numbers) < 12:
        ax.set_xticks(numbers)
    finish(ax, unit, "requests/s", "lower right")
    return ax
