"""The part ``saturation`` of the page: verdicts on sweeps of simulated systems, routes and constant failures."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from accuracy._tables import Table, numbers, totals
from logreplay.analysis.analyze import verdict_on
from logreplay.analysis.input import arrays
from logreplay.analysis.verdict.saturation import SaturationVerdict
from logreplay.analysis.verdict.stability import judged_steps
from support.simulated_systems import SWEEPS, SYSTEMS, Known, Random, Scored, Serve, queued, score
from support.unlike_systems import UNLIKE, bursting, failing_above, own_pool

RUNS: Final = 5
_LATER: Final = 19_000_000
"""Added to the page's seeds: rules were written with the results of its first seeds in view."""
_SHARES: Final = (0.1, 0.15, 0.3)
_PER_SHARE: Final = 4
"""Sweeps of a share for each run."""
_HEALTHY: Final = 20
_FAILING: Final = 10


def table(runs: int, seed: int) -> str:
    """How often verdicts are right, and one answer for each system."""
    seed += _LATER
    seeds = range(seed, seed + runs)
    lots = {"developed with the rules": SYSTEMS, "other systems": UNLIKE}
    scored = {name: [[score(system, each) for each in seeds] for system in lot] for name, lot in lots.items()}
    return "\n\n".join(
        "\n".join(rows)
        for rows in (_summary(scored), _routes(runs, seed), _failures(runs, seed), _systems(scored.values()))
    )


def holds(scored: Scored) -> bool | None:
    """Whether the printed range holds the capacity; None where there is no range, or no single capacity."""
    if scored.low is None or scored.high is None or not isinstance(scored.capacity, float | int):
        return None
    return scored.low <= scored.capacity <= scored.high


def _summary(scored: dict[str, list[list[Scored]]]) -> Iterator[str]:
    yield "| systems | kinds | verdicts | right | invented | ranges that hold the capacity | mean width |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for name, lot in scored.items():
        every = [each for system in lot for each in system]
        count = Counter(each.score for each in every)
        ranges = [(held, each) for each in every if (held := holds(each)) is not None]
        widths = [(each.high - each.low) / each.capacity for _, each in ranges]  # type: ignore[operator]
        yield (
            f"| {name} | {len(lot)} | {len(every)} | {count['right'] + count['refused']} | {count['invented']} | "
            f"{sum(held for held, _ in ranges)} of {len(ranges)} | {100 * sum(widths) / max(len(widths), 1):.0f} % |"
        )


def _verdict(serve: Serve, rng: Random, place: int) -> SaturationVerdict:
    sweep = SWEEPS[place % len(SWEEPS)]
    requests = arrays.read(serve(sweep.arrivals(rng), rng))
    return verdict_on(requests, judged_steps(requests))


def _routes(runs: int, seed: int) -> Iterator[str]:
    yield "| one route | sweeps | named |"
    yield "|---|--:|--:|"
    for share in _SHARES:
        named, number = 0, _PER_SHARE * runs
        for place in range(number):
            rng = np.random.default_rng([seed, place, int(100 * share)])
            serve = own_pool(share, float(rng.uniform(150, 300)), int(rng.integers(1, 7)))
            named += "/report" in _verdict(serve, rng, place).sentence
        yield f"| {100 * share:.0f} % of the requests have a pool of their own | {number} | {named} |"
    number, named = _HEALTHY * runs, 0
    for place in range(number):
        rng = np.random.default_rng([seed, place, 0])
        workers, capacity = int(rng.integers(1, 17)), float(rng.uniform(200, 500))
        named += "only on route" in _verdict(queued(workers, workers / capacity), rng, place).sentence
    yield f"| all routes share one queue | {number} | {named} |"


def _failures(runs: int, seed: int) -> Iterator[str]:
    yield "| constant failures | sweeps | called a limit |"
    yield "|---|--:|--:|"
    for share in (0.005, 0.01):
        for length in (1, 5, 20):
            number = _FAILING * runs
            called = _found(bursting(share, length, 480), number, [seed, length])
            how = "singly" if length == 1 else f"in bursts of {length}"
            yield f"| {100 * share:g} %, {how} | {number} | {called} |"
    number = _FAILING * runs
    called = _found(failing_above(0.01, 0.05, 200), number, [seed, 0])
    yield f"| 1 % singly, 5 % more above 200/s | {number} | {called} |"


def _found(serve: Serve, number: int, seeds: list[int]) -> int:
    """In how many sweeps a limit is found."""
    rngs = (np.random.default_rng([*seeds, place]) for place in range(number))
    return sum(_verdict(serve, rng, place).saturation.found for place, rng in enumerate(rngs))


def _systems(lots: Iterable[list[list[Scored]]]) -> Iterator[str]:
    yield "| system | capacity | one of the answers | right |"
    yield "|---|---|---|--:|"
    for scored in (system for lot in lots for system in lot):
        right = sum(each.score in ("right", "refused") for each in scored)
        first = scored[0]
        yield f"| {first.system.name} | {truth(first.capacity)} | {first.answer} | {right} |"


def truth(capacity: Known) -> str:
    """A capacity as text."""
    if capacity is None:
        return "none in the sweep"
    return f"{capacity[0]:g}–{capacity[1]:g}" if isinstance(capacity, tuple) else f"{capacity:.4g}"


def result(tables: Sequence[Table]) -> str:
    """How many verdicts are right, and how many invented."""
    systems, routes, failures, _ = tables
    right, verdicts, invented = (sum(numbers(systems, name)) for name in ("right", "verdicts", "invented"))
    held, ranges = totals(systems, "ranges that hold the capacity")
    own, shared = routes[:-1], routes[-1:]
    constant = failures[:-1]
    return (
        f"{right:.0f} of {verdicts:.0f} verdicts are right, {invented:.0f} invented; ranges hold "
        f"the capacity: {held} of {ranges}. Route with its own pool named: {sum(numbers(own, 'named')):.0f} of "
        f"{sum(numbers(own, 'sweeps')):.0f}, a wrong one: {sum(numbers(shared, 'named')):.0f} of "
        f"{sum(numbers(shared, 'sweeps')):.0f}. Constant failures called a limit: "
        f"{sum(numbers(constant, 'called a limit')):.0f} of {sum(numbers(constant, 'sweeps')):.0f}"
    )
