"""A forecast is read whole or refused by line, and grows a log by its highest rate."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from logreplay.analysis.demand.log_profile import LogProfile
from logreplay.analysis.demand.rates import HOUR, MINUTE
from logreplay.analysis.planning.forecast import Forecast, read_forecast
from logreplay.analysis.planning.machines import Reserve
from logreplay.analysis.planning.plan import DemandGrowth, MachinePlan, plan
from logreplay.analysis.planning.route_mix import ChangedMix
from logreplay.analysis.planning.wording import sentences
from logreplay.core.errors import LogreplayError, UsageError

from .test_demand_range import DAY, MONDAY, WEEK, profile
from .test_machines import supply


def written(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "december.csv"
    path.write_text("\n".join(("time,rate", *lines)) + "\n")
    return path


def test_the_highest_rate_is_the_growth_of_the_busiest_window_of_its_length(tmp_path: Path) -> None:
    path = written(tmp_path, "2026-12-01T00:00:00Z,1.5", "2026-12-01T01:00:00Z,3", "2026-12-01T02:00:00Z,2")
    found = read_forecast(path, "UTC")
    assert (found.step, found.rates.tolist()) == (HOUR, [1.5, 3, 2])
    assert found.growth(profile(MONDAY + np.arange(2 * HOUR))) == pytest.approx(3.0)


def test_times_without_offset_are_those_of_the_zone(tmp_path: Path) -> None:
    path = written(tmp_path, "2026-12-07T08:00:00,1", "2026-12-07T09:00:00,2")
    table = read_forecast(path, "Europe/Berlin").by_hour("Europe/Berlin", 2.0)
    assert table.select("day", "hour", "rate").rows() == [(0, 8, 2.0), (0, 9, 4.0)]


def test_an_hour_of_the_week_has_the_highest_rate_of_all_weeks(tmp_path: Path) -> None:
    lines = [f"2026-12-{7 + day:02}T{hour:02}:00:00Z,{1 + (day >= 7)}" for day in range(14) for hour in range(24)]
    table = read_forecast(written(tmp_path, *lines), "UTC").by_hour("UTC", 1.0)
    assert table.height == 7 * 24
    assert table["rate"].unique().to_list() == [2.0]


def test_a_minute_is_as_much_busier_than_an_hour_as_in_the_log() -> None:
    starts = np.concatenate([MONDAY + np.arange(2 * HOUR), MONDAY + 100 + np.arange(120) % 60])
    hourly = Forecast(MONDAY + np.arange(2) * HOUR, np.full(2, 1 + 120 / HOUR), HOUR)
    log = profile(np.concatenate([starts, starts + DAY]))
    assert planned(log, hourly).week["rate"].max() == pytest.approx(3)


def planned(log: LogProfile, forecast: Forecast) -> MachinePlan:
    one = supply(100.0, 100.0, 100.0, sent=pl.DataFrame({"route": ["/a"], "requests": [1000]}))
    return plan(log, one, DemandGrowth(forecast=forecast), Reserve())


def of_day(event: int) -> tuple[LogProfile, Forecast]:
    """A day with an hour of 101 requests/s that begins at this second, and its own hours of the clock as a forecast."""
    counts = np.ones(24 * HOUR, np.int64)
    counts[event : event + HOUR] = 101
    day = profile(np.repeat(MONDAY + np.arange(24 * HOUR), counts))
    return day, Forecast(MONDAY + np.arange(24) * HOUR, counts.reshape(24, HOUR).mean(axis=1), HOUR)


def test_a_forecast_of_the_hours_of_the_log_is_no_growth_where_two_of_them_share_an_event() -> None:
    day, forecast = of_day(10 * HOUR + HOUR // 2)
    assert forecast.rates.max() == 51
    assert forecast.growth(day) == pytest.approx(1)
    assert planned(day, forecast).week["rate"].max() == pytest.approx(101)


def test_a_log_without_a_whole_step_of_the_forecast_counts_its_busiest_window_of_that_length() -> None:
    forecast = Forecast(MONDAY + np.arange(2) * HOUR, np.array([1.0, 4.0]), HOUR)
    assert forecast.growth(profile(MONDAY + HOUR // 2 + np.arange(HOUR).repeat(2))) == pytest.approx(2)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (("2026-12-01T00:00:00Z,1",), "has 1 rates; expected 2"),
        (("soon,1", "2026-12-01T00:00:00Z,1"), "line 2: time 'soon': expected ISO 8601"),
        (("2026-12-01T00:00:00Z,many", "2026-12-01T01:00:00Z,1"), "line 2: rate 'many': expected requests/s"),
        (("2026-12-01T00:00:00Z,-1", "2026-12-01T01:00:00Z,1"), "line 2: rate '-1'"),
        (("2026-12-01T00:00:00Z,nan", "2026-12-01T01:00:00Z,1"), "line 2: rate 'nan'"),
        (("2026-12-01T01:00:00Z,1", "2026-12-01T00:00:00Z,1"), "line 3: .* must rise in equal steps"),
        (
            ("2026-12-01T00:00:00Z,1", "2026-12-01T01:00:00Z,1", "2026-12-01T03:00:00Z,1"),
            "line 4: 2026-12-01T03:00:00Z is 7,200 s after the line before, and the second time 3,600 s after",
        ),
        (("2026-12-01T00:00:00Z,0", "2026-12-01T01:00:00Z,0"), "all rates are 0"),
    ],
)
def test_a_forecast_that_is_none_is_refused_by_line(tmp_path: Path, lines: tuple[str, ...], says: str) -> None:
    with pytest.raises(LogreplayError, match=says):
        read_forecast(written(tmp_path, *lines), "UTC")


def test_empty_lines_of_a_forecast_are_no_rates_and_count_as_lines(tmp_path: Path) -> None:
    whole = read_forecast(written(tmp_path, "2026-12-01T00:00:00Z,1", "", "2026-12-01T01:00:00Z,2", "", ""), "UTC")
    assert (whole.rates.tolist(), whole.step) == ([1, 2], HOUR)
    with pytest.raises(LogreplayError, match="line 5: 2026-12-01T03:00:00Z is 7,200 s after"):
        read_forecast(
            written(tmp_path, "2026-12-01T00:00:00Z,1", "2026-12-01T01:00:00Z,1", "", "2026-12-01T03:00:00Z,1"), "UTC"
        )


def test_other_columns_and_missing_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(LogreplayError, match="its columns are a, b; expected time,rate"):
        read_forecast(tmp_path / "other.csv", "UTC")
    with pytest.raises(LogreplayError, match=r"none\.csv: cannot be read: No such file or directory; name"):
        read_forecast(tmp_path / "none.csv", "UTC")


def test_a_log_shorter_than_a_step_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "2026-12-01T00:00:00Z,1", "2026-12-02T00:00:00Z,1")
    with pytest.raises(UsageError, match="has a rate for each 86,400 s, and the log is 7,200 s long"):
        read_forecast(path, "UTC").growth(profile(MONDAY + np.arange(2 * HOUR)))


@pytest.mark.parametrize("night", ["2026-10-25", "2026-03-29"])
def test_local_times_may_pass_a_change_of_the_clock(tmp_path: Path, night: str) -> None:
    path = written(tmp_path, *(f"{night}T{hour:02}:00:00,{hour + 1}" for hour in range(6)))
    found = read_forecast(path, "Europe/Berlin")
    assert found.step == HOUR
    assert found.by_hour("Europe/Berlin", 1.0)["rate"].max() == 6


@pytest.mark.parametrize("name", ["f[1].csv", "f*.csv"])
def test_the_name_of_a_forecast_is_no_pattern(tmp_path: Path, name: str) -> None:
    hours = ["2026-12-01T00:00:00Z,1", "2026-12-01T01:00:00Z,2"]
    written(tmp_path, *hours).rename(tmp_path / name)
    written(tmp_path, *hours).rename(tmp_path / "f1.csv")
    assert read_forecast(tmp_path / name, "UTC").rates.tolist() == [1, 2]


def test_a_forecast_may_have_further_columns_of_any_name(tmp_path: Path) -> None:
    path = tmp_path / "december.csv"
    path.write_text("line,time,rate\nx,2026-12-01T00:00:00Z,1\ny,2026-12-01T01:00:00Z,\n")
    with pytest.raises(LogreplayError, match="line 3: rate '': expected"):
        read_forecast(path, "UTC")
    path.write_text(path.read_text().strip() + "2\n")
    assert read_forecast(path, "UTC").rates.tolist() == [1, 2]


def test_a_folder_is_no_forecast(tmp_path: Path) -> None:
    with pytest.raises(LogreplayError, match="is a folder; name a CSV"):
        read_forecast(tmp_path, "UTC")


def test_the_hours_of_a_forecast_grow_with_the_mix() -> None:
    """Twice the requests, each with as much work: the busiest minute and every hour need twice the machines."""
    log = profile(MONDAY + np.arange(2 * DAY))
    forecast = Forecast(MONDAY + np.arange(48) * HOUR, np.full(48, 10.0), HOUR)
    one = supply(1.0, 1.0, 1.0, sent=pl.DataFrame({"route": ["/a"], "requests": [1000]}))
    mix = ChangedMix({"/a": 1.0}, requests=2.0, work=2.0, low=2.0, high=2.0)
    found = plan(log, one, DemandGrowth(forecast=forecast), Reserve(), changed=mix)
    assert found.number.number == 20
    assert found.week["machines"].unique().to_list() == [20]
    said = dict(sentences(found))["demand"]
    assert "its highest rate, 10/s for 60 minutes, is 10 times the highest of the log for 60 minutes" in said
    assert "the busiest minute has 1 times this rate" in said


def test_a_forecast_of_a_day_lacks_the_other_hours_of_the_week_and_a_large_one_finds_the_log_small() -> None:
    """It said that the log lacked them, which covered all."""
    log = profile(MONDAY + np.arange(0, 7 * DAY, 10))
    found = planned(log, Forecast(MONDAY + np.arange(24) * HOUR, np.full(24, 200.0), HOUR))
    said = dict(sentences(found))
    assert said["week"].endswith("; the forecast lacks 144 hours of the week")
    assert "the log is small for 2000 times its rate: its busiest minute has 6 requests" in said["demand"]
    assert found.demand["minute"].rate == pytest.approx(200)


@pytest.mark.parametrize(("step", "told"), [(DAY, True), (HOUR, False)])
def test_hours_that_are_medians_of_the_log_leave_out_its_event_beside_a_forecast_too(step: int, told: bool) -> None:
    event = MONDAY + WEEK + 5 * DAY + np.arange(3 * MINUTE).repeat(35)
    log = profile(np.concatenate([np.arange(MONDAY, MONDAY + 4 * WEEK, 10), event]))
    week = dict(sentences(planned(log, Forecast(MONDAY + np.arange(2) * step, np.array([1.0, 1.0]), step))))["week"]
    assert ("these hours leave out the busiest minute, " in week) == told
    assert ("in its busiest minute, by the forecast and the busiest minute of the log" in week) != told


def test_rates_of_a_forecast_by_the_minute_are_those_of_the_busiest_minute() -> None:
    log = profile(MONDAY + np.random.default_rng(1).integers(0, HOUR, 400))
    found = planned(log, Forecast(MONDAY + np.arange(2) * MINUTE, np.array([1.0, 200.0]), MINUTE))
    assert 200 <= found.demand["minute"].rate < 250


@pytest.mark.parametrize(
    ("begin", "step", "zone", "hours"),
    [
        (4 * HOUR, HOUR, "Asia/Kolkata", [9, 10]),  # 09:30 to 10:30
        (4 * HOUR, HOUR, "UTC", [4]),
        (4 * HOUR + HOUR // 4, HOUR, "UTC", [4, 5]),
        (4 * HOUR + HOUR // 2, 45 * MINUTE, "UTC", [4, 5]),
        (4 * HOUR + HOUR // 4, 45 * MINUTE, "UTC", [4]),
    ],
)
def test_a_step_of_a_forecast_counts_for_each_hour_that_it_shares(
    begin: int, step: int, zone: str, hours: list[int]
) -> None:
    forecast = Forecast(MONDAY + begin + np.arange(-2, 3) * step, np.array([1.0, 1, 100, 1, 1]), step)
    assert forecast.by_hour(zone, 1.0).filter(pl.col("rate") == 100)["hour"].to_list() == hours
