"""Vegeta's targets, and what only looks like them."""

from io import BytesIO

import pytest

from logreplay.parsers.captures.vegeta import VEGETA


@pytest.mark.parametrize(
    ("head", "fits"),
    [
        (b'{"method":"GET","url":"http://h/"}\n', True),
        (b'{"url": "https://h/", "method": "PUT", "body": "' + b"A" * 70_000, True),
        (b'{"method":"GET","url":"/a","status":200,"time":"x"}\n', False),
        (b'{"method":"GET"}\n', False),
        (b"GET http://h/\n", False),
    ],
)
def test_a_file_of_targets_is_told_by_its_keys(head: bytes, fits: bool) -> None:
    assert VEGETA.fits(head) is fits


def test_a_header_may_come_several_times_and_a_wrong_body_is_rejected() -> None:
    lines = (
        b'{"method":"GET","url":"http://h/","header":{"A":["1","2"]}}\n{"method":"GET","url":"http://h/","body":"*"}'
    )
    good, bad = VEGETA.read(BytesIO(lines), "x")
    assert good.capture
    assert good.capture.headers == [("A", "1"), ("A", "2")]
    assert (bad.kind, bad.reason) == ("rejected", "the body is not base64")


@pytest.mark.parametrize(("line", "reason"), [(b'{"url":"http://h/"}', "no method"), (b'{"method":"GET"}', "no url")])
def test_a_target_without_method_or_url_says_so(line: bytes, reason: str) -> None:
    assert [each.reason for each in VEGETA.read(BytesIO(line), "x")] == [reason]
