"""How often the bracket of `capacity` holds the rate that one machine carries within a bound.

Sweeps against simulated servers with one queue and random arrivals, of which the rate at which a percentile reaches a
bound is known (Erlang 1917).
"""

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import polars as pl

import simulate
from accuracy._tables import Table, numbers, span
from accuracy.intervals import FIGURES, figure
from logreplay.analysis.input import arrays
from logreplay.analysis.tables.step_intervals import with_intervals
from logreplay.analysis.verdict import saturation, stability
from logreplay.analysis.verdict.capacity import capacity
from simulate import SimulatedQueue

RUNS: Final = 300
LENGTHS: Final = ((10, 1), (20, 1), (30, 1), (10, 3))
"""Seconds of a step, and runs of the sweep."""
OVER: Final = 1.05


def brackets(seconds: int, runs: int, seed: int, pooled: int) -> Iterator[tuple[float, float, float, float]]:
    """Lower end, likely rate, upper end (infinite if there is none) and truth of each sweep that has an answer."""
    for run in range(seed, seed + runs):
        rng = np.random.default_rng([13, seconds, run, pooled])
        workers, limit = int(rng.choice([1, 2, 4, 8, 16])), float(np.exp(rng.uniform(np.log(60), np.log(600))))
        queue = SimulatedQueue(workers, workers / limit, base_s=float(rng.choice([0, 0, 0.5])) * workers / limit)
        rates = np.linspace(limit * rng.uniform(0.1, 0.3), limit * rng.uniform(1.1, 1.4), int(rng.integers(8, 20)))
        name, truth = FIGURES[run % len(FIGURES)], limit * rng.uniform(0.4, 0.92)
        found = [swept(queue, rates.tolist(), seconds, rng) for _ in range(pooled)]
        steps, limits = pl.concat([each for each, _ in found]), [rate for _, rate in found if rate]
        within = figure(queue, truth, name)
        said = capacity(steps, tps=1000, within=within, percentile=name, saturation=limits, runs=pooled)
        if said.low is not None and said.likely is not None:
            yield said.low, said.likely, math.inf if said.high is None else said.high, truth


def swept(
    queue: SimulatedQueue, rates: list[float], seconds: int, rng: np.random.Generator
) -> tuple[pl.DataFrame, float | None]:
    """The steps of a sweep, and its saturation."""
    arrivals = simulate.sweep(rates, seconds, rng, pause_s=2.0)
    steps = stability.judged_steps(arrays.read(simulate.serve(arrivals, queue, rng, timeout_s=10)))
    limit = saturation.judge(steps).saturation.rate
    return with_intervals(steps, limit), limit


def table(runs: int, seed: int) -> str:
    """A row for each length of a step."""
    lines = [
        f"| steps of {runs} sweeps | answered | lower end over by > 5 % | bracket holds | lower end, likely, median "
        "| likely, 5 … 95 % |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for seconds, pooled in LENGTHS:
        found = np.array(list(brackets(seconds, -(-runs // pooled), seed, pooled)))
        low, likely, high, truth = found.T
        off = 100 * (likely / truth - 1)
        name = f"{seconds} s" + f", {pooled} runs pooled" * (pooled > 1)
        lines.append(
            f"| {name} | {len(found)} | {100 * np.mean(low > OVER * truth):.1f} % | "
            f"{100 * np.mean((low <= truth) & (truth <= high)):.0f} % | {100 * np.median(low / truth - 1):+.0f} %, "
            f"{np.median(off):+.0f} % | {np.quantile(off, 0.05):+.0f} … {np.quantile(off, 0.95):+.0f} % |"
        )
    return "\n".join(lines)


def result(tables: Sequence[Table]) -> str:
    """How often the lower end promises too much, and how often the bracket holds."""
    (sweeps,) = tables
    return (
        f"Lower end more than 5 % too high: {span(numbers(sweeps, 'lower end over by > 5 %'))}; "
        f"bracket holds: {span(numbers(sweeps, 'bracket holds'))}"
    )
