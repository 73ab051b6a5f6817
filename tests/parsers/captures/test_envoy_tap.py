"""Envoy's taps: truncated bodies and other kinds of traces."""

import json
from io import BytesIO
from typing import Any

from logreplay.parsers.captures.envoy_tap import ENVOY_TAP

HEADERS = [{"key": ":method", "value": "PUT"}, {"key": ":path", "value": "/a"}]


def read(*traces: dict[str, Any]) -> list[str]:
    data = BytesIO("".join(map(json.dumps, traces)).encode())
    return [each.reason or each.capture.op for each in ENVOY_TAP.read(data, "x")]  # type: ignore[union-attr]


def test_a_truncated_body_is_rejected_and_other_traces_cannot_be_replayed() -> None:
    cut = {"headers": HEADERS, "body": {"truncated": True, "as_bytes": "eA=="}}
    assert read(
        {"http_buffered_trace": {"request": {"headers": HEADERS, "body": {"as_string": "x"}}}},
        {"http_buffered_trace": {"request": cut}},
        {"http_streamed_trace_segment": {"trace_id": "1"}},
        {"socket_buffered_trace": {}},
    ) == [
        "PUT",
        "the body is truncated: raise max_buffered_rx_bytes of the tap",
        "a streamed trace; tap with buffered traces",
        "not a trace of HTTP",
    ]
