"""Lines taken as clean become, byte for byte, what the strict patterns make of them; and clean lines are taken."""

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from logreplay.parsers.conversion.detect import Detection
from logreplay.parsers.conversion.job import output_columns
from logreplay.parsers.conversion.parse import parse
from logreplay.parsers.conversion.source import text_lines
from logreplay.parsers.fields.timestamps import Stamp, read, read_clf
from logreplay.parsers.formats.builtin import FORMATS
from logreplay.parsers.formats.format import Format
from logreplay.parsers.formats.log_format import apache_format, nginx_format
from logreplay.parsers.lines.clean_lines import pieces_of, take
from logreplay.parsers.lines.csv_lines import Lines, rendered
from support.format_samples import SAMPLES

COMBINED = '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" '
TIMED = nginx_format(COMBINED + '"$http_user_agent" $request_time')
MADE = {
    "timed": TIMED,
    "combined": nginx_format(COMBINED + '"$http_user_agent"'),
    "main": nginx_format(COMBINED + '"$http_user_agent" "$http_x_forwarded_for"'),
    "named": nginx_format(COMBINED + '"$http_user_agent" rt=$request_time len=$request_length'),
    "time first": nginx_format('$request_time $status [$time_local] $host "$request" $http_referer'),
    "apache": apache_format('%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"'),
}
FIELDS = {
    "$remote_addr": (
        "1.2.3.4", "2001:db8::17", "-", "unix:", "a,b", "a[b", "", "host.example.com:80", "x" * 41, "é",
        "1.2.3.4:4711", "unknown", "unknown.example.com", "::", "2001:db8:1234:5678:9abc:def0:1234:5678",
        ":", "a:" + "b" * 15 + ":c", "a:" + "b" * 70 + ":c", "a:b:" + "c" * 70,
    ),
    "$remote_user": ("-", "bob", "a,b", "bob smith", '"x"', "] [", '""', "", "me@x"),
    "$time_local": (
        "20/Nov/2026:23:30:37 +0530", "20/Nov/2026:23:30:37 +0530", "20/Nov/2026:23:30:38 -0000",
        "31/Feb/2026:00:00:00 +0000", "29/Feb/2028:00:00:00 -1234", "01/jan/2026:00:00:00 +0000",
        "20/Nov/2026:24:00:00 +0000", "20/Nov/2026:23:59:60 +0000", "1/Nov/2026:23:30:37 +0000",
        "00/Nov/2026:00:00:00 +0000", "20/Abc/2026:00:00:00 +0000", "31/Dec/9999:23:59:59 +0000",
        "20/Nov/0000:00:00:00 +0000", "20/Nov/2026:23:30:37", "20/Nov/2026:23:30:37 0530", "20/Nov/2026 23:30:37 +0000",
        "20/Nov/1969:00:00:00 +9999",
    ),
    "$request": (
        "GET / HTTP/1.1", "GET /a?b=1 HTTP/2.0", "POST /a,b HTTP/1.0", "get / HTTP/1.1", "GET /a", "-", "", "GET",
        "M-SEARCH / HTTP/1.1", "PROPFIND / HTTP/1.1", "PROPPATCH / HTTP/1.1", "GET /a b HTTP/1.1", "GET /a  HTTP/1.1",
        "GET, / HTTP/1.1", "GET /, HTTP/1,1", "GET x HTTP/1.1", "GET http://h/p HTTP/1.1", "CONNECT /a HTTP/1.1",
        "GET /[a]~! HTTP/1.1", "GET /\\x22 HTTP/1.1", "GET /' HTTP/1.2", "GET / HTTP/1", ",GET / HTTP/1.1",
        "GET /é HTTP/1.1", "\\x16\\x03\\x01",
    ),
    "$status": ("200", "404", "-", "000", "099", "99", "2000", "2x0"),
    "$body_bytes_sent": ("0", "17", "99999999", "123456789", "-", "007", "+5", "-1", "1.5", ""),
    "$http_referer": ("-", "https://e.com/", "a,b", "", " x", "x ", "a b", '"', "\\x22", "é", "\t", "- ", "'"),
    "$http_user_agent": ("-", "curl/8.5.0", "M (K, like G)", "", "#", " ", "a" * 300, "(internal dummy connection)"),
    "$http_x_forwarded_for": ("-", "1.2.3.4", "1.2.3.4, 5.6.7.8", "[::1]"),
    "$request_time": ("0.000", "0.050", "0.123", "1.000", "10.500", "1234.567", "12345.678", "00.100", "-", "1"),
    "$request_length": ("17", "-", "x"),
    "$host": ("example.com", "-", "a,b", "a b", ""),
}  # fmt: skip


def lines_of(text: str) -> st.SearchStrategy[str]:
    """Lines of a format; most values of most lines are clean."""
    names = sorted((name for name in FIELDS if name in text), key=len, reverse=True)

    @st.composite
    def line(draw: st.DrawFn) -> str:
        made = text
        for name in names:
            rank = draw(st.integers(0, 2 * len(FIELDS[name])))
            made = made.replace(name, FIELDS[name][rank % len(FIELDS[name]) if rank % 2 else 0])
        return made + draw(st.sampled_from(("", "", "", " ", " x", "\r", '"', "\0")))

    return line()


def texts_of(text: str) -> st.SearchStrategy[bytes]:
    """Blocks of such lines, some bytes of them changed."""

    @st.composite
    def block(draw: st.DrawFn) -> bytes:
        data = bytearray("\n".join(draw(st.lists(lines_of(text), min_size=1, max_size=12))).encode())
        for place in draw(st.lists(st.integers(0, len(data) - 1), max_size=3)) if data else ():
            data[place] = draw(st.sampled_from(b'" \n,[]\\-09aZ~\x00\x1f\x7f\x80\xff'))
        return bytes(data) + draw(st.sampled_from((b"", b"\n")))

    return block()


def check(data: bytes, format: Format, columns: Sequence[str] | None = None) -> int:
    """Compare both ways; return how many lines were taken."""
    names = tuple(columns or output_columns([Detection((format,))])[2:])
    assert pieces_of(format) is not None
    taken = take(data, format, names)
    if taken is None:
        return 0
    lines = text_lines(data)
    assert sorted([*taken.line, *taken.left]) == list(range(len(lines)))
    parsed = parse(lines, [format])
    strict = parsed.rows.filter(pl.col("line").is_in(taken.line.tolist()))
    assert {*taken.offsets} <= {*parsed.offsets}
    assert taken.http3 == sum(protocol == "HTTP/3.0" for protocol in strict["protocol"])
    at_end = format.stamp.at == "end"
    assert strict["line"].to_list() == taken.line.tolist()
    assert strict["us"].to_list() == taken.us.tolist()
    assert strict["back"].to_list() == (taken.ms * 1000 * at_end).tolist()
    assert strict["latency"].to_list() == (taken.ms / 1000).tolist()
    assert strict["whole"].all()
    assert not strict["fold"].sum()
    assert text_of(taken.lines) == text_of(rendered(strict, names))
    return len(taken.line)


def text_of(lines: Lines) -> bytes:
    text, _ = lines.joined()
    return bytes(text[: int(lines.width.sum())])


TEXTS = {
    "timed": COMBINED + '"$http_user_agent" $request_time',
    "combined": COMBINED + '"$http_user_agent"',
    "main": COMBINED + '"$http_user_agent" "$http_x_forwarded_for"',
    "named": COMBINED + '"$http_user_agent" rt=$request_time len=$request_length',
    "time first": '$request_time $status [$time_local] $host "$request" $http_referer',
    "apache": COMBINED + '"$http_user_agent"',
}


@pytest.mark.parametrize("name", MADE)
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_any_line_becomes_what_the_patterns_make_of_it_or_is_left(name: str, data: st.DataObject) -> None:
    check(data.draw(texts_of(TEXTS[name])), MADE[name])


@given(st.lists(st.binary(max_size=60), max_size=6))
@example([b""])
@example([b'"' * 6, b" " * 40, b","])
def test_any_bytes_are_taken_or_left(lines: list[bytes]) -> None:
    check(b"\n".join(lines) or b"\n", TIMED)


def test_clean_lines_are_taken() -> None:
    line = '1.2.3.4 - {user} [20/Nov/2026:23:30:37 +0000] "{op} {url} HTTP/1.1" 200 17 "{text}" "{text}" 0.{ms}'
    lines = [
        line.format(user=user, op=op, url=url, text=text, ms=ms)
        for user in ("-", "bob")
        for op in ("GET", "PROPFIND")
        for url in ("/", "/a,b,c?d=[e]")
        for text in ("-", "", "curl", "a, b (c)", " [x")
        for ms in ("000", "010", "123")
    ]
    left = sum(" [x" in line for line in lines)
    assert check("\n".join(lines).encode(), TIMED) == len(lines) - left


def test_addresses_of_ipv6_among_others_are_taken_and_those_with_ports_are_left() -> None:
    line = '%s - - [20/Nov/2026:23:30:37 +0000] "GET / HTTP/1.1" 200 17 "-" "curl" 0.050'
    clients = ("10.0.0.1", "::", "::1", "2001:db8::17", "2001:0db8:1234:5678:9abc:def0:1234:5678", "10.0.0.1:80", "a:")
    assert check("\n".join(line % client for client in clients).encode(), TIMED) == 5


def test_blocks_with_a_very_long_line_are_left_to_the_strict_patterns() -> None:
    line = b'1.2.3.4 - bob [20/Nov/2026:23:30:37 +0000] "GET /%s HTTP/1.1" 200 17 "-" "curl" 0.050\n'
    assert check(line % (b"a" * 9000) + line % b"b", TIMED) == 2
    assert check(line % (b"a" * 99_000) + line % b"b", TIMED) == 0


def test_the_columns_may_be_any() -> None:
    line = b'1.2.3.4 - bob [20/Nov/2026:23:30:37 +0000] "GET /a,b HTTP/1.1" 200 17 "-" "a, b" 0.050\n'
    for columns in (("url",), ("latency", "agent"), ("bytes", "host"), ("user", "request_bytes", "op", "referer")):
        assert check(line * 3, TIMED, columns) == 3


def test_clean_lines_of_the_combined_formats_are_taken_and_of_some_others_none() -> None:
    short = {format.name for format in FORMATS if pieces_of(format)}
    assert {"combined", "nginx-main", "nginx-combined-timed", "common"} <= short
    assert not short & {"npm", "haproxy", "envoy", "aws-alb", "urls", "pias", "apache-combined-us"}
    assert pieces_of(nginx_format(COMBINED + "$request_time$pipe")) is None
    assert pieces_of(nginx_format('$remote_addr→$remote_user [$time_local] "$request" $status')) is None
    assert pieces_of(nginx_format('[$time_local] "$request_method $request_uri" $status')) is None


@pytest.mark.parametrize("format", [format for format in FORMATS if pieces_of(format)], ids=lambda format: format.name)
def test_the_samples_of_the_formats_become_what_the_patterns_make_of_them(format: Format) -> None:
    for sample in SAMPLES[format.name]:
        check(sample.encode("latin-1"), format)


@given(
    st.lists(st.sampled_from(FIELDS["$time_local"]), min_size=1),
    st.text("0123456789/:+- JanFeb", min_size=26, max_size=26),
)
def test_stamps_are_read_as_by_the_pattern_or_not_at_all(stamps: list[str], other: str) -> None:
    texts = [stamp for stamp in (*stamps, other) if len(stamp) == 26]
    letters = np.array([text.encode() for text in texts], "S26").view(np.uint8).reshape(-1, 26)
    us, fits = read_clf(letters)
    wide = read(pl.Series(texts, dtype=pl.String), Stamp("clf"), "").us
    assert all(int(mine) == theirs for mine, theirs, fit in zip(us, wide, fits, strict=True) if fit)
