"""Replays of arrivals through places."""

import numpy as np
import pytest

import simulate
from logreplay.analysis.input import arrays
from logreplay.analysis.limit import places
from logreplay.analysis.limit.observations import Observations
from logreplay.analysis.limit.places import Arrivals
from simulate import SimulatedQueue


def test_each_model_gives_the_times_of_its_queue() -> None:
    rng = np.random.default_rng(1)
    start, work = np.sort(rng.uniform(0, 10, 1500)), rng.exponential(0.02, 1500)
    in_order = places.in_order(start, work, 4)
    np.testing.assert_allclose(in_order, simulate.waits(start, work, 4) + work)
    shared = places.shared(start, work, 4)
    np.testing.assert_allclose(shared, simulate.shared(start, work, lambda n: min(1.0, 4 / n)) - start, atol=1e-9)
    apart = places.apart(start, work, 4)
    assert apart.mean() > in_order.mean()


def test_the_true_number_of_places_fits_best() -> None:
    rng = np.random.default_rng(2)
    log = simulate.serve(simulate.sweep([50, 100, 150, 200, 240], 20, rng, pause_s=10), SimulatedQueue(4, 0.016), rng)
    seen = Observations.of(arrays.read(log))
    arrivals = Arrivals.of(seen, range(5), rng.exponential(0.016, 2000))
    modelled = {number: places.in_order(arrivals.start, arrivals.draws, number, number / 4) for number in range(1, 5)}
    misfit = {number: arrivals.misfit(took, 14)[0] for number, took in modelled.items()}
    assert min(misfit, key=lambda number: misfit[number]) == 4


@pytest.mark.parametrize(("most", "last"), [(1, [1]), (3, [1, 2, 3]), (12, list(range(1, 13)))])
def test_each_small_number_is_tried(most: int, last: list[int]) -> None:
    assert places.numbers(most) == last


def test_of_large_numbers_some_are_tried() -> None:
    tried = places.numbers(200)
    assert tried[-1] == 200
    assert len(tried) < 40
