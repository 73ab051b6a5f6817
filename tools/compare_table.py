"""Make the table of docs/howto/compare.md: ``python tools/compare_table.py [PAIRS [SEED]]`` (400: ten minutes).

Both runs of a pair replay one log: the same arrivals at 150 requests/s, work that depends on the request and differs by
10 % from run to run. The share of pairs of equal versions that are called different is the share of false verdicts.
"""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from logreplay.analysis.statistics.quantiles import Floats
from logreplay.analysis.verdict.ratio_interval import DIFFERENT, Change, combined, median_change, quantile_changes

RATE: Final = 150.0
SLOWER: Final = 1.1
_BATCH: Final = 40
_WANDER: Final = 0.06
_WANDER_S: Final = 8.0
_RUN_TO_RUN: Final = 0.03
_STEP_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class Case:
    """A simulated comparison.

    Attributes:
        load: utilization of the four workers; 0: no queue.
        wanders: the speed varies by 6 %, correlated over 8 s.
        differs: the speed of a whole run varies by 3 %.
        seconds: length of each run.
        pairs: pairs of runs.
        same_log: both runs replay one log.
    """

    load: float
    wanders: bool = False
    differs: bool = False
    seconds: int = 60
    pairs: int = 1
    same_log: bool = True


CASES: Final = (
    *(
        Case(load, wanders, seconds=s)
        for load in (0, 0.6, 0.8)
        for wanders in (False, True)
        for s in (30, 60, 120, 240)
    ),
    *(Case(0.6, wanders, seconds=s, same_log=False) for wanders in (False, True) for s in (60, 240)),
    *(Case(0.6, wanders=True, seconds=60, pairs=pairs) for pairs in (2, 3, 5)),
    Case(0.6, differs=True, seconds=240),
    *(Case(0.6, wanders=True, differs=True, seconds=60, pairs=pairs) for pairs in (3, 5, 8)),
)


@dataclass(frozen=True, slots=True)
class Rates:
    """Error rates of a case.

    Attributes:
        false: share of comparisons of equal versions with a verdict.
        found: share of comparisons in which a candidate whose work takes 10 % longer is called slower.
        detectable: median of the smallest detectable change that is printed, as a fraction.
    """

    false: float
    found: float
    detectable: float


def rates(case: Case, number: int, seed: int) -> Rates:
    """Simulate comparisons of equal versions, and as many with a slower candidate."""
    equal, slower = (list(changes(case, number, factor, seed)) for factor in (1.0, SLOWER))
    return Rates(
        float(np.mean([change.verdict() in DIFFERENT for change in equal])),
        float(np.mean([change.verdict() == "slower" for change in slower])),
        float(np.median([change.detectable() for change in equal])),
    )


def changes(case: Case, number: int, slower: float, seed: int) -> Iterator[Change]:
    """Yield what ``number`` comparisons find where the candidate's work takes ``slower`` times as long."""
    rng = np.random.default_rng(seed)
    for _ in range(0, number, _BATCH):
        several = _BATCH * case.pairs
        log = _log(case, several, rng)
        old = log[0], _responses(case, *log, rng)
        log = log if case.same_log else _log(case, several, rng)
        new = log[0], _responses(case, log[0], log[1] * slower, rng)
        found = [_change(case, old[0][at], old[1][at], new[0][at], new[1][at]) for at in range(several)]
        for first in range(0, several, case.pairs):
            change = combined(found[first : first + case.pairs])
            assert change
            yield change


def _change(case: Case, old_at: Floats, old: Floats, new_at: Floats, new: Floats) -> Change | None:
    if case.same_log:
        return median_change(pl.DataFrame({"scheduled": old_at, "log": np.log(new / old)}))
    sides = [
        pl.DataFrame({"scheduled": at, "response": response}).with_columns(good=True)
        for at, response in ((old_at, old), (new_at, new))
    ]
    return quantile_changes(*sides)["p50"]


def _log(case: Case, runs: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """(runs, requests) arrival times and work of the requests of as many logs, seconds."""
    shape = runs, round(RATE * case.seconds)
    work = rng.exponential(4 * case.load / RATE, shape) if case.load else 0.005 + rng.exponential(0.015, shape)
    return np.sort(rng.uniform(0, case.seconds, shape), axis=1), work


def _responses(case: Case, at: Floats, work: Floats, rng: np.random.Generator) -> Floats:
    """(runs, requests) response times of one run of each log, seconds."""
    work = work * rng.lognormal(0, 0.1, work.shape)
    if case.wanders:
        work *= np.exp(np.take_along_axis(_wander(case, len(at), rng), (at // _STEP_S).astype(np.int64), axis=1))
    if case.differs:
        work *= rng.lognormal(0, _RUN_TO_RUN, (len(at), 1))
    return _queued(at, work) if case.load else work


def _wander(case: Case, runs: int, rng: np.random.Generator) -> Floats:
    """(runs, steps) logarithms of the speed: a first-order autoregression."""
    keeps = math.exp(-_STEP_S / _WANDER_S)
    level = rng.normal(0, _WANDER, (runs, round(case.seconds / _STEP_S) + 1))
    for step in range(1, level.shape[1]):
        level[:, step] = keeps * level[:, step - 1] + math.sqrt(1 - keeps**2) * level[:, step]
    return level


def _queued(at: Floats, work: Floats) -> Floats:
    """(runs, requests) response times behind four workers each; every request takes the worker that is free first."""
    free, rows = np.zeros((len(at), 4)), np.arange(len(at))
    responses = np.empty_like(work)
    for index, (arrived, takes) in enumerate(zip(at.T.copy(), work.T.copy(), strict=True)):
        worker = free.argmin(axis=1)
        ended = np.maximum(free[rows, worker], arrived) + takes
        free[rows, worker] = ended
        responses[:, index] = ended - arrived
    return responses


def line(case: Case, found: Rates) -> str:
    """One row of the table."""
    server = f"four workers, {case.load:.0%} busy" if case.load else "no queue"
    noise = ", ".join(
        name for name, there in (("wanders 6 %", case.wanders), ("runs differ by 3 %", case.differs)) if there
    )
    design = f"{case.pairs} pairs of {case.seconds} s" if case.pairs > 1 else f"{case.seconds} s"
    if not case.same_log:
        design += ", different logs"
    return (
        f"| {server} | {noise or 'none'} | {design} | {found.false:.1%} | {found.found:.1%} "
        f"| {found.detectable:.1%} |\n"
    )


def main() -> None:
    """Write the table, in Markdown."""
    number, seed = (int(sys.argv[at]) if len(sys.argv) > at else value for at, value in ((1, 400), (2, 1)))
    sys.stdout.write("| server | noise | runs | false verdicts | 10 % slower found | smallest detectable |\n")
    sys.stdout.write("|---|---|---|--:|--:|--:|\n")
    for case in CASES:
        sys.stdout.write(line(case, rates(case, number, seed)))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
