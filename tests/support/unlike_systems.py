"""More simulated systems: those that the rules on plateaus, falling capacity, crashes and routes are for, and others.

None of them is named where these rules come from. As those of `support.simulated_systems`, each answers the arrivals of
a sweep, and its capacity is known.
"""

import math
from collections.abc import Sequence
from heapq import heappop, heappush, heapreplace
from typing import Final

import numpy as np
import polars as pl

import simulate
from logreplay.analysis.analyze import Analysis, analyse
from logreplay.analysis.statistics.quantiles import Ints
from logreplay.analysis.tables.slow_routes import SCHEMA
from simulate import Arrivals, waits
from support.simulated_systems import (
    GROWS,
    NO_LIMITER,
    QUIET,
    SWEEPS,
    Floats,
    Known,
    Random,
    Serve,
    Sweep,
    System,
    Truth,
    bounded,
    end_of,
    errors,
    queued,
    shared,
    status,
)

# --- a plateau -------------------------------------------------------------------------------------------------------


def in_order(arrived: Floats, service: Floats, workers: int, place: Sequence[float]) -> Floats:
    """Latency at a queue in which the request with the lowest place is served next."""
    times, takes = arrived.tolist(), service.tolist()
    latency, queue, free, index, count = np.empty(len(times)), list[tuple[float, int]](), [0.0] * workers, 0, len(times)
    for _ in times:
        now = max(free[0], times[index]) if not queue and index < count else free[0]
        while index < count and times[index] <= now:
            heappush(queue, (place[index], index))
            index += 1
        job = heappop(queue)[1]
        over = max(now, times[job]) + takes[job]
        heapreplace(free, over)
        latency[job] = over - times[job]
    return latency


def disordered(workers: int, capacity: float, order: str) -> Serve:
    """A queue in random order, or with the shortest work first; the client gives up after 20 s."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        service = rng.gamma(2, workers / capacity / 2, len(arrivals.scheduled))
        place = rng.random(len(service)) if order == "random" else service
        latency = in_order(arrivals.scheduled, service, workers, place.tolist())
        return simulate.results(arrivals, latency, timeout_s=20)

    return serve


def committed(per_s: int, every_s: float) -> Serve:
    """Requests are committed in groups, the newest first, so many a second."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        times, most = arrivals.scheduled.tolist(), round(per_s * every_s)
        stack, latency, index, now = list[int](), np.empty(len(times)), 0, 0.0
        while index < len(times) or stack:
            now += every_s
            while index < len(times) and times[index] <= now:
                stack.append(index)
                index += 1
            for _ in range(min(most, len(stack))):
                job = stack.pop()
                latency[job] = now - times[job]
        return simulate.results(arrivals, latency + rng.gamma(4, 0.001, len(times)), timeout_s=15)

    return serve


def proxied(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """A proxy hands 60 requests at once to a server that carries 210/s; others wait at the proxy, for 6 s at most."""
    latency, _, late = bounded(arrivals.scheduled, rng.gamma(9, 60 / 210 / 9, len(arrivals.scheduled)), 60, patience=6)
    return simulate.results(arrivals, latency, rc=status(late, 504))


def uneven(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """Three back ends in turn that carry 75, 100 and 140/s: 225/s in all."""
    count = len(arrivals.scheduled)
    chosen, latency = np.arange(count) % 3, np.empty(count)
    for back_end, capacity in enumerate((75, 100, 140)):
        own = chosen == back_end
        service = rng.exponential(2 / capacity, int(own.sum()))
        latency[own] = waits(arrivals.scheduled[own], service, 2) + service
    return simulate.results(arrivals, latency)


def partitioned(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """Eight partitions of 60/s each; a quarter of the keys is in one of them: 240/s in all."""
    count = len(arrivals.scheduled)
    shard, latency = np.where(rng.random(count) < 0.25, 0, rng.integers(1, 8, count)), np.empty(count)
    for number in range(8):
        own = shard == number
        service = rng.exponential(1 / 60, int(own.sum()))
        latency[own] = waits(arrivals.scheduled[own], service, 1) + service
    return simulate.results(arrivals, latency)


def shared_room(capacity: float, room: int) -> Serve:
    """Processor sharing with room for so many; others get 503."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        work = rng.exponential(1 / capacity, len(arrivals.scheduled))
        latency, full = shared(arrivals.scheduled, work, lambda _: 1.0, room=room)
        return simulate.results(arrivals, latency + 0.003, rc=status(full, 503))

    return serve


# --- capacity that falls at once -------------------------------------------------------------------------------------


def falling(
    workers: int, before: float, lasting: float, above: int, below: int, *, for_good: bool = False, patience: float = 30
) -> Serve:
    """A queue whose speed falls once more than so many are in flight, until there are few again, or for good."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        times, slow = arrivals.scheduled.tolist(), False
        work = _work(workers, before, len(times), rng).tolist()
        free, held, latency = [0.0] * workers, list[float](), np.empty(len(times))
        for index, at in enumerate(times):
            while held and held[0] <= at:
                heappop(held)
            slow = (slow and (for_good or len(held) > below)) or len(held) > above
            start = max(at, free[0])
            over = start + work[index] * (before / lasting if slow else 1)
            heapreplace(free, over)
            heappush(held, over)
            latency[index] = over - at
        return simulate.results(arrivals, latency, timeout_s=patience)

    return serve


def spent(most: float, lasting: float, stock: float) -> Serve:
    """A queue of one rate as long as a stock of fast work lasts, which fills at another rate; then of that rate."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        left, last, free, latency = stock, 0.0, 0.0, np.empty(len(arrivals.scheduled))
        takes = rng.exponential(1.0, len(latency))
        for index, at in enumerate(arrivals.scheduled.tolist()):
            left, last = min(stock, left + (at - last) * lasting), at
            start = max(at, free)
            free = start + takes[index] / (most if left >= 1 else lasting)
            left = max(left - 1, 0)
            latency[index] = free - at
        return simulate.results(arrivals, latency)

    return serve


def emptied(lasting: float, stock: float) -> Truth:
    """The rate at which the stock of `spent` is used up."""

    def truth(arrivals: Arrivals, _: Random) -> float:
        left, last = stock, 0.0
        for at, rate in zip(arrivals.scheduled.tolist(), arrivals.offered.tolist(), strict=True):
            left, last = min(stock, left + (at - last) * lasting), at
            if left < 1:
                return float(rate)
            left -= 1
        return math.inf

    return truth


# --- crashes ---------------------------------------------------------------------------------------------------------


def killed(workers: int, capacity: float, most: int, kind: str, wait: float = 0.001) -> Serve:
    """A queue that dies for good, with all it holds, once more than so many are in flight."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        service = _work(workers, capacity, len(arrivals.scheduled), rng)
        latency = waits(arrivals.scheduled, service, workers) + service
        held = _in_flight(arrivals, latency)
        died = float(arrivals.scheduled[np.argmax(held > most)]) if (held > most).any() else math.inf
        lost = arrivals.scheduled + latency > died
        latency = np.where(arrivals.scheduled > died, wait, np.minimum(latency, died - arrivals.scheduled + 0.001))
        if kind.isdigit():
            return simulate.results(arrivals, latency, rc=status(lost, int(kind)))
        return simulate.results(arrivals, latency, error=errors(lost, kind))

    return serve


def tipped(workers: int, capacity: float, most: int) -> Truth:
    """The capacity of `falling` and `killed`: a range from the rate at which chance first puts too many in flight."""

    def truth(arrivals: Arrivals, rng: Random) -> Known:
        service = _work(workers, capacity, len(arrivals.scheduled), rng)
        held = _in_flight(arrivals, waits(arrivals.scheduled, service, workers) + service)
        first = float(arrivals.offered[np.argmax(held > most)]) if (held > most).any() else math.inf
        return capacity if first >= capacity else (first, capacity)

    return truth


def _work(workers: int, capacity: float, count: int, rng: Random) -> Floats:
    return rng.gamma(2, workers / capacity / 2, count)


def _in_flight(arrivals: Arrivals, latency: Floats) -> Ints:
    """How many requests each one meets."""
    ends = np.sort(arrivals.scheduled + latency)
    return np.arange(len(ends)) - np.searchsorted(ends, arrivals.scheduled, side="right")


def ended(share: float, kind: str) -> Serve:
    """A queue of 460/s that is gone from a moment on that has nothing to do with the load."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        gone = arrivals.scheduled > share * end_of(arrivals)
        service = rng.exponential(4 / 460, len(gone))
        latency = np.where(gone, 0.001, waits(arrivals.scheduled, np.where(gone, 0, service), 4) + service)
        if kind.isdigit():
            return simulate.results(arrivals, latency, rc=status(gone, int(kind)))
        return simulate.results(arrivals, latency, error=errors(gone, kind))

    return serve


# --- routes ----------------------------------------------------------------------------------------------------------


def routes(share: float, name: str, others: int = 9) -> list[str]:
    """URLs of which one has this share, in the order of twenty requests."""
    slow = round(20 * share)
    places = {round(20 * index / slow) for index in range(slow)}
    return [f"/{name}" if place in places else f"/page/{chr(97 + place % others)}" for place in range(20)]


def own_pool(share: float, capacity: float, workers: int = 2, *, kind: str = "queue") -> Serve:
    """One route has a pool of its own, that carries its share of a rate; the others are wide.

    Args:
        share: of the requests.
        capacity: rate of all requests at which this route is saturated.
        workers: of its pool.
        kind: ``queue``; ``patience``: 500 after a second; ``room``: 503 when eight wait.
    """
    urls = routes(share, "report")

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        count = len(arrivals.scheduled)
        own, latency = np.resize(np.array(urls) == "/report", count), rng.gamma(4, 0.003, count)
        service = rng.exponential(workers / (share * capacity), int(own.sum()))
        failed, rc = np.zeros(count, bool), 500
        if kind == "queue":
            latency[own] = waits(arrivals.scheduled[own], service, workers) + service
        elif kind == "patience":
            latency[own], _, failed[own] = bounded(arrivals.scheduled[own], service, workers, patience=1.0)
        else:
            latency[own], failed[own], _ = bounded(arrivals.scheduled[own], service, workers, room=8)
            rc = 503
        return simulate.results(arrivals, latency, rc=status(failed, rc), urls=urls)

    return serve


def wide(slow_share: float, slower: float, law: str = "gamma") -> Serve:
    """A wide server of which one route is slower, without a limit."""
    urls = routes(slow_share, "slow")

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        count = len(arrivals.scheduled)
        own = np.resize(np.array(urls) == "/slow", count)
        draw = rng.gamma(4, 0.25, count) if law == "gamma" else rng.lognormal(-0.8, 1.26, count)
        return simulate.results(arrivals, draw * np.where(own, 0.012 * slower, 0.012), urls=urls)

    return serve


def failing_route(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """A wide server of which one route, 15 % of the requests, fails in a fifth of all cases."""
    urls = routes(0.15, "broken")
    count = len(arrivals.scheduled)
    bad = np.resize(np.array(urls) == "/broken", count) & (rng.random(count) < 0.2)
    return simulate.results(arrivals, rng.gamma(4, 0.004, count), rc=status(bad, 500), urls=urls)


# --- failures --------------------------------------------------------------------------------------------------------


def bursting(share: float, length: int, capacity: float, kind: str = "500") -> Serve:
    """A queue of which a share of the requests always fails, so many one after the other."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        count = len(arrivals.scheduled)
        begins = np.flatnonzero(rng.random(count) < share / length)
        bad = np.zeros(count, bool)
        for begin in begins.tolist():
            bad[begin : begin + length] = True
        service = rng.exponential(4 / capacity, count)
        latency = waits(arrivals.scheduled, service, 4) + service
        if kind.isdigit():
            return simulate.results(arrivals, latency, rc=status(bad, int(kind)))
        return simulate.results(arrivals, latency, error=errors(bad, kind))

    return serve


def failing_above(share: float, more: float, rate: float) -> Serve:
    """A wide server of which a share fails at every rate, and more above one."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        count = len(arrivals.scheduled)
        bad = rng.random(count) < share + more * (arrivals.offered > rate)
        return simulate.results(arrivals, rng.gamma(4, 0.004, count), rc=status(bad, 500))

    return serve


# --- plain and healthy -----------------------------------------------------------------------------------------------


def staged(capacities: Sequence[float]) -> Serve:
    """Stages one after the other, each of three workers."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        at = arrivals.scheduled.copy()
        for capacity in capacities:
            order = np.argsort(at, kind="stable")
            service = rng.gamma(2, 3 / capacity / 2, len(at))
            at[order] += waits(at[order], service, 3) + service
        return simulate.results(arrivals, at - arrivals.scheduled)

    return serve


def stalling(capacity: float, gap: float, length: float) -> Serve:
    """A queue that stands still now and then; with the stalls it carries this rate."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        left = 1 - length / gap
        work = rng.exponential(2 * left / capacity, len(arrivals.scheduled))

        def own(time: Floats) -> Floats:
            return np.floor(time / gap) * gap * left + np.minimum(time % gap, gap * left)

        def clock(work: Floats) -> Floats:
            return np.floor(work / (gap * left)) * gap + work % (gap * left)

        begun = own(arrivals.scheduled)
        return simulate.results(arrivals, clock(begun + waits(begun, work, 2) + work) - arrivals.scheduled + 0.001)

    return serve


def mixed(workers: int, capacity: float, rare: float, ratio: float) -> Serve:
    """Work of two sizes: a few requests take so many times as long."""

    def serve(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
        size = np.where(rng.random(len(arrivals.scheduled)) < rare, ratio, 1.0)
        service = rng.exponential(1.0, len(size)) * size * workers / capacity / (1 + rare * (ratio - 1))
        return simulate.results(arrivals, waits(arrivals.scheduled, service, workers) + service)

    return serve


def jittery(arrivals: Arrivals, rng: Random) -> pl.DataFrame:
    """A wide server whose network takes 5 to 120 ms, in spells of some seconds."""
    count = len(arrivals.scheduled)
    spell = rng.uniform(0.005, 0.12, int(end_of(arrivals) / 3) + 2)
    return simulate.results(arrivals, rng.gamma(6, 0.002, count) + spell[(arrivals.scheduled / 3).astype(int)])


SLOW: Final = (
    Sweep(range(2, 31, 2), 8),
    Sweep(range(1, 21), 6, 5),
    Sweep(range(3, 40, 3), 6, 3),
)
"""Rates that are too low for a hundred requests below the capacity."""
ONCE: Final = [each for each in SWEEPS if each.repeat == 1]
"""Each rate once: a target that dies or becomes slow for good shows lower rates as it is then."""
NOT_DEAD: Final = "limiter|collapse|died"
LASTS: Final = "lasts"
DEAD: Final = "refused|reset|502|timeout|died|" + GROWS
ROUTE: Final = "/report"


_FALLS: Final = QUIET.replace("collapse|", "")


def _once(name: str, serve: Serve, truth: float | Truth | None, cause: str, never: str, says: str = "") -> System:
    return System(name, serve, truth, cause, never, says=says, sweeps=ONCE)


UNLIKE: Final = (
    System("random order", disordered(4, 240, "random"), 240, GROWS, QUIET),
    System("random order, one worker", disordered(1, 170, "random"), 170, GROWS, QUIET),
    System("shortest first", disordered(4, 250, "shortest"), (250, 400), GROWS + "|time-?out", NO_LIMITER),
    System("shortest first, 12", disordered(12, 300, "shortest"), (300, 450), GROWS + "|time-?out", NO_LIMITER),
    System("committed in groups, 0.5 s", committed(220, 0.5), 220, GROWS + "|time-?out", "limiter|shedding|outage"),
    System("committed in groups, 2 s", committed(260, 2.0), 260, GROWS + "|time-?out", "limiter|shedding|outage"),
    System("proxy of 60 connections", proxied, 210, GROWS + "|504", "limiter|outage"),
    System("three uneven back ends", uneven, 225, GROWS, QUIET),
    System("eight partitions, one hot", partitioned, 240, GROWS, QUIET),
    System("sharing, room for 300", shared_room(230, 300), 230, GROWS + "|503", "outage"),
    System("sharing, room for 40", shared_room(280, 40), (240, 280), "503|" + GROWS, "outage"),
    System("thrashes above 80", falling(4, 250, 150, 80, 10), tipped(4, 250, 80), GROWS, _FALLS, says=LASTS),
    System("thrashes above 40", falling(2, 220, 120, 40, 5), tipped(2, 220, 40), GROWS, _FALLS, says=LASTS),
    _once("swaps for good", falling(8, 300, 180, 200, 0, for_good=True), tipped(8, 300, 200), GROWS, "limiter", LASTS),
    System("convoy of 120", falling(16, 270, 190, 120, 20), tipped(16, 270, 120), GROWS, _FALLS, says=LASTS),
    System("slow start of a thread each", falling(32, 240, 130, 150, 30), tipped(32, 240, 150), GROWS, "limiter",
           says=LASTS),
    System("half speed, impatient", falling(4, 260, 130, 100, 10, patience=5), tipped(4, 260, 100),
           GROWS + "|time-?out", "limiter"),
    System("stock of 3,000 fast ones", spent(420, 140, 3000), emptied(140, 3000), GROWS, "limiter"),
    System("stock of 6,000 fast ones", spent(420, 180, 6000), emptied(180, 6000), GROWS, "limiter"),
    _once("killed at 100 in flight, refused", killed(4, 250, 100, "refused"), tipped(4, 250, 100), DEAD, "limiter"),
    _once("killed at 60 in flight, 502", killed(2, 210, 60, "502"), tipped(2, 210, 60), DEAD, "limiter"),
    _once("killed at 300 in flight, reset", killed(8, 280, 300, "reset"), tipped(8, 280, 300), DEAD, "limiter"),
    _once("hangs at 150 in flight", killed(4, 240, 150, "timeout", 5.0), tipped(4, 240, 150), DEAD, "limiter"),
    _once("killed at 40 in flight, refused", killed(1, 180, 40, "refused"), tipped(1, 180, 40), DEAD, "limiter"),
    _once("stopped by hand, refused", ended(0.55, "refused"), None, "", NOT_DEAD, says="refused"),
    _once("stopped by hand, 502", ended(0.7, "502"), None, "", NOT_DEAD, says="502"),
    _once("network gone", ended(0.45, "connect_timeout"), None, "", NOT_DEAD, says="connect_timeout"),
    System("route of 10 %, queue", own_pool(0.1, 200), 200, GROWS, "limiter|outage", says=ROUTE),
    System("route of 10 %, 6 workers", own_pool(0.1, 240, 6), 240, GROWS, "limiter|outage", says=ROUTE),
    System("route of 15 %, queue", own_pool(0.15, 220, 1), 220, GROWS, "limiter|outage", says=ROUTE),
    System("route of 15 %, 4 workers", own_pool(0.15, 180, 4), 180, GROWS, "limiter|outage", says=ROUTE),
    System("route of 30 %, queue", own_pool(0.3, 210, 4), 210, GROWS, "limiter|outage", says=ROUTE),
    System("route of 30 %, one worker", own_pool(0.3, 260, 1), 260, GROWS, "limiter|outage", says=ROUTE),
    System("route of 15 %, 500 after 1 s", own_pool(0.15, 200, kind="patience"), 200, "500|" + GROWS, "limiter|outage"),
    System("route of 30 %, room for 8", own_pool(0.3, 240, 4, kind="room"), (190, 240), "503", "outage"),
    System("one route slower, wide", wide(0.1, 12), None, "", QUIET + "|/slow"),
    System("one route slower, long tail", wide(0.15, 8, "lognormal"), None, "", QUIET + "|/slow"),
    System("one route fails at a fifth", failing_route, None, "", QUIET),
    System("too few below, a queue", queued(4, 0.4), None, "", "saturated already", says="not enough", sweeps=SLOW),
    System("too few below, a limit", shared_room(9, 20), None, "", "saturated al", says="not enough", sweeps=SLOW),
    System("0.5 % fail in bursts of 20", bursting(0.005, 20, 480), None, "", QUIET),
    System("1 % fail in bursts of 40", bursting(0.01, 40, 480), None, "", QUIET),
    System("1 % fail in bursts of 10, resets", bursting(0.01, 10, 240, "reset"), 240, GROWS, QUIET),
    System("0.7 % fail singly", bursting(0.007, 1, 480, "503"), None, "", QUIET),
    System("1 % time out in bursts of 5", bursting(0.01, 5, 270, "timeout"), 270, GROWS, QUIET),
    System("three stages", staged((420, 230, 300)), 230, GROWS, QUIET),
    System("five stages", staged((310, 280, 330, 300, 290)), 280, GROWS, QUIET),
    System("stalls of 0.1 s every second", stalling(240, 1.0, 0.1), 240, GROWS, QUIET),
    System("stalls of 0.6 s every 6 s", stalling(220, 6.0, 0.6), 220, GROWS, QUIET),
    System("two sizes of work, 1 in 50", mixed(4, 250, 0.02, 30), 250, GROWS, QUIET),
    System("two sizes of work, 1 in 5", mixed(8, 280, 0.2, 8), 280, GROWS, QUIET),
    System("two sizes, beyond the sweep", mixed(8, 520, 0.1, 10), None, "", QUIET),
    System("M/M/2", queued(2, 2 / 190), 190, GROWS, QUIET),
    System("M/M/32", queued(32, 32 / 310), 310, GROWS, QUIET),
    System("M/D/6", queued(6, 6 / 225, "fixed"), 225, GROWS, QUIET),
    System("lognormal, 12 workers", queued(12, 12 / 270, "lognormal"), 270, GROWS, QUIET),
    System("M/M/64 and 0.8 s", queued(64, 64 / 265, "exponential", 0.8), 265, GROWS, QUIET),
    System("network in spells", jittery, None, "", QUIET),
    System("wide and fast", queued(500, 0.004), None, "", QUIET),
    System("wide, lognormal", queued(900, 0.05, "lognormal"), None, "", QUIET),
    System("M/D/8 beyond the sweep", queued(8, 8 / 470, "fixed"), None, "", QUIET),
    System("stages beyond the sweep", staged((600, 470, 520)), None, "", QUIET),
)  # fmt: skip
"""Systems of the kinds that the rules of the page Accuracy are for, and others."""

WIDE: Final = Sweep(range(50, 401, 50), 10, 10)
"""Rates up to twice the capacity of most systems."""


def system(name: str) -> System:
    """The system of this name."""
    return next(each for each in UNLIKE if each.name == name)


def swept(name: str, sweep: Sweep = WIDE, seed: int = 0) -> Analysis:
    """The verdict on one sweep of a system."""
    rng = np.random.default_rng(seed)
    return analyse(system(name).serve(sweep.arrivals(rng), rng))


def balance_of(**bad: tuple[float, float]) -> pl.DataFrame:
    """Steps at 100 to 500/s: of each route from which rate on it is bad, and its answers/s there."""
    rows = []
    for step, rate in enumerate((100.0, 200.0, 300.0, 400.0, 500.0)):
        for name, (first, completed) in {"calm": (1e9, 0.0), **bad}.items():
            behind = rate >= first and completed >= 0
            rows.append(
                {
                    "step": step, "rate": rate, "route": f"/{name}", "share": 0.8 if name == "calm" else 0.1,
                    "scheduled": 1000, "errors": 500 * (rate >= first and completed < 0),
                    "completed": completed if behind else rate / 10, "growth": 0.5 * behind,
                    "trend_z": 4.0 * behind, "drift": 5.0 * behind,
                }
            )  # fmt: skip
    return pl.DataFrame(rows, schema=SCHEMA)
