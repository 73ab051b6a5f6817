"""Measures how often printed ranges hold the truth: ``python tools/range_rehearsal.py [RUNS]``.

Sweeps against simulated servers with one queue and random arrivals, of which the capacity and every percentile are
known (Erlang 1917). The table in docs/analysis.md comes from this module.
"""

import math
import sys
from collections.abc import Iterator

import click
import numpy as np

import simulate
from logreplay.analysis.input import arrays
from logreplay.analysis.verdict import saturation, stability
from simulate import SimulatedQueue


def quantile(queue: SimulatedQueue, rate: float, p: float) -> float:
    """Return a percentile of the response time in the long run, seconds; service times are exponential."""
    mu, spare = 1 / queue.service_s, queue.capacity - rate
    blocked = 1.0  # Erlang's B, then C: the share of requests that wait
    for worker in range(1, queue.workers + 1):
        blocked = rate / mu * blocked / (worker + rate / mu * blocked)
    wait = blocked / (1 - rate / queue.capacity * (1 - blocked))
    spare = spare if abs(spare - mu) > 1e-6 * mu else spare * (1 + 1e-5)

    def later(seconds: float) -> float:
        served = math.exp(-mu * seconds)
        return (1 - wait) * served + wait * (spare * served - mu * math.exp(-spare * seconds)) / (spare - mu)

    low, high = 0.0, 100 / min(mu, spare)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if later(middle) > 1 - p else (low, middle)
    return queue.base_s + low


def onset(queue: SimulatedQueue, lowest: float) -> float:
    """Return the rate at which p90 is twice that at the lowest rate."""
    low, high, limit = lowest, queue.capacity * (1 - 1e-9), saturation.TWICE * quantile(queue, lowest, 0.9)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if quantile(queue, middle, 0.9) < limit else (low, middle)
    return low


def bends(runs: int) -> Iterator[tuple[str, bool]]:
    """Sweep servers of random capacity, and say of each onset and saturation whether its range holds the truth."""
    for seed in range(runs):
        rng = np.random.default_rng([7, seed])
        workers, capacity = int(rng.choice([1, 2, 4, 8, 16, 32])), float(np.exp(rng.uniform(np.log(100), np.log(500))))
        base = float(rng.choice([0.0, 0.0, 0.2, 0.5])) * workers / capacity
        queue = SimulatedQueue(workers, workers / capacity, "exponential", base)
        rates = np.linspace(
            capacity * rng.uniform(0.05, 0.2), capacity * rng.uniform(0.8, 1.4), int(rng.integers(8, 25))
        )
        arrivals = simulate.sweep(rates.tolist(), float(rng.choice([10, 20, 30])), rng, pause_s=2.0)
        said = saturation.judge(stability.judged_steps(arrays.read(simulate.serve(arrivals, queue, rng))))
        usable = said.steps.filter(said.steps["scheduled"] >= saturation.FEWEST_REQUESTS)
        lowest = float(usable["rate"].min() or 0.0)  # type: ignore[arg-type]
        for name, bend, truth in (
            ("onset", said.onset, onset(queue, lowest)),
            ("saturation", said.saturation, capacity),
        ):
            if bend.low is not None and bend.high is not None:
                yield name, bend.low <= truth <= bend.high


def percentiles(load: float, runs: int, seconds: float = 30) -> Iterator[tuple[str, bool]]:
    """Say of p99 at a share of the capacity whether its interval from one step, and from three, holds the truth."""
    queue = SimulatedQueue(4, 0.016)
    truth = quantile(queue, load * queue.capacity, 0.99)
    for seed in range(runs):
        rng = np.random.default_rng([9, seed])
        for name, steps in (("one step", 1), ("three steps", 3)):
            arrivals = simulate.sweep([load * queue.capacity] * steps, seconds, rng, pause_s=2.0)
            table = stability.judged_steps(arrays.read(simulate.serve(arrivals, queue, rng)))
            low, high = table["p99_low"].drop_nulls(), table["p99_high"].drop_nulls()
            if len(low) == steps:
                yield name, low[0] <= truth <= high[0]


def main(runs: int) -> None:
    """Print the table."""
    click.echo("| range | printed | holds the truth |\n|---|--:|--:|")
    found = list(bends(runs))
    rows = [(f"{name} of a sweep", [held for each, held in found if each == name]) for name in ("onset", "saturation")]
    for load in (0.3, 0.5, 0.7, 0.8, 0.9):
        seen = list(percentiles(load, runs))
        rows += [
            (f"p99 at {load:.0%} of the capacity, {name}", [held for each, held in seen if each == name])
            for name in ("one step", "three steps")
        ]
    for name, held in rows:
        share = f"{np.mean(held):.0%}" if held else "–"
        click.echo(f"| {name} | {len(held)} of {runs} | {share} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
