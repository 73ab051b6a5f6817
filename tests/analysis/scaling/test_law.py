"""The universal scalability law, fitted to points whose values are known."""

import numpy as np
import pytest

from logreplay.analysis.scaling.law import ScalingLaw, fitted_law, throughput

NUMBERS = (1, 2, 4, 8)


def measured(
    contention: float, coherency: float, *, error: float = 0.02, most: float = np.inf, seed: int = 1
) -> ScalingLaw:
    """The law of points of 100/s for one, with an error, and no more than ``most``."""
    exact = throughput(np.array([[100.0, contention, coherency]]), np.array(NUMBERS, np.float64))[0]
    rates = np.minimum(exact, most) * np.exp(error * np.random.default_rng(seed).standard_normal(4))
    return fitted_law(NUMBERS, rates.tolist(), [error] * 4)


@pytest.mark.parametrize(("contention", "coherency"), [(0.1, 0.0), (0.05, 0.01), (0.2, 0.002)])
def test_the_values_lie_within_their_ranges(contention: float, coherency: float) -> None:
    laws = [measured(contention, coherency, seed=seed) for seed in range(40)]
    held, laws = 0, [found for found in laws if found.kind == "bent"]
    assert len(laws) >= 38
    for found in laws:
        ranges = [found.range(place) for place in range(3)]
        held += sum(low <= true <= high for (low, high), true in zip(ranges, (100, contention, coherency), strict=True))
    assert held >= 0.9 * 3 * len(laws)


def test_a_straight_line_has_not_bent() -> None:
    assert {measured(0.0, 0.0, seed=seed).kind for seed in range(30)} <= {"straight", "unlike"}


def test_a_wall_is_no_curve() -> None:
    kinds = [measured(0.0, 0.0, most=300.0, error=0.01, seed=seed).kind for seed in range(30)]
    assert kinds.count("wall") >= 28
    number, rate = measured(0.0, 0.0, most=300.0, error=0.01).knee or (0.0, 0.0)
    assert number == pytest.approx(3, rel=0.05)
    assert rate == pytest.approx(300, rel=0.05)


@pytest.mark.parametrize("error", [0.03, 0.1, 0.2])
def test_no_curve_nor_line_is_called_a_wall_by_chance(error: float) -> None:
    for values in ((0.1, 0.0), (0.3, 0.01), (0.0, 0.0)):
        assert "wall" not in {measured(*values, error=error, seed=seed).kind for seed in range(40)}


def test_a_curve_whose_points_scatter_widely_is_not_called_straight() -> None:
    assert "straight" not in {measured(0.2, 0.0, error=0.2, seed=seed).kind for seed in range(40)}


def test_values_that_come_from_rounding_are_0() -> None:
    exact = throughput(np.array([[100.0, 0.3, 0.0]]), np.array(NUMBERS, np.float64))[0]
    assert fitted_law(NUMBERS, exact.tolist(), [0.02] * 4).values[2] == 0


def test_two_numbers_are_too_few_for_a_law() -> None:
    assert fitted_law([1, 2], [100, 150], [0.01, 0.01]).kind == "few"


def test_points_that_rise_more_than_their_number_are_like_no_law() -> None:
    assert fitted_law([1, 2, 4], [100, 400, 500], [0.01] * 3).kind == "unlike"
