"""Envoy's taps as JSON: buffered traces, one after the other.

Bodies are base64 (``JSON_BODY_AS_BYTES``) or text (``JSON_BODY_AS_STRING``); a truncated body is rejected.

Source: https://www.envoyproxy.io/docs/envoy/latest/operations/traffic_tapping,
https://github.com/envoyproxy/envoy/blob/main/api/envoy/data/tap/v3/http.proto
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final

from logreplay.parsers.captures.capture import Capture, CaptureFormat, Header, Record, base64_bytes, instant
from logreplay.parsers.captures.json_stream import records
from logreplay.parsers.fields.values import Rejected, Unreplayable

_FITS: Final = re.compile(rb'(?:\xef\xbb\xbf)?[\s\[]*\{\s*"(?:http_buffered_trace|http_streamed_trace_segment)"')
_STREAMED: Final = "a streamed trace; tap with buffered traces"


def _read(file: BinaryIO, name: str) -> Iterator[Record]:
    return records(file, _capture)


def _capture(data: bytes) -> Capture:
    wrapper: Mapping[str, Any] = json.loads(data)
    if "http_buffered_trace" not in wrapper:
        raise Unreplayable(_STREAMED if "http_streamed_trace_segment" in wrapper else "not a trace of HTTP")
    trace = wrapper["http_buffered_trace"]
    request, response = trace["request"], trace.get("response") or {}
    pairs = _headers(request)
    pseudo = {name: value for name, value in pairs if name.startswith(":")}
    size = len(_bytes(response.get("body") or {}, whole=False))
    status = next((value for name, value in _headers(response) if name == ":status"), "0")
    began, ended = (message.get("headers_received_time") for message in (request, response))
    start = instant(str(began)) if began else 0
    return Capture(
        pseudo.get(":method", ""),
        pseudo.get(":path", ""),
        start,
        pairs,
        _bytes(request.get("body") or {}) or None,
        pseudo.get(":scheme", ""),
        pseudo.get(":authority", ""),
        _address(trace),
        rc=int(status),
        size=size,
        latency=max(instant(str(ended)) - start, 0) / 1e6 if began and ended else 0.0,
    )


def _headers(message: Mapping[str, Any]) -> list[Header]:
    def value(header: Mapping[str, Any]) -> str:
        if raw := header.get("raw_value"):
            return base64_bytes(raw, "value of a header").decode("utf-8", "replace")
        return str(header.get("value", ""))

    return [(str(header["key"]).lower(), value(header)) for header in message.get("headers") or ()]


def _bytes(body: Mapping[str, Any], *, whole: bool = True) -> bytes:
    if whole and body.get("truncated"):
        raise Rejected("the body is truncated: raise max_buffered_rx_bytes of the tap")
    if "as_string" in body:
        return str(body["as_string"]).encode()
    return base64_bytes(body.get("as_bytes") or "")


def _address(trace: Mapping[str, Any]) -> str:
    """The client's address, where the tap is told to record it (``record_downstream_connection``)."""
    connection = trace.get("downstream_connection") or {}
    address = (connection.get("remote_address") or {}).get("socket_address") or {}
    return str(address.get("address", ""))


ENVOY_TAP: Final = CaptureFormat("envoy-tap", lambda head: bool(_FITS.match(head)), _read, "traces")
