"""Trends are those of the literature, and none where nothing rises."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from logreplay.analysis.statistics.trends import mann_kendall, theil_sen

VALUES = st.integers(-1000, 1000).map(float)
SERIES = arrays_of.arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 12)), elements=VALUES)


def test_ten_rising_values_are_a_clear_trend() -> None:
    """45 of 45 pairs rise: (45 - 1) over the square root of 10 * 9 * 25 / 18."""
    rising = np.arange(10.0)
    assert mann_kendall(np.array([rising, rising[::-1]])) == pytest.approx([3.935, -3.935], abs=0.001)


@settings(max_examples=40)
@given(SERIES)
def test_the_trend_changes_its_sign_with_the_direction_and_nothing_with_the_scale(series: Any) -> None:
    np.testing.assert_allclose(mann_kendall(series[:, ::-1]), -mann_kendall(series))
    np.testing.assert_allclose(mann_kendall(3 * series - 7), mann_kendall(series))


@pytest.mark.parametrize("row", [[1.0] * 10, [np.nan] * 10, [np.nan, 5.0, np.nan], [1.0]])
def test_equal_missing_or_single_values_have_no_trend(row: list[float]) -> None:
    assert mann_kendall(np.array([row])).tolist() == [0.0]


@settings(max_examples=40)
@given(SERIES, st.integers(1, 50), VALUES)
def test_the_slope_follows_the_scale_and_ignores_the_level(series: Any, factor: int, level: float) -> None:
    apart = np.full(len(series), 2.0)
    np.testing.assert_allclose(theil_sen(factor * series + level, apart), factor * theil_sen(series, apart))


def test_the_slope_is_that_of_most_values_whatever_one_of_them_is() -> None:
    line = 0.5 * np.arange(10.0)
    line[4] = 1e9
    assert theil_sen(line[None, :], np.array([5.0])) == pytest.approx([0.1])


def test_a_row_with_fewer_than_two_values_has_no_slope() -> None:
    rows = np.array([[np.nan, np.nan, np.nan], [np.nan, 1.0, np.nan], [1.0, np.nan, 3.0]])
    np.testing.assert_array_equal(theil_sen(rows, np.ones(3)), [np.nan, np.nan, 1.0])
