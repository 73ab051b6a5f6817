"""Intervals hold what was seen, and what was so in the long run."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.statistics.intervals import USUAL_CLUSTER, batch_variance, cluster_size, newcombe, wilson


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


def test_hits_that_come_together_are_one_cluster() -> None:
    counts, spread, blip = np.full(60, 100), np.full(60, 3), np.zeros(60, np.int64)
    blip[20:22] = 90
    assert spread.sum() == blip.sum()
    assert cluster_size((counts, spread)) == 1
    assert 90 < cluster_size((counts, blip)) < 180
    assert cluster_size((counts, spread), (counts, blip)) == pytest.approx(cluster_size((counts, blip)) / 2, rel=0.1)


def test_two_seconds_tell_little_of_the_size_of_clusters() -> None:
    counts, hits = np.full(2, 100), np.array([5, 5])
    assert 4 < cluster_size((counts, hits)) < USUAL_CLUSTER
    for none in (np.zeros(2, np.int64), counts):
        assert cluster_size((counts, none)) == USUAL_CLUSTER, "nothing failed, or all did"
