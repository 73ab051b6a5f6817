"""The goal of a search refuses what makes no sense, and rounds rates as people write them."""

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.search.bounds import Bound
from logreplay.analysis.search.trials import Answer, Goal, Trial, Why

P99 = Bound("p99", 0.3)


def goal(**changes: Any) -> Goal:
    return Goal(**{"bounds": (P99,), **changes})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"bounds": ()}, "a search needs a bound, such as p99 <= 300 ms"),
        ({"start": 0.0}, "the lowest rate must be above 0 requests/s, got 0.0"),
        ({"start": -1.0}, "the lowest rate must be above 0 requests/s, got -1.0"),
        ({"start": math.inf}, "the lowest rate must be above 0 requests/s, got inf"),
        ({"start": math.nan}, "the lowest rate must be above 0 requests/s, got nan"),
        ({"highest": 10.0}, "--max-tps 10 is below the lowest rate, --start 50"),
        ({"precision": 0.001}, "--precision must be from 0.5 % to 50 %, got 0.1 %"),
        ({"precision": 0.9}, "--precision must be from 0.5 % to 50 %, got 90 %"),
        ({"precision": math.nan}, "--precision must be from 0.5 % to 50 %, got nan %"),
        ({"trial_s": 0.5}, "a trial (--trial) must last at least 1 s, got 0.5 s"),
        ({"trial_s": math.nan}, "a trial (--trial) must last at least 1 s, got nan s"),
        ({"trials": 0}, "a search needs at least 1 trial, got 0"),
    ],
)
def test_a_goal_that_makes_no_sense_is_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(problem) + "$"):
        goal(**changes)


@given(st.floats(0.001, 1e7))
def test_a_rounded_rate_is_a_little_lower_at_most_and_stays_when_rounded_again(rate: float) -> None:
    rounded = goal().rounded(rate)
    assert rate * 0.999 <= rounded <= rate * (1 + 1e-9)
    assert goal().rounded(rounded) == rounded
    assert float(f"{rounded:.4g}") == rounded


@given(st.integers(1, 10**6))
def test_users_are_whole(number: int) -> None:
    assert goal(users=True).rounded(number) == number
    assert goal(users=True).rounded(number + 0.9) == number


@pytest.mark.parametrize(
    ("rate", "users", "text"),
    [
        (None, False, "–"),
        (0.5, False, "0.5/s"),
        (123.4, False, "123.4/s"),
        (9999.0, False, "9,999/s"),
        (123_456.0, False, "123,456/s"),
        (1.0, True, "1 user"),
        (2000.0, True, "2,000 users"),
    ],
)
def test_a_rate_is_written_as_people_write_it(rate: float | None, users: bool, text: str) -> None:
    assert goal(users=users).text(rate) == text


def test_a_trial_lasts_a_minute_or_as_long_as_its_bound_needs_requests() -> None:
    rare = goal(bounds=(P99, Bound("p999", 0.3)))
    assert rare.needs == Bound("p999", 0.3).needs > P99.needs
    assert goal().full_s(1e6) == 60
    assert rare.full_s(1.0) == rare.needs
    assert rare.full_s(1.0) * 1.0 >= rare.needs
    assert goal(budget_s=120.0).full_s(1000) == 12
    assert goal(trial_s=7.0).full_s(1.0) == 7
    assert goal(users=True).full_s(1.0) == 60


@pytest.mark.parametrize("budget", [60.0, 120.0, 300.0, 900.0])
def test_a_confirmation_lasts_longer_with_a_longer_budget(budget: float) -> None:
    assert goal(budget_s=2 * budget).confirming_s(200)[1] >= goal(budget_s=budget).confirming_s(200)[1] >= 0.45 * budget


def test_a_trial_lasts_as_long_as_both_of_its_parts() -> None:
    assert Trial(1, "ramp", 50, 5, 60).seconds == 65


@pytest.mark.parametrize(
    ("why", "holds"),
    [("found", True), ("at-least", True), ("open", False), ("unproven", False), ("drifted", False), ("not-met", False)],
)
def test_only_a_confirmed_rate_may_be_promised(why: Why, holds: bool) -> None:
    answer = Answer(why, 103.0, 110.0, False, 107.0, (101.0, 112.0), None, 6000, ())
    assert answer.holds is holds
