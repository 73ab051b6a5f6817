"""Requests that wait in one queue tell less than independent ones."""

import numpy as np

import simulate
from logreplay.analysis.input import arrays
from logreplay.analysis.tables.design_effect import design_effects
from simulate import SimulatedQueue

START, STOP = np.array([0]), np.array([60_000_000])


def effects(rate: float, seed: int) -> list[float]:
    """Of p90 and p99 of a minute at an M/M/4 server that carries 250/s."""
    rng = np.random.default_rng(seed)
    requests = arrays.read(simulate.serve(simulate.sweep([rate], 60, rng), SimulatedQueue(4, 0.016), rng))
    found: list[float] = design_effects(requests, START, STOP, np.quantile(requests.response, [[0.9, 0.99]]) / 1e6)[
        0
    ].tolist()
    return found


def test_requests_that_wait_together_count_for_less() -> None:
    calm, busy = (np.median([effects(rate, seed) for seed in range(5)], axis=0) for rate in (125, 225))
    assert (calm < 4).all()
    assert (busy > 10).all()


def test_independent_requests_count_in_full() -> None:
    rng = np.random.default_rng(2)
    arrivals = simulate.sweep([500], 60, rng)
    requests = arrays.read(simulate.results(arrivals, rng.exponential(0.01, len(arrivals.scheduled))))
    bounds = np.quantile(requests.response, [[0.9, 0.99]]) / 1e6
    assert np.abs(design_effects(requests, START, STOP, bounds) - 1).max() < 1
    assert np.isnan(design_effects(requests, START, np.array([5_000_000]), bounds)).all()
