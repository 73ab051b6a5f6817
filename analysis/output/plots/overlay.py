"""Pictures of several runs: curves laid over each other, and what changed between two.

As in `logreplay.analysis.output.plots.hockey_stick`: each takes an Axes and data, draws, and returns the Axes.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from logreplay.analysis.format_time import WIDEST, show
from logreplay.analysis.output.plots.hockey_stick import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    by_rate,
    drawable,
    finish,
    logarithmic,
    milliseconds,
)
from logreplay.analysis.verdict.comparison import Comparison
from logreplay.analysis.verdict.ratio_interval import ALL, Change

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS: Final = (BLUE, ORANGE, GREEN, RED, "#cc79a7", "#56b4e9", "#000000")
_LONGEST_NAME: Final = 48
STYLES: Final = ("-", "--", "-.", ":")


def overlay(ax: "Axes", runs: Mapping[str, pl.DataFrame], *, slo: float | None = None, linear: bool = False) -> "Axes":
    """Draw the hockey sticks of several runs, by name: median with a band up to p95; ``slo``: a bound, seconds."""
    highest = 0.0
    for index, (name, steps) in enumerate(runs.items()):
        colour, style = COLOURS[index % len(COLOURS)], STYLES[index % len(STYLES)]
        rate, p50, p95 = by_rate(steps, "p50", "p95")
        if not np.isfinite(p50).any():
            _, p50 = by_rate(steps, "mean")
        highest = max(highest, float(rate.max()))
        p50, p95 = (1000 * np.where(np.isinf(values), np.nan, values) for values in (p50, p95))
        ax.fill_between(rate, p50, p95, color=colour, alpha=0.13, lw=0)
        ax.plot(rate, p50, color=colour, ls=style, marker="o", ms=3.5, lw=1.6, label=name)
    if slo is not None:
        ax.axhline(1000 * slo, color=GREEN, lw=1.2, ls="--", label=f"bound {show(slo)}")
    if not linear:
        logarithmic(ax)
    ax.set_xlim(0, highest * 1.03)
    milliseconds(ax.yaxis)
    for text in finish(ax, "offered rate, requests/s", "response time, ms: median, band up to p95").get_texts():
        text.set_parse_math(False)  # names of files may hold a $
    return ax


def changes(ax: "Axes", found: Comparison) -> "Axes":
    """Draw by how much times changed, each with its interval: per percentile and per route.

    The verdicts colour the changes, and changes within the grey band do not count.
    """
    drawn, tolerance = shown(found), found.tolerance
    places = np.arange(len(drawn))[::-1]
    ax.axvspan(-100 * tolerance, 100 * tolerance, color=GREY, alpha=0.12, lw=0)
    ax.axvline(0, color=GREY, lw=1)
    for place, (name, change) in zip(places, drawn.items(), strict=True):
        colour = {"slower": RED, "faster": BLUE}.get(found.verdicts[name], GREY)
        ends = max(change.low, change.ratio / WIDEST), min(change.high, change.ratio * WIDEST)  # too wide: cut
        low, middle, high = (100 * (value - 1) for value in (ends[0], change.ratio, ends[1]))
        ax.plot([low, high], [place, place], color=colour, lw=2)
        ax.plot([middle], [place], color=colour, marker="o", ms=6, lw=0)
    labels = ["all: typical ratio" if name == ALL else drawable(name, _LONGEST_NAME) for name in drawn]
    ax.set_yticks(places, labels, parse_math=False)
    ax.set_ylim(-0.6, len(drawn) - 0.4)
    ax.set_xlabel("change of the response time with its interval, %; right: slower")
    ax.grid(alpha=0.25, lw=0.5, axis="x")
    return ax


def shown(found: Comparison) -> dict[str, Change]:
    """Return what `changes` draws of a comparison: the change of all pairs, of the routes, of the percentiles."""
    if found.change is None or not found.paired:
        return dict(found.quantiles)
    return {ALL: found.change, **found.routes, **found.quantiles}
