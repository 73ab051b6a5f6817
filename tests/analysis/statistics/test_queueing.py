"""Queueing theory against its published tables and against simulated queues."""

import numpy as np
import pytest

from logreplay.analysis.search import simulate
from logreplay.analysis.statistics import queueing


@pytest.mark.parametrize(
    ("workers", "utilisation"), [(1, 0.5), (2, 0.577), (4, 0.665), (8, 0.745), (16, 0.811), (32, 0.862)]
)
def test_the_best_value_of_an_m_m_c_queue_is_that_of_the_table(workers: int, utilisation: float) -> None:
    assert queueing.best_value(workers) == pytest.approx(utilisation, abs=0.001)


def test_erlang_c_of_one_worker_is_its_utilisation() -> None:
    assert queueing.erlang_c(1, 0.7) == pytest.approx(0.7)


def test_erlang_c_wants_a_queue_with_an_end() -> None:
    with pytest.raises(ValueError, match=r"^load must be from 0 to below 4 workers, got 4$"):
        queueing.erlang_c(4, 4)


def test_the_simulated_queue_waits_as_long_as_theory_says() -> None:
    rng = np.random.default_rng(3)
    arrivals = simulate.sweep([200], 2000, rng)
    service = rng.exponential(0.016, len(arrivals.scheduled))
    waited = simulate.waits(arrivals.scheduled, service, 4)
    assert np.mean(waited) == pytest.approx(queueing.erlang_c(4, 3.2) * 0.016 / (4 - 3.2), rel=0.1)
    assert np.mean(waited > 0) == pytest.approx(queueing.erlang_c(4, 3.2), rel=0.05)


def test_one_worker_is_served_alike_by_the_loop_and_by_the_formula() -> None:
    rng = np.random.default_rng(4)
    arrived, service = np.sort(rng.uniform(0, 10, 500)), rng.exponential(0.02, 500)
    np.testing.assert_allclose(simulate.waits(arrived, service, 1), simulate.waits(arrived, service, 1, 10**6))


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
