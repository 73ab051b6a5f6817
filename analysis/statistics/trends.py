"""Trends in short series (rows, n), NaN for missing values: whether they rise beyond chance, how much, and how fast."""

from typing import Final

import numpy as np

from logreplay.analysis.statistics.quantiles import Floats

TREND_Z: Final = 2.3
"""Trend statistic above which a series rises beyond chance: one-sided 99 %."""
DRIFT: Final = 0.25
"""Relative rise above which such a trend counts."""


def relative_rise(series: Floats) -> Floats:
    """Return how much the last two values of each row exceed the first two, as a share of these; NaN for empty rows."""
    result = np.full(len(series), np.nan)
    for index, row in enumerate(series):
        known = row[~np.isnan(row)]
        if len(known):
            result[index] = known[-2:].mean() / max(known[:2].mean(), 1e-6) - 1
    return result


def mann_kendall(series: Floats) -> Floats:
    """Return the trend statistic of each row: standard normal without a trend, above 2.3 clearly rising.

    Source: Kendall, Rank correlation methods; the variance is n(n-1)(2n+5)/18.
    """
    width = series.shape[1]
    low, high = np.triu_indices(width, 1)
    score = np.nansum(np.sign(series[:, high] - series[:, low]), axis=1)
    n = np.sum(~np.isnan(series), axis=1)
    deviation = np.sqrt(np.maximum(n * (n - 1) * (2 * n + 5) / 18, 1.0))
    result: Floats = (score - np.sign(score)) / deviation
    return result


def theil_sen(series: Floats, spacing: Floats) -> Floats:
    """Return the median slope of each row, whose values have this ``spacing``; NaN of fewer than two values."""
    low, high = np.triu_indices(series.shape[1], 1)
    slopes = (series[:, high] - series[:, low]) / (high - low)
    result = np.full(len(series), np.nan)
    some = np.any(~np.isnan(slopes), axis=1)
    result[some] = np.nanmedian(slopes[some], axis=1) / spacing[some]
    return result
