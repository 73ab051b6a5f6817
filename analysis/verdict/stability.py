"""Judges whether a step was in balance: backlog, drift of the response time, errors, generator lag.

A server that keeps up answers as fast at the end of a step as at its start, whatever its latency is. One that does
not shows it in time, within the step, long before percentiles of the step tell: requests in flight grow, response
times climb. So a step is judged by itself, not by comparison with a guess of what latency ought to be.

Source: thresholds as simulated on known queues (see tests/analysis/verdict/test_known_queues.py).
"""

from typing import Final

import numpy as np
import polars as pl

from logreplay.analysis.input.arrays import RequestArrays, name_kinds, those, window_s
from logreplay.analysis.input.chunks import SECOND
from logreplay.analysis.statistics.intervals import wilson
from logreplay.analysis.statistics.quantiles import Floats, Grouped, Ints, Part
from logreplay.analysis.statistics.slices import slices
from logreplay.analysis.tables.windows import SETTLE, Flow, Windows, step_flow, step_windows, steps

BLOCKS: Final = 10
GROWTH: Final = 0.02
TREND_Z: Final = 2.3
DRIFT: Final = 0.25
BACKLOG_S: Final = 1.0
ERROR_SHARE: Final = 0.01
TRIALS: Final = 3
"""Steps of the same rate from which on their spread says more than an interval from within one."""

_Z99: Final = 2.5758


def judged_steps(requests: RequestArrays) -> pl.DataFrame:
    """Return the step table with the evidence of each step: the columns of `buckets.steps` and of `evidence`.

    ``p99_low`` and ``p99_high`` of a rate with `TRIALS` steps or more are the spread of their p99; a step that is not
    stable has none.
    """
    windows = step_windows(requests)
    flow = step_flow(requests, windows)
    table = steps(requests, windows, flow)
    table = table.join(evidence(requests, table, windows, flow), on="step", maintain_order="left")
    return table.with_columns(_between("p99_low", pl.col("p99").min()), _between("p99_high", pl.col("p99").max()))


def _between(name: str, of_trials: pl.Expr) -> pl.Expr:
    """An end of an interval: the spread of three or more trials, if there are; none for a step out of balance."""
    several = pl.len().over("rate") >= TRIALS
    stable = pl.col("verdict") == "stable"
    return pl.when(stable & several).then(of_trials.over("rate")).when(stable).then(name).alias(name)


def evidence(requests: RequestArrays, table: pl.DataFrame, windows: Windows, flow: Flow) -> pl.DataFrame:
    """Judge each step of a run by itself.

    Args:
        requests: the run.
        table: its steps, of `buckets.steps`.
        windows: when they were offered.
        flow: requests in flight over time.

    Returns:
        One row per step. ``growth``: of the requests in flight, per request scheduled, after the first fifth of the
        step. ``trend_z``: Mann-Kendall statistic of ten successive medians of the response time. ``drift``: last two
        of these less the first two, over the first. ``slope``: seconds of response time gained per second.
        ``error_low``: lower end of the 99 % Wilson interval of the share of errors. ``over``: the backlog grows,
        or more than a second of work is waiting. ``failing``: more than 1 % errors, ``failure`` the most frequent
        of them and its share. ``generator``: the generator lag was too large.
        ``verdict``: ``stable``, ``overloaded``, ``errors`` or ``generator-limited``.
    """
    medians = _block_medians(requests, windows)
    backlog, at_settled = flow.in_flight, flow.in_flight_settled
    number = len(requests.labels)
    arrivals = windows.count * (1 - SETTLE)
    growth = (backlog - at_settled) / np.maximum(arrivals, 1)
    z = mann_kendall(medians)
    drift = _drift(medians)
    service, lag = (table[name].to_numpy() for name in ("service_p50", "lag_p95"))
    rate = windows.count / np.maximum(windows.length, 1) * SECOND
    error_low = _error_low(table["errors"].to_numpy(), windows.count)
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
            "failure": [_failure(requests, index) if failing[index] else None for index in range(number)],
            "generator": generator,
            "verdict": verdict.astype(object),
        },
        schema_overrides={"verdict": pl.String, "failure": pl.String},
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


def judged_seconds(seconds: pl.DataFrame) -> pl.DataFrame:
    """Return a step table with evidence from nothing but a per-second table.

    Lost: percentiles of a step, requests in flight, kinds of errors, generator lag. The backlog is inferred: if
    response times grow by s seconds a second, s/(1+s) of what comes is not served.

    Args:
        seconds: needs ``second``, ``offered``, ``errors``, ``mean``; where it has no ``step``, each `window_s` are one.
    """
    if "step" not in seconds.columns:
        seconds = seconds.with_columns(step=pl.col("second") // window_s(seconds.height))
    seconds = seconds.filter(pl.col("step").is_not_null())
    answered = pl.when(pl.col("mean").is_not_null()).then("offered")
    table = seconds.group_by("step", maintain_order=True).agg(
        start=pl.col("second").min().cast(pl.Float64),
        duration=(pl.col("second").max() - pl.col("second").min() + 1).cast(pl.Float64),
        scheduled=pl.col("offered").sum(),
        errors=pl.col("errors").sum(),
        mean=(pl.col("mean") * answered).sum() / answered.sum(),
        series="mean",
    )
    width = int(table["series"].list.len().to_numpy().max())
    series = np.full((table.height, width), np.nan)
    for row, values in enumerate(table["series"].to_list()):
        judged = values[round(SETTLE * len(values)) :]
        series[row, : len(judged)] = [np.nan if value is None else value for value in judged]
    rate = (table["scheduled"] / table["duration"]).to_numpy()
    z, slope = mann_kendall(series), np.nan_to_num(theil_sen(series, np.ones(table.height)))
    growth = slope / (1 + np.maximum(slope, 0.0))
    drift = _drift(series)
    error_low = _error_low(table["errors"].to_numpy(), table["scheduled"].to_numpy())
    mean = table["mean"].to_numpy()
    waiting = mean > BACKLOG_S + np.fmin.reduce(mean)  # NaN where there is no time at all
    over = ((growth > GROWTH) & (z > TREND_Z) & (drift > DRIFT)) | waiting
    failing = error_low > ERROR_SHARE
    unknown = ("sent", "completed", "goodput", "p50", "p90", "p95", "p99", "p999", "max", "lag_p95")
    return (
        table.drop("series")
        .with_columns(
            rate=pl.Series(rate),
            offered=pl.Series(rate),
            **dict.fromkeys(unknown, pl.lit(None, pl.Float64)),
            net_errors=pl.lit(0),
            growth=pl.Series(growth),
            trend_z=pl.Series(z),
            drift=pl.Series(drift),
            slope=pl.Series(slope),
            error_low=pl.Series(error_low),
            over=pl.Series(over),
            failing=pl.Series(failing),
            failure=pl.when(pl.Series(failing)).then(pl.lit("kind unknown")),
            generator=pl.lit(False),
            verdict=pl.Series(np.select([over, failing], ["overloaded", "errors"], default="stable").tolist()),
        )
        .with_columns(pl.col(pl.Float64).fill_nan(None))
    )


def _failure(requests: RequestArrays, step: int) -> str:
    kinds = name_kinds(requests.kind[(requests.step == step) & ~requests.good])
    name, count = kinds.most_common(1)[0]
    return f"{name}: {100 * count / kinds.total():.0f} %"


def _block_medians(requests: RequestArrays, windows: Windows) -> Floats:
    """(steps, `BLOCKS`) medians of the response time as measured, seconds, after the first fifth of each step."""
    number = len(requests.labels)
    length = np.maximum((windows.stop - windows.settled) // BLOCKS, 1)

    def part(rows: slice) -> Part:
        step = requests.step[rows]
        block = (requests.scheduled[rows] - windows.settled[step]) // length[step]
        inside = (block >= 0) & requests.sent[rows]
        groups = step * BLOCKS + np.minimum(block, BLOCKS - 1)
        return those(groups, inside), those(requests.response[rows], inside)

    parts = (part(rows) for rows in slices(len(requests)))
    return Grouped.of_parts(parts, number * BLOCKS, len(requests)).quantile(0.5).reshape(number, BLOCKS)


def _error_low(errors: Ints, scheduled: Ints) -> Floats:
    """(steps,) the lower end of the 99 % Wilson interval of the share of errors."""
    number = np.maximum(scheduled, 1)
    return wilson(errors / number, number, _Z99)[0]


def _drift(series: Floats) -> Floats:
    """By how much the last two values of each row exceed its first two, as a share of these; NaN for empty rows."""
    result = np.full(len(series), np.nan)
    for index, row in enumerate(series):
        known = row[~np.isnan(row)]
        if len(known):
            result[index] = known[-2:].mean() / max(known[:2].mean(), 1e-6) - 1
    return result


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
