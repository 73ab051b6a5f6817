"""The part ``swap`` of the page: duets in which both versions run on both machines, and two pairs take turns.

Each machine has four workers. All requests of a time go to the version whose turn it is there; the work of a request is
log-normal and differs by 10 % between the machines. The machines wander each by itself or alike; one of them is slower,
pauses, drifts, or becomes slower half-way. Beside stands what a duet without turns says of the same machines.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from accuracy._tables import Table, numbers, span
from accuracy._two_machines import BATCH, WORKERS, TwoMachines, any_differs, held
from logreplay.analysis.statistics.quantiles import Floats
from logreplay.analysis.verdict.ratio_interval import (
    AT_ONCE_TOLERANCE,
    SECOND_PAIR,
    Change,
    ratio_changes,
    together,
    typical_change,
)
from logreplay.core.record import SWAP_TURN
from logreplay.replay.requests.combine import Swap
from simulate import responses

RUNS: Final = 400
_SLOWER: Final = (1.0, 1.03, 1.1)


@dataclass(frozen=True, slots=True)
class Cell(TwoMachines):
    """What one of the machines does, or both.

    Attributes:
        slow: work on the second machine, as a multiple of that on the first.
        drift: change of the speed of the second machine from the beginning to the end.
        late: work on the second machine in the second half of the duet.
        pause_s, every_s: the second machine stops for so long, so often on average.
        clockwork: these stops come at even distances.
        turn_s: seconds of a turn.
    """

    slow: float = 1.0
    drift: float = 0.0
    late: float = 1.0
    pause_s: float = 0.0
    every_s: float = 7.0
    clockwork: bool = False
    turn_s: float = 2.0


CELLS: Final = (
    Cell("calm"),
    Cell("calm, 80 % load", load=0.8),
    Cell("calm, 24 s", 24),
    Cell("one slower by 10 %", slow=1.1),
    Cell("one slower by 10 %, drifts by 10 % and pauses", slow=1.1, drift=0.1, pause_s=0.15),
    Cell("common wander, 6 % over 8 s", common=(0.06, 8)),
    *(Cell(f"wander of each, 6 % over {time} s", apart=(0.06, time)) for time in (1, 8, 30)),
    Cell("wander of each, 6 % over 8 s, 240 s, turns of 10 s", 240, apart=(0.06, 8), turn_s=10),
    Cell("pauses of one, 150 ms every 7 s or so", pause_s=0.15),
    Cell("pauses of one, 600 ms every 4 s", pause_s=0.6, every_s=4, clockwork=True),
    Cell("drift of one, 10 %", drift=0.1),
    Cell("one slower by 30 % in the second half", late=1.3),
)


def judged(
    cell: Cell, number: int, seed: int, slower: float, *, swap: bool = True, percentiles: bool = False
) -> Iterator[list[Change]]:
    """Yield the changes of duets in which the candidate's work takes so much longer: of all, and of percentiles."""
    rng = np.random.default_rng(seed)
    for first in range(0, number, BATCH):
        at, sides, turns, second = _duets(cell, min(BATCH, number - first), rng, slower, swap=swap)
        for run, times in enumerate(at):
            more = {SWAP_TURN: turns[run], SECOND_PAIR: second[run]} if swap else {}
            old, new = (side[run] for side in sides)
            change = typical_change(pl.DataFrame({"scheduled": times, "log": np.log(new / old), **more}))
            tables = [pl.DataFrame({"scheduled": times, "response": side, **more}) for side in (old, new)]
            assert change
            yield [change.change(), *(together(ratio_changes(tables)).values() if percentiles else ())]


def _duets(
    cell: Cell, runs: int, rng: np.random.Generator, slower: float, *, swap: bool
) -> tuple[Floats, list[Floats], Floats, Floats]:
    """(runs, requests) times; responses of baseline and candidate; turns, and whether they are of the second pair."""
    at = cell.times(runs, rng)
    drawn = [Swap(cell.turn_s, seed=int(rng.integers(1 << 62))) for _ in range(runs)]
    turns = np.array([each.turns((times * 1e9).astype(np.int64)) for each, times in zip(drawn, at, strict=True)])
    second = np.array([each.second(own) & swap for each, own in zip(drawn, turns, strict=True)])
    work = cell.work(at, rng)
    machines = []
    for machine in range(2):
        own = cell.own(work, at, rng)
        own *= np.where(second == (machine == 0), slower, 1.0)  # the candidate: on machine 1, in other turns on 0
        if machine == 1:
            own *= cell.slow * np.exp(cell.drift * at / cell.seconds)
            own *= np.where(at > cell.seconds / 2, cell.late, 1.0)
        response = responses(at, own, WORKERS)
        machines.append(response + _held(cell, at, rng) if cell.pause_s and machine == 1 else response)
    old, new = (np.where(second, machines[1 - side], machines[side]) for side in range(2))
    return at, [old, new], turns, second


def _held(cell: Cell, at: Floats, rng: np.random.Generator) -> Floats:
    """(runs, requests) seconds that each request waits for the end of a pause."""
    waits = np.zeros_like(at)
    for run, times in enumerate(at):
        many = int(3 + 2 * times[-1] / cell.every_s)
        gaps = np.full(many, cell.every_s) if cell.clockwork else rng.exponential(cell.every_s, many)
        waits[run] = held(times, np.cumsum(gaps) - rng.uniform(0, cell.every_s), cell.pause_s)
    return waits


def table(runs: int, seed: int) -> str:
    """The table of duets with turns, in Markdown."""
    lines = [
        "| machines | equal, without turns: called different | equal, with turns: called different "
        "| by a percentile | 3 % found | 10 % found | 10 %: interval holds the mean of the estimates |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    return "\n".join([*lines, *(line(cell, runs, seed + 10 * place) for place, cell in enumerate(CELLS))])


def line(cell: Cell, runs: int, seed: int) -> str:
    """One row of the table."""
    plain = [any_differs(found, AT_ONCE_TOLERANCE) for found in judged(cell, runs, seed, 1.0, swap=False)]
    equal, three, ten = (
        [*judged(cell, runs, seed + at, slower, percentiles=slower == 1)] for at, slower in enumerate(_SLOWER)
    )
    truth = float(np.exp(np.mean([math.log(found[0].ratio) for found in ten])))
    figures = [
        plain,
        [any_differs(found[:1], AT_ONCE_TOLERANCE) for found in equal],
        [any_differs(found[1:], AT_ONCE_TOLERANCE) for found in equal],
        *([found[0].verdict(AT_ONCE_TOLERANCE) == "slower" for found in each] for each in (three, ten)),
        [found[0].low <= truth <= found[0].high for found in ten],
    ]
    return f"| {cell.name} | {' | '.join(f'{np.mean(each):.1%}' for each in figures)} |"


def result(tables: Sequence[Table]) -> str:
    """How often equal versions are called different, with turns and without."""
    (machines,) = tables
    alarms = numbers(machines, "equal, with turns: called different") + numbers(machines, "by a percentile")
    return (
        f"False alarms: {span(alarms)} "
        f"(without turns: up to {max(numbers(machines, 'equal, without turns: called different')):g} %); "
        f"10 % found: {span(numbers(machines, '10 % found'))}"
    )
