"""Which routes slow down while others do not."""

import numpy as np
import pytest

import simulate
from limit_systems import own_pool, swept
from logreplay.analysis.input import arrays
from logreplay.analysis.limit.observations import Observations
from logreplay.analysis.limit.rules import slow_routes
from simulate import SimulatedQueue


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_route_with_a_pool_of_its_own_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    requests = arrays.read(swept(own_pool(rng), rng))
    last = len(requests.labels) - 1
    found = slow_routes(Observations.of(requests), np.arange(last - 3), [last])
    assert [requests.routes[index] for index in found] == ["/db"]


def test_routes_that_wait_in_one_queue_are_not_told_apart() -> None:
    rng = np.random.default_rng(4)
    requests = arrays.read(
        simulate.serve(simulate.sweep([50, 100, 300], 10, rng, pause_s=10), SimulatedQueue(4, 0.016), rng)
    )
    assert slow_routes(Observations.of(requests), np.array([0, 1]), [2]) == []
