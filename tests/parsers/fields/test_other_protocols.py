"""Requests that begin another protocol are told from plain ones, in every path of a conversion."""

import json
from pathlib import Path

import polars as pl
import pytest

from logreplay.core.headers import HEADERS
from logreplay.core.rows import scan
from logreplay.parsers.conversion.job import convert
from logreplay.parsers.fields.other_protocols import is_grpc_type, other_protocol

PLAIN = {"rc": 200, "op": "POST", "url": "/shop.Cart/Add", "agent": "grpc-go/1.60.0", HEADERS: None, "body": None}
TYPE = "Accept: */*\tContent-Type: application/grpc+proto"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, "grpc"),
        ({"agent": "shop/1.0 grpc-java-okhttp/1.5"}, "grpc"),
        ({"agent": None, HEADERS: TYPE}, "grpc"),
        ({"agent": "Firefox", HEADERS: TYPE.replace("grpc+", "grpc-web+")}, None),
        ({"agent": "Firefox"}, None),
        ({"agent": None}, None),
        ({"agent": "my-grpc-client"}, None),
        ({"op": "GET"}, None),
        ({"url": "/shop.Cart/Add?a=b"}, None),
        ({"url": "/a/b/c"}, None),
        ({"body": "\0\0\0\0\0"}, None),
        ({"rc": 101, "op": "GET", "url": "/ws", "agent": None}, "websocket"),
        ({"rc": None, "agent": None}, None),
    ],
)
def test_a_row_begins_another_protocol_if_it_says_so(change: dict[str, object], reason: str | None) -> None:
    schema = {name: pl.Int64 if name == "rc" else pl.String for name in PLAIN}
    frame = pl.DataFrame([{**PLAIN, **change}], schema=schema)
    assert frame.select(reason=other_protocol())["reason"].to_list() == [reason]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("application/grpc", True),
        ("Application/gRPC;q=1", True),
        ("application/grpc-web", False),
        ("text/plain", False),
    ],
)
def test_the_media_type_of_grpc_is_known(text: str, expected: bool) -> None:
    assert is_grpc_type(text) == expected


def line(second: int, request: str, status: int, agent: str, size: str = "101") -> str:
    return f'192.0.2.1 - - [01/Jan/2026:12:00:{second:02} +0000] "{request}" {status} {size} "-" "{agent}"'


@pytest.mark.parametrize("plain", [0, 2000])
def test_upgrades_and_calls_of_a_log_are_counted_as_unreplayable(tmp_path: Path, plain: int) -> None:
    """Alone, and among so many clean lines that their bytes are moved."""
    lines = [
        line(1, "GET /ws HTTP/1.1", 101, "Firefox", "512"),
        line(2, "POST /shop.Cart/Add HTTP/2.0", 200, "grpc-go/1.60.0"),
        line(3, "POST /shop.Cart/Add HTTP/2.0", 200, "Firefox"),
        line(4, r"GET /ws\x22 HTTP/1.1", 101, "Firefox"),
        *(line(5, f"GET /{number} HTTP/1.1", 200, "Firefox") for number in range(plain)),
    ]
    (tmp_path / "access.log").write_text("\n".join(lines) + "\n")
    report = convert([tmp_path / "access.log"], tmp_path / "access.csv")
    assert report.reasons == {"unreplayable: websocket": 2, "unreplayable: grpc": 1}
    assert (report.lines, report.converted, report.unreplayable) == (plain + 4, plain + 1, 3)
    assert scan(tmp_path / "access.csv").select((pl.col("rc") == 101).sum()).collect().item() == 0


def test_of_a_capture_calls_with_their_arguments_stay(tmp_path: Path) -> None:
    def entry(url: str, method: str, status: int, **post: object) -> dict[str, object]:
        headers = [{"name": "content-type", "value": "application/grpc"}] if method == "POST" else []
        request = {"method": method, "url": url, "httpVersion": "HTTP/2", "headers": headers, **post}
        response = {"status": status, "content": {"size": 1}}
        return {"startedDateTime": "2026-01-01T12:00:00Z", "time": 5, "request": request, "response": response}

    text = {"mimeType": "application/grpc", "text": "AAAAAAA=", "encoding": "base64"}
    entries = [
        entry("https://shop.test/ws", "GET", 101),
        entry("wss://shop.test/ws", "GET", 200),
        entry("https://shop.test/shop.Cart/Add", "POST", 200),
        entry("https://shop.test/shop.Cart/Add", "POST", 200, postData=text),
    ]
    har = {"log": {"version": "1.2", "creator": {"name": "x"}, "pages": [], "entries": entries}}
    (tmp_path / "a.har").write_text(json.dumps(har))
    report = convert([tmp_path / "a.har"], tmp_path / "a.csv")
    assert report.reasons == {"unreplayable: websocket": 2, "unreplayable: grpc": 1}
    assert (report.lines, report.converted, report.unreplayable) == (4, 1, 3)
