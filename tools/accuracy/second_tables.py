"""The part ``second_tables`` of the page: verdicts on per-second tables that others made.

Each table is a sweep against a simulated server of known capacity, with what such tables have: steps of any length that
nothing names and that begin in mid-second, arrivals of any kind, stragglers after the end, means only, counts that are
one too low, a client that gives up.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from accuracy import _tables
from logreplay.analysis.statistics.quantiles import Floats
from logreplay.analysis.verdict import per_second, saturation
from logreplay.analysis.verdict.saturation import SaturationVerdict
from simulate import Law, SimulatedQueue, service_times, waits

RUNS: Final = 200
Kind = Literal["saturating", "below", "barely"]
KINDS: Final[tuple[Kind, ...]] = ("saturating", "below", "barely")
LENGTHS: Final = (3, 5, 7, 10, 15, 20, 30)
LAWS: Final[tuple[Law, ...]] = ("fixed", "exponential", "exponential", "lognormal")
WORKERS: Final = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class Table:
    """A per-second table, and the truth about the server behind it.

    Attributes:
        kind: ``saturating``: most rates are below the capacity and some well above; ``below``: all are at most 90 % of
            it; ``barely``: the last one is 1 to 2 % above, with even arrivals.
        capacity: requests/s of the server.
        rates: of the steps.
        seconds: the table: ``second``, ``offered``, ``errors``, ``mean``.
        traits: what is special about it.
    """

    kind: Kind
    capacity: float
    rates: Floats
    seconds: pl.DataFrame
    traits: tuple[str, ...]

    def is_right(self, said: SaturationVerdict) -> bool:
        """Whether a verdict holds: none below capacity; else a range with the capacity, and a rate within a step."""
        if self.kind == "below":
            return not said.saturation.found
        found, step = said.saturation, float(np.diff(self.rates).max())
        if found.rate is None or found.low is None or found.high is None:
            return False
        near = abs(found.rate - self.capacity) <= max(0.1 * self.capacity, step)
        return near and found.low <= self.capacity <= found.high


def make(kind: Kind, seed: int) -> Table:
    """Simulate a sweep and tabulate it."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    capacity = float(np.exp(rng.uniform(np.log(60), np.log(800))))
    workers = int(rng.choice(WORKERS))
    even_service = kind == "barely"
    law: Law = "fixed" if even_service else LAWS[int(rng.integers(len(LAWS)))]
    queue = SimulatedQueue(workers, workers / capacity, law, base_s=float(rng.uniform(0.001, 0.05)))
    if kind == "barely":  # the response time must have time to rise by its own length, twice: 10 s at 1 % are 0.1 s
        workers = int(rng.choice(WORKERS[: 2 if capacity < 250 else 4]))
        queue = SimulatedQueue(workers, workers / capacity, law, base_s=float(rng.uniform(0.001, 0.01)))
    rates = _rates(kind, capacity, rng)
    regular = rng.random() < 0.7
    length = int(rng.choice(LENGTHS if kind != "barely" else LENGTHS[3:]))
    lengths = np.full(len(rates), float(length)) if regular else rng.uniform(4, 40, len(rates))
    if kind == "barely":
        lengths = np.maximum(lengths, 10)
    arriving = "even" if kind == "barely" else str(rng.choice(["poisson", "even", "periodic"]))
    pause = float(rng.choice([0, 0, 0, 0, rng.uniform(2, 5)]))
    traits = [f"{length} s" if regular else "irregular", arriving, law, f"{workers} workers"]
    if pause:
        traits.append("pauses")
    scheduled = _arrivals(rates, lengths, pause, arriving, rng)
    service = service_times(queue, len(scheduled), rng)
    latency = queue.base_s + waits(scheduled, service, workers) + service
    errors = np.zeros(len(scheduled), np.bool_)
    if kind == "saturating" and rng.random() < 0.3:
        patience = max(float(rng.choice([0.3, 0.5, 1, 2, 5])), 10 * (queue.base_s + queue.service_s))
        gave_up, latency = latency > patience, np.minimum(latency, patience)
        counted = rng.random() < 0.5
        errors |= gave_up & counted
        traits.append(f"gives up after {patience:.2g} s" + ", counted" * counted)
    if rng.random() < 0.3:
        tail = scheduled[-1] + np.sort(rng.uniform(0, rng.uniform(4, 15), int(rng.integers(5, 25))))
        scheduled = np.concatenate([scheduled, tail])
        latency = np.concatenate([latency, rng.uniform(1, 30, len(tail))])
        errors = np.concatenate([errors, np.zeros(len(tail), np.bool_)])
        traits.append("stragglers")
    if rng.random() < 0.1:
        stall = rng.uniform(0.2, 0.8) * scheduled[-1]
        scheduled = np.where((scheduled > stall) & (scheduled < stall + 0.7), stall + 0.7, scheduled)
        traits.append("generator hiccup")
    off_by_one = rng.random() < 0.3
    if off_by_one:
        traits.append("off by one")
    return Table(kind, capacity, rates, _tabulated(scheduled, latency, errors, off_by_one=off_by_one), tuple(traits))


def _rates(kind: Kind, capacity: float, rng: np.random.Generator) -> Floats:
    number = int(rng.integers(8, 30))
    first = capacity * rng.uniform(0.05, 0.3)
    last = capacity * {"saturating": rng.uniform(1.15, 1.8), "below": rng.uniform(0.5, 0.9)}.get(kind, 1.0)
    rates = np.linspace(first, last, number)
    if kind == "barely":
        rates = np.append(np.linspace(first, 0.95 * capacity, number), capacity * rng.uniform(1.01, 1.02))
    return rates


def _arrivals(rates: Floats, lengths: Floats, pause: float, arriving: str, rng: np.random.Generator) -> Floats:
    """Send times, seconds; the first step begins in mid-second."""
    start, times = rng.uniform(0, 1), []
    for rate, length in zip(rates.tolist(), lengths.tolist(), strict=True):
        if arriving == "poisson":
            within = np.sort(rng.uniform(0, length, rng.poisson(rate * length)))
        elif arriving == "even":
            within = (np.arange(int(rate * length)) + 0.5) / rate
        else:  # each second the same pattern, as Play-it-Again-Sam sends
            pattern = np.sort(rng.uniform(0, 1, round(rate)))
            within = (np.arange(np.ceil(length))[:, None] + pattern).ravel()
            within = within[within < length]
        times.append(start + within)
        start += length + pause
    return np.concatenate(times)


def _tabulated(scheduled: Floats, latency: Floats, errors: npt.NDArray[np.bool_], *, off_by_one: bool) -> pl.DataFrame:
    second = scheduled.astype(np.int64)
    counts = np.bincount(second)
    total = np.bincount(second, latency)
    shown = np.maximum(counts - 1, 0) if off_by_one else counts
    mean = np.divide(total, shown, out=np.full(len(counts), np.nan), where=shown > 0)
    failed = np.bincount(second, errors).astype(np.int64)
    table = {"second": np.arange(len(counts)), "offered": shown, "errors": np.minimum(failed, shown), "mean": mean}
    return pl.DataFrame(table).with_columns(pl.col("mean").fill_nan(None))


def verdict(table: Table) -> SaturationVerdict:
    """What logreplay says of a table."""
    return saturation.judge(per_second.judged_seconds(table.seconds))


def table(runs: int, seed: int) -> str:
    """How often verdicts on tables of each kind are right."""
    rows = ["| tables | right | range holds the capacity | found |", "|---|--:|--:|--:|"]
    for kind in KINDS:
        count: Counter[str] = Counter()
        for made in (make(kind, each) for each in range(seed, seed + runs)):
            said = verdict(made)
            found = said.saturation
            count["right"] += made.is_right(said)
            count["found"] += found.found
            if found.low is not None and found.high is not None:
                count["held"] += found.low <= made.capacity <= found.high
        rows.append(f"| {kind} | {count['right']} of {runs} | {count['held']} | {count['found']} |")
    return "\n".join(rows)


def result(tables: Sequence[_tables.Table]) -> str:
    """How many verdicts are right."""
    (kinds,) = tables
    right, number = _tables.totals(kinds, "right")
    below = _tables.where(kinds, "tables", "below")
    return f"{right} of {number} verdicts are right; invented: {below[0]['found']}"
