"""The pods that an autoscaler asks for carry the load of the reaction time later, at every moment of the log."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.analysis.demand.log_profile import LogProfile
from logreplay.analysis.planning.autoscaling import (
    SYNC_S,
    TOLERANCE,
    WINDOW_S,
    ScalingTarget,
    pods_over,
    scaling_target,
    shortest,
)
from logreplay.analysis.planning.machines import Reserve
from logreplay.analysis.planning.plan import DemandGrowth, MachinePlan, plan
from logreplay.analysis.planning.wording import as_dict, not_covered, sentences
from logreplay.analysis.statistics.quantiles import Ints

from .test_demand_range import MONDAY, profile
from .test_machines import supply


def planned(log: LogProfile, one: float, *, survive: int = 0, reaction: float = 30.0) -> MachinePlan:
    """The plan of a log for an autoscaler of pods that carry exactly ``one`` requests/s each."""
    carries = supply(one, one, one, sent=pl.DataFrame({"route": ["/a"], "requests": [1000]}))
    return plan(log, carries, DemandGrowth(), Reserve(survive=survive), reaction=reaction)


def counted(rates: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> tuple[Ints, Ints]:
    counts = np.floor(np.cumsum(rates)).astype(np.int64)
    counts = np.diff(counts, prepend=0)
    return np.flatnonzero(counts), counts[counts > 0]


def carried(seconds: Ints, counts: Ints, target: float, least: int, most: int, carries: float, reaction: float) -> bool:
    """Whether the pods asked for carry the load of the reaction time later; computed second by second."""
    span = int(seconds[-1]) - int(seconds[0]) + 1
    load = np.bincount(seconds - seconds[0], counts, span)
    ends = range(WINDOW_S, span // SYNC_S * SYNC_S + 1, SYNC_S)
    seen = [load[end - WINDOW_S : end].sum() / WINDOW_S for end in ends]
    ahead = math.ceil(reaction / SYNC_S)
    for at in range(len(seen) - ahead):
        asked = max(seen[max(at - 19, 0) : at + 1])
        pods = min(max(asked / (target * (1 + TOLERANCE)), least), most)  # nothing is done within the tolerance
        if pods * carries < seen[at + ahead] * (1 - 1e-9):
            return False
    return True


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from([15.0, 90.0, 200.0]))
def test_every_rise_of_the_log_is_carried(seed: int, reaction: float) -> None:
    rng = np.random.default_rng(seed)
    levels = np.repeat(rng.uniform(0, 100, 40), 120) * np.linspace(0.3, 1, 4800)
    seconds, counts = counted(levels)
    most = math.ceil(105 / 10)
    found = scaling_target(seconds, counts, factor=1, carries=10, mean=0.05, reaction=reaction, most=most)
    assert found
    assert carried(seconds, counts, found.rate, found.least, found.most, 10, reaction)
    assert found.concurrency == pytest.approx(found.rate * 0.05)
    assert found.least <= found.mean <= found.most


def test_a_constant_load_gets_the_promise_less_the_tolerance() -> None:
    seconds, counts = counted(np.full(3600, 50.0))
    found = scaling_target(seconds, counts, factor=1, carries=10, mean=None, reaction=90, most=6)
    assert found
    assert found.rate == pytest.approx(10 / (1 + TOLERANCE))
    assert found.concurrency is None
    assert found.rise == pytest.approx(1)


def test_a_load_that_doubles_within_the_reaction_time_halves_the_target_or_keeps_pods() -> None:
    rates = np.concatenate([np.full(3000, 40.0), np.full(3000, 80.0)])
    seconds, counts = counted(rates)
    found = scaling_target(seconds, counts, factor=1, carries=10, mean=0.1, reaction=60, most=9)
    assert found
    assert found.least == 8 or found.rate == pytest.approx(5 / (1 + TOLERANCE), rel=0.1)


def test_growth_needs_more_pods() -> None:
    seconds, counts = counted(np.linspace(10, 50, 3600))
    one = scaling_target(seconds, counts, factor=1, carries=10, mean=0.1, reaction=90, most=6)
    two = scaling_target(seconds, counts, factor=2, carries=10, mean=0.1, reaction=90, most=11)
    assert one
    assert two
    assert two.mean > 1.7 * one.mean


def test_a_log_shorter_than_the_reaction_has_no_answer() -> None:
    seconds, counts = counted(np.full(100, 5.0))
    assert scaling_target(seconds, counts, factor=1, carries=10, mean=0.1, reaction=90, most=2) is None


def test_the_pods_that_serve_are_those_asked_for_a_reaction_before() -> None:
    rates = np.concatenate([np.full(1200, 9.0), np.full(1200, 29.0)])
    seconds, counts = counted(rates)
    target = ScalingTarget(rate=10, concurrency=None, least=1, most=9, mean=2, rise=1, at=1200, reaction=60)
    pods = pods_over(seconds, counts, target, 1.0, 0, 2400)
    assert pods[1000] == 1
    assert pods[1200 + 59] == 1  # the load rises, and nobody serves it yet
    assert pods[1200 + WINDOW_S + 60 + SYNC_S] == 3
    assert set(pods.tolist()) <= {1, 2, 3}


@pytest.mark.parametrize("reaction", [1.0, 15.0, 90.0, 100.0])
def test_the_shortest_log_with_a_target_is_known(reaction: float) -> None:
    def has_target(span: int) -> bool:
        seconds = np.arange(span)
        counts = np.full(span, 5)
        found = scaling_target(seconds, counts, factor=1.0, carries=3.0, mean=None, reaction=reaction, most=4)
        return found is not None

    assert has_target(shortest(reaction))
    assert not has_target(shortest(reaction) - 1)


def test_a_load_that_begins_from_nothing_needs_all_pods_all_the_time() -> None:
    seconds, counts = counted(np.concatenate([np.full(600, 1.0), np.zeros(3000), np.full(600, 30_000.0)]))
    found = scaling_target(seconds, counts, factor=1, carries=100, mean=0.1, reaction=90, most=330)
    assert found
    assert found.least >= 300


def test_what_is_older_than_a_year_does_not_count() -> None:
    seconds, counts = counted(np.full(3600, 50.0))
    old = np.concatenate([[0], seconds + 1_767_571_200]), np.concatenate([[1], counts])
    found = scaling_target(*old, factor=1, carries=10, mean=None, reaction=90, most=6)
    assert found
    assert found.rate == pytest.approx(10 / (1 + TOLERANCE))


@pytest.mark.parametrize("quiet", [10, 0])
def test_a_burst_beyond_the_most_pods_asks_for_all_of_them_and_is_told(quiet: int) -> None:
    """The load before the burst is 10/s for hours, or, for the last 50 minutes, nothing."""
    counts = np.concatenate([np.full(600, 10), np.full(3000, quiet), np.full(15, 100), np.full(3600, 10)])
    seconds = np.flatnonzero(counts)
    log = profile(MONDAY + np.repeat(seconds, counts[seconds]))
    found = planned(log, 10.0)
    assert found.scaling
    assert found.scaling.beyond == pytest.approx(100, rel=0.1)
    assert 10 * found.scaling.most < found.scaling.beyond
    assert found.scaling.least * 10 >= 40 or found.scaling.rate * 1.1 <= 100 / found.scaling.most
    assert f"which {found.scaling.most} pods do not carry: the target asks" in "".join(not_covered(found))
    assert as_dict(found)["autoscaling"]["beyond"] == found.scaling.beyond


@pytest.mark.parametrize("survive", [0, 1, 2])
def test_no_pods_carry_the_whole_log_beside_a_burst_that_those_left_do_not_carry(survive: int) -> None:
    counts = np.concatenate([np.full(3600, 2), np.full(15, 12), np.full(3600, 2)])
    log = profile(MONDAY + np.repeat(np.arange(len(counts)), counts))
    found = planned(log, 6.0, survive=survive)
    assert found.scaling
    assert found.scaling.most == 1 + survive
    said = dict(sentences(found))
    assert "whole log" not in said["autoscaling"]
    assert said["autoscaling"].endswith(": all pods run at all times, because bursts exceed what all of them carry")
    lost = f" ({survive} of {1 + survive} lost)" if survive else ""
    assert f"/s, which 1 pod does not carry{lost}: the target asks for all pods" in "".join(not_covered(found))


def test_a_log_whose_last_year_is_one_request_has_no_target_and_says_so() -> None:
    log = profile(np.append(MONDAY + np.arange(7200), MONDAY + 3 * 366 * 86_400))
    found = planned(log, 10.0)
    assert found.scaling is None
    assert found.no_scaling.startswith("the last year of the log is 1 s long; a target")


def test_pods_that_may_be_lost_are_asked_for_at_every_moment_of_the_log() -> None:
    log = profile(np.repeat(MONDAY + np.arange(7200), np.repeat([5, 25, 45], 2400)))
    for survive, number in ((0, 5), (1, 6), (2, 7)):
        found = planned(log, 10.0, survive=survive, reaction=60.0)
        target = found.scaling
        assert found.number.number == number
        assert target
        assert target.least >= 1 + survive
        pods = pods_over(*log.per_second, target, 1.0, MONDAY, 7200)
        assert ((pods - survive) * 10 >= log.per_second[1]).all()
        lost = f", {survive} of which may be lost"
        assert (lost in dict(sentences(found))["autoscaling"]) == bool(survive)


def test_a_log_that_one_pod_carries_keeps_two_where_one_may_be_lost() -> None:
    log = profile(MONDAY + np.arange(7200))
    found = planned(log, 1.0, survive=1)
    assert found.scaling
    assert (found.scaling.least, found.scaling.at) == (2, None)
