"""Compares search rules on simulated servers whose sustainable rate is known.

Arrivals and service times are random, and waiting times follow from them. An hour of trials takes a fraction of a
second, so hundreds of searches can be compared. The table in docs/search.md comes from this module.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from logreplay.analysis.search.search import Answer, Goal, Search, Trial, TrialOutcome
from logreplay.analysis.search.slo import Bound, BoundEvidence, observe
from logreplay.analysis.statistics.quantiles import Floats
from simulate import SimulatedQueue, service_times, waits

TIMEOUT_S: Final = 8.0


@dataclass(frozen=True, slots=True)
class Server:
    """A simulated server for searches.

    Attributes:
        name: name in the table.
        queue: its workers.
        bound: bound on the response time.
        truth: highest rate that keeps the bound in the long run, requests/s.
        pauses: stalls for 0.1 to 0.3 s about every 20 s.
        stragglers: share of requests that take 1 to 5 s longer without occupying a worker.
        variation: standard deviation of the logarithm of its speed, from trial to trial.
    """

    name: str
    queue: SimulatedQueue
    bound: Bound
    truth: float
    pauses: bool = False
    stragglers: float = 0.0
    variation: float = 0.0


# The truths: of M/M/4 from Erlang's formula, of the others from runs of 120,000 s at the rates around it.
MM4: Final = Server("M/M/4", SimulatedQueue(4, 0.016), Bound("p99", 0.2), 225.67)
NOISY: Final = Server(
    "noisy",
    SimulatedQueue(4, 0.016, "lognormal"),
    Bound("p99", 0.6),
    221.3,
    pauses=True,
    stragglers=0.002,
    variation=0.03,
)
WALL: Final = Server("wall", SimulatedQueue(16, 0.064, "fixed"), Bound("p99", 0.2), 234.1)
SERVERS: Final = (MM4, NOISY, WALL)


def responses(server: Server, rate: float, seconds: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Offer a rate to the empty server: exactly rate x seconds requests at random times, as `find` does.

    Returns:
        (n,) arrival times, seconds, increasing; (n,) response times, seconds, without a time-out.
    """
    arrived = np.sort(rng.uniform(0.0, seconds, round(rate * seconds)))
    service = service_times(server.queue, len(arrived), rng) * math.exp(rng.normal(0.0, server.variation))
    if not server.pauses:
        response = waits(arrived, service, server.queue.workers) + service
    else:  # in the server's own time there are no pauses
        outer, inner = _pauses(seconds, rng)
        own = np.interp(arrived, outer, inner)
        ended = own + waits(own, service, server.queue.workers) + service
        response = np.interp(ended, inner, outer) + np.maximum(ended - inner[-1], 0.0) - arrived
    straggles = rng.random(len(arrived)) < server.stragglers
    response[straggles] += rng.uniform(1.0, 5.0, int(straggles.sum()))
    return arrived, response


def _pauses(seconds: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Map wall time to the server's own time, which advances by 1 ns in each pause so that the map is invertible."""
    starts = np.cumsum(rng.exponential(20.0, int(seconds / 10) + 20))
    lengths = rng.uniform(0.1, 0.3, len(starts))
    begin = starts + np.concatenate(([0.0], np.cumsum(lengths)[:-1]))
    outer = np.concatenate(([0.0], np.stack((begin, begin + lengths), axis=1).ravel()))
    inner = np.concatenate(([0.0], np.stack((starts, starts + 1e-9), axis=1).ravel()))
    return outer, inner


def find(server: Server, goal: Goal, rng: np.random.Generator) -> Search:
    """Run a search on a server to its end."""
    search = Search(goal)
    while isinstance(search.next, Trial):
        search.tell(make(server, search, rng))
    return search


def make(server: Server, search: Search, rng: np.random.Generator) -> TrialOutcome:
    """Run the next trial of a search; end it early if the search says so."""
    trial = search.next
    assert isinstance(trial, Trial)
    arrived, response = responses(server, trial.rate, trial.seconds, rng)
    failed, ended = response > TIMEOUT_S, arrived + np.minimum(response, TIMEOUT_S)

    def seen(until: float) -> BoundEvidence:
        known = ended <= until
        sent = arrived < until
        return observe((server.bound,), arrived[sent], np.where(known, ended, np.inf)[sent], (failed & known)[sent],
                       settle_s=trial.settle_s, until=until, timeout_s=TIMEOUT_S)  # fmt: skip

    for second in range(int(trial.settle_s) + 1, int(trial.seconds)):
        if cut := search.hopeless(seen(second)):
            drained = float(ended[arrived < second].max(initial=second))
            return TrialOutcome(seen(second), drained, cut=cut)
    return TrialOutcome(
        observe(
            (server.bound,), arrived, ended, failed, settle_s=trial.settle_s, until=trial.seconds, timeout_s=TIMEOUT_S
        ),
        float(ended.max(initial=trial.seconds)),
    )


def climb(server: Server, start: float, rng: np.random.Generator, trials: int = 45) -> "Climb":
    """Search by the rule of hlg: raise the rate by half after a pass, lower it and shrink the step after a fail.

    The rule has no end and no answer. The bound of the server replaces its own bound on p99.99, which hardly any trial
    would pass. Failed requests count as late.

    Source: hlg, main.go.
    """
    rate, step, last, best, seconds = start, 0.5, 0.0, 0.0, 0.0
    for _ in range(trials):
        arrived, response = responses(server, max(int(rate), 1), 60.0, rng)
        ended = arrived + np.minimum(response, TIMEOUT_S)
        seconds += float(ended.max(initial=60.0))
        if np.mean(response > server.bound.limit) <= server.bound.allowance:
            last, best = rate, max(best, rate)
            rate *= 1 + step
        else:
            rate *= 1 - step
            step *= 0.9
    return Climb(last, best, trials, seconds)


@dataclass(frozen=True, slots=True)
class Climb:
    """Result of a climb: rates of the last and of the best passed trial, number of trials, seconds."""

    last: float
    best: float
    trials: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Worth:
    """Errors and cost of a rule on one server, from many searches.

    Attributes:
        rule, server: names.
        errors: (n,) answer / truth - 1, sorted.
        trials: (n,) number of trials.
        seconds: (n,) length of the search.
    """

    rule: str
    server: str
    errors: Floats
    trials: Floats
    seconds: Floats

    @property
    def median(self) -> float:
        """Median error."""
        return float(np.median(self.errors))

    @property
    def over(self) -> float:
        """Share of the answers that promise over 2 % more than the server keeps."""
        return float(np.mean(self.errors > 0.02))


def worth(server: Server, seeds: Sequence[int], goal: Goal | None = None) -> Worth:
    """Search a server once for each seed with the rule of logreplay; the lowest rate is random between 37 and 63/s."""
    goal = goal or Goal((server.bound,))
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        search = find(server, replace(goal, start=50 * rng.uniform(0.75, 1.25)), rng)
        assert isinstance(search.next, Answer)
        found.append((search.next.low or 0.0, search.trials, search.elapsed))
    name = f"logreplay, {goal.trial_s:g} s" if goal.trial_s else "logreplay"
    return _worth(name, server, found)


def worth_of_climbing(server: Server, seeds: Sequence[int]) -> tuple[Worth, Worth]:
    """Climb on a server once for each seed; return the errors of the last and of the best passed rate."""
    climbs = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        climbs.append(climb(server, 1000 * rng.uniform(0.75, 1.25), rng))
    return (
        _worth("hlg, last pass", server, [(each.last, each.trials, each.seconds) for each in climbs]),
        _worth("hlg, best pass", server, [(each.best, each.trials, each.seconds) for each in climbs]),
    )


def _worth(rule: str, server: Server, found: Sequence[tuple[float, int, float]]) -> Worth:
    rates, trials, seconds = np.array(found, dtype=np.float64).T
    return Worth(rule, server.name, np.sort(rates / server.truth - 1), trials, seconds)
