"""Simulated systems whose capacity is known and that are no plain queues: what a verdict on a sweep is tried against.

Each system answers the arrivals of a sweep; there is no clock and no socket. Its truth is its capacity in requests/s,
or that it has none within the sweep. docs/accuracy.md says how verdicts on them were scored.
"""

import math
import re
from collections import deque
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any, Final, Literal
from zlib import crc32

import numpy as np
import numpy.typing as npt
import polars as pl

import simulate
from logreplay.analysis.analyze import verdict_on
from logreplay.analysis.findings import findings_of
from logreplay.analysis.input import arrays
from logreplay.analysis.verdict.saturation import SaturationVerdict
from logreplay.analysis.verdict.stability import judged_steps
from simulate import Arrivals, SimulatedQueue, waits

Floats = npt.NDArray[np.float64]
Random = np.random.Generator
Serve = Callable[[Arrivals, Random], pl.DataFrame]
Known = float | tuple[float, float] | None
"""Capacity, or between what it lies: the rate of which 1 % fail, and the most that is answered; None: no limit."""
Truth = Callable[[Arrivals, Random], Known]
Score = Literal["right", "refused", "wrong", "invented", "missed"]

TOLERANCE: Final = 0.05
"""By so much of it the range of saturation may miss the capacity."""

OFF: Final = 0.25
"""By so much of it the rate of saturation may be off the capacity."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """The steps of a sweep: rates in requests/s, seconds of each, and seconds of rest after each."""

    rates: Sequence[float]
    seconds: float
    pause_s: float = 0.0
    repeat: int = 1
    poisson: bool = True

    def arrivals(self, rng: Random) -> Arrivals:
        """When requests are due."""
        rates = list(self.rates) * self.repeat
        return simulate.sweep(rates, self.seconds, rng, poisson=self.poisson, pause_s=self.pause_s)


SWEEPS: Final = (
    Sweep(range(50, 401, 25), 10, 10),
    Sweep(range(40, 401, 40), 15),
    Sweep(range(60, 361, 30), 20, 20),
    Sweep(range(50, 401, 50), 30, 5),
    Sweep(range(50, 401, 50), 10, 10, repeat=3),
    Sweep(range(100, 341, 20), 12, 8),
)


@dataclass(frozen=True, slots=True)
class System:
    """A simulated system.

    Attributes:
        name: what it is.
        serve: answers arrivals.
        truth: its capacity, requests/s; None: none within the sweep; or how it follows from the arrivals and the work.
        cause: pattern that the answer must match where a saturation is found.
        never: pattern that neither the answer nor a finding may match.
        verdict: word of the summary.
        says: pattern that answer and findings must match in any case.
        sweeps: what it is swept with.
    """

    name: str
    serve: Serve
    truth: "Known | Truth"
    cause: str = ""
    never: str = ""
    verdict: str = "VALID"
    says: str = ""
    sweeps: Sequence[Sweep] = SWEEPS


# --- parts -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Speed:
    """The speed of a server over time, 1 by default: its work is simulated on a time axis of its own.

    Attributes:
        at: seconds at which the speed changes, increasing, from 0.
        speed: from each of them on.
    """

    at: Floats
    speed: Floats
    _own: Floats = field(init=False)

    def __post_init__(self) -> None:
        own = np.concatenate(([0.0], np.cumsum(np.diff(self.at) * np.maximum(self.speed[:-1], 1e-9))))
        object.__setattr__(self, "_own", own)

    @classmethod
    def slowed(cls, spans: Sequence[tuple[float, float]], speed: float = 0.0, end: float = 1e5) -> "Speed":
        """Full speed but for some spans (start, length) in order."""
        at, speeds = [0.0], [1.0]
        for start, length in spans:
            at += [start, start + length]
            speeds += [speed, 1.0]
        return cls(np.array([*at, end]), np.array([*speeds, 1.0]))

    def work(self, time: Floats) -> Floats:
        """Seconds of work that were possible until then."""
        return np.interp(time, self.at, self._own)

    def time(self, work: Floats) -> Floats:
        """When so much work was possible."""
        return np.interp(work, self._own, self.at)


def exponential(mean: float) -> "Callable[[int, Random], Floats]":
    """Service times."""
    return lambda count, rng: rng.exponential(mean, count)


def warped(arrivals: Arrivals, speed: Speed, service: Floats, workers: int) -> Floats:
    """Latency at a FIFO queue of changing speed."""
    own = speed.work(arrivals.scheduled)
    return speed.time(own + waits(own, service, workers) + service) - arrivals.scheduled


def bounded(
    arrived: Floats, service: Floats, workers: int, *, room: float = math.inf, patience: float = math.inf
) -> tuple[Floats, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """A FIFO queue with room for so many waiting, in which nobody waits longer than the patience.

    Returns:
        (n,) latency, and who found no room, and who gave up waiting.
    """
    free, starts = [0.0] * workers, deque[float]()
    latency, full, gave_up = np.empty(len(arrived)), np.zeros(len(arrived), bool), np.zeros(len(arrived), bool)
    for index, (at, takes) in enumerate(zip(arrived.tolist(), service.tolist(), strict=True)):
        while starts and starts[0] <= at:
            starts.popleft()
        start = max(at, free[0])
        if len(starts) >= room:
            full[index], latency[index] = True, 0.001
        elif start - at > patience:
            gave_up[index], latency[index] = True, patience
        else:
            heapreplace(free, start + takes)
            starts.append(start)
            latency[index] = start - at + takes
    return latency, full, gave_up


def shared(
    arrived: Floats, work: Floats, throughput: Callable[[int], float], room: float = math.inf
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """A server whose requests share its speed: of n, each gets throughput(n) / n seconds of work a second.

    Returns:
        (n,) latency, and who found no room.
    """
    ended = simulate.shared(arrived, work, lambda n: throughput(n) / n, room=room)
    full = np.isnan(ended)
    return np.where(full, 0.001, ended - arrived), full


def end_of(arrivals: Arrivals) -> float:
    """The last arrival."""
    return float(arrivals.scheduled[-1])


def status(failed: npt.NDArray[np.bool_], rc: int) -> npt.NDArray[np.int64]:
    """This status where it failed, else 200."""
    return np.where(failed, rc, 200)


def errors(failed: npt.NDArray[np.bool_], word: str) -> npt.NDArray[np.str_]:
    """This error where it failed."""
    return np.where(failed, word, "")


# --- limiters and shedding -------------------------------------------------------------------------------------------


def bucket(rate: float, burst: float, rc: int) -> Serve:
    """A token bucket before a fast server; who finds no token is refused at once."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        no = simulate.refused(arrivals.scheduled, rate, burst)
        latency = np.where(no, 0.001, rng.gamma(4, 0.002, len(no)))
        return simulate.results(arrivals, latency, rc=status(no, rc))

    return serve


def windowed(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """200 in each second of the clock; others get 429."""
    second = arrivals.scheduled.astype(np.int64)
    first = np.searchsorted(second, second)
    no = np.arange(len(second)) - first >= 200
    return simulate.results(arrivals, np.where(no, 0.001, rng.gamma(4, 0.002, len(no))), rc=status(no, 429))


def delaying(rate: float, burst: float) -> Serve:
    """nginx's limit_req without nodelay: requests are delayed to a rate; beyond the burst they get 503."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        count = len(arrivals.scheduled)
        delay, full, _ = bounded(arrivals.scheduled, np.full(count, 1 / rate), 1, room=burst)
        latency = np.where(full, 0.001, delay + rng.gamma(4, 0.002, count))
        return simulate.results(arrivals, latency, rc=status(full, 503))

    return serve


def crowded(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """5 workers of 20 ms with room for 12 others; the rest get 503 at once."""
    latency, full, _ = bounded(arrivals.scheduled, rng.exponential(0.02, len(arrivals.scheduled)), 5, room=12)
    return simulate.results(arrivals, latency, rc=status(full, 503))


def proportional(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """Sheds at random what is above 220/s, measured over the last second."""
    times = arrivals.scheduled
    recent = np.arange(len(times)) - np.searchsorted(times, times - 1.0)
    no = rng.random(len(times)) < 1 - 220 / np.maximum(recent, 220)
    return simulate.results(arrivals, np.where(no, 0.001, rng.gamma(4, 0.003, len(times))), rc=status(no, 503))


def adaptive(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """5 workers of 20 ms behind a limit of concurrency that falls while latency is above 60 ms, and else grows."""
    times, service = arrivals.scheduled.tolist(), rng.exponential(0.02, len(arrivals.scheduled)).tolist()
    free, ends, limit = [0.0] * 5, list[tuple[float, float]](), 20.0
    latency, no = np.empty(len(times)), np.zeros(len(times), bool)
    for index, (at, takes) in enumerate(zip(times, service, strict=True)):
        while ends and ends[0][0] <= at:
            took = heappop(ends)[1]
            limit = max(5.0, limit * 0.9) if took > 0.06 else min(200.0, limit + 1 / limit)
        if len(ends) >= limit:
            no[index], latency[index] = True, 0.001
            continue
        over = max(at, free[0]) + takes
        heapreplace(free, over)
        heappush(ends, (over, over - at))
        latency[index] = over - at
    return simulate.results(arrivals, latency, rc=status(no, 503))


# --- pools and time-outs ---------------------------------------------------------------------------------------------


def pool(patience: float, rc: int, connections: int = 10, service_s: float = 0.05) -> Serve:
    """A pool of connections; who waits for one longer than the patience gets an error."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        service = rng.exponential(service_s, len(arrivals.scheduled))
        latency, _, gave_up = bounded(arrivals.scheduled, service, connections, patience=patience)
        return simulate.results(arrivals, latency + 0.002, rc=status(gave_up, rc))

    return serve


def impatient(timeout_s: float) -> Serve:
    """A plain queue whose client gives up; the server goes on working."""
    return lambda arrivals, rng: simulate.serve(arrivals, SimulatedQueue(4, 0.016), rng, timeout_s=timeout_s)


def soft(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """10 connections of 50 ms each; without a free one the application answers 500 after 5 ms."""
    latency, full, _ = bounded(arrivals.scheduled, rng.exponential(0.05, len(arrivals.scheduled)), 10, room=3)
    return simulate.results(arrivals, np.where(full, 0.005, latency), rc=status(full, 500))


# --- speed that changes ----------------------------------------------------------------------------------------------


def slowed(
    spans: Callable[[Arrivals, Random], Sequence[tuple[float, float]]], speed: float, service_s: float, workers: int
) -> Serve:
    """A queue that runs at another speed for some spans of time."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        clock = Speed.slowed(spans(arrivals, rng), speed)
        service = rng.exponential(service_s, len(arrivals.scheduled))
        return simulate.results(arrivals, warped(arrivals, clock, service, workers) + 0.002)

    return serve


def every(gap: float, shortest: float, longest: float) -> Callable[[Arrivals, Random], list[tuple[float, float]]]:
    """Spans about every so many seconds, as long as two limits say."""

    def spans(arrivals: Arrivals, rng: Random) -> list[tuple[float, float]]:
        found, at = [], float(rng.uniform(0.3, 1) * gap)
        while at < end_of(arrivals):
            length = float(rng.uniform(shortest, longest))
            found.append((at, length))
            at += max(float(rng.normal(gap, gap / 20)), length + 0.1)
        return found

    return spans


def once(share: float, length: float) -> Callable[[Arrivals, Random], list[tuple[float, float]]]:
    """One span, after this share of the sweep."""
    return lambda arrivals, rng: [(float(arrivals.scheduled[int(share * len(arrivals.step))]), length)]


def while_at(rate: float, length: float) -> Callable[[Arrivals, Random], list[tuple[float, float]]]:
    """One span, from a tenth of a second into the first step above this rate on."""
    return lambda arrivals, rng: [(float(arrivals.scheduled[np.argmax(arrivals.offered > rate)]) + 0.1, length)]


def collecting(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """A queue of 300/s that stands still for 80 ms after each 100 requests: 242/s are left."""
    service = rng.exponential(1 / 300, len(arrivals.scheduled))
    service[99::100] += 0.08
    return simulate.results(arrivals, waits(arrivals.scheduled, service, 1) + service)


def neighbours(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """A queue of 300/s whose speed is drawn anew about every 4 s, between 60 and 100 %: 240/s are left."""
    at = np.concatenate(([0.0], np.cumsum(rng.exponential(4.0, int(end_of(arrivals)) + 200))))
    service = rng.exponential(4 / 300, len(arrivals.scheduled))
    return simulate.results(arrivals, warped(arrivals, Speed(at, rng.uniform(0.6, 1.0, len(at))), service, 4))


def scaled_late(most: int) -> Serve:
    """Workers of 50 ms: begins with 5; where 70 % were used in 15 s, 5 more come 30 s later, up to a number."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        free, coming = [0.0] * 5, [at for at in _come(arrivals, most) for _ in range(5)]
        latency, service = np.empty(len(arrivals.scheduled)), rng.exponential(0.05, len(arrivals.scheduled)).tolist()
        for index, at in enumerate(arrivals.scheduled.tolist()):
            while coming and coming[0] <= at:
                heappush(free, coming.pop(0))
            start = max(at, free[0])
            heapreplace(free, start + service[index])
            latency[index] = start + service[index] - at
        return simulate.results(arrivals, latency, timeout_s=60)

    return serve


def _come(arrivals: Arrivals, most: int) -> list[float]:
    """The seconds at which five more workers of `scaled_late` come."""
    workers, end, come = 5, 15.0, list[float]()
    while end <= arrivals.scheduled[-1]:
        seen = np.searchsorted(arrivals.scheduled, [end - 15, end])
        if np.diff(seen)[0] * 0.05 / 15 > 0.7 * workers and workers < most:
            workers += 5
            come.append(end + 30)
        end += 15
    return come


def outscaled(most: int) -> Truth:
    """The capacity of `scaled_late`: what its workers carry while they are too few, until the sweep ends.

    None: at the end of the sweep they are enough.
    """

    def truth(arrivals: Arrivals, _: Random) -> Known:
        carried = 100.0 + 100 * np.searchsorted(_come(arrivals, most), arrivals.scheduled, side="right")
        begin = int(np.flatnonzero(arrivals.offered < carried).max(initial=-1)) + 1
        if begin == len(carried):
            return None
        low, high = float(carried[begin]), float(carried[-1])
        return high if low == high else (low, high)

    return truth


def fading(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """A queue whose speed falls from 400/s to 200/s during the sweep."""
    at = np.linspace(0, end_of(arrivals), 400)
    clock = Speed(np.append(at, 1e5), np.append(np.linspace(1, 0.5, 400), 0.5))
    service = rng.exponential(4 / 400, len(arrivals.scheduled))
    return simulate.results(arrivals, warped(arrivals, clock, service, 4))


def faded(arrivals: Arrivals, _: Random) -> tuple[float, float]:
    """The capacity of `fading` at the end of the first step that exceeds it, and when it does."""
    capacity = 400 * (1 - arrivals.scheduled / end_of(arrivals) / 2)
    first = int(np.argmax(arrivals.offered > capacity))
    step = arrivals.offered == arrivals.offered[first]
    return float(capacity[step].min()), float(capacity[first])


def warming(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """A queue of 250/s at a third of its speed for the first 8 s."""
    clock = Speed.slowed([(0.0, 8.0)], 0.33)
    return simulate.results(arrivals, warped(arrivals, clock, rng.exponential(0.016, len(arrivals.scheduled)), 4))


# --- latency that grows with time ------------------------------------------------------------------------------------


def leaking(per_s: float, per_request: float = 0.0) -> Serve:
    """A wide server that becomes slower with time, or with each request, whatever the rate."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        count = len(arrivals.scheduled)
        more = per_s * arrivals.scheduled + per_request * np.arange(count)
        return simulate.results(arrivals, rng.gamma(9, 0.02 / 9, count) + more)

    return serve


# --- caches ----------------------------------------------------------------------------------------------------------


def cached(warm: bool, urls: int = 400) -> Serve:
    """4 workers of 16 ms; 80 ms more for each URL that is asked for the first time."""
    return lambda arrivals, rng: simulate.with_cache(
        arrivals, SimulatedQueue(4, 0.016), rng, urls=urls, miss_s=0.08, warm=warm
    )


# --- outages and crashes ---------------------------------------------------------------------------------------------


def outage(where: float, length: float, kind: str, wait: float = 0.002) -> Serve:
    """A queue of 460/s that answers nothing but errors for some seconds."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        step = arrivals.step[min(int(where * len(arrivals.step)), len(arrivals.step) - 1)]
        start = float(arrivals.scheduled[np.argmax(arrivals.step == step)]) + 2.3
        down = (arrivals.scheduled >= start) & (arrivals.scheduled < start + length)
        service = rng.exponential(4 / 460, len(down))
        latency = np.where(down, wait, waits(arrivals.scheduled, np.where(down, 0, service), 4) + service + 0.002)
        if kind.isdigit():
            return simulate.results(arrivals, latency, rc=status(down, int(kind)))
        return simulate.results(arrivals, latency, error=errors(down, kind))

    return serve


def crashing(most: int, down_s: float, word: str) -> Serve:
    """4 workers of 16 ms that die with all they hold once more than so many wait, and are back after a while."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        times, service = arrivals.scheduled.tolist(), rng.exponential(0.016, len(arrivals.scheduled)).tolist()
        free, held, back = [0.0] * 4, deque[int](), -1.0
        latency, lost = np.empty(len(times)), np.zeros(len(times), bool)
        for index, (at, takes) in enumerate(zip(times, service, strict=True)):
            if at < back:
                lost[index], latency[index] = True, 0.001
                continue
            while held and times[held[0]] + latency[held[0]] <= at:
                held.popleft()
            if len(held) >= most:
                for other in held:
                    lost[other], latency[other] = True, at - times[other]
                held.clear()
                lost[index], latency[index], back, free = True, 0.001, at + down_s, [at + down_s] * 4
                continue
            over = max(at, free[0]) + takes
            heapreplace(free, over)
            latency[index] = over - at
            held.append(index)
        return simulate.results(arrivals, latency, error=errors(lost, word))

    return serve


def dying(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """A wide server that is gone for good after 60 % of the sweep."""
    gone = arrivals.scheduled > 0.6 * end_of(arrivals)
    return simulate.results(
        arrivals, np.where(gone, 0.001, rng.gamma(4, 0.005, len(gone))), error=errors(gone, "refused")
    )


# --- constant errors -------------------------------------------------------------------------------------------------


def failing(share: float, rc: int, capacity: float, *, expected: int = 200, word: str = "") -> Serve:
    """A queue of which a share of the requests always fails."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        count = len(arrivals.scheduled)
        bad, service = rng.random(count) < share, rng.exponential(4 / capacity, count)
        latency = waits(arrivals.scheduled, service, 4) + service
        if word:
            return simulate.results(arrivals, latency, error=errors(bad, word))
        return simulate.results(arrivals, latency, rc=status(bad, rc), expected_rc=status(bad, expected))

    return serve


# --- disciplines -----------------------------------------------------------------------------------------------------


def sharing(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """Processor sharing among all, 4 processors of 62.5/s each."""
    return simulate.results(
        arrivals, shared(arrivals.scheduled, rng.exponential(0.016, len(arrivals.scheduled)), lambda n: min(n, 4))[0]
    )


def contending(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """Locks: n requests together get 8 n / (1 + 0.1 (n - 1) + 0.004 n (n - 1)) of the work of one; most: 250/s."""
    law = [0.0, *(n / (1 + 0.1 * (n - 1) + 0.004 * n * (n - 1)) for n in range(1, 401))]
    work = rng.exponential(max(law) / 250, len(arrivals.scheduled))
    latency, full = shared(arrivals.scheduled, work, lambda n: law[n], room=400)
    return simulate.results(arrivals, latency, rc=status(full, 503))


def prioritised(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """A fifth of the requests goes before all others; 1 worker, 250/s."""
    times, service = arrivals.scheduled, rng.exponential(0.004, len(arrivals.scheduled))
    first = rng.random(len(times)) < 0.2
    latency, queue, now, index = np.empty(len(times)), list[tuple[bool, int]](), 0.0, 0
    arrived, takes, low = times.tolist(), service.tolist(), (~first).tolist()
    for _ in arrived:
        while index < len(arrived) and (arrived[index] <= now or not queue):
            now = max(now, arrived[index]) if not queue else now
            heappush(queue, (low[index], index))
            index += 1
        job = heappop(queue)[1]
        now += takes[job]
        latency[job] = now - arrived[job]
    return simulate.results(arrivals, latency)


def last_first(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """The newest request is served first; 1 worker, 250/s; time-out 10 s."""
    arrived, takes = arrivals.scheduled.tolist(), rng.exponential(0.004, len(arrivals.scheduled)).tolist()
    latency, stack, now, index = np.empty(len(arrived)), list[int](), 0.0, 0
    for _ in arrived:
        while index < len(arrived) and (arrived[index] <= now or not stack):
            now = max(now, arrived[index]) if not stack else now
            stack.append(index)
            index += 1
        job = stack.pop()
        now += takes[job]
        latency[job] = now - arrived[job]
    return simulate.results(arrivals, latency, timeout_s=10)


def pipeline(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """8 workers that carry 500/s, then 4 that carry 220/s."""
    count = len(arrivals.scheduled)
    first = rng.exponential(8 / 500, count)
    ended = arrivals.scheduled + waits(arrivals.scheduled, first, 8) + first
    order = np.argsort(ended)
    second = rng.exponential(4 / 220, count)
    latency = np.empty(count)
    latency[order] = ended[order] + waits(ended[order], second, 4) + second - arrivals.scheduled[order]
    return simulate.results(arrivals, latency)


def one_slow_route(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """A tenth of the requests goes to 2 workers of 100 ms: 200/s of all are carried; the others take 10 ms."""
    count = len(arrivals.scheduled)
    slow = np.arange(count) % 10 == 0
    latency, service = rng.gamma(4, 0.0025, count), rng.exponential(0.1, int(slow.sum()))
    latency[slow] = waits(arrivals.scheduled[slow], service, 2) + service
    return simulate.results(arrivals, latency, urls=["/report", *("/",) * 9])


def batched(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """Requests that come in groups of ten; 4 workers, 250/s."""
    scheduled = arrivals.scheduled[np.arange(len(arrivals.scheduled)) // 10 * 10]
    same = arrivals.step == arrivals.step[np.arange(len(scheduled)) // 10 * 10]
    grouped = Arrivals(np.where(same, scheduled, arrivals.scheduled), arrivals.step, arrivals.offered)
    return simulate.serve(grouped, SimulatedQueue(4, 0.016), rng)


def retrying(tries: int, after_s: float) -> Serve:
    """A gateway asks the 4 workers of 16 ms again if no answer came in time; they finish what nobody waits for."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        events = [(at, index, 1) for index, at in enumerate(arrivals.scheduled.tolist())]
        heapify(events)
        times = arrivals.scheduled.tolist()
        latency, lost, free = np.full(len(times), np.nan), np.zeros(len(times), bool), [0.0] * 4
        while events:
            at, index, turn = heappop(events)
            start = max(at, free[0])
            if start - at > 30:  # the queue of the server is full
                over = math.inf
            else:
                over = start + float(rng.exponential(0.016))
                heapreplace(free, over)
            if over - at <= after_s:
                latency[index] = over - times[index]
            elif turn < tries:
                heappush(events, (at + after_s, index, turn + 1))
            else:
                lost[index], latency[index] = True, at + after_s - times[index]
        return simulate.results(arrivals, latency, rc=status(lost, 504))

    return serve


def queued(
    workers: int,
    service_s: float,
    law: Literal["fixed", "exponential", "lognormal"] = "exponential",
    base_s: float = 0.0,
) -> Serve:
    """A plain queue."""
    return lambda arrivals, rng: simulate.serve(arrivals, SimulatedQueue(workers, service_s, law, base_s), rng)


def heavy(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """8 workers; service times of a Pareto law (exponent 1.8, up to 3 s) with a mean of 32 ms: 250/s."""
    draw = np.minimum(rng.pareto(1.8, len(arrivals.scheduled)) + 1, 100)
    service = draw * 0.032 / 2.1744
    return simulate.results(arrivals, waits(arrivals.scheduled, service, 8) + service)


def bimodal(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """4 workers; 95 % take 6 ms, 5 % 206 ms: 250/s."""
    service = np.where(rng.random(len(arrivals.scheduled)) < 0.05, 0.206, 0.006)
    return simulate.results(arrivals, waits(arrivals.scheduled, service, 4) + service)


def lossy(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """A wide server behind a network that loses 0.7 % of the packets: these take 1 s or 3 s more."""
    count = len(arrivals.scheduled)
    lost = rng.random(count)
    more = np.where(lost < 0.001, 3.0, np.where(lost < 0.007, 1.0, 0.0))
    return simulate.results(arrivals, rng.gamma(4, 0.005, count) + more)


def rising(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """Latency in proportion to the rate, without a queue."""
    return simulate.results(arrivals, rng.gamma(4, (0.005 + 0.1 * arrivals.offered / 400) / 4))


def wobbling(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """Latency of 20 ms that doubles and halves over a minute."""
    wave = np.exp(0.7 * np.sin(arrivals.scheduled * 2 * math.pi / 60))
    return simulate.results(arrivals, rng.gamma(4, 0.005, len(wave)) * wave)


# --- the generator ---------------------------------------------------------------------------------------------------


def hiccups(length: float, gap: float) -> Serve:
    """The generator stands still now and then, and sends what is due at once; the target carries 460/s."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        phase = (arrivals.scheduled + 1.0) % gap
        lag = np.where(phase < length, length - phase, 0.0)
        sent = arrivals.scheduled + lag
        service = rng.exponential(4 / 460, len(sent))
        return simulate.results(arrivals, waits(sent, service, 4) + service, lag=lag)

    return serve


def slow_generator(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """A client that sends 200/s at most before a wide server."""
    lag = waits(arrivals.scheduled, np.full(len(arrivals.scheduled), 1 / 200), 1)
    return simulate.results(arrivals, rng.exponential(0.005, len(lag)), lag=lag)


def exhausted(arrivals: Arrivals, _: Random) -> float:
    """The rate at which 4,000 tokens are used up that fill at 100 a second: at the end of that step the latest."""
    tokens, last = 4000.0, 0.0
    for at, rate in zip(arrivals.scheduled.tolist(), arrivals.offered.tolist(), strict=True):
        tokens, last = min(4000.0, tokens + (at - last) * 100), at
        if tokens < 1:
            return float(rate)
        tokens -= 1
    return math.inf


# --- a second lot, written when the rules stood ----------------------------------------------------------------------


def recent(arrivals: Arrivals) -> npt.NDArray[np.int64]:
    """Requests in the second before each."""
    return np.arange(len(arrivals.scheduled)) - np.searchsorted(arrivals.scheduled, arrivals.scheduled - 1.0)


def few_connections(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """40 connections, each busy for 0.2 s; others are refused."""
    latency, _, none = bounded(arrivals.scheduled, rng.gamma(4, 0.05, len(arrivals.scheduled)), 40, patience=0)
    return simulate.results(arrivals, latency + 0.001, error=errors(none, "refused"))


def banned(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """Answers 403 for 20 s after more than 260 requests in a second."""
    until, no = -1.0, np.zeros(len(arrivals.scheduled), bool)
    for index, (at, number) in enumerate(zip(arrivals.scheduled.tolist(), recent(arrivals).tolist(), strict=True)):
        no[index] = at < until
        until = at + 20 if number > 260 and at >= until else until
    return simulate.results(arrivals, np.where(no, 0.001, rng.gamma(4, 0.004, len(no))), rc=status(no, 403))


def two_back_ends(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """Half of the requests go to 4 workers that carry 100/s, the others to 4 that carry 300/s."""
    half, latency = rng.random(len(arrivals.scheduled)) < 0.5, np.empty(len(arrivals.scheduled))
    for chosen, capacity in ((half, 100), (~half, 300)):
        service = rng.exponential(4 / capacity, int(chosen.sum()))
        latency[chosen] = waits(arrivals.scheduled[chosen], service, 4) + service
    return simulate.results(arrivals, latency)


def down_at(down: npt.NDArray[np.bool_], arrivals: Arrivals, rng: Random, **how: Any) -> pl.DataFrame:
    """A queue of 460/s; requests that find it down take 1 ms."""
    service = np.where(down, 0.0, rng.exponential(4 / 460, len(down)))
    return simulate.results(arrivals, np.where(down, 0.001, waits(arrivals.scheduled, service, 4) + service), **how)


def one_bad_back_end(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """One of three back ends in turn answers 502 at once; the others carry 240/s."""
    bad = np.arange(len(arrivals.scheduled)) % 3 == 0
    service = np.where(bad, 0.0, rng.exponential(4 / 240, len(bad)))
    latency = np.where(bad, 0.001, waits(arrivals.scheduled, service, 4) + service)
    return simulate.results(arrivals, latency, rc=status(bad, 502))


def browning(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """Answers with less, and faster, above 200/s."""
    cheap = np.where(recent(arrivals) > 200, 0.3, 1.0)
    return simulate.results(arrivals, rng.gamma(4, 0.01, len(cheap)) * cheap)


def waving(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """A queue of 260/s whose speed changes by 25 % up and down in a minute."""
    at = np.arange(0, end_of(arrivals) + 200, 0.5)
    clock = Speed(at, 1 + 0.25 * np.sin(at * 2 * math.pi / 60))
    return simulate.results(arrivals, warped(arrivals, clock, rng.exponential(4 / 260, len(arrivals.scheduled)), 4))


def flaky(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """2 s of 503 every 25 s."""
    down = arrivals.scheduled % 25 < 2
    return down_at(down, arrivals, rng, rc=status(down, 503))


def restarting(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """1.5 s of refused connections every minute."""
    down = (arrivals.scheduled + 20) % 60 < 1.5
    return down_at(down, arrivals, rng, error=errors(down, "refused"))


def dropping_late(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """4 workers of 16 ms; who waited 50 ms gets 503."""
    latency, _, late = bounded(arrivals.scheduled, rng.exponential(0.016, len(arrivals.scheduled)), 4, patience=0.05)
    return simulate.results(arrivals, latency, rc=status(late, 503))


def cut_upstream(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """4 workers of 16 ms behind a gateway that answers 504 after 2 s; the workers go on."""
    service = rng.exponential(0.016, len(arrivals.scheduled))
    latency = waits(arrivals.scheduled, service, 4) + service
    return simulate.results(arrivals, np.minimum(latency, 2.0), rc=status(latency > 2, 504))


def full_accept_queue(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """240 connections a second are accepted, and 120 may wait; the client gives others up after 8 s."""
    latency, full, _ = bounded(arrivals.scheduled, np.full(len(arrivals.scheduled), 1 / 240), 1, room=120)
    return simulate.results(arrivals, np.where(full, 8.0, latency + 0.005), error=errors(full, "connect_timeout"))


def tiring(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """2 workers of 4 ms whose service takes twice as long after 60,000 requests."""
    count = len(arrivals.scheduled)
    service = rng.exponential(0.004, count) * (1 + np.arange(count) / 60_000)
    return simulate.results(arrivals, waits(arrivals.scheduled, service, 2) + service)


def failing_more(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """Fails by chance, with a share that grows with the square of the rate: 1 % at 126/s,
    and 1 % more than at the lowest rates at 150 to 185/s.
    """
    bad = rng.random(len(arrivals.offered)) < 0.1 * (arrivals.offered / 400) ** 2
    return simulate.results(arrivals, rng.gamma(4, 0.006, len(bad)), rc=status(bad, 500))


def cold_starts(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """A wide server; one request in a hundred takes 0.8 s more."""
    count = len(arrivals.scheduled)
    return simulate.results(arrivals, rng.gamma(4, 0.02, count) + 0.8 * (rng.random(count) < 0.01))


GROWS: Final = "backlog grows"
NO_LIMIT: Final = "limiter|collapse"
NO_LIMITER: Final = "limiter|shedding"
QUIET: Final = "limiter|shedding|collapse|outage|crashes|pool"
"""What a plain queue is not."""

SYSTEMS: Final = (
    System("token bucket, 503", bucket(250, 25, 503), 250, "503.*limiter|shedding", "collapse|outage"),
    System("token bucket, 429", bucket(180, 10, 429), 180, "429.*limiter|shedding", "collapse|outage"),
    System("200 in each second, 429", windowed, (190, 200), "429.*limiter|shedding", "collapse|outage"),
    System("burst credits", bucket(100, 4000, 429), exhausted, "429", "collapse|outage"),
    System("delaying limiter", delaying(200, 1e9), 200, GROWS, "collapse|outage|limiter"),
    System("delaying limiter, then 503", delaying(200, 100), 200, "503|" + GROWS, "flat|collapse|outage"),
    System("M/M/5/17", crowded, (205, 250), "503.*limiter|shedding", "collapse|outage"),
    System("proportional shedding", proportional, (210, 220), "503.*limiter|shedding", "collapse|outage"),
    System("adaptive concurrency limit", adaptive, (168, 240), "503.*limiter|shedding", "collapse|outage"),
    System("pool, 1 s, 500", pool(1, 500), 200, "pool|wait|" + GROWS, "limiter|shedding|flat|collapse|outage"),
    System("pool, 3 s, 503", pool(3, 503), 200, "pool|wait|" + GROWS, "limiter|shedding|flat|collapse|outage"),
    System("pool, 0.3 s, 500", pool(0.3, 500), 200, "pool|wait|" + GROWS, "limiter|shedding|flat|collapse|outage"),
    System("client time-out 2 s", impatient(2), 250, "time-?out|" + GROWS, "limiter|shedding|collapse|outage|pool"),
    System("client time-out 0.5 s", impatient(0.5), 250, "time-?out|" + GROWS, "limiter|shedding|collapse|outage|pool"),
    System("soft 500s", soft, (122, 200), "500", "limiter|shedding|collapse|outage|pool"),
    System("GC every 10 s", slowed(every(10, 0.2, 0.5), 0, 0.016, 4), 241, GROWS, QUIET),
    System("GC by requests", collecting, 242, GROWS, QUIET),
    System("one full GC of 3 s", slowed(once(0.5, 3), 0, 4 / 480, 4), None, "", "collapse|limiter"),
    System("one full GC late", slowed(once(0.75, 4), 0, 0.016, 4), 250, GROWS, "collapse|limiter"),
    System("autoscaler, late", scaled_late(100), outscaled(100), GROWS, "collapse|limiter"),
    System("autoscaler up to 300/s", scaled_late(12), 300, GROWS, "collapse|limiter"),
    System("batch job beside it", slowed(while_at(170, 25), 0.3, 4 / 480, 4), None, "", "collapse|limiter"),
    System("batch job, then the limit", slowed(while_at(120, 14), 0.2, 4 / 290, 4), 290, GROWS, "collapse|limiter"),
    System("cron every 30 s", slowed(every(30, 1.5, 2), 0.1, 4 / 480, 4), None, "", "collapse|limiter"),
    System("noisy neighbours", neighbours, 240, GROWS, QUIET),
    System("retry storm", retrying(3, 1.0), 250, "504|" + GROWS, "limiter|shedding|outage"),
    System("retries, patient", retrying(2, 5.0), 250, GROWS + "|504", "limiter|shedding|outage"),
    System("leak, 1 ms a second", leaking(0.001), None, "", "collapse|limiter"),
    System("leak, 10 ms a second", leaking(0.01), None, "", "collapse|limiter"),
    System("leak by requests", leaking(0.0, 1e-5), None, "", "collapse|limiter"),
    System("fading speed", fading, faded, GROWS, "limiter"),
    System("cold cache", cached(warm=False), 250, GROWS, QUIET),
    System("warm cache", cached(warm=True), 250, GROWS, QUIET),
    System("slow start", warming, 250, GROWS, QUIET),
    System("outage, 6 s of 502", outage(0.5, 6, "502"), None, "", NO_LIMIT, says=r"(5|6)(.\d)? s of 502"),
    System("outage in the last step", outage(1.0, 5, "503"), None, "", NO_LIMIT, says=r"(4|5)(.\d)? s of 503"),
    System("outage early, refused", outage(0.12, 4, "refused"), None, "", NO_LIMIT, says=r"(3|4)(.\d)? s of refused"),
    System("outage, time-outs", outage(0.6, 5, "timeout", 2.0), None, "", NO_LIMIT, says=r"(4|5)(.\d)? s of time"),
    System("crashes under load", crashing(600, 5, "refused"), 250, "crash|refused|" + GROWS, "limiter|shedding|flat"),
    System("crashes, resets", crashing(300, 3, "reset"), 250, "crash|reset|" + GROWS, "limiter|shedding|flat"),
    System("gone for good", dying, None, "", "limiter|collapse|flat: ", says="refused"),
    System("2 % always fail", failing(0.02, 500, 250), 250, GROWS, QUIET),
    System("2 % always fail, no limit", failing(0.02, 500, 480), None, "", QUIET),
    System("30 % always fail", failing(0.3, 500, 250), 250, GROWS, QUIET),
    System("404s of the log", failing(0.2, 404, 250, expected=404), 250, GROWS, QUIET),
    System("404s of the log, no limit", failing(0.2, 404, 480, expected=404), None, "", QUIET),
    System("404s that the log has not", failing(0.06, 404, 480), None, "", QUIET),
    System("500s of the log", failing(0.05, 500, 250, expected=500), 250, GROWS, QUIET),
    System("1.5 % resets", failing(0.015, 0, 260, word="reset"), 260, GROWS, QUIET),
    System("all 500", failing(1.0, 500, 480), None, "", "saturat", verdict="TARGET_FAILING"),
    System("all refused", failing(1.0, 0, 480, word="refused"), None, "", "saturat", verdict="TARGET_FAILING"),
    System("processor sharing", sharing, 250, GROWS, QUIET),
    System("lock contention", contending, (190, 250), GROWS + "|503", "limiter|outage"),
    System("priorities", prioritised, 250, GROWS, QUIET),
    System("last come, first served", last_first, 250, GROWS + "|time-?out", NO_LIMITER),
    System("two-stage pipeline", pipeline, 220, GROWS, QUIET),
    System("one slow route", one_slow_route, 200, GROWS, QUIET),
    System("groups of ten", batched, 250, GROWS, QUIET),
    System("M/M/1", queued(1, 1 / 230), 230, GROWS, QUIET),
    System("M/D/16 slow", queued(16, 0.064, "fixed", 1.5), 250, GROWS, QUIET),
    System("lognormal", queued(4, 0.016, "lognormal"), 250, GROWS, QUIET),
    System("heavy tail", heavy, 250, GROWS, QUIET),
    System("bimodal", bimodal, 250, GROWS, QUIET),
    System("flat", queued(1000, 0.02), None, "", QUIET),
    System("flat and slow, 2.5 s", queued(5000, 0.4, "exponential", 2.1), None, "", QUIET),
    System("beyond the sweep", queued(4, 4 / 460), None, "", QUIET),
    System("lossy network", lossy, None, "", QUIET),
    System("rising, no queue", rising, None, "", QUIET),
    System("wobbling", wobbling, None, "", QUIET),
    System("generator hiccups", hiccups(0.3, 5), None, "", QUIET + "|limited at"),
    System("slow generator", slow_generator, None, "", QUIET, verdict="GENERATOR_BOUND"),
    System(
        "1.5 % above, even", queued(16, 16 / 266, "fixed"), 266, GROWS, QUIET,
        sweeps=[Sweep(range(30, 271, 30), 20, 10, poisson=False), Sweep(range(120, 271, 15), 15, 10, poisson=False)],
    ),
    System(
        "too few requests", queued(4, 0.4), None, "", "saturat", says="not enough data",
        sweeps=[Sweep(range(1, 6), 2), Sweep(range(2, 16, 2), 3), Sweep(range(1, 9), 10)],
    ),
    System("few connections", few_connections, (150, 205), "refused", "outage|collapse"),
    System("banned for 20 s, 403", banned, (190, 300), "403", "collapse"),
    System("two back ends", two_back_ends, 200, GROWS, QUIET),
    System("one of three back ends fails", one_bad_back_end, 360, GROWS, QUIET),
    System("brownout", browning, None, "", QUIET),
    System("speed in waves", waving, (195, 325), GROWS, "limiter|outage"),
    System("2 s of 503 every 25 s", flaky, None, "", NO_LIMIT),
    System("restart every minute", restarting, None, "", NO_LIMIT),
    System("drops after 50 ms", dropping_late, (215, 255), "503|" + GROWS, "outage"),
    System("504 after 2 s", cut_upstream, 250, "504|" + GROWS, "limiter|outage"),
    System("token bucket of 220, 429", bucket(220, 20, 429), 220, "429", "outage"),
    System("full accept queue", full_accept_queue, 240, GROWS + "|time-out", "limiter|outage"),
    System("tiring", tiring, (180, 420), GROWS, "limiter"),
    System("fails more with the rate", failing_more, (110, 185), "500", "limiter|collapse|outage"),
    System("cold starts", cold_starts, None, "", QUIET),
    System("M/M/8", queued(8, 8 / 300), 300, GROWS, QUIET),
    System("lognormal, one worker", queued(1, 1 / 150, "lognormal"), 150, GROWS, QUIET),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scored:
    """What became of one sweep of a system: the score, the words it rests on, and the range of saturation."""

    system: System
    score: Score
    capacity: Known
    answer: str
    findings: str
    low: float | None
    high: float | None


def score(system: System, seed: int) -> Scored:
    """Sweep a system, and judge the verdict on it."""
    rng = np.random.default_rng(seed)
    sweep = system.sweeps[(seed + crc32(system.name.encode())) % len(system.sweeps)]
    arrivals = sweep.arrivals(rng)
    capacity = system.truth(arrivals, deepcopy(rng)) if callable(system.truth) else system.truth
    requests = arrays.read(system.serve(arrivals, rng))
    verdict = verdict_on(requests, judged_steps(requests))
    said = [verdict.sentence, *(finding["text"] for finding in findings_of(requests, verdict))]
    counted = verdict.steps.filter(pl.col("outage").is_null())["rate"].to_numpy()
    found = _scored(system, capacity, counted.max(initial=0.0), verdict, "\n".join(said))
    bend = verdict.saturation
    return Scored(system, found, capacity, said[0], "; ".join(said[1:]), bend.low, bend.high)


def _scored(system: System, capacity: Known, highest: float, found: SaturationVerdict, said: str) -> Score:
    bend, verdict = found.saturation, found.word
    apt = not (system.never and re.search(system.never, said)) and bool(re.search(system.says, said))
    least, most = capacity if isinstance(capacity, tuple) else (capacity, capacity)
    if not bend.found:
        if verdict != system.verdict:
            return "wrong"
        if verdict == "VALID" and most is not None and most <= (1 - TOLERANCE) * highest:
            return "refused" if "not enough data" in said else "missed"
        return "right" if apt else "wrong"
    if least is None or most is None or bend.rate is None or bend.low is None or bend.high is None:
        return "invented"
    if least > (1 + TOLERANCE) * bend.high or bend.rate < (1 - OFF) * least:
        return "invented"
    near = (1 - TOLERANCE) * bend.low <= most and bend.rate <= (1 + OFF) * most
    caused = bool(re.search(system.cause, bend.why))
    return "right" if near and apt and caused and verdict == system.verdict else "wrong"
