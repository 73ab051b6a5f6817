"""Pictures of a plan: demand beside supply, and the machines of each hour of the week."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from logreplay.analysis.output.plots.demand import hours_of_week
from logreplay.analysis.output.plots.hockey_stick import BLUE, ORANGE
from logreplay.analysis.planning.plan import MachinePlan
from logreplay.core.plural import number_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def demand_and_supply(ax: "Axes", plan: MachinePlan) -> "Axes":
    """Draw the demand of the busiest windows, and the load that the planned machines carry, both with their ranges.

    The scale on the right has the machines that carry a rate, without those that may be lost; with a law there is none.
    """
    supply, reserve = plan.supply, plan.reserve
    for at, wanted in enumerate(plan.demand.values()):
        bars = [[wanted.rate - wanted.low], [wanted.high - wanted.rate]]
        label = "demand, and its range" if not at else None
        ax.errorbar([at], [wanted.rate], yerr=bars, fmt="o", color=ORANGE, capsize=5, lw=1.6, ms=7, label=label)
    one = supply.rate * (1 - reserve.headroom)
    top = supply.high or supply.rate
    serving = plan.number.number - reserve.survive
    times = [float(plan.law.times([serving], end)[0]) if plan.law else serving for end in (1, 0, -1)]
    low, high = (1 - reserve.headroom) * supply.low * times[0], (1 - reserve.headroom) * top * times[2]
    ax.axhspan(low, high, color=BLUE, alpha=0.13, lw=0)
    ax.axhline(times[1] * one, color=BLUE, lw=1.2, label=f"{number_of(serving, 'machine')}, and the range of supply")
    if not plan.law:
        scale = ax.secondary_yaxis("right", functions=(partial(np.multiply, 1 / one), partial(np.multiply, one)))
        scale.yaxis.set_major_locator(MaxNLocator(integer=True))
        scale.set_ylabel("machines" + (f", besides {reserve.survive} that may be lost" if reserve.survive else ""))
    ax.set_xticks(range(len(plan.demand)), [f"busiest {name}" for name in plan.demand])
    ax.set_xlim(-0.5, len(plan.demand) - 0.5)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("requests/s")
    ax.legend()
    return ax


def week(ax: "Axes", plan: MachinePlan) -> "Axes":
    """Draw the machines of each hour of the week as a heat map with their numbers."""
    look = {"label": "machines", "ticks": MaxNLocator(integer=True)}
    numbers = hours_of_week(ax, plan.week, "machines", plan.profile.zone, **look)
    middle = np.nanmax(numbers) / 2
    for day, hour, number in plan.week.select("day", "hour", "machines").iter_rows():
        color = "white" if number < middle else "black"
        ax.text(hour, day, f"{number:.0f}", ha="center", va="center", fontsize=7, color=color)
    return ax
