"""The range of demand is that of chance, and of the differences between weeks; hours have their seasonal forecast."""

import math
from functools import cache

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.demand.log_profile import LogProfile, profile_of
from logreplay.analysis.demand.rates import HOUR, MINUTE
from logreplay.analysis.planning import demand_range
from logreplay.analysis.statistics.quantiles import Ints

MONDAY = 1_767_571_200
"""2026-01-05, 00:00 UTC."""
DAY = 24 * HOUR
WEEK = 7 * DAY


def profile(starts: "np.ndarray[tuple[int], np.dtype[np.int64]]", zone: str = "UTC") -> LogProfile:
    """The profile of requests to one URL that start in these seconds."""
    rows = pl.DataFrame({"start": np.sort(starts) * 1_000_000}).with_columns(
        url=pl.lit("/a"), op=pl.lit("GET"), rc=pl.lit(200), bytes=pl.lit(10), latency=pl.lit(0.0), xfertime=pl.lit(0.0)
    )
    found = profile_of([rows], zone)
    assert found
    return found


def regular(rate_of_hour: list[float], weeks: int = 1) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Evenly spaced requests of these rates, an hour each, again and again for some weeks."""
    parts = []
    for hour in range(weeks * 7 * 24):
        rate = rate_of_hour[hour % len(rate_of_hour)]
        parts.append(MONDAY + hour * HOUR + np.arange(int(rate * HOUR)) / rate)
    return np.concatenate(parts).astype(np.int64)


@cache
def two_hours(seed: int) -> LogProfile:
    """A log of 3,000 requests at random times."""
    return profile(MONDAY + np.random.default_rng(seed).integers(0, 2 * HOUR, 3000))


def test_the_rate_is_that_of_the_busiest_window() -> None:
    starts = np.concatenate([MONDAY + np.arange(2 * HOUR), np.full(60, MONDAY + 4000), MONDAY + 5000 + np.arange(60)])
    found = demand_range.demand(profile(starts))
    assert found["second"].rate == pytest.approx(61)
    assert found["minute"].rate == pytest.approx(2)
    assert found["hour"].rate == pytest.approx(1 + 120 / HOUR)


def test_without_growth_each_rate_is_that_of_the_log_to_the_bit() -> None:
    for seed in range(5):
        log = two_hours(seed)
        assert {name: each.rate for name, each in demand_range.demand(log).items()} == {
            name: peak.rate for name, peak in log.peaks.items()
        }


@given(st.floats(0.1, 20), st.integers(0, 4))
def test_growth_multiplies_the_hour_and_chance_by_less(factor: float, seed: int) -> None:
    one, grown = demand_range.demand(two_hours(seed)), demand_range.demand(two_hours(seed), factor)
    assert grown["hour"].rate == pytest.approx(one["hour"].rate * factor)
    for name, each in one.items():
        assert 0 <= each.low <= each.rate <= each.high
        assert grown[name].low <= grown[name].rate <= grown[name].high
        less, more = sorted((grown[name].rate, each.rate * factor))
        assert factor == 1 or (less == grown[name].rate) == (factor > 1) or less == pytest.approx(more)


def arrivals(rate: float, days: int, seed: int, differ: float = 0.0) -> Ints:
    """Random arrivals in each second; ``differ``: standard deviation of the logarithm of the rates of the minutes."""
    rng = np.random.default_rng(seed)
    minutes = rate * np.exp(differ * rng.standard_normal(days * 24 * 60) - differ**2 / 2)
    return rng.poisson(np.repeat(minutes, MINUTE))


@cache
def poisson(rate: float, days: int, seed: int, differ: float = 0.0) -> LogProfile:
    """A log of these arrivals."""
    counts = arrivals(rate, days, seed, differ)
    return profile(MONDAY + np.repeat(np.arange(len(counts)), counts))


def busiest(counts: Ints, seconds: int) -> float:
    """The requests/s of the busiest window of so many seconds."""
    inside = np.cumsum(np.append(0, counts))
    return float((inside[seconds:] - inside[:-seconds]).max()) / seconds


@pytest.mark.parametrize("factor", [10.0, 1000.0])
def test_growth_does_not_multiply_the_chance_of_a_small_log(factor: float) -> None:
    """A busiest minute of 13 requests, 0.2/s, became 681/s in a forecast of 192/s."""
    found = demand_range.demand(poisson(0.1, 7, seed=1), factor)
    counts = arrivals(0.1 * factor, 7 if factor < 100 else 1, seed=2)
    for name, seconds in {"second": 1, "minute": MINUTE}.items():
        truth = busiest(counts, seconds)
        assert found[name].low < truth < found[name].high, name
        assert found[name].rate == pytest.approx(truth, rel=0.5), name


def test_growth_multiplies_how_minutes_differ() -> None:
    found = demand_range.demand(poisson(0.5, 7, seed=1, differ=0.5), 100.0)["minute"]
    assert found.rate == pytest.approx(busiest(arrivals(50, 2, seed=2, differ=0.5), MINUTE), rel=0.4)
    assert found.rate > 2.5 * 50


def test_growth_multiplies_an_event() -> None:
    quiet = np.random.default_rng(1).integers(0, 6 * HOUR, 10 * 6 * HOUR)
    log = profile(MONDAY + np.concatenate([quiet, 1000 + np.arange(60 * MINUTE) % (10 * MINUTE)]))
    one, grown = (demand_range.demand(log, factor)["minute"] for factor in (1.0, 100.0))
    assert one.rate > 15.9
    assert 0.9 * 100 * one.rate < grown.rate < 100 * one.rate


def test_growth_does_not_multiply_the_chance_of_the_minutes_of_an_hour_of_the_week() -> None:
    log = poisson(0.1, 7, seed=1)
    assert max(demand_range.by_hour(log)["rate"].to_list()) > 0.25
    assert 80 < np.median(demand_range.by_hour(log, 1000.0)["rate"].to_numpy()) < 130


def test_the_peaks_of_whole_weeks_are_counted_from_the_end_of_the_log() -> None:
    seconds = np.arange(MONDAY, MONDAY + 2 * WEEK + DAY)
    counts = np.ones(len(seconds), np.int64)
    counts[10] = 100  # in the day before the two whole weeks
    counts[DAY + 5] = 7
    counts[DAY + WEEK + 5] = 9
    assert demand_range.weekly_peaks(seconds, counts, 1).tolist() == [7, 9]


@pytest.mark.parametrize(("lacks", "weeks"), [(1, 2), (HOUR, 2), (HOUR + 1, 1)])
def test_files_of_two_weeks_that_lack_up_to_an_hour_hold_two_weeks(lacks: int, weeks: int) -> None:
    seconds = np.arange(MONDAY + lacks, MONDAY + 2 * WEEK)
    assert len(demand_range.weekly_peaks(seconds, np.ones(len(seconds), np.int64), 1)) == weeks


@pytest.mark.parametrize(("peaks", "factor"), [([100], 1.0), ([100, 100], 1.0), ([0, 5], 1.0), ([0, 0], 1.0)])
def test_one_week_or_equal_weeks_say_nothing_of_change(peaks: list[int], factor: float) -> None:
    assert demand_range.spread(np.array(peaks)) == factor


def test_two_weeks_tell_of_others_by_students_t_of_one_degree_of_freedom() -> None:
    assert demand_range.spread(np.array([100, 110])) == pytest.approx(1.1 ** (6.314 / math.sqrt(2)), rel=1e-4)


def test_the_range_of_the_next_weeks_holds_in_nine_of_ten() -> None:
    rng, held, factor = np.random.default_rng(5), 0, 1.0
    for _ in range(1000):
        weeks = np.exp(0.2 * rng.standard_normal(8)) * 1e6
        factor = demand_range.spread(weeks[:4].astype(np.int64))
        held += weeks[:4].max() / factor <= weeks[4:].max() <= weeks[:4].max() * factor
    assert 0.87 < held / 1000 < 0.96


@pytest.mark.parametrize("weeks", [2, 3, 6])
def test_an_event_in_one_week_does_not_make_the_range_of_demand_absurd(weeks: int) -> None:
    rng = np.random.default_rng(weeks)
    quiet = MONDAY + rng.integers(0, weeks * WEEK, int(0.12 * weeks * WEEK))
    event = MONDAY + 5 * DAY + rng.integers(0, 3 * MINUTE, 15 * 3 * MINUTE)
    log = profile(np.concatenate([quiet, event, [MONDAY, MONDAY + weeks * WEEK - 1]]))
    every = demand_range.demand(log)
    for name, found in every.items():
        assert found.high <= 4.5 * found.rate, name
        assert found.low >= 0.01, name  # the quietest week has a busiest window, too
    minute = every["minute"]
    assert minute.low < 1 < 14 < minute.rate
    assert minute.unlike == pytest.approx(40, rel=0.4)


def test_the_lower_end_of_a_few_requests_is_above_nothing_and_below_the_busiest_window_of_another_week() -> None:
    rng = np.random.default_rng(1)
    logs = [
        profile(MONDAY + rng.integers(0, WEEK, int(0.1 * WEEK))) for _ in range(4)
    ]  # 6 a minute; the busiest has 20
    found = [demand_range.demand(log) for log in logs]
    for name, least in {"second": 0.2, "minute": 0.1, "hour": 0.08}.items():
        assert least < max(each[name].low for each in found) < min(each[name].rate for each in found), name


def test_four_weeks_give_each_hour_the_median_of_the_last_four_and_their_ends() -> None:
    rates = [0.1] * 5 * 7 * 24
    for week, rate in enumerate((0.9, 0.2, 0.3, 0.4, 0.8)):  # five weeks: the first does not count
        rates[week * 7 * 24 + 10] = rate
    table = demand_range.by_hour(profile(regular(rates, weeks=5)))
    assert table.height == 7 * 24
    monday_10 = table.filter((pl.col("day") == 0) & (pl.col("hour") == 10)).row(0, named=True)
    assert (monday_10["rate"], monday_10["low"], monday_10["high"]) == pytest.approx((0.35, 0.2, 0.8))
    assert table.filter((pl.col("day") == 1) & (pl.col("hour") == 10))["rate"].item() == 0.1


def test_fewer_weeks_give_each_hour_its_most() -> None:
    rates = [0.1] * 2 * 7 * 24
    rates[10], rates[7 * 24 + 10] = 0.2, 0.3
    table = demand_range.by_hour(profile(regular(rates, weeks=2)))
    monday_10 = table.filter((pl.col("day") == 0) & (pl.col("hour") == 10)).row(0, named=True)
    assert monday_10["rate"] == 0.3
    assert monday_10["low"] < 0.3 < monday_10["high"]


def test_an_hour_that_the_log_covers_in_part_counts_only_where_no_week_covers_it_whole() -> None:
    starts = np.concatenate([MONDAY + np.arange(30 * MINUTE), MONDAY + WEEK + np.arange(2 * HOUR)])
    starts = np.concatenate([starts, np.full(600, MONDAY + 5)])
    table = demand_range.by_hour(profile(starts))
    # the first Monday begins with its first second, so it is whole up to 01:00; 00:00 of the second Monday as well
    assert table.filter((pl.col("day") == 0) & (pl.col("hour") == 0))["rate"].item() == pytest.approx(11.0)


def test_hours_are_those_of_the_zone() -> None:
    table = demand_range.by_hour(profile(MONDAY + np.arange(HOUR), "Asia/Kolkata"))
    assert table.select("day", "hour").rows() == [(0, 5), (0, 6)]


def test_the_course_of_an_hour_is_not_taken_for_chance() -> None:
    rate = np.interp(np.arange(DAY), np.arange(0, DAY + 1, 6 * HOUR), [2, 20, 20, 2, 2])
    counts = np.random.default_rng(3).poisson(rate)
    seconds = MONDAY + np.arange(DAY)
    assert demand_range.burstiness(seconds, counts, MINUTE) == pytest.approx(1.0, abs=0.15)
    found = demand_range.demand(profile(np.repeat(seconds, counts)))["minute"]
    assert 0.85 < found.low / found.rate < 0.93
    assert 1.015 < found.high / found.rate < 1.05


@pytest.mark.parametrize("index", [3, 10])
def test_bursts_are_chance(index: int) -> None:
    rng = np.random.default_rng(index)
    counts = rng.poisson(rng.standard_gamma(50 / (index - 1), DAY) * (index - 1))
    seconds = MONDAY + np.arange(DAY)
    assert demand_range.burstiness(seconds, counts, MINUTE) == pytest.approx(index, rel=0.15)


def test_a_few_windows_are_taken_for_poisson() -> None:
    assert demand_range.burstiness(MONDAY + np.arange(300), np.arange(300) ** 2, MINUTE) == 1.0


@given(st.integers(0, 1000), st.sampled_from([0.02, 0.5, 5.0]), st.sampled_from([1, MINUTE]))
def test_the_chance_of_a_sparse_log_counts_its_empty_windows(seed: int, rate: float, unit: int) -> None:
    counts = np.random.default_rng(seed).poisson(rate, 3000)
    counts[[0, -1]] += 1
    seconds = np.flatnonzero(counts)
    inside = np.add.reduceat(counts, np.arange(0, 3000, unit))
    expected = max(np.square(np.diff(inside)).sum() / 2 / inside.sum(), 1.0)
    assert demand_range.burstiness(MONDAY + seconds, counts[seconds], unit) == pytest.approx(expected)


def test_one_line_of_1970_takes_no_memory_for_the_years_after_it() -> None:
    seconds = np.concatenate([[0], MONDAY + np.arange(1000)])
    assert demand_range.burstiness(seconds, np.ones(1001, np.int64), 1) == 1.0


def test_a_stray_line_of_another_year_is_no_week_and_no_hour() -> None:
    two_days = MONDAY + np.arange(2 * DAY)
    alone, stray = profile(two_days), profile(np.concatenate([[0], two_days]))  # a stamp of 1970
    assert demand_range.weeks(stray) == 1
    whole = demand_range.by_hour(alone).filter(pl.col("day") < 2)
    found = demand_range.by_hour(stray).join(whole.select("day", "hour"), on=["day", "hour"])
    assert found["rate"].min() == 1.0
    assert demand_range.lacking(stray) > 400_000
    assert demand_range.lacking(alone) == 0
    assert demand_range.demand(stray)["minute"].rate == demand_range.demand(alone)["minute"].rate


def test_weeks_that_a_log_lacks_are_not_counted_as_quiet() -> None:
    rates = [0.1] * 7 * 24
    starts = regular(rates, weeks=5)
    week = (starts - MONDAY) // WEEK
    lacks = profile(starts[(week != 2) & (week != 3)])
    assert demand_range.weeks(lacks) == 3
    assert demand_range.by_hour(lacks)["rate"].to_list() == [0.1] * 168
    assert demand_range.spread(demand_range.weekly_peaks(*_counts(lacks), MINUTE)) == pytest.approx(1.0)


def _counts(found: LogProfile) -> tuple[Ints, Ints]:
    return found.seconds["second"].to_numpy(), found.seconds["requests"].to_numpy()
