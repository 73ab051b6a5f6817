"""Pictures against the number of machines or users: throughput, response time, and how a target scales."""

from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import polars as pl

from logreplay.analysis.format_time import show_rate
from logreplay.analysis.output.plots.hockey_stick import BLUE, GREY, ORANGE, RED, column, finish, milliseconds
from logreplay.analysis.scaling.law import ENDS_PERCENT
from logreplay.analysis.scaling.scale_out import FARTHEST, ScaleOut
from logreplay.analysis.statistics.quantiles import Floats
from logreplay.analysis.tables.users import UsersSweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    Corner = Literal["upper left", "lower right"]

_WIDE: Final = 20.0
"""Highest number of users over the lowest, from which their axis is logarithmic."""


def throughput(ax: "Axes", sweep: UsersSweep) -> "Axes":
    """Draw throughput against users, with its range; the asymptotes, and the users at which they cross."""
    table, verdict = by_users(sweep), sweep.verdict
    users, rate, low, high = (
        column(table, name) for name in ("users", "throughput", "throughput_low", "throughput_high")
    )
    ax.errorbar(users, rate, yerr=(rate - low, high - rate), color=BLUE, marker="o", ms=4, lw=1.4, capsize=2,
                label="answered as expected, 95 %")  # fmt: skip
    if verdict.plateau is not None:
        ax.axhspan(verdict.throughput_low, verdict.throughput_high, color=ORANGE, alpha=0.15, lw=0)
        ax.axhline(verdict.throughput, color=ORANGE, lw=1.2, label=f"plateau {show_rate(verdict.throughput, 4)}/s")
    if verdict.crossing is not None and verdict.crossing_low is not None and verdict.crossing_high is not None:
        grid = np.geomspace(users.min(), verdict.crossing, 50) if verdict.crossing > users.min() else users[:1]
        slope = verdict.throughput / verdict.crossing
        ax.plot(grid, slope * grid, color=GREY, ls="--", lw=1, label="nobody waits: N / (R + Z)")
        ax.axvspan(verdict.crossing_low, verdict.crossing_high, color=RED, alpha=0.12, lw=0)
        ax.axvline(verdict.crossing, color=RED, lw=1.2, ls="-.", label=f"N* = {show_rate(verdict.crossing)} users")
    ax.set_ylim(0, 1.15 * max(high.max(), verdict.throughput_high, 1e-9))
    return _finished(ax, users, "requests/s", "lower right")


def response_time(ax: "Axes", sweep: UsersSweep, slo: float | None = None) -> "Axes":
    """Draw p50, p90 and p99 against users, and the users from which they wait for each other."""
    table = by_users(sweep)
    users = column(table, "users")
    for name, style, marker in (("p90", "-", "o"), ("p50", "--", "^"), ("p99", ":", "s")):
        times = 1000 * column(table, name)
        if np.isfinite(times).any():
            ax.plot(users, times, color=BLUE, ls=style, marker=marker, ms=4, lw=1.6 if name == "p90" else 1, label=name)
    if sweep.verdict.crossing is not None:
        crossing = sweep.verdict.crossing
        ax.axvline(crossing, color=RED, lw=1.2, ls="-.", label=f"N* = {show_rate(crossing)} users")
    if slo is not None:
        ax.axhline(1000 * slo, color=GREY, lw=1.2, ls="--", label="bound")
    ax.set_ylim(bottom=0)
    milliseconds(ax.yaxis)
    return _finished(ax, users, "response time, ms", "upper left")


def by_users(sweep: UsersSweep) -> pl.DataFrame:
    """A row for each number of users: the means of its trials."""
    return sweep.table.group_by("users").mean().sort("users")


def _finished(ax: "Axes", users: Floats, vertical: str, corner: "Corner") -> "Axes":
    if users.max() > _WIDE * users.min():
        ax.set_xscale("log")
        ax.set_xticks(sorted(set(users)), [f"{each:g}" for each in sorted(set(users))])
        ax.minorticks_off()
    else:
        ax.set_xlim(0, users.max() * 1.05)
    finish(ax, "users", vertical, corner)
    return ax


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
