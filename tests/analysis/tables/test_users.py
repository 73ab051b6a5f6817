"""Where the throughput of a closed system levels off, and how many users that takes."""

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

import numpy as np
import polars as pl
import pytest

from logreplay.analysis.input.arrays import read
from logreplay.analysis.input.run_metadata import ClosedLoop
from logreplay.analysis.tables.users import UsersSweep, UsersVerdict, _idle, _pooled, judge_users, users_table
from support.closed_systems import ClosedSystem

FIVE, TWENTY, NEVER = ClosedSystem(5), ClosedSystem(20), ClosedSystem(None)
TWENTY_THAT_THINK, NEVER_THAT_THINK = ClosedSystem(1, 0.05, 0.95), ClosedSystem(None, 0.1, 0.9)
DOUBLED = (1, 2, 4, 8, 16, 32, 64)


def exact(users: list[int], workers: int = 8, service: float = 0.02, think: float = 0.0) -> pl.DataFrame:
    """What N users of K workers see: N / (R + Z) up to K / D, then N D / K - Z."""
    rows = []
    for count in users:
        rate = min(count / (service + think), workers / service)
        response = count / rate - think
        ranged = {"throughput": rate, "throughput_low": 0.99 * rate, "throughput_high": 1.01 * rate}
        rows.append({"users": count, **ranged, "mean": response, "mean_error": 0.0, "p90": response})
    return pl.DataFrame(rows)


def failing(those: pl.Expr) -> pl.DataFrame:
    """Levels of which some had no answer."""
    times = (pl.when(~those).then(name).alias(name) for name in ("mean", "mean_error", "p90"))
    return exact([1, 2, 4, 8, 16]).with_columns(
        pl.when(those).then(0.0).otherwise("throughput").alias("throughput"), *times
    )


def judged(system: ClosedSystem, users: Sequence[int], seed: int, seconds: float = 10.0) -> UsersVerdict:
    closed = ClosedLoop(dict(enumerate(users)), system.think_s, seconds)
    return UsersSweep.of(read(system.sweep(users, seconds, seed)), closed).verdict


def test_the_plateau_begins_where_all_workers_are_busy() -> None:
    verdict = judge_users(exact([1, 2, 4, 8, 16, 100]))
    assert (verdict.plateau, verdict.enough) == (8, 8)
    assert verdict.throughput == pytest.approx(400)
    assert verdict.crossing == pytest.approx(8)
    assert verdict.sentence.startswith("throughput stops growing at 8 users, at 400/s (")
    assert "; the asymptotes cross at N* = 8 users (" in verdict.sentence
    assert verdict.sentence.endswith("with more, users wait for each other (p90 20 ms with 1, 250 ms with 100)")


def test_a_target_held_up_at_first_is_not_taken_to_need_more_users() -> None:
    """A pause in the first level: more users cannot wait less than one."""
    table = exact([1, 2, 4, 8, 16]).with_columns(mean=pl.when(pl.col("users") == 1).then(0.06).otherwise("mean"))
    verdict = judge_users(table)
    assert (verdict.plateau, verdict.enough) == (8, 8)


def test_think_time_needs_more_users() -> None:
    verdict = judge_users(exact([10, 50, 100, 150, 208, 300, 400], think=0.5), think=0.5)
    assert (verdict.plateau, verdict.enough) == (208, 208)


def test_a_sweep_that_begins_beyond_saturation_says_so() -> None:
    """The classic mistake: 5,000 to 35,000 users, all with the same throughput and ever longer waits."""
    verdict = judge_users(exact([5000, 15_000, 35_000]))
    assert verdict.saturated_at_first
    assert (verdict.plateau, verdict.enough) == (5000, None)
    assert verdict.sentence.startswith("saturated at 400/s (")
    assert (
        " with the fewest users, 5000, already: more users only wait longer (p90 12.5 s with 5000, " in verdict.sentence
    )


def test_a_throughput_that_still_grows_has_no_plateau() -> None:
    verdict = judge_users(exact([1, 2, 4]))
    assert (verdict.plateau, verdict.enough) == (None, None)
    assert verdict.sentence.startswith("throughput still grew at 4 users, to 200/s (")
    assert verdict.sentence.endswith("): try more, such as --vusers 4,8,16")


def test_one_level_says_nothing_of_saturation() -> None:
    verdict = judge_users(exact([50]))
    assert (verdict.plateau, verdict.saturated_at_first, verdict.enough) == (None, False, None)
    assert verdict.sentence.startswith("one number of users does not show saturation: 50 users got 400/s (")
    assert verdict.sentence.endswith("; try --vusers 1,12,50,200")
    assert ": 1 user got " in judge_users(exact([1])).sentence


@pytest.mark.parametrize("users", [[1, 2, 4], [4, 8, 16], [100, 200]])
def test_several_trials_of_as_many_users_count_as_one(users: list[int]) -> None:
    once = judge_users(exact(users))
    both = judge_users(pl.concat([exact(users), exact(users)]))
    assert (both.plateau, both.throughput, both.crossing) == (once.plateau, once.throughput, once.crossing)
    assert both.throughput_high <= once.throughput_high


def test_nothing_answered_says_nothing() -> None:
    table = exact([1]).with_columns(throughput=0.0, mean=None, p90=None, mean_error=None)
    assert judge_users(table).sentence == "no response came within its step: no throughput was measured"


@pytest.mark.parametrize(("silent", "said"), [(1, "with 1 user no "), (2, "with 1, 2 users no ")])
def test_fewest_users_without_an_answer_are_left_out_and_named(silent: int, said: str) -> None:
    verdict = judge_users(failing(pl.col("users") <= silent))
    assert (verdict.plateau, verdict.enough) == (8, 8)
    assert verdict.sentence.startswith(f"{said}request was answered as expected; throughput stops growing at 8 users")


def test_most_users_without_an_answer_say_nothing_of_waiting() -> None:
    assert judge_users(failing(pl.col("users") == 16)).sentence.endswith("(p90 20 ms with 1, 20 ms with 8)")


@pytest.mark.parametrize(
    ("rates", "errors", "error"), [([100, 110], [0, 0], 5), ([100, 100, 100], [6, 6, 6], 2 * sqrt(3)), ([100], [6], 6)]
)
def test_a_plateau_is_as_sure_as_the_mean_of_its_levels(rates: list[int], errors: list[int], error: float) -> None:
    assert _pooled(np.array(rates, float), np.array(errors, float)) == pytest.approx((np.mean(rates), error))


@pytest.mark.parametrize(("later", "idle"), [(0.58, 0.58), (0.59, 1.0)])
def test_where_more_users_wait_surely_less_the_first_level_was_held_up(later: float, idle: float) -> None:
    """By three standard errors of both: 3 x sqrt(0.12^2 + 0.07^2) = 0.417 s."""
    levels = pl.DataFrame({"mean": [1.0, later, 2.0], "mean_error": [0.12, 0.07, 0.1]})
    assert _idle(levels)[0] == idle


def test_two_trials_of_one_level_tell_its_range_by_students_t_of_one_degree_of_freedom() -> None:
    table = pl.concat([exact([8]), exact([8])]).with_columns(throughput=pl.Series([390.0, 410.0]))
    verdict = judge_users(table)
    assert (verdict.throughput_low, verdict.throughput_high) == pytest.approx((400 - 127.06, 400 + 127.06), abs=0.1)


def test_answers_after_the_end_of_a_step_and_errors_are_no_throughput() -> None:
    refusing = users_table(
        read(ClosedSystem(5, refuses=10).sweep((4, 64), 10, 1)), ClosedLoop({0: 4, 1: 64}, 0.0, 10.0)
    )
    assert refusing["errors"].to_list()[0] == 0 < refusing["errors"].to_list()[1]
    assert refusing["throughput"].to_list() == pytest.approx([40, 50], rel=0.15)
    late = users_table(read(ClosedSystem(1, 1.0, spread=0).sweep((20,), 10, 1)), ClosedLoop({0: 20}, 0.0, 10.0))
    assert late["throughput"].to_list() == pytest.approx([1], rel=0.15)


@pytest.mark.parametrize(
    ("system", "users", "seconds"),
    [
        (FIVE, DOUBLED, 10), (FIVE, (1, 10, 50, 100), 10), (TWENTY, DOUBLED, 10), (TWENTY, (10, 20, 40, 80), 10),
        (TWENTY_THAT_THINK, DOUBLED, 20), (ClosedSystem(5, spread=0), DOUBLED, 10),
        (ClosedSystem(5, refuses=10), DOUBLED, 10),
    ],
)  # fmt: skip
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_a_system_that_saturates_is_found_to_do_so_where_it_does(
    system: ClosedSystem, users: Sequence[int], seconds: float, seed: int
) -> None:
    verdict = judged(system, users, seed, seconds)
    assert verdict.plateau, verdict.sentence
    assert verdict.plateau <= max(2.5 * system.crossing, users[1])
    assert verdict.throughput == pytest.approx(system.capacity, rel=0.12)
    assert verdict.crossing is not None
    assert verdict.crossing == pytest.approx(system.crossing, rel=0.5)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_system_saturated_at_five_is_not_said_to_need_fifty(seed: int) -> None:
    verdict = judged(FIVE, (10, 50, 100), seed)
    assert verdict.plateau == 10
    assert verdict.saturated_at_first
    assert verdict.enough is None
    assert verdict.throughput_low <= 50 <= verdict.throughput_high


@pytest.mark.parametrize(
    ("system", "users"),
    [(NEVER, DOUBLED), (NEVER, (40, 50, 60, 64)), (NEVER_THAT_THINK, DOUBLED), (ClosedSystem(70), DOUBLED)],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_no_plateau_is_invented(system: ClosedSystem, users: Sequence[int], seed: int) -> None:
    verdict = judged(system, users, seed)
    assert verdict.plateau is None, verdict.sentence


def test_a_mean_is_less_sure_if_the_machine_was_slow_for_half_of_the_step() -> None:
    """One user for 10 s: 0.1 s for each request, then 0.2 s. The standard error of independent requests is 5 ms."""
    starts = [0.1 * each for each in range(50)] + [5 + 0.2 * each for each in range(25)]
    rows = FIVE.sweep((1,), 10, 1).head(75)
    slow = rows.with_columns(scheduled=pl.Series(starts), latency=pl.Series([0.1] * 50 + [0.2] * 25))
    row = users_table(read(slow), ClosedLoop({0: 1}, 0.0, 10.0)).row(0, named=True)
    assert row["mean"] == pytest.approx(0.1333, rel=0.01)
    assert row["mean_error"] > 0.015


def test_the_range_of_the_crossing_holds_the_truth_where_the_speed_of_the_machine_wanders() -> None:
    """In 95 %, but for chance; in two thirds if requests counted as independent."""
    wandering = ClosedSystem(5, spread=0, wander=0.2, wander_s=2)
    verdicts = [judged(wandering, DOUBLED, seed, 30) for seed in range(24)]
    held = [each.crossing_low <= 5 <= (each.crossing_high or 0) for each in verdicts if each.crossing_low is not None]
    assert len(held) >= 20
    assert sum(held) / len(held) >= 0.85


@pytest.mark.slow
@pytest.mark.parametrize("wander", [0.0, 0.2])
def test_the_ranges_hold_the_truth(wander: float) -> None:
    """In 95 % of 40 sweeps, but for chance."""
    cases: list[tuple[ClosedSystem, Sequence[int], float]] = [
        (FIVE, DOUBLED, 10), (TWENTY, (10, 20, 40, 80), 10), (TWENTY_THAT_THINK, DOUBLED, 20), (FIVE, (1, 10, 50), 5),
    ]  # fmt: skip
    found: list[tuple[bool, bool]] = []
    for system, users, seconds in cases:
        system = replace(system, wander=wander)
        for seed in range(1000, 1010):
            verdict = judged(system, users, seed, seconds)
            if verdict.plateau and verdict.crossing_low is not None:
                capacity = verdict.throughput_low <= system.capacity <= verdict.throughput_high
                found.append((capacity, verdict.crossing_low <= system.crossing <= (verdict.crossing_high or 0)))
    assert len(found) >= 32
    assert min(sum(held) / len(found) for held in zip(*found, strict=True)) >= 0.85
