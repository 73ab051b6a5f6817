"""Requests from files that are no logs."""

from pathlib import Path

import pytest

from logreplay.core.errors import LogreplayError
from logreplay.replay.requests.plan import Requests
from logreplay.replay.requests.sources import RequestFile
from logreplay.replay.schedules.rates import Limited
from support.shaped_replay import FAST, both_senders, server_saw


@both_senders
def test_one_raw_request_is_repeated(tmp_path: Path, sender: str) -> None:
    path = tmp_path / "request.txt"
    path.write_bytes(
        b"POST /submit?a=1 HTTP/1.1\r\nHost: www.example.com\r\nX-One: 1\r\nConnection: close\r\n"
        b"Content-Length: 99\r\n\r\nthe body"
    )
    stream = Requests(RequestFile(path), methods=("POST",))
    seen = server_saw(stream, sender, schedule=Limited(FAST, requests=3))
    assert [one.line for one in seen] == ["POST /submit?a=1 HTTP/1.1"] * 3
    assert {one.body for one in seen} == {b"the body"}
    assert {one.header("host") for one in seen} == {"www.example.com"}
    assert {one.header("content-length") for one in seen} == {"8"}
    assert {one.header("connection") for one in seen} <= {None, "keep-alive"}


def test_what_is_no_request_file_says_where(tmp_path: Path) -> None:
    path = tmp_path / "request.txt"
    path.write_text("GET / HTTP/1.1\nHost: a\nnonsense\n")
    with pytest.raises(LogreplayError, match=r"request\.txt: line 3 is not a header"):
        server_saw(Requests(RequestFile(path)))
    path.write_text("hello\n")
    with pytest.raises(LogreplayError, match=r"request\.txt: not an HTTP request"):
        server_saw(Requests(RequestFile(path)))


def test_a_raw_request_with_two_hosts_says_so(tmp_path: Path) -> None:
    path = tmp_path / "request.txt"
    path.write_text("GET / HTTP/1.1\nHost: a\nX-A: 1\nx-a: 2\nhost: b\n\n")
    with pytest.raises(LogreplayError, match=r"request\.txt: line 5 is a second host; keep one of the two"):
        list(RequestFile(path).batches(["url"]))
