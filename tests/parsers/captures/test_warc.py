"""WARC: requests before or after their responses, and damage."""

from io import BytesIO

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
