"""Schedules as tables: no clock, no socket."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.replay.schedules.arrivals import LogTimes, Poisson
from logreplay.replay.schedules.rates import Constant, Limited, Pacer, Profile, Ramp, Schedule, Steps, Together

SECOND = 1_000_000_000


def paced(schedule: Schedule, requests: int, pieces: int = 1) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Due times in ns, asked for in pieces."""
    pace = schedule.pacer()
    parts = [pace(part) for part in np.array_split(np.zeros(requests, np.int64), pieces)]
    return np.concatenate(parts)


def in_seconds(schedule: Schedule, starts: Sequence[float]) -> list[float]:
    """Due times in s of requests that the log has at these seconds of 2026."""
    begin = 1_767_225_600_000_000
    due = schedule.pacer()(np.array([begin + round(start * 1e6) for start in starts], np.int64))
    return [instant / SECOND for instant in due.tolist()]


PROFILES: tuple[Profile, ...] = (
    Constant(50, 10),
    Ramp(10, 90, 10),
    Ramp(90, 10, 10),
    Ramp(0, 100, 10),
    Steps(((20, 5.0), (80, 5.0))),
)


@pytest.mark.parametrize("rate", [0.5, 1, 3, 7.5, 100, 333, 1e6])
def test_a_constant_rate_for_whole_intervals_sends_exactly_rate_times_duration(rate: float) -> None:
    due = paced(Constant(rate, 8), 10 * max(8, min(int(8 * rate), 100_000)))
    assert len(due) == min(8 * rate, 10 * 100_000)
    assert (np.diff(due) >= 0).all()


def test_requests_keep_off_the_edges_of_seconds() -> None:
    for rate in (3, 50, 400):
        assert np.abs(paced(Constant(rate, 5), 5 * rate) % SECOND).min() >= SECOND / (2 * rate) - 1


@pytest.mark.parametrize("profile", PROFILES, ids=repr)
def test_each_profile_asks_for_500_requests_in_10_seconds(profile: Profile) -> None:
    due = paced(profile, 1000, pieces=7)
    assert len(due) == 500
    assert due[0] >= 0
    assert due[-1] < 10 * SECOND
    assert (np.diff(due) > 0).all()


@pytest.mark.parametrize("profile", PROFILES, ids=repr)
def test_when_inverts_the_rate_over_time(profile: Profile) -> None:
    """At each instant the number asked for grows by the rate that the profile has there."""
    counts = np.linspace(1, 499, 999)
    when = profile.when(counts)
    rates = np.diff(counts) / np.diff(when)
    match profile:
        case Constant():
            expected = np.full(998, 50.0)
        case Ramp(first, last, duration):
            expected = first + (last - first) / duration * (when[1:] + when[:-1]) / 2
        case Steps():
            expected = np.where(when[1:] <= 5, 20.0, 80.0)
    assert np.isclose(rates, expected, rtol=0.01).mean() > 0.995
    assert np.isinf(profile.when(np.array([501.0])))[0]


def test_a_ramp_sends_what_its_rate_says_in_each_second() -> None:
    due = paced(Ramp(0, 100, 10), 1000)
    per_second = np.bincount(due // SECOND)
    assert per_second.tolist() == [5, 15, 25, 35, 45, 55, 65, 75, 85, 95]


def test_steps_send_each_rate_for_its_time() -> None:
    due = paced(Steps(((10, 2), (30, 1), (5, 2))), 100)
    assert np.bincount(due // SECOND).tolist() == [10, 10, 30, 5, 5]


def test_pieces_make_no_difference() -> None:
    for schedule in (Constant(70, 9), Ramp(3, 90, 9), Poisson(Ramp(3, 90, 9), seed=4)):
        assert paced(schedule, 900, pieces=1).tolist()[:400] == paced(schedule, 900, pieces=13).tolist()[:400]


def test_poisson_gaps_are_exponential() -> None:
    from_poisson = np.diff(paced(Poisson(Constant(400), seed=1), 20_000)) / SECOND
    assert kolmogorov_smirnov(from_poisson, 400) < 1.63 / np.sqrt(20_000)  # the 1 % bound
    assert kolmogorov_smirnov(np.diff(paced(Constant(400), 20_000)) / SECOND, 400) > 0.3


def kolmogorov_smirnov(gaps: "np.ndarray[tuple[int], np.dtype[np.float64]]", rate: float) -> float:
    """Largest distance between the distribution of gaps and the exponential one."""
    ordered, n = np.sort(gaps), len(gaps)
    expected = 1 - np.exp(-rate * ordered)
    return float(max((np.arange(1, n + 1) / n - expected).max(), (expected - np.arange(n) / n).max()))


def test_poisson_follows_its_profile() -> None:
    counts = [len(paced(Poisson(Constant(100, 10), seed), 2000)) for seed in range(200)]
    assert abs(np.mean(counts) - 1000) < 4 * np.sqrt(1000 / 200)
    assert 0.7 < np.var(counts) / 1000 < 1.35
    ramped = np.concatenate([paced(Poisson(Ramp(0, 100, 10), seed), 2000) for seed in range(100)])
    per_second = np.bincount(ramped // SECOND) / 100
    assert np.allclose(per_second, [5, 15, 25, 35, 45, 55, 65, 75, 85, 95], rtol=0.15)


def test_a_seed_gives_the_same_instants_again() -> None:
    assert paced(Poisson(Constant(100), 5), 50).tolist() == paced(Poisson(Constant(100), 5), 50).tolist()
    assert paced(Poisson(Constant(100), 5), 50).tolist() != paced(Poisson(Constant(100), 6), 50).tolist()


def test_log_times_begin_at_once_and_keep_every_gap() -> None:
    assert in_seconds(LogTimes(), [10, 10.25, 10.25, 13]) == [0, 0.25, 0.25, 3]
    assert in_seconds(LogTimes(2), [10, 10.25, 10.25, 13]) == [0, 0.125, 0.125, 1.5]
    assert in_seconds(LogTimes(0.1), [10, 10.25]) == [0, 2.5]


def test_a_request_out_of_order_is_due_with_the_one_before_it() -> None:
    assert in_seconds(LogTimes(), [10, 12, 11, 13]) == [0, 2, 2, 3]


def test_a_request_without_a_time_is_due_with_the_one_before_it() -> None:
    pace = LogTimes().pacer()
    assert pace(np.array([0, 5_000_000, 0, 6_000_000])).tolist() == [0, 0, 0, SECOND]
    assert pace(np.array([0])).tolist() == [SECOND]


@given(
    st.lists(st.integers(0, 10**9), min_size=1, max_size=50),
    st.integers(1, 10),
    st.sampled_from([0.5, 1.0, 3.0]),
)
def test_log_times_do_not_drift(gaps: list[int], pieces: int, speed: float) -> None:
    starts = 1_767_225_600_000_000 + np.cumsum(np.array(gaps, np.int64))
    pace = LogTimes(speed).pacer()
    due = np.concatenate([pace(part) for part in np.array_split(starts, pieces)])
    assert np.abs(due - (starts - starts[0]) * 1000 / speed).max() <= 1


def test_limits_cut_any_schedule() -> None:
    assert len(paced(Limited(Poisson(Constant(100)), requests=7), 50, pieces=5)) == 7
    assert len(paced(Limited(Constant(100), seconds=0.25), 50)) == 25
    assert in_seconds(Limited(LogTimes(), seconds=3), [10, 12, 13, 14]) == [0, 2]
    assert Limited(Constant(100, 9), seconds=3).duration == 3
    assert Limited(LogTimes(), seconds=3).duration == 3
    assert Limited(Constant(100, 9), requests=3).duration is None


def test_requests_of_a_group_share_their_instant() -> None:
    inner = Limited(Constant(100), requests=7)
    assert paced(Together(inner, 3), 30).tolist() == np.repeat(paced(inner, 10), 3).tolist()
    assert in_seconds(Together(LogTimes(), 2), [10, 10, 12, 12, 13, 13]) == [0, 0, 2, 2, 3, 3]
    assert (Together(Constant(100, 9), 2).rate, Together(Constant(100, 9), 2).duration) == (200, 9)


def test_a_schedule_of_ones_own_composes() -> None:
    class Pairs:
        rate, duration = 2.0, None

        def pacer(self) -> Pacer:
            return lambda starts: (np.arange(len(starts)) // 2) * SECOND

    assert (paced(Limited(Pairs(), requests=5), 10) / SECOND).tolist() == [0, 0, 1, 1, 2]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Ramp(0, 0, 10), r"a ramp needs rates above 0 requests/s, got 0\.\.0"),
        (lambda: Ramp(-1, 5, 10), r"a ramp needs rates above 0 requests/s, got -1\.\.5"),
        (lambda: Ramp(1, 5, 0), r"duration must be above 0 s, got 0"),
        (lambda: Steps(()), r"steps need rates and durations above 0, got \(\)"),
        (lambda: LogTimes(0), r"speed must be above 0, got 0"),
        (lambda: Limited(Constant(1), requests=-1), r"requests must not be below 0, got -1"),
        (lambda: Constant(0), r"rate must be above 0 and at most 10,000,000 requests/s, got 0"),
    ],
)
def test_impossible_schedules_say_why(make: "object", text: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=f"^{text}$"):
        make()
