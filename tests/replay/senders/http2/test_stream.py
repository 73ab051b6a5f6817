"""A stream says whether its body is as announced, and begins anew when it is sent again."""

import pytest

from logreplay.replay.senders.http2 import frames
from logreplay.replay.senders.http2.header_blocks import ResponseFields, field
from logreplay.replay.senders.http2.stream import Stream


def stream(method: bytes, status: int, announced: int, size: int) -> Stream:
    made = Stream(0, frames.frame(frames.HEADERS, 5, 0, field(b":method", method)), 0)
    made.fields, made.size = ResponseFields(status, announced, ()), size
    return made


@pytest.mark.parametrize(
    ("method", "status", "announced", "size", "word"),
    [
        (b"GET", 200, -1, 9, ""),
        (b"GET", 200, 9, 9, ""),
        (b"GET", 200, 9, 8, "short_body"),
        (b"GET", 200, 9, 10, "protocol"),
        (b"HEAD", 200, 9, 0, ""),
        (b"HEAD", 200, 9, 9, "protocol"),
        (b"GET", 204, 9, 0, ""),
        (b"GET", 304, 9, 0, ""),
        (b"GET", 304, -1, 1, "protocol"),
    ],
)
def test_a_body_is_as_announced_or_not(method: bytes, status: int, announced: int, size: int, word: str) -> None:
    assert stream(method, status, announced, size).length_fault()[0] == word


def test_a_request_that_is_sent_again_has_no_response() -> None:
    again = stream(b"GET", 200, 1, 1)
    again.error, again.attempts = "reset", 1
    again.clear()
    assert (again.status, again.size, again.error, again.attempts) == (0, 0, "", 1)
