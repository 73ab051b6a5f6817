"""Urls as rows of a normalized CSV: whatever a url holds, a reader finds the same request."""

from io import BytesIO

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.core.record import CORE_COLUMNS
from logreplay.core.rows import read_csv
from logreplay.replay.requests.url_rows import UrlRow, from_rows, write_frames


def read(text: bytes, *columns: str) -> list[tuple[object, ...]]:
    return pl.concat(read_csv(BytesIO(text), columns)).select(columns).rows()


@pytest.mark.parametrize(
    ("text", "url", "host", "origin"),
    [
        ("/", "/", None, None),
        ("//other/x", "//other/x", None, None),
        ("/a b?c=ä#part", "/a%20b?c=%C3%A4", None, None),
        ("/100%/a%20b", "/100%/a%20b", None, None),
        ("http://a", "/", "a", "http://a"),
        ("https://u:hunter2@a:81?x", "/?x", "a:81", "https://a:81"),
        ("HTTP://A/x", "/x", "A", "http://A"),
        ("http://[::1]:8/x", "/x", "[::1]:8", "http://[::1]:8"),
    ],
)
def test_a_url_is_taken_apart(text: str, url: str, host: str | None, origin: str | None) -> None:
    row = UrlRow.of(text)
    assert (row.url, row.host, row.origin) == (url, host, origin)
    assert str(row) == f"{origin or ''}{url}"


@pytest.mark.parametrize("text", ["", "a", "ftp://a/b", "http:///x", "http:/x", "http://[::1/x", "*"])
def test_what_is_no_url_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a url|Invalid IPv6"):
        UrlRow.of(text)


@given(st.text())
def test_a_path_becomes_something_that_can_be_sent(text: str) -> None:
    url = UrlRow.of(f"/{text}").url
    assert url.startswith("/")
    assert all("\x21" <= sign < "\x7f" for sign in url)
    assert '"' not in url
    assert UrlRow.of(url).url == url


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.text(max_size=9), st.none() | st.text(st.characters(codec="utf-8"), min_size=1, max_size=9)))
)
def test_a_reader_finds_the_same_requests(texts: list[tuple[str, str | None]]) -> None:
    rows = [UrlRow.of(f"/{url}", "POST", body) for url, body in texts]
    written = b"".join(write_frames([from_rows(rows)]))
    expected = [(row.url, None, "POST", row.body) for row in rows]
    assert (read(written, "url", "host", "op", "body") if rows else []) == expected


def test_rows_are_a_second_apart_also_from_one_block_to_the_next() -> None:
    rows = [UrlRow(f"/{number}") for number in range(5)]
    pieces = list(write_frames(map(from_rows, (rows[:2], rows[2:4], rows[4:]))))
    assert len(pieces) == 4
    found = read(b"".join(pieces), "date", "time", "url", "rc")
    assert found == [("2000-01-01", f"00:00:0{number}.000000", f"/{number}", 0) for number in range(5)]


def test_without_a_row_there_is_a_header_line() -> None:
    assert b"".join(write_frames([])).decode() == ",".join((*CORE_COLUMNS, "host", "body")) + "\n"
