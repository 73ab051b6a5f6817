"""Requests as bytes: what a parser that did not write them reads in them is what was planned."""

import re
from dataclasses import dataclass, field

import polars as pl
from httptools import HttpRequestParser
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.replay.senders.encode import default_headers, header_rows, render


@given(st.text(), st.text())
@settings(max_examples=200)
def test_no_value_adds_a_line(agent: str, other: str) -> None:
    frame = pl.DataFrame({"op": "GET", "url": "/", "header:User-Agent": [agent], "header:X-A": [other]})
    (request,) = render(frame, default_headers("localhost", keep_alive=True))
    head, end, rest = request.partition(b"\r\n\r\n")
    assert (end, rest) == (b"\r\n\r\n", b"")
    assert len(head.split(b"\r\n")) == 5
    assert head.count(b"\n") == head.count(b"\r") == 4


@dataclass
class Read:
    """A request as httptools reads it."""

    url: bytes = b""
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""
    ended: int = 0

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value))

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.ended += 1

    def values(self, name: str) -> list[bytes]:
        return [value for key, value in self.headers if key.lower() == name.lower().encode()]


def parsed(request: bytes) -> tuple[str, Read]:
    read = Read()
    parser = HttpRequestParser(read)
    parser.feed_data(request)
    assert read.ended == 1
    return parser.get_method().decode(), read


URLS = st.text([chr(code) for code in range(0x21, 0x7F) if chr(code) not in "#"], max_size=30).map(
    lambda text: f"/{text}"
)
NAMES = st.from_regex(r"X-[!$%&'*+.^_`|~0-9A-Za-z-]{1,12}", fullmatch=True)
VALUES = st.none() | st.text(max_size=30)
METHODS = st.sampled_from(["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"])


def as_sent(value: str) -> bytes:
    """A value as a parser must read it: each run of control bytes is a blank, and blanks around it do not count."""
    return re.sub(r"[\x00-\x08\x0a-\x1f\x7f]+", " ", value).strip(" \t").encode()


@settings(max_examples=60)
@given(
    st.lists(st.tuples(METHODS, URLS, VALUES, VALUES, st.none() | st.binary(max_size=50)), min_size=1, max_size=3),
    NAMES,
)
def test_another_parser_reads_what_was_planned(rows: list[tuple[str, str, str, str, bytes]], name: str) -> None:
    schema = dict.fromkeys(("op", "url", f"header:{name}", "header:User-Agent"), pl.String)
    frame = pl.DataFrame(rows, schema={**schema, "payload": pl.Binary}, orient="row")
    requests = render(frame, default_headers("target:80", keep_alive=True))
    assert len(requests) == len(rows)
    for request, (op, url, value, agent, body) in zip(requests, rows, strict=True):
        method, read = parsed(request)
        assert (method, read.url.decode(), read.body) == (op, url, body or b"")
        assert read.values(name) == ([] if value is None else [as_sent(value)])
        assert read.values("user-agent") == [b"logreplay" if agent is None else as_sent(agent)]
        assert read.values("host") == [b"target:80"]
        announced = [] if op in ("GET", "HEAD", "OPTIONS") and not body else [str(len(body or b"")).encode()]
        assert read.values("content-length") == announced


@settings(max_examples=50)
@given(st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=3))
def test_both_ways_of_writing_headers_write_the_same(rows: list[tuple[str, str, str]]) -> None:
    columns = dict.fromkeys(("header:X-A", "header:x-a:2", "header:HOST"), pl.String)
    frame = pl.DataFrame(rows, schema=columns, orient="row").with_columns(op=pl.lit("GET"), url=pl.lit("/"))
    defaults = default_headers("target", keep_alive=False)
    for request, pairs in zip(render(frame, defaults), header_rows(frame, defaults), strict=True):
        _, read = parsed(request)
        assert sorted(read.headers) == sorted((name.encode(), value.encode()) for name, value in pairs)


def test_only_connections_that_end_are_announced() -> None:
    assert default_headers("a", keep_alive=True).keys() == {"Host", "User-Agent", "Accept"}
    assert default_headers("a", keep_alive=False)["Connection"] == "close"


def test_no_request_is_no_bytes() -> None:
    empty = pl.DataFrame(schema={"op": pl.String, "url": pl.String, "header:X-A": pl.String})
    assert render(empty, {"Host": "a"}) == []
    assert header_rows(empty, {"Host": "a"}) == []
