"""Pictures of a plan: demand beside supply, and the machines of each hour of the week."""

from typing import TYPE_CHECKING

import numpy as np

from logreplay.analysis.demand.rates import DAYS
from logreplay.analysis.output.plots.hockey_stick import BLUE, ORANGE
from logreplay.analysis.planning.plan import MachinePlan

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def demand_and_supply(ax: "Axes", plan: MachinePlan) -> "Axes":
    """Draw the demand of the busiest windows, and the load that machines carry, both with their ranges."""
    supply, reserve = plan.supply, plan.reserve
    for at, wanted in enumerate(plan.demand.values()):
        bars = [[wanted.rate - wanted.low], [wanted.high - wanted.rate]]
        ax.errorbar([at], [wanted.rate], yerr=bars, fmt="o", color=ORANGE, capsize=5, lw=1.6, ms=7)
    found = plan.number
    free = 1 - reserve.headroom
    least = max(found.low - reserve.survive, 1)
    for machines in sorted({least, found.number - reserve.survive, found.high - reserve.survive}):
        low, high = machines * supply.low * free, machines * (supply.high or supply.rate) * free
        ax.axhspan(low, high, color=BLUE, alpha=0.13, lw=0)
        ax.axhline(machines * supply.rate * free, color=BLUE, lw=1.2)
        text = f"{machines} machine{'s' if machines > 1 else ''}"
        ax.annotate(text, (len(plan.demand) - 0.5, machines * supply.rate * free), xytext=(4, -3),
                    textcoords="offset points", color=BLUE, annotation_clip=False)  # fmt: skip
    ax.set_xticks(range(len(plan.demand)), [f"busiest {name}" for name in plan.demand])
    ax.set_xlim(-0.5, len(plan.demand) - 0.5)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("requests/s")
    return ax


def week(ax: "Axes", plan: MachinePlan) -> "Axes":
    """Draw the machines of each hour of the week as a heat map with their numbers."""
    numbers = np.full((7, 24), np.nan)
    days, hours = plan.week["day"].to_numpy(), plan.week["hour"].to_numpy()
    numbers[days, hours] = plan.week["machines"].to_numpy()
    drawn = ax.imshow(numbers, aspect="auto", cmap="viridis", vmin=0)
    middle = np.nanmax(numbers) / 2
    for day, hour in zip(days, hours, strict=True):
        number = numbers[day, hour]
        color = "white" if number < middle else "black"
        ax.text(hour, day, f"{number:.0f}", ha="center", va="center", fontsize=7, color=color)
    ax.set_yticks(range(7), DAYS)
    ax.set_xticks(range(0, 24, 3))
    ax.set_xlabel(f"hour of the day, {plan.profile.zone}")
    if ax.figure is not None:
        ax.figure.colorbar(drawn, ax=ax, label="machines")
    return ax
