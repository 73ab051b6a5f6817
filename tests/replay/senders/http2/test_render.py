"""Requests are rendered as the hpack package reads them, with the headers that HTTP/1.1 would have."""

import polars as pl
import pytest
from hpack import Decoder
from hypothesis import given
from hypothesis import strategies as st

from logreplay.replay.requests.header_columns import PAYLOAD
from logreplay.replay.senders.encode import default_headers
from logreplay.replay.senders.endpoint import parse_target
from logreplay.replay.senders.http2.frames import END_HEADERS, END_STREAM, HEADER_BYTES, HEADERS
from logreplay.replay.senders.http2.render import render

TARGET = parse_target("https://example.test")
DEFAULTS = default_headers(TARGET.authority, keep_alive=True)


def read(request: bytes) -> tuple[list[tuple[str, str]], int, bytes]:
    """The headers of a rendered request, the flags of its frame, its body."""
    end = HEADER_BYTES + int.from_bytes(request[:3])
    assert request[3] == HEADERS
    assert request[5:9] == bytes(4)
    fields = Decoder(1 << 24).decode(request[HEADER_BYTES:end], raw=True)
    return [(name.decode(), value.decode()) for name, value in fields], request[4], request[end:]


def rendered(**columns: object) -> list[tuple[list[tuple[str, str]], int, bytes]]:
    return [read(request) for request in render(pl.DataFrame(columns), TARGET, DEFAULTS)]


def test_a_request_has_its_pseudo_headers_first_and_no_header_of_connections() -> None:
    ((fields, flags, body),) = rendered(op=["GET"], url=["/a?b"])
    assert fields == [
        (":method", "GET"),
        (":scheme", "https"),
        (":authority", "example.test"),
        (":path", "/a?b"),
        ("user-agent", "logreplay"),
        ("accept", "*/*"),
    ]
    assert (flags, body) == (END_HEADERS | END_STREAM, b"")


def test_a_body_is_announced_and_follows() -> None:
    bodies = pl.Series([b"hello", None, None], dtype=pl.Binary)
    post, empty, get = rendered(op=["POST", "PUT", "GET"], url=["/", "/", "/"], **{PAYLOAD: bodies})
    assert post[0][-1] == ("content-length", "5")
    assert (post[1:], empty[1]) == ((END_HEADERS, b"hello"), END_HEADERS | END_STREAM)
    assert empty[0][-1] == ("content-length", "0")
    assert "content-length" not in dict(get[0])


def test_columns_become_headers_in_lower_case_and_host_the_authority() -> None:
    columns = {"header:Host": ["b.test", None], "header:X-Own": ["1\r\n2", None], "header:User-Agent": [None, "x"]}
    first, second = rendered(op=["GET", "GET"], url=["/", "/"], **columns)
    assert dict(first[0])[":authority"] == "b.test"
    assert dict(first[0])["x-own"] == "1 2"
    assert dict(first[0])["user-agent"] == "logreplay"
    assert dict(second[0]) == {
        ":method": "GET", ":scheme": "https", ":authority": "example.test", ":path": "/", "accept": "*/*",
        "user-agent": "x",
    }  # fmt: skip


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["GET", "HEAD", "POST", "PURGE"]),
            st.from_regex(r"/[\x21-\x7e]{0,200}", fullmatch=True),
            st.one_of(st.none(), st.from_regex(r"[\x20-\x7e]{0,200}", fullmatch=True)),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_request_is_read_as_it_was_planned(rows: list[tuple[str, str, str | None]]) -> None:
    ops, urls, values = zip(*rows, strict=True)
    columns = {"op": ops, "url": urls, "header:Referer": pl.Series(values, dtype=pl.String)}
    for (op, url, value), (fields, _, _) in zip(rows, rendered(**columns), strict=True):
        found = dict(fields)
        assert (found[":method"], found[":path"]) == (op, url)
        assert found.get("referer") == (None if value is None else value.strip(" "))


@pytest.mark.parametrize("length", [126, 127, 128, 300, 20_000])
def test_a_path_may_have_any_length(length: int) -> None:
    path = "/" + "a" * (length - 1)
    ((fields, _, _),) = rendered(op=["GET"], url=[path])
    assert dict(fields)[":path"] == path
