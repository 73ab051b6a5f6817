"""Routes that saturate alone are named, and no others."""

import numpy as np
import pytest

import simulate
from logreplay.analysis.input import arrays
from logreplay.analysis.tables.slow_routes import route_balance, slow_routes
from support.unlike_systems import WIDE, balance_of, swept


def test_a_route_with_a_pool_of_its_own_is_named_with_its_share() -> None:
    found = swept("route of 10 %, queue").verdict
    assert (
        found.saturation.why == "the backlog grows at 250/s, not at 200/s, only on route /report (10 % of the requests)"
    )
    assert found.saturation.rate == pytest.approx(200, rel=0.08)


def test_a_route_that_fails_alone_is_named_with_its_failures() -> None:
    found = swept("route of 15 %, 500 after 1 s").verdict.saturation
    assert found.why == "errors at 250/s, not at 200/s (500: 100 %), only on route /report (15 % of the requests)"


@pytest.mark.parametrize(
    "name", ["one route slower, wide", "one route slower, long tail", "one route fails at a fifth"]
)
def test_a_route_that_is_slower_or_fails_at_every_rate_is_not_named(name: str) -> None:
    assert swept(name).verdict.sentence.startswith("no saturation up to 400/s")


def test_a_sweep_of_which_all_routes_share_a_queue_names_none() -> None:
    rng = np.random.default_rng(3)
    queue = simulate.SimulatedQueue(4, 0.016)
    requests = arrays.read(simulate.serve(WIDE.arrivals(rng), queue, rng))
    balance = route_balance(requests)
    assert balance["route"].n_unique() == 4
    assert slow_routes(balance, np.unique(balance["rate"].to_numpy())) == []


def test_a_route_that_fails_at_every_rate_hides_no_route_that_saturates_alone() -> None:
    balance = balance_of(broken=(0.0, -1.0), slow=(300.0, 20.0))
    (found,) = slow_routes(balance, np.array([100.0, 200.0, 300.0, 400.0, 500.0]))
    assert (found.name, found.first, found.completed) == ("/slow", 300.0, 20.0)
