"""What is carried while a backlog lasts, and how long a request alone takes."""

import numpy as np
import polars as pl
import pytest

import simulate
from logreplay.analysis.input import arrays
from logreplay.analysis.limit.carried import alone, backlog, carried
from logreplay.analysis.limit.observations import Observations
from simulate import SimulatedQueue


def seen_of(queue: SimulatedQueue, seed: int = 1) -> tuple[Observations, pl.DataFrame]:
    rng = np.random.default_rng(seed)
    log = simulate.serve(simulate.sweep([50, 100, 150, 300, 350], 10, rng, pause_s=10), queue, rng)
    return Observations.of(arrays.read(log)), log


def test_rate_times_time_alone_is_the_number_at_once() -> None:
    seen, _ = seen_of(SimulatedQueue(4, 0.016))
    found = carried(seen, np.array([0, 1]), [3, 4], 240)
    assert found
    assert found.rate == pytest.approx(250, rel=0.05)
    assert found.interval[0] < 4 < found.interval[1]


def test_a_backlog_lasts_from_the_last_calm_moment_to_the_end_of_the_drain() -> None:
    seen, _ = seen_of(SimulatedQueue(4, 0.016, "fixed"))
    found = backlog(seen, 4, 7)
    assert found
    assert found.begin < 4 * 20 + 1
    assert pytest.approx(found.stop - 4 * 20, rel=0.05) == 10 * 350 / 250
    assert found.rate == pytest.approx(250, rel=0.02)
    assert backlog(seen, 0, 7) is None


def test_requests_that_found_a_cold_target_do_not_count() -> None:
    seen, log = seen_of(SimulatedQueue(4, 0.016, "fixed"))
    cold = log.with_columns(latency=pl.col("latency") + 0.05 * (-pl.col("seq") / 300).exp())
    slow = Observations.of(arrays.read(cold))
    rows = alone(slow, np.array([0, 1]), 250)
    assert slow.took[rows].mean() == pytest.approx(0.016, rel=0.1)
    assert len(rows) < len(alone(seen, np.array([0, 1]), 250))


def test_without_requests_alone_there_are_no_figures() -> None:
    seen, _ = seen_of(SimulatedQueue(4, 0.016))
    assert carried(seen, np.array([], dtype=np.int64), [3, 4], 240) is None
