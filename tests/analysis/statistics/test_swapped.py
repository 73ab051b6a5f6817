"""Pairs of which each version was on both machines in turn."""

import math

import numpy as np
import pytest

from logreplay.analysis.statistics import swapped
from logreplay.analysis.statistics.quantiles import Bools, Floats, Ints
from logreplay.replay.requests.combine import Swap

Series = tuple[Floats, Floats, Ints, Bools]


def series(seed: int, seconds: int = 60, *, change: float = 0.0, machine: Floats | float = 0.0) -> Series:
    """Logarithms of ratios, 100 in a second; ``machine``: what the machines differ by at each second."""
    rng, swap = np.random.default_rng(seed), Swap(2.0, seed=seed)
    at = np.sort(rng.uniform(0, seconds, 100 * seconds))
    turns = swap.turns((at * 1e9).astype(np.int64))
    second = swap.second(turns)
    differ = np.broadcast_to(machine, seconds)[at.astype(np.int64)]
    return at, change + np.where(second, -differ, differ) + rng.normal(0, 0.3, len(at)), turns, second


def test_what_the_machines_differ_by_is_no_change() -> None:
    found = swapped.estimate(*series(1, change=0.05, machine=0.5))
    assert found
    assert found[0].value == pytest.approx(0.05, abs=0.02)
    low, high = found[0].ends(0.995)
    assert 0 < low < 0.05 < high
    assert high - low < 0.1
    assert (found[0].blocks, found[0].freedom) == (15, 14)


@pytest.mark.parametrize("of", ["equal", "drift", "step", "each 20 s"])
def test_whatever_one_machine_does_equal_versions_are_seldom_called_different(of: str) -> None:
    at = np.arange(60)
    machine = {"equal": 0.0 * at, "drift": at / 100, "step": 0.4 * (at > 35), "each 20 s": 1.0 * (at % 20 < 2)}[
        of
    ].astype(np.float64)
    found = [swapped.estimate(*series(seed, machine=machine)) for seed in range(400)]
    ends = [each[0].ends(0.995) for each in found if each]
    assert len(ends) == 400
    assert sum(not low <= 0 <= high for low, high in ends) <= 8


def test_a_pause_is_not_typical() -> None:
    at, values, turns, second = series(3, change=0.05)
    found = swapped.estimate(at, np.where((at > 31) & (at < 31.4), values + 4, values), turns, second)
    calm = swapped.estimate(at, values, turns, second)
    assert found
    assert calm
    assert found[0].value == pytest.approx(calm[0].value, abs=0.01)
    assert found[0].up < 2 * calm[0].up


def test_the_interval_does_not_grow_with_what_a_pause_in_each_four_seconds_costs() -> None:
    """With eleven neighbours the blocks with a pause were often the majority of them: it grew sixfold."""
    errors = []
    for cost in (0.5, 4.0):
        found = []
        for at, values, turns, second in (series(seed) for seed in range(20)):
            paused = values + np.where(second, -cost, cost) * (at % 4 < 1)
            found.append(swapped.estimate(at, paused, turns, second))
        errors.append(float(np.median([each[0].up for each in found if each])))
    assert errors[1] < 1.5 * errors[0]


def test_too_few_turns_have_no_estimate() -> None:
    assert swapped.estimate(*series(1, 18)) is None
    assert swapped.estimate(*series(1, 20)) is not None
    at, values, turns, second = series(1, 60)
    one = ~second
    assert swapped.estimate(at[one], values[one], turns[one], second[one]) is None
    assert swapped.estimate(at[:0], values[:0], turns[:0], second[:0]) is None


def test_turns_count_where_both_of_two_have_values() -> None:
    turns = np.array([0, 0, 1, 2, 4, 5, 6, 7])
    other = np.array([0, 1, 1, 3, 4, 5, 6, 6])
    assert [each.tolist() for each in swapped.times_of([turns, other])] == [
        [0, 0, 0, -1, 1, 1, -1, -1],
        [0, 0, 0, -1, 1, 1, -1, -1],
    ]
    assert math.isclose(float(swapped.times_of([turns])[0].max()), 2)


def test_what_the_machines_differ_by_is_known_beside_the_change() -> None:
    found = swapped.estimate(*series(1, change=0.05, machine=0.2))
    assert found
    assert found[1].value == pytest.approx(0.2, abs=0.02)
    equal = swapped.estimate(*series(1, change=0.2))
    assert equal
    low, high = equal[1].ends()
    assert low < 0 < high
