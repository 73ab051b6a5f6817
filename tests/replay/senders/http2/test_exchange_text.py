"""An exchange over HTTP/2 is shown as one over HTTP/1.1 is."""

import polars as pl

from logreplay.replay.requests.header_columns import PAYLOAD
from logreplay.replay.senders.encode import default_headers
from logreplay.replay.senders.endpoint import parse_target
from logreplay.replay.senders.http2.header_blocks import ResponseFields
from logreplay.replay.senders.http2.render import render
from logreplay.replay.senders.http2.stream import Stream, exchange_of, request_text
from logreplay.replay.senders.trace import describe

TARGET = parse_target("http://example.test")


def request(**columns: object) -> bytes:
    frame = pl.DataFrame({"op": ["POST"], "url": ["/a"], **columns})
    return render(frame, TARGET, default_headers(TARGET.authority, keep_alive=True))[0]


def test_a_request_has_a_request_line_headers_and_a_body() -> None:
    written = request_text(request(**{PAYLOAD: pl.Series([b"hello"], dtype=pl.Binary)}))
    lines = b"POST /a HTTP/2", b"host: example.test", b"user-agent: logreplay", b"accept: */*", b"content-length: 5"
    assert written == b"\r\n".join([*lines, b"", b"hello"])


def test_secrets_of_a_request_are_masked() -> None:
    stream = Stream(3, request(**{"header:Authorization": ["Bearer verysecrettoken"]}), 0)
    stream.fields = ResponseFields(500, 2, ((b"content-length", b"2"),))
    stream.size, stream.kept = 2, b"no"
    shown = describe(exchange_of(stream, "", 1_000_000, 2_000_000, 0))
    assert "verysecrettoken" not in shown
    assert "> authorization: " in shown
    assert "< 500\n< content-length: 2\n| no\n" in shown
    assert "connect 1.000 ms, latency 2.000 ms" in shown
