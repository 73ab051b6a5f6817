"""Simulates queues of known capacity and writes their result logs.

The notebooks, the tests and tools/accuracy compare the results of the analysis with what is
known. There is no clock and no socket: arrival times and service times are random, and waiting times follow from them.
A FIFO queue with K workers of mean service time D carries K/D requests/s.
"""

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from logreplay.core.record import SCHEMA

Floats = npt.NDArray[np.float64]
Law = Literal["fixed", "exponential", "lognormal"]

_EPOCH: Final = np.datetime64("2026-01-01", "us")
_TYPED: Final = ("url", "error", "expected_rc", "expected_bytes", "expected_latency", "client", "connection", "digest")


@dataclass(frozen=True, slots=True)
class SimulatedQueue:
    """A server with K workers and one FIFO queue.

    Attributes:
        workers: requests served at the same time.
        service_s: mean service time of one request, seconds; ``workers / service_s`` is the capacity.
        law: distribution of the service time; ``lognormal`` has a coefficient of variation of 2.
        base_s: time added to each response without occupying a worker (network, other machines).
    """

    workers: int
    service_s: float
    law: Law = "exponential"
    base_s: float = 0.0

    @property
    def capacity(self) -> float:
        """Requests per second beyond which the backlog grows."""
        return self.workers / self.service_s


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Scheduled send times.

    Attributes:
        scheduled: (n,) seconds since the start of the run, increasing.
        step: (n,) index of the step.
        offered: (n,) offered rate of that step, requests/s.
    """

    scheduled: Floats
    step: npt.NDArray[np.int64]
    offered: Floats


def sweep(
    rates: Sequence[float], seconds: float, rng: np.random.Generator, *, poisson: bool = True, pause_s: float = 0.0
) -> Arrivals:
    """Schedule one step per rate.

    Args:
        rates: requests/s of each step.
        seconds: length of each step.
        rng: random generator.
        poisson: random arrivals; False: evenly spaced.
        pause_s: idle time after each step.
    """
    times, counts = [], []
    for index, rate in enumerate(rates):
        start = index * (seconds + pause_s)
        if poisson:
            within = np.sort(rng.uniform(0.0, seconds, rng.poisson(rate * seconds)))
        else:
            within = (np.arange(round(rate * seconds), dtype=np.float64) + 0.5) / rate
        times.append(start + within)
        counts.append(len(within))
    step = np.repeat(np.arange(len(rates)), counts)
    return Arrivals(np.concatenate(times), step, np.asarray(rates, dtype=np.float64)[step])


def service_times(queue: SimulatedQueue, count: int, rng: np.random.Generator) -> Floats:
    """Draw the service times of ``count`` requests, seconds."""
    if queue.law == "fixed":
        return np.full(count, queue.service_s)
    if queue.law == "exponential":
        return rng.exponential(queue.service_s, count)
    variance = math.log(1 + 2.0**2)
    return rng.lognormal(math.log(queue.service_s) - variance / 2, math.sqrt(variance), count)


def waits(arrived: Floats, service: Floats, workers: int) -> Floats:
    """Return how long each request waits in a FIFO queue, seconds.

    Args:
        arrived: (n,) seconds, increasing.
        service: (n,) seconds.
        workers: requests served at the same time.

    Source: Kiefer and Wolfowitz, On the theory of queues with many servers, 1955: the next request takes the
    worker that is free first.
    """
    if workers == 1:  # Lindley's recursion, solved: accumulated work minus its minimum
        slack = arrived - (np.cumsum(service) - service)
        return np.asarray(np.maximum.accumulate(slack) - slack, dtype=np.float64)
    free = [0.0] * workers
    waiting = np.empty(len(arrived))
    for index, (at, takes) in enumerate(zip(arrived.tolist(), service.tolist(), strict=True)):
        start = max(at, free[0])
        heapreplace(free, start + takes)
        waiting[index] = start - at
    return waiting


def shared(
    arrived: Floats, work: Floats, speed: Callable[[int], float], *, places: float = math.inf, room: float = math.inf
) -> Floats:
    """Return when requests end that share a server: (n,) seconds; NaN for a request that finds no room.

    Args:
        arrived: (n,) seconds, increasing.
        work: (n,) seconds that each takes alone.
        speed: speed of each request, by the number that are served; 1: as alone.
        places: requests served at the same time, at most; the others wait in a FIFO queue.
        room: requests in the server, at most.
    """
    ended, served, waiting = np.empty(len(arrived)), list[tuple[float, int]](), deque[int]()
    now = done = 0.0  # ``done``: work on a request that is served all the time
    works = work.tolist()
    for index, at in enumerate([*arrived.tolist(), math.inf]):
        while served:
            pace = speed(len(served))
            end = now + (served[0][0] - done) / pace
            if end > at:
                done += (at - now) * pace
                break
            now, done = end, served[0][0]
            ended[heappop(served)[1]] = now
            if waiting:
                following = waiting.popleft()
                heappush(served, (done + works[following], following))
        now = at
        if index == len(works):
            break
        if len(served) + len(waiting) >= room:
            ended[index] = math.nan
        elif len(served) < places:
            heappush(served, (done + works[index], index))
        else:
            waiting.append(index)
    return ended


def refused(arrived: Floats, rate: float, burst: float) -> npt.NDArray[np.bool_]:
    """Return which requests a token bucket refuses.

    Args:
        arrived: (n,) seconds, increasing.
        rate: tokens/s that fill it.
        burst: tokens that it holds, at first too.
    """
    tokens, before, found = burst, 0.0, []
    for at in arrived.tolist():
        tokens, before = min(burst, tokens + (at - before) * rate), at
        found.append(tokens < 1)
        tokens -= tokens >= 1
    return np.array(found, np.bool_)


def responses(arrived: Floats, service: Floats, workers: int) -> Floats:
    """Return the response times of many runs at once: as `waits`, with the service.

    Args:
        arrived: (runs, n) seconds, increasing in each row.
        service: (runs, n) seconds.
        workers: requests served at the same time.
    """
    free, rows = np.zeros((len(arrived), workers)), np.arange(len(arrived))
    found = np.empty_like(service)
    for index, (at, takes) in enumerate(zip(arrived.T.copy(), service.T.copy(), strict=True)):
        worker = free.argmin(axis=1)
        ended = np.maximum(free[rows, worker], at) + takes
        free[rows, worker] = ended
        found[:, index] = ended - at
    return found


def wander(rng: np.random.Generator, shape: tuple[int, int], deviation: float, time_s: float, step_s: float) -> Floats:
    """Return (runs, steps) logarithms of a speed that wanders: a first-order autoregression.

    Args:
        rng: random generator.
        shape: runs, and steps of each.
        deviation: standard deviation.
        time_s: correlation time, seconds.
        step_s: length of a step, seconds.
    """
    keeps, level = math.exp(-step_s / time_s), rng.normal(0, deviation, shape)
    for step in range(1, shape[1]):
        level[:, step] = keeps * level[:, step - 1] + math.sqrt(1 - keeps**2) * level[:, step]
    return level


def closed_loop(
    users: Sequence[int], queue: SimulatedQueue, seconds: float, rng: np.random.Generator, *, think_s: float = 1.0
) -> pl.DataFrame:
    """Simulate users who send a request, wait for the response and think: one step per number of users.

    Args:
        users: number of users in each step; each step begins with an empty queue.
        queue: the server.
        seconds: length of each step.
        rng: random generator.
        think_s: mean pause of a user between a response and the next request, seconds.

    Returns:
        A result log; ``offered`` is the rate at which the users of that step sent requests.
    """
    parts = []
    for index, number in enumerate(users):
        ready = sorted(rng.uniform(0, think_s, number).tolist())
        free, asked, latency = [0.0] * queue.workers, [], []
        while ready[0] < seconds:
            at = ready[0]
            start = max(at, free[0])
            end = start + float(service_times(queue, 1, rng)[0])
            heapreplace(free, end)
            heapreplace(ready, end + queue.base_s + rng.exponential(think_s))
            asked.append(at)
            latency.append(end + queue.base_s - at)
        offered = np.full(len(asked), len(asked) / seconds)
        arrivals = Arrivals(index * (seconds + 5) + np.array(asked), np.full(len(asked), index), offered)
        parts.append(results(arrivals, np.array(latency)))
    return pl.concat(parts)


def with_cache(
    arrivals: Arrivals, queue: SimulatedQueue, rng: np.random.Generator, *, urls: int, miss_s: float, warm: bool
) -> pl.DataFrame:
    """Serve from a cache that stores each URL at its first request.

    Args:
        arrivals: send times of the requests.
        queue: the server, for cache hits.
        rng: random generator.
        urls: number of URLs; the first ones are requested most.
        miss_s: mean extra time of a cache miss, seconds.
        warm: start with all URLs in the cache.

    Returns:
        A result log.
    """
    count = len(arrivals.scheduled)
    wanted = np.minimum(rng.zipf(1.3, count), urls) - 1
    missed = np.zeros(count, np.bool_)
    missed[np.unique(wanted, return_index=True)[1]] = not warm
    service = service_times(queue, count, rng) + np.where(missed, rng.exponential(miss_s, count), 0.0)
    latency = queue.base_s + waits(arrivals.scheduled, service, queue.workers) + service
    return results(arrivals, latency, urls=[f"/articles/{number}" for number in wanted.tolist()])


def serve(
    arrivals: Arrivals, queue: SimulatedQueue, rng: np.random.Generator, *, timeout_s: float = 30.0
) -> pl.DataFrame:
    """Send the arrivals to a queue and record the response times.

    Returns:
        A result log: the columns `logreplay.core.record.RESULT_COLUMNS`, rows in order of completion.
    """
    arrived = arrivals.scheduled
    service = service_times(queue, len(arrived), rng)
    latency = queue.base_s + waits(arrived, service, queue.workers) + service
    return results(arrivals, latency, timeout_s=timeout_s)


def results(
    arrivals: Arrivals,
    latency: Floats,
    *,
    rc: npt.NDArray[np.int64] | None = None,
    error: npt.NDArray[np.str_] | None = None,
    expected_rc: npt.NDArray[np.int64] | None = None,
    lag: Floats | None = None,
    urls: Sequence[str] = ("/", "/products/1", "/search?q=a", "/cart"),
    timeout_s: float = 30.0,
) -> pl.DataFrame:
    """Return a result log of the arrivals.

    Args:
        arrivals: scheduled send times of the n requests.
        latency: (n,) seconds from the request to the first byte of its response; above ``timeout_s``: a time-out.
        rc: (n,) status of the response; default: 200.
        error: (n,) one of `logreplay.core.record.ERRORS` where no response came, empty elsewhere; default: none.
        expected_rc: (n,) status in the log; default: 200.
        lag: (n,) seconds between the scheduled and the actual start; default: 0.
        urls: requested URLs, in turn.
        timeout_s: time-out of the client, seconds.

    Returns:
        The columns `logreplay.core.record.RESULT_COLUMNS`, rows in order of completion.
    """
    count = len(arrivals.scheduled)
    late = np.zeros(count) if lag is None else lag
    status = np.full(count, 200) if rc is None else rc
    words = np.where(latency > timeout_s, "timeout", "" if error is None else error)
    failed, took = words != "", np.minimum(latency, timeout_s)
    start = pl.Series(_EPOCH + ((arrivals.scheduled + late) * 1e6).round().astype("timedelta64[us]"))
    log = pl.DataFrame(
        {
            "date": start.dt.strftime("%Y-%m-%d"),
            "time": start.dt.strftime("%H:%M:%S%.6f"),
            "latency": took,
            "xfertime": 0.0,
            "thinktime": 0.0,
            "bytes": np.select([failed, status == 200], [0, 1000], 100),
            "url": np.resize(np.array(urls, dtype=object), count).tolist(),
            "rc": np.where(failed, 0, status),
            "op": "GET",
            "seq": np.arange(count),
            "row": np.arange(count),
            "step": arrivals.step,
            "offered": arrivals.offered,
            "scheduled": arrivals.scheduled,
            "lag": late,
            "connect": 0.0,
            "error": [word or None for word in words.tolist()],
            "expected_rc": 200 if expected_rc is None else expected_rc,
            "expected_bytes": 1000,
            "expected_latency": None,
            "client": None,
            "queued": 0.0,
            "protocol": "HTTP/1.1",
            "connection": None,
            "digest": None,
        },
        schema_overrides={name: SCHEMA[name] for name in _TYPED},
    )
    return log[np.argsort(arrivals.scheduled + late + took, kind="stable")]
