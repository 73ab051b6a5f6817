"""What all readers of captures share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.parsers.captures.capture import (
    LONGEST_HEAD,
    Capture,
    Record,
    Unanswered,
    instant,
    request_message,
    response_message,
    row,
)
from logreplay.parsers.fields.values import Rejected, Unreplayable


@given(st.binary(max_size=300))
def test_any_bytes_are_a_request_or_have_a_reason(data: bytes) -> None:
    try:
        found = row(request_message(b"POST /x HTTP/1.1\r\n" + data))
    except (Rejected, Unreplayable):
        return
    assert found["url"] == "/x"
    assert response_message(data)[0] < 1000


@pytest.mark.parametrize(
    ("target", "url"),
    [(b"/caf\xc3\xa9?q=\xe2\x82\xac", "/caf%C3%A9?q=%E2%82%AC"), (b"/caf\xe9", "/caf%E9"), (b"/%C3%A9", "/%C3%A9")],
)
def test_each_byte_of_a_target_is_encoded_once(target: bytes, url: str) -> None:
    assert row(request_message(b"GET " + target + b" HTTP/1.1\r\n\r\n"))["url"] == url


@pytest.mark.parametrize(
    ("rest", "body"),
    [
        (b"Content-Length: 3\r\n\r\nabcdef", b"abc"),
        (b"Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\n\r\n\r\n0\r\n\r\n", b"abc\r\n"),
        (b"\r\nno length", b"no length"),
        (b"\n", None),
    ],
)
def test_a_body_ends_where_its_message_says(rest: bytes, body: bytes | None) -> None:
    assert request_message(b"POST / HTTP/1.1\r\n" + rest).body == body


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Length: 9\r\n\r\nabc",
        b"Transfer-Encoding: chunked\r\n\r\n9\r\nabc",
        b"Transfer-Encoding: chunked\r\n\r\nzz",
        b"",
        b"Co",
        b"X-G: 2\r\n",
        b"X-G: 2\r\nContent-Leng",
        b"X-G: 2\r\n\r",
    ],
)
def test_a_message_that_is_not_whole_is_rejected(rest: bytes) -> None:
    with pytest.raises(Rejected):
        request_message(b"POST / HTTP/1.1\r\n" + rest)


@pytest.mark.parametrize(
    ("capture", "error"),
    [
        (Capture("GET", "data:text/plain,x"), Unreplayable),
        (Capture("CONNECT", "h:443"), Unreplayable),
        (Capture("", "/"), Unreplayable),
        (Capture("GET", "data:," + "x" * LONGEST_HEAD), Unreplayable),
        (Capture("GET", "/" + "x" * LONGEST_HEAD), Rejected),
        (Capture("GET", "/", latency=-1.0), Rejected),
        (Capture("GET", "/", latency=float("nan")), Rejected),
        (Capture("GET", "/", rc=1000), Rejected),
        (Capture("GET", "/", start=1 << 62), Rejected),
        (Capture("GET", "/", headers=[("X", "y" * 70_000)]), Rejected),
        (Capture("GET", "http://h/\ud800"), Rejected),
        (Capture("GET", "/", host="\ud800"), Rejected),
        (Capture("GET", "/", scheme="\ud800"), Rejected),
        (Capture("GET", "/", client="\ud800"), Rejected),
        *(
            (Capture("GET", "/", headers=[(name, "\ud800")]), Rejected)
            for name in ("User-Agent", "Referer", "X-Forwarded-For", "Cookie", "X-Other")
        ),
    ],
)
def test_impossible_values_are_refused(capture: Capture, error: type[Exception]) -> None:
    with pytest.raises(error):
        row(capture)


def test_the_client_is_the_first_of_those_that_forwarded_and_split_cookies_are_joined() -> None:
    headers = [("cookie", "a=1"), ("X-Forwarded-For", "192.0.2.7, 10.0.0.1"), ("cookie", "b=2"), (":path", "/")]
    found = row(Capture("GET", "https://u:p@shop.test/a?b#c", headers=headers))
    assert (found["client"], found["host"], found["scheme"], found["url"]) == (
        "192.0.2.7",
        "shop.test",
        "https",
        "/a?b",
    )
    assert found["headers"] == "X-Forwarded-For: 192.0.2.7, 10.0.0.1\tCookie: a=1; b=2"


def test_bytes_of_a_header_that_are_not_utf_8_are_latin_1() -> None:
    assert row(Capture("GET", "/", headers=[("X", "caf\udce9"), ("Y", "é")]))["headers"] == "X: café\tY: é"


def test_a_time_has_an_offset_or_that_of_the_option() -> None:
    assert instant("2026-11-20T10:00:00.5+01:00") == instant("2026-11-20T09:00:00.5Z")
    assert instant("2026-11-20T10:00:00") == instant("2026-11-20T10:00:00Z")
    with pytest.raises(Rejected):
        instant("today")


def test_requests_do_not_wait_for_their_answers_without_end() -> None:
    waiting = Unanswered(most=2)
    records = [Record(b"x" * number) for number in range(4)]
    left = [record for number, each in enumerate(records) for record in waiting.add(b"%d" % number, each)]
    assert left == records[:2]
    assert waiting.take(b"3") == records[3]
    assert waiting.take(b"0") is None
    assert list(waiting.rest()) == records[2:3]
