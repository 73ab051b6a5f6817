"""Filters on the way."""

import re

import polars as pl
import pytest

from logreplay.core.errors import LogreplayError
from logreplay.parsers.conversion.filters import Filter

ROWS = pl.DataFrame(
    {
        "start": [0, 1_000_000, 2_000_000],
        "url": ["/a?x=1", "/b", "/api/c"],
        "rc": [200, 404, 503],
        "op": ["GET", "POST", "HEAD"],
        "client": ["10.0.0.7", "2001:db8::1", None],
    }
)


def kept(filter: Filter, zone: str = "") -> list[str]:
    condition = filter.condition(zone)
    return ROWS["url"].to_list() if condition is None else ROWS.filter(condition)["url"].to_list()


@pytest.mark.parametrize(
    ("filter", "urls"),
    [
        (Filter(), ["/a?x=1", "/b", "/api/c"]),
        (Filter(since="1970-01-01T00:00:01"), ["/b", "/api/c"]),
        (Filter(until="1970-01-01T00:00:01Z"), ["/a?x=1"]),
        (Filter(since="1970-01-01T01:00:01+01:00", until="1970-01-01T01:00:02+01:00"), ["/b"]),
        (Filter(match="^/a"), ["/a?x=1", "/api/c"]),
        (Filter(match="^/a", exclude="api"), ["/a?x=1"]),
        (Filter(status="4xx,500-599"), ["/b", "/api/c"]),
        (Filter(status="200"), ["/a?x=1"]),
        (Filter(method="get, head"), ["/a?x=1", "/api/c"]),
        (Filter(client="10.0.0.0/8"), ["/a?x=1"]),
        (Filter(client="2001:db8::/32,192.168.0.1"), ["/b"]),
    ],
)
def test_filters(filter: Filter, urls: list[str]) -> None:
    assert kept(filter) == urls


@pytest.mark.parametrize("client", ["10.0.0.0/8", "10.0.0.7", "::ffff:10.0.0.7", "::ffff:0:0/96"])
def test_a_client_of_ipv4_that_is_logged_as_ipv6_is_found(client: str) -> None:
    condition = Filter(client=client).condition("")
    assert condition is not None
    rows = pl.DataFrame({"client": ["::ffff:10.0.0.7", "::ffff:a00:7", "2001:db8::1"]})
    assert rows.filter(condition).height == 2


def test_times_without_offset_are_in_the_zone_of_the_log() -> None:
    assert kept(Filter(since="1970-01-01T01:00:02"), "Europe/Berlin") == ["/api/c"]


@pytest.mark.parametrize(
    ("filter", "problem"),
    [
        (Filter(since="noon"), "--since 'noon': not a time; write 2026-11-20, "),
        (Filter(match="("), "--match '(': not a regular expression: unclosed group"),
        (Filter(status="2000"), "--status '2000': expected statuses such as 200, 3xx or 500-504"),
        (Filter(status="200,9xx"), "--status '9xx': expected statuses such as 200, 3xx or 500-504"),
        (Filter(status="504-500"), "--status '504-500': no status is in this range; write 500-504"),
        (
            Filter(since="2026-11-21T10:00", until="2026-11-21T09:00"),
            "--until 2026-11-21T09:00 must be after --since 2026-11-21T10:00",
        ),
        (
            Filter(since="2026-11-21", until="2026-11-21T00:00Z"),
            "--until 2026-11-21T00:00Z must be after --since 2026-11-21",
        ),
        (Filter(client="example.com"), "--client 'example.com': not an address; write 10.0.0.7 or"),
    ],
)
def test_filters_that_cannot_be_read_are_named(filter: Filter, problem: str) -> None:
    with pytest.raises(LogreplayError, match="^" + re.escape(problem)):
        filter.condition()
