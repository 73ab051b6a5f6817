"""A step is judged by what happens within it: trend, drift, backlog, errors and the lag of the generator."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import simulate
from logreplay.analysis.input import arrays
from logreplay.analysis.statistics.failures import more_errors
from logreplay.analysis.verdict.stability import judged_steps
from simulate import SimulatedQueue


def one_step(rate: float, server: SimulatedQueue, **changes: Any) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    arrivals = simulate.sweep([rate], 20, rng)
    service = simulate.service_times(server, len(arrivals.scheduled), rng)
    latency = simulate.waits(arrivals.scheduled, service, server.workers) + service
    return judged_steps(arrays.read(simulate.results(arrivals, latency, **changes))).row(0, named=True)


QUEUE = SimulatedQueue(4, 0.016)  # carries 250/s


def test_a_step_that_the_target_carries_is_stable() -> None:
    found = one_step(150, QUEUE)
    assert found["verdict"] == "stable"
    assert not any(found[name] for name in ("over", "failing", "generator"))
    assert found["failure"] is None


def test_a_slow_target_that_keeps_up_is_stable() -> None:
    assert one_step(50, SimulatedQueue(1000, 3.0, "fixed"))["verdict"] == "stable"


def test_a_step_above_the_capacity_is_overloaded_and_says_how_fast_it_falls_behind() -> None:
    found = one_step(350, QUEUE)
    assert found["verdict"] == "overloaded"
    assert found["slope"] == pytest.approx(350 / 250 - 1, rel=0.2)  # seconds of waiting gained per second
    assert found["growth"] == pytest.approx(1 - 250 / 350, rel=0.25)


def test_a_step_of_which_more_than_one_percent_fail_names_the_failure() -> None:
    rng = np.random.default_rng(1)
    arrivals = simulate.sweep([150], 20, rng)
    count = len(arrivals.scheduled)
    rc = np.where(np.arange(count) % 20 == 0, 503, 200)
    rows = simulate.results(arrivals, np.full(count, 0.01), rc=rc)
    found = judged_steps(arrays.read(rows)).row(0, named=True)
    assert (found["verdict"], found["failure"]) == ("errors", "503: 100 %")
    assert 0.01 < found["error_low"] < 0.05


def test_a_step_is_failing_where_the_error_low_of_its_row_is_above_1_percent() -> None:
    """A step with 7 % failures was stable with an error_low of 5 %: failures that come together were judged as one."""
    rng = np.random.default_rng(4)
    arrivals = simulate.sweep([40, 60, 80, 90, 100, 110, 120, 140], 8, rng)
    refused = simulate.refused(arrivals.scheduled, 100, 5)
    rows = simulate.results(arrivals, np.full(len(refused), 0.001), rc=np.where(refused, 503, 200).astype(np.int64))
    found = judged_steps(arrays.read(rows))
    assert found["failing"].to_list() == [low > 0.01 for low in found["error_low"]]
    assert 0 < found["failing"].sum() < 8


def test_a_limiter_that_refuses_some_in_most_seconds_of_a_short_step_fails() -> None:
    """36 of 500 were called no more than 2 of 550 at the lowest rates, since five failures were taken to be one."""
    seconds = np.array([[31, 43, 44, 38, 44], [69, 58, 67, 84, 72], [100, 89, 91, 110, 110], [125, 122, 132, 140, 131]])
    refused = np.array([[0, 0, 0, 0, 0], [0, 0, 0, 2, 0], [6, 3, 0, 14, 13], [22, 23, 37, 38, 33]])
    rate, known = np.array([40.0, 70.0, 100.0, 130.0]), np.ones(4, np.bool_)
    series = list(zip(seconds, refused, strict=True))
    failing, base, _ = more_errors(rate, refused.sum(axis=1), seconds.sum(axis=1), known, series)
    assert (failing.tolist(), base) == ([False, False, True, True], 0.0)


def test_a_late_generator_is_blamed_before_the_target() -> None:
    rng = np.random.default_rng(1)
    arrivals = simulate.sweep([150], 20, rng)
    count = len(arrivals.scheduled)
    rows = simulate.results(arrivals, np.full(count, 0.01), rc=np.full(count, 503), lag=np.full(count, 0.2))
    assert judged_steps(arrays.read(rows))["verdict"].to_list() == ["generator-limited"]


def test_failures_in_steps_that_this_machine_limited_are_no_usual_share_of_the_target() -> None:
    rng = np.random.default_rng(1)
    arrivals = simulate.sweep([50, 100, 150, 200], 20, rng)
    failed = (arrivals.step < 2) & (np.arange(len(arrivals.step)) % 3 == 0)
    rows = arrays.read(
        simulate.results(arrivals, np.full(len(failed), 0.01), rc=np.where(failed, 503, 200).astype(np.int64))
    )
    assert judged_steps(rows)["error_base"].to_list() == [pytest.approx(1 / 3, abs=0.01)] * 4
    assert judged_steps(rows, limited=[0, 1])["error_base"].to_list() == [0.0] * 4


def failing_from(rates: Any, shares: Any, seconds: float = 10.0) -> tuple[int | None, float]:
    """The first rate at which more requests fail than at the lowest ones, and the base, for steps of such shares."""
    rate = np.array(list(rates), dtype=np.float64)
    scheduled = np.round(rate * seconds).astype(np.int64)
    errors = np.round(scheduled * np.broadcast_to(shares, rate.shape)).astype(np.int64)
    failing, base, _ = more_errors(rate, errors, scheduled, np.ones(len(rate), np.bool_))
    return (int(rate[failing][0]) if failing.any() else None), base


@pytest.mark.parametrize(
    "rates",
    [range(150, 301, 10), range(150, 201, 5), range(110, 211, 10), range(120, 241, 5), range(104, 131, 2)],
)
def test_a_limiter_below_the_lowest_rate_is_no_usual_share_of_errors(rates: range) -> None:
    assert failing_from(rates, [1 - 100 / rate for rate in rates]) == (rates[0], 0.0)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.3])
@pytest.mark.parametrize("rates", [range(50, 401, 50), range(150, 301, 10), range(100, 151, 5)])
def test_a_share_that_fails_at_every_rate_is_usual(share: float, rates: range) -> None:
    first, base = failing_from(rates, share)
    assert first is None
    assert base == pytest.approx(share, rel=0.1)


def test_a_share_above_one_half_is_not_usual() -> None:
    assert failing_from(range(50, 401, 50), 0.6) == (50, 0.0)


def test_a_limiter_below_the_lowest_rate_is_found_by_chance_counts_of_short_steps_too() -> None:
    rng, rates = np.random.default_rng(1), np.arange(150, 201, 5)
    found = [failing_from(rates, rng.binomial(5 * rates, 1 - 100 / rates) / (5 * rates), 5.0) for _ in range(200)]
    assert sum(base > 0 for _, base in found) <= 4


def test_errors_so_few_that_they_may_be_chance_are_no_share() -> None:
    assert failing_from([10, 20, 30, 40, 50], [0.01, 0.005, 0, 0, 0]) == (None, 0.0)
    assert failing_from([100, 200, 300, 400, 500], [0.01, 0.01, 0.01, 0.01, 0.01])[1] == pytest.approx(0.01)


def test_requests_that_were_never_sent_are_no_errors_of_the_target() -> None:
    """One in ten was dropped by the generator: they are counted, and speak neither for nor against the target."""
    rng = np.random.default_rng(1)
    rows = simulate.serve(simulate.sweep([150], 20, rng), QUEUE, rng)
    dropped = pl.int_range(pl.len()) % 10 == 0
    never = {"error": pl.when(dropped).then(pl.lit("dropped")), "rc": pl.when(dropped).then(0).otherwise("rc")}
    found = judged_steps(arrays.read(rows.with_columns(**never))).row(0, named=True)
    assert found["dropped"] > 0
    assert (found["verdict"], found["failing"], found["failure"]) == ("stable", False, None)
