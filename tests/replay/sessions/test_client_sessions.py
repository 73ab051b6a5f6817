"""Clients keep apart what is theirs; what all hold together is bounded."""

import tracemalloc
from itertools import count

import pytest

from logreplay.replay.sessions import client_sessions
from logreplay.replay.sessions.client_sessions import ClientSessions, SessionCounts, SessionPlan
from logreplay.replay.sessions.extraction import Extraction
from logreplay.replay.sessions.insertion import Insertion
from logreplay.replay.sessions.logins import LoginRequest, Logins
from logreplay.replay.sessions.request_text import header_of

GET = b"GET /a HTTP/1.1\r\nHost: shop.test:8080\r\n\r\n"
COOKIE = [(b"set-cookie", b"sid=12345")]


class Time:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> int:
        return int(self.seconds * 1e9)


def sessions(plan: SessionPlan | None = None, clock: Time | None = None) -> ClientSessions:
    clock = clock or Time()
    return ClientSessions(
        plan or SessionPlan(cookies=True), SessionCounts(), secure=True, clock=clock, now=lambda: clock.seconds
    )


def test_each_client_gets_back_what_it_was_given() -> None:
    kept = sessions()
    kept.answered("a", GET, COOKIE, b"")
    kept.answered("b", GET, [(b"Set-Cookie", b"sid=67890")], b"")
    assert header_of(kept.dress("a", GET), b"cookie") == b"sid=12345"
    assert header_of(kept.dress("b", GET), b"cookie") == b"sid=67890"
    assert kept.dress("c", GET) is GET
    assert (kept.counts.clients, kept.counts.cookies, len(kept)) == (2, 2, 2)


def test_another_host_gets_nothing() -> None:
    kept = sessions()
    kept.answered("a", GET, COOKIE, b"")
    other = GET.replace(b"shop.test", b"other.test")
    assert kept.dress("a", other) is other


def test_an_explicit_cookie_wins() -> None:
    kept = sessions()
    kept.answered("a", GET, COOKIE, b"")
    given = GET.replace(b"Host", b"cookie: mine=1\r\nHost")
    assert kept.dress("a", given) is given


def test_without_cookies_none_are_kept() -> None:
    kept = sessions(SessionPlan())
    kept.answered("a", GET, COOKIE, b"")
    assert len(kept) == 0


def test_cookies_that_a_login_sets_for_clients_that_keep_none_are_counted() -> None:
    kept = sessions(SessionPlan(logins=Logins.of([login("")])))
    assert kept.leaves(COOKIE)
    assert kept.leaves_something(b"HTTP/1.1 200 OK\r\nSet-Cookie: sid=12345\r\n")
    kept.answered("a", GET, COOKIE, b"")
    kept.answered("a", GET, [], b"")
    assert kept.counts.unkept == 1
    assert kept.dress("a", GET) is GET


def test_a_value_goes_from_an_answer_to_later_requests() -> None:
    plan = SessionPlan(
        extract=[Extraction.parse("t=json:$.t")], use=[Insertion.parse("t=header:Authorization: Bearer {}")]
    )
    kept = sessions(plan)
    assert kept.dress("a", GET) is GET
    kept.answered("a", GET, [], b'{"t": "abcd"}')
    assert header_of(kept.dress("a", GET), b"authorization") == b"Bearer abcd"
    kept.answered("a", GET, [], b'{"other": 1}')
    kept.answered("a", GET, [], b'{"t": "efgh"}')
    assert header_of(kept.dress("a", GET), b"authorization") == b"Bearer efgh"
    assert kept.counts.missing == {"t": 1}
    assert kept.counts.extracted == {"t": 2}
    assert kept.secrets("a") == [b"efgh"]
    assert kept.secrets("b") == []


@pytest.mark.parametrize("value", ["", "a\\r\\nX: y", "x" * 5000])
def test_a_value_that_could_break_a_request_is_counted_and_not_taken(value: str) -> None:
    plan = SessionPlan(extract=[Extraction.parse("t=json:$.t")], use=[Insertion.parse("t=header:X")])
    kept = sessions(plan)
    kept.answered("a", GET, [], b'{"t": "' + value.encode() + b'"}')
    assert kept.counts.unusable == {"t": 1}
    assert kept.dress("a", GET) is GET


def login(client: str) -> LoginRequest:
    return LoginRequest(client, "POST", "/login", {}, b"x")


def test_a_client_logs_in_once_step_by_step() -> None:
    kept = sessions(SessionPlan(logins=Logins.of([login("*"), login("a"), login(""), login("")])))
    assert [kept.next_login("a") for _ in range(3)] == [0, 1, None]
    assert [kept.next_login(client) for client in ("b", "c", "b", "c", "b")] == [0, 0, 2, 3, None]
    assert kept.counts.clients == 3


def test_a_login_fails_by_its_status_or_error() -> None:
    kept = sessions()
    for status, error in ((302, ""), (403, ""), (0, "timeout"), (200, "")):
        kept.logged_in("a", login("a"), status, error, 0.1)
    assert kept.counts.logins == 4
    assert kept.counts.login_failures == {"status 403": 1, "timeout": 1}
    assert [row.rc for row in kept.counts.rows] == [302, 403, 0, 200]


def test_a_client_that_is_done_is_forgotten() -> None:
    clock = Time()
    kept = sessions(clock=clock)
    for second, client in enumerate("abc"):
        clock.seconds = second
        kept.answered(client, GET, COOKIE, b"")
    clock.seconds = 1700
    kept.dress("a", GET)
    clock.seconds = 1803
    kept.answered("d", GET, COOKIE, b"")
    assert len(kept) == 2
    assert header_of(kept.dress("a", GET), b"cookie")
    assert kept.counts.forgotten == 0


def test_a_client_that_returns_after_half_an_hour_logs_in_again_and_sends_no_old_cookie() -> None:
    """Its session ended only when another client began one: on a looped log never."""
    clock = Time()
    kept = sessions(SessionPlan(cookies=True, logins=Logins.of([login("")])), clock)
    assert [kept.next_login("a") for _ in range(2)] == [0, None]
    kept.answered("a", GET, COOKIE, b"")
    clock.seconds = 1799
    assert kept.next_login("a") is None
    assert header_of(kept.dress("a", GET), b"cookie") == b"sid=12345"
    clock.seconds += 1800
    assert kept.dress("a", GET) is GET
    assert [kept.next_login("a") for _ in range(2)] == [0, None]
    kept.answered("a", GET, COOKIE, b"")
    clock.seconds += 1800
    assert [kept.next_login("a") for _ in range(2)] == [0, None]
    assert kept.dress("a", GET) is GET
    assert (kept.counts.clients, kept.counts.forgotten, kept._held) == (3, 0, 0)


@pytest.mark.parametrize(("limit", "value"), [("MOST_CLIENTS", 10), ("MOST_HELD", 12 * 310)])
def test_all_sessions_together_are_bounded(limit: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_sessions, limit, value)
    kept = sessions()
    for number in count():
        kept.answered(f"client {number}", GET, COOKIE, b"")
        if number == 100:
            break
    assert len(kept) <= 13
    assert kept._held <= 13 * 320
    assert kept.counts.forgotten == 101 - len(kept)
    assert header_of(kept.dress("client 100", GET), b"cookie")
    assert kept.dress("client 0", GET) is GET


def test_what_sessions_take_in_memory_is_counted() -> None:
    kept = sessions()
    tracemalloc.start()
    try:
        for client in range(500):
            kept.answered(f"{client}", GET, [(b"set-cookie", b"n%d-%d=v" % (client, each)) for each in range(20)], b"")
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.7 < kept._held / taken < 1.4


def test_only_so_many_cookies_of_an_answer_are_read() -> None:
    kept = sessions()
    kept.answered("a", GET, [(b"set-cookie", b"n%d=v" % number) for number in range(5000)], b"")
    assert kept.counts.cookies == 100
    assert kept.counts.refused == {"more than 100 in an answer": 4900}


def test_a_cookie_that_is_deleted_is_neither_taken_nor_refused() -> None:
    kept = sessions()
    kept.answered("a", GET, COOKIE, b"")
    for gone in (b"sid=; Max-Age=0", b"other=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"):
        kept.answered("a", GET, [(b"set-cookie", gone)], b"")
    assert kept.dress("a", GET) is GET
    assert (kept.counts.cookies, kept.counts.refused.total()) == (1, 0)


def test_counts_add_up_and_can_be_told_since_an_earlier_time() -> None:
    kept = sessions()
    kept.logged_in("a", login("a"), 403, "", 0.1)
    before = kept.counts.copy()
    kept.logged_in("b", login("b"), 403, "", 0.1)
    added = kept.counts.since(before)
    assert (added.logins, added.login_failures, [row.client for row in added.rows]) == (1, {"status 403": 1}, ["b"])
    assert before + added == kept.counts
    assert "rows" not in added.as_dict()


def test_a_head_without_set_cookie_needs_no_reading() -> None:
    assert not sessions().leaves_something(b"HTTP/1.1 200 OK\r\nX-Set-Cookie: no\r\n")
    assert sessions().leaves_something(b"HTTP/1.1 200 OK\r\nSET-cookie: a=b\r\n")
    assert sessions().leaves([(b"set-cookie", b"a=b")])
    assert not sessions().leaves([(b"date", b"now")])


def test_a_request_without_a_place_for_a_value_is_counted() -> None:
    kept = sessions(SessionPlan(extract=[Extraction.parse("t=header:t")], use=[Insertion.parse("t=param:nope")]))
    kept.dress("a", GET)
    kept.answered("a", GET, [(b"t", b"abcd")], b"")
    assert kept.dress("a", GET) is GET
    assert (kept.counts.unfit, kept.counts.inserted, kept.counts.missing) == ({"t=param:nope": 2}, {}, {})
    kept.dress("a", GET.replace(b"/a", b"/a?nope=1"))
    assert kept.counts.inserted == {"t=param:nope": 1}


def test_a_login_that_was_cancelled_is_no_failure() -> None:
    kept, login = sessions(), LoginRequest("b", "GET", "/in", {}, None)
    for error in ("cancelled", "timeout"):
        kept.logged_in("b", login, 0, error, 0.1)
    assert (kept.counts.logins, kept.counts.login_failures) == (2, {"timeout": 1})
    assert [row.error for row in kept.counts.rows] == ["cancelled", "timeout"]


def test_a_client_that_no_login_names_is_counted() -> None:
    kept = sessions(SessionPlan(logins=Logins.of([LoginRequest("b", "GET", "/in", {}, None)])))
    assert kept.next_login("a") is None
    assert kept.next_login("a") is None
    assert kept.next_login("b") == 0
    assert (kept.counts.clients, kept.counts.without_login) == (2, 1)


@pytest.mark.parametrize(("workers", "shared"), [(1, 1), (2, 2), (4, 4)])
def test_clients_that_share_a_row_of_the_pool_are_counted_in_each_worker(workers: int, shared: int) -> None:
    """Four clients of one worker, three rows: the pool holds three, its half two, and a fourth part none of its own."""
    plan = SessionPlan(logins=Logins.of([login(""), login(""), login(""), login("own")]))
    kept = sessions(plan.part(workers - 1 if workers == 4 else 0, workers))
    for client in ("a", "own", "b", "c", "d"):
        kept.next_login(client)
    assert kept.counts.row_shared == shared
