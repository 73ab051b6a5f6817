"""Simulates systems whose limit is known, to test the sentence on the limit of a sweep.

Each family draws a system of its kind at random, and answers the arrivals of a sweep. There is no clock and no socket.
"""

import math
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

import simulate
from simulate import Arrivals, refused, shared, waits

Floats = npt.NDArray[np.float64]
Random = np.random.Generator


@dataclass(frozen=True, slots=True)
class Answered:
    """Responses to the arrivals.

    Attributes:
        latency: (n,) seconds.
        rc: (n,) status; None: all 200.
        urls: requested URLs, in turn.
    """

    latency: Floats
    rc: npt.NDArray[np.int64] | None = None
    urls: list[str] | None = None


@dataclass(frozen=True, slots=True)
class Limited:
    """A system of a family.

    Attributes:
        kinds: the answers that are right.
        at_once: number of requests that it works on at once; None: no number is right or wrong.
        capacity: requests/s.
        serve: answers arrival times in seconds, increasing.
    """

    kinds: Collection[str]
    at_once: float | None
    capacity: float
    serve: Callable[[Floats], Answered]


def _works(rng: Random, count: int, mean: float, law: float) -> Floats:
    """Draw service times: a law below 0 is exponential, else log-normal with this coefficient of variation."""
    if law < 0:
        return rng.exponential(mean, count)
    deviation = math.sqrt(math.log(1 + law**2))
    return mean * rng.lognormal(-(deviation**2) / 2, deviation, count)


def _law(rng: Random) -> float:
    return float(rng.choice([0.02, 0.1, 0.3, 0.7, -1.0]))


def _overhead(rng: Random, count: int) -> Floats:
    """Time that the network and the client add, seconds."""
    return rng.lognormal(math.log(0.0003), 0.4, count)


def _capacity(rng: Random) -> float:
    return float(np.exp(rng.uniform(np.log(60), np.log(350))))


def _places(rng: Random) -> int:
    return int(rng.choice([1, 2, 3, 4, 5, 6, 8, 10, 12, 16]))


def workers(rng: Random) -> Limited:
    """Some workers and one queue."""
    number, capacity, law = _places(rng), _capacity(rng), _law(rng)

    def serve(arrived: Floats) -> Answered:
        work = _works(rng, len(arrived), number / capacity, law)
        return Answered(waits(arrived, work, number) + work + _overhead(rng, len(arrived)))

    return Limited(("workers",), number, capacity, serve)


def sharing(rng: Random) -> Limited:
    """All requests in flight share some processors."""
    number, capacity, law = int(rng.choice([1, 2, 2, 4, 4, 8])), _capacity(rng), _law(rng)

    def serve(arrived: Floats) -> Answered:
        work = _works(rng, len(arrived), number / capacity, law)
        return Answered(shared(arrived, work, lambda n: min(1.0, number / n)) - arrived + _overhead(rng, len(arrived)))

    return Limited(("sharing",), number, capacity, serve)


def sharing_workers(rng: Random) -> Limited:
    """Some workers that share fewer processors."""
    cores, capacity, law = int(rng.choice([1, 2, 2, 4])), _capacity(rng), _law(rng)
    places = cores * int(rng.choice([2, 3, 4]))

    def serve(arrived: Floats) -> Answered:
        work = _works(rng, len(arrived), cores / capacity, law)
        ended = shared(arrived, work, lambda n: min(1.0, cores / n), places=places)
        return Answered(ended - arrived + _overhead(rng, len(arrived)))

    return Limited(("slowed", "sharing"), cores, capacity, serve)


def lock_inside(rng: Random) -> Limited:
    """Many workers, and a part of each request that passes one at a time, or a few at a time."""
    inside, capacity, law = int(rng.choice([1, 1, 1, 2, 3])), _capacity(rng), _law(rng)
    outside = inside / capacity * float(rng.uniform(1.5, 8))
    first, spread = float(rng.uniform(0, 1)), float(rng.choice([0.05, 0.1, 0.3, 0.7]))

    def serve(arrived: Floats) -> Answered:
        held = _works(rng, len(arrived), inside / capacity, law)
        before = _works(rng, len(arrived), outside * first + 1e-9, spread)
        after = _works(rng, len(arrived), outside * (1 - first) + 1e-9, spread)
        at = arrived + before
        order = np.argsort(at, kind="stable")
        waited = np.empty(len(at))
        waited[order] = waits(at[order], held[order], inside)
        return Answered(before + waited + held + after + _overhead(rng, len(arrived)))

    return Limited(("inner",), inside, capacity, serve)


def partly_pooled(rng: Random) -> Limited:
    """Workers, of which 60 % of the requests need a connection of a smaller pool, too; they wait for it on a worker."""
    pool = int(rng.choice([2, 3, 4]))
    places, capacity, law = 3 * pool, _capacity(rng), _law(rng)
    mean = 0.6 * capacity / pool

    def serve(arrived: Floats) -> Answered:
        work, wants = _works(rng, len(arrived), 1 / mean, law), rng.random(len(arrived)) < 0.6
        ended = np.empty(len(arrived))
        free_workers, free_pool = places, pool
        queue: deque[int] = deque()
        wanting: deque[int] = deque()
        busy: list[tuple[float, int]] = []
        coming, times = 0, arrived.tolist()
        while coming < len(times) or busy:
            if coming < len(times) and (not busy or times[coming] <= busy[0][0]):
                now = times[coming]
                queue.append(coming)
                coming += 1
            else:
                now, index = heappop(busy)
                ended[index] = now
                free_workers += 1
                free_pool += bool(wants[index])
            while True:
                if wanting and free_pool:
                    index = wanting.popleft()
                    free_pool -= 1
                    heappush(busy, (now + work[index], index))
                elif queue and free_workers:
                    index = queue.popleft()
                    free_workers -= 1
                    if wants[index] and not free_pool:
                        wanting.append(index)
                    else:
                        free_pool -= bool(wants[index])
                        heappush(busy, (now + work[index], index))
                else:
                    break
        return Answered(ended - arrived + _overhead(rng, len(arrived)))

    return Limited(("inner",), None, capacity, serve)


def rate_limit(rng: Random) -> Limited:
    """A token bucket that refuses requests at once while it is empty."""
    capacity, burst, status = _capacity(rng), float(rng.choice([1, 5, 20])), int(rng.choice([429, 503]))
    service = float(rng.uniform(0.002, 0.05))

    def serve(arrived: Floats) -> Answered:
        passes = ~refused(arrived, capacity, burst)
        took = np.where(passes, _works(rng, len(arrived), service, 0.3), 0.0005) + _overhead(rng, len(arrived))
        return Answered(took, np.where(passes, 200, status))

    return Limited(("rate_limit",), None, capacity, serve)


def paced(rng: Random) -> Limited:
    """A limiter that delays requests which come too fast."""
    capacity = _capacity(rng)
    service = float(rng.uniform(0.02, 0.5)) / capacity

    def serve(arrived: Floats) -> Answered:
        waited = waits(arrived, np.full(len(arrived), 1 / capacity), 1)
        return Answered(waited + _works(rng, len(arrived), service, 0.3) + _overhead(rng, len(arrived)))

    return Limited(("paced",), None, capacity, serve)


def refusing_pool(rng: Random) -> Limited:
    """Workers and a queue of few places; further requests are refused at once."""
    number, capacity, law = int(rng.choice([4, 6, 8, 12, 16])), _capacity(rng), _law(rng)
    places = number + int(rng.choice([0, 0, 2, 4]))

    def serve(arrived: Floats) -> Answered:
        work = _works(rng, len(arrived), number / capacity, law)
        inside: list[float] = []
        free = [0.0] * number
        took, status = np.full(len(arrived), 0.0005), np.full(len(arrived), 503)
        for index, at in enumerate(arrived.tolist()):
            while inside and inside[0] <= at:
                heappop(inside)
            if len(inside) < places:
                end = max(at, heappop(free)) + work[index]
                heappush(free, end)
                heappush(inside, end)
                took[index], status[index] = end - at, 200
        return Answered(took + _overhead(rng, len(arrived)), status)

    return Limited(("refuses",), places, capacity, serve)


def own_pool(rng: Random) -> Limited:
    """A route that has a small pool; the others have enough of everything."""
    number, share, law = int(rng.choice([1, 2, 3, 4, 6])), float(rng.uniform(0.2, 0.5)), _law(rng)
    capacity = _capacity(rng)
    fast = float(rng.uniform(0.002, 0.03))

    def serve(arrived: Floats) -> Answered:
        slow = rng.random(len(arrived)) < share
        took = _works(rng, len(arrived), fast, 0.3)
        work = _works(rng, int(slow.sum()), number / (share * capacity), law)
        took[slow] = waits(arrived[slow], work, number) + work
        urls = np.where(slow, "/db", rng.choice(["/", "/about"], len(arrived)))
        return Answered(took + _overhead(rng, len(arrived)), urls=urls.tolist())

    return Limited(("route",), number, capacity, serve)


def batch(rng: Random) -> Limited:
    """A server that answers waiting requests in batches, up to a largest size."""
    size, capacity = int(rng.choice([5, 10, 20])), _capacity(rng)

    def serve(arrived: Floats) -> Answered:
        ended, now, index, times = np.empty(len(arrived)), 0.0, 0, arrived.tolist()
        while index < len(times):
            begin = max(now, times[index])
            stop = int(np.searchsorted(arrived, begin, "right"))
            stop = max(min(stop, index + size), index + 1)
            now = begin + size / capacity * float(rng.uniform(0.95, 1.05))
            ended[index:stop] = now
            index = stop
        return Answered(ended - arrived + _overhead(rng, len(arrived)) / 3)

    return Limited(("batch",), size, capacity, serve)


def retrograde(rng: Random) -> Limited:
    """Workers that slow each other: throughput falls with the backlog."""
    number, capacity, law = int(rng.choice([2, 4, 8])), _capacity(rng), _law(rng)
    half, left = float(rng.uniform(10, 30)) * number, float(rng.uniform(0.2, 0.6))

    def speed(n: int) -> float:
        return min(1.0, number / n) * (left + (1 - left) / (1 + (n / half) ** 2))

    def serve(arrived: Floats) -> Answered:
        work = _works(rng, len(arrived), number / capacity, law)
        return Answered(shared(arrived, work, speed) - arrived + _overhead(rng, len(arrived)))

    return Limited(("retrograde",), None, capacity, serve)


def pauses(rng: Random) -> Limited:
    """Workers that all pause from time to time."""
    number, capacity, law = int(rng.choice([2, 4, 8])), _capacity(rng), _law(rng)
    length, every = float(rng.uniform(0.2, 0.5)), float(rng.uniform(2, 4))

    def serve(arrived: Floats) -> Answered:
        # Times on a clock of the workers, which stops in a pause.
        share = every / (every + length)
        phase = arrived % (every + length)
        own = arrived // (every + length) * every + np.minimum(phase, every)
        work = _works(rng, len(arrived), number / capacity * share, law)
        end = own + waits(own, work, number) + work
        return Answered(end + end // every * length - arrived + _overhead(rng, len(arrived)))

    return Limited(("pauses",), None, capacity, serve)


def split(rng: Random) -> Limited:
    """A queue for each worker, chosen at random."""
    number, capacity, law = int(rng.choice([2, 3, 4, 6, 8])), _capacity(rng), _law(rng)

    def serve(arrived: Floats) -> Answered:
        work, lane = _works(rng, len(arrived), number / capacity, law), rng.integers(0, number, len(arrived))
        took = np.empty(len(arrived))
        for each in range(number):
            own = lane == each
            took[own] = waits(arrived[own], work[own], 1) + work[own]
        return Answered(took + _overhead(rng, len(arrived)))

    return Limited(("split",), number, capacity, serve)


def cold(rng: Random) -> Limited:
    """Workers that are slow at first."""
    number, capacity, law = _places(rng), _capacity(rng), _law(rng)
    slower, fades = float(rng.uniform(1, 4)), float(rng.uniform(2, 12))

    def serve(arrived: Floats) -> Answered:
        warmth = np.exp(-np.arange(len(arrived)) / (fades * 0.3 * capacity))
        work = _works(rng, len(arrived), number / capacity, law) * (1 + slower * warmth)
        return Answered(waits(arrived, work, number) + work + _overhead(rng, len(arrived)))

    return Limited(("workers",), number, capacity, serve)


def unlimited(rng: Random) -> Limited:
    """No limit within the sweep."""
    capacity, law = _capacity(rng), _law(rng)
    number = _places(rng)

    def serve(arrived: Floats) -> Answered:
        work = _works(rng, len(arrived), number / capacity / 2, law)
        return Answered(waits(arrived, work, number) + work + _overhead(rng, len(arrived)))

    return Limited((), None, capacity, serve)


FAMILIES: Final = {
    "workers": workers,
    "sharing": sharing,
    "workers that share processors": sharing_workers,
    "a lock or a small pool inside": lock_inside,
    "a pool for 60 % of the requests": partly_pooled,
    "rate limit": rate_limit,
    "delaying limiter": paced,
    "refusing pool": refusing_pool,
    "a route with a pool of its own": own_pool,
    "batches": batch,
    "retrograde": retrograde,
    "pauses": pauses,
    "a queue for each worker": split,
    "slow at first": cold,
}
"""How the systems of each family are drawn."""


def swept(system: Limited, rng: Random, seconds: float = 10.0) -> pl.DataFrame:
    """Return the result log of a sweep over a system from a quarter of its capacity to a third above it."""
    rates = np.linspace(0.25, 1.35, int(rng.integers(9, 13))) * system.capacity
    over = int(np.searchsorted(rates, 1.05 * system.capacity)) + int(rng.integers(2, 4))  # it stops after two
    poisson = bool(rng.random() < 0.7)
    plan = simulate.sweep(rates[:over].tolist(), seconds, rng, poisson=poisson, pause_s=1.5 * seconds)
    if len(plan.scheduled) and not poisson:
        jitter = rng.uniform(-0.2, 0.2, len(plan.scheduled)) / plan.offered
        plan = Arrivals(np.maximum.accumulate(plan.scheduled + jitter), plan.step, plan.offered)
    return answered(system, plan)


def answered(system: Limited, plan: Arrivals) -> pl.DataFrame:
    """Return the result log of a system that served these arrivals."""
    got = system.serve(plan.scheduled)
    urls = got.urls or ["/", "/about"]
    return simulate.results(plan, got.latency, rc=got.rc, urls=urls)
