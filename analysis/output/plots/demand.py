"""Pictures of a log: its rate over time, and the hours of its week."""

from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from logreplay.analysis.demand.log_profile import LogProfile
from logreplay.analysis.demand.rates import DAYS, HOUR, MINUTE, idle_before
from logreplay.analysis.demand.wording import when
from logreplay.analysis.output.plots.hockey_stick import BLUE, ORANGE
from logreplay.analysis.statistics.quantiles import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_POINTS: Final = 1500
_MOST_NAMED: Final = 6
"""Most parts of a log whose beginnings are written."""
_DAY_S: Final = 24 * HOUR


def rate_over_time(ax: "Axes", profile: LogProfile) -> "Axes":
    """Draw the mean rate of equal windows, and the busiest second of each; return the Axes.

    The times of `LogProfile.idle` are left out, so that logs of different years stand side by side.
    """
    at, counts = profile.per_second
    begins, idle = profile.idle
    span = profile.span - int(idle.sum())
    days = -(-span // (_DAY_S * _MOST_POINTS)) * _DAY_S
    widths = (1, 5, 10, 30, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, days)
    width = next(each for each in widths if span / each <= _MOST_POINTS)
    window = (at - profile.first - idle_before(at, begins, idle)) // width
    number = -(-span // width)
    lengths = np.full(number, width)
    lengths[-1] = span - (number - 1) * width
    edges = (profile.first + np.append(np.arange(number) * width, span)) / _DAY_S
    means = np.bincount(window, counts, number) / lengths
    if width > 1:
        top = np.zeros(number)
        np.maximum.at(top, window, counts)
        ax.stairs(top, edges, baseline=None, color=ORANGE, label="busiest second of it")
    ax.stairs(
        means, edges, baseline=None, color=BLUE, label="each second" if width == 1 else f"mean of {_named(width)}"
    )
    ax.set_yscale("log")  # a busy second is many times the mean
    ax.set_ylim(bottom=0.7 * means[means > 0].min())
    ax.set_ylabel("requests/s")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.17), ncols=2)
    if len(begins):
        _mark_parts(ax, profile)
        return ax
    locator = AutoDateLocator(ZoneInfo(profile.zone))  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    formatter = ConciseDateFormatter(locator, ZoneInfo(profile.zone))  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_formatter(formatter)
    ax.set_xlabel(f"time, {profile.zone}")
    return ax


def _mark_parts(ax: "Axes", profile: LogProfile) -> None:
    """Write the beginning of each part of a log below it, and draw a line where the times between are left out."""
    begins, idle = profile.idle
    parts = np.append(profile.first, begins + idle)
    places = (parts - idle_before(parts, begins, idle)) / _DAY_S
    for place in places[1:]:
        ax.axvline(place, color="gray", linestyle=":")
    shown = slice(None, None, -(-len(parts) // _MOST_NAMED))
    ax.set_xticks(places[shown], [when(part, profile.zone)[:16].replace(" ", "\n") for part in parts[shown].tolist()])
    ax.set_xlabel(f"beginnings, {profile.zone}; the empty times between are left out")


def week(ax: "Axes", profile: LogProfile) -> "Axes":
    """Draw the mean rate of each hour of the week as a heat map; return the Axes."""
    hours_of_week(ax, profile.week, "rate", profile.zone, label="requests/s, mean")
    return ax


def hours_of_week(ax: "Axes", table: pl.DataFrame, name: str, zone: str, **bar: Any) -> Floats:
    """Draw a column of a table of hours as a heat map; return its values, (7, 24). ``bar``: the look of the scale."""
    values = np.full((7, 24), np.nan)
    values[table["day"].to_numpy(), table["hour"].to_numpy()] = table[name].to_numpy()
    drawn = ax.imshow(values, aspect="auto", cmap="viridis", vmin=0)
    ax.set_yticks(range(7), DAYS)
    ax.set_xticks(range(0, 24, 3))
    ax.set_xlabel(f"hour of the day, {zone}")
    if ax.figure is not None:
        ax.figure.colorbar(drawn, ax=ax, **bar)
    return values


def _named(seconds: int) -> str:
    for length, name in ((24 * HOUR, "day"), (HOUR, "hour"), (MINUTE, "minute")):
        if seconds % length == 0:
            return f"{seconds // length} {name}{'s' if seconds > length else ''}"
    return f"{seconds} s"
