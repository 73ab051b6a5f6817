"""Estimates the typical value of a series whose neighbours depend on each other, such as logarithms of ratios of pairs.

Theory of operation. The speed of each target wanders, over seconds or minutes; the time is unknown. The error of a mean
of such values comes from the slow waves in them. So the test of a value h works on scores: the blocks of half a second
minus h, clipped at 1.5 times their usual scatter. If h is the typical value, the scores have the mean 0. Their 16
slowest cosines show how much such a mean moves by itself. How the power at the frequency 0 follows from that of the
cosines depends on the spectrum. Several spectra are weighed by how well they explain the cosines: white noise, and
mixtures of white noise and first-order autoregressions with times from a 60th of the length to 3 times the length.
The probability of h is the weighted mean of those of Student's t. The interval holds all h whose probability is above
the doubt, so it excludes 0 exactly if the test rejects 0.

First, blocks far from the median of their 11 neighbours, such as those of a pause of one side, are set to that median:
a rare block is not typical. Scores are clipped about h, not about the estimate: if all blocks are far above h, their
scores are equal, however much the blocks differ.

A second instance of the baseline shows how much equal targets wander. The candidate is then compared with both. The
scores of baseline against baseline have the same spectra, and also show the power at the frequency 0.

Source: Huber, Robust estimation of a location parameter, 1964; Müller, A theory of robust long-run variance estimation,
2007 (cosines); the tables of docs/accuracy.md measure it.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from logreplay.analysis.statistics.estimates import cosines, p_values
from logreplay.analysis.statistics.quantiles import Floats

BLOCK_S: Final = 0.5
FEWEST_BLOCKS: Final = 8
"""Blocks of a series below 4 s; longer ones have more."""
SHORTEST_S: Final = 1.6
"""Series shorter than this, eight blocks of 0.2 s, have no estimate."""
_NEIGHBOURS: Final = 11
FAR: Final = 3.0
"""Distance from the median of its neighbours, in scatters, from which a block is not typical."""
_CLIP: Final = 1.5
LEAST_CLIP: Final = 1e-4
_SIGMA: Final = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""
_WAVES: Final = 16
_SHORTEST_TIME: Final = 1 / 60
_TIMES: Final = 7
_COLOURED: Final = (0.1, 0.3, 0.6, 1.0)
"""Shares of the variance of the cosines that the autoregression of a spectrum explains."""
_GRID: Final = 480
"""Blocks of a longer series for the covariances of its cosines: 8 for the shortest correlation time."""
_STEPS: Final = 40
_STEPS_TO_AN_END: Final = 24
"""Halvings of the bracket of an end: to a ten-millionth of it."""


@dataclass(frozen=True, slots=True)
class Prior:
    """Assumptions about spectra: the share of white noise; the longest correlation time, in lengths of a series."""

    white: float = 0.5
    longest: float = 3.0


PAIRS: Final = Prior()
PERCENTILES: Final = Prior(longest=2.0)
_WITH_NOISE: Final = Prior(white=0.3, longest=10.0)


@dataclass(frozen=True, eq=False, slots=True)
class TypicalValue:
    """An estimate, with a test of every other value.

    Attributes:
        value: the estimate.
        blocks: blocks of time it rests on.
        freedom: degrees of freedom of each mixed Student's t.
        seconds: length of the series.
    """

    value: float
    blocks: int
    freedom: int
    seconds: float
    _contrasts: Floats
    _clip: float
    _noise: Floats
    _prior: Prior

    @property
    def p(self) -> float:
        """Probability of an estimate at least this far from 0 if the true value is 0."""
        return self.probability(0.0)

    def probability(self, value: float) -> float:
        """Probability of an estimate at least this far from a value if that is the true one."""
        scores = np.clip(self._contrasts - value, -self._clip, self._clip).mean(axis=0)
        mean = abs(float(scores.mean()))
        waves = _cosines(self.blocks, self._waves) @ scores
        least = 1e-20 * self.blocks * float(np.square(scores).mean())  # rounding leaves as much of a constant
        if float(waves @ waves) + float(self._noise @ self._noise) <= least:
            return float(mean <= 1e-12)
        spectra = _spectra(self.blocks, self._waves, self._prior)
        squares = np.square(spectra.whiten @ waves).sum(axis=1)
        weights = spectra.weights
        if len(self._noise):
            squares = squares + np.square(spectra.whiten_all @ self._noise).sum(axis=1)
            weights = weights + spectra.weights_all
        weights = weights - self.freedom / 2 * np.log(squares)
        weights = np.exp(weights - weights.max())
        distances = mean / np.sqrt(spectra.of_mean * squares / self.freedom / self.blocks)
        return float(weights @ p_values(distances, self.freedom) / weights.sum())

    def ends(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return both ends of the interval; it excludes 0 exactly if ``p`` is at most the doubt."""
        doubt = 1 - confidence
        low, high = (self._end(side, doubt) for side in (-1, 1))
        return low, high

    @property
    def _waves(self) -> int:
        return min(_WAVES, self.blocks - 1)

    def _end(self, side: int, doubt: float) -> float:
        """The last value on one side of the estimate that is not rejected; infinite if none is."""
        inside, outside = self.value, self._outside(side)
        if self.probability(outside) > doubt:
            return side * math.inf
        if min(inside, outside) < 0 < max(inside, outside):  # the interval and the test of 0 are to agree
            inside, outside = (0.0, outside) if self.p > doubt else (inside, 0.0)
        for _ in range(_STEPS_TO_AN_END):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if self.probability(middle) > doubt else (inside, middle)
        return inside

    def _outside(self, side: int) -> float:
        """A value on one side beyond which all scores are equal: it is rejected if any is."""
        if math.isfinite(self._clip):
            return float(side * (side * self._contrasts).max()) + side * 1.01 * self._clip
        reach = float(np.ptp(self._contrasts)) or LEAST_CLIP
        while self.probability(self.value + side * reach) > 1e-4 and reach < 1e3:
            reach *= 2
        return self.value + side * reach


def estimate(at: Floats, values: Floats, noise: Floats | None = None) -> TypicalValue | None:
    """Estimate the typical value of pairs over time, seconds; None if fewer than `FEWEST_BLOCKS` blocks have one.

    ``values`` are such as logarithms of the ratio of candidate and baseline, ``noise`` the same of a second instance of
    the baseline and the baseline.
    """
    seconds = float(np.ptp(at)) if len(at) else 0.0
    if seconds < SHORTEST_S:
        return None
    block, blocks = numbered(at, min(BLOCK_S, seconds / FEWEST_BLOCKS))
    if blocks < FEWEST_BLOCKS:
        return None
    counts = np.bincount(block)
    means = [np.bincount(block, each) / counts for each in (values, *(() if noise is None else (noise,)))]
    contrasts = [means[0], *(means[0] - each for each in means[1:])]
    cleaned = [_cleaned(each) for each in (*contrasts, *means[1:])]
    clip = max(_CLIP * math.sqrt(float(np.mean([scatter**2 for _, scatter in cleaned]))), LEAST_CLIP)
    series = [each for each, _ in cleaned]
    if noise is None:
        return _typical(np.array(series), clip, seconds)
    return _typical(np.array(series[:2]), clip, seconds, _kept(np.clip(series[2], -clip, clip)), _WITH_NOISE)


def estimate_mean(blocks: Floats, seconds: float, noise: Floats | None = None) -> TypicalValue:
    """Estimate the mean of `FEWEST_BLOCKS` or more blocks of time; none is left out or clipped. ``noise`` as above."""
    if noise is None:
        return _typical(blocks[np.newaxis], math.inf, seconds, prior=PERCENTILES)
    return _typical(np.array([blocks, blocks - noise]), math.inf, seconds, _kept(noise), _WITH_NOISE)


def _kept(noise: Floats) -> Floats:
    """What the scores of baseline against baseline tell: their sum and their cosines, in the scale of the others."""
    scores, blocks = math.sqrt(0.75) * noise, len(noise)
    return np.append(scores.sum() / math.sqrt(blocks), _cosines(blocks, min(_WAVES, blocks - 1)) @ scores)


def numbered(at: Floats, length: float) -> tuple[NDArray[np.int64], int]:
    """Return the block of time of each value, and how many blocks hold values; the last value is in the last block."""
    passed = at - at.min()
    number = np.minimum(passed // length, np.ceil(passed.max() / length) - 1)
    _, block = np.unique(number.astype(np.int64), return_inverse=True)
    return block, int(block.max()) + 1


def _typical(
    contrasts: Floats, clip: float, seconds: float, noise: Floats | None = None, prior: Prior = PAIRS
) -> TypicalValue:
    """The value at which the scores have the mean 0."""
    low, high = float(contrasts.min()), float(contrasts.max())
    for _ in range(_STEPS if math.isfinite(clip) else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(contrasts - middle, -clip, clip).sum() > 0 else (low, middle)
    value = (low + high) / 2 if math.isfinite(clip) else float(contrasts.mean())
    blocks, known = contrasts.shape[1], np.array([]) if noise is None else noise
    freedom = min(_WAVES, blocks - 1) + len(known)
    return TypicalValue(value, blocks, freedom, seconds, contrasts, clip, known, prior)


def _cleaned(blocks: Floats) -> tuple[Floats, float]:
    """Replace blocks far from their neighbours; return all blocks, and the usual scatter of one."""
    level = local_medians(blocks)
    away = blocks - level
    scatter = usual_scatter(away, min(_NEIGHBOURS, len(blocks)))
    return np.where(np.abs(away) > FAR * scatter, level, blocks), scatter


def local_medians(values: Floats, neighbours: int = _NEIGHBOURS) -> Floats:
    """Return (n,) the median of each value and its nearest neighbours, so many in all; of fewer values that of all."""
    width = min(neighbours, len(values))
    medians = np.median(sliding_window_view(values, width), axis=1)
    found: Floats = medians[np.clip(np.arange(len(values)) - width // 2, 0, len(medians) - 1)]
    return found


def usual_scatter(away: Floats, width: int = _NEIGHBOURS) -> float:
    """Return the standard deviation of values from their distances to the medians of ``width`` neighbours each."""
    return _SIGMA * float(np.median(np.abs(away - np.median(away)))) * math.sqrt(width / (width - 1))


@dataclass(frozen=True, eq=False, slots=True)
class _Spectra:
    """(m,) spectra: matrices that whiten the cosines, without and with the mean; variances of the mean; log weights."""

    whiten: Floats
    whiten_all: Floats
    of_mean: Floats
    weights: Floats
    weights_all: Floats


@lru_cache(maxsize=32)
def _spectra(blocks: int, waves: int, prior: Prior) -> _Spectra:
    grid = min(blocks, _GRID)
    basis = np.vstack([np.full(grid, 1 / math.sqrt(grid)), _cosines(grid, waves)])
    apart = np.abs(np.subtract.outer(np.arange(grid), np.arange(grid))) / grid
    found, log_priors = [np.eye(waves + 1)], [math.log(prior.white)]
    for time in np.geomspace(_SHORTEST_TIME, prior.longest, _TIMES):
        coloured = basis @ np.exp(-apart / time) @ basis.T
        coloured *= waves / np.trace(coloured[1:, 1:])
        for share in _COLOURED:
            found.append((1 - share) * np.eye(waves + 1) + share * coloured)
            log_priors.append(math.log((1 - prior.white) / _TIMES / len(_COLOURED)))
    covariances = np.array(found)
    factors = [np.linalg.cholesky(each) for each in (covariances[:, 1:, 1:], covariances)]
    logs = [-np.log(np.diagonal(each, axis1=1, axis2=2)).sum(axis=1) for each in factors]
    return _Spectra(
        np.linalg.inv(factors[0]), np.linalg.inv(factors[1]), covariances[:, 0, 0], logs[0] + log_priors, logs[1]
    )


@lru_cache(maxsize=16)
def _cosines(blocks: int, waves: int) -> Floats:
    """(waves, blocks) orthonormal cosines."""
    return math.sqrt(2 / blocks) * cosines(blocks, waves)
