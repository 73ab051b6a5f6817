"""Findings on sessions say what failed and what to do."""

from collections import Counter

import pytest

from logreplay.replay.results.session_findings import session_findings
from logreplay.replay.results.verdict import Severity
from logreplay.replay.sessions.client_sessions import SessionCounts
from logreplay.replay.sessions.cookies import CookieJar


def test_sessions_are_said_to_be_closed_loops() -> None:
    (finding,) = session_findings(SessionCounts(clients=50, logins=100, cookies=60, extracted=Counter(csrf=7)))
    assert finding.severity is Severity.INFO
    assert (
        "50 sessions: 100 login requests, 60 cookies, 7 values; clients with sessions are closed loops" in finding.text
    )


def test_rows_of_the_pool_that_several_sessions_had_are_counted() -> None:
    (_, finding) = session_findings(SessionCounts(clients=9, logins=9, row_shared=4))
    assert (finding.code, finding.severity) == ("login_shared", Severity.INFO)
    assert "4 sessions began with a row of the pool that another one had" in finding.text


def test_waits_that_are_told_elsewhere_are_not_told_again() -> None:
    (finding,) = session_findings(SessionCounts(clients=2), waits_told=True)
    assert finding.text == "2 sessions: 0 login requests, 0 cookies, 0 values"


def test_a_target_that_sets_no_cookie_is_warned_of() -> None:
    def found(counts: SessionCounts, answers: int) -> list[str]:
        warnings = (each for each in session_findings(counts, answers=answers) if each.severity is Severity.WARNING)
        return [each.text for each in warnings if each.code == "no_cookies"]

    (text,) = found(SessionCounts(), 1000)
    assert text.startswith("--cookies: no response set a cookie (1,000 came); ")
    assert not found(SessionCounts(), 5), "a login may come yet"
    assert not found(SessionCounts(cookies=1), 1000)
    assert not found(SessionCounts(refused=Counter({"of another domain": 1})), 1000), "one was set, and refused"


def test_cookies_of_logins_that_are_not_sent_back_are_warned_of() -> None:
    def found(counts: SessionCounts) -> list[tuple[Severity, str]]:
        return [(each.severity, each.text) for each in session_findings(counts) if each.code == "cookies_unkept"]

    ((severity, text),) = found(SessionCounts(logins=3, unkept=3))
    assert severity is Severity.WARNING
    assert text.startswith("--login without --cookies: 3 responses set cookies, which were not sent back")
    ((severity, _),) = found(SessionCounts(logins=3, unkept=3, extracted=Counter(token=3)))
    assert severity is Severity.INFO, "the session may be in the value"
    assert not found(SessionCounts(logins=3))


def test_what_failed_is_named_and_counted() -> None:
    counts = SessionCounts(
        clients=3,
        forgotten=2,
        refused=Counter({"of another domain": 4}),
        logins=9,
        login_failures=Counter({"status 403": 2, "timeout": 1}),
        extracted=Counter(seen=1),
        unusable=Counter(csrf=5),
        missing=Counter(seen=6, never=7),
    )
    found = {(finding.code, finding.severity): finding.text for finding in session_findings(counts)}
    assert "3 of 9 login requests failed (2 x status 403, 1 x timeout)" in found["login_failed", Severity.WARNING]
    assert "4 cookies of the target were refused (4 x of another domain)" in found["cookies_refused", Severity.WARNING]
    assert "(5 x csrf)" in found["values_unusable", Severity.WARNING]
    assert found["value_missing", Severity.WARNING].startswith("--use never: 7 requests")
    assert found["value_missing", Severity.INFO].startswith("--use seen: 6 requests")
    assert "2 sessions were dropped" in found["sessions_dropped", Severity.WARNING]


@pytest.mark.parametrize(
    ("header", "remedy", "other"),
    [
        (b"a=b; Domain=shop.example", "for Domain=shop.example use --host www.shop.example", "https://"),
        (b"a=b; Secure", "a Secure cookie is kept only over TLS: use an https:// target", "--host"),
        (b"__Host-a=b", "check the Set-Cookie headers with run --verbose", "--host"),
    ],
)
def test_a_refused_cookie_is_told_with_the_remedy_for_its_reason(header: bytes, remedy: str, other: str) -> None:
    why = CookieJar().store(header, host="127.0.0.1", target=b"/", secure=False, now=0.0)
    (_, finding) = session_findings(SessionCounts(refused=Counter({why: 2})))
    assert finding.text.startswith(f"2 cookies of the target were refused (2 x {why}), and requests are sent without")
    assert finding.text.endswith(remedy)
    assert other not in finding.text


def test_clients_without_a_login_are_counted() -> None:
    def found(counts: SessionCounts) -> tuple[Severity, str]:
        return next((each.severity, each.text) for each in session_findings(counts) if each.code == "login_unused")

    severity, text = found(SessionCounts(clients=3, without_login=3))
    assert severity is Severity.WARNING
    assert "3 of 3 clients sent no login (no row of the file names a client of the log; 0 login requests" in text
    severity, text = found(SessionCounts(clients=3, without_login=2, logins=1))
    assert severity is Severity.INFO
    assert "2 of 3 clients sent no login (no row of the file names them; 1 login request was sent" in text


def test_a_value_that_went_nowhere_is_named() -> None:
    counts = SessionCounts(unfit=Counter({"t=param:nope": 5, "t=param:seen": 4}), inserted=Counter({"t=param:seen": 1}))
    (text,) = (each.text for each in session_findings(counts) if each.code == "value_unused")
    assert text.startswith("--use t=param:nope: the value went into 0 requests: 5 requests had no place for it")
