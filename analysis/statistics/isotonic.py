"""Isotonic regression: the rising curve nearest to values that should rise but for noise."""

import numpy as np

from logreplay.analysis.statistics.quantiles import Floats


def isotonic(values: Floats) -> Floats:
    """Return the non-decreasing values (n,) with the least squared distance from these; at most some thousands.

    Source: the max-min formula (Barlow et al., Statistical inference under order restrictions, 1972): each value is the
    largest, over where a stretch that holds it begins, of the smallest mean, over where it ends.
    """
    number = len(values)
    upto = np.concatenate(([0.0], np.cumsum(values)))
    start, stop = np.arange(number)[:, None], np.arange(1, number + 1)
    means = np.where(stop > start, (upto[stop] - upto[start]) / np.maximum(stop - start, 1), np.inf)
    least = np.minimum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
    result: Floats = np.where(stop > start, least, -np.inf).max(axis=0)
    return np.maximum.accumulate(result)
