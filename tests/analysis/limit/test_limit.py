"""What the limit of a sweep looks like, of simulated systems whose limit is known."""

import numpy as np
import polars as pl
import pytest

import limit_systems
import simulate
from limit_systems import FAMILIES, Limited, answered, swept, unlimited
from logreplay.analysis.analyze import analyse, verdict_on
from logreplay.analysis.input import arrays
from logreplay.analysis.limit.limit import limit_of
from logreplay.analysis.limit.sentences import TargetLimit
from logreplay.analysis.verdict.stability import judged_steps
from simulate import SimulatedQueue
from support.simulated_systems import SYSTEMS


def judged(log: pl.DataFrame) -> TargetLimit:
    requests = arrays.read(log)
    found = limit_of(requests, verdict_on(requests, judged_steps(requests)))
    assert found
    return found


def of_family(name: str, seed: int) -> tuple[Limited, TargetLimit]:
    rng = np.random.default_rng(seed)
    system = {**FAMILIES, "none": unlimited}[name](rng)
    return system, judged(swept(system, rng))


@pytest.mark.parametrize("name", FAMILIES)
def test_the_kind_of_a_simulated_limit_is_right_and_only_two_systems_may_have_none(name: str) -> None:
    system, found = of_family(name, 2)
    untold = name in ("a pool for 60 % of the requests", "slow at first")
    assert found.kind in system.kinds or (untold and found.kind is None), found.text


def test_four_even_workers_are_named_with_their_number_and_their_time() -> None:
    plan = simulate.sweep(range(50, 301, 25), 10, np.random.default_rng(3), pause_s=10)
    rng = np.random.default_rng(4)

    def serve(arrived: limit_systems.Floats) -> limit_systems.Answered:
        work = rng.normal(0.016, 0.0005, len(arrived))
        return limit_systems.Answered(simulate.waits(arrived, work, 4) + work)

    found = judged(answered(Limited(("workers",), 4, 250, serve), plan))
    assert (found.kind, found.at_once) == ("workers", 4)
    assert found.low
    assert found.high
    assert found.low < 4 < found.high
    assert found.service_s == pytest.approx(0.016, rel=0.02)
    assert "4 workers (" in found.text
    assert ") of 16 ms, " in found.text


@pytest.mark.parametrize("outside_s", [0.0, 0.01])
def test_workers_that_keep_step_are_not_taken_for_batches(outside_s: float) -> None:
    """Those of one event loop end together; requests that come alone need not wait for one another."""
    plan = simulate.sweep(range(50, 301, 25), 10, np.random.default_rng(3), pause_s=10)

    def serve(arrived: limit_systems.Floats) -> limit_systems.Answered:
        free, ended = [0.0] * 4, np.empty(len(arrived))
        for index, at in enumerate(arrived.tolist()):
            free.sort()
            begin = at if free[0] <= at else np.ceil(free[0] / 0.016 - 1e-6) * 0.016
            ended[index] = free[0] = max(begin, at) + 0.016
        return limit_systems.Answered(ended - arrived + outside_s)

    found = judged(answered(Limited(("workers",), 4, 250, serve), plan))
    assert found.kind in (None, "workers"), found.text


def test_a_sweep_whose_requests_were_sent_late_names_no_cause() -> None:
    plan = simulate.sweep(range(50, 301, 25), 10, np.random.default_rng(3), pause_s=10)
    work = np.full(len(plan.scheduled), 0.016)
    log = simulate.results(plan, simulate.waits(plan.scheduled, work, 4) + work)
    assert judged(log).kind == "workers"
    late = log.with_columns(lag=pl.when(pl.int_range(pl.len()) % 10 == 0).then(0.02).otherwise(pl.col("lag")))
    assert judged(late).kind is None
    assert "requests were sent late" in judged(late).text


def test_nothing_is_named_below_saturation() -> None:
    _, found = of_family("none", 5)
    assert found.kind is None
    assert "no rate of the sweep reached it" in found.text


def test_a_run_at_one_rate_has_no_limit() -> None:
    rng = np.random.default_rng(6)
    log = simulate.serve(simulate.sweep([100], 5, rng), SimulatedQueue(2, 0.01), rng)
    requests = arrays.read(log)
    assert limit_of(requests, verdict_on(requests, judged_steps(requests))) is None


def test_requests_that_this_machine_held_back_tell_nothing_of_the_target() -> None:
    rng = np.random.default_rng(7)
    log = simulate.serve(
        simulate.sweep(range(50, 301, 25), 10, rng, pause_s=10), SimulatedQueue(4, 0.016, "fixed"), rng
    )
    held = log.with_columns(queued=pl.when(pl.col("latency") > 0.05).then(0.02).otherwise(0.0))
    found = judged(held)
    assert found.kind is None
    assert "held requests back" in found.text


def test_a_summary_has_the_limit_of_a_sweep_only() -> None:
    rng = np.random.default_rng(8)
    log = simulate.serve(simulate.sweep(range(50, 301, 25), 5, rng, pause_s=5), SimulatedQueue(4, 0.016, "fixed"), rng)
    limit = analyse(log).summary["limit"]
    assert (limit["kind"], limit["at_once"]) == ("workers", 4)
    assert set(limit) == {"kind", "at_once", "low", "high", "service_s", "text", "advice", "watched"}
    assert "limit" not in analyse(log.filter(pl.col("step") == 0)).summary


def test_requests_that_take_no_time_by_the_log_are_no_error() -> None:
    rng = np.random.default_rng(9)
    log = simulate.serve(
        simulate.sweep(range(50, 301, 25), 5, rng, pause_s=5), SimulatedQueue(4, 0.016, "exponential"), rng
    )
    assert judged(log.with_columns(latency=pl.when(pl.col("latency") > 0.02).then("latency").otherwise(0.0))).text


@pytest.mark.parametrize("name", ["noisy neighbours", "two back ends", "bimodal"])
def test_an_uneven_target_is_not_said_to_pause_or_to_fall_back(name: str) -> None:
    system = next(each for each in SYSTEMS if each.name == name)
    rng = np.random.default_rng(11)
    found = judged(system.serve(system.sweeps[2].arrivals(rng), rng))
    assert found.kind in (None, "workers"), found.text
