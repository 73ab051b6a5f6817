"""Requests → one row per second, one row per step. Exact, every second from first to last.

Theory of operation: a request belongs to the second in which it was *scheduled*, whatever became of it, so a stall
of the target shows in the seconds that should have been served. Counts of what was sent, what was completed and what
was in flight belong to the second in which that happened. A second in which nothing happened has counts of 0 and no
times at all.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from logreplay.analysis.intake import HTTP_ERROR, NET_ERROR, Requests
from logreplay.analysis.quantiles import SMALLEST_SAMPLE, Floats, Grouped, Ints

Bools = npt.NDArray[np.bool_]

SECOND: Final = 1_000_000
SETTLE: Final = 0.2
"""Share at the start of a step in which the queues still fill: not judged."""


def seconds(requests: Requests) -> pl.DataFrame:
    """Count and summarise the requests by second.

    Returns:
        One row for every second since the start of the run, empty ones included. Columns:

        ``second``: from 0. ``offered``: requests scheduled in it. ``sent``, ``completed`` (an HTTP response came),
        both at the time they happened. ``errors``: of those scheduled in it, not answered as expected.
        ``in_flight``: at its end. ``mean``, ``p50``, ``p90``, ``p95``, ``p99``, ``max``: response time of those
        scheduled in it, seconds; a percentile counts failures as never answered (inf) and is null where it cannot
        be known (p99 under 368 requests); mean and max are of the answered ones. ``bytes``: of bodies, by schedule.
        ``ok``: answered with a status below 400. ``service_p50``: without our own lag. ``lag_p50``, ``lag_max``:
        how late we were. ``step``: of the first request scheduled in it. Times are null where nothing happened.
    """
    scheduled = requests.scheduled // SECOND
    sent = (requests.scheduled + requests.lag)[requests.sent] // SECOND
    ends = ((requests.scheduled + requests.response)[requests.sent]) // SECOND
    answered = requests.outcome <= HTTP_ERROR
    number = 1 + int(max(part.max(initial=0) for part in (scheduled, sent, ends)))

    def count(where: Ints) -> Ints:
        return np.bincount(where, minlength=number).astype(np.int64)

    sent_each = count(sent)
    first_step = np.full(number, np.iinfo(np.int64).max)
    np.minimum.at(first_step, scheduled, requests.step)
    offered = count(scheduled)
    labels = np.asarray(requests.labels)[np.where(offered > 0, first_step, 0)]
    return pl.DataFrame(
        {
            "second": np.arange(number),
            "offered": offered,
            "sent": sent_each,
            "completed": count(((requests.scheduled + requests.response)[answered]) // SECOND),
            "errors": count(scheduled[~requests.good]),
            "in_flight": np.cumsum(sent_each - count(ends)),
            **_times(requests, scheduled, number),
            "bytes": np.bincount(scheduled, requests.bytes, number).astype(np.int64),
            "ok": count(scheduled[requests.outcome == 0]),
            "service_p50": _service(requests, scheduled, number).quantile(0.5),
            "lag_p50": (lag := Grouped(scheduled, requests.lag, number)).quantile(0.5),
            "lag_max": lag.quantile(1.0),
            "step": labels,
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None), step=pl.when(pl.col("offered") > 0).then("step"))


def steps(requests: Requests) -> pl.DataFrame:
    """Count and summarise the requests by step.

    Returns:
        One row per step. Columns: ``step``, ``rate`` (requests/s asked), ``start`` and ``duration`` (seconds),
        ``scheduled``, ``dropped``, ``ok``, ``http_errors``, ``net_errors``, ``errors`` (not answered as expected);
        ``offered`` (scheduled per second), ``sent`` (started per second of the step), ``completed`` (answered per
        second, without the first fifth of the step), ``goodput`` (answered as expected, likewise); ``mean``,
        ``p50``, ``p90``, ``p95``, ``p99``, ``p999``, ``max`` as in `seconds`, ``ok_p50`` and ``ok_p99`` of those
        answered as expected only; ``service_p50``, ``service_p99``, ``lag_p50``, ``lag_p95``, ``lag_p99``,
        seconds; ``bytes``; ``in_flight`` at the end of the step.
    """
    number = len(requests.labels)
    step, scheduled = requests.step, requests.scheduled
    windows = step_windows(requests)
    sent = scheduled + requests.lag
    end = scheduled + requests.response
    answered = requests.outcome <= HTTP_ERROR
    judged_s = (windows.stop - windows.settled) / SECOND
    order = np.argsort(windows.settled)

    def per_step(chosen: Bools) -> Ints:
        return np.bincount(step[chosen], minlength=number).astype(np.int64)

    def completed_in_window(chosen: Bools) -> Floats:
        position = np.searchsorted(windows.settled, end, side="right", sorter=order) - 1
        index = order[position]
        inside = chosen & (position >= 0) & (end < windows.stop[index])
        return np.bincount(index[inside], minlength=number) / judged_s

    in_time = requests.sent & (sent < windows.stop[step])
    service = _service(requests, step, number)
    lag = Grouped(step, requests.lag, number)
    good = Grouped(step[requests.good], requests.response[requests.good], number)
    return pl.DataFrame(
        {
            "step": requests.labels,
            "rate": np.where(np.isnan(requests.rates), windows.count / windows.length * SECOND, requests.rates),
            "start": windows.start / SECOND,
            "duration": windows.length / SECOND,
            "scheduled": windows.count,
            "dropped": per_step(~requests.sent),
            "ok": per_step(requests.outcome == 0),
            "http_errors": per_step(requests.outcome == HTTP_ERROR),
            "net_errors": per_step(requests.outcome == NET_ERROR),
            "errors": per_step(~requests.good),
            "offered": windows.count / windows.length * SECOND,
            "sent": per_step(in_time) / windows.length * SECOND,
            "completed": completed_in_window(answered),
            "goodput": completed_in_window(requests.good),
            **_times(requests, step, number, p999=0.999),
            "ok_p50": good.quantile(0.5),
            "ok_p99": good.quantile(0.99, SMALLEST_SAMPLE[0.99]),
            "service_p50": service.quantile(0.5),
            "service_p99": service.quantile(0.99, SMALLEST_SAMPLE[0.99]),
            "lag_p50": lag.quantile(0.5),
            "lag_p95": lag.quantile(0.95),
            "lag_p99": lag.quantile(0.99),
            "bytes": np.bincount(step, requests.bytes, number).astype(np.int64),
            "in_flight": in_flight_at(requests, windows.stop),
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


@dataclass(frozen=True)
class Windows:
    """When each step was offered: (steps,) microseconds since the start of the run.

    Attributes:
        start: first scheduled instant.
        stop: one mean gap after the last one, but not after the start of the step that follows in time.
        count: requests scheduled.
    """

    start: Ints
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


def step_windows(requests: Requests) -> Windows:
    """Find when each step of a run was offered."""
    number = len(requests.labels)
    count = np.bincount(requests.step, minlength=number).astype(np.int64)
    start = np.full(number, np.iinfo(np.int64).max)
    last = np.zeros(number, np.int64)
    np.minimum.at(start, requests.step, requests.scheduled)
    np.maximum.at(last, requests.step, requests.scheduled)
    gap = np.where(count > 1, (last - start) / np.maximum(count - 1, 1), SECOND)
    stop = last + np.maximum(gap, 1).astype(np.int64)
    order = np.argsort(start)
    following = np.full(number, np.iinfo(np.int64).max)
    following[order[:-1]] = start[order[1:]]
    return Windows(start, np.where(following > last, np.minimum(stop, following), stop), count)


def in_flight_at(requests: Requests, instants: Ints) -> Ints:
    """How many requests were sent and not yet over at each of these instants (k,), microseconds."""
    sent = np.sort((requests.scheduled + requests.lag)[requests.sent])
    ends = np.sort((requests.scheduled + requests.response)[requests.sent])
    result: Ints = np.searchsorted(sent, instants, side="right") - np.searchsorted(ends, instants, side="right")
    return result


def _times(requests: Requests, groups: npt.NDArray[np.integer], number: int, **more: float) -> dict[str, Floats]:
    """Response times by group: mean and max of the answered ones, percentiles of all."""
    judged = Grouped(groups, requests.judged, number)
    answered = requests.outcome <= HTTP_ERROR
    response = requests.response[answered]
    counts = np.bincount(groups[answered], minlength=number)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(groups[answered], response, number) / counts / SECOND
    longest = np.full(number, -1)
    np.maximum.at(longest, groups[answered], response)
    ladder = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, **more}
    return {
        "mean": mean,
        **{name: judged.quantile(p, SMALLEST_SAMPLE[p] if p >= 0.99 else 1) for name, p in ladder.items()},
        "max": np.where(longest >= 0, longest / SECOND, np.nan),
    }


def _service(requests: Requests, groups: npt.NDArray[np.integer], number: int) -> Grouped:
    return Grouped(groups[requests.sent], requests.service[requests.sent], number)
