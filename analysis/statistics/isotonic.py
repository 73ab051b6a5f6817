"""Isotonic regression: the rising curve nearest to values that should rise except for noise."""

import numpy as np

from logreplay.analysis.statistics.quantiles import Floats


def isotonic(values: Floats, weights: Floats | None = None) -> Floats:
    """Return the non-decreasing values (n,) with the least squared distance from these; at most some thousands.

    The weights (n,) are above 0. Of shares weighted by numbers of requests, it returns the likeliest rising shares.

    Source: the max-min formula (Barlow et al., Statistical inference under order restrictions, 1972): each value is the
    largest, over where a stretch that holds it begins, of the smallest mean, over where it ends.
    """
    number = len(values)
    weights = np.ones(number) if weights is None else weights
    upto, weight = (np.concatenate(([0.0], np.cumsum(each))) for each in (weights * values, weights))
    start, stop = np.arange(number)[:, None], np.arange(1, number + 1)
    means = np.where(
        stop > start, (upto[stop] - upto[start]) / np.maximum(weight[stop] - weight[start], 1e-300), np.inf
    )
    least = np.minimum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
    result: Floats = np.where(stop > start, least, -np.inf).max(axis=0)
    return np.maximum.accumulate(result)
