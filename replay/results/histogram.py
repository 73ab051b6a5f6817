"""Histograms of durations, for figures during a run, in flat memory; exact to 1.1 %."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from logreplay.core.validity import valid_up_to

_PER_OCTAVE = 64
_OCTAVES = 42  # of microseconds: some 50 days
_MIDDLES = (2 ** ((np.arange(_PER_OCTAVE * _OCTAVES) + 0.5) / _PER_OCTAVE) - 1) / 1e6
"""Middles of the buckets, seconds."""


class Histogram:
    """Durations, counted in buckets that widen with their size (1.1 % each)."""

    def __init__(self) -> None:
        self._counts = np.zeros(_PER_OCTAVE * _OCTAVES, np.int64)

    def add(self, ns: NDArray[np.int64]) -> None:
        """Count durations, nanoseconds."""
        index = (np.log2(np.maximum(ns, 0) / 1000 + 1) * _PER_OCTAVE).astype(np.int64)
        self._counts += np.bincount(np.minimum(index, len(self._counts) - 1), minlength=len(self._counts))

    def __add__(self, other: "Histogram") -> "Histogram":
        """The sum of both counts; its quantiles are those of all durations, and not averages of quantiles."""
        return self._with(self._counts + other._counts)

    def __sub__(self, earlier: "Histogram") -> "Histogram":
        """The counts added since an earlier copy."""
        return self._with(self._counts - earlier._counts)

    @property
    def total(self) -> int:
        return int(self._counts.sum())

    @property
    def seconds(self) -> float:
        return float(self._counts @ _MIDDLES)

    def up_to(self, bounds: Sequence[float]) -> list[int]:
        """How many were no longer than each of these bounds, in seconds."""
        below = np.searchsorted(_MIDDLES, bounds, side="right")
        return np.concatenate(([0], np.cumsum(self._counts)))[below].tolist()  # type: ignore[no-any-return]

    def valid_up_to(self, without_lag: "Histogram") -> float:
        """The share of these response times, the shortest, that are the target's: see `validity.valid_up_to`."""
        ends, others = np.cumsum(self._counts), np.cumsum(without_lag._counts)
        ranks = np.union1d(ends, others)  # between two of them both quantiles stay the same
        ranks = ranks[(ranks > 0) & (ranks <= min(ends[-1], others[-1]))]  # another thread may be counting
        if not len(ranks):
            return 1.0
        times = (_MIDDLES[np.searchsorted(counts, ranks)] * 1e6 for counts in (ends, others))
        valid = valid_up_to(*times)
        return float(ranks[valid - 1] / ranks[-1]) if valid else 0.0

    @staticmethod
    def _with(counts: NDArray[np.int64]) -> "Histogram":
        histogram = Histogram()
        histogram._counts = counts
        return histogram

    def quantile(self, share: float) -> float | None:
        """The duration, in seconds, that this share of all does not exceed; None if there are none."""
        total = self.total
        if not total:
            return None
        index = int(np.searchsorted(np.cumsum(self._counts), max(1, np.ceil(share * total - 1e-9))))
        return float(_MIDDLES[index])
