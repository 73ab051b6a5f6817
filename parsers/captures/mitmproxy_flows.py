"""mitmproxy's flows (``mitmdump -w FILE``): one netstring with a dictionary for each.

The files are read here and not by mitmproxy, whose packages exclude several of logreplay's. A flow's request is laid
out alike since format version 7 (mitmproxy 5).

Source: https://github.com/mitmproxy/mitmproxy (mitmproxy/io/tnetstring.py, mitmproxy/net/http)
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any, BinaryIO, Final

from logreplay.parsers.captures.capture import LARGEST, Capture, CaptureFormat, Record, record_of, text_of, value_of
from logreplay.parsers.fields.values import Rejected, Unreplayable

_LENGTH: Final = re.compile(rb"[0-9]{1,12}")
_FITS: Final = re.compile(rb"[0-9]{1,12}:[0-9]{1,6}:[a-z_]{2,30}[;,]")
_COLON: Final = ord(":")
_DEEPEST: Final = 50
_SHOWN: Final = 1 << 16
_OLDEST: Final = 7


def _read(file: BinaryIO, name: str) -> Iterator[Record]:
    """Read netstrings; behind damage the next flow cannot be found, so the rest is one rejected record."""
    while head := file.read(1):
        while len(head) < 14 and not head.endswith(b":") and (more := file.read(1)):
            head += more
        length = int(head[:-1]) if head.endswith(b":") and _LENGTH.fullmatch(head[:-1]) else None
        if length is None or length > LARGEST:
            reason = "layout" if length is None else f"longer than {LARGEST >> 20} MB"
            rest = file.read(_SHOWN)
            yield Record(head + rest, None, "rejected", f"{reason}, and with it the rest of the file")
            while file.read(_SHOWN):
                pass
            return
        data = file.read(length + 1)
        if len(data) <= length:
            yield Record(head + data, None, "rejected", "cut off at the end of the file")
            return
        yield record_of(head + data, partial(_capture, data))


def _capture(data: bytes) -> Capture:
    if data[-1:] != b"}":
        raise Rejected("layout")
    flow = _value(memoryview(data)[:-1], "}", _DEEPEST)
    if flow.get("type") != "http":
        raise Unreplayable("not a flow of HTTP")
    version = flow.get("version")
    if not isinstance(version, int) or version < _OLDEST:
        raise Rejected("a flow of mitmproxy before version 5: write it again with mitmdump -nr OLD -w NEW")
    request, response = flow["request"], flow.get("response") or {}
    headers = [(name.decode("latin-1"), text_of(value)) for name, value in request["headers"]]
    if request.get("content") is None and int(value_of(headers, "content-length") or 0):
        raise Rejected("the body is not in the file")
    began = float(request["timestamp_start"])
    sent = float(request.get("timestamp_end") or began)
    first, last = (float(response.get(f"timestamp_{end}") or sent) for end in ("start", "end"))
    authority, host, port = (request.get(name) for name in ("authority", "host", "port"))
    scheme = text_of(request.get("scheme") or b"")
    usual = {"http": 80, "https": 443}.get(scheme)
    named = text_of(authority or b"") or value_of(headers, "host")
    address = (flow.get("client_conn") or {}).get("peername") or (flow.get("client_conn") or {}).get("address") or [""]
    return Capture(
        text_of(request["method"]),
        request["path"].decode("utf-8", "surrogateescape"),
        round(began * 1e6),
        headers,
        request.get("content") or None,
        scheme,
        named or str(host or "") + (f":{port}" if host and port != usual else ""),
        str(address[0]),
        text_of(request.get("http_version") or b""),
        int(response.get("status_code") or 0),
        len(response.get("content") or b""),
        max(first - began, 0.0),
        max(last - first, 0.0),
    )


def _value(data: memoryview, kind: str, depth: int) -> Any:
    """A value of a netstring; text is `str`, bytes are `bytes`."""
    if depth < 0:
        raise Rejected("layout")
    match kind:
        case ",":
            return bytes(data)
        case ";":
            return bytes(data).decode("utf-8", "surrogateescape")
        case "#":
            return int(bytes(data[:40]))
        case "^":
            return float(bytes(data[:40]))
        case "!":
            return bytes(data) == b"true"
        case "~":
            return None
        case "]" | "}":
            values = list(_values(data, depth - 1))
            return values if kind == "]" else {_name(values[at]): values[at + 1] for at in range(0, len(values), 2)}
    raise Rejected("layout")


def _name(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _values(data: memoryview, depth: int) -> Iterator[Any]:
    at = 0
    while at < len(data):
        length = _LENGTH.match(data, at)
        if not length or data[length.end()] != _COLON:
            raise Rejected("layout")
        begin = length.end() + 1
        end = begin + int(length[0])
        if end >= len(data):
            raise Rejected("layout")
        yield _value(data[begin:end], chr(data[end]), depth)
        at = end + 1


MITMPROXY: Final = CaptureFormat("mitmproxy", lambda head: bool(_FITS.match(head)), _read, "flows")
