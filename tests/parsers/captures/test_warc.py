"""WARC: requests before or after their responses, and damage."""

from io import BytesIO

import pytest

from logreplay.parsers.captures.capture import LONGEST_HEAD
from logreplay.parsers.captures.warc import WARC
from support.captured_requests import warc


def statuses(data: bytes) -> list[int]:
    return [each.capture.rc for each in WARC.read(BytesIO(data), "x") if each.capture]


def test_a_request_has_the_status_of_its_response_in_either_order() -> None:
    info, *records = warc().split(b"WARC/1.0\r\n")[1:]
    assert statuses(b"".join(b"WARC/1.0\r\n" + each for each in [info, *records])) == [200, 201, 204]
    turned = [records[at + 1 - 2 * (at % 2)] for at in range(len(records))]
    assert statuses(b"".join(b"WARC/1.0\r\n" + each for each in turned)) == [200, 201, 204]


def test_damage_ends_the_file_with_one_rejected_record() -> None:
    found = list(WARC.read(BytesIO(warc() + b"no record\r\n\r\n"), "x"))
    assert [each.kind for each in found if each.kind] == ["rejected"]
    assert sum(bool(each.capture) for each in found) == 3


@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        (b"WARC/1.0", b"a"),
        (b"WARC/1.0\r\nX: ", b"a"),
        (b"WARC/1.0\r\nX: 1\r\n", b" a\r\n"),
        (b"WARC/1.0\r\n", b"X: 1\r\n"),
        (b"", b"\r\n"),
    ],
    ids=["version", "value", "continued value", "headers", "empty lines"],
)
def test_an_endless_header_is_read_to_its_limit_only(begin: bytes, piece: bytes) -> None:
    file = BytesIO(warc() + begin + piece * (4 * LONGEST_HEAD // len(piece)))
    found = list(WARC.read(file, "x"))
    assert file.tell() < 3 * LONGEST_HEAD
    assert sum(bool(each.capture) for each in found) == 3
    assert [each.reason for each in found if each.kind] == [
        "a header longer than 1 MB, and with it the rest of the file"
    ]


def test_a_header_within_the_limit_is_read() -> None:
    long = warc().replace(b"WARC-Type: request\r\n", b"WARC-Type: request\r\nX: " + b"a" * 900_000 + b"\r\n")
    assert statuses(long) == [200, 201, 204]
