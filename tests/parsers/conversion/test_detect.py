"""The format of a log is found by what fits a sample of its lines."""

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from logreplay.core.errors import LogreplayError
from logreplay.parsers.conversion.detect import detect, detect_each, says_format
from logreplay.parsers.conversion.job import convert
from logreplay.parsers.conversion.report import TELLING
from logreplay.parsers.conversion.source import Block, text_lines

COMBINED = b'10.0.0.7 - - [20/Nov/2026:18:58:56 +0100] "GET /a HTTP/1.1" 200 17 "-" "curl/8.5.0"\n'
JSON = b'{"time":"2026-11-20T18:58:56+01:00","request":"GET /b HTTP/1.1","status":200,"took_ms":1}\n'
W3C = b"#Fields: date time cs-uri-stem\n2026-11-20 18:58:56 /c\n"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", False),
        (b"\n \t\n\r\n", False),
        (b"# a comment\n#Version: 1.0\n", False),
        (b"\0\0\0\n", False),
        (b"# a comment\n  x\n", True),
        (b"#Version: 1.0\n#Fields: date\n", True),
        (b"\0x", True),
    ],
)
def test_blanks_and_comments_say_nothing_of_the_format(data: bytes, says: bool) -> None:
    assert says_format(data) is says


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (COMBINED * 3, "combined"),
        (JSON * 3, "json"),
        (W3C, "w3c"),
        (COMBINED * 3 + JSON * 2, "combined+json"),
        (COMBINED * 2 + JSON * 3, "json+combined"),
        (b"web-1 | " + COMBINED + b"web-2 | " + COMBINED, "combined after docker-compose"),
        (b"# a comment\n\n" + COMBINED, "combined"),
    ],
)
def test_formats_are_named_the_main_one_first(data: bytes, name: str) -> None:
    found = detect([data], "log")
    assert (found.name, found.share) == (name, 1)


def test_one_odd_value_in_the_log_of_a_known_writer_does_not_hide_its_names() -> None:
    """All lines were read as of an unknown writer: without status and client, and with other durations."""
    plain = (
        b'{"ClientHost":"10.0.0.7","DownstreamContentSize":7,"DownstreamStatus":404,"Duration":9000000,"RequestHost":"a",'
        b'"RequestMethod":"GET","RequestPath":"/a","RequestProtocol":"HTTP/1.1","StartUTC":"2026-11-20T18:58:56Z",'
        b'"request_User-Agent":"curl"}\n'
    )
    for odd in ("k\u00e4se".encode(), b"c\\u00fcrl", b'c\\"url'):
        assert detect([plain * 9 + plain.replace(b"curl", odd)], "log").name == "traefik"


def test_samples_of_several_files_count_as_one_even_without_their_last_line_end() -> None:
    found = detect([COMBINED[:-1], b"", COMBINED * 2], "log")
    assert (found.name, found.sample) == ("combined", 3)


def test_the_share_is_of_the_lines_that_fit() -> None:
    found = detect([COMBINED * 3 + b"garbage\n"], "log")
    assert (found.share, found.sample) == (0.75, 4)


@pytest.mark.parametrize(
    ("samples", "names"),
    [
        ([COMBINED * 99, W3C], ["combined", "w3c"]),
        ([W3C, JSON, COMBINED * 99], ["w3c", "combined+json", "combined+json"]),
        ([COMBINED * 500, JSON], ["combined", "json"]),
        ([COMBINED * 9, b"", b"# a comment\n"], ["combined"] * 3),
        ([b"", W3C], ["w3c", "w3c"]),
        ([COMBINED * 9, COMBINED + b"garbage\n"], ["combined", "combined"]),
    ],
)
def test_each_of_several_logs_is_read_by_formats_that_fit_it(samples: list[bytes], names: list[str]) -> None:
    found = detect_each(samples, [f"{at}.log" for at in range(len(samples))])
    assert [each.name for each in found] == names


@pytest.mark.parametrize(
    ("samples", "problem"),
    [
        (
            [COMBINED * 99, b"garbage\n" * TELLING],
            "1.log: not an access log, or in an unknown format: 0% of the sample's",
        ),
        ([b"garbage\n" * TELLING, W3C], "0.log: not an access log, or in an unknown format: 0% of the sample's"),
        ([b"/a\n", b"x y z\n" * TELLING], "1.log: not an access log, or in an unknown format: 0%"),
        ([COMBINED, W3C, W3C + b"x\n" * 9], "2.log: has #Fields, but only 10% of the sample's lines fit"),
    ],
)
def test_of_several_logs_the_one_that_fits_no_format_is_named(samples: list[bytes], problem: str) -> None:
    with pytest.raises(LogreplayError, match="^" + re.escape(problem)):
        detect_each(samples, [f"{at}.log" for at in range(len(samples))])


@pytest.mark.parametrize("format", ["auto", "json"])
def test_logs_share_a_reading_where_their_fields_have_the_same_names(format: str) -> None:
    ms, us = JSON.replace(b"took_ms", b"duration_ms"), JSON.replace(b"took_ms", b"duration_us")
    found = detect_each([ms, us, ms * 9, JSON], ["ms", "us", "ms2", "none"], format)
    assert [each.formats[0].total_unit for each in found[:3]] == [0.001, 1e-6, 0.001]
    assert found[0] is found[2]


@pytest.mark.parametrize("format", ["auto", "ltsv"])
def test_ltsv_logs_with_other_labels_keep_the_values_of_each(format: str) -> None:
    line = b"time:2026-11-20T18:58:56Z\tmethod:GET\turi:/a\tstatus:200\tremote_addr:1.2.3.4\n"
    other = line.replace(b"remote_addr", b"client_ip")
    for sample, found in zip([line * 99, other], detect_each([line * 99, other], ["a", "b"], format), strict=True):
        assert set(found.parse(text_lines(sample), found.formats, "").rows["client"]) == {"1.2.3.4"}


@pytest.mark.parametrize("join", [json.dumps, lambda record: "\t".join(f"{k}:{v}" for k, v in record.items())])
@pytest.mark.parametrize("first", [40, 200, 360])
def test_the_lines_of_two_writers_in_one_log_keep_the_values_of_each(
    first: int, join: Callable[[dict[str, object]], str]
) -> None:
    """The names of the one were looked for in the lines of the other, and no line became a request."""
    server: dict[str, object] = {
        "time": "2026-11-20T18:58:56Z",
        "request_method": "PUT",
        "request_uri": "/a",
        "status": 201,
    }
    program: dict[str, object] = {
        "ts": "2026-11-20T18:58:57Z",
        "method": "POST",
        "path": "/b",
        "status_code": 404,
        "duration_ms": 120,
    }
    message: dict[str, object] = {"ts": "2026-11-20T18:58:57Z", "path": "/c", "message": "opened"}
    lines = [{**server, "request_time": 0.25}] * first + [program] * (400 - first) + [message] * 3
    sample = "".join(join(line) + "\n" for line in lines).encode()
    found = detect([sample], "log")
    rows = found.parse(text_lines(sample), found.formats, "").rows
    requests = {("PUT", "/a", 201, 0.25): first, ("POST", "/b", 404, 0.12): 400 - first}
    assert Counter(rows.select("op", "url", "rc", "latency").iter_rows()) == requests


def test_a_log_with_other_names_in_each_line_does_not_take_minutes() -> None:
    """As many formats as lines were tried, each on all lines."""
    times, urls = ("time", "ts", "timestamp", "@timestamp"), ("url", "uri", "path", "request_uri")
    names = [(time, url, status) for time in times for url in urls for status in ("status", "status_code")]
    lines = [{time: "2026-11-20T18:58:56Z", url: "/a", status: 200} for time, url, status in names[:1] * 100 + names]
    assert len(detect(["".join(json.dumps(line) + "\n" for line in lines).encode()], "log").formats) == 8


def test_logs_of_one_layout_tell_the_unit_of_their_durations_together() -> None:
    idle, busy = (JSON.replace(b'"took_ms":1', b'"duration":%d' % took) for took in (1, 250_000))
    other = JSON.replace(b'"took_ms":1', b'"request_time":0.25')
    found = detect_each([idle, other, busy * 9], ["idle", "other", "busy"])
    assert found[0] is found[2]
    assert found[0].formats[0].total_unit == detect([busy], "busy").formats[0].total_unit


def test_a_log_with_durations_beside_a_larger_one_without_keeps_them() -> None:
    timed = COMBINED.replace(b"\n", b" 0.061\n")
    found = detect_each([COMBINED * 500, timed * 2], ["plain", "timed"])
    assert [each.name for each in found] == ["combined", "nginx-combined-timed"]


@pytest.mark.parametrize(
    ("few", "name"), [(COMBINED[:52], "combined"), (b"x\n" * (TELLING - 1), "combined"), (W3C + b"x\n" * 3, "w3c")]
)
@pytest.mark.parametrize("at", [0, 1])
def test_a_few_lines_in_no_format_are_read_as_the_logs_beside_them(few: bytes, name: str, at: int) -> None:
    samples = [COMBINED * 99]
    samples.insert(at, few)
    found = detect_each(samples, ["a", "b"])
    assert [each.name for each in found] == (["combined", name] if at else [name, "combined"])
    assert [each.share for each in found] == ([1, 0] if at else [0, 1])


def test_logs_of_a_few_lines_in_no_format_alone_are_none() -> None:
    with pytest.raises(LogreplayError, match=r"^a: not an access log"):
        detect_each([b"garbage\n", b"more\n"], ["a", "b"])


def test_a_w3c_log_of_an_idle_hour_has_the_unit_of_the_others() -> None:
    fields = b"#Fields: date time cs-uri-stem time-taken\n"
    idle, busy = (fields + b"2026-11-20 18:58:56 /c %d\n" % took for took in (0, 250))
    assert [each.w3c_unit for each in detect_each([idle, busy], ["idle", "busy"])] == [0.001, 0.001]
    decimals = fields + b"2026-11-20 18:58:56 /c 0.25\n"
    assert [each.w3c_unit for each in detect_each([decimals, busy], ["one", "other"])] == [1, 0.001]


@pytest.mark.parametrize(
    ("line", "server"),
    [
        (COMBINED.replace(b"curl", rb"\xC3\xA9"), "nginx"),
        (COMBINED.replace(b"curl", rb"\xc3\xa9"), "apache"),
        (COMBINED.replace(b" 200 ", b" 499 "), "nginx"),
        (COMBINED.replace(b" 17 ", b" - "), "apache"),
        (COMBINED, "unknown"),
    ],
)
def test_the_server_is_told_by_what_only_it_writes(line: bytes, server: str) -> None:
    assert detect([line * 3], "log").server == server


def test_what_speaks_for_both_servers_alike_tells_neither() -> None:
    nginx, apache = COMBINED.replace(b" 200 ", b" 499 "), COMBINED.replace(b" 17 ", b" - ")
    assert detect([nginx + apache], "log").server == "unknown"


def test_some_requests_beyond_doubt_among_other_lines_are_a_log() -> None:
    found = detect([COMBINED + b"starting\n" * 9], "log")
    assert (found.name, round(found.share, 6)) == ("combined", 0.1)


@pytest.mark.parametrize(
    ("data", "wanted", "problem"),
    [
        (b"date,time,latency,xfertime,thinktime,bytes,url,rc,op\n", "auto", "log: is a normalized CSV already; name"),
        (
            b"x y z\n" * 3,
            "auto",
            "log: not an access log, or in an unknown format: 0% of the sample's lines fit; one that",
        ),
        (COMBINED, "json", "log: -f json: no line of the sample is JSON with a request in it; its first line: '10.0.0"),
        (COMBINED, "iis", "log: has no #Fields line, which -f w3c and iis need; leave out -f, or name another format"),
        (COMBINED, "nope", "format 'nope': no such name"),
        (W3C + b"x\n" * 3, "auto", "log: has #Fields, but only 25% of the sample's lines fit"),
    ],
)
def test_what_is_no_log_in_the_wanted_format_is_said(data: bytes, wanted: str, problem: str) -> None:
    with pytest.raises(LogreplayError, match="^" + re.escape(problem)):
        detect([data], "log", wanted)


def test_a_wrong_name_is_answered_with_those_of_logs_and_of_captures() -> None:
    with pytest.raises(LogreplayError, match=r"known names: .* and \d+ others"):
        detect([COMBINED], "log", "hra")


def test_an_error_shows_a_line_in_part_and_without_its_control_characters() -> None:
    with pytest.raises(LogreplayError) as error:
        detect([b"\x1b[31m" + b"x" * 100_000 + b"\n"], "log")
    assert len(str(error.value)) < 400
    assert str(error.value).isprintable()


def test_the_user_has_the_last_word_on_units_and_stamps() -> None:
    found = detect([JSON], "log")
    format = found.formats[0]
    assert found.adjusted(format) == format
    found = type(found)(found.formats, time_unit="us", stamped="end")
    assert (found.adjusted(format).total_unit, found.adjusted(format).stamp.at) == (1e-6, "end")


def test_lines_are_parsed_without_what_stands_in_front_of_them() -> None:
    data = b"web-1 | " + COMBINED
    found = detect([data], "log")
    assert found.parse(text_lines(data), found.formats, "").rows["url"].to_list() == ["/a"]


def test_blocks_are_cut_where_directives_change_the_layout_and_lines_keep_their_numbers() -> None:
    data = b"# nothing\n" + W3C + b"#Fields: time cs-uri\n00:00:01 /d\n"
    pieces = list(detect([data], "log").pieces([Block(data, 7, 0)]))
    assert [(piece.first, piece.data.count(b"\n"), len(formats)) for piece, formats in pieces] == [
        (7, 1, 0),
        (8, 2, 1),
        (10, 2, 1),
    ]
    assert b"".join(piece.data for piece, _ in pieces) == data


def test_blocks_of_a_log_without_directives_stay_whole() -> None:
    found, block = detect([COMBINED], "log"), Block(COMBINED, 1, 0)
    assert list(found.pieces([block])) == [(block, found.formats)]


def test_a_csv_of_another_tool_is_refused_with_the_columns_that_it_needs(tmp_path: Path) -> None:
    log = tmp_path / "jmeter.csv"
    log.write_text("timeStamp,elapsed,label,responseCode\n1795680000000,12,Home,200\n")
    with pytest.raises(LogreplayError, match="a CSV needs the columns date,time,latency,xfertime,thinktime,bytes,url"):
        convert([log], tmp_path / "out.csv")
