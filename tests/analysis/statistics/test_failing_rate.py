"""The rate from which too many requests fail is found in all steps, also in those whose failures may be chance."""

from functools import cache, partial

import numpy as np
import polars as pl
import pytest

import simulate
from logreplay.analysis.analyze import verdict_on
from logreplay.analysis.input import arrays
from logreplay.analysis.statistics.failing_rate import bracket, failing_rates, last_below, rises, share_that_may_fail
from logreplay.analysis.verdict.saturation_sentences import RateEstimate
from logreplay.analysis.verdict.stability import judged_steps
from support.simulated_systems import Sweep, bucket

RATE, BURST, ONE_PERCENT = 100.0, 6.0, 71.1
"""Of a limiter with room for few requests: so much below its rate 1 % of random arrivals are refused."""
SHORT_STEPS = Sweep([RATE * each for each in np.linspace(0.5, 2, 31)], 10)


@cache
def found(seed: int) -> RateEstimate:
    """Saturation of short steps against the limiter."""
    arrivals = SHORT_STEPS.arrivals(np.random.default_rng(seed))
    requests = arrays.read(bucket(RATE, BURST, 503)(arrivals, np.random.default_rng(seed)))
    return verdict_on(requests, judged_steps(requests)).saturation


def test_the_limiter_refuses_one_percent_at_the_rate_that_is_looked_for() -> None:
    arrived = np.cumsum(np.random.default_rng(1).exponential(1 / ONE_PERCENT, 200_000))
    assert simulate.refused(arrived, RATE, BURST).mean() == pytest.approx(0.01, rel=0.1)


def test_saturation_of_short_steps_is_where_one_percent_fail_and_not_the_rate_of_the_limiter() -> None:
    every = [found(seed) for seed in range(12)]
    held = [(each.low or 0) <= ONE_PERCENT <= (each.high or 0) for each in every]
    assert sum(held) >= 10
    assert np.median([each.rate or 0 for each in every]) == pytest.approx(ONE_PERCENT, rel=0.1)


def test_the_sentence_says_that_the_rate_below_likely_fails_too() -> None:
    """Errors are beyond doubt at 85/s only."""
    every = [found(seed) for seed in range(12)]
    below = [each for each in every if " for sure, likely at " in each.why]
    assert below
    for each in below:
        place = each.why.removeprefix("errors at ").split("/s")[0]
        assert (each.rate or 0) < float(place) - 5


RATES = np.array([60.0, 70.0, 80.0, 90.0])
SENT = (10 * RATES).astype(np.int64)


def rates_of(failed: list[int], base: float = 0.0) -> tuple[float, float, float]:
    counts = np.array(failed)
    return bracket(*failing_rates(RATES, counts, SENT, share_that_may_fail(counts, SENT, base)))


def test_a_share_that_grows_exponentially_reaches_one_percent_between_two_rates() -> None:
    """0.5 % of 70/s and 2 % of 80/s: half-way on a logarithmic scale."""
    many = partial(np.multiply, 1000)
    counts = many([0, 3.5, 16, 90]).astype(np.int64)
    sent = many(SENT).astype(np.int64)
    low, likely, high = bracket(*failing_rates(RATES, counts, sent, 0.01))
    assert (low, high) == (70, 80)
    assert likely == pytest.approx(75, rel=0.01)


def test_fewer_failures_say_less() -> None:
    low, likely, high = rates_of([0, 3, 16, 90])
    assert (low, high) == (60, 90)
    assert 70 < likely < 80


def test_failures_at_the_lowest_rate_too_are_a_base() -> None:
    with_base, without = rates_of([12, 14, 24, 180], base=0.02), rates_of([12, 14, 24, 180])
    assert without[1] == 0
    assert 70 < with_base[1] < 90


def test_a_base_that_the_lowest_rate_does_not_have_is_none() -> None:
    assert share_that_may_fail(np.array([0, 20, 40, 90]), SENT, base=0.02) == pytest.approx(0.01)


@pytest.mark.parametrize("share", [0.005, 0.02, 0.1])
def test_a_limiter_beside_constant_failures_is_found_at_its_rate(share: float) -> None:
    """A lucky step at a low rate made it look as if failures began there: 67 to 91/s of 262."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        arrivals = Sweep(range(50, 401, 25), 10).arrivals(rng)
        served = bucket(270, 25, 503)(arrivals, rng)
        always = pl.Series(rng.random(served.height) < share)
        requests = arrays.read(
            served.with_columns(rc=pl.when(always).then(500).otherwise("rc").cast(served.schema["rc"]))
        )
        seen = verdict_on(requests, judged_steps(requests)).saturation
        assert 230 <= (seen.rate or 0) <= 290
        assert (seen.low or 0) <= 262 <= (seen.high or 0)


def test_stable_steps_above_the_rate_at_which_one_percent_fail_are_not_overloaded() -> None:
    arrivals = SHORT_STEPS.arrivals(np.random.default_rng(0))
    requests = arrays.read(bucket(RATE, BURST, 503)(arrivals, np.random.default_rng(0)))
    verdict = verdict_on(requests, judged_steps(requests))
    stable = verdict.steps.filter(pl.col("verdict") == "stable")["rate"].to_numpy()
    first = verdict.steps.filter(pl.col("verdict") == "errors")["rate"].to_numpy().min()
    assert (verdict.saturation.rate or 0) < (verdict.carried or 0) == stable[stable < first].max()


def test_the_share_rises_where_one_share_does_not_explain_it() -> None:
    sent = np.full(4, 1000)
    assert rises(np.array([0, 3, 9, 20]), sent)
    assert not rises(np.array([9, 12, 8, 13]), sent)
    assert not rises(np.zeros(4, np.int64), sent)
    assert rises(np.array([30, 76]), np.full(2, 3000))  # three of a burst count as one
    assert not rises(np.array([30, 64]), np.full(2, 3000))


def test_failures_below_a_rate_that_surely_fails_less_passed() -> None:
    sent = np.full(4, 1000)
    assert last_below(np.array([0, 80, 0, 9]), sent, 0.01) == 2
    assert last_below(np.array([9, 9, 9, 9]), sent, 0.01) == 0
