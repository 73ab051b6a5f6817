"""Quantiles are observed values, found by exact rank."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.statistics import quantiles
from logreplay.analysis.statistics.quantiles import FAILED, SMALLEST_SAMPLE, Grouped


@pytest.mark.parametrize(
    ("count", "p", "rank"),
    [
        (1, 0.5, 1),
        (2, 0.5, 1),
        (3, 0.5, 2),
        (100, 0.99, 99),
        (199, 0.99, 198),
        (1000, 0.999, 999),
        (200_000, 0.999, 199_800),  # ceil(0.999 * 200000) is 199801 in floats
        (10, 1.0, 10),
    ],
)
def test_the_rank_is_the_ceiling_of_p_times_n(count: int, p: float, rank: int) -> None:
    assert quantiles.rank(count, p) == rank
    assert quantiles.ranks(np.array([count]), p).tolist() == [rank]


@pytest.mark.parametrize(("p", "smallest"), SMALLEST_SAMPLE.items())
def test_an_interval_exists_from_the_smallest_sample_on(p: float, smallest: int) -> None:
    assert quantiles.interval_ranks(smallest - 1, p) is None
    assert quantiles.interval_ranks(smallest, p) is not None


@pytest.mark.parametrize(("count", "ranks"), [(1000, (983, 997)), (5000, (4936, 4964))])
def test_the_interval_of_p99_has_the_ranks_of_the_binomial(count: int, ranks: tuple[int, int]) -> None:
    assert quantiles.interval_ranks(count, 0.99) == ranks


def test_the_interval_holds_the_true_quantile_in_nineteen_of_twenty_samples() -> None:
    rng = np.random.default_rng(7)
    truth = math.log(10)  # p90 of the unit exponential
    held = 0
    for _ in range(400):
        found = quantiles.interval_ranks(200, 0.9)
        assert found is not None
        low, high = np.sort(rng.exponential(1, 200))[[found[0] - 1, found[1] - 1]]
        held += low <= truth <= high
    assert 0.92 < held / 400 < 0.99


def test_a_failed_request_is_later_than_any_other() -> None:
    values = np.array([1000, 2000, FAILED, FAILED])
    assert quantiles.quantile(values, 0.5) == 0.002
    assert quantiles.quantile(values, 0.75) == math.inf


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 10**9)), min_size=1, max_size=200),
    st.sampled_from([0.0, 0.01, 0.5, 0.9, 0.99, 1.0]),
)
def test_each_group_gets_the_quantile_of_its_own_values(rows: list[tuple[int, int]], p: float) -> None:
    groups, values = np.array(rows).T
    found = Grouped(groups, values, 6).quantile(p)
    for group in range(6):
        own = np.sort(values[groups == group])
        expected = quantiles.quantile(own, p)
        assert found[group] == expected or (math.isnan(found[group]) and math.isnan(expected))
