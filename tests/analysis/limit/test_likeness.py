"""How requests leave, compared with workers and one queue."""

import numpy as np
import pytest

from limit_systems import FAMILIES, Limited, swept
from logreplay.analysis.input import arrays
from logreplay.analysis.limit import places
from logreplay.analysis.limit.carried import alone, backlog
from logreplay.analysis.limit.observations import Observations
from logreplay.analysis.limit.order import Likeness, likeness


def compared(system: Limited, number: int, seed: int) -> Likeness:
    """Compare a system in overload with so many workers."""
    requests = arrays.read(swept(system, np.random.default_rng(seed)))
    seen, last = Observations.of(requests), len(requests.labels) - 1
    rows = alone(seen, np.arange(3), system.capacity)
    arrivals = places.Arrivals.of(seen, range(last + 1), seen.took[rows])
    spell = backlog(seen, last, 1.3 * number + 2)
    assert spell
    return likeness(arrivals, spell, number)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_requests_leave_workers_as_the_model_says(seed: int) -> None:
    system = FAMILIES["workers"](np.random.default_rng(seed))
    assert system.at_once
    found = compared(system, int(system.at_once), seed)
    assert found.alike
    assert not found.overtaking


def test_requests_that_need_no_pool_overtake_those_that_do() -> None:
    for seed in (4, 5, 6):
        found = compared(FAMILIES["a pool for 60 % of the requests"](np.random.default_rng(seed)), 7, seed)
        assert found.overtaken[0] > 1.1 * found.overtaken[1]
        assert not found.alike


def test_requests_leave_a_lock_as_evenly_as_it_is_held() -> None:
    assert not Likeness((1.0, 1.0), ((0.05, 0.2), (0.05, 0.2))).alike
    assert Likeness((1.0, 1.05), ((0.2, 0.21), (0.2, 0.18))).alike
