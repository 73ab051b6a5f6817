"""HAR: bodies as forms, text or base64; what the browser took from its cache."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from logreplay.parsers.captures.capture import Record
from logreplay.parsers.captures.har import HAR

REQUEST = {"method": "POST", "url": "https://shop.test/", "headers": []}


def record(request: dict[str, Any], **entry: Any) -> Record:
    one = {"startedDateTime": "2026-11-20T10:00:00Z", "time": 1, "request": {**REQUEST, **request}, **entry}
    (found,) = HAR.read(BytesIO(json.dumps({"log": {"entries": [one]}}).encode()), "a/user7.har")
    return found


@pytest.mark.parametrize(
    ("post", "body"),
    [
        ({"text": "a=1"}, b"a=1"),
        ({"text": "/wA=", "encoding": "base64"}, b"\xff\x00"),
        ({"params": [{"name": "a", "value": "1 2"}, {"name": "é", "value": "&"}]}, b"a=1+2&%C3%A9=%26"),
        ({"text": "", "params": [{"name": "a", "value": "1"}]}, b"a=1"),
        ({"text": ""}, b""),
    ],
)
def test_a_body_is_text_or_base64_or_the_fields_of_a_form(post: dict[str, Any], body: bytes) -> None:
    found = record({"postData": post})
    assert found.capture
    assert found.capture.body == body
    assert found.capture.client == "user7"


def test_the_size_of_a_body_tells_how_its_bytes_are_written() -> None:
    body = bytes(range(256))
    found = record({"postData": {"text": body.decode("latin-1")}, "bodySize": 256})
    assert found.capture
    assert found.capture.body == body
    assert record({"postData": {"text": "a\ufffd"}, "bodySize": 2}).reason == "the body was not kept byte for byte"


BYTES = bytes([*range(256), 13, 10, 13, 10, 255, 254, 0])
LOST = "the body was not kept byte for byte"
CHROMIUM: list[tuple[str, bytes | str | None]] = [
    ("/get?x=%20a&y=%C3%A9", None),
    ("/json", '{"name":"Jürgen","emoji":"🐵","quote\\"":"a\\nb"}'.encode()),
    ("/form", b"item=4711&note=caf%C3%A9+%26+more&plus=a%2Bb+c"),
    ("/text", "plain\r\nlines\u2028\x00end".encode()),
    ("/binary", BYTES),  # its text is Latin-1, its bodySize that of the text in UTF-8
    ("/multipart", LOST),  # bytes of a file are replaced
    (
        "/multipart-text",
        b'------WebKitFormBoundaryfjLyzzAR4M9D9nLU\r\nContent-Disposition: form-data; name="a"\r\n\r\n1',
    ),
    ("/latin", b"caf\xe9"),
    ("/gzip", LOST),  # decompressed
    ("/empty", None),
    ("/form-text", LOST),  # a field that is not UTF-8 is left out
]
CHROMIUM += [(path, body) for path, body in CHROMIUM if path in ("/get?x=%20a&y=%C3%A9", "/json", "/binary")]  # HTTP/2
CHROMIUM.append(("/put", BYTES))


def test_bodies_that_chromium_wrote_are_those_that_it_sent_or_are_rejected() -> None:
    """Chromium's own export, cut; what its server received is in the list."""
    with Path(__file__).with_name("chromium.har").open("rb") as file:
        found = list(HAR.read(file, "chromium.har"))
    for one, (path, body) in zip(found, CHROMIUM, strict=True):
        if isinstance(body, str):
            assert one.reason == body, path
            continue
        assert one.capture, one.reason
        assert one.capture.target.endswith(path)
        assert (one.capture.body or b"").startswith(body or b"")
        length = next((value for name, value in one.capture.headers if name.lower() == "content-length"), "0")
        assert len(one.capture.body or b"") == int(length)
    assert {each.capture.protocol for each in found if each.capture} == {"HTTP/1.1", "HTTP/2.0"}


def test_a_body_that_the_file_does_not_hold_is_a_rejected_request() -> None:
    assert record({"bodySize": 7}).reason == "the body is not in the file"
    assert record({"headers": [{"name": "content-length", "value": "9"}]}).reason == "the body is not in the file"
    kinds = ("multipart/form-data; boundary=x", "/secret-of-a-stranger")
    parts = [record({"postData": {"mimeType": kind, "params": [{"name": "file"}]}}).reason for kind in kinds]
    assert parts == ["the body is in parts instead of as it was sent"] * 2


def test_what_the_cache_answered_was_never_sent() -> None:
    assert record({}, _fromCache="disk").kind == "unreplayable"


def test_an_entry_whose_response_is_null_is_a_request() -> None:
    assert record({}, response=None).capture


def test_only_a_log_in_an_object_is_a_har() -> None:
    assert HAR.fits(b'\xef\xbb\xbf {\n "log" : {')
    assert not HAR.fits(b'{"log":"a line of docker\\n","stream":"stdout"}')


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ({"method": None}, "no method"),
        ({"url": None}, "no url"),
        ({"postData": {"text": "*", "encoding": "base64"}}, "the body is not base64"),
        ({"postData": {"text": 7, "encoding": "base64"}}, "the body is not base64"),
        ({"headers": [{"value": "1"}]}, "no name"),
        ({"headers": [1]}, "damaged: a value of the wrong type"),
        ({"postData": {"text": "a"}, "bodySize": "x"}, "damaged: a value that cannot be read"),
    ],
)
def test_a_rejected_entry_names_what_it_lacks(request_: dict[str, Any], reason: str) -> None:
    assert record(request_).reason == reason


def test_an_entry_without_a_request_or_that_is_not_json_says_so() -> None:
    reasons = [each.reason for each in HAR.read(BytesIO(b'{"log":{"entries":[{},{a}]}}'), "x")]
    assert reasons == ["no request", "damaged: not JSON"]
