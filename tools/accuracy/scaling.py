"""How often the values of the universal scalability law lie in their ranges, and what is refused, in simulations."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from accuracy._tables import Table, numbers, span
from logreplay.analysis.scaling.law import throughput
from logreplay.analysis.scaling.scale_out import ScaleOut, ScalingPoint, scale_out

RUNS: Final = 300
HEAD: Final = f"curve, of {RUNS}"
_NUMBERS: Final = ((1, 2, 4), (1, 2, 4, 8), (1, 2, 4, 8, 16))
_ERRORS: Final = (0.01, 0.03)
"""Relative standard errors of a point."""


def _measured(chance: np.random.Generator, among: tuple[int, ...], exact: np.ndarray, error: float) -> ScaleOut:
    rates = exact * np.exp(error * chance.standard_normal(len(among)))
    apart = float(np.exp(1.645 * error))
    points = [
        ScalingPoint(number, float(rate), float(rate) / apart, float(rate) * apart)
        for number, rate in zip(among, rates, strict=True)
    ]
    return scale_out(points, tps=1.2 * float(exact[-1]))


def table(runs: int, seed: int) -> str:
    """A row for each kind of curve, numbers and error."""
    lines = [
        f"| curve, of {runs} | law given | single in its range | contention in its range | coherency in its range "
        "| number given | number in its range |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for among in _NUMBERS:
        for error in _ERRORS:
            for kind in ("law", "straight line", "wall"):
                lines.append(_row(kind, among, error, runs, seed))
    return "\n".join(lines)


def _row(kind: str, among: tuple[int, ...], error: float, runs: int, seed: int) -> str:
    bent, held, given, right = 0, np.zeros(3), 0, 0
    count = np.array(among, np.float64)
    for run in range(seed, seed + runs):
        chance = np.random.default_rng([35, run, len(among), round(1000 * error)])
        law = np.array(
            [[chance.uniform(50, 500), chance.uniform(0.03, 0.3), chance.choice([0, 1]) * chance.uniform(0, 0.03)]]
        )
        exact = throughput(law, count)[0]
        if kind != "law":
            exact = law[0, 0] * count
        if kind == "wall":
            exact = np.minimum(exact, law[0, 0] * chance.uniform(1.2, 0.8 * among[-1]))
        found = _measured(chance, among, exact, error)
        if found.kind != "bent":
            continue
        bent += 1
        ranges = (
            (found.single_low, found.single_high), (found.contention_low, found.contention_high),
            (found.coherency_low, found.coherency_high),
        )  # fmt: skip
        held += [
            float(low or 0.0) <= true <= float(high or 0.0) for (low, high), true in zip(ranges, law[0], strict=True)
        ]
        if found.machines is None:
            continue
        given += 1
        enough = np.flatnonzero(throughput(law, np.arange(1.0, 200.0))[0] >= 1.2 * exact[-1])
        true = enough[0] + 1 if len(enough) else np.inf  # no number carries the load
        right += (found.machines_low or 0) <= true <= (found.machines_high or np.inf)
    name = f"{kind}, {', '.join(map(str, among))}, error {100 * error:g} %"
    values = " | ".join(f"{100 * share / bent:.0f} %" if kind == "law" and bent else "–" for share in held)
    inside = f"{100 * right / given:.0f} %" if kind == "law" and given else "–"
    return f"| {name} | {100 * bent / runs:.0f} % | {values} | {100 * given / runs:.0f} % | {inside} |"


def result(tables: Sequence[Table]) -> str:
    """How often the values lie in their ranges, and what else gets a law."""
    (curves,) = tables
    laws, lines, walls = (
        [row for row in curves if row[HEAD].startswith(kind)] for kind in ("law", "straight line", "wall")
    )
    values = [numbers(laws, f"{name} in its range") for name in ("single", "contention", "coherency")]
    return (
        f"Values in their range: {span([each for among in values for each in among])}; number of "
        f"machines, if given: {span(numbers(laws, 'number in its range'))}. Law given: "
        f"{span(numbers(lines, 'law given'))} of straight lines, {span(numbers(walls, 'law given'))} of walls"
    )
