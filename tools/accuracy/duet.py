"""The part ``duet`` of the page: how often equal targets are called different, and how often a slower one is found.

Both targets serve the same requests at the same times, on four workers each; the work of a request is log-normal and
differs by 10 % between them. The machines wander alike or each by itself; one side pauses, drifts, or is cold at first.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from accuracy._tables import Table, numbers, span, where
from accuracy._two_machines import BATCH, WORKERS, TwoMachines, any_differs, held
from logreplay.analysis.statistics.quantiles import Floats, Ints
from logreplay.analysis.statistics.typical_value import TypicalValue
from logreplay.analysis.verdict.ratio_interval import (
    AT_ONCE_TOLERANCE,
    TOLERANCE,
    Change,
    Estimated,
    Measurement,
    combined,
    deviations,
    of_routes,
    ratio_changes,
    together,
    typical_change,
)
from simulate import responses

RUNS: Final = 400
_PAUSE_S: Final = 0.15
_PAUSES_EVERY_S: Final = 7.0
ROUTES: Final = 20
_SLOW: Final = "14"
"""The route that becomes slower: 7 % of the requests, where others have 1 to 9 %."""
_SLOWER: Final = (1.0, 1.05, 1.1)
_DOUBT: Final = 0.05
_SLOW_WANDER: Final = 7
"""A wander whose correlation time is longer than one of this many parts of the run is too slow to be seen in it."""
_SHARES: Final = np.linspace(1, 13, ROUTES) / np.linspace(1, 13, ROUTES).sum()


@dataclass(frozen=True, slots=True)
class Cell(TwoMachines):
    """A kind of machine and of run.

    Attributes:
        pauses: the candidate pauses for 150 ms every 7 s on average.
        drift: change of the candidate's speed from the beginning to the end.
        cold_s: the candidate needs half more work at first, for so many seconds.
        noise: a second instance of the baseline runs beside.
        pairs: pairs of runs apart, each slower or faster by 3 % as a whole; 0: a duet.
    """

    pauses: bool = False
    drift: float = 0.0
    cold_s: float = 0.0
    noise: bool = False
    pairs: int = 0


CELLS: Final = (
    Cell("calm, 30 % load", load=0.3),
    Cell("calm"),
    Cell("calm, 80 % load", load=0.8),
    Cell("calm, 10 s", 10),
    Cell("common wander, 6 % over 8 s", common=(0.06, 8)),
    Cell("common wander, 6 % over 8 s, 80 % load", load=0.8, common=(0.06, 8)),
    *(Cell(f"wander of each, {100 * size:g} % over 1 s", apart=(size, 1)) for size in (0.02, 0.06)),
    *(Cell(f"wander of each, {100 * size:g} % over 8 s", apart=(size, 8)) for size in (0.02, 0.04, 0.06)),
    Cell("wander of each, 6 % over 8 s, 240 s", 240, apart=(0.06, 8)),
    *(Cell(f"wander of each, 4 % over 30 s, {length} s", length, apart=(0.04, 30)) for length in (60, 240)),
    *(
        Cell(f"wander of each, 4 % over {time} s, with `--noise`", apart=(0.04, time), noise=True)
        for time in (8, 30)
    ),
    Cell("pauses of the candidate", pauses=True),
    Cell("drift of the candidate, 1.5 %", drift=0.015),
    Cell("drift of the candidate, 3 %", drift=0.03),
    Cell("candidate cold for 3 s", cold_s=3),
    *(Cell(f"{pairs} pairs of runs apart, 6 % over 8 s, runs differ by 3 %", apart=(0.06, 8), pairs=pairs)
      for pairs in (3, 5)),
)  # fmt: skip


class Judged:
    """What a comparison finds; each is computed when it is asked for."""

    def __init__(self, at: Floats, sides: Sequence[Floats], routes: Ints) -> None:
        logs = [np.log(side / sides[0]) for side in sides[1:]]
        noise = {"noise": logs[1]} if len(logs) > 1 else {}
        self._sides = [pl.DataFrame({"scheduled": at, "response": side}) for side in sides]
        self.pairs = pl.DataFrame({"scheduled": at, "log": logs[0], "route": routes, **noise})

    @cached_property
    def whole(self) -> Measurement:
        """Of all requests."""
        found = typical_change(self.pairs)
        assert found
        return found

    @property
    def quantiles(self) -> dict[str, Change]:
        """Of the percentiles; none where none differs."""
        found = ratio_changes(self._sides)
        certain = any(each.estimate.p * len(found) <= _DOUBT for each in found.values())
        return together(found) if certain else {}

    @property
    def routes(self) -> dict[str, Change]:
        """Of each route."""
        pairs = self.pairs.with_columns(pl.col("route").cast(pl.String))
        return of_routes(self.whole.change(), deviations(pairs, pairs["route"].unique().to_list()))


def judged(cell: Cell, number: int, seed: int, slower: float = 1.0, route: float = 1.0) -> Iterator[Judged]:
    """Yield comparisons in which the candidate's work, or that of one of 20 routes, takes so much longer."""
    rng = np.random.default_rng(seed)
    for first in range(0, number, BATCH):
        (at, *sides), routes = runs_of(cell, min(BATCH, number - first), rng, slower, route)
        for run, times in enumerate(at):
            yield Judged(times, [side[run] for side in sides], routes[run])


def estimates(cell: Cell, number: int, seed: int, slower: float = 1.0) -> list[Estimated]:
    """Return the changes of all requests, of one duet or of several pairs of runs each."""
    found = [each.whole for each in judged(cell, number * max(cell.pairs, 1), seed, slower)]
    if not cell.pairs:
        return [each.estimate for each in found]
    changes = [each.change() for each in found]
    several = [combined(changes[at : at + cell.pairs]) for at in range(0, len(changes), cell.pairs)]
    return [each.estimate for each in several if each]


def one_run(cell: Cell, number: int, seed: int, slower: float) -> float:
    """Return what a single duet as long as all these together estimates, which has next to no chance in it.

    The mean of the estimates is another figure where the distribution of them is skewed.
    """
    found = (each.pairs.drop("route") for each in judged(cell, number, seed, slower))
    shifted = [pairs.with_columns(pl.col("scheduled") + place * cell.seconds) for place, pairs in enumerate(found)]
    whole = typical_change(pl.concat(shifted))
    assert whole
    return whole.estimate.value


def different(found: Estimated, tolerance: float) -> bool:
    """Whether the verdict is slower or faster."""
    return found.p <= _DOUBT and abs(math.expm1(found.value)) > tolerance


def runs_of(
    cell: Cell, runs: int, rng: np.random.Generator, slower: float = 1.0, route: float = 1.0
) -> tuple[list[Floats], Ints]:
    """(runs, requests) the times, the responses of each target, and the routes."""
    at = cell.times(runs, rng)
    work = cell.work(at, rng)
    routes = rng.choice(ROUTES, at.shape, p=_SHARES)
    sides = [at]
    for side in range(3 if cell.noise else 2):
        own = cell.own(work, at, rng)
        if cell.pairs:
            own *= rng.lognormal(0, 0.03, (runs, 1))
        if side == 1:
            own *= slower * np.exp(cell.drift * (at / cell.seconds - 0.5)) * (1 + 0.5 * (at < cell.cold_s))
            own *= np.where(routes == int(_SLOW), route, 1.0)
        response = responses(at, own, WORKERS)
        sides.append(response + _held(at, rng) if cell.pauses and side == 1 else response)
    return sides, routes


def _held(at: Floats, rng: np.random.Generator) -> Floats:
    """(runs, requests) seconds that each request waits for the end of a pause."""
    begins = (np.cumsum(rng.exponential(_PAUSES_EVERY_S, int(3 + times[-1] / 3))) for times in at)
    return np.array([held(times, begun, _PAUSE_S) for times, begun in zip(at, begins, strict=True)])


def table(runs: int, seed: int) -> str:
    """The table of duets and of pairs of runs, in Markdown."""
    lines = [
        "| machine | equal called different | 5 % found | 10 % found | interval holds 10 % "
        "| equal: a percentile | equal: a route | route of 7 % by 20 % |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    return "\n".join([*lines, *(line(cell, runs, seed + 10 * place) for place, cell in enumerate(CELLS))])


def line(cell: Cell, runs: int, seed: int) -> str:
    """One row of the table."""
    tolerance = TOLERANCE if cell.pairs else AT_ONCE_TOLERANCE
    equal, five, ten = (estimates(cell, runs, seed + at, slower) for at, slower in enumerate(_SLOWER))
    truth = float(np.mean([each.value for each in ten])) if cell.pairs else one_run(cell, runs, seed + 2, _SLOWER[-1])
    figures = [
        _share([different(each, tolerance) for each in equal]),
        *(_share([each.value > 0 and different(each, tolerance) for each in found]) for found in (five, ten)),
        _share([_holds(each, truth) for each in ten]),
    ]
    if cell.pairs:
        return f"| {cell.name} | {' | '.join(figures)} | | | |"
    rows = [(each.quantiles, each.routes) for each in judged(cell, runs, seed)]
    named = [each.routes.get(_SLOW) for each in judged(cell, runs, seed + 3, route=1.2)]
    figures += [
        *(_share([any_differs(each[of].values(), tolerance) for each in rows]) for of in (0, 1)),
        _share([change is not None and change.verdict(tolerance) == "slower" for change in named]),
    ]
    return f"| {cell.name} | {' | '.join(figures)} |"


def _holds(found: Estimated, truth: float) -> bool:
    if isinstance(found, TypicalValue):  # as its interval does
        return found.probability(truth) > _DOUBT
    low, high = found.ends()
    return low <= truth <= high


def _share(values: Sequence[bool]) -> str:
    return f"{np.mean(values):.1%}"


def result(tables: Sequence[Table]) -> str:
    """How often equal versions are called different: of all rows and columns, with and without a slow wander."""
    (machines,) = tables
    names = {cell.name.replace("`", ""): cell for cell in CELLS}
    slow = [name for name, cell in names.items() if cell.apart[0] and cell.apart[1] > cell.seconds / _SLOW_WANDER]
    quick = where(machines, "machine", *(name for name in names if name not in slow))
    still = where(machines, "machine", *(name for name, cell in names.items() if not cell.apart[0]))
    slowly = where(machines, "machine", *slow)
    whole, *parts = (
        [max(numbers(rows, column)) for rows in (quick, slowly)]
        for column in ("equal called different", "equal: a percentile", "equal: a route")
    )
    part = [max(values) for values in zip(*parts, strict=True)]
    return (
        f"False alarms: up to {whole[0]:g} %, by a percentile or route {part[0]:g} %; with a slow "
        f"wander {whole[1]:g} % and {part[1]:g} %. 10 % found: {span(numbers(still, '10 % found'))} "
        "where machines do not wander apart"
    )
