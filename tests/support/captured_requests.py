"""The same three requests in each format of captures, and the CSV rows that they become."""

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

BINARY = bytes(range(256)) + b"\r\n\r\n0\r\n\r\n"
FORM = b"item=4711&note=caf%C3%A9"
START = 1_795_168_800_250_000
"""Microseconds since 1970 of the first; the others follow a second apart: 2026-11-20 10:00:00.25 UTC."""

REQUESTS: tuple[tuple[str, str, list[tuple[str, str]], bytes | None, int], ...] = (
    ("GET", "/shop?q=a%20b&x=1", [("Accept", "text/html"), ("Cookie", "s=abc; t=d")], None, 200),
    ("POST", "/cart", [("Content-Type", "application/x-www-form-urlencoded"), ("Cookie", "s=abc")], FORM, 201),
    ("PUT", "/blob/7", [("Content-Type", "application/octet-stream"), ("X-Token", 'a,"b"')], BINARY, 204),
)
"""Method, path and query, headers, body, status."""

HOST = "shop.test:8443"


def iso(us: int) -> str:
    from datetime import UTC, datetime, timedelta

    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)).isoformat().replace("+00:00", "Z")


def message(
    op: str, target: str, headers: list[tuple[str, str]], body: bytes | None, *, chunked: bool = False
) -> bytes:
    lines = [f"{op} {target} HTTP/1.1", f"Host: {HOST}", *(f"{name}: {value}" for name, value in headers)]
    sent = body or b""
    if chunked and body:
        lines.append("Transfer-Encoding: chunked")
        parts = [body[at : at + 50] for at in range(0, len(body), 50)]
        sent = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    elif body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + sent


def har() -> bytes:
    entries = []
    for number, (op, target, headers, body, status) in enumerate(REQUESTS):
        post: dict[str, Any] = {}
        if body is FORM:
            post = {"postData": {"mimeType": headers[0][1], "text": body.decode()}}
        elif body:
            text = b64encode(body).decode()
            post = {"postData": {"mimeType": headers[0][1], "text": text, "encoding": "base64"}}
        request = {
            "method": op,
            "url": f"https://{HOST}{target}#part",
            "httpVersion": "HTTP/2",
            "headers": [
                {"name": name, "value": value}
                for name, value in [(":authority", HOST), *headers, ("content-length", str(len(body or b"")))]
            ],
            **post,
        }
        entries.append(
            {
                "startedDateTime": iso(START + 1_000_000 * number),
                "time": 25,
                "request": request,
                "response": {"status": status, "content": {"size": 7}},
                "timings": {"send": 0, "wait": 20, "receive": 5},
            }
        )
    pages = [{"id": "page", "startedDateTime": iso(START), "title": 'a "] } {', "pageTimings": {}}]
    return json.dumps(
        {"log": {"version": "1.2", "creator": {"name": "x"}, "pages": pages, "entries": entries}}
    ).encode()


def gor() -> bytes:
    pieces = []
    for number, (op, target, headers, body, status) in enumerate(REQUESTS):
        at = (START + 1_000_000 * number) * 1000
        sent = message(op, target, headers, body, chunked=True)
        answer = b"HTTP/1.1 %d OK\r\nContent-Length: 7\r\n\r\nanswer!" % status
        pieces.append(b"1 a%d %d 0\n%s" % (number, at, sent))
        pieces.append(b"2 a%d %d 25000000\n%s" % (number, at + 25_000_000, answer))
        pieces.append(b"3 a%d %d 9\n%s" % (number, at + 26_000_000, answer))
    return b"".join(piece + "\n🐵🙈🙉\n".encode() for piece in pieces)


def vegeta() -> bytes:
    lines = []
    for op, target, headers, body, _ in REQUESTS:
        one = {"method": op, "url": f"https://{HOST}{target}", "header": {name: [value] for name, value in headers}}
        lines.append(json.dumps(one | ({"body": b64encode(body).decode()} if body else {})))
    return "\n".join(lines).encode() + b"\n"


def envoy_tap() -> bytes:
    traces = []
    for number, (op, target, headers, body, status) in enumerate(REQUESTS):
        pseudo = [(":method", op), (":path", target), (":authority", HOST), (":scheme", "https")]
        keys = [{"key": name, "value": value} for name, value in [*pseudo, *headers]]
        request: dict[str, Any] = {"headers": keys, "headers_received_time": iso(START + 1_000_000 * number)}
        if body:
            request["body"] = {"truncated": False, "as_bytes": b64encode(body).decode()}
        response = {
            "headers": [{"key": ":status", "value": str(status)}],
            "headers_received_time": iso(START + 1_000_000 * number + 25_000),
            "body": {"as_string": "answer!"},
        }
        traces.append(json.dumps({"http_buffered_trace": {"request": request, "response": response}}, indent=1))
    return "\n".join(traces).encode()


def warc() -> bytes:
    pieces = [b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 4\r\n\r\nx: y\r\n\r\n"]
    for number, (op, target, headers, body, status) in enumerate(REQUESTS):
        date = iso(START + 1_000_000 * number)
        answer = b"HTTP/1.1 %d OK\r\nContent-Length: 7\r\n\r\nanswer!" % status
        sent = message(op, target, headers, body)
        for kind, data, key, other in (("response", answer, "r", ""), ("request", sent, "q", "r")):
            lines = [
                "WARC/1.0",
                f"WARC-Type: {kind}",
                f"WARC-Record-ID: <urn:{key}{number}>",
                *([f"WARC-Concurrent-To: <urn:{other}{number}>"] if other else []),
                f"WARC-Target-URI: https://{HOST}{target}",
                f"WARC-Date: {date}",
                f"Content-Type: application/http; msgtype={kind}",
                f"Content-Length: {len(data)}",
            ]
            pieces.append("\r\n".join(lines).encode() + b"\r\n\r\n" + data + b"\r\n\r\n")
    return b"".join(pieces)


def netstring(value: Any) -> bytes:
    """A value as mitmproxy writes it."""
    match value:
        case None:
            data, kind = b"", b"~"
        case bool():
            data, kind = str(value).lower().encode(), b"!"
        case int():
            data, kind = str(value).encode(), b"#"
        case float():
            data, kind = repr(value).encode(), b"^"
        case bytes():
            data, kind = value, b","
        case str():
            data, kind = value.encode(), b";"
        case list() | tuple():
            data, kind = b"".join(map(netstring, value)), b"]"
        case Mapping():
            data, kind = b"".join(netstring(key) + netstring(one) for key, one in value.items()), b"}"
        case _:
            raise TypeError(value)
    return b"%d:%s%s" % (len(data), data, kind)


def mitmproxy() -> bytes:
    pieces = []
    for number, (op, target, headers, body, status) in enumerate(REQUESTS):
        began = START / 1e6 + number
        request = {
            "http_version": b"HTTP/1.1",
            "headers": [[name.encode(), value.encode()] for name, value in headers],
            "content": body or b"",
            "trailers": None,
            "timestamp_start": began,
            "timestamp_end": began + 0.001,
            "host": "shop.test",
            "port": 8443,
            "method": op.encode(),
            "scheme": b"https",
            "authority": b"",
            "path": target.encode(),
        }
        response = {
            "http_version": b"HTTP/1.1",
            "headers": [],
            "content": b"answer!",
            "timestamp_start": began + 0.02,
            "timestamp_end": began + 0.025,
            "status_code": status,
            "reason": b"",
        }
        client = {"peername": ["192.0.2.7", 4711]}
        flow = {"websocket": None, "response": response, "request": request, "client_conn": client}
        pieces.append(netstring({**flow, "type": "http", "version": 21}))
    return b"".join(pieces)


SAMPLES = {
    "har": har,
    "gor": gor,
    "vegeta": vegeta,
    "envoy-tap": envoy_tap,
    "warc": warc,
    "mitmproxy": mitmproxy,
}
