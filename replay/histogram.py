"""Counts by size, for figures that are wanted while a run goes on, in flat memory; true to a hundredth."""

import numpy as np
from numpy.typing import NDArray

_PER_OCTAVE = 64
_OCTAVES = 42  # of microseconds: some 50 days


class Histogram:
    """Durations, counted in buckets that widen with their size (1.1 % each)."""

    def __init__(self) -> None:
        self._counts = np.zeros(_PER_OCTAVE * _OCTAVES, np.int64)

    def add(self, ns: NDArray[np.int64]) -> None:
        """Count durations, nanoseconds."""
        index = (np.log2(np.maximum(ns, 0) / 1000 + 1) * _PER_OCTAVE).astype(np.int64)
        self._counts += np.bincount(np.minimum(index, len(self._counts) - 1), minlength=len(self._counts))

    def __add__(self, other: "Histogram") -> "Histogram":
        """Both together; quantiles of the sum are those of all durations, as no average of quantiles is."""
        return self._with(self._counts + other._counts)

    def __sub__(self, earlier: "Histogram") -> "Histogram":
        """What was counted since this was as another is."""
        return self._with(self._counts - earlier._counts)

    @staticmethod
    def _with(counts: NDArray[np.int64]) -> "Histogram":
        histogram = Histogram()
        histogram._counts = counts
        return histogram

    def quantile(self, share: float) -> float | None:
        """The duration, in seconds, that this share of all does not exceed; None if there are none."""
        total = int(self._counts.sum())
        if not total:
            return None
        index = int(np.searchsorted(np.cumsum(self._counts), max(1, np.ceil(share * total - 1e-9))))
        return float(2 ** ((index + 0.5) / _PER_OCTAVE) - 1) / 1e6
