"""Runs searches on simulated servers (`search_servers`), and scores their promises.

The table in docs/search.md comes from this module.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from logreplay.analysis.search.bounds import Bound, BoundEvidence, observe
from logreplay.analysis.search.search import Answer, Goal, Search, Trial, TrialOutcome
from logreplay.analysis.statistics.quantiles import Floats
from search_servers import Server, Speed, responses

TIMEOUT_S: Final = 8.0
AROUND_S: Final = 1.0
"""Time around a trial in which nothing is sent: a run begins on a whole second, and ends with its last row."""
ERRORS: Final = Bound("errors", 0.01)


def find(server: Server, goal: Goal, rng: np.random.Generator) -> Search:
    """Run a search on a server to its end; its speed goes on through all trials and the time between them."""
    search = Search(goal)
    speed = server.speed(2000.0, rng) if server.speed else None
    while isinstance(search.next, Trial):
        search.tell(make(server, search, rng, speed))
    return search


def make(server: Server, search: Search, rng: np.random.Generator, speed: Speed | None = None) -> TrialOutcome:
    """Run the next trial of a search; end it early if the search says so."""
    trial, bounds = search.next, search.goal.bounds
    assert isinstance(trial, Trial)
    arrived, response, failed = responses(server, trial.rate, trial.seconds, rng, speed=speed, at=search.elapsed)
    failed, ended = failed | (response > TIMEOUT_S), arrived + np.minimum(response, TIMEOUT_S)

    def seen(until: float) -> BoundEvidence:
        known = ended <= until
        sent = arrived < until
        return observe(bounds, arrived[sent], np.where(known, ended, np.inf)[sent], (failed & known)[sent],
                       settle_s=trial.settle_s, until=until)  # fmt: skip

    for second in range(int(trial.settle_s) + 1, int(trial.seconds)):
        if cut := search.hopeless(seen(second)):
            drained = float(ended[arrived < second].max(initial=second))
            return TrialOutcome(seen(second), AROUND_S + drained, cut=cut)
    whole = observe(bounds, arrived, ended, failed, settle_s=trial.settle_s, until=trial.seconds)
    return TrialOutcome(whole, AROUND_S + float(ended.max(initial=trial.seconds)))


def climb(server: Server, start: float, rng: np.random.Generator, trials: int = 45) -> tuple[float, float]:
    """Search by the rule of hlg: raise the rate by half after a pass, lower it and shrink the step after a fail.

    The rule has no end and no answer. The bound of the server replaces its own bound on p99.99, which hardly any trial
    would pass. Failed requests count as late.

    Returns:
        The rate of the best trial that passed; seconds.

    Source: hlg, main.go.
    """
    rate, step, best, seconds = start, 0.5, 0.0, 0.0
    for _ in range(trials):
        arrived, response, failed = responses(server, max(int(rate), 1), 60.0, rng)
        ended = arrived + np.minimum(response, TIMEOUT_S)
        seconds += float(ended.max(initial=60.0))
        if np.mean(failed | (response > server.bound.limit)) <= server.bound.allowance:
            best = max(best, rate)
            rate *= 1 + step
        else:
            rate *= 1 - step
            step *= 0.9
    return best, seconds


@dataclass(frozen=True, slots=True)
class Score:
    """The promises of many searches of one server.

    Attributes:
        promised: (n,) promise / truth - 1; NaN where a search ended without one.
        capacity: (n,) estimate of the capacity / truth - 1; NaN where there is none.
        seconds: (n,) length of the search.
        trials: (n,) number of trials.
    """

    promised: Floats
    capacity: Floats
    seconds: Floats
    trials: Floats

    @property
    def over(self) -> float:
        """Share of the searches that promise over 2 % more than the server keeps."""
        return float(np.mean(np.nan_to_num(self.promised, nan=-1.0) > 0.02))

    @property
    def without(self) -> float:
        """Share of the searches without a promise."""
        return float(np.mean(np.isnan(self.promised)))


def score(server: Server, seeds: Sequence[int], budget_s: float | None = 120.0) -> Score:
    """Search a server once for each seed; the lowest rate lies at random around a fifth of what it keeps."""
    found = []
    for seed in seeds:
        rng = np.random.default_rng([seed, 7])
        goal = Goal((server.bound, ERRORS), start=server.truth / 4.5 * rng.uniform(0.75, 1.25), budget_s=budget_s)
        search = find(server, replace(goal, start=goal.rounded(goal.start)), rng)
        answer = search.next
        assert isinstance(answer, Answer)
        promised = answer.low if answer.holds and answer.low else np.nan
        found.append((promised, answer.capacity or np.nan, search.elapsed, len(search.judged)))
    promised, capacity, seconds, trials = np.array(found, dtype=np.float64).T
    return Score(promised / server.truth - 1, capacity / server.truth - 1, seconds, trials)
