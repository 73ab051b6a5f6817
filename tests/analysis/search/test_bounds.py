"""A bound is kept or not by all requests together; how sure that is depends on how they hang together."""

import math

import numpy as np
import pytest

from logreplay.analysis.search.bounds import LEAST_DESIGN_EFFECT, Bound, BoundEvidence, findings, observe
from logreplay.analysis.statistics.quantiles import Floats, Ints

P99 = Bound("p99", 0.3)


def evidence(counts: Ints, costs: Floats | Ints, failed: Ints | None = None) -> BoundEvidence:
    """Evidence for one bound, which judges all requests."""
    none = np.zeros_like(counts)
    return BoundEvidence(counts, costs[None].astype(np.float64), counts[None], none, none if failed is None else failed)


def test_p99_is_kept_if_at_most_one_in_a_hundred_was_late() -> None:
    bound, late = Bound("p99", 0.3), np.repeat([0.1, 0.31], [990, 10])
    for more, kept in ((0, True), (1, False)):
        responses = np.concatenate((late, np.full(more, 0.31)))
        costs, judged = bound.costs(responses, np.zeros(len(responses), bool))
        assert judged.all()
        seen = evidence(np.array([len(costs)]), np.array([costs.sum()]))
        assert findings((bound,), seen)[0].kept is kept


@pytest.mark.parametrize(
    ("statistic", "costs", "number"),
    [("p50", [0, 1, 0, 1], 3), ("max", [0, 1, 0, 1], 3), ("errors", [0, 0, 1, 1], 4), ("mean", [0.1, 0.4, 0, 8], 3)],
)
def test_what_a_request_costs(statistic: str, costs: list[float], number: int) -> None:
    """One in time, one late, one that failed at once, one that timed out: a failure is late only if it took so long."""
    found, judged = Bound(statistic, 0.3).costs(np.array([0.1, 0.4, 0.01, 8.0]), np.array([0, 0, 1, 1], bool))
    assert found.tolist() == costs
    assert judged.sum() == number


def test_the_bounds_of_times_leave_out_requests_that_failed_at_once() -> None:
    """A failure counted as late: 0.9 % of failures left p99 no room for a late answer."""
    scheduled = np.arange(0, 10, 0.01)
    late, failed = np.arange(1000) % 125 == 0, np.arange(1000) % 110 == 1
    seen = observe(
        (P99, Bound("errors", 0.01)), scheduled, scheduled + np.where(late, 0.4, 0.1), failed, settle_s=0, until=10
    )
    times, errors = findings((P99, Bound("errors", 0.01)), seen)
    assert (times.requests, errors.requests) == (990, 1000)
    assert times.cost == pytest.approx(8 / 990)
    assert errors.cost == pytest.approx(0.01)
    assert times.kept
    assert errors.kept


@pytest.mark.parametrize(("size", "sure"), [(1, True), (5, False)])
def test_failures_in_bursts_are_less_sure_than_single_ones(size: int, sure: bool) -> None:
    counts, rng = np.full(60, 200), np.random.default_rng(1)
    failed = size * rng.binomial(200 // size, 0.014, 60)
    (found,) = findings((Bound("errors", 0.01),), evidence(counts, failed, failed))
    assert not found.kept
    assert found.surely_missed is sure


def test_a_single_failure_among_few_requests_is_never_sure() -> None:
    counts, failed = np.array([10, 10]), np.array([1, 0])
    (found,) = findings((Bound("errors", 0.01),), evidence(counts, failed, failed))
    assert found.low < 0.01 < found.cost


def test_a_mean_of_two_seconds_is_not_known_exactly() -> None:
    """The batches of two seconds differ from their mean by as much, so they showed no variance at all."""
    counts = np.array([10, 10])
    (found,) = findings((Bound("mean", 0.05),), evidence(counts, np.array([0.5, 0.6])))
    assert not found.kept
    assert not found.enough
    assert found.low < 0.05 < found.high


def test_requests_that_are_late_together_tell_less() -> None:
    counts, bound = np.full(60, 100), Bound("p99", 0.3)
    spread, bunched = np.full(60, 1.0), np.zeros(60)
    bunched[20:22] = 30
    alike, unlike = (findings((bound,), evidence(counts, costs))[0] for costs in (spread, bunched))
    assert alike.cost == unlike.cost
    assert alike.design_effect == LEAST_DESIGN_EFFECT
    assert unlike.design_effect > 20
    assert unlike.high > alike.high


def test_a_request_under_way_counts_with_its_age() -> None:
    bounds = (Bound("max", 1.0), Bound("mean", 1.0))
    scheduled, ended = np.array([0.5, 2.1, 2.9, 4.5]), np.array([9.0, 2.2, math.inf, 4.6])
    seen = observe(bounds, scheduled, ended, np.zeros(4, bool), settle_s=2, until=4)
    assert seen.counts.tolist() == [2, 0]
    assert seen.costs[0].tolist() == [1, 0]
    assert seen.costs[1].tolist() == pytest.approx([0.1 + 1.1, 0])
    assert seen.in_flight.tolist() == [1, 1, 2, 2]
