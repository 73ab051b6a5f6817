"""How often the range of a route's cost holds it, in simulated sweeps with ``--routes``; and what is refused."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from accuracy._tables import Table, numbers, span
from logreplay.analysis.costs.readings import StepReadings
from logreplay.analysis.costs.route_costs import described
from support.simulated_costs import designed

RUNS: Final = 300
_SECONDS: Final = (10, 24)
"""Seconds of a step."""


def _drawn(chance: np.random.Generator, number: int) -> tuple[list[float], list[float]]:
    """Costs and rates of as many routes: together 0.3 to 0.7 of a core, each from a tenth of this."""
    shares = chance.dirichlet(np.full(number, 2.0))
    parts = np.maximum(chance.dirichlet(np.full(number, 3.0)), 0.05)
    rates = parts / parts.sum() * np.exp(chance.uniform(np.log(40), np.log(400)))
    return (chance.uniform(0.3, 0.7) * np.maximum(shares, 0.03) / rates).tolist(), rates.tolist()


def _together(chance: np.random.Generator, number: int, seconds: int) -> list[StepReadings]:
    """A sweep that leaves out the last two routes only together."""
    costs, rates = _drawn(chance, number)
    without = [*((place,) for place in range(number - 2)), (number - 2, number - 1)]
    return designed(chance, costs, rates, without=without, seconds=seconds)


def _constant(chance: np.random.Generator, number: int, seconds: int) -> list[StepReadings]:
    """A sweep whose steps all have the same mix."""
    costs, rates = _drawn(chance, number)
    return designed(chance, costs, rates, without=[()] * number, seconds=seconds)


def table(runs: int, seed: int) -> str:
    """Two tables: ranges by length of a step and number of routes; refusals."""
    lines = [
        f"| routes, of {runs} sweeps | known | range holds the cost | off, median | off, 90 % within |",
        "|---|--:|--:|--:|--:|",
    ]
    for seconds in _SECONDS:
        for number in (3, 5):
            known, held, off = _ranges(runs, seed, seconds, number)
            lines.append(
                f"| {number} routes, steps of {seconds} s | {100 * known:.0f} % | {100 * held:.0f} % | "
                f"{100 * np.median(off):.0f} % | {100 * np.quantile(off, 0.9):.0f} % |"
            )
    lines += ["", f"| of {runs} sweeps of four routes | the two are one row | refused |", "|---|--:|--:|"]
    for name, make in (("two routes left out together only", _together), ("the same mix in each step", _constant)):
        together, refused = _refusals(make, runs, seed)
        lines.append(f"| {name} | {100 * together:.0f} % | {100 * refused:.0f} % |")
    return "\n".join(lines)


def result(tables: Sequence[Table]) -> str:
    """How often the range holds the cost, and what is refused."""
    ranges, refusals = tables
    return (
        f"Range holds: {span(numbers(ranges, 'range holds the cost'))} of the routes; "
        f"known: {span(numbers(ranges, 'known'))}, 90 % of these within "
        f"{span(numbers(ranges, 'off, 90 % within'))}. Routes that always come together are refused: "
        f"{span(numbers(refusals, 'refused'))}"
    )


def _ranges(runs: int, seed: int, seconds: int, number: int) -> tuple[float, float, Sequence[float]]:
    """Share of the routes whose cost is known, share of all whose range holds it, and how far known ones are off."""
    held, known, off = 0, 0, list[float]()
    for run in range(seed, seed + runs):
        chance = np.random.default_rng([33, run, seconds, number])
        costs, rates = _drawn(chance, number)
        steps = designed(chance, costs, rates, seconds=seconds, random=bool(run % 2))
        for row in described([str(place) for place in range(number)], steps, resource="cpu").routes:
            true = costs[int(row.route)] if row.route.isdecimal() else np.nan
            held += int(row.low <= true <= row.high)
            if not row.why_not:
                known += 1
                off.append(abs(row.seconds / true - 1))
    return known / runs / number, held / runs / number, off


def _refusals(
    make: "Callable[[np.random.Generator, int, int], list[StepReadings]]", runs: int, seed: int
) -> tuple[float, float]:
    """Share of the sweeps in which routes are one row, and in which none of these routes has a cost of its own."""
    together, refused = 0, 0
    for run in range(seed, seed + runs):
        rows = described(["0", "1", "2", "3"], make(np.random.default_rng([34, run]), 4, 24), resource="cpu").routes
        together += any({"2", "3"} <= {*row.route.split(" + ")} for row in rows)
        refused += not any(row.route in ("2", "3") and not row.why_not for row in rows)
    return together / runs, refused / runs
