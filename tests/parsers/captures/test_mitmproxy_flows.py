"""mitmproxy's flows: what is no flow of HTTP, and damage."""

from io import BytesIO
from typing import Any

import pytest

from logreplay.parsers.captures.capture import row
from logreplay.parsers.captures.mitmproxy_flows import MITMPROXY
from support.captured_requests import mitmproxy, netstring

FLOW: dict[str, Any] = {"type": "http", "version": 21, "request": {"headers": [], "content": None}}


def reasons(data: bytes) -> list[str]:
    return [each.reason for each in MITMPROXY.read(BytesIO(data), "x")]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"type": "tcp"}, "not a flow of HTTP"),
        ({"version": 4}, "a flow of mitmproxy before version 5: write it again with mitmdump -nr OLD -w NEW"),
        ({"request": {"headers": [[b"Content-Length", b"7"]], "content": None}}, "the body is not in the file"),
        ({"request": None}, "damaged: a value of the wrong type"),
    ],
)
def test_a_flow_that_is_no_request_has_its_reason_and_the_next_is_read(change: dict[str, Any], reason: str) -> None:
    assert reasons(netstring({**FLOW, **change}) + mitmproxy()) == [reason, "", "", ""]


@pytest.mark.parametrize("data", [b"999999999999:x", b"7", b"-3:abc,", b"x" * 30])
def test_a_length_that_cannot_be_ends_the_file_with_one_rejected_record(data: bytes) -> None:
    assert len(reasons(mitmproxy() + data)) == 4


def test_nesting_without_end_is_rejected() -> None:
    value: Any = []
    for _ in range(100):
        value = [value]
    assert reasons(netstring({**FLOW, "more": value})) == ["layout"]


@pytest.mark.parametrize(("path", "url"), [(b"/caf\xc3\xa9", "/caf%C3%A9"), (b"/caf\xe9", "/caf%E9")])
def test_letters_of_a_path_and_of_a_host_are_read_once(path: bytes, url: str) -> None:
    request = {"headers": [], "method": b"GET", "path": path, "host": "café.test", "timestamp_start": 1.0}
    (record,) = MITMPROXY.read(BytesIO(netstring({**FLOW, "request": {**request, "content": b"x"}})), "x")
    assert record.capture
    found = row(record.capture)
    assert (found["url"], found["host"]) == (url, "café.test")
