"""Intervals of values that depend on each other are as wide as those of whole blocks of time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.analysis.statistics import bootstrap

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60).map(np.array)


def test_the_interval_of_independent_values_is_as_wide_as_theory_says() -> None:
    rng = np.random.default_rng(3)
    at, values = np.arange(20_000) / 100, rng.normal(0, 1, 20_000)
    bins = bootstrap.edges(values)
    drawn = bootstrap.resampled(bootstrap.blocks(at, values, bins), bins, [0.5])[:, 0]
    assert drawn.std() == pytest.approx(np.sqrt(np.pi / 2 / len(values)), rel=0.25)  # of a median


def test_values_that_share_the_fate_of_their_block_give_a_wider_interval() -> None:
    rng = np.random.default_rng(3)
    at = np.arange(20_000) / 100
    shared = np.repeat(rng.normal(0, 1, 100), 200)  # one level for each two seconds
    spread = []
    for values in (shared + rng.normal(0, 1, 20_000), rng.normal(0, np.sqrt(2), 20_000)):
        bins = bootstrap.edges(values)
        spread.append(bootstrap.resampled(bootstrap.blocks(at, values, bins), bins, [0.5])[:, 0].std())
    assert spread[0] > 5 * spread[1]


@given(VALUES)
def test_bin_edges_increase_and_are_values_from_the_least_to_the_greatest(values: np.ndarray) -> None:
    bins = bootstrap.edges(values)
    assert (np.diff(bins) > 0).all()
    assert set(bins.tolist()) <= set(values.tolist())
    assert (bins[0], bins[-1]) == (values.min(), values.max())


@settings(max_examples=30)
@given(VALUES, st.integers(0, 5))
def test_every_value_lies_in_one_bin_of_one_block(values: np.ndarray, seed: int) -> None:
    at = np.random.default_rng(seed).uniform(0, 20, len(values))
    found = bootstrap.blocks(at, values, bootstrap.edges(values))
    assert found.counts.sum() == len(values)
    assert (found.counts.sum(axis=1) > 0).all()
    assert found.number == len(np.unique((at - at.min()) // bootstrap.BLOCK_S))


def test_a_long_run_has_a_thousand_longer_blocks() -> None:
    at = np.arange(100_000.0)
    assert bootstrap.blocks(at, at, bootstrap.edges(at)).number <= 1001


def test_quantiles_of_resamples_are_values_in_the_order_of_their_shares_and_the_same_each_time() -> None:
    rng = np.random.default_rng(4)
    at, values = rng.uniform(0, 100, 5000), rng.exponential(1, 5000)
    bins = bootstrap.edges(values)
    drawn = bootstrap.resampled(bootstrap.blocks(at, values, bins), bins, [0.5, 0.9, 0.99, 1.0])
    assert drawn.shape == (bootstrap.RESAMPLES, 4)
    assert (np.diff(drawn, axis=1) >= 0).all()
    assert np.isin(drawn, bins).all()
    again = bootstrap.resampled(bootstrap.blocks(at, values, bins), bins, [0.5, 0.9, 0.99, 1.0])
    np.testing.assert_array_equal(drawn, again)


def test_equal_values_have_no_spread() -> None:
    at, values = np.arange(100.0), np.full(100, 0.3)
    bins = bootstrap.edges(values)
    assert set(bootstrap.resampled(bootstrap.blocks(at, values, bins), bins, [0.5, 0.99]).ravel().tolist()) == {0.3}
