"""Peaks, bursts, rises and gaps are those that one finds by looking at every second."""

import math
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.demand import rates
from logreplay.analysis.demand.rates import HOUR, MINUTE
from logreplay.analysis.statistics.quantiles import Ints

SECONDS = st.lists(st.integers(0, 400), min_size=1, max_size=60).map(sorted)
DAY = 24 * HOUR
MONDAY = 1_767_571_200
"""2026-01-05, 00:00 UTC."""


def counted(starts: list[int]) -> tuple[Ints, Ints]:
    seconds, counts = np.unique(np.array(starts, np.int64), return_counts=True)
    return seconds, counts


def hours_of(days: Iterable[int], hours: int) -> Ints:
    """The seconds of the first hours of some days, each with a request."""
    return np.concatenate([np.arange(day * DAY, day * DAY + hours * HOUR) for day in days])


@given(SECONDS, st.integers(1, 120))
def test_the_busiest_window_is_the_one_with_most_of_all_that_begin_with_any_second(
    starts: list[int], window: int
) -> None:
    found = rates.busiest(*counted(starts), window)
    if starts[-1] - starts[0] + 1 < window:
        assert found is None
        return
    assert found
    inside = [sum(begin <= start < begin + window for start in starts) for begin in range(401)]
    assert found.requests == max(inside)
    assert inside[found.at] == found.requests
    assert found.rate == found.requests / window


@given(SECONDS, st.integers(1, 60))
def test_the_steepest_rise_lies_between_two_whole_windows(starts: list[int], window: int) -> None:
    found = rates.steepest(*counted(starts), window)
    first, end = starts[0], starts[-1] + 1
    places = [begin for begin in {*starts} if begin - window >= first and begin + window <= end]

    def both(begin: int) -> tuple[int, int]:
        return sum(begin - window <= s < begin for s in starts), sum(begin <= s < begin + window for s in starts)

    most = max((after - before for before, after in map(both, places)), default=0)
    if found is None:
        steep = [place for place in places if np.subtract(*both(place)[::-1]) == most]
        assert not steep or any(most <= 3 * math.sqrt(sum(both(place))) for place in steep)
    else:
        assert found.after - found.before == pytest.approx(most / window)
        assert (found.before, found.after) == tuple(count / window for count in both(found.at))


def test_a_rate_that_only_falls_has_no_rise() -> None:
    drawn = np.random.default_rng(7).poisson(np.linspace(60, 50, 600))
    assert rates.steepest(np.arange(600), drawn, MINUTE) is None


def test_a_stamp_of_a_clock_that_was_not_set_takes_no_memory() -> None:
    assert rates.dispersion(*counted([0, *range(MONDAY, MONDAY + 120)]), 1) >= 0
    assert rates.hours(*counted([MONDAY - 9 * 365 * 24 * HOUR, MONDAY]), "UTC")["requests"].sum() == 2


@pytest.mark.parametrize(("bunch", "low", "high"), [(1, 0.9, 1.1), (5, 4.5, 5.5)])
def test_independent_requests_have_a_dispersion_of_one_and_bunches_their_size(
    bunch: int, low: float, high: float
) -> None:
    drawn = np.random.default_rng(7).poisson(8, 3600) * bunch
    seconds = np.flatnonzero(drawn)
    assert low < rates.dispersion(seconds, drawn[seconds], 1) < high


def test_the_course_of_a_day_is_no_burst() -> None:
    rising = np.random.default_rng(7).poisson(np.linspace(1, 50, 7200))
    seconds = np.flatnonzero(rising)
    assert 0.9 < rates.dispersion(seconds, rising[seconds], 1) < 1.2


def test_a_log_shorter_than_a_minute_has_no_dispersion() -> None:
    assert math.isnan(rates.dispersion(*counted([0, 3, 58]), 1))
    assert not math.isnan(rates.dispersion(*counted([0, 3, 59]), 1))


def test_a_gap_is_named_where_the_hours_around_it_expect_many() -> None:
    busy = [*range(0, 3600, 10), *range(4200, 7800, 10)]
    (found,) = rates.gaps(*counted(busy))
    assert (found.at, found.seconds) == (3591, 609)
    assert found.expected == pytest.approx(61, abs=1)
    assert not rates.gaps(*counted(busy[::20]))


def test_empty_times_are_told_where_they_make_up_most_of_a_log() -> None:
    decade = 3652 * 24 * HOUR
    logs = [*range(60), *range(decade, decade + 60), *range(2 * decade, 2 * decade + 60)]
    begins, lengths = rates.idle(np.array(logs))
    assert (begins.tolist(), lengths.tolist()) == ([60, decade + 60], [decade - 60] * 2)
    assert len(rates.idle(np.array([5]))[0]) == 0


@pytest.mark.parametrize("logs", [2, 10, 12, 60])
def test_empty_times_between_monthly_logs_are_told_however_many_there_are(logs: int) -> None:
    lengths = rates.idle(hours_of([30 * log for log in range(logs)], 1))[1]
    assert lengths.tolist() == [30 * DAY - HOUR] * (logs - 1)


@pytest.mark.parametrize(
    ("days", "hours"),
    [
        pytest.param(range(5), 8, id="business days"),
        pytest.param(range(9), 1, id="an hour a day"),
        pytest.param([*range(5), *range(7, 12)], 8, id="a weekend"),
        pytest.param([day for day in range(90) if day % 7 < 5], 8, id="weekends"),
    ],
)
def test_nights_and_weekends_are_no_empty_times_between_logs(days: Iterable[int], hours: int) -> None:
    assert len(rates.idle(hours_of(days, hours))[0]) == 0


def test_rare_requests_are_no_logs_with_empty_times_between_them() -> None:
    rare = np.random.default_rng(1).exponential(2 * DAY, 200).cumsum().astype(np.int64)
    assert len(rates.idle(rare)[0]) == 0


def test_the_longest_pause_is_that_within_a_log() -> None:
    assert rates.longest_pause(hours_of([0, 1, 400, 401], 8)) == 16 * HOUR + 1
    assert rates.longest_pause(hours_of([0, 400], 8)) == MINUTE
    assert rates.longest_pause(np.array([5])) == MINUTE


def test_each_hour_has_its_row_also_without_a_request() -> None:
    table = rates.hours(*counted([MONDAY + 1800, MONDAY + 1800, MONDAY + 2 * HOUR]), "UTC")
    assert table["requests"].to_list() == [2, 0, 1]
    assert table["covered"].to_list() == [1800, 3600, 1]
    assert table["busiest_minute"].to_list() == [2 / MINUTE, 0, 1 / MINUTE]
    assert table["busiest_second"].to_list() == [2, 0, 1]


def test_hours_are_those_of_the_zone_also_when_its_clock_is_changed() -> None:
    """In Berlin, the hour from 2 to 3 came twice on 2026-10-25, and not at all on 2026-03-29."""
    autumn = pl.datetime(2026, 10, 24, 22).dt.epoch("s")
    begin = int(pl.select(autumn).item())
    table = rates.hours(*counted([*range(begin, begin + 25 * HOUR, HOUR)]), "Europe/Berlin")
    assert table["hour"].dt.hour().to_list() == [0, 1, 2, 2, *range(3, 24)]
    weeks = rates.week(table)
    assert weeks.filter(pl.col("hour") == 2)["requests"].to_list() == [2]
    assert weeks["day"].to_list() == [6] * 24


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("Australia/Lord_Howe", datetime(2026, 4, 4, tzinfo=UTC)),
        ("Australia/Lord_Howe", datetime(2026, 10, 3, tzinfo=UTC)),
        ("Pacific/Chatham", datetime(2026, 4, 4, tzinfo=UTC)),
        ("Pacific/Chatham", datetime(2026, 9, 26, tzinfo=UTC)),
        ("Asia/Pyongyang", datetime(2018, 5, 4, tzinfo=UTC)),
        ("Asia/Kathmandu", datetime(1985, 12, 31, tzinfo=UTC)),
    ],
)
def test_hours_are_those_of_the_clock_where_it_is_changed_within_one(zone: str, day: datetime) -> None:
    """After a change by half an hour each hour had a second row, and twice its rate; Kathmandu's ended in an error."""
    begin = int(day.timestamp()) + 1800
    starts = range(begin, begin + 48 * HOUR, MINUTE)
    clock = Counter((at.weekday(), at.hour) for each in starts for at in [datetime.fromtimestamp(each, ZoneInfo(zone))])
    table = rates.week(rates.hours(*counted([*starts]), zone))
    assert {(row["day"], row["hour"]): row["requests"] for row in table.iter_rows(named=True)} == clock
    assert table["rate"].to_numpy() == pytest.approx(1 / MINUTE, rel=0.1)
    assert table["covered"].sum() == starts[-1] - starts[0] + 1


@given(st.lists(st.integers(MONDAY, MONDAY + 8 * 24 * HOUR), min_size=1, max_size=80).map(sorted))
def test_the_week_has_every_request(starts: list[int]) -> None:
    table = rates.hours(*counted(starts), "Asia/Kolkata")
    found = rates.week(table)
    assert found["requests"].sum() == table["requests"].sum() == len(starts)
    assert found["covered"].sum() == starts[-1] - starts[0] + 1


def test_the_beginning_of_a_log_after_years_is_no_rise() -> None:
    """It was told as a rise from 0 requests/s."""
    steady = np.arange(10 * MINUTE)
    assert rates.steepest(*counted([*steady, *(3653 * DAY + steady)]), MINUTE) is None
    rising = counted([*steady, *(3653 * DAY + steady), *(3653 * DAY + 10 * MINUTE + steady).repeat(5)])
    found = rates.steepest(*rising, MINUTE)
    assert found
    assert (found.at, found.before, found.after) == (3653 * DAY + 10 * MINUTE, 1, 5)


def test_the_hours_of_logs_years_apart_are_covered_where_the_logs_are() -> None:
    """The years between counted as hours without requests."""
    logs = np.array([*range(HOUR // 2, 2 * HOUR), *range(3653 * DAY, 3653 * DAY + HOUR)])
    table = rates.without_idle(rates.hours(*counted(logs.tolist()), "UTC"), *rates.idle(logs))
    assert table["covered"].to_list() == [HOUR // 2, HOUR, HOUR]
    assert table["rate"].to_list() == [1, 1, 1]
    assert rates.without_idle(table, *rates.idle(logs[:HOUR])).equals(table)


def test_the_empty_times_before_an_instant_are_those_that_have_passed() -> None:
    begins, lengths = np.array([10, 100]), np.array([50, 7])
    passed = rates.idle_before(np.array([0, 10, 11, 59, 60, 99, 100, 103, 107, 500]), begins, lengths)
    assert passed.tolist() == [0, 0, 1, 49, 50, 50, 50, 53, 57, 57]
    assert rates.idle_before(np.array([5, 6]), begins[:0], lengths[:0]).tolist() == [0, 0]
