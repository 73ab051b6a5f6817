"""Counts by size, for figures that are wanted while a run goes on, in flat memory; true to a hundredth."""

import numpy as np
from numpy.typing import NDArray

_PER_OCTAVE = 64
_OCTAVES = 42  # of microseconds: some 50 days


class Histogram:
    """Durations, counted in buckets that widen with their size (1.1 % each)."""

    def __init__(self, counts: NDArray[np.int64] | None = None) -> None:
        self._counts = np.zeros(_PER_OCTAVE * _OCTAVES, np.int64) if counts is None else counts

    def merge(self, other: "Histogram") -> None:
        """Add the counts of another."""
        self._counts = self._counts + other._counts

    def since(self, earlier: "Histogram") -> "Histogram":
        """What was counted after an earlier state of the same histogram."""
        return Histogram(self._counts - earlier._counts)

    def copy(self) -> "Histogram":
        """The counts as they are now."""
        return Histogram(self._counts.copy())

    def add(self, ns: NDArray[np.int64]) -> None:
        """Count durations, nanoseconds."""
        index = (np.log2(np.maximum(ns, 0) / 1000 + 1) * _PER_OCTAVE).astype(np.int64)
        self._counts += np.bincount(np.minimum(index, len(self._counts) - 1), minlength=len(self._counts))

    def quantile(self, share: float) -> float | None:
        """The duration, in seconds, that this share of all does not exceed; None if there are none."""
        total = int(self._counts.sum())
        if not total:
            return None
        index = int(np.searchsorted(np.cumsum(self._counts), max(1, np.ceil(share * total - 1e-9))))
        return float(2 ** ((index + 0.5) / _PER_OCTAVE) - 1) / 1e6
