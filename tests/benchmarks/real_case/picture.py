"""Draws p99 of the response time of the runs that held a rate, minute by minute, beside the bound."""

from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from logreplay.analysis.input.arrays import read
from logreplay.analysis.output.plots.hockey_stick import BLUE, GREEN, RED, figure, save

_COLORS: Final = {"promised": BLUE, "above": RED}


def minutes(result_log: Path) -> pl.DataFrame:
    """``minute``, and ``p99`` of the response time in seconds, of all requests scheduled in that minute.

    A failed request counts as late; one that the run cancelled as it stopped does not count.
    """
    requests = read(result_log).finished
    response = np.where(requests.failed, np.inf, requests.response / 1e6)
    rows = pl.DataFrame({"minute": requests.scheduled // 60_000_000, "response": response})
    return rows.group_by("minute").agg(pl.col("response").quantile(0.99, "higher").alias("p99")).sort("minute")


def draw(runs: dict[str, tuple[float, Path]], bound_s: float, to: Path) -> None:
    """One line for each run: its name, ``promised-1`` or ``above-1``, with its rate and its result log."""

    def lines(ax: Axes) -> None:
        for name, (rate, path) in runs.items():
            what, _, turn = name.partition("-")
            by_minute = minutes(path)
            ax.plot(by_minute["minute"] + 1, by_minute["p99"] * 1000, "o-", color=_COLORS[what],
                    alpha=0.4 + 0.2 * int(turn), label=f"{rate:.1f}/s, run {turn}")  # fmt: skip
        ax.axhline(bound_s * 1000, color=GREEN, linestyle="--", label=f"bound, {bound_s * 1000:.0f} ms")
        ax.set(xlabel="minute of the run", ylabel="p99 of the response time, ms", ylim=(0, None))
        ax.legend(fontsize="small")

    save(figure(lines), to)
