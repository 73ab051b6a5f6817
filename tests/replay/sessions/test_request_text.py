"""A rendered request is changed in the named place and nowhere else, and stays one request."""

import json
import re
from urllib.parse import parse_qs, parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.replay.sessions.request_text import (
    header_of,
    method_of,
    target_of,
    with_body_field,
    with_header,
    with_parameter,
)

GET = b"GET /a?x=1&y=2 HTTP/1.1\r\nX-One: 1\r\nHost: shop.test\r\n\r\n"
POST = b"POST /a HTTP/1.1\r\nContent-Length: 0\r\nHost: shop.test\r\n\r\n"
FORM = b"POST /a HTTP/1.1\r\nContent-Length: 7\r\nHost: h\r\n\r\na=1&b=2"
JSON = b'POST /a HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 7\r\nHost: h\r\n\r\n{"a":1}'


def body_of(request: bytes) -> bytes:
    head, _, body = request.partition(b"\r\n\r\n")
    lengths = re.findall(rb"(?i)\r\ncontent-length: (\d+)", head)
    assert [int(length) for length in lengths] == [len(body)]
    return body


def test_its_parts_are_read() -> None:
    assert (method_of(GET), target_of(GET)) == (b"GET", b"/a?x=1&y=2")
    assert (header_of(GET, b"host"), header_of(GET, b"x-one"), header_of(GET, b"x")) == (b"shop.test", b"1", None)


def test_a_header_in_the_body_is_none() -> None:
    assert header_of(POST[:-2] + b"\r\n\r\nCookie: a\r\n\r\n", b"cookie") is None


def test_a_header_is_added_behind_the_others() -> None:
    assert with_header(FORM, b"Cookie", b"a=b") == FORM.replace(b"Host: h\r\n", b"Host: h\r\nCookie: a=b\r\n")


@pytest.mark.parametrize(
    ("name", "target"),
    [("x", b"/a?x=%20%26%3D%0D%0A&y=2"), ("y", b"/a?x=1&y=%20%26%3D%0D%0A"), ("z", b"/a?x=1&y=2")],
)
def test_a_parameter_that_is_there_gets_the_value(name: str, target: bytes) -> None:
    assert target_of(with_parameter(GET, name, " &=\r\n")) == target


def test_a_request_without_the_parameter_stays() -> None:
    assert with_parameter(POST, "a", "b") is POST
    assert with_parameter(GET, "z", "b") is GET


@pytest.mark.parametrize(
    ("request_", "body"),
    [
        (POST, b"t=a+%26b"),
        (FORM, b"a=1&b=2&t=a+%26b"),
        (FORM.replace(b"b=2", b"t=2"), b"a=1&t=a+%26b"),
        (JSON, b'{"a":1,"t":"a &b"}'),
        (JSON.replace(b"Content-Type: application/json\r\n", b""), b'{"a":1,"t":"a &b"}'),
    ],
)
def test_a_field_of_the_body_gets_the_value(request_: bytes, body: bytes) -> None:
    assert body_of(with_body_field(request_, "t", "a &b")) == body


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        (b'{"a":1e999,"b":1.10}', b'{"a":1e999,"b":1.10,"t":"v"}'),
        (b'{ "t" : 1.0, "a" : [1.50, {"t": -0}] }\n', b'{ "t" : "v", "a" : [1.50, {"t": -0}] }\n'),
        (b'{"a":"\xc3\xa4\\u00e4\\/,}","\\u0074":null}', b'{"a":"\xc3\xa4\\u00e4\\/,}","\\u0074":"v"}'),
        (b'{"t":1,"t":2}', b'{"t":"v","t":"v"}'),
        (b"\xef\xbb\xbf { } ", b'\xef\xbb\xbf {"t":"v" } '),
        (b'{"a":' + b"9" * 5000 + b"}", b'{"a":' + b"9" * 5000 + b',"t":"v"}'),
    ],
)
def test_a_json_body_keeps_its_other_bytes(body: bytes, changed: bytes) -> None:
    assert body_of(with_body_field(JSON.replace(b'{"a":1}', body), "t", "v")) == changed


@pytest.mark.parametrize(
    ("logged", "value", "sent"),
    [
        (b"17", "4711", b"4711"),
        (b"-1.50e3", "0", b"0"),
        (b"17", "9" * 4000, b"9" * 4000),
        (b"true", "false", b"false"),
        (b'"17"', "4711", b'"4711"'),
        (b"17", "abc", b'"abc"'),
        (b"17", "007", b'"007"'),
        (b"17", "1,2", b'"1,2"'),
        (b"17", "\u0661", b'"\\u0661"'),
        (b"17", "NaN", b'"NaN"'),
        (b"17", "true", b'"true"'),
        (b"true", "1", b'"1"'),
        (b"null", "1", b'"1"'),
        (b"[1]", "1", b'"1"'),
    ],
)
def test_a_number_stays_a_number_in_json_and_a_text_a_text(logged: bytes, value: str, sent: bytes) -> None:
    """A server that needs a number refused the text."""
    request = JSON.replace(b'{"a":1}', b'{"id": %b, "b": 2}' % logged)
    assert body_of(with_body_field(request, "id", value)) == b'{"id": %b, "b": 2}' % sent


def test_an_empty_body_becomes_a_form() -> None:
    assert header_of(with_body_field(POST, "t", "v"), b"content-type") == b"application/x-www-form-urlencoded"
    bare = POST.replace(b"Content-Length: 0\r\n", b"")
    assert body_of(with_body_field(bare, "t", "v")) == b"t=v"


def test_a_body_whose_coding_is_identity_takes_a_value() -> None:
    plain = FORM.replace(b"Host: h", b"Content-Encoding: Identity\r\nHost: h")
    assert body_of(with_body_field(plain, "t", "v")) == b"a=1&b=2&t=v"


@pytest.mark.parametrize(
    "request_",
    [
        GET,
        JSON.replace(b'{"a":1}', b"[1,2,3]"),
        *(
            JSON.replace(b'{"a":1}', body)
            for body in (b'{"a":1', b"{", b'{"a":1,}', b'{"a" 1}', b'{"a":1}x', b"{1:1}", b'{"a":"\xff"}', b"{" * 9**5)
        ),
        FORM.replace(b"Host: h", b"Content-Type: multipart/form-data; boundary=x\r\nHost: h"),
        FORM.replace(b"Host: h", b"Content-Encoding: gzip\r\nHost: h"),
        POST.replace(b"Host: s", b"Content-Encoding: gzip\r\nHost: s"),
    ],
)
def test_another_body_stays(request_: bytes) -> None:
    assert with_body_field(request_, "t", "v") is request_


@given(
    st.text(min_size=1, max_size=30).filter(str.isprintable),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8),
)
def test_any_value_stays_in_its_place(value: str, name: str) -> None:
    changed = with_body_field(FORM, name, value)
    assert dict(parse_qsl(body_of(changed).decode(), keep_blank_values=True))[name] == value
    assert json.loads(body_of(with_body_field(JSON, name, value)), parse_int=str, parse_float=str)[name] == value
    target = target_of(with_parameter(GET, "x", value))
    assert parse_qs(target.partition(b"?")[2].decode(), keep_blank_values=True)["x"] == [value]
    assert re.fullmatch(rb"[\x21-\x7e]+", target)
