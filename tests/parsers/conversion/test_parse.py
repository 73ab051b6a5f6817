"""Every line of a block gets exactly one fate, with its place and the reason."""

import json
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.parsers.conversion.parse import ROW_SCHEMA, SkippedLine, parse
from logreplay.parsers.formats.builtin import FORMATS
from logreplay.parsers.formats.format import Format
from logreplay.parsers.formats.log_format import nginx_format
from logreplay.parsers.formats.named_values import json_from_sample, ltsv_from_sample
from logreplay.parsers.formats.w3c import w3c_format

BY_NAME: dict[str, Format] = {format.name: format for format in FORMATS}
COMBINED = BY_NAME["combined"]
GOOD = '10.0.0.7 - - [20/Nov/2026:18:58:56 +0100] "GET /a HTTP/1.1" 200 17 "-" "curl/8.5.0"'
ESCAPED = GOOD.replace("/a", r"/\x22b")
LINES = (
    GOOD, ESCAPED, "", "  ", "# a comment", "garbage", GOOD.replace("20/Nov", "31/Feb"), GOOD.replace("GET", "CONNECT"),
    GOOD.replace("GET /a HTTP/1.1", "-"), GOOD.replace("17", "9" * 30),
    GOOD.replace("curl/8.5.0", "x (internal dummy connection)"),
    GOOD.replace(' "-" "curl/8.5.0"', ""), "\0", "é\xff", GOOD[:40],
)  # fmt: skip


def lines(*texts: str) -> pl.Series:
    return pl.Series(texts, dtype=pl.String)


@settings(max_examples=60)
@given(st.lists(st.sampled_from(LINES)), st.lists(st.sampled_from(["combined", "common"]), unique=True, max_size=2))
def test_a_line_is_a_row_or_refused_or_blank_in_its_place(texts: list[str], names: list[str]) -> None:
    parsed = parse(lines(*texts), [BY_NAME[name] for name in names])
    places = [*parsed.rows["line"], *(refusal.line for refusal in parsed.refusals)]
    blank = [place for place, text in enumerate(texts) if not text.strip() or text.startswith("#")]
    assert sorted([*places, *blank]) == list(range(len(texts)))
    assert parsed.blank == len(blank)
    assert parsed.rows["line"].is_sorted()
    assert parsed.rows.schema == ROW_SCHEMA


@pytest.mark.parametrize(
    ("line", "kind", "reason"),
    [
        ("garbage", "rejected", "layout"),
        (GOOD.replace("20/Nov", "31/Feb"), "rejected", "time stamp"),
        (GOOD.replace("17", "9" * 30), "rejected", "bytes"),
        (GOOD.replace("GET", "CONNECT"), "unreplayable", "CONNECT"),
        (GOOD.replace("GET /a HTTP/1.1", "-"), "unreplayable", "no request"),
        (LINES[10], "unreplayable", "Apache's own dummy connection"),
    ],
)
def test_a_refused_line_names_its_reason_and_costs_no_other(line: str, kind: str, reason: str) -> None:
    parsed = parse(lines(GOOD, line, ESCAPED), [COMBINED])
    assert parsed.refusals == [SkippedLine(1, kind, reason)]
    assert parsed.rows["url"].to_list() == ["/a", "/%22b"]


def test_a_dummy_connection_is_known_by_its_escaped_agent_too() -> None:
    parsed = parse(lines(LINES[10].replace("x (", r"\x22 (")), [COMBINED])
    assert parsed.refusals == [SkippedLine(0, "unreplayable", "Apache's own dummy connection")]


def test_a_line_whose_first_value_begins_with_a_hash_is_a_request() -> None:
    format = nginx_format('$http_x_forwarded_for - [$time_local] "$request" $status')
    line = '#x, 10.1.1.1 - [20/Nov/2026:18:58:56 +0100] "GET /a HTTP/1.1" 200'
    parsed = parse(lines(line, line[1:], line.replace("GET", "CONNECT"), "# x"), [format])
    assert parsed.rows["url"].to_list() == ["/a", "/a"]
    assert (parsed.refusals, parsed.blank) == ([SkippedLine(2, "unreplayable", "CONNECT")], 1)


@pytest.mark.parametrize("url", ["/a", r"/a\x20b"])
def test_clean_and_escaped_lines_keep_the_same_headers(url: str) -> None:
    format = nginx_format('"$request" $status "$http_connection" "$http_te" "$http_x_a" "$http_x_b"')
    line = f'"GET {url} HTTP/1.1" 200 "close" "trailers" "%s" "%s"'
    parsed = parse(lines(line % ("1", "2"), line % ("1" * 40_000, "2" * 40_000)), [format])
    assert parsed.rows["headers"].to_list() == ["X-A: 1\tX-B: 2"]
    assert parsed.refusals == [SkippedLine(1, "rejected", "headers longer than 64 KiB")]


@pytest.mark.parametrize("format", [BY_NAME["urls"], BY_NAME["pias"], w3c_format(["cs-uri", "date", "time"], " ", "x")])
def test_a_comment_of_a_format_with_comments_is_no_request(format: Format) -> None:
    parsed = parse(lines("# /a", "#Date: 2026-11-20 00:00:00", "#/a", "#x 2026-11-20 00:00:00"), [format])
    assert (parsed.rows.height, parsed.refusals, parsed.blank) == (0, [], 4)


def test_no_lines_are_no_rows_and_no_formats_reject_all_that_is_not_blank() -> None:
    assert parse(lines(), [COMBINED]).rows.height == 0
    parsed = parse(lines(GOOD, ""), [])
    assert (parsed.rows.height, parsed.blank, parsed.refusals) == (0, 1, [SkippedLine(0, "rejected", "layout")])


def test_lines_that_the_main_format_refuses_are_read_by_the_next() -> None:
    parsed = parse(lines(LINES[11], GOOD), [COMBINED, BY_NAME["common"]])
    assert parsed.rows.select("line", "agent").rows() == [(0, None), (1, "curl/8.5.0")]


def test_without_wider_rules_only_clean_lines_fit() -> None:
    assert parse(lines(GOOD, ESCAPED), [COMBINED], tiers=0).rows["line"].to_list() == [0]
    assert parse(lines(GOOD, ESCAPED), [COMBINED]).rows["line"].to_list() == [0, 1]


def test_the_duration_is_between_the_start_and_a_stamp_of_the_end() -> None:
    timed = BY_NAME["nginx-combined-timed"]
    early = replace(timed, stamp=replace(timed.stamp, at="start"))
    backs = [parse(lines(GOOD + " 0.250"), [format]).rows["back"].item() for format in (timed, early)]
    assert backs == [250_000, 0]


def test_stamps_without_a_zone_are_counted_and_read_in_the_zone_that_is_given() -> None:
    format = ltsv_from_sample(["time:2026-11-20T18:58:56\turi:/a\tstatus:200"])
    assert format is not None
    line = "time:2026-11-20T18:58:56\turi:/a\tstatus:200"
    given, utc = (parse(lines(line, GOOD), [format], zone) for zone in ("Europe/Berlin", ""))
    assert (given.naive, utc.naive) == (1, 1)
    assert utc.rows["us"][0] - given.rows["us"][0] == 3_600_000_000


HAPROXY_SERVED = (
    "127.0.0.1:57084 [25/Nov/2026:15:26:22.286] http-in static/srv1 0/0/10/20/35 200 51 - - ---- 1/1/0/0/0 0/0 "
    '"GET /slow HTTP/1.1"'
)
HAPROXY_TIMED_OUT = (  # as HAProxy 2.8 logs a server that sends nothing until its time-out of 300 ms
    "127.0.0.1:57090 [25/Nov/2026:15:26:22.287] http-in static/srv1 0/0/5/-1/301 504 198 - - sH-- 1/1/0/0/0 0/0 "
    '"GET /slow HTTP/1.1"'
)
ELB_TIMED_OUT = (
    "2021-05-13T23:39:43.945958Z lb 10.0.0.7:2817 10.1.0.1:80 0.25 -1 -1 504 0 0 29 "
    '"GET http://www.example.com:80/ HTTP/1.1" "curl/8.5.0" - -'
)
RETRIED_JSON = (
    '{"time":"2026-11-20T18:58:56+01:00","request":"GET /slow HTTP/1.1","status":504,"request_time":60.010,'
    '"upstream_header_time":"0.010, -"}'
)


@pytest.mark.parametrize("escape", ["", "\\u0020"])
@pytest.mark.parametrize(
    ("name", "text", "latency", "xfertime"),
    [
        ("haproxy", HAPROXY_TIMED_OUT, 0.301, 0.0),
        ("haproxy", HAPROXY_TIMED_OUT.replace("0/0/5/-1/", "-1/-1/-1/-1/"), 0.301, 0.0),
        ("haproxy", HAPROXY_SERVED, 0.030, 0.005),
        ("aws-elb", ELB_TIMED_OUT, 0.25, 0.0),
        ("json", RETRIED_JSON, 60.010, 0.0),
        ("json", RETRIED_JSON.replace(", -", " : 60.0"), 60.010, 0.0),
        ("json", RETRIED_JSON.replace(", -", ", 50.0"), 50.010, 10.0),
    ],
)
def test_a_request_without_a_first_byte_has_all_of_its_time_as_latency(
    name: str, text: str, latency: float, xfertime: float, escape: str
) -> None:
    text = text.replace("/slow", f"/slow{escape}")
    format = BY_NAME.get(name) or json_from_sample([RETRIED_JSON])
    assert format
    rows = parse(lines(text, text), [format]).rows
    assert rows["latency"].to_list() == pytest.approx([latency] * 2)
    assert rows["xfertime"].to_list() == pytest.approx([xfertime] * 2)


@pytest.mark.parametrize(
    ("logged", "client"),
    [
        ("10.0.0.7:4000", "10.0.0.7"),
        ("10.0.0.7", "10.0.0.7"),
        ("unknown", None),
        ("-", None),
        ("::ffff:10.0.0.7", "::ffff:10.0.0.7"),
        ("2001:db8::1", "2001:db8::1"),
    ],
)
def test_a_client_is_its_address_without_its_port_in_every_layout(logged: str, client: str | None) -> None:
    stamp = "2026-11-20T10:00:00Z"
    record = {"time": stamp, "remote_addr": logged, "method": "GET", "uri": "/a", "status": 200}
    pairs = [f"time:{stamp}", f"remote_addr:{logged}", "method:GET", "uri:/a", "status:200"]
    for line, make in (
        (
            f'{logged} [{stamp}] "GET /a HTTP/1.1" 200',
            lambda _: nginx_format('$remote_addr [$time_iso8601] "$request" $status'),
        ),
        (json.dumps(record), json_from_sample),
        ("\t".join(pairs), ltsv_from_sample),
        (
            f"{stamp[:10]} 10:00:00 {logged} GET /a 200",
            lambda _: w3c_format(["date", "time", "c-ip", "cs-method", "cs-uri-stem", "sc-status"], " ", "w3c"),
        ),
    ):
        format = make([line])
        assert format
        careful = line.replace("/a", "/\xe9")
        for each in (line, careful):
            assert parse(lines(each), [format]).rows["client"].to_list() == [client]


def test_a_stamp_of_a_classic_load_balancer_is_the_start_and_its_bytes_are_those_of_the_body() -> None:
    format = BY_NAME["aws-elb"]
    row = parse(lines(ELB_TIMED_OUT), [format]).rows.row(0, named=True)
    assert (row["back"], row["bytes"], format.note) == (0, 29, "")
    assert BY_NAME["aws-alb"].stamp.at == "end"
