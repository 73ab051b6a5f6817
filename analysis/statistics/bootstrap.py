"""Bootstrap intervals for quantiles of dependent values: whole blocks of time are resampled.

Requests that wait in the same queue share their fate, so an interval that takes them for independent is far too
narrow. Blocks of seconds are nearly independent of each other.

Source: block bootstrap (Künsch 1989). The values are binned by rank first, so that a resample is a sum of histograms.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from logreplay.analysis.statistics.quantiles import Floats

BLOCK_S: Final = 2.0
FEWEST_BLOCKS: Final = 30
RESAMPLES: Final = 1000
_MOST_BLOCKS: Final = 1000
_SEED: Final = 20260101


@dataclass(frozen=True)
class Blocks:
    """Values in blocks of time, as histograms.

    Attributes:
        counts: (blocks, bins) how many values of the block lie in the bin.
    """

    counts: npt.NDArray[np.float32]

    @property
    def number(self) -> int:
        """Blocks with any value."""
        return len(self.counts)


def edges(values: Floats, bins: int = 2000) -> Floats:
    """Return increasing bin edges at the ranks of ``values``, denser towards the upper tail."""
    shares = np.unique(np.concatenate((np.linspace(0, 1, bins), 1 - np.geomspace(0.05, 1 / max(len(values), 20), 200))))
    ordered = np.sort(values)
    return np.unique(ordered[np.round(shares * (len(ordered) - 1)).astype(np.int64)])


def blocks(at: Floats, values: Floats, bins: Floats) -> Blocks:
    """Sort values into blocks of at least `BLOCK_S` seconds.

    Args:
        at: (n,) seconds.
        values: (n,).
        bins: (k,) increasing values, of `edges`.
    """
    length = max(BLOCK_S, float(np.ptp(at)) / _MOST_BLOCKS)
    _, block = np.unique(((at - at.min()) // length).astype(np.int64), return_inverse=True)
    cell = np.clip(np.searchsorted(bins, values), 0, len(bins) - 1)
    flat = np.bincount(block * len(bins) + cell, minlength=(block.max() + 1) * len(bins))
    return Blocks(flat.reshape(-1, len(bins)).astype(np.float32))


def resampled(of: Blocks, bins: Floats, shares: list[float], seed: int = _SEED) -> Floats:
    """Return (resamples, shares) quantiles of as many resamples of the blocks."""
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(of.number, np.full(of.number, 1 / of.number), RESAMPLES).astype(np.float32)
    upto = np.cumsum(weights @ of.counts, axis=1, dtype=np.float64)
    total = upto[:, -1:]
    index = np.stack([np.sum(upto < share * total - 0.5, axis=1) for share in shares], axis=1)
    result: Floats = bins[np.minimum(index, len(bins) - 1)]
    return result
