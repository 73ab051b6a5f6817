"""Writes response times as a percentile distribution in text, for HdrHistogram's plotter and tools like hdr-plot.

The times are the observed ones, not those of a histogram's cells.

Source: the text of HdrHistogram's outputPercentileDistribution: value, percentile, count up to it, 1/(1 - percentile),
with five percentiles for each halving of the rest.
"""

import math
from pathlib import Path
from typing import Final

import numpy as np

from logreplay.analysis.input.arrays import RequestArrays
from logreplay.analysis.statistics.quantiles import Floats, average, deviation, ranks, valid_rank
from logreplay.core.files import atomic_path

TICKS: Final = 5
_MILLISECOND: Final = 1000


def write_hgrm(path: str | Path, requests: RequestArrays) -> None:
    """Write the distribution of the response times of the requests answered as expected, in milliseconds."""
    ordered = requests.response[requests.good]
    ordered.sort()  # in place: 20 million take 80 MB
    lines = [f"{'Value':>12} {'Percentile':>14} {'TotalCount':>10} {'1/(1-Percentile)':>14}", ""]
    if len(ordered):
        shares = percentiles(len(ordered))
        values = ordered[ranks(np.full(len(shares), len(ordered)), shares) - 1]
        counts = np.searchsorted(ordered, values, side="right")
        for value, share, count in zip(values.tolist(), shares.tolist(), counts.tolist(), strict=True):
            line = f"{value / _MILLISECOND:12.3f} {share:2.12f} {count:10d}"
            lines.append(line if share == 1 else f"{line} {1 / (1 - share):14.2f}")
        mean, spread = average(ordered) / _MILLISECOND, deviation(ordered) / _MILLISECOND
        lines.append(f"#[Mean    = {mean:12.3f}, StdDeviation   = {spread:12.3f}]")
        lines.append(f"#[Max     = {ordered[-1] / _MILLISECOND:12.3f}, Total count    = {len(ordered):12d}]")
    if requests.has_late:
        without_lag = np.sort((requests.response - requests.lag)[requests.good])
        if (valid := valid_rank([(ordered, without_lag)])) < len(ordered):
            lines.append(f"#[Values above the percentile {valid / len(ordered):.12f} hold the generator's lag]")
    with atomic_path(Path(path)) as fresh:
        fresh.write_text("\n".join(lines) + "\n", encoding="ascii")


def percentiles(count: int) -> Floats:
    """Return the shares at which a distribution of ``count`` values is shown: from 0, ever denser, to 1 at the end."""
    shares, share = list[float](), 0.0
    while share < 1 - 1 / count:
        shares.append(share)
        halvings = math.floor(math.log2(1 / (1 - share))) + 1
        share += 1 / (TICKS * 2**halvings)
    return np.array([*shares, 1.0])
