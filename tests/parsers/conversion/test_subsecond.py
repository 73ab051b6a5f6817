"""Requests are spread within their second by file order, however the file was cut into blocks."""

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from logreplay.core.rows import scan
from logreplay.parsers.conversion.job import ConvertOptions, convert
from logreplay.parsers.conversion.parse import ROW_SCHEMA
from logreplay.parsers.conversion.report import ConvertReport
from logreplay.parsers.conversion.subsecond import RepeatedHour, Spreader, start_times
from logreplay.parsers.fields.timestamps import SECOND

HOUR = 3600 * SECOND


def rows(*stamps: float, whole: bool = True, back: int = 0, fold: int = 0) -> pl.DataFrame:
    """Rows stamped at these seconds."""
    us = [round(stamp * SECOND) for stamp in stamps]
    frame = pl.DataFrame({"line": range(len(us)), "us": us}, schema_overrides={"us": pl.Int64})
    frame = frame.with_columns(whole=pl.lit(whole), back=pl.lit(back), fold=pl.lit(fold), url=pl.lit("/"))
    return pl.DataFrame(schema=ROW_SCHEMA).clear().pipe(lambda empty: pl.concat([empty, frame], how="diagonal_relaxed"))


def starts(frame: pl.DataFrame) -> list[float]:
    return [start / SECOND for start in frame["start"]]


def test_the_rows_of_a_second_stand_in_the_middle_of_equal_parts_of_it() -> None:
    assert starts(start_times(rows(7, 7, 7, 7, 8))) == [7.125, 7.375, 7.625, 7.875, 8.5]


def test_the_duration_is_taken_off_a_stamp_of_the_end() -> None:
    assert starts(start_times(rows(7, back=SECOND // 4))) == [7.25]
    assert starts(start_times(rows(7.5, whole=False, back=SECOND // 4))) == [7.25]


def test_stamps_with_digits_below_the_second_stay() -> None:
    assert starts(start_times(rows(7.001, 7.001, 7, whole=False))) == [7.001, 7.001, 7]


def test_rows_out_of_order_are_spread_with_those_of_their_second() -> None:
    assert starts(start_times(rows(8, 7, 8, 7))) == [8.25, 7.25, 8.75, 7.75]


@given(st.lists(st.integers(0, 9), max_size=40))
def test_each_row_stays_in_its_second_and_behind_the_row_before(stamps: list[int]) -> None:
    found = starts(start_times(rows(*stamps)))
    assert [int(start) for start in found] == stamps
    for second in set(stamps):
        inside = [start for start, stamp in zip(found, stamps, strict=True) if stamp == second]
        assert all(one < other for one, other in pairwise(inside))


@settings(max_examples=50)
@given(st.lists(st.integers(0, 1), min_size=1, max_size=40), st.lists(st.integers(0, 40), max_size=5), st.booleans())
def test_where_the_file_was_cut_does_not_matter(steps: list[int], cuts: list[int], interleaved: bool) -> None:
    stamps = [sum(steps[: place + 1]) for place in range(len(steps))]
    if interleaved and len(stamps) > 1 and stamps[-1] - stamps[-2] == 1:
        stamps[-1], stamps[-2] = stamps[-2], stamps[-1]
    whole, spreader = rows(*stamps), Spreader()
    edges = sorted({0, len(stamps), *(cut for cut in cuts if cut < len(stamps))})
    parts = [spreader.add(whole[begin:end]) for begin, end in pairwise(edges)]
    spread = pl.concat([*parts, spreader.close()]).sort("line")
    assert_frame_equal(spread, start_times(whole).sort("line"))


def test_only_the_newest_two_seconds_are_held_back() -> None:
    spreader = Spreader()
    assert spreader.add(rows(1, 2, 3, 4))["us"].to_list() == [SECOND, 2 * SECOND]
    assert spreader.close()["us"].to_list() == [3 * SECOND, 4 * SECOND]


def test_stamps_with_digits_below_the_second_are_not_held_back() -> None:
    spreader = Spreader()
    assert spreader.add(rows(1.5, 2.5, whole=False)).height == 2
    assert spreader.close().height == 0


@pytest.mark.parametrize("added", [0, 1])
def test_after_nothing_there_is_nothing(added: int) -> None:
    spreader = Spreader()
    for _ in range(added):
        assert spreader.add(rows()).height == 0
    assert spreader.close().columns[-1] == "start"
    assert spreader.close().height == 0


def test_a_clock_that_falls_back_is_in_its_second_pass_from_there_on() -> None:
    repeated = RepeatedHour()
    hour = rows(0, 1800, 3599, 1, 1800, 3599, fold=HOUR)
    placed = pl.concat([repeated.settle(part) for part in (hour[:4], hour[:0], hour[4:], rows(7200))])
    assert [us // SECOND for us in placed["us"]] == [0, 1800, 3599, 3601, 5400, 7199, 7200]


def test_an_hour_that_comes_twice_is_told_apart_by_file_order(tmp_path: Path) -> None:
    form = '$remote_addr $time_iso8601 "$request" $status'
    clocks = ["02:00:00", "02:30:00", "02:59:59", "02:00:01", "02:30:00", "02:59:58", "03:00:00"]
    text = [f'::1 2026-10-25T{clock} "GET /{n} HTTP/1.1" 200' for n, clock in enumerate(clocks)]
    options = ConvertOptions(format=form, timezone="Europe/Berlin")
    (tmp_path / "access.log").write_text("\n".join(text) + "\n")
    convert([tmp_path / "access.log"], tmp_path / "out.csv", options)
    found = scan(tmp_path / "out.csv").collect()
    assert found["url"].to_list() == [f"/{n}" for n in range(7)]
    hours = [clock[:2] for clock in found["time"]]
    assert hours == ["00", "00", "00", "01", "01", "01", "02"]


FORM = '$remote_addr $time_iso8601 "$request" $status'


def autumn(folder: Path, clocks: list[str]) -> tuple[ConvertReport, list[str]]:
    """Convert lines with these times of the day on which clocks of Berlin fall back; their hours in UTC."""
    text = [f'::1 2026-10-25T{clock} "GET /{n} HTTP/1.1" 200' for n, clock in enumerate(clocks)]
    (folder / "access.log").write_text("\n".join(text) + "\n")
    report = convert([folder / "access.log"], folder / "out.csv", ConvertOptions(format=FORM, timezone="Europe/Berlin"))
    found = scan(folder / "out.csv").collect()
    assert found["url"].to_list() == [f"/{n}" for n in range(len(clocks))]
    return report, [clock[:2] for clock in found["time"]]


def every_second(hour: str) -> list[str]:
    return [f"{hour}:{second // 60:02}:{second % 60:02}" for second in range(3600)]


def test_lines_of_both_passes_are_not_called_scrambled(tmp_path: Path) -> None:
    report, hours = autumn(tmp_path, every_second("02") * 2)
    assert hours == ["00"] * 3600 + ["01"] * 3600
    assert not [note for note in report.notes if "scrambled" in note or "twice" in note]


@pytest.mark.parametrize(
    ("clocks", "hours"),
    [
        (["02:10:00", "02:59:59", "03:00:00"], ["01", "01", "02"]),
        (["02:10:00", "02:59:59", "02:10:00", "03:00:00"], ["00", "00", "01", "02"]),
        (["01:59:59", "02:10:00", "02:59:59"], ["23", "00", "00"]),
        (["02:10:00", "02:59:59", "02:10:00"], ["00", "00", "01"]),
    ],
)
def test_the_pass_in_which_a_log_begins_is_told_by_how_it_goes_on(
    tmp_path: Path, clocks: list[str], hours: list[str]
) -> None:
    report, found = autumn(tmp_path, clocks)
    assert found == hours
    assert not [note for note in report.notes if "twice" in note]


def test_a_line_of_the_first_pass_written_late_is_not_moved_to_the_end_of_the_second() -> None:
    placed = RepeatedHour().settle(rows(3598, 0, 3599, 1, 3599, fold=HOUR))
    assert [us // SECOND for us in placed["us"]] == [3598, 3600, 3599, 3601, 7199]


def test_a_log_that_lies_within_one_pass_is_read_as_the_first_and_says_so(tmp_path: Path) -> None:
    report, hours = autumn(tmp_path, ["02:10:00", "02:59:59"])
    assert hours == ["00", "00"]
    assert [note for note in report.notes if "access.log: begins in an hour that the clock of Europe/Berlin" in note]
    options = ConvertOptions(format=FORM, timezone="Etc/GMT-1", force=True)
    convert([tmp_path / "access.log"], tmp_path / "out.csv", options)
    assert [clock[:2] for clock in scan(tmp_path / "out.csv").collect()["time"]] == ["01", "01"]
