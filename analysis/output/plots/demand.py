"""Pictures of a log: its rate over time, and the hours of its week."""

from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

import numpy as np
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from logreplay.analysis.demand.log_profile import LogProfile
from logreplay.analysis.demand.rates import DAYS, HOUR, MINUTE
from logreplay.analysis.output.plots.hockey_stick import BLUE, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_POINTS: Final = 1500
_DAY_S: Final = 24 * HOUR


def rate_over_time(ax: "Axes", profile: LogProfile) -> "Axes":
    """Draw the mean rate of equal windows, and the busiest second of each; return the Axes."""
    at, counts = profile.per_second
    width = next(
        each
        for each in (1, 5, 10, 30, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR, profile.span)
        if profile.span / each <= _MOST_POINTS
    )
    window = (at - profile.first) // width
    number = -(-profile.span // width)
    lengths = np.full(number, width)
    lengths[-1] = profile.span - (number - 1) * width
    edges = np.append(profile.first + np.arange(number) * width, profile.last + 1) / _DAY_S
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
    locator = AutoDateLocator(ZoneInfo(profile.zone))  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    formatter = ConciseDateFormatter(locator, ZoneInfo(profile.zone))  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_formatter(formatter)
    ax.set_xlabel(f"time, {profile.zone}")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.17), ncols=2)
    return ax


def week(ax: "Axes", profile: LogProfile) -> "Axes":
    """Draw the mean rate of each hour of the week as a heat map; return the Axes."""
    table = profile.week
    rates = np.full((7, 24), np.nan)
    rates[table["day"].to_numpy(), table["hour"].to_numpy()] = table["rate"].to_numpy()
    drawn = ax.imshow(rates, aspect="auto", cmap="viridis", vmin=0)
    ax.set_yticks(range(7), DAYS)
    ax.set_xticks(range(0, 24, 3))
    ax.set_xlabel(f"hour of the day, {profile.zone}")
    if ax.figure is not None:
        ax.figure.colorbar(drawn, ax=ax, label="requests/s, mean")
    return ax


def _named(seconds: int) -> str:
    for length, name in ((24 * HOUR, "day"), (HOUR, "hour"), (MINUTE, "minute")):
        if seconds % length == 0:
            return f"{seconds // length} {name}{'s' if seconds > length else ''}"
    return f"{seconds} s"
