"""A base of constant failures is no overload, and what is above it is."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.statistics.failures import Series, expected_hits, fails_at_any_rate, fails_more, share_of
from logreplay.analysis.statistics.quantiles import Floats


def trial(rng: np.random.Generator, rate: float, share: float, *, seconds: int = 8, burst: int = 1) -> Series:
    """A trial in which a share of the requests fails, in bursts of so many."""
    counts = np.full(seconds, round(rate), np.int64)
    return counts, np.minimum(burst * rng.poisson(rate * share / burst, seconds), counts)


def test_the_share_of_several_trials_is_that_of_all_their_requests() -> None:
    assert share_of([(np.array([10]), np.array([1])), (np.array([30]), np.array([1]))]) == 0.05
    assert share_of([]) == 0


@pytest.mark.parametrize("burst", [1, 5])
@pytest.mark.parametrize(("base", "share", "more"), [(0.01, 0.01, False), (0.01, 0.06, True), (0.0, 0.05, True)])
def test_a_trial_fails_more_than_its_base_only_if_it_does(burst: int, base: float, share: float, more: bool) -> None:
    rng = np.random.default_rng(3)
    found = [
        fails_more(
            [trial(rng, 200, share, seconds=40, burst=burst)], [trial(rng, 80, base, burst=burst) for _ in range(4)]
        )
        for _ in range(200)
    ]
    assert (np.mean(found) > 0.95) if more else (np.mean(found) < 0.01)


def test_without_a_base_nothing_fails_more() -> None:
    assert not fails_more([(np.array([100]), np.array([50]))], [])


RATES = np.array([10.0, 16, 25.6, 41, 65.5, 105])


@pytest.mark.parametrize(
    ("shares", "expected"),
    [(0.04, True), (0.0, False), (0.005, False), ([0, 0, 0, 0, 0.03, 0.3], False), ([0, 0, 0, 0.2, 0.4, 0.6], False)],
)
def test_too_many_failures_at_any_rate_are_told_from_those_that_begin_at_some_rate(
    shares: Floats | float, expected: bool
) -> None:
    rng, share = np.random.default_rng(4), np.broadcast_to(shares, RATES.shape)
    found = [
        fails_at_any_rate(RATES, [trial(rng, rate, each) for rate, each in zip(RATES, share, strict=True)], 0.01)
        for _ in range(100)
    ]
    assert (np.mean(found) > 0.8) if expected else (np.mean(found) < 0.03)


def test_one_rate_shows_nothing_of_others() -> None:
    failed = np.full(8, 50)
    assert not fails_at_any_rate(np.array([100.0, 100.0]), [(2 * failed, failed)] * 2, 0.01)


@given(st.integers(1, 1000), st.floats(0.5, 4))
def test_at_both_ends_of_the_interval_of_rare_hits_their_likelihood_ratio_is_the_quantile(hits: int, z: float) -> None:
    low, high = expected_hits(hits, z)
    assert low < hits < high
    for end in (low, high):
        assert 2 * (hits * math.log(hits / end) - hits + end) == pytest.approx(z * z, rel=1e-3, abs=1e-6)


def test_without_a_hit_the_interval_begins_at_none() -> None:
    low, high = expected_hits(0, 1.96)
    assert low == 0
    assert high == pytest.approx(1.96**2 / 2)
