"""The rate from which too many requests fail is found in all steps, also in those whose failures may be chance."""

from functools import partial

import numpy as np
import pytest

import simulate
from logreplay.analysis.analyze import verdict_on
from logreplay.analysis.input import arrays
from logreplay.analysis.statistics.failing_rate import bracket, failing_rates, share_that_may_fail
from logreplay.analysis.verdict.saturation_sentences import RateEstimate
from logreplay.analysis.verdict.stability import judged_steps
from support.simulated_systems import Sweep, bucket

RATE, BURST, ONE_PERCENT = 100.0, 6.0, 71.1
"""Of a limiter with room for few requests: so much below its rate 1 % of random arrivals are refused."""
SHORT_STEPS = Sweep([RATE * each for each in np.linspace(0.5, 2, 31)], 10)


def found(sweep: Sweep, seed: int) -> RateEstimate:
    arrivals = sweep.arrivals(np.random.default_rng(seed))
    requests = arrays.read(bucket(RATE, BURST, 503)(arrivals, np.random.default_rng(seed)))
    return verdict_on(requests, judged_steps(requests)).saturation


def test_the_limiter_refuses_one_percent_at_the_rate_that_is_looked_for() -> None:
    arrived = np.cumsum(np.random.default_rng(1).exponential(1 / ONE_PERCENT, 200_000))
    assert simulate.refused(arrived, RATE, BURST).mean() == pytest.approx(0.01, rel=0.1)


def test_saturation_of_short_steps_is_where_one_percent_fail_and_not_the_rate_of_the_limiter() -> None:
    every = [found(SHORT_STEPS, seed) for seed in range(12)]
    held = [(each.low or 0) <= ONE_PERCENT <= (each.high or 0) for each in every]
    assert sum(held) >= 10
    assert np.median([each.rate or 0 for each in every]) == pytest.approx(ONE_PERCENT, rel=0.1)


def test_the_sentence_says_that_the_rate_below_likely_fails_too() -> None:
    """Errors are beyond doubt at 85/s only."""
    every = [found(SHORT_STEPS, seed) for seed in range(12)]
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
