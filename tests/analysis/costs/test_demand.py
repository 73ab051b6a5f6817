"""The cost of a request of each route, from simulated readings."""

import numpy as np
import pytest

from logreplay.analysis.costs.demand import fitted
from support.simulated_costs import designed

COSTS, RATES = (0.002, 0.01, 0.05), (70.0, 25.0, 5.0)


def test_costs_are_found_and_their_intervals_hold_them() -> None:
    held = 0
    for seed in range(40):
        found = fitted(designed(np.random.default_rng(seed), COSTS, RATES))
        assert found is not None
        assert found.separate.all()
        held += int(((found.low <= COSTS) & (found.high >= COSTS)).sum())
    assert held >= 0.9 * 120


def test_a_resource_that_works_without_noise_gives_the_costs_within_a_tenth() -> None:
    found = fitted(designed(np.random.default_rng(1), COSTS, RATES, random=False, noise=0.0))
    assert found is not None
    assert found.seconds == pytest.approx(COSTS, rel=0.1)
    assert found.idle == pytest.approx(0.05, abs=0.03)


def test_two_routes_that_are_only_left_out_together_are_one() -> None:
    found = fitted(designed(np.random.default_rng(1), COSTS, RATES, without=[(0,), (1, 2)]))
    assert found is not None
    assert found.groups == ((0,), (1, 2))


def test_a_route_that_no_step_leaves_out_is_not_separate() -> None:
    found = fitted(designed(np.random.default_rng(1), COSTS, RATES, without=[(0,), (1,)]))
    assert found is not None
    assert found.separate.tolist() == [True, True, False]


def test_fewer_than_two_steps_tell_nothing() -> None:
    assert fitted(designed(np.random.default_rng(1), COSTS, RATES)[:1]) is None
