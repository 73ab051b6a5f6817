"""Judges the steps of a per-second table, of which only counts and means of the response time are known.

The rules are those of `logreplay.analysis.verdict.stability`, for the mean of each second instead of the requests.
"""

from typing import Final

import numpy as np
import polars as pl

from logreplay.analysis.input.arrays import window_s
from logreplay.analysis.statistics.failures import more_errors
from logreplay.analysis.statistics.quantiles import Bools, Floats, Ints
from logreplay.analysis.statistics.step_finder import rate_varies, sending_ends, steps_of_seconds, usual_rate
from logreplay.analysis.statistics.trends import DRIFT, TREND_Z, mann_kendall, relative_rise, theil_sen
from logreplay.analysis.tables.aggregate import SETTLE
from logreplay.analysis.verdict.saturation_sentences import RISE
from logreplay.analysis.verdict.stability import BACKLOG_S, GROWTH, SLOW_GROWTH, clearly_rises

TREND_S: Final = 8
"""Fewest seconds that distinguish a trend from chance, as in a step of ten seconds."""
SAME: Final = 0.1
LEVEL: Final = 2.0
"""Multiple of the response times before an overload, above which they have not recovered after it."""


def judged_seconds(seconds: pl.DataFrame) -> pl.DataFrame:
    """Return a step table with evidence from nothing but a per-second table.

    Lost: percentiles of a step, requests in flight, kinds of errors, generator lag. The backlog is inferred: if
    response times grow by s seconds a second, s/(1+s) of what comes is not served. A step is as long as the table, or
    `step_finder`, says. A step shorter than `TREND_S` is judged by the seconds before it as well. After an overloaded
    step, response times that stay high have levelled off at some limit of the client: that step is overloaded, too.

    The table needs ``second``, ``offered``, ``errors``, ``mean``; ``step`` if it names any; ``dropped`` if it counts
    them.
    """
    if "step" not in seconds.columns or seconds["step"].is_null().all():
        seconds = seconds.with_columns(step=_steps_of(seconds["offered"].to_numpy()))
    seconds = seconds.filter(pl.col("step").is_not_null() & (pl.col("offered") > 0))
    answered = pl.when(pl.col("mean").is_not_null()).then(timed(seconds))
    table = seconds.group_by("step", maintain_order=True).agg(
        start=pl.col("second").min().cast(pl.Float64),
        duration=(pl.col("second").max() - pl.col("second").min() + 1).cast(pl.Float64),
        rate=pl.col("offered").map_batches(
            lambda offered: usual_rate(offered.to_numpy()), return_dtype=pl.Float64, returns_scalar=True
        ),
        scheduled=pl.col("offered").sum(),
        errors=pl.col("errors").sum(),
        dropped=pl.col("dropped").sum() if "dropped" in seconds.columns else pl.lit(0),
        mean=(pl.col("mean") * answered).sum() / answered.sum(),
    )
    series = _judged_means(seconds, table)
    z, slope = mann_kendall(series), np.nan_to_num(theil_sen(series, np.ones(table.height)))
    growth = slope / (1 + np.maximum(slope, 0.0))
    drift = relative_rise(series)
    failed, sent = ((table[name] - table["dropped"]).to_numpy() for name in ("errors", "scheduled"))
    mean = table["mean"].to_numpy()
    waiting = mean > BACKLOG_S + np.fmin.reduce(mean)  # NaN where there is no time at all
    climbing = (growth > GROWTH) & (drift > DRIFT)
    slowly = clearly_rises(series) & (growth > SLOW_GROWTH) & (slope > SLOW_GROWTH)
    rate = table["rate"].to_numpy()
    seen = (climbing & (z > TREND_Z)) | slowly | waiting | _at_a_limit(mean, rate)
    over = _whole_overloads(seen, climbing, mean, rate)
    failing, base, least = more_errors(rate, failed, sent, known=np.ones(table.height, np.bool_))
    unknown = (
        *("sent", "completed", "goodput", "p50", "p90", "p95", "p99", "p999", "max", "service_p50", "lag_p95"),
        *("settled_completed", "settled_goodput", "valid_up_to", "failed_p50", "fell_behind"),
        *("ok_p50", "ok_p90", "ok_p95", "ok_p99", "ok_p999"),
    )
    return table.with_columns(
        offered="rate",
        **dict.fromkeys(unknown, pl.lit(None, pl.Float64)),
        net_errors=pl.lit(0),
        growth=pl.Series(growth),
        trend_z=pl.Series(z),
        drift=pl.Series(drift),
        slope=pl.Series(np.where(over & (growth <= SLOW_GROWTH), np.nan, slope)),  # levelled off
        error_low=pl.Series(least),
        error_base=pl.lit(base),
        over=pl.Series(over),
        failing=pl.Series(failing),
        failure=pl.when(pl.Series(failing)).then(pl.lit("kind unknown")),
        outage=pl.lit(None, pl.String),
        died=pl.lit(None, pl.String),
        generator=pl.lit(False),
        verdict=pl.Series(np.select([over, failing], ["overloaded", "errors"], default="stable").tolist()),
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


def timed(seconds: pl.DataFrame) -> pl.Expr:
    """The requests that the mean of a second covers: in tables of logreplay those that did not fail, otherwise all."""
    return pl.col("offered") - pl.col("errors") if "ok" in seconds.columns else pl.col("offered")


def _steps_of(offered: Ints) -> pl.Series:
    """The step of each second that a table does not name: as found, or windows; none for stragglers and remnants.

    A table whose rate does not vary (`rate_varies`) is one step.
    """
    step = steps_of_seconds(offered)
    if step is None:
        second, window, ends = np.arange(len(offered)), window_s(len(offered)), sending_ends(offered)
        tenth = window // 10
        varies = rate_varies(offered[: ends // tenth * tenth].reshape(-1, tenth).sum(axis=1))
        step = second // window if varies else np.where(second < ends, 0, -1)
    return pl.Series(step).set(pl.Series(step < 0), None)


def _judged_means(seconds: pl.DataFrame, table: pl.DataFrame) -> Floats:
    """(steps, seconds) means of the seconds by which each step is judged; NaN after the last one.

    The first fifth is left out; where fewer than `TREND_S` are left, seconds before are taken as well.
    """
    mean, second = (seconds[name].cast(pl.Float64).to_numpy() for name in ("mean", "second"))
    start, length = table["start"].to_numpy(), table["duration"].to_numpy()
    judged = np.minimum(start + np.round(SETTLE * length), np.maximum(start + length - TREND_S, 0))
    first, stop = np.searchsorted(second, judged), np.searchsorted(second, start + length)
    series = np.full((table.height, int((stop - first).max())), np.nan)
    for row, (begin, end) in enumerate(zip(first.tolist(), stop.tolist(), strict=True)):
        series[row, : end - begin] = mean[begin:end]
    return series


def _at_a_limit(mean: Floats, rate: Floats) -> Bools:
    """Whether times stay, from this step to the last one, as high as a client lets them become: `RISE` times as high.

    A queue in balance has longer times at each higher rate. Where they stay within 10 % while the rate rises by 10 %,
    requests are given up.
    """
    found = np.zeros(len(mean), np.bool_)
    usual = np.median(mean[-3:])
    high = (abs(mean / usual - 1) < SAME) & (mean > RISE * np.fmin.accumulate(mean))
    first = len(high) - int(np.argmin(np.append(high[::-1], False)))
    if first < len(high) - 1 and rate[first:].max() > (1 + SAME) * rate[first]:
        found[first:] = True
    return found


def _whole_overloads(over: Bools, climbing: Bools, mean: Floats, rate: Floats) -> Bools:
    """Overloads from the step in which times begin to climb to the one in which they recover, in order of time.

    Before an overloaded step: those that climb without a break, at no higher a rate. After it: those at no lower a rate
    whose times are still above `LEVEL` times those before.
    """
    over, usual = over.copy(), np.inf
    upwards = np.diff(rate, prepend=-np.inf) >= 0
    for step in range(len(over) - 1, 0, -1):
        over[step - 1] |= over[step] & upwards[step] & climbing[step - 1] & (mean[step - 1] < mean[step])
    for step in range(1, len(over)):
        if not over[step - 1] and np.isfinite(mean[step - 1]):
            usual = mean[step - 1]
        over[step] |= over[step - 1] & upwards[step] & (mean[step] > LEVEL * usual)
    return over
