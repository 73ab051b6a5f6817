"""How far the promises of ``find`` are from the truth, on simulated servers (`search_servers`)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from accuracy._tables import Table, where
from logreplay.analysis.search.bounds import Bound, BoundEvidence, observe
from logreplay.analysis.search.report import answer_of
from logreplay.analysis.search.search import Answer, Goal, Search, Trial, TrialOutcome
from logreplay.analysis.statistics.quantiles import Floats
from search_servers import HARD, LEAKS, MM1, MM4, PLAIN, WALL, Server, Speed, late, responses

RUNS: Final = 60
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


@dataclass(frozen=True, slots=True)
class Score:
    """The promises of many searches of one server.

    Attributes:
        promised: (n,) promise / truth - 1; NaN where a search ended without one.
        low, high: (n,) ends of the 90 % range / truth - 1; NaN where there is none.
        seconds: (n,) length of the search.
    """

    promised: Floats
    low: Floats
    high: Floats
    seconds: Floats

    @property
    def over(self) -> float:
        """Share of the searches that promise over 5 % more than the server keeps."""
        return float(np.mean(np.nan_to_num(self.promised, nan=-1.0) > 0.05))

    @property
    def near(self) -> float:
        """Share of the searches whose promise is from 6 % below to 5 % above the truth."""
        return float(np.mean((self.promised > -0.06) & (self.promised < 0.05)))

    @property
    def without(self) -> float:
        """Share of the searches without a promise."""
        return float(np.mean(np.isnan(self.promised)))

    @property
    def held(self) -> float:
        """Share of the 90 % ranges that hold the truth."""
        known = ~np.isnan(self.low)
        return float(np.mean(((self.low <= 0) & (self.high >= 0))[known])) if known.any() else float("nan")


def score(server: Server, seeds: Sequence[int], budget_s: float = 120.0, bounds: tuple[Bound, ...] = ()) -> Score:
    """Search a server once for each seed; the lowest rate lies at random around a fifth of what it keeps."""
    found = []
    for seed in seeds:
        rng = np.random.default_rng([seed, 7])
        start = server.truth / 4.5 * rng.uniform(0.75, 1.25)
        goal = Goal(bounds or (server.bound, ERRORS), start=start, budget_s=budget_s)
        search = find(server, replace(goal, start=goal.rounded(goal.start)), rng)
        answer = answer_of(search)
        low, high = answer.between or (np.nan, np.nan)
        found.append((answer.low if answer.holds and answer.low else np.nan, low, high, search.elapsed))
    promised, low, high, seconds = np.array(found, dtype=np.float64).T
    return Score(promised / server.truth - 1, low / server.truth - 1, high / server.truth - 1, seconds)


def truth(server: Server) -> float:
    """The highest rate that a server keeps for 1.2 million requests, found by bisection."""
    low, high = 0.1 * server.queue.capacity, 1.05 * server.queue.capacity
    for seed in range(10):
        rate = (low + high) / 2
        kept = late(server, rate, 1.2e6 / rate, np.random.default_rng(seed)) <= server.bound.allowance
        low, high = (rate, high) if kept else (low, rate)
    return low


def table(runs: int, seed: int) -> str:
    """Make all tables of this part."""
    seeds = range(seed, seed + runs)
    return "\n\n".join((_servers(seeds), _longer(seeds)))


_HEAD: Final = (
    "promise, median | 5 … 95 % | within -6 … +5 % | over by > 5 % | no promise | range holds | seconds, most |\n"
    "|---|--:|--:|--:|--:|--:|--:|--:|"
)


def _row(name: str, scores: Sequence[Score]) -> str:
    whole = Score(*(np.concatenate([getattr(each, key) for each in scores]) for key in Score.__slots__))
    kept = whole.promised[~np.isnan(whole.promised)]
    low, middle, high = np.quantile(kept, (0.05, 0.5, 0.95)) * 100 if len(kept) else (np.nan,) * 3
    held = "–" if math.isnan(whole.held) else f"{whole.held:.0%}"
    promises = f"{middle:+.1f} % | {low:+.0f} … {high:+.0f} %" if len(kept) else "– | –"
    return (
        f"| {name} | {promises} | {whole.near:.0%} | {whole.over:.1%} | {whole.without:.0%} | {held} "
        f"| {whole.seconds.max():.0f} |"
    )


def _servers(seeds: Sequence[int]) -> str:
    rows = [f"| server | {_HEAD}"]
    for kind, servers in (("plain", PLAIN), ("hard", HARD), ("leaks", LEAKS)):
        scores = [score(server, seeds) for server in servers]
        rows += [_row(server.name, [each]) for server, each in zip(servers, scores, strict=True)]
        rows.append(_row(f"**all {kind}**", scores))
    return "\n".join(rows)


def _longer(seeds: Sequence[int]) -> str:
    """Fewer searches, of which each takes as long as ten of two minutes."""
    rows = [_row(server.name, [score(server, seeds[: len(seeds) // 6 or 1], 600.0)]) for server in (MM4, WALL, MM1)]
    return "\n".join((f"| with `--budget 10m` | {_HEAD}", *rows))


def searched(server: Server, seed: int, start: float = 50.0, highest: float | None = None) -> tuple[Search, Answer]:
    """Search a server for two minutes, from a rate on."""
    goal = Goal((server.bound, ERRORS), start=start, highest=highest, budget_s=120.0)
    search = find(server, goal, np.random.default_rng([seed, 3]))
    return search, answer_of(search)


def result(tables: Sequence[Table]) -> str:
    """How good the promises of plain and of hard servers are."""
    servers = tables[0]
    plain, hard = (where(servers, "server", f"all {kind}")[0] for kind in ("plain", "hard"))
    return (
        f"Plain servers: {plain['over by > 5 %']} of the searches promise more than 5 % too much, "
        f"{plain['no promise']} nothing; the median promise is {plain['promise, median']} off. Hard servers: "
        f"{hard['over by > 5 %']}, {hard['no promise']} and {hard['promise, median']}"
    )
