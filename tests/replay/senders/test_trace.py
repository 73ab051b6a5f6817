"""An exchange as text, and the exchange that ends a run: hostile bytes steer no terminal, secrets are not shown."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.replay.senders.contract import Exchange, SenderCounts
from logreplay.replay.senders.trace import SHOWN_LINES, Watch, describe, describe_counts, printable

GET = b"GET /a HTTP/1.1\r\nHost: target\r\n\r\n"


def exchange(**change: Any) -> Exchange:
    """A good answer, but for what is given."""
    good: dict[str, Any] = {
        "seq": 7, "request": GET, "status": 200, "reason": b"OK", "headers": [(b"Server", b"x")], "size": 5,
        "connect": 0.001, "latency": 0.002, "xfertime": 0.0, "error": "", "detail": "", "expected_rc": 200,
    }  # fmt: skip
    return Exchange(**{**good, **change})


def test_an_exchange_is_shown_a_line_each_for_what_was_sent_got_and_measured() -> None:
    assert describe(exchange()).splitlines() == [
        "> GET /a HTTP/1.1",
        "> Host: target",
        "< 200 OK",
        "< Server: x",
        "= request 7: 5 bytes, connect 1.000 ms, latency 2.000 ms, xfertime 0.000 ms",
    ]


def test_an_exchange_without_an_answer_says_why() -> None:
    lines = describe(exchange(status=0, error="reset", detail="by\x1b[31m peer")).splitlines()
    assert [line for line in lines if line[0] in "<!"] == [r"! reset: by\x1b[31m peer"]


@pytest.mark.parametrize(("expected", "said"), [(200, "! status 404; the log had 200"), (0, "the log had none")])
def test_an_answer_that_the_log_did_not_have_is_marked(expected: int, said: str) -> None:
    assert said in describe(exchange(status=404, expected_rc=expected))


@settings(max_examples=60)
@given(st.binary(), st.binary(), st.binary(), st.binary(), st.text())
def test_hostile_bytes_steer_no_terminal(request: bytes, reason: bytes, value: bytes, body: bytes, why: str) -> None:
    hostile = exchange(
        request=request, reason=reason, headers=[(value, value)], body=body, status=500, error="protocol", detail=why
    )
    for secrets in (False, True):
        shown = describe(hostile, secrets=secrets)
        assert shown.isascii()
        assert shown.replace("\n", "").isprintable()


@given(st.binary())
def test_what_is_shown_of_bytes_tells_them_apart(data: bytes) -> None:
    shown = printable(data)
    assert shown.encode().decode("unicode_escape").encode("latin-1") == data


def test_secrets_are_shown_only_if_asked_for() -> None:
    hostile = exchange(
        request=b"GET /a?token=hunter2 HTTP/1.1\r\nAuthorization: Basic hunter2hunter2\r\n\r\n",
        headers=[(b"Set-Cookie", b"id=hunter2")],
        status=500,
        body=b'{"password": "hunter2',
        error="closed",
        detail="http://u:hunter2@h/",
    )
    assert "hunter2" not in describe(hostile)
    assert describe(hostile, secrets=True).count("hunter2") == 6


@pytest.mark.parametrize("answer", [rb'{"a": "x\/\"\u00e9\/y"}', '{"a": "x/\\"é/y"}'.encode(), b"x%2F%22%C3%A9%2Fy"])
def test_a_secret_that_an_exchange_names_is_masked_however_it_is_coded(answer: bytes) -> None:
    shown = describe(exchange(status=500, body=answer, secrets=['x/"é/y'.encode()]))
    assert "***" in shown
    assert "/y" not in shown


def test_only_the_body_of_a_failing_exchange_is_shown() -> None:
    assert "| oops" in describe(exchange(status=500, body=b"oops"))
    assert "| fine" not in describe(exchange(body=b"fine"))
    assert "| fine" not in describe(exchange(body=b"fine", expected_rc=500))


@pytest.mark.parametrize(("status", "expected"), [(200, 500), (200, 404), (302, 200), (503, 500), (404, 403)])
def test_a_status_that_the_log_did_not_have_is_no_failure_unless_its_class_is_new(status: int, expected: int) -> None:
    """--crash stopped at a 200 where the log had 500, which no count calls a failure."""
    watch = Watch(crash=True)
    watch.see(exchange(status=status, expected_rc=expected))
    assert watch.culprit is None


def test_a_request_that_was_not_sent_is_no_failure_of_the_target() -> None:
    watch = Watch(crash=True)
    watch.see(exchange(status=0, error="dropped"))
    assert watch.culprit is None


def test_of_a_body_of_many_lines_twenty_are_shown() -> None:
    body = b"\n".join(b"%d" % number for number in range(500))
    lines = [line for line in describe(exchange(status=500, body=body, size=len(body))).splitlines() if line[0] == "|"]
    assert lines[-2:] == ["| 19", "| ... the first 20 lines of 1889 bytes"]
    assert len(lines) == SHOWN_LINES + 1


def test_the_first_exchange_that_fails_ends_a_run_once() -> None:
    stopped: list[str] = []
    watch = Watch(crash=True, stop=stopped.append)
    first, second = exchange(seq=2, status=503), exchange(seq=3, error="reset")
    for seen in (exchange(), exchange(seq=1, error="cancelled"), first, second):
        watch.see(seen)
    assert watch.culprit is first
    assert stopped == ["crash"]


def test_a_watch_that_only_shows_stops_nothing() -> None:
    shown: list[str] = []
    watch = Watch(show=shown.append)
    watch.see(exchange(status=503))
    assert (len(shown), watch.culprit, watch.needed, Watch().needed) == (1, None, True, False)


def test_counts_name_the_first_cause_of_each_error() -> None:
    counts = SenderCounts(3, 2, 1, details={"reset": "\x1b[31m token=hunter2"})
    counts.local["EMFILE"] = 4
    assert describe_counts(counts).splitlines() == [
        "connections: 3 opened, reused 2 times, 1 retry",
        r"first reset: \x1b[31m token=***",
        "EMFILE: 4 connections could not be opened or used here",
    ]
