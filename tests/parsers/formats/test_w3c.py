"""Directives inside a W3C log say how the lines after them are laid out."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.core.errors import LogreplayError
from logreplay.core.rows import scan
from logreplay.parsers.conversion.job import ConvertOptions, convert
from logreplay.parsers.conversion.parse import parse
from logreplay.parsers.formats.w3c import CLOUDFRONT_FIELDS, FieldsDirective, stretches, w3c_format


def directives(*lines: str) -> FieldsDirective:
    header = FieldsDirective()
    for line in lines:
        header.read(line)
    return header


def row(fields: str, line: str, *more: str) -> dict[str, Any]:
    format = directives(f"#Fields: {fields}", *more).format()
    assert format is not None
    parsed = parse(pl.Series([line]), [format])
    assert parsed.refusals == []
    return parsed.rows.row(0, named=True)


def test_fields_may_change_inside_a_w3c_log(tmp_path: Path) -> None:
    text = [
        "#Software: Microsoft Internet Information Services 10.0",
        "#Fields: date time cs-method cs-uri-stem cs-uri-query sc-status time-taken",
        "2026-11-20 18:58:56 GET /a x=1 200 65",
        "#Fields: time cs-uri-stem sc-status cs-method",
        "#Date: 2026-11-21 00:00:00",
        "00:00:01 /b 404 POST",
    ]
    (tmp_path / "access.log").write_text("\n".join(text) + "\n")
    report = convert([tmp_path / "access.log"], tmp_path / "out.csv")
    assert (report.lines, report.converted, report.blank, report.format) == (6, 2, 4, "w3c")
    rows = scan(tmp_path / "out.csv").select("date", "op", "url", "rc", "latency").collect().rows()
    assert rows == [("2026-11-20", "GET", "/a?x=1", 200, 0.065), ("2026-11-21", "POST", "/b", 404, 0.0)]


@pytest.mark.parametrize("fields", ["", "date time", "sc-status time-taken c-ip"])
def test_without_a_request_among_the_fields_there_is_no_format(fields: str) -> None:
    assert directives(f"#Fields: {fields}").format() is None
    assert FieldsDirective().format() is None


@pytest.mark.parametrize("line", ["#Fields cs-uri-stem", "#", "#:", "#Remark: #Fields: cs-uri-stem", "#Version: 1.0"])
def test_a_comment_says_nothing(line: str) -> None:
    assert directives(line) == FieldsDirective()


@pytest.mark.parametrize("line", ["#Fields: date", "#fields:date", "# FIELDS :  date  "])
def test_the_name_of_a_directive_is_read_in_any_case_and_with_blanks(line: str) -> None:
    assert directives(line).fields == ("date",)


@pytest.mark.parametrize(
    ("line", "day"),
    [("#Date: 2026-11-20 18:58:56", "2026-11-20"), ("#Start-Date: 2026-11-20", "2026-11-20"), ("#Date:", "")],
)
def test_the_day_of_lines_that_carry_only_a_time_is_that_of_the_last_date(line: str, day: str) -> None:
    format = directives(line, "#Fields: time cs-uri-stem").format()
    assert format is not None
    assert format.stamp.day == day


def test_a_day_of_the_lines_own_outweighs_that_of_the_directive() -> None:
    found = row("date time cs-uri-stem", "1970-01-01 00:00:01 /a", "#Date: 2026-11-20")
    assert (found["url"], found["us"]) == ("/a", 1_000_000)


def test_a_line_without_a_time_is_rejected_for_it() -> None:
    format = directives("#Fields: date cs-method cs-uri-stem").format()
    assert format is not None
    parsed = parse(pl.Series(["2026-11-20 POST /a"]), [format])
    assert [refusal.reason for refusal in parsed.refusals] == ["time stamp"]


@pytest.mark.parametrize(
    ("fields", "line", "why"),
    [
        ("cs-method cs-uri-stem", "GET /a", "#Fields does not name time; add date and time"),
        ("time cs-method cs-uri-stem", "08:11:52 GET /a", "#Fields does not name date, and there is no #Date"),
        ("date time cs-method", "2026-11-20 08:11:52 GET", "#Fields does not name cs-uri-stem"),
        (
            f"date time cs-uri-stem{' x' * 20_000}",
            f"2026-11-20 08:11:52 /a{' 1' * 20_000}",
            "#Fields names 20,003 fields;",
        ),
    ],
)
def test_a_log_whose_lines_cannot_be_read_says_what_its_fields_lack(
    tmp_path: Path, fields: str, line: str, why: str
) -> None:
    (tmp_path / "access.log").write_text(f"#Fields: {fields}\n{line}\n{line}\n")
    with pytest.raises(LogreplayError, match=f"access.log: has #Fields, but only 0% of the sample's lines fit; {why}"):
        convert([tmp_path / "access.log"], tmp_path / "out.csv")


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ("Date Time CS-Method Cs-Uri-Stem", "2026-11-20 18:58:56 POST /a"),
        ("date s-ip time cs-method cs-uri-stem", "2026-11-20 1.2.3.4 18:58:56 POST /a"),
        ("Time cs-method cs-uri-stem Date", "18:58:56 POST /a 2026-11-20"),
    ],
)
def test_date_and_time_are_read_in_any_case_and_also_apart(fields: str, line: str) -> None:
    found = row(fields, line)
    assert (found["us"], found["op"], found["url"]) == (1_795_201_136_000_000, "POST", "/a")
    odd = row(fields, line.replace("/a", "/a%22é"))  # by the careful rules
    assert odd["us"] == found["us"]


def test_a_time_with_a_capital_takes_its_day_from_the_directive() -> None:
    assert row("Time cs-uri-stem", "18:58:56 /a", "#Date: 2026-11-20")["us"] == 1_795_201_136_000_000


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            "20/11/2026 18:58:56 /a",
            "one that does not fit (dates must be as 2026-11-20, times as 18:58:56): '20/11/2026",
        ),
        ("2026-11-20 18:58:56 /a 9", "one that does not fit (4 values, but #Fields names 3): '2026-11-20"),
    ],
)
def test_a_log_that_does_not_fit_its_fields_shows_a_line_and_why(tmp_path: Path, line: str, why: str) -> None:
    (tmp_path / "access.log").write_text(f"#Fields: date time cs-uri-stem\n{line}\n{line}\n")
    with pytest.raises(LogreplayError) as caught:
        convert([tmp_path / "access.log"], tmp_path / "out.csv")
    assert why in str(caught.value)


def test_iis_counts_milliseconds_and_writes_blanks_of_an_agent_as_plus() -> None:
    fields = "date time cs-uri-stem cs(User-Agent) time-taken"
    line = "2026-11-20 18:58:56 /a Mozilla/5.0+(X11) 65"
    iis = row(fields, line, "#Software: Microsoft Internet Information Services 10.0")
    assert (iis["latency"], iis["agent"]) == (0.065, "Mozilla/5.0 (X11)")
    assert row(fields, line)["latency"] == 65


def test_tabs_between_fields_stand_between_values_too() -> None:
    assert row("date\ttime\tcs-uri-stem", "2026-11-20\t18:58:56\t/a")["url"] == "/a"


def test_cloudfront_is_told_by_its_edge_and_has_tabs_between_values() -> None:
    fields = CLOUDFRONT_FIELDS.split()
    values = {"date": "2026-11-20", "time": "18:58:56", "cs-method": "GET", "cs-uri-stem": "/a", "sc-status": "200"}
    values["cs(User-Agent)"] = "a%2520b"
    found = row(CLOUDFRONT_FIELDS, "\t".join(values.get(field, "-") for field in fields))
    assert (found["op"], found["url"], found["rc"], found["agent"]) == ("GET", "/a", 200, "a b")


def test_stamps_are_of_the_end_in_utc() -> None:
    format = w3c_format(["date", "time", "cs-uri-stem"], " ", "w3c")
    assert (format.stamp.at, format.stamp.zone) == ("end", "UTC")


@given(
    st.lists(
        st.sampled_from(
            [
                b"/a", b"", b"#", b"#Fields: cs-uri-stem", b"#Fields: time cs-uri", b"#Fields: x", b"#Date: 2026-11-20",
                b"#Software: x", b"\xff\0", b"#\xe9", b" #Fields: cs-uri",
            ]
        )
    ),
    st.booleans(),
)  # fmt: skip
def test_stretches_together_are_the_block_and_each_has_the_format_said_last(lines: list[bytes], closed: bool) -> None:
    data = b"\n".join(lines) + (b"\n" if closed else b"")
    found = list(stretches(data, FieldsDirective()))
    assert b"".join(data[begin:end] for begin, end, _ in found) == data
    said = FieldsDirective()
    for begin, end, format in found:
        for line in data[begin:end].split(b"\n"):
            if line.startswith(b"#"):
                said.read(line.decode("latin-1"))
        assert format == said.format()


@pytest.mark.parametrize(
    ("software", "taken", "latency", "note"),
    [
        ("", "125", 0.125, "as milliseconds, as they are whole and #Software does not name IIS"),
        ("", "0.125", 0.125, "as seconds, as they have decimals"),
        ("", "-", 0.0, ""),
        ("#Software: SGOS 6.7\n", "125", 0.125, "as milliseconds"),
        ("#Software: Microsoft Internet Information Services 10.0\n", "125", 0.125, ""),
    ],
)
def test_the_values_tell_the_unit_where_no_software_does(
    tmp_path: Path, software: str, taken: str, latency: float, note: str
) -> None:
    fields = "#Fields: date time cs-method cs-uri-stem sc-status time-taken\n"
    log = tmp_path / "access.log"
    log.write_text(software + fields + f"2026-11-20 10:00:00 GET /a 200 {taken}\n" * 3)
    report = convert([log], tmp_path / "out.csv")
    assert scan(tmp_path / "out.csv").collect()["latency"].to_list() == [latency] * 3
    told = [each for each in report.notes if "durations in time-taken" in each]
    assert len(told) == bool(note)
    assert note in "".join(told)
    options = ConvertOptions(time_unit="us", force=True)
    assert not any("time-taken" in each for each in convert([log], tmp_path / "out.csv", options).notes)


def test_of_a_w3c_log_without_response_times_this_is_said(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_text("#Fields: date time cs-method cs-uri-stem sc-status\n2026-11-20 10:00:00 GET /a 200\n")
    found = convert([log], tmp_path / "out.csv", ConvertOptions(time_unit="ms")).notes
    assert "the log has no response times: the end of a request is taken for its start" in found
    assert "--time-unit ms had no effect: the log has no response times" in found
