"""Simulated servers whose sustainable rate is known: on them the rule of `logreplay find` is tried.

Arrivals and service times are random, and waiting times follow from them. There is no clock and no socket: a search
of two minutes takes a tenth of a second. Each server has one property that a real one may have.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from logreplay.analysis.search.bounds import Bound
from logreplay.analysis.statistics.quantiles import Floats
from simulate import SimulatedQueue, refused, service_times, shared, waits

Bools = npt.NDArray[np.bool_]


class Speed(NamedTuple):
    """A server's own time against wall time: both (knots,) seconds, increasing. Slow where its own time goes slowly."""

    wall: Floats
    own: Floats


class Answers(NamedTuple):
    """What a server did with requests: (n,) arrival times, response times without a time-out, and failures."""

    arrived: Floats
    response: Floats
    failed: Bools


@dataclass(frozen=True, slots=True)
class Server:
    """A simulated server.

    Attributes:
        name: name in the table.
        queue: its workers.
        bound: bound on the response time; a failed request counts as late.
        truth: highest rate that keeps the bound in the long run, requests/s.
        speed: draws its speed over so many seconds; None: constant.
        variation: standard deviation of the logarithm of its speed, from trial to trial.
        stragglers: share of requests that take 1 to 5 s longer without occupying a worker.
        slow: share of requests that take `slower` times as long.
        slower: see there.
        stop: all workers stop for ``stop[1]`` seconds after each ``stop[0]`` requests, to collect garbage.
        longest_queue: requests that may wait; more are refused.
        limit: requests/s of a rate limiter with a burst of as many as 0.5 s brings; more are refused.
        contention: how much slower each waiting request makes a worker.
        shared: the workers are one processor that all requests share.
        fails: share of the requests that fail at every rate.
        burst: as many of them fail one after the other.
        leak: seconds of load in which the speed falls to 70 %; where nothing is sent it comes back.
        load_fails: share of the requests that fail more from 80 % of the truth on.
    """

    name: str
    queue: SimulatedQueue
    bound: Bound
    truth: float
    speed: Callable[[float, np.random.Generator], Speed] | None = None
    variation: float = 0.0
    stragglers: float = 0.0
    slow: float = 0.0
    slower: float = 10.0
    stop: tuple[int, float] | None = None
    longest_queue: int | None = None
    limit: float | None = None
    contention: float = 0.0
    shared: bool = False
    fails: float = 0.0
    burst: int = 1
    leak: float | None = None
    load_fails: float = 0.0


def responses(
    server: Server, rate: float, seconds: float, rng: np.random.Generator, *, speed: Speed | None = None, at: float = 0
) -> Answers:
    """Offer a rate to the empty server: exactly rate x seconds requests at random times, as `find` does.

    Args:
        server: it.
        rate: requests/s.
        seconds: for so long.
        rng: random generator.
        speed: its speed during the whole search; None: drawn for these seconds.
        at: when they begin, in seconds since the search began.
    """
    arrived = np.sort(rng.uniform(0.0, seconds, round(rate * seconds)))
    service = service_times(server.queue, len(arrived), rng) * math.exp(rng.normal(0.0, server.variation))
    if server.slow:
        service *= np.where(rng.random(len(arrived)) < server.slow, server.slower, 1.0)
    if server.leak:
        speed, at = leaked(server.leak, seconds), 0.0
    if speed is None and server.speed:
        speed = server.speed(seconds, rng)
    if speed is None:
        ended, failed = _serve(server, arrived, service)
        response = ended - arrived
    else:  # in the server's own time its speed is constant
        ended, failed = _serve(server, np.interp(at + arrived, *speed), service)
        beyond = np.maximum(ended - speed.own[-1], 0.0)
        response = np.interp(ended, speed.own, speed.wall) + beyond - at - arrived
    straggles = rng.random(len(arrived)) < server.stragglers
    response[straggles] += rng.uniform(1.0, 5.0, int(straggles.sum()))
    if server.fails:
        first = rng.random(len(arrived)) < server.fails / server.burst
        failed |= np.convolve(first, np.ones(server.burst))[: len(arrived)] > 0
    if server.load_fails and rate > 0.8 * server.truth:
        failed |= rng.random(len(arrived)) < server.load_fails
    return Answers(arrived, response, failed)


def _serve(server: Server, arrived: Floats, service: Floats) -> tuple[Floats, Bools]:
    """When each request ended, and whether it was refused."""
    failed = np.zeros(len(arrived), np.bool_)
    if server.limit:
        failed = refused(arrived, server.limit, server.limit * 0.5)
        ended = arrived + 0.002
        passed = ~failed
        ended[passed] = (
            arrived[passed] + waits(arrived[passed], service[passed], server.queue.workers) + service[passed]
        )
        return ended, failed
    if server.shared:
        return shared(arrived, service / server.queue.workers, lambda n: 1 / n), failed
    if server.stop or server.longest_queue is not None or server.contention:
        return _troubled(server, arrived, service)
    return arrived + waits(arrived, service, server.queue.workers) + service, failed


def _troubled(server: Server, arrived: Floats, service: Floats) -> tuple[Floats, Bools]:
    """Requests of a server that stops for garbage, refuses what would wait too long, or slows down under contention."""
    free, waiting = [0.0] * server.queue.workers, list[float]()
    ended, failed = np.empty(len(arrived)), np.zeros(len(arrived), np.bool_)
    served = 0
    for index, (at, takes) in enumerate(zip(arrived.tolist(), service.tolist(), strict=True)):
        while waiting and waiting[0] <= at:
            heappop(waiting)
        if server.longest_queue is not None and len(waiting) >= server.longest_queue:
            ended[index], failed[index] = at + 0.002, True
            continue
        start = max(at, free[0])
        if start > at:
            heappush(waiting, start)
        end = start + takes * (1 + server.contention * len(waiting))
        heapreplace(free, end)
        ended[index] = end
        served += 1
        if server.stop and served % server.stop[0] == 0:
            free = [max(each, at) + server.stop[1] for each in free]
    return ended, failed


def _speed(wall: Floats, speeds: Floats) -> Speed:
    """A speed that is constant between knots: (n + 1,) wall times, (n,) speeds."""
    own = np.concatenate(([0.0], np.cumsum(np.diff(wall) * np.maximum(speeds, 1e-9))))
    return Speed(wall, own)


def leaked(after_s: float, seconds: float) -> Speed:
    """Fall to 70 % of the speed, by and by."""
    wall = np.linspace(0.0, seconds + 60, 200)
    return _speed(wall, 1 - 0.3 * np.minimum(wall[:-1] / after_s, 1.0))


def pauses(seconds: float, rng: np.random.Generator) -> Speed:
    """Stand still for 0.1 to 0.3 s about every 20 s."""
    gaps = rng.exponential(20.0, int(seconds / 10) + 20)
    lengths = np.stack((gaps, rng.uniform(0.1, 0.3, len(gaps))), axis=1).ravel()
    return _speed(np.concatenate(([0.0], np.cumsum(lengths))), np.tile([1.0, 0.0], len(gaps)))


def wandering(seconds: float, rng: np.random.Generator) -> Speed:
    """Differ by 6 %, and keep to it for about 8 s: neighbours on the same machine."""
    steps, keep = int(seconds) + 60, math.exp(-1 / 8)
    noise = rng.normal(0.0, 0.06 * math.sqrt(1 - keep * keep), steps)
    level, levels = rng.normal(0.0, 0.06), np.empty(steps)
    for index, change in enumerate(noise.tolist()):
        level = keep * level + change
        levels[index] = level
    return _speed(np.arange(steps + 1, dtype=np.float64), np.exp(levels))


def batch_jobs(seconds: float, rng: np.random.Generator) -> Speed:
    """Have 70 % of the speed for 2 s of every 15 s."""
    rounds = int(seconds / 15) + 5
    wall = np.concatenate(([0.0], rng.uniform(0, 15) + np.cumsum(np.tile([13.0, 2.0], rounds))))
    return _speed(wall, np.tile([1.0, 0.7], rounds))


def warming_up(seconds: float, rng: np.random.Generator) -> Speed:
    """Begin at a third of the speed and double it every 5 s: caches fill, code is compiled."""
    wall = np.arange(int(seconds) + 60, dtype=np.float64)
    return _speed(wall, 1 - 2 / 3 * np.exp2(-wall[:-1] / 5))


FOUR: Final = SimulatedQueue(4, 0.016)

# The truths: of M/M/4 from Erlang's formula, of the others from 1.2 million requests (`accuracy.find.truth`).
MM4: Final = Server("M/M/4", FOUR, Bound("p99", 0.2), 225.67)
NOISY: Final = Server(
    "noisy",
    SimulatedQueue(4, 0.016, "lognormal"),
    Bound("p99", 0.6),
    221.3,
    speed=pauses,
    stragglers=0.002,
    variation=0.03,
)
WALL: Final = Server("wall", SimulatedQueue(16, 0.064, "fixed"), Bound("p99", 0.2), 234.1)
GARBAGE: Final = Server("garbage", FOUR, Bound("p99", 0.3), 219.5, stop=(400, 0.1))
JOBS: Final = Server("batch jobs", FOUR, Bound("p99", 0.3), 188, speed=batch_jobs)
WARM: Final = Server("warming up", SimulatedQueue(8, 0.02), Bound("p99", 0.15), 364.5, speed=warming_up)
FAST: Final = Server("fast", SimulatedQueue(8, 0.004, "lognormal"), Bound("p99", 0.05), 1706)

MM1: Final = Server("M/M/1", SimulatedQueue(1, 0.008), Bound("p95", 0.15), 105.7)
SHARED: Final = Server("shared", SimulatedQueue(1, 0.005, "lognormal"), Bound("p99", 0.5), 178.3, shared=True)
LIMITED: Final = Server("limiter", SimulatedQueue(32, 0.03), Bound("p99", 0.3), 201.6, limit=200)
SHEDDING: Final = Server("shedding", SimulatedQueue(8, 0.04), Bound("p99", 0.5), 189, longest_queue=30)
WANDERING: Final = Server("wandering", FOUR, Bound("p99", 0.3), 217.6, speed=wandering)
COLLAPSE: Final = Server("collapse", SimulatedQueue(8, 0.03), Bound("p99", 0.2), 161, contention=0.02)
ROUTES: Final = Server("slow route", SimulatedQueue(10, 0.02), Bound("p99", 1.0), 358.3, slow=0.04)
SLOW: Final = Server("slow", SimulatedQueue(4, 0.4), Bound("p95", 2.0), 8.1)
SEARCHES: Final = Server(
    "searches", SimulatedQueue(1, 0.0018, "fixed"), Bound("p99", 0.5), 71.3, slow=0.122, slower=38, shared=True
)
HEAVY: Final = Server("heavy tail", SimulatedQueue(2, 0.01, "lognormal"), Bound("p99", 0.3), 154.0)
FULL_STOP: Final = Server("full stop", SimulatedQueue(8, 0.03), Bound("p99", 0.4), 191.7, stop=(3000, 0.4))
RARE: Final = Server("rare", SimulatedQueue(16, 0.03), Bound("p999", 0.4), 514.0)

MEAN1: Final = Server("mean of M/M/1", SimulatedQueue(1, 0.008), Bound("mean", 0.04), 100.0)
MEAN4: Final = Server("mean of M/M/4", FOUR, Bound("mean", 0.05), 226.48)
LEAKS: Final = tuple(Server(f"leak of {s:.0f} s", FOUR, Bound("p99", 0.2), 150.2, leak=s) for s in (20.0, 40.0, 80.0))
"""Servers that lose 30 % of their speed under load; the truth is that of the rest."""

PLAIN: Final = (MM4, WALL, GARBAGE, WARM, MM1, LIMITED, SHEDDING, RARE, MEAN4, MEAN1)
"""Queues and limiters, whose next minutes are like the last ones."""
HARD: Final = (NOISY, JOBS, FAST, SLOW, COLLAPSE, FULL_STOP, SEARCHES, SHARED, WANDERING, ROUTES, HEAVY)
"""Heavy tails, bursts, pauses, a wandering speed and collapse."""


def late(server: Server, rate: float, seconds: float, rng: np.random.Generator) -> float:
    """Share of requests that are late or fail at a rate, in the long run."""
    found = responses(server, rate, seconds, rng)
    after = found.arrived > 120  # warmed up
    return float(np.mean((found.failed | (found.response > server.bound.limit))[after]))
