"""The rising curve nearest to values that should rise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.statistics.isotonic import isotonic


@pytest.mark.parametrize(
    ("values", "rising"),
    [
        ([1, 2, 3], [1, 2, 3]),
        ([3, 2, 1], [2, 2, 2]),
        ([1, 3, 2, 4], [1, 2.5, 2.5, 4]),
        ([5, 1, 3, 9], [3, 3, 3, 9]),
        ([7], [7]),
    ],
)
def test_values_that_fall_are_replaced_by_their_mean(values: list[float], rising: list[float]) -> None:
    np.testing.assert_allclose(isotonic(np.array(values, np.float64)), rising)


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=30))
def test_the_curve_rises_and_keeps_the_mean(values: list[float]) -> None:
    found = isotonic(np.array(values))
    assert (np.diff(found) >= 0).all()
    assert found.mean() == pytest.approx(np.mean(values), abs=1e-9)


def test_values_of_more_weight_count_for_more() -> None:
    np.testing.assert_allclose(isotonic(np.array([3.0, 1.0]), np.array([1.0, 3.0])), [1.5, 1.5])
