"""Queueing theory against its published tables and against simulated queues."""

import numpy as np
import pytest

import simulate
from logreplay.analysis.statistics import queueing


def erlang_c(workers: int, load: float) -> float:
    """The probability that a request has to wait, in M/M/c with an offered load of ``load`` workers."""
    blocking = 1.0
    for count in range(1, workers + 1):  # Erlang B by recursion
        blocking = load * blocking / (count + load * blocking)
    return blocking / (1 - load / workers * (1 - blocking))


def test_the_simulated_queue_waits_as_long_as_theory_says() -> None:
    rng = np.random.default_rng(3)
    arrivals = simulate.sweep([200], 2000, rng)
    service = rng.exponential(0.016, len(arrivals.scheduled))
    waited = simulate.waits(arrivals.scheduled, service, 4)
    assert np.mean(waited) == pytest.approx(erlang_c(4, 3.2) * 0.016 / (4 - 3.2), rel=0.1)
    assert np.mean(waited > 0) == pytest.approx(erlang_c(4, 3.2), rel=0.05)


def test_one_worker_is_served_alike_by_the_loop_and_by_the_formula() -> None:
    rng = np.random.default_rng(4)
    arrived, service = np.sort(rng.uniform(0, 10, 500)), rng.exponential(0.02, 500)
    waiting = [0.0]
    for takes, gap in zip(service[:-1].tolist(), np.diff(arrived).tolist(), strict=True):
        waiting.append(max(waiting[-1] + takes - gap, 0.0))
    assert simulate.waits(arrived, service, 1).tolist() == pytest.approx(waiting)


def test_the_fit_finds_the_capacity_behind_exact_mean_times() -> None:
    rate = np.linspace(50, 225, 15)
    mean = 0.02 + queueing.waiting(rate, np.array(4.0), np.array(250.0))
    found = queueing.fit(rate, mean)
    assert found is not None
    assert found.capacity == pytest.approx(250, rel=0.02)
    assert found.usable


def test_far_from_saturation_the_fit_is_not_usable() -> None:
    rate = np.linspace(10, 100, 10)
    found = queueing.fit(rate, 0.02 + queueing.waiting(rate, np.array(4.0), np.array(250.0)))
    assert found is not None
    assert not found.usable


def test_the_fit_leaves_out_rates_without_a_mean_time() -> None:
    rate = np.linspace(50, 225, 15)
    mean = 0.02 + queueing.waiting(rate, np.array(4.0), np.array(250.0))
    known = queueing.fit(rate[1:], mean[1:])
    assert known is not None
    assert queueing.fit(rate, np.append(np.nan, mean[1:])) == known
    assert queueing.fit(rate, np.append(mean[:4], [np.nan] * 11)) is None
