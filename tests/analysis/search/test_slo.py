"""A bound is kept or not by all requests together; how sure that is depends on how they hang together."""

import math

import numpy as np
import pytest

from logreplay.analysis.search.slo import LEAST_DESIGN_EFFECT, Bound, BoundEvidence, findings, observe


def test_p99_is_kept_if_at_most_one_in_a_hundred_was_late() -> None:
    bound, late = Bound("p99", 0.3), np.repeat([0.1, 0.31], [990, 10])
    for more, kept in ((0, True), (1, False)):
        responses = np.concatenate((late, np.full(more, 0.31)))
        costs = bound.costs(responses, np.zeros(len(responses), bool), 10)
        seen = BoundEvidence(np.array([len(costs)]), np.array([[costs.sum()]]), np.zeros(1, np.int64))
        assert findings((bound,), seen)[0].kept is kept


@pytest.mark.parametrize(
    ("statistic", "costs"), [("p50", [0, 1, 1]), ("max", [0, 1, 1]), ("errors", [0, 0, 1]), ("mean", [0.1, 0.4, 8.0])]
)
def test_what_a_request_costs(statistic: str, costs: list[float]) -> None:
    """One in time, one late, one failed at once."""
    found = Bound(statistic, 0.3).costs(np.array([0.1, 0.4, 0.0]), np.array([False, False, True]), 8.0)
    assert found.tolist() == costs


def test_requests_that_are_late_together_tell_less() -> None:
    counts, bound = np.full(60, 100), Bound("p99", 0.3)
    spread, bunched = np.full(60, 1.0), np.zeros(60)
    bunched[20:22] = 30
    alike, unlike = (findings((bound,), BoundEvidence(counts, costs[None], counts))[0] for costs in (spread, bunched))
    assert alike.cost == unlike.cost
    assert alike.design_effect == LEAST_DESIGN_EFFECT
    assert unlike.design_effect > 20
    assert unlike.high > alike.high


def test_a_request_under_way_counts_with_its_age() -> None:
    bounds = (Bound("max", 1.0), Bound("mean", 1.0))
    scheduled, ended = np.array([0.5, 2.1, 2.9, 4.5]), np.array([9.0, 2.2, math.inf, 4.6])
    seen = observe(bounds, scheduled, ended, np.zeros(4, bool), settle_s=2, until=4, timeout_s=8)
    assert seen.counts.tolist() == [2, 0]
    assert seen.costs[0].tolist() == [1, 0]
    assert seen.costs[1].tolist() == pytest.approx([0.1 + 1.1, 0])
    assert seen.in_flight.tolist() == [1, 1, 2, 2]
