"""How often the printed intervals of a step, and the ranges of a sweep, hold the truth.

Sweeps against simulated servers with one queue and random arrivals, of which the capacity, every percentile and the
mean are known (Erlang 1917).
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

import simulate
from accuracy._tables import Table, pairs
from logreplay.analysis.analyze import analyse
from logreplay.analysis.verdict import saturation, saturation_sentences
from simulate import SimulatedQueue

RUNS: Final = 300
LOADS: Final = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Shares of the capacity, of the steps that are looked at; two steps above the capacity follow."""
LENGTHS: Final = (10, 20, 60)
"""Seconds of a step."""
WORKERS: Final = (1, 2, 4, 8)
CAPACITY: Final = 250.0
NAMES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
FIGURES: Final = (*NAMES, "mean")


def waiting(queue: SimulatedQueue, rate: float) -> float:
    """Share of the requests that wait, in the long run (Erlang's C)."""
    blocked = 1.0
    for worker in range(1, queue.workers + 1):
        blocked = rate * queue.service_s * blocked / (worker + rate * queue.service_s * blocked)
    return blocked / (1 - rate / queue.capacity * (1 - blocked))


def quantile(queue: SimulatedQueue, rate: float, p: float) -> float:
    """Return a percentile of the response time in the long run, seconds; service times are exponential."""
    mu, spare, wait = 1 / queue.service_s, queue.capacity - rate, waiting(queue, rate)
    spare = spare if abs(spare - mu) > 1e-6 * mu else spare * (1 + 1e-5)

    def later(seconds: float) -> float:
        served = math.exp(-mu * seconds)
        return (1 - wait) * served + wait * (spare * served - mu * math.exp(-spare * seconds)) / (spare - mu)

    low, high = 0.0, 100 / min(mu, spare)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if later(middle) > 1 - p else (low, middle)
    return queue.base_s + low


def figure(queue: SimulatedQueue, rate: float, name: str) -> float:
    """Return a percentile or the mean of the response time in the long run, seconds."""
    if name == "mean":
        return queue.base_s + queue.service_s + waiting(queue, rate) / (queue.capacity - rate)
    return quantile(queue, rate, NAMES[name])


def onset(queue: SimulatedQueue, lowest: float) -> float:
    """Return the rate at which p90 is twice that at the lowest rate."""
    low, high, limit = lowest, queue.capacity * (1 - 1e-9), saturation.TWICE * quantile(queue, lowest, 0.9)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if quantile(queue, middle, 0.9) < limit else (low, middle)
    return low


def ranges(runs: int, seed: int) -> Iterator[tuple[str, bool]]:
    """Sweep servers of random capacity, and say of each onset and saturation whether its range holds the truth."""
    for run in range(seed, seed + runs):
        rng = np.random.default_rng([7, run])
        workers, capacity = int(rng.choice([1, 2, 4, 8, 16, 32])), float(np.exp(rng.uniform(np.log(100), np.log(500))))
        base = float(rng.choice([0.0, 0.0, 0.2, 0.5])) * workers / capacity
        queue = SimulatedQueue(workers, workers / capacity, "exponential", base)
        rates = np.linspace(
            capacity * rng.uniform(0.05, 0.2), capacity * rng.uniform(0.8, 1.4), int(rng.integers(8, 25))
        )
        arrivals = simulate.sweep(rates.tolist(), float(rng.choice([10, 20, 30])), rng, pause_s=2.0)
        said = analyse(simulate.serve(arrivals, queue, rng)).verdict
        usable = said.steps.filter(said.steps["scheduled"] >= saturation_sentences.FEWEST_REQUESTS)
        lowest = float(usable["rate"].min() or 0.0)  # type: ignore[arg-type]
        for name, found, truth in (
            ("onset", said.onset, onset(queue, lowest)),
            ("saturation", said.saturation, capacity),
        ):
            if found.low is not None and found.high is not None:
                yield name, found.low <= truth <= found.high


def intervals(seconds: int, runs: int, seed: int) -> Iterator[tuple[float, str, bool | None]]:
    """Say of each figure of each step whether its interval holds the truth; None: none is printed."""
    for run in range(seed, seed + runs):
        rng, workers = np.random.default_rng([9, seconds, run]), WORKERS[run % len(WORKERS)]
        queue = SimulatedQueue(workers, workers / CAPACITY)
        rates = [load * CAPACITY for load in (*LOADS, 1.15, 1.3)]
        rows = simulate.serve(simulate.sweep(rates, seconds, rng, pause_s=2.0), queue, rng, timeout_s=8)
        steps = analyse(rows).steps
        for step, load in enumerate(LOADS):
            for name in FIGURES:
                expected = figure(queue, load * CAPACITY, name)
                low, high = (steps[f"{name}_{end}"][step] for end in ("low", "high"))
                yield load, name, None if low is None else low <= expected <= high


def cell(held: list[bool | None]) -> str:
    """How often it is printed, and how often it holds then."""
    printed = [each for each in held if each is not None]
    return f"{len(printed)} / {100 * np.mean(printed):.0f} %" if printed else "–"


def table(runs: int, seed: int) -> str:
    """Two tables: intervals of a step by load and length, and ranges of a sweep."""
    lines = [
        f"| of {runs} steps printed / hold | {' | '.join(f'{load:.0%}'.replace('%', ' %') for load in LOADS)} |",
        f"|---|{'--:|' * len(LOADS)}",
    ]
    for seconds in LENGTHS:
        found = defaultdict(list)
        for load, name, held in intervals(seconds, runs, seed):
            found[name, load].append(held)
        for name in dict.fromkeys(name for name, _ in found):
            cells = " | ".join(cell(found[name, load]) for load in LOADS)
            lines.append(f"| {name}, {seconds} s | {cells} |")
    lines += ["", "| range of a sweep | printed | holds the truth |", "|---|--:|--:|"]
    held_by = list(ranges(runs, seed))
    for name in ("onset", "saturation"):
        those = [each for which, each in held_by if which == name]
        lines.append(f"| {name} | {len(those)} of {runs} | {f'{np.mean(those):.0%}' if those else '–'} |")
    return "\n".join(lines)


def result(tables: Sequence[Table]) -> str:
    """How many printed intervals and ranges hold."""
    steps, sweeps = tables
    found = [pair for column in list(steps[0])[1:] for pair in pairs(steps, column)]
    printed = sum(number for number, _ in found)
    held = sum(number * share for number, share in found) / printed
    onset, saturation_ = (row["holds the truth"] + " of " + row["printed"].split()[0] for row in sweeps)
    return (
        f"{held:.0f} % of {printed:,.0f} printed intervals hold; the range of the onset in {onset} sweeps, that of "
        f"saturation in {saturation_}"
    )
