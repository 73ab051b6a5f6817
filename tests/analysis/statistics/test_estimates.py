"""Intervals of values that depend on their neighbours in time hold what was so in the long run."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.analysis.statistics import estimates
from logreplay.analysis.statistics.estimates import Estimate, student
from logreplay.analysis.statistics.quantiles import Floats


def held(level: Floats, seconds: int, *, share: float = 0.5) -> float:
    """Share of the rows of levels, one value a second, whose interval holds the quantile of ten values a second."""
    rng = np.random.default_rng(5)
    at = np.repeat(np.arange(seconds), 10).astype(np.float64)
    truth = math.hypot(1.0, float(level.std())) * {0.5: 0.0, 0.9: 1.2816}[share]
    hits = 0
    for row in level:
        found = estimates.quantile(at, np.repeat(row, 10) + rng.normal(0, 1, len(at)), share)
        assert found is not None
        low, high = found.ends()
        hits += low <= truth <= high
    return hits / len(level)


def wandering(runs: int, seconds: int, scale: float) -> Floats:
    """Levels that keep their value for some 8 s: as an autoregressive series does."""
    rng, keeps = np.random.default_rng(6), math.exp(-1 / 8)
    level = rng.normal(0, scale, (runs, seconds))
    for second in range(1, seconds):
        level[:, second] = keeps * level[:, second - 1] + math.sqrt(1 - keeps**2) * level[:, second]
    return level


@pytest.mark.parametrize("seconds", [20, 60, 300])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_the_interval_of_independent_values_holds_the_truth_in_95_of_100_runs_at_any_length(
    seconds: int, share: float
) -> None:
    assert held(np.zeros((400, seconds)), seconds, share=share) == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize("seconds", [60, 300])
def test_the_interval_of_a_speed_that_wanders_holds_the_truth_in_90_of_100_runs(seconds: int) -> None:
    assert held(wandering(400, seconds, 1.0), seconds) >= 0.9


def test_students_quantiles_are_those_of_the_tables() -> None:
    assert student(0.95, 1) == pytest.approx(12.706, abs=1e-3)
    assert student(0.95, 2) == pytest.approx(4.3027, abs=1e-4)
    assert student(0.99, 10) == pytest.approx(3.1693, abs=1e-4)
    assert student(0.95, 1e4) == pytest.approx(1.96, abs=1e-3)


def test_the_tables_of_many_degrees_of_freedom_are_not_all_held() -> None:
    for freedom in range(1, 101):
        student(0.95, freedom + 0.123)
    assert estimates._student.cache_info().currsize <= 64


def test_the_interval_of_a_mean_is_that_of_student() -> None:
    low, high = estimates.mean(np.array([1.0, 2.0, 3.0])).ends()
    assert (low, high) == pytest.approx((2 - 4.3027 / math.sqrt(3), 2 + 4.3027 / math.sqrt(3)), abs=1e-4)


def test_a_difference_has_the_errors_of_both_and_the_freedom_of_welch() -> None:
    found = Estimate(3.0, 0.3, 0.3, 5, 60).minus(Estimate(1.0, 0.4, 0.4, 5, 50))
    assert (found.value, found.down, found.up) == pytest.approx((2.0, 0.5, 0.5))
    assert 5 < found.freedom < 10
    assert found.blocks == 50
    assert Estimate(3.0, 0.3, 0.3, 5, 60).minus(Estimate(1.0, 0, 0, 2, 60)).freedom == pytest.approx(5)


def test_less_than_five_seconds_give_no_estimate() -> None:
    assert estimates.quantile(np.arange(4.0), np.arange(4.0), 0.5) is None
    assert estimates.quantile(np.array([]), np.array([]), 0.5) is None


def test_a_long_run_has_a_thousand_longer_blocks() -> None:
    at = np.arange(100_000.0)
    found = estimates.quantile(at, at, 0.5)
    assert found is not None
    assert found.blocks <= 1001


@pytest.mark.slow
@pytest.mark.parametrize("middle", [2.5, 2.9, 7.3])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_equal_times_in_whole_milliseconds_are_seldom_called_different(middle: float, share: float) -> None:
    rng, wrong = np.random.default_rng(4), 0
    for _ in range(300):
        sides = []
        for _ in range(2):
            at = rng.uniform(0, 60, 3000)
            side = estimates.quantile(at, np.log(np.maximum(np.round(middle * rng.lognormal(0, 0.4, 3000)), 1)), share)
            assert side is not None
            sides.append(side)
        low, high = sides[1].minus(sides[0]).ends()
        wrong += not low <= 0 <= high
    assert wrong / 300 <= 0.09  # 5 % and three standard errors


def test_of_times_in_whole_milliseconds_a_change_below_the_step_is_found() -> None:
    rng = np.random.default_rng(4)
    times = 2.5 * rng.lognormal(0, 0.4, (2, 9000))
    at = np.linspace(0, 180, 9000)
    old, new = (
        estimates.quantile(at, np.log(np.maximum(np.round(each), 1)), 0.5) for each in (times[0], 1.1 * times[1])
    )
    assert old is not None
    assert new is not None
    low, high = new.minus(old).ends()
    assert 0 < low < math.log(1.1) < high


def test_equal_values_have_no_spread() -> None:
    found = estimates.quantile(np.arange(100.0), np.full(100, 0.3), 0.99)
    assert found is not None
    assert found.ends() == (0.3, 0.3)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.floats(0, 40), st.floats(-1e6, 1e6)), min_size=1, max_size=60),
    st.sampled_from([0.5, 0.9, 0.99]),
)
def test_any_values_give_an_interval_around_the_estimate(rows: list[tuple[float, float]], share: float) -> None:
    at, values = np.array(rows).T
    found = estimates.quantile(at, values, share)
    if found is not None:
        low, high = found.ends()
        assert low <= found.value <= high
        assert values.min() <= found.value <= values.max()
        assert 1 <= found.freedom <= 40
