"""Was a step in balance? Evidence per step: backlog, drift of the response time, errors, our own lag.

A server that keeps up answers as fast at the end of a step as at its start, whatever its latency is. One that does
not shows it in time, within the step, long before percentiles of the step tell: requests in flight grow, response
times climb. So a step is judged by itself, not by comparison with a guess of what latency ought to be.

Source: thresholds as simulated on known queues (see tests/analysis/test_known_queues.py).
"""

import math
from typing import Final

import numpy as np
import polars as pl

from logreplay.analysis.buckets import SECOND, Windows, in_flight_at, step_windows
from logreplay.analysis.intake import Requests
from logreplay.analysis.quantiles import Floats, Grouped, Ints

BLOCKS: Final = 10
GROWTH: Final = 0.02
TREND_Z: Final = 2.3
DRIFT: Final = 0.25
BACKLOG_S: Final = 1.0
ERROR_SHARE: Final = 0.01
_Z99: Final = 2.5758


def evidence(requests: Requests) -> pl.DataFrame:
    """Judge each step of a run by itself.

    Returns:
        One row per step. ``growth``: of the requests in flight, per request scheduled, after the first fifth of the
        step. ``trend_z``: Mann-Kendall statistic of ten successive medians of the response time. ``drift``: last two
        of these less the first two, over the first. ``slope``: seconds of response time gained per second.
        ``error_low``: lower end of the 99 % Wilson interval of the share of errors. ``over``: the backlog grows,
        or more than a second of work is waiting. ``failing``: more than 1 % errors. ``generator``: we were late.
        ``verdict``: ``stable``, ``overloaded``, ``errors`` or ``generator-limited``.
    """
    windows = step_windows(requests)
    medians = _block_medians(requests, windows)
    backlog = in_flight_at(requests, windows.stop)
    at_settled = in_flight_at(requests, windows.settled)
    late = requests.scheduled >= windows.settled[requests.step]
    number = len(requests.labels)
    arrivals = np.bincount(requests.step[late], minlength=number)
    growth = (backlog - at_settled) / np.maximum(arrivals, 1)
    z = mann_kendall(medians)
    first, last = np.nanmean(medians[:, :2], axis=1), np.nanmean(medians[:, -2:], axis=1)
    drift = (last - first) / np.maximum(first, 1e-6)
    service = Grouped(requests.step[requests.sent], requests.service[requests.sent], number).quantile(0.5)
    lag = Grouped(requests.step, requests.lag, number).quantile(0.95)
    rate = windows.count / np.maximum(windows.length, 1) * SECOND
    errors = np.bincount(requests.step[~requests.good], minlength=number)
    error_low = wilson_low(errors, windows.count)
    patience = BACKLOG_S + np.nan_to_num(service).min()  # a slow but steady server holds rate x latency in flight
    over = ((growth > GROWTH) & (z > TREND_Z) & (drift > DRIFT)) | (backlog > rate * patience)
    failing = error_low > ERROR_SHARE
    generator = lag > np.maximum(0.05, 0.2 * np.nan_to_num(service))
    verdict = np.select([generator, over, failing], ["generator-limited", "overloaded", "errors"], default="stable")
    return pl.DataFrame(
        {
            "step": requests.labels,
            "growth": growth,
            "trend_z": z,
            "drift": drift,
            "slope": theil_sen(medians, (windows.stop - windows.settled) / SECOND / BLOCKS),
            "error_low": error_low,
            "over": over,
            "failing": failing,
            "generator": generator,
            "verdict": verdict.astype(object),
        },
        schema_overrides={"verdict": pl.String},
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


def _block_medians(requests: Requests, windows: Windows) -> Floats:
    """(steps, `BLOCKS`) medians of the response time as measured, seconds, after the first fifth of each step."""
    start = windows.settled[requests.step]
    length = np.maximum((windows.stop - windows.settled) // BLOCKS, 1)[requests.step]
    block = (requests.scheduled - start) // length
    inside = (requests.scheduled >= start) & requests.sent
    groups = requests.step * BLOCKS + np.minimum(block, BLOCKS - 1)
    number = len(requests.labels)
    blocks = Grouped(groups[inside], requests.response[inside], number * BLOCKS)
    return blocks.quantile(0.5).reshape(number, BLOCKS)


def mann_kendall(series: Floats) -> Floats:
    """Return the trend statistic of each row: standard normal without a trend, above 2.3 clearly rising.

    Args:
        series: (rows, n); NaN where there is no value.

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
    """Return the median slope of each row (rows, n) of values ``spacing`` (rows,) apart; NaN where it has none."""
    low, high = np.triu_indices(series.shape[1], 1)
    slopes = (series[:, high] - series[:, low]) / (high - low)
    result = np.full(len(series), np.nan)
    some = np.any(~np.isnan(slopes), axis=1)
    result[some] = np.nanmedian(slopes[some], axis=1) / spacing[some]
    return result


def wilson_low(hits: Ints, trials: Ints, z: float = _Z99) -> Floats:
    """Return the lower end of the Wilson interval of hits/trials (99 % two-sided by default)."""
    n = np.maximum(trials, 1)
    share = hits / n
    middle = share + z * z / (2 * n)
    spread = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    result: Floats = (middle - spread) / (1 + z * z / n)
    return result


def wilson(hits: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """Return the Wilson interval of hits/trials (95 % by default)."""
    n = max(trials, 1)
    share = hits / n
    middle, spread = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (middle - spread) / (1 + z * z / n), (middle + spread) / (1 + z * z / n)
