"""Computes one row per second, per step and per route from requests: exact, every second from first to last.

Theory of operation: a request belongs to the second in which it was *scheduled*, whatever became of it, so a stall
of the target shows in the seconds that should have been served. Counts of requests sent, completed and
in flight belong to the second in which that happened. A second in which nothing happened has counts of 0 and no
times at all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from logreplay.analysis.input.arrays import RequestArrays, those
from logreplay.analysis.input.chunks import SECOND, by_second, changes
from logreplay.analysis.input.downcast import DROPPED, HTTP_ERROR, NET_ERROR, OK
from logreplay.analysis.statistics.quantiles import PERCENTILES, SMALLEST_SAMPLE, Bools, Floats, Grouped, Ints
from logreplay.analysis.statistics.slices import slices
from logreplay.analysis.tables.design_effect import design_effects
from logreplay.analysis.tables.group_times import GroupTimes, service

_Columns = Callable[[RequestArrays], Mapping[str, npt.NDArray[Any]]]
"""Columns of some requests, by name."""

_FEW_EDGES: Final = 16

_GAPS: Final = 10
"""Mean gaps that random arrivals may lack at both edges of a schedule together: more in one run of 2,000."""
_FEW: Final = 100
"""Number of requests up to which their instants do not give the scheduled rate."""

SETTLE: Final = 0.2
"""Share at the start of a step in which the queues still fill: not judged."""

BLOCKS: Final = 10
"""Parts of the judged time of a step; their medians show its trend."""

SECONDS: Final = (
    *("second", "offered", "sent", "completed", "errors", "in_flight"),
    *("mean", "p50", "p90", "p95", "p99", "max", "bytes", "ok", "dropped", "service_p50", "lag_p50", "lag_max", "step"),
)

_TIMED: Final = (
    *("in_flight", "mean", "p50", "p90", "p95", "p99", "p999", "max", "valid_up_to"),
    *("ok_p50", "ok_p90", "ok_p95", "ok_p99", "ok_p999", "service_p50", "service_p99"),
    *("lag_p50", "lag_p95", "lag_p99", "lag_max", "design_effect", "p99_needs_s"),
    *(f"{name}_{end}" for name in ("mean", "p50", "p90", "p99") for end in ("low", "high")),
    *("growth", "trend_z", "drift", "slope", "over", "verdict"),
)
"""Columns of seconds and steps that rest on response times."""


def without_times(table: pl.DataFrame) -> pl.DataFrame:
    """Empty the columns that rest on response times: the log has none."""
    return table.with_columns(pl.lit(None, table[name].dtype).alias(name) for name in table.columns if name in _TIMED)


def seconds(requests: RequestArrays) -> pl.DataFrame:
    """Count and summarise the requests by second.

    Returns:
        One row for every second since the start of the run, empty ones included. Columns:

        ``second``: from 0. ``offered``: requests scheduled in it. ``sent``, ``completed`` (an HTTP response came),
        both at the time they happened. ``errors``: of those scheduled in it, how many failed.
        ``in_flight``: at its end, with those that were held back until the run was stopped.
        ``mean``, ``p50``, ``p90``, ``p95``, ``p99``, ``max``: response time of those scheduled in it, seconds; a
        percentile counts failures as never answered (inf) and is null where it cannot be known (p99 under 368
        requests); mean and max are of those answered as expected. Each is null where the generator's lag reaches it
        (`logreplay.core.validity`). No time is of a request that the run cancelled as it stopped. ``bytes``: of bodies,
        by schedule. ``ok``: answered with a status below 400. ``dropped``: of the errors, those never sent.
        ``service_p50``: without generator lag. ``lag_p50``, ``lag_max``: generator lag. ``step``: of the first request
        scheduled in it. Times are null where nothing happened.
    """
    number = requests.last_end // SECOND + 1
    taken_up, sent, over, failed = np.zeros((4, number), np.int64)
    for rows in slices(len(requests)):
        part = requests.take(rows)
        begin, end = (part.scheduled + part.lag) // SECOND, (part.scheduled + part.response) // SECOND
        taken_up += _counts(begin, part.taken_up, number)
        sent += _counts(begin, part.sent, number)
        over += _counts(end, part.taken_up, number)
        failed += _counts(end, part.outcome == NET_ERROR, number)
    happened = pl.DataFrame(
        {"second": np.arange(number), "sent": sent, "completed": over - failed, "in_flight": np.cumsum(taken_up - over)}
    )
    due = pl.concat([_due(first, stop, requests.take(rows)) for first, stop, rows in by_second(requests)])
    counts = ("offered", "errors", "bytes", "ok", "dropped")
    known = [label for label, is_step in zip(requests.labels, requests.is_step, strict=True) if is_step]
    table = happened.join(due, on="second", how="left", maintain_order="left")
    table = table.with_columns(pl.col(counts).fill_null(0), step=pl.Series(_step_of_each_second(requests, number)))
    table = table.with_columns(
        pl.col(pl.Float64).fill_nan(None),
        step=pl.when((pl.col("offered") > 0) & pl.col("step").is_in(known)).then("step"),
    ).select(SECONDS)
    return table if requests.has_times else without_times(table)


def _due(first: int, stop: int, part: RequestArrays) -> pl.DataFrame:
    """What became of the requests of some seconds, by the second in which each was scheduled."""
    number = stop - first
    at = part.scheduled // SECOND - first
    due, lag = np.bincount(at, minlength=number).astype(np.int64), Grouped(at, part.lag, number)
    over = part.finished
    over_at, sent = over.scheduled // SECOND - first, over.sent
    return pl.DataFrame(
        {
            "second": np.arange(first, stop),
            "offered": due,
            "errors": _counts(at, part.failed, number),
            **GroupTimes.of(lambda: [(over_at, over)], number, len(over)).figures(),
            "bytes": np.bincount(at, part.bytes, number).astype(np.int64),
            "ok": due - _counts(at, part.outcome != OK, number),
            "dropped": _counts(at, part.outcome == DROPPED, number),
            "service_p50": Grouped(those(over_at, sent), those(over.service, sent), number).quantile(0.5),
            "lag_p50": lag.quantile(0.5),
            "lag_max": lag.quantile(1.0),
        }
    )


def _counts(groups: npt.NDArray[np.integer], chosen: Bools, number: int) -> Ints:
    """How many of the chosen are in each group; at once if there are none, as of errors in most slices."""
    if not chosen.any():
        return np.zeros(number, np.int64)
    return np.bincount(those(groups, chosen), minlength=number).astype(np.int64, copy=False)


def steps(requests: RequestArrays, windows: "Windows | None" = None, flow: "Flow | None" = None) -> pl.DataFrame:
    """Count and summarise the requests by step.

    Returns:
        One row per step. Columns: ``step``, ``rate`` (requests/s asked), ``start`` and ``duration`` (seconds),
        ``scheduled``, ``dropped``, ``ok``, ``http_errors``, ``net_errors``, ``errors`` (failed);
        ``offered`` (scheduled per second), ``sent`` (started per second of the step), ``completed`` (requests of the
        step that were answered before its end, per second), ``goodput`` (answered as expected, likewise);
        ``settled_completed``, ``settled_goodput``: answers per second after the first fifth of the step, whenever
        their requests were sent; ``mean``, ``p50``, ``p90``, ``p95``, ``p99``, ``p999``, ``max`` as in `seconds`;
        ``valid_up_to``: the share of the response times, the shortest, to which the generator's lag adds too little;
        ``ok_p50``, ``ok_p90``, ``ok_p95``, ``ok_p99`` and ``ok_p999`` of those answered as expected only;
        ``service_p50``, ``service_p99``, ``lag_p50``, ``lag_p95``, ``lag_p99``, seconds; ``bytes``; ``in_flight`` at
        the end of the step. For `logreplay.analysis.tables.step_intervals`: ``quantiles``, the response times at
        `logreplay.analysis.statistics.quantiles.SHARES`, NaN where the lag reaches them, and ``batch_effects``, the
        design effects of p90 and p99 as seen within the step.
    """
    number = len(requests.labels)
    windows = windows or step_windows(requests)
    flow = flow or step_flow(requests, windows)
    judged_s = (windows.stop - windows.settled) / SECOND

    def counted(part: RequestArrays) -> dict[str, npt.NDArray[Any]]:
        in_time = part.scheduled + part.response < windows.stop[part.step]
        answered = {"completed": in_time & (part.outcome <= HTTP_ERROR), "goodput": in_time & part.good}
        outcomes = {"dropped": DROPPED, "ok": OK, "http_errors": HTTP_ERROR}
        outcome = {name: part.outcome == value for name, value in outcomes.items()}
        outcome["net_errors"] = part.sent & (part.outcome == NET_ERROR)
        return {**outcome, "errors": part.failed, "bytes": part.bytes, **answered}

    counts = _totals(requests, "step", number, counted)
    good, completed, volume = counts.pop("goodput"), counts.pop("completed"), counts.pop("bytes")
    times, spread = _step_times(requests, windows)
    return pl.DataFrame(
        {
            "step": requests.labels,
            "rate": np.where(np.isnan(requests.rates), windows.count / windows.length * SECOND, requests.rates),
            "start": windows.start / SECOND,
            "duration": windows.length / SECOND,
            "scheduled": windows.count,
            **counts,
            "offered": windows.count / windows.length * SECOND,
            "sent": (flow.sent[-1] - flow.sent[0]) / windows.length * SECOND,
            "completed": completed / windows.length * SECOND,
            "goodput": good / windows.length * SECOND,
            "settled_completed": (flow.answered[-1] - flow.answered[1]) / judged_s,
            "settled_goodput": (flow.good[-1] - flow.good[1]) / judged_s,
            **times,
            "bytes": volume,
            "in_flight": flow.in_flight[-1],
            **spread,
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


def _step_times(requests: RequestArrays, windows: "Windows") -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Response times, service times and lag of each step; and how they spread. One sort at a time in memory."""
    number = len(requests.labels)
    found = GroupTimes.by(requests, "step", number)
    times = found.figures(p999=0.999)
    times["valid_up_to"] = found.valid_up_to
    times |= {f"ok_{name}": found.quantile(p, answered=True) for name, p in PERCENTILES.items()}
    limits = np.column_stack([times["p90"], times["p99"]])
    spread = {
        "quantiles": found.at_shares(),
        "batch_effects": design_effects(requests, windows.start, windows.stop, limits),
    }
    del found
    served = service(requests, "step", number)
    times["service_p50"] = served.quantile(0.5)
    times["service_p99"] = served.quantile(0.99, SMALLEST_SAMPLE[0.99])
    del served
    lag = Grouped(requests.step, requests.lag, number)
    times |= {f"lag_p{q}": lag.quantile(q / 100) for q in (50, 95, 99)}
    return times, spread


def _totals(requests: RequestArrays, by: Literal["step", "route"], number: int, columns: _Columns) -> dict[str, Ints]:
    """Of each step or route the sum of each column, or how many requests fulfil a condition: (groups,)."""
    totals: dict[str, Ints] = {}
    for rows in slices(len(requests)):
        part = requests.take(rows)
        groups = getattr(part, by)
        for name, column in columns(part).items():
            some = column.dtype == np.bool_
            found = _counts(groups, column, number) if some else np.bincount(groups, column, number).astype(np.int64)
            totals[name] = totals.get(name, 0) + found
    return totals


def by_route(requests: RequestArrays) -> pl.DataFrame:
    """Count and summarise the requests by route, the most frequent first.

    Columns: ``route``, ``requests``, ``errors`` (failed), ``dropped`` (of these, never sent), ``bytes``, ``mean``,
    ``p50``, ``p90``, ``p95``, ``p99``, ``max``: response time as in `seconds`; ``service_p50``.
    """
    number = len(requests.routes)

    def counted(part: RequestArrays) -> dict[str, npt.NDArray[Any]]:
        counts = {"requests": np.ones(len(part), np.bool_), "errors": part.failed, "dropped": part.outcome == DROPPED}
        return {**counts, "bytes": part.bytes}

    times = GroupTimes.by(requests, "route", number).figures()
    table = pl.DataFrame(
        {
            "route": requests.routes,
            **_totals(requests, "route", number, counted),
            **times,
            "service_p50": service(requests, "route", number).quantile(0.5),
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None))
    return table.filter(pl.col("requests") > 0).sort("requests", descending=True, maintain_order=True)


def by_step_and_route(requests: RequestArrays) -> pl.DataFrame:
    """`by_route`; where steps have rates of their own, by step: ``step`` and ``rate`` (requests/s asked) come first."""
    if requests.several_rates:
        tables = (
            by_route(requests.of_step(index)).select(step=pl.lit(label), rate=pl.lit(rate), routes=pl.struct(pl.all()))
            for index, (label, rate) in enumerate(zip(requests.labels, requests.rates, strict=True))
        )
        table = pl.concat(tables).unnest("routes")
    else:
        table = by_route(requests)
    return table if requests.has_times else without_times(table)


@dataclass(frozen=True)
class Windows:
    """When each step was offered: (steps,) microseconds since the start of the run.

    Attributes:
        start: first scheduled instant.
        last: last scheduled instant.
        stop: end of the schedule (`scheduled_span`), but after the last instant, and not after the start of the step
            that follows in time.
        count: requests scheduled.
    """

    start: Ints
    last: Ints
    stop: Ints
    count: Ints

    @property
    def length(self) -> Ints:
        """(steps,) microseconds from start to stop."""
        return self.stop - self.start

    @property
    def settled(self) -> Ints:
        """(steps,) from when on a step is judged."""
        return self.start + (SETTLE * self.length).astype(np.int64)

    def block(self, step: npt.NDArray[np.integer], scheduled: Ints) -> Ints:
        """(n,) which of the `BLOCKS` parts of its step each instant belongs to; below 0 before the step is judged."""
        length = np.maximum((self.stop - self.settled) // BLOCKS, 1)
        return np.asarray(np.minimum((scheduled - self.settled[step]) // length[step], BLOCKS - 1))


def step_windows(requests: RequestArrays) -> Windows:
    """Find when each step of a run was offered."""
    number = len(requests.labels)
    count, last = np.zeros((2, number), np.int64)
    start = np.full(number, np.iinfo(np.int64).max)
    for rows in slices(len(requests)):
        step, scheduled = requests.step[rows], requests.scheduled[rows]
        count += np.bincount(step, minlength=number)
        runs = np.flatnonzero(changes(step))  # rows are nearly in order: few
        np.minimum.at(start, step[runs], np.minimum.reduceat(scheduled, runs))
        np.maximum.at(last, step[runs], np.maximum.reduceat(scheduled, runs))
    stop = np.maximum(start + scheduled_span(count, start, last, np.array(requests.rates)), last + 1)
    order = np.argsort(start)
    following = np.full(number, np.iinfo(np.int64).max)
    following[order[:-1]] = start[order[1:]]
    return Windows(start, last, np.where(following > last, np.minimum(stop, following), stop), count)


def scheduled_span(count: Ints, first: Ints, last: Ints, rates: Floats) -> Ints:
    """Return the time over which requests were scheduled, microseconds: (n,), as are the arguments.

    Random arrivals begin and end some gaps away from the edges of their schedule, and the instants of few of them say
    little about their rate: two within a second may lie 0.1 s apart. So the rate that the file names decides where the
    instants can come of it (NaN or 0: it names none). Otherwise, the span ends a mean gap after the last instant.
    """
    between = last - first
    known = np.where(rates > 0, rates, np.nan)
    nominal = count / known * SECOND
    far = np.where(count <= _FEW, np.maximum(_GAPS, 4 * np.sqrt(count)), _GAPS) / known * SECOND
    gap = np.where(count > 1, between / np.maximum(count - 1, 1), SECOND)
    span = np.where(np.abs(nominal - between) <= far, nominal, between + np.maximum(gap, 1))
    return np.maximum(np.rint(span), 1).astype(np.int64)


def run_spans(requests: RequestArrays) -> tuple[float, float, float]:
    """Return the seconds by which the counts of a run are divided for its offered, its sent and its completed rate.

    They are those of the schedule, longer where requests were sent or ended after it. A response that comes earlier
    does not shorten them: one request within a second is 1/s, though it took a millisecond.
    """
    first, last = int(requests.scheduled.min()), int(requests.scheduled.max())
    step = int(requests.step.min())
    rate = requests.rates[step] if step == int(requests.step.max()) else np.nan
    count = np.array([len(requests)])
    whole = int(scheduled_span(count, np.array([first]), np.array([last]), np.array([rate]))[0])
    late = (max(0, at - max(first + whole, last)) for at in (0, requests.sending[1], requests.last_end))
    offered, sent, ended = ((whole + more) / SECOND for more in late)
    return offered, sent, ended


class Flow(NamedTuple):
    """How many requests there were before each edge of the steps: start, settled, half-way to the end, and end.

    Attributes:
        taken_up, over: (4, steps) requests that the generator took up, and of them those that came to an end.
        answered, good: (4, steps) requests that were answered, and those that were answered as expected.
        sent: (4, steps) requests that were sent.
    """

    taken_up: Ints
    over: Ints
    answered: Ints
    good: Ints
    sent: Ints

    @property
    def in_flight(self) -> Ints:
        """(4, steps) taken up and not yet over."""
        return np.asarray(self.taken_up - self.over)


def step_flow(requests: RequestArrays, windows: Windows) -> Flow:
    """Count the requests sent and ended at the edges of the steps."""
    sent = taken_up = _counts_before(requests, requests.lag, requests.taken_up, windows)
    answered = good = over = _counts_before(requests, requests.response, requests.taken_up, windows)
    if not requests.good.all():  # usually all are; spares two sorts
        answered = _counts_before(requests, requests.response, requests.outcome <= HTTP_ERROR, windows)
        good = _counts_before(requests, requests.response, requests.good, windows)
    if requests.sent is not requests.taken_up:
        sent = _counts_before(requests, requests.lag, requests.sent, windows)
    return Flow(taken_up, over, answered, good, sent)


def _counts_before(requests: RequestArrays, after: npt.NDArray[np.uint32], chosen: Bools, windows: Windows) -> Ints:
    """(4, steps) how many of the chosen were so far before the start, settled time, middle and stop of each step.

    ``after``: (n,) microseconds from the schedule of each request to the instant that counts.
    """
    edges = np.array([windows.start, windows.settled, (windows.settled + windows.stop) // 2, windows.stop])
    counts = np.zeros(edges.shape, np.int64)
    for rows in slices(len(requests)):
        instants = those(requests.scheduled[rows] + after[rows], chosen[rows])
        if len(instants):
            low, high = instants.min(), instants.max()
            counts[edges > high] += len(instants)
            among = (edges > low) & (edges <= high)
            counts[among] += _number_before(instants, edges[among])
    return counts


def _number_before(instants: Ints, edges: Ints) -> Ints:
    """(edges,) how many of the instants are before each edge; to sort them pays from a few edges on."""
    if len(edges) > _FEW_EDGES:
        instants.sort()
        return np.searchsorted(instants, edges)
    return np.array([np.count_nonzero(instants < edge) for edge in edges], np.int64)


def _step_of_each_second(requests: RequestArrays, number: int) -> Ints:
    """The label of the step of the first request scheduled in each second; anything where there is none."""
    windows = step_windows(requests)
    order = np.argsort(windows.start)
    begins = np.arange(number) * SECOND
    at = np.clip(np.searchsorted(windows.start[order], begins, "right") - 1, 0, None)
    following = np.minimum(at + 1, len(order) - 1)
    over = (windows.last[order][at] < begins) & (windows.start[order][following] < begins + SECOND)
    result: Ints = np.asarray(requests.labels)[order[np.where(over, following, at)]]
    return result
