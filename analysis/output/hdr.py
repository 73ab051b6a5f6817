"""Writes response times for the tools of HdrHistogram: an interval log, and a percentile distribution in text.

The package hdrhistogram encodes each histogram. Counting and the lines are written here: to record value by value takes
microseconds each in Python, and the package's log writer drops the tag, floors the maximum and writes no start time.
The times of the distribution are the observed ones, not those of a histogram's cells.

Sources: the format of HdrHistogram (interval log 1.3) for a histogram of 1 µs to 1 h with 3 significant digits; the
text of its outputPercentileDistribution: value, percentile, count up to it, 1/(1 - percentile), with five percentiles
for each halving of the rest.
"""

import math
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from hdrh.histogram import HdrHistogram

from logreplay.analysis.input.arrays import RequestArrays, those
from logreplay.analysis.input.chunks import SECOND, by_second, changes
from logreplay.analysis.statistics.quantiles import Floats, Ints, average, deviation, ranks, valid_rank
from logreplay.core.files import atomic_path
from logreplay.core.plural import number_of

LOWEST: Final = 1
HIGHEST: Final = 3_600_000_000
DIGITS: Final = 3
TICKS: Final = 5
_MILLISECOND: Final = 1000

_HALF: Final = 1024  # sub-buckets per power of two: 3 digits need 2048, of which the lower half is in the one below
_HALF_BITS: Final = 10
_VALUE_BITS: Final = 32
_EXPONENT_AT: Final = 52  # in the bits of a double; 1022 more than what frexp says

Micros32: TypeAlias = npt.NDArray[np.uint32]


def write_hlog(path: str | Path, requests: RequestArrays) -> None:
    """Write the response times of the requests answered as expected, by scheduled second, tagged with the step.

    Times of more than an hour count as one hour. How many requests failed or were cancelled, and so are in no
    histogram, is said in a comment. The column Interval_Max is in milliseconds.
    """
    failed = int(requests.failed.sum())
    left_out = f"{number_of(failed, 'request')} failed"
    if cancelled := len(requests) - int(requests.good.sum()) - failed:
        left_out += f", {cancelled} were cancelled,"
    started = requests.started.timestamp() if requests.started else 0.0
    with atomic_path(Path(path)) as fresh, fresh.open("wb") as file:
        file.write(
            "#[Histogram log format version 1.3]\n"
            f"#[StartTime: {started:.3f} (seconds since epoch), {requests.started or 'unknown'}]\n"
            f"#[{left_out} and are in no histogram; values are microseconds]\n"
            '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'.encode()
        )
        for _, _, rows in by_second(requests):
            rows = those(rows, requests.good[rows])
            groups = requests.scheduled[rows] // SECOND * len(requests.labels) + requests.step[rows]
            _write_intervals(file, requests.labels, groups, np.clip(requests.response[rows], LOWEST, HIGHEST))


def _write_intervals(file: BinaryIO, labels: tuple[int, ...], groups: Ints, response: Micros32) -> None:
    """Write a line for each group (second x step) of values."""
    keys = (groups << _VALUE_BITS) | response
    keys.sort()
    values, owner = keys.astype(np.uint32), keys >> _VALUE_BITS  # the value is in the lower bits
    index = counts_index(values)
    histogram = HdrHistogram(LOWEST, HIGHEST, DIGITS)
    counts = np.frombuffer(histogram.counts, np.int64)
    begins = np.flatnonzero(changes(owner))
    for begin, end in pairwise([*begins.tolist(), len(keys)]):
        second, step = divmod(int(owner[begin]), len(labels))
        counts[:] = np.bincount(index[begin:end], minlength=len(counts))
        histogram.total_count, histogram.max_value = end - begin, int(values[end - 1])
        text = histogram.encode().decode()
        file.write(f"Tag={labels[step]},{second}.000,1.000,{histogram.max_value / 1000:.3f},{text}\n".encode())


def counts_index(micros: Micros32) -> npt.NDArray[np.int32]:
    """Return the cell of the counts array in which each value is counted."""
    wide = (micros | np.uint32(2 * _HALF - 1)).astype(np.float64)  # exact: far below 2**53
    bucket = (wide.view(np.int64) >> _EXPONENT_AT).astype(np.int32) - np.int32(1022 + _HALF_BITS + 1)
    return ((bucket + 1) << _HALF_BITS) + (micros >> bucket.view(np.uint32)).view(np.int32) - np.int32(_HALF)


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
            lines.append(f"#[Values above the percentile {valid / len(ordered):.12f} may hold the generator's lag]")
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
