"""Intervals hold what was seen, and what was so in the long run."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.statistics.intervals import batch_variance, newcombe, wilson


@given(st.floats(0, 1), st.floats(0.5, 1e6), st.floats(0.5, 5))
def test_the_interval_of_a_share_holds_it(share: float, number: float, z: float) -> None:
    low, high = wilson(share, number, z)
    assert 0 <= low <= share + 1e-9
    assert share - 1e-9 <= high <= 1


def test_intervals_of_many_shares_are_those_of_each() -> None:
    shares, numbers = np.array([0.0, 0.01, 0.5, 1.0]), np.array([3, 100, 1000, 7])
    low, high = wilson(shares, numbers, 1.96)
    for index, (share, number) in enumerate(zip(shares.tolist(), numbers.tolist(), strict=True)):
        assert (low[index], high[index]) == wilson(share, number, 1.96)


def test_the_interval_is_that_of_the_literature() -> None:
    low, high = wilson(81 / 263, 263, 1.96)  # Newcombe, Two-sided confidence intervals, 1998, table I
    assert (float(low), float(high)) == pytest.approx((0.2553, 0.3662), abs=5e-5)


@pytest.mark.parametrize(
    ("hits", "numbers", "interval"),
    [
        ((48, 56), (80, 70), (0.0524, 0.3339)),
        ((3, 9), (10, 10), (0.1705, 0.8090)),
        ((0, 5), (29, 56), (-0.0381, 0.1926)),
    ],
)
def test_the_interval_of_a_difference_is_that_of_the_literature(
    hits: tuple[int, int], numbers: tuple[int, int], interval: tuple[float, float]
) -> None:
    assert newcombe(hits, numbers, 1.96) == pytest.approx(interval, abs=5e-5)  # Newcombe 1998, table II


def test_costs_that_come_in_bunches_vary_more() -> None:
    counts, spread, bunched = np.full(60, 100), np.full(60, 1.0), np.zeros(60)
    bunched[20:22] = 30
    assert batch_variance(counts, spread) == 0
    assert batch_variance(counts, bunched) > 0
