"""GoReplay's files."""

from io import BytesIO

import pytest

from logreplay.parsers.captures import gor
from logreplay.parsers.captures.gor import GOR

END = "\n🐵🙈🙉\n".encode()
ONE = b"1 aa 1795168800250000000 0\nPOST / HTTP/1.1\r\n\r\n"


def test_a_request_without_its_response_is_read_and_the_times_of_one_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gor, "_PIECE", 7)
    answer = b"2 aa 1795168800500000000 1\nHTTP/1.1 503 No\r\n\r\nsorry"
    other = ONE.replace(b"aa", b"bb")
    found = list(GOR.read(BytesIO(END.join([ONE, other, answer]) + END), "x"))
    captures = [each.capture for each in found if each.capture]
    assert [(each.rc, each.size, each.latency) for each in captures] == [(503, 5, 0.25), (0, 0, 0.0)]
    assert len(found) == 3


def test_a_record_without_an_end_is_not_held_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gor, "LARGEST", 1 << 21)
    long = ONE + b"x" * (1 << 22)
    found = list(GOR.read(BytesIO(long + END + ONE + END), "x"))
    assert [(each.kind, len(each.raw) < 1 << 21) for each in found] == [("rejected", True), ("", True)]


@pytest.mark.parametrize(
    "data", [b"9 aa 17 0\nGET / HTTP/1.1\r\n\r\n", b"1 aa 17\nGET / HTTP/1.1\r\n\r\n", b"\xff" * 40]
)
def test_what_is_no_record_is_rejected(data: bytes) -> None:
    assert [each.kind for each in GOR.read(BytesIO(data + END), "x")] == ["rejected"]
