"""Judges whether a step was in balance: backlog, drift of the response time, errors, outages, generator lag.

A server that keeps up answers as fast at the end of a step as at its start, whatever its latency is. One that does
not shows it in time, within the step, long before percentiles of the step tell: requests in flight grow, response
times climb. So a step is judged by itself, not by comparison with a guess of what latency ought to be.

Source: thresholds as simulated on known queues (see tests/analysis/verdict/test_known_queues.py).
"""

from collections.abc import Collection
from typing import Final

import numpy as np
import polars as pl

from logreplay.analysis.format_time import show_rate
from logreplay.analysis.input.arrays import RequestArrays, name_kinds, those
from logreplay.analysis.input.chunks import SECOND
from logreplay.analysis.statistics.failures import Series, more_errors
from logreplay.analysis.statistics.quantiles import Bools, Floats, Grouped, Part
from logreplay.analysis.statistics.slices import slices
from logreplay.analysis.statistics.trends import DRIFT, TREND_Z, mann_kendall, relative_rise, theil_sen
from logreplay.analysis.tables.aggregate import BLOCKS, SETTLE, Flow, Windows, step_flow, step_windows, steps
from logreplay.analysis.tables.overload import completed_falling_behind
from logreplay.analysis.verdict.outages import Outage, outages

GROWTH: Final = 0.02
SLOW_GROWTH: Final = 0.005
CLEAR_Z: Final = 3.3
CLEAR_DRIFT: Final = 1.0
"""Drift from which a growth below `GROWTH` counts: the rate is slightly above the capacity."""
BACKLOG_S: Final = 1.0
SENT_ENOUGH: Final = 0.98
LATE_S: Final = 0.05
LATE: Final = 0.2
"""Share of the median service time: a larger lag, of `LATE_S` at least, changes response times."""

DIED: Final = 3
"""A target that never answers again died of its load if this many times the usual number was in flight just before."""
DIED_LEAST: Final = 20
"""Fewest requests in flight for that: fewer may come together by chance."""
LOOKED_AT: Final = 2
"""Number of overloaded rates, the lowest ones, at which responses/s are measured while the backlog forms."""

CUT: Final = "cut"
"""Verdict of a step that ended before its time, without overload or errors: it proves nothing."""


VOID: Final = "void"
"""Verdict of a trial of a search that was not valid: it does not count."""
SPOKEN: Final = {VOID: "invalid"}
"""Verdicts that people read as another word than files have."""

MIX: Final = "other-mix"
"""Verdict of a step that leaves out routes: it measures their cost, not the rate that the target carries."""


def dropped_too_many() -> pl.Expr:
    """Whether a step without a backlog did not reach its rate, since too many of its requests were dropped."""
    return (pl.col("verdict") == "stable") & (pl.col("dropped") > (1 - SENT_ENOUGH) * pl.col("scheduled"))


def judged_steps(
    requests: RequestArrays,
    limited: Collection[int] = (),
    cut: Collection[int] = (),
    void: Collection[int] = (),
    mixed: Collection[int] = (),
) -> pl.DataFrame:
    """Return the step table with the evidence of each step: the columns of `aggregate.steps` and of `evidence`.

    Remnants and stragglers around found steps have no row.

    Args:
        requests: the run.
        limited: labels of steps in which the replaying machine met a limit.
        cut: labels of steps whose verdict is `CUT` where it would be ``stable``.
        void: labels of trials whose verdict is `VOID`.
        mixed: labels of steps whose verdict is `MIX`.
    """
    windows = step_windows(requests)
    flow = step_flow(requests, windows)
    table = steps(requests, windows, flow)
    table = table.join(evidence(requests, table, windows, flow, {*limited, *void}), on="step", maintain_order="left")
    unproven = pl.col("step").is_in(list(cut)) & (pl.col("verdict") == "stable")
    words = pl.when(pl.col("step").is_in(list(void))).then(pl.lit(VOID)).when(unproven).then(pl.lit(CUT))
    words = words.when(pl.col("step").is_in(list(mixed))).then(pl.lit(MIX))
    table = table.with_columns(verdict=words.otherwise("verdict"))
    return table.filter(pl.Series(requests.is_step))


def evidence(
    requests: RequestArrays, table: pl.DataFrame, windows: Windows, flow: Flow, limited: Collection[int] = ()
) -> pl.DataFrame:
    """Judge each step of a run, of `aggregate.steps`: its balance by itself, its errors against the lowest rates.

    Returns:
        One row per step. ``growth``: of the requests in flight, per request scheduled, after the first fifth of the
        step. ``trend_z``: Mann-Kendall statistic of ten successive medians of the response time. ``drift``: last two
        of these less the first two, over the first. ``slope``: seconds of response time gained per second.
        ``error_low``: by how much the share of errors exceeds that at the lowest rates, at least (99 %).
        ``error_base``: share of errors at the lowest rates, where it is the same at two of them or more, and not
        chance; else 0. ``failed_p50``: median service time of the errors, seconds. ``fell_behind``: answers/s while the
        backlog began to grow, of the lowest overloaded rates. ``died``: how many requests were in flight as the target
        died of them. ``over``: the backlog grows. ``failing``: more than 1 % errors beyond ``error_base``, ``failure``
        the most frequent of all errors and its share. ``outage``: a span without one expected answer, whatever the
        rate. ``generator``: the generator sent less than the rate, and late, or met another limit. ``verdict``:
        ``stable``, ``overloaded``, ``errors``, ``outage`` or ``generator-limited``.
    """
    medians, means = _block_times(requests, windows)
    number = len(requests.labels)
    rate = windows.count / np.maximum(windows.length, 1) * SECOND
    service, lag, lag_p50 = (table[name].to_numpy() for name in ("service_p50", "lag_p95", "lag_p50"))
    at_start, at_settled, at_middle, at_stop = flow.in_flight
    more, more_by_middle = at_stop - at_settled, at_middle - at_settled
    growth = more / np.maximum(windows.count * (1 - SETTLE), 1)
    z, drift = mann_kendall(medians), relative_rise(medians)
    spacing = (windows.stop - windows.settled) / SECOND / BLOCKS
    slope = theil_sen(medians, spacing)
    fastest = np.nan_to_num(np.fmin.reduce(medians, axis=1))
    empty = at_start < rate * fastest / 10  # a slow server has yet to fill with rate x response time
    patience = BACKLOG_S + np.where(empty, fastest, np.nan_to_num(service).min())
    rises = (z > TREND_Z) & ((drift > DRIFT) | (slope > GROWTH))
    over = (
        (rises & (growth > GROWTH))
        | (clearly_rises(means) & (growth > SLOW_GROWTH) & (theil_sen(means, spacing) > SLOW_GROWTH))
        | ((more > rate * patience) & (4 * more_by_middle > more))  # growth at the end of the step only is a stall
    )
    dropped = table["dropped"].to_numpy()  # the target had no part in them
    errors, count, found = table["errors"].to_numpy() - dropped, windows.count - dropped, outages(requests)
    dead = np.isin(np.arange(number), [step for outage in found for step in outage.steps])
    threshold = np.maximum(LATE_S, LATE * np.nan_to_num(service))
    generator = (lag > threshold) & ((table["sent"].to_numpy() < SENT_ENOUGH * rate) | (lag_p50 > threshold))
    generator |= np.isin(requests.labels, list(limited))
    measured = ~dead & ~generator & requests.is_step
    rates = table["rate"].to_numpy()
    in_flight = rates * table["mean"].cast(pl.Float64).to_numpy()
    failing, base, least = more_errors(rates, errors, count, measured, failures_of_steps(requests, windows))
    died = _died(found, rates, np.where(over | failing | dead | generator, np.nan, in_flight))
    excused = _excused([outage for outage in found if outage not in died], rates, over, failing | dead)
    out = np.array([index in excused for index in range(number)], dtype=np.bool_)
    over, failing = over & ~out, failing & ~out
    fell_behind = _fell_behind(requests, rates, over & ~generator, np.where(over | failing | out, np.nan, in_flight))
    verdict = np.select(
        [generator, out, over, failing], ["generator-limited", "outage", "overloaded", "errors"], default="stable"
    )
    return pl.DataFrame(
        {
            "step": requests.labels,
            "growth": growth,
            "trend_z": z,
            "drift": drift,
            "slope": slope,
            "error_low": least,
            "error_base": np.full(number, base),
            "failed_p50": _failed_p50(requests, number),
            "fell_behind": fell_behind,
            "died": [
                next((text for each, text in died.items() if index in each.steps), None) for index in range(number)
            ],
            "over": over,
            "failing": failing,
            "failure": [_failure(requests, index) if errors[index] else None for index in range(number)],
            "outage": [excused.get(index) for index in range(number)],
            "generator": generator,
            "verdict": verdict.astype(object),
        },
        schema_overrides={"verdict": pl.String, "failure": pl.String, "outage": pl.String, "died": pl.String},
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


def failures_of_steps(requests: RequestArrays, windows: Windows) -> list[Series]:
    """The requests sent and failed in each second of each step; empty series where none failed."""
    found: list[Series] = [(np.zeros(0, np.int64),) * 2 for _ in requests.labels]
    if requests.good.all():
        return found
    first = windows.start // SECOND
    number = windows.last // SECOND - first + 1
    begin = np.cumsum(number) - number
    counts, failed = np.zeros((2, int(number.sum())), np.int64)
    for rows in slices(len(requests)):
        part = requests.take(rows)
        place = begin[part.step] + part.scheduled // SECOND - first[part.step]
        counts += np.bincount(place[part.sent], minlength=len(counts))
        failed += np.bincount(place[part.sent & part.failed], minlength=len(counts))
    ends = (begin + number)[:-1]
    return list(zip(np.split(counts, ends), np.split(failed, ends), strict=True))


def _usual(rate: Floats, in_flight: Floats, below: float) -> float:
    """Mean requests in flight at the highest carried rate below one; 0 where there is none.

    Of several trials the fewest: others may hold the backlog of the step before. NaN where a step was not carried.
    """
    lower = (rate < below) & (in_flight > 0)
    return float(in_flight[lower & (rate == rate[lower].max(initial=0.0))].min(initial=np.inf)) if lower.any() else 0.0


def _died(found: list[Outage], rate: Floats, in_flight: Floats) -> dict[Outage, str]:
    """The outage without end that the load caused, and what to say of it.

    It covers two rates at least, and just before it three times the requests were in flight that are usual at the
    rate below.
    """
    died = {}
    for outage in found:
        rates = rate[list(outage.steps)]
        usual = _usual(rate, in_flight, rates.min())
        before = outage.in_flight or 0
        if usual and len(set(rates)) > 1 and before >= max(DIED * usual, DIED_LEAST):
            died[outage] = f"{before} in flight (usual {show_rate(usual, 2)})"
    return died


def _fell_behind(requests: RequestArrays, rate: Floats, over: Bools, in_flight: Floats) -> Floats:
    """(steps,) answers/s as the backlog began to grow, of the lowest `LOOKED_AT` overloaded rates; NaN elsewhere."""
    carried = np.full(len(rate), np.nan)
    rates = [each for each in np.unique(rate[over]) if over[rate == each].mean() >= 1 / 2][:LOOKED_AT]
    for step in np.flatnonzero(over & np.isin(rate, rates)):
        if usual := _usual(rate, in_flight, rate[step]):
            carried[step] = completed_falling_behind(requests, int(step), usual)
    return carried


def late_from(service_p50: pl.Expr) -> pl.Expr:
    """The generator lag, in seconds, from which requests are late, by the median service time of their step."""
    return pl.max_horizontal(LATE * service_p50.fill_null(0.0), LATE_S)


def clearly_rises(series: Floats) -> Bools:
    """Return whether each row (rows, n) of times doubles, and rises beyond doubt."""
    rises: Bools = (mann_kendall(series) >= CLEAR_Z) & (relative_rise(series) > CLEAR_DRIFT)
    return rises


def _excused(found: list[Outage], rate: Floats, over: Bools, failing: Bools) -> dict[int, str]:
    """Steps whose outage was not caused by load, and a text about it.

    An outage is excused if (1) the target sustained this or a higher rate without one, or (2) no rate up to here was
    overloaded and it is the only outage, or others came at sustained rates. If requests queued during it, only a
    higher sustained rate excuses it.
    """
    highest = [rate[list(outage.steps)].max() for outage in found]
    best = rate[~over & ~failing].max(initial=0.0)
    carried = [
        bool(best > each if outage.waited else best >= each) for outage, each in zip(found, highest, strict=True)
    ]
    excused: dict[int, str] = {}
    for outage, each, refuted in zip(found, highest, carried, strict=True):
        unrelated = (len(found) == 1 or any(carried)) and not over[rate <= each].any()
        if refuted or (unrelated and not outage.waited):
            for step in outage.steps:
                excused[step] = f"{excused[step]}, {outage.text}" if step in excused else outage.text
    return excused


def _failure(requests: RequestArrays, step: int) -> str:
    kinds = name_kinds(requests.kind[(requests.step == step) & requests.failed & requests.sent])
    name, count = kinds.most_common(1)[0]
    return f"{name}: {100 * count / kinds.total():.0f} %"


def _failed_p50(requests: RequestArrays, number: int) -> Floats:
    """(steps,) median service time of the requests that were sent and failed, seconds."""
    failed = np.flatnonzero(requests.sent & requests.failed)
    return Grouped(requests.step[failed], requests.service[failed], number).quantile(0.5)


def _block_times(requests: RequestArrays, windows: Windows) -> tuple[Floats, Floats]:
    """(steps, `BLOCKS`) medians and means of the response time as measured, seconds, after each step's first fifth."""
    number = len(requests.labels)

    def part(rows: slice) -> Part:
        step = requests.step[rows]
        block = windows.block(step, requests.scheduled[rows])
        inside = (block >= 0) & requests.taken_up[rows]
        return those(step * BLOCKS + block, inside), those(requests.response[rows], inside)

    groups = number * BLOCKS
    counts, sums = np.zeros(groups, np.int64), np.zeros(groups)
    for rows in slices(len(requests)):
        group, response = part(rows)
        counts += np.bincount(group, minlength=groups)
        sums += np.bincount(group, response, groups)
    means = np.where(counts > 0, sums / np.maximum(counts, 1) / SECOND, np.nan)
    parts = (part(rows) for rows in slices(len(requests)))
    medians = Grouped.of_parts(parts, groups, len(requests)).quantile(0.5)
    return medians.reshape(number, BLOCKS), means.reshape(number, BLOCKS)
