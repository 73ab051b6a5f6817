"""How often the range of `plan` holds the number of machines that the next four weeks need."""

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import polars as pl

import traffic
from accuracy._tables import Table, numbers, span
from accuracy.capacity import brackets
from accuracy.find import searched
from logreplay.analysis.demand import rates
from logreplay.analysis.demand.rates import MINUTE
from logreplay.analysis.planning import demand_range
from logreplay.analysis.planning.autoscaling import (
    STABILIZATION_S,
    SYNC_S,
    TOLERANCE,
    WINDOW_S,
    ScalingTarget,
    scaling_target,
)
from logreplay.analysis.planning.machines import Machines, Reserve, machines
from logreplay.analysis.planning.plan import DemandGrowth
from logreplay.analysis.planning.supply import Supply
from logreplay.analysis.statistics.quantiles import Floats
from search_servers import HARD, PLAIN, Server
from traffic import Traffic

RUNS: Final = 100
NEXT: Final = 4
"""Weeks to come."""
MOST_MACHINES: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """What is known before a plan, and what comes.

    Attributes:
        weeks: of the log.
        traffic: the process.
        growth, front_ends: what becomes of it, and how many logs like this one there are.
        reserve: machines and shares in reserve.
        servers: those that are searched; none: a sweep is made.
    """

    weeks: int = 4
    traffic: Traffic = field(default_factory=Traffic)
    growth: DemandGrowth = field(default_factory=DemandGrowth)
    reserve: Reserve = field(default_factory=Reserve)
    servers: Sequence[Server] = PLAIN


@dataclass(frozen=True, slots=True)
class Outcome:
    """A plan, and the truth. The machines of the busiest minute to come, and those of its mean rate."""

    planned: Machines
    needed: int
    mean: int
    held: bool
    """Whether the range of demand holds the busiest minute."""


def planned(month: Month, seed: int) -> Outcome:
    """Plan with the log of some weeks, and look at the next ones."""
    rng = np.random.default_rng([seed, 11])
    process, growth = month.traffic, month.growth
    minutes = month.weeks * traffic.WEEK_MINUTES
    every = traffic.mean_rates(process, month.weeks + NEXT, rng)
    past, coming = every[:minutes], every[minutes:] * (1 + growth.share)
    log = traffic.profile(*traffic.requests(past, process, rng), minutes)
    seconds, counts = traffic.requests(coming, process, rng, share=growth.front_ends)
    busiest = rates.busiest_within(seconds, counts, MINUTE) / MINUTE
    free = 1 - month.reserve.headroom
    carries = process.peak * (1 + growth.share) * growth.front_ends / free
    carries /= math.exp(rng.uniform(0.0, math.log(MOST_MACHINES)))
    wanted = demand_range.demand(log, growth.factor(log))["minute"]
    found = machines(wanted, _supply(month.servers, carries, rng), month.reserve)

    def needed(rate: float) -> int:
        return max(math.ceil(rate / (carries * free)), 1) + month.reserve.survive

    mean = float(coming.max()) * growth.front_ends
    return Outcome(found, needed(busiest), needed(mean), wanted.low <= busiest <= wanted.high)


def _supply(servers: Sequence[Server], carries: float, rng: np.random.Generator) -> Supply:
    """What a search or a sweep says of a machine that carries a rate: as far off as one of a server of another rate."""
    source = "search" if servers else "sweep"
    while True:
        seed = int(rng.integers(1 << 30))
        if not servers:
            found = list(brackets(20, 1, seed, 1))
            if not found:
                continue
            low, rate, high, truth = found[0]
        else:
            server = servers[int(rng.integers(len(servers)))]
            truth = server.truth
            _, answer = searched(server, seed, truth / 4.5 * rng.uniform(0.75, 1.25))
            if not (answer.holds and answer.low):
                continue
            rate = answer.low
            low, high = answer.between or (rate, answer.high or math.inf)
        return Supply(
            source=source, rate=carries * rate / truth, low=carries * min(low, rate) / truth,
            high=carries * max(high, rate) / truth if math.isfinite(high) else None, bounds="", limits={}, held_s=60.0,
            mean=None, methods=("GET",), sent=pl.DataFrame({"route": ["/"], "requests": [1]}),
        )  # fmt: skip


Make = Callable[[np.random.Generator], Month]


def _months() -> Mapping[str, Make]:
    """The rows of the table: one thing differs from the first, in each."""

    def of(**change: Any) -> Make:
        return lambda rng: Month(traffic=replace(Traffic(), **change))

    return {
        "weeks differ by 5 %, 100 requests/s, index of dispersion 3": of(),
        "weeks do not differ": of(differ=0.0),
        "weeks differ by 10 %": of(differ=0.1),
        "weeks differ by 20 %": of(differ=0.2),
        "index of dispersion 1": of(dispersion=1),
        "index of dispersion 10": of(dispersion=10),
        "index of dispersion 10, bursts of 30 s": of(dispersion=10, burst_s=30),
        "1 request/s": of(peak=1),
        "10 requests/s": of(peak=10),
        "2,000 requests/s": of(peak=2000),
        "events, one a week on average": of(events=1.0),
        "events, one in four weeks on average": of(events=0.25),
        "5 weeks": lambda rng: Month(weeks=5),
        "3 weeks": lambda rng: Month(weeks=3),
        "2 weeks": lambda rng: Month(weeks=2),
        "1 week": lambda rng: Month(weeks=1),
        "1 week, weeks differ by 20 %": lambda rng: Month(weeks=1, traffic=Traffic(differ=0.2)),
        "growth of 30 %": lambda rng: Month(growth=DemandGrowth(share=0.3)),
        "one of 10 front ends": lambda rng: Month(growth=DemandGrowth(front_ends=10)),
        "20 % kept free": lambda rng: Month(reserve=Reserve(headroom=0.2)),
        "one machine lost": lambda rng: Month(reserve=Reserve(survive=1)),
        "hard servers": lambda rng: Month(servers=HARD),
        "a sweep with steps of 20 s": lambda rng: Month(servers=()),
        "all of this at random": _any,
    }


def _any(rng: np.random.Generator) -> Month:
    """A month of traffic, machines and options that are drawn at random."""
    drawn = Traffic(
        peak=math.exp(rng.uniform(0, math.log(2000))),
        differ=rng.uniform(0, 0.2),
        dispersion=math.exp(rng.uniform(0, math.log(10))),
        burst_s=int(rng.choice([10, 20, 30])),
        events=float(rng.choice([0, 1])),
    )
    return Month(
        weeks=int(rng.integers(4, 6)),
        traffic=drawn,
        growth=DemandGrowth(share=rng.uniform(-0.2, 1.0), front_ends=int(rng.integers(1, 5))),
        reserve=Reserve(headroom=rng.uniform(0, 0.4), survive=int(rng.integers(0, 3))),
        servers=[PLAIN, HARD, ()][int(rng.integers(3))],
    )


def row(make: Make, seeds: Sequence[int]) -> list[Outcome]:
    """The plans of a row."""
    return [planned(make(np.random.default_rng([seed, 12])), seed) for seed in seeds]


def table(runs: int, seed: int) -> str:
    """The rows of machines; hours of the week; autoscalers."""
    seeds = range(seed, seed + runs)
    return "\n\n".join((_machines(seeds), _hours(seeds), _pods(seeds)))


def _machines(seeds: Sequence[int]) -> str:
    lines = [
        "| month | holds the machines of the busiest minute | of its mean rate | number right | one too few | fewer "
        "| one too many | more | mean width | demand holds the busiest minute |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, make in _months().items():
        found = row(make, seeds)
        low, high, number = (
            np.array([getattr(each.planned, end) for each in found]) for end in ("low", "high", "number")
        )
        needed, mean = np.array([each.needed for each in found]), np.array([each.mean for each in found])
        more = number - needed
        shares = ((low <= needed) & (needed <= high), (low <= mean) & (mean <= high), more == 0, more == -1, more < -1,
                  more == 1, more > 1)  # fmt: skip
        cells = " | ".join(f"{np.mean(each):.0%}" for each in shares)
        held = np.mean([each.held for each in found])
        lines.append(f"| {name} | {cells} | {np.mean(high - low):.1f} | {held:.0%} |")
    return "\n".join(lines)


def hours_held(differ: float, seed: int) -> float:
    """The share of the hours of the week whose range holds the busiest minute of that hour in the next week."""
    rng, weeks = np.random.default_rng([seed, 13]), demand_range.WEEKS
    process = Traffic(differ=differ)
    every = traffic.mean_rates(process, weeks + 1, rng)
    minutes = weeks * traffic.WEEK_MINUTES
    log = traffic.profile(*traffic.requests(every[:minutes], process, rng, cell=MINUTE), minutes)
    coming = traffic.profile(*traffic.requests(every[minutes:], process, rng, cell=MINUTE), traffic.WEEK_MINUTES)
    keys = ["day", "hour"]
    both = demand_range.by_hour(log).join(coming.week.select(*keys, "busiest_minute"), on=keys)
    held = (both["busiest_minute"] >= both["low"]) & (both["busiest_minute"] <= both["high"])
    return float(np.mean(held.to_numpy()))


def _hours(seeds: Sequence[int]) -> str:
    lines = ["| range of an hour of the week, four weeks | holds that of the next week |", "|---|--:|"]
    for differ in (0.0, 0.05, 0.2):
        held = [hours_held(differ, seed) for seed in seeds[: -(-len(seeds) // 4)]]
        lines.append(f"| weeks differ by {differ:.0%} | {np.mean(held):.0%} |")
    return "\n".join(lines)


def overloaded(process: Traffic, reaction: float, seed: int) -> tuple[float, float]:
    """The share of the minutes of the next weeks in which the pods do not carry the load, and the pods on average."""
    rng = np.random.default_rng([seed, 14])
    every = traffic.mean_rates(process, 2 * NEXT, rng)
    minutes = NEXT * traffic.WEEK_MINUTES
    seconds, counts = traffic.requests(every[:minutes], process, rng, cell=SYNC_S)
    carries = process.peak / math.exp(rng.uniform(math.log(2), math.log(MOST_MACHINES)))
    said = _supply(PLAIN, carries, rng)
    wanted = demand_range.demand(traffic.profile(seconds, counts, minutes))["minute"]
    most = machines(wanted, said, Reserve()).high
    target = scaling_target(seconds, counts, factor=1.0, carries=said.rate, mean=None, reaction=reaction, most=most)
    assert target
    at, sent = traffic.requests(every[minutes:], process, rng, cell=SYNC_S)
    cells = np.bincount(at // SYNC_S, sent, minutes * MINUTE // SYNC_S)
    load = np.convolve(cells, np.ones(WINDOW_S // SYNC_S), "valid") / WINDOW_S
    pods = _asked(load, target)
    ahead = math.ceil(reaction / SYNC_S)
    return float(np.mean(pods[:-ahead] * carries < load[ahead:])), float(pods.mean())


def _asked(load: Floats, target: ScalingTarget) -> Floats:
    """The pods that a horizontal autoscaler asks for, each period."""
    kept, pods = deque[int](maxlen=STABILIZATION_S // SYNC_S), target.least
    asked = np.empty(len(load))
    for index, now in enumerate((load / target.rate).tolist()):
        wanted = pods if abs(now / pods - 1) <= TOLERANCE else math.ceil(now)
        kept.append(min(max(wanted, target.least), target.most))
        pods = max(kept)
        asked[index] = pods
    return asked


def _pods(seeds: Sequence[int]) -> str:
    lines = ["| autoscaler | minutes overloaded, mean | worst of all months | pods on average |", "|---|--:|--:|--:|"]
    for name, process, reaction in (
        ("reaction of 90 s", Traffic(), 90.0),
        ("reaction of 5 min", Traffic(), 300.0),
        ("weeks differ by 20 %", Traffic(differ=0.2), 90.0),
        ("index of dispersion 10", Traffic(dispersion=10), 90.0),
        ("events, one a week on average", Traffic(events=1.0), 90.0),
    ):
        found = np.array([overloaded(process, reaction, seed) for seed in seeds[: -(-len(seeds) // 4)]])
        share, pods = found.T
        lines.append(f"| {name} | {share.mean():.2%} | {share.max():.2%} | {pods.mean():.1f} |")
    return "\n".join(lines)


def result(tables: Sequence[Table]) -> str:
    """How often the range of machines holds, and how often the number is right."""
    months = tables[0]
    long = [row for row in months if not row["month"].startswith(("1 week", "events"))]
    held = "holds the machines of the busiest minute"
    events, short = (
        [row for row in months if row["month"].startswith(name)] for name in ("events", "1 week, weeks differ")
    )
    return (
        f"Range holds: {span(numbers(long, held))} from two weeks of log or more, "
        f"{span(numbers(events, held))} with events that multiply the rate, {span(numbers(short, held))} from one "
        f"week where weeks differ by 20 %; number right: {span(numbers(long, 'number right'))}"
    )
