"""A plan counts every hour once where clocks change, and says what it may of short, broken and partial logs."""

import json
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest

from logreplay.analysis.demand.rates import HOUR, MINUTE
from logreplay.analysis.planning import demand_range, wording
from logreplay.analysis.planning.machines import Machines, Reserve
from logreplay.analysis.planning.plan import DemandGrowth, MachinePlan, plan
from logreplay.analysis.planning.proof import Proof, unjudged
from logreplay.analysis.planning.supply import NoAnswer, supply_of
from logreplay.analysis.statistics.quantiles import Ints

from .test_demand_range import DAY, MONDAY, WEEK, profile
from .test_machines import supply


def planned(starts: Ints, zone: str = "UTC") -> MachinePlan:
    """The plan of a log, for machines that carry 10 requests/s each."""
    return plan(profile(starts, zone), supply(10.0, 10.0, 10.0), DemandGrowth(), Reserve())


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize("begins", [datetime(2026, 3, 23, tzinfo=BERLIN), datetime(2026, 10, 19, tzinfo=BERLIN)])
def test_no_hour_is_lost_or_doubled_where_the_clock_changes(begins: datetime) -> None:
    """The first of the two weeks ends with the change, on Sunday at 02:00 or 03:00."""
    first = int(begins.timestamp())
    clock = [datetime.fromtimestamp(first + hour * HOUR, UTC).astimezone(BERLIN) for hour in range(14 * 24)]
    rates = [60 if each.hour == 12 else 20 for each in clock]
    hours = [first + hour * HOUR + np.arange(0, HOUR, MINUTE).repeat(rate) for hour, rate in enumerate(rates)]
    table = planned(np.concatenate(hours), "Europe/Berlin").week
    assert table.select("day", "hour").is_unique().all()
    assert table.height == 7 * 24
    assert table.filter(pl.col("rate") == 1)["hour"].to_list() == [12] * 7
    assert table["rate"].n_unique() == 2


def test_the_forecast_of_an_hour_that_comes_twice_or_not_at_all_is_that_of_its_weeks() -> None:
    first = int(datetime(2026, 10, 5, tzinfo=BERLIN).timestamp())
    table = demand_range.by_hour(profile(np.arange(first, first + 4 * WEEK + HOUR + 1, MINUTE), "Europe/Berlin"))
    assert table.height == 7 * 24
    assert table["rate"].unique().to_list() == [1 / MINUTE]


def test_a_part_of_an_hour_at_either_end_takes_nothing_from_the_whole_hours() -> None:
    starts = np.arange(MONDAY + 10 * HOUR - 10, MONDAY + DAY + 12 * HOUR + 10)
    week = planned(starts).week
    partial = week.filter((pl.col("day") == 0) & (pl.col("hour") == 9))
    assert partial["rate"].item() == pytest.approx(10 / MINUTE)
    assert week.filter(pl.col("rate") == 1).height == week.height - 2


def test_a_gap_is_no_demand_and_no_chance() -> None:
    whole = np.arange(MONDAY, MONDAY + 2 * DAY)
    broken = whole[(whole < MONDAY + 5 * HOUR) | (whole >= MONDAY + 9 * HOUR)]
    one, two = (demand_range.demand(profile(each))["minute"] for each in (whole, broken))
    assert two == one
    found = planned(broken)
    assert found.week.filter(pl.col("rate") == 0)["hour"].to_list() == [5, 6, 7, 8]
    gap = "the demand in gaps, such as 4 hours without a request from 2026-01-05 05:00:00 on, in which 3,600 or more"
    assert any(each.startswith(gap) for each in wording.not_covered(found))
    assert not any("gaps" in each for each in wording.not_covered(planned(whole)))


def test_a_gap_of_more_than_a_day_is_named_by_the_hours_that_the_log_lacks() -> None:
    whole = np.arange(MONDAY, MONDAY + 4 * DAY)
    for gap, says in ((24 * HOUR, "the demand in gaps, such as 24 hours"), (25 * HOUR, "24 hours in gaps of a day")):
        broken = whole[(whole < MONDAY + DAY + 60) | (whole >= MONDAY + DAY + 60 + gap)]
        named = [each for each in wording.not_covered(planned(broken)) if "gaps" in each]
        assert [each[: len(says)] for each in named] == [says]


@pytest.mark.parametrize(
    ("length", "says"),
    [
        (3 * HOUR, "how hours, days and weeks differ: the log is shorter than a day, "),
        (DAY, "how days and weeks differ: the log is shorter than a week, "),
        (WEEK, "how weeks differ: the log is shorter than two weeks, "),
    ],
)
def test_a_short_log_does_not_show_how_hours_days_and_weeks_differ(length: int, says: str) -> None:
    assert wording.not_covered(planned(np.arange(MONDAY, MONDAY + length)))[0].startswith(says)


def test_a_log_that_ends_in_its_peak_is_planned_for_the_peak_so_far() -> None:
    starts = np.concatenate(
        [np.arange(MONDAY, MONDAY + DAY), np.repeat(np.arange(MONDAY + DAY, MONDAY + DAY + 90), 35)]
    )
    found = planned(starts)
    assert found.demand["minute"].rate == 35
    assert found.number.number == 4


def test_a_log_of_ten_lines_has_a_wide_range() -> None:
    found = planned(MONDAY + 30 * np.arange(10))
    wanted = found.demand["minute"]
    assert 0 < wanted.low < 0.2 * wanted.rate < 1.5 * wanted.rate < wanted.high
    assert found.number == Machines(1, 1, 1)
    assert "needs a day at least" in found.no_week


def test_a_log_of_a_day_has_its_own_hours_only() -> None:
    assert planned(np.arange(MONDAY, MONDAY + DAY)).week["day"].unique().to_list() == [0]
    shorter = planned(np.arange(MONDAY, MONDAY + DAY - 1))
    assert shorter.week.is_empty()
    assert "needs a day at least" in shorter.no_week


def test_requests_of_one_minute_are_planned_by_the_second_or_minute() -> None:
    assert planned(np.repeat(MONDAY + np.arange(60), 25)).number.number == 3
    assert planned(np.repeat(MONDAY + np.arange(30), 25)).window == "second"
    with pytest.raises(NoAnswer, match="all 50 requests of the log are in one second"):
        planned(np.full(50, MONDAY))


@pytest.mark.parametrize("weeks", [2, 4])
def test_a_plan_of_weeks_of_which_one_holds_an_event_says_what_it_does_not_know(weeks: int) -> None:
    event = MONDAY + WEEK + 5 * DAY + np.arange(3 * MINUTE).repeat(35)
    found = planned(np.concatenate([np.arange(MONDAY, MONDAY + weeks * WEEK, 10), event, [MONDAY + weeks * WEEK - 1]]))
    said = dict(wording.sentences(found))
    assert (found.number.number, found.number.high) == (4, 15)
    assert "(cut at about 4 times the busiest minute, since the weeks differ too much)" in wording.answer(found)
    assert f"{weeks} weeks of log differ too much (the busiest second 36 times, " in "; ".join(
        wording.not_covered(found)
    )
    assert ("these hours leave out the busiest minute, 35.1/s on 2026-01-17 00:0" in said["week"]) == (weeks == 4)
    assert wording.not_covered(found)[0].startswith("further growth of the demand, and events ")
    assert repr(found) == "<MachinePlan: machines by busiest window: second: 4, minute: 4, hour: 1>"


@pytest.mark.parametrize(
    ("days", "said"),
    [
        (20, "the clock; the log"),
        (27, "the clock (for 144 of 168 hours the median of the last 4 weeks; "),
        (28, "the clock (median of the last 4 weeks; "),
    ],
)
def test_the_week_says_of_how_many_hours_it_takes_the_median(days: int, said: str) -> None:
    starts = np.append(np.arange(MONDAY, MONDAY + days * DAY, 60), MONDAY + days * DAY - 1)
    week = dict(wording.sentences(planned(starts)))["week"]
    assert said in week + "; the log"


def test_a_burst_that_two_minutes_of_the_clock_share_is_told_without_a_median() -> None:
    burst = MONDAY + 9 * HOUR + 30 + np.arange(MINUTE).repeat(20)
    week = dict(wording.sentences(planned(np.concatenate([np.arange(MONDAY, MONDAY + DAY), burst]))))["week"]
    assert "these hours leave out the busiest minute, 21/s on 2026-01-05 09:00:30" in week


def replayed(machines: int, kept: bool) -> Proof:
    return Proof(machines=machines, rate=10, requests=600, kept=kept, text="1 % failed")


@pytest.mark.parametrize(
    ("proofs", "said"),
    [
        ((), "/s, with p99 within 300 ms"),
        (
            (replayed(3, True), replayed(2, False)),
            "; proved by a replay of it, and one machine fewer did not keep the b",
        ),
        ((replayed(3, False), replayed(2, False), replayed(0, True)), "; a replay of it did NOT keep the bounds"),
        ((unjudged(3, "no request"),), "; NOT proved by a replay: no request"),
        (
            (replayed(3, True), replayed(0, False)),
            "; proved by a replay of it; a replay of the steepest hour, with the pods of the autoscaler, did NOT keep",
        ),
        ((replayed(3, True), unjudged(0, "no request")), "with the pods of the autoscaler, was not judged: no request"),
    ],
)
def test_the_answer_says_how_each_replay_that_it_rests_on_ended(proofs: tuple[Proof, ...], said: str) -> None:
    text = wording.answer(planned(np.arange(MONDAY, MONDAY + DAY)), proofs)
    assert said in text
    assert ("replay" in text) == bool(proofs)


@pytest.mark.parametrize("limits", [{}, {"p99": 0.3}])
def test_an_interrupted_search_is_not_called_a_sweep(limits: dict[str, float], tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("date,time,latency,xfertime,thinktime,bytes,url,rc,op\n")
    told = {"schema": "logreplay/1", "options": {"p99": 0.3, "precision": 0.05}, "unfinished": True}
    (tmp_path / "results.summary.json").write_text(json.dumps(told))
    with pytest.raises(NoAnswer, match="is a search that was interrupted, and has no answer: search again"):
        supply_of(tmp_path, limits)
