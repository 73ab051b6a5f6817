"""The picture of a search: which rates were tried, in what order, and how the bracket closed."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from matplotlib.ticker import MaxNLocator

from logreplay.analysis.output.plots.hockey_stick import BLUE, GREEN, GREY, ORANGE, RED, finish, legend_below
from logreplay.analysis.verdict.stability import SPOKEN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS: Final = {"pass": ("o", GREEN), "fail": ("X", RED), "void": ("s", GREY)}


def trace(ax: "Axes", slo: Mapping[str, Any]) -> "Axes":
    """Draw rate against trial number, with the bracket that each trial left; ``slo``: that of summary.json."""
    trials, unit = slo["trials"], "/s" if slo["unit"] == "requests/s" else " users"
    top = max(trial["rate"] for trial in trials) * 1.15
    edges = [number - 0.5 for number in range(1, len(trials) + 2)]
    lows = [trial["low"] or 0 for trial in trials]
    highs = [trial["high"] or top for trial in trials]
    ax.fill_between(edges, [*lows, lows[-1]], [*highs, highs[-1]], step="post", color=BLUE, alpha=0.12, lw=0,
                    label="bracket")  # fmt: skip
    for verdict, (marker, colour) in _MARKS.items():
        chosen = [trial for trial in trials if trial["verdict"] == verdict]
        if chosen:
            ax.scatter([trial["number"] for trial in chosen], [trial["rate"] for trial in chosen], marker=marker,
                       color=colour, s=[30 if trial["phase"] in ("calibrate", "ramp") else 70 for trial in chosen],
                       zorder=3, label=SPOKEN.get(verdict, verdict))  # fmt: skip
    if slo["low"]:
        ax.axhline(
            slo["low"], color=BLUE, lw=1.2, label=f"{'holds' if slo['found'] else 'passed'}: {slo['low']:g}{unit}"
        )
    if slo["high"]:
        name = "no valid trial" if slo["high_void"] else "fails"
        ax.axhline(slo["high"], color=ORANGE, lw=1.2, ls="--", label=f"{name}: {slo['high']:g}{unit}")
    ax.set_ylim(0, top)
    ax.set_xlim(0.5, len(trials) + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    vertical = "users" if unit == " users" else "offered rate, requests/s"
    finish(ax, "trial (small: short ones)", vertical, "lower right", framealpha=0.9)
    legend_below(ax)
    title = f"{slo['sentence']}\n{len(trials)} trials, {slo['seconds']:.0f} s"
    ax.set_title(title, fontsize=9, loc="left", wrap=True, parse_math=False)
    return ax
