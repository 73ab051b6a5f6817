"""How many requests were in flight, and which rows of a long sweep are looked at."""

import numpy as np
import pytest

import simulate
from logreplay.analysis.input import arrays
from logreplay.analysis.limit import observations
from logreplay.analysis.limit.observations import Observations, counted
from simulate import SimulatedQueue


def test_requests_in_flight_are_counted_from_the_actual_start() -> None:
    start = np.array([0.0, 1.0, 2.0, 3.0])
    assert counted(start, np.array([2.5, 1.5, 2.2, 9.0])).tolist() == [0, 1, 1, 0]


def test_of_a_long_step_only_the_first_requests_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observations, "MOST", 100)
    rng = np.random.default_rng(1)
    log = simulate.serve(simulate.sweep([20, 50], 10, rng, pause_s=5), SimulatedQueue(4, 0.016), rng)
    seen = Observations.of(arrays.read(log))
    assert seen.whole.tolist() == [False, False]
    assert np.bincount(seen.step).tolist() == pytest.approx([100, 100], abs=25)
    assert (np.diff(seen.start) >= 0).all()


def test_those_in_flight_are_counted_among_the_chosen_only() -> None:
    rng = np.random.default_rng(2)
    log = simulate.serve(simulate.sweep([50, 300], 5, rng, pause_s=5), SimulatedQueue(4, 0.016), rng)
    seen = Observations.of(arrays.read(log))
    some = seen.only(seen.route == seen.route[0])
    assert some.in_flight.max() < seen.in_flight.max()
    assert (some.took > 0).all()


def test_answers_are_counted_while_requests_are_sent() -> None:
    rng = np.random.default_rng(3)
    log = simulate.serve(simulate.sweep([100, 400], 10, rng, pause_s=15), SimulatedQueue(4, 0.02, "fixed"), rng)
    seen = Observations.of(arrays.read(log))
    assert seen.answered(0) == pytest.approx(100, rel=0.1)
    assert seen.answered(1) == pytest.approx(200, rel=0.01)
