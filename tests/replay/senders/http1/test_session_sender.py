"""Clients take along what the target gave them: on the wire, over HTTP/1.1 and HTTP/2."""

import asyncio
import gzip
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import polars as pl
import pytest

from logreplay.replay.clock import monotonic
from logreplay.replay.senders.contract import ERROR_CODES, Exchange, SenderCounts
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http1.per_client import LoginSender, SessionSender
from logreplay.replay.senders.http2.per_client import Http2SessionSender
from logreplay.replay.senders.trace import describe
from logreplay.replay.sessions.client_sessions import SessionCounts, SessionPlan
from logreplay.replay.sessions.extraction import Extraction
from logreplay.replay.sessions.insertion import Insertion
from logreplay.replay.sessions.logins import LoginRequest, Logins
from support.http2_frames import answer, data, goaway, head
from support.http2_server import Asked, http2_server
from support.raw_server import ANSWERS, raw_server, response, sends
from support.sender_driver import Client

PATIENCE = 20.0


def over_http1(*given: Any, plan: SessionPlan, **named: Any) -> SessionSender:
    return (LoginSender if plan.logins else SessionSender)(*given, plan=plan, **named)


KINDS = pytest.mark.parametrize("kind", [over_http1, Http2SessionSender])
PLAN = SessionPlan(
    cookies=True,
    extract=[Extraction.parse('csrf=regex:name="csrf" value="([^"]+)"')],
    use=[Insertion.parse("csrf=body:csrf")],
)
PLAIN = SessionPlan(cookies=True)
LOGINS = Logins.of(
    [
        LoginRequest("*", "GET", "/form", {}, None),
        LoginRequest("", "POST", "/login", {}, b"user=ann"),
        LoginRequest("", "POST", "/login", {}, b"user=bob"),
        LoginRequest("late", "POST", "/slow", {}, b"user=late"),
        LoginRequest("wrong", "POST", "/refused", {}, b"user=wrong"),
    ]
)


@dataclass
class Shop:
    """A target with sessions: `/form` gives a token, `/login` takes it and gives a cookie, the rest wants both."""

    seen: list[tuple[str, str, str]] = field(default_factory=list)
    """Method and target, cookie, body of each request."""
    users: dict[str, str] = field(default_factory=dict)
    """By cookie."""
    tokens: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    def answer(self, line: str, cookie: str, body: str) -> tuple[int, list[tuple[str, str]], bytes, float]:
        self.seen.append((line, cookie, body))
        self.asked.set()
        path = line.split()[1]
        if path == "/stuck":
            return 200, [], b"", PATIENCE
        if path == "/form":
            self.tokens += 1
            page = b"x" * 30_000 + b'<input name="csrf" value="token/%d">' % self.tokens
            headers = [("Set-Cookie", f"form={self.tokens}; Path=/")]
            if self.tokens % 2:
                headers, page = [*headers, ("Content-Encoding", "gzip")], gzip.compress(page)
            return 200, headers, page, 0
        form = re.search(r"form=(\d+)", cookie)
        if path in ("/login", "/slow") and form and f"csrf=token%2F{form[1]}" in body:
            sid = f"sid-{len(self.users):05}"
            self.users[sid] = body.split("&")[0]
            return 302, [("Set-Cookie", f"sid={sid}; HttpOnly")], b"", 0.1 if path == "/slow" else 0
        known = re.search(r"sid=([\w-]+)", cookie)
        user = self.users.get(known[1] if known else "", "")
        return (200 if user else 403), [("X-User", user)], user.encode(), 0


class Target(Protocol):
    url: str


@asynccontextmanager
async def http1(shop: Shop) -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(asyncio.current_task())
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = re.search(r"(?i)content-length: (\d+)", head)
                body = await reader.readexactly(int(length[1]) if length else 0)
                cookie = re.search(r"(?i)\r\ncookie: ([^\r]*)", head)
                line = head.split(" HTTP")[0]
                status, headers, page, wait = shop.answer(line, cookie[1] if cookie else "", body.decode())
                await asyncio.sleep(wait)
                lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(page)}", *(f"{n}: {v}" for n, v in headers)]
                # in pieces: a head may be cut anywhere
                answer = "\r\n".join([*lines, "", ""]).encode() + page
                interim = b"HTTP/1.1 103 Early\r\nSet-Cookie: early=1\r\n\r\n"
                for part in (interim + answer[:40], answer[40:]):
                    writer.write(part)
                    await writer.drain()
                    await asyncio.sleep(0.002)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            writer.close()

    tasks: list[asyncio.Task[None] | None] = []
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()
    for task in filter(None, tasks):
        task.cancel()
        await task


@asynccontextmanager
async def http2(shop: Shop) -> AsyncIterator[str]:
    async def answer(asked: Asked) -> None:
        text = asked.head.decode()
        cookie = re.search(r"(?i)\r\ncookie: ([^\r]*)", text)
        line = text.split(" HTTP")[0]
        status, headers, page, wait = shop.answer(line, cookie[1] if cookie else "", asked.body.decode())
        await asyncio.sleep(wait)
        pairs = [(name.lower(), value) for name, value in headers]
        whole = head(asked.stream, status, pairs) + b"".join(pieces(asked.stream, page))
        await asked.send(whole)

    paths = ("/form", "/login", "/slow", "/stuck", "/refused", "/a", "/b", "/c")
    async with http2_server(answers=dict.fromkeys(paths, answer)) as server:
        yield server.url


def pieces(stream: int, page: bytes) -> Iterator[bytes]:
    """A body in frames that any client accepts."""
    for at in range(0, max(len(page), 1), 16_000):
        yield data(stream, page[at : at + 16_000], end=at + 16_000 >= len(page))


class Rows:
    """Takes what a sender reports."""

    def __init__(self) -> None:
        self.ended: dict[int, tuple[int, ...]] = {}
        self.changed = asyncio.Event()

    def done(self, seq: int, *rest: int) -> None:
        assert seq not in self.ended
        self.ended[seq] = rest
        self.changed.set()

    async def wait(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(self.ended) < count:
                self.changed.clear()
                await self.changed.wait()

    def of(self, place: int) -> Iterator[int]:
        return (self.ended[seq][place] for seq in sorted(self.ended))


async def ask(
    kind: Callable[..., Any],
    plan: SessionPlan,
    requests: list[tuple[str, str, str]],
    trace: Callable[[Exchange], None] | None = None,
    **options: Any,
) -> tuple[Shop, Rows, SenderCounts]:
    """Send (client, method, path), all at once."""
    shop, rows = Shop(), Rows()
    async with (http1 if kind is over_http1 else http2)(shop) as url:
        sender = kind(await resolve(parse_target(url)), **{"timeout": PATIENCE, **options}, plan=plan)
        await sender.open(rows.done, monotonic, trace)
        clients, ops, urls = zip(*requests, strict=True)
        frame = pl.DataFrame({"client": clients, "op": ops, "url": urls})
        for seq, request in enumerate(sender.prepare(frame)):
            sender.send(seq, request, monotonic())
        await rows.wait(len(requests))
        await sender.close()
    return shop, rows, sender.counts


def sessions(counts: SenderCounts) -> SessionCounts:
    assert counts.sessions
    return counts.sessions


@KINDS
def test_clients_log_in_and_send_what_they_were_given(kind: Callable[..., Any]) -> None:
    plan = SessionPlan(PLAN.cookies, LOGINS, PLAN.extract, PLAN.use)
    requests = [(client, op, f"/{path}") for path, op in (("a", "GET"), ("b", "POST"), ("c", "GET")) for client in "xy"]
    shop, rows, counts = asyncio.run(ask(kind, plan, requests))
    assert list(rows.of(6)) == [200] * 6
    assert sorted(shop.users.values()) == ["user=ann", "user=bob"]
    assert [line for line, cookie, _ in shop.seen if "sid-00000" in cookie] == ["GET /a", "POST /b", "GET /c"]
    assert all(re.fullmatch(r"csrf=token%2F\d", body) for line, _, body in shop.seen if line == "POST /b")
    assert not any("early" in cookie for _, cookie, _ in shop.seen)
    assert (sessions(counts).logins, sessions(counts).login_failures) == (4, {})
    assert counts.connections == 2
    assert counts.queued == 6


@KINDS
def test_the_wait_for_a_login_is_queued(kind: Callable[..., Any]) -> None:
    plan = SessionPlan(PLAN.cookies, LOGINS, PLAN.extract, PLAN.use)
    _, rows, counts = asyncio.run(ask(kind, plan, [("late", "GET", "/a")]))
    (queued,) = rows.of(1)
    assert queued > 90_000_000
    assert counts.queued == 1
    assert not counts.queued_for


@KINDS
def test_a_login_that_fails_is_counted_and_the_client_goes_on(kind: Callable[..., Any]) -> None:
    plan = SessionPlan(PLAN.cookies, LOGINS, PLAN.extract, PLAN.use)
    _, rows, counts = asyncio.run(ask(kind, plan, [("wrong", "GET", "/a")]))
    assert list(rows.of(6)) == [403]
    assert sessions(counts).login_failures == {"status 403": 1}
    assert [(row.url, row.rc) for row in sessions(counts).rows] == [("/form", 200), ("/refused", 403)]


@KINDS
def test_a_login_that_times_out_is_counted_and_the_client_goes_on(kind: Callable[..., Any]) -> None:
    plan = SessionPlan(True, LOGINS, PLAN.extract, PLAN.use)
    _, rows, counts = asyncio.run(ask(kind, plan, [("late", "GET", "/form")], timeout=0.05))
    assert list(rows.of(7)) in ([0], [ERROR_CODES["timeout"]])
    assert sessions(counts).login_failures["timeout"] == 1


@KINDS
def test_no_secret_is_shown(kind: Callable[..., Any]) -> None:
    shown: list[Exchange] = []
    plan = SessionPlan(PLAN.cookies, LOGINS, PLAN.extract, (Insertion.parse("csrf=header:X-Plain"), *PLAN.use))
    shop, _, _ = asyncio.run(ask(kind, plan, [("x", "POST", "/b")], shown.append))
    texts = [describe(exchange) for exchange in shown]
    assert len(texts) == 3
    assert sum("= login:" in text for text in texts) == 2
    assert "X-Plain: ***" in texts[-1].replace("x-plain", "X-Plain")
    assert not [text for text in texts if "token/" in text or "token%2F" in text or "sid-0" in text]
    assert "token/1" in "".join(describe(exchange, secrets=True) for exchange in shown)
    assert next(iter(shop.users)).startswith("sid-")


@KINDS
def test_who_waits_for_a_login_can_be_cancelled(kind: Callable[..., Any]) -> None:
    async def main() -> None:
        shop, rows = Shop(), Rows()
        async with (http1 if kind is over_http1 else http2)(shop) as url:
            slow = Logins.of([LoginRequest("", "POST", "/slow", {}, b"csrf=token%2F")])
            sender = kind(await resolve(parse_target(url)), timeout=PATIENCE, plan=SessionPlan(logins=slow))
            await sender.open(rows.done, monotonic)
            for seq, request in enumerate(
                sender.prepare(pl.DataFrame({"client": ["a", "a"], "op": ["GET"] * 2, "url": ["/a"] * 2}))
            ):
                sender.send(seq, request, monotonic())
            sender.cancel()
            await rows.wait(2)
            await sender.close()
            assert not sender.busy
        assert set(rows.of(7)) == {ERROR_CODES["cancelled"]}

    asyncio.run(main())


async def cancelled_in_first_login(kind: Callable[..., Any], *, given_up: bool = False) -> Any:
    """A sender that was cancelled while its client sent the first of three logins, and closed."""
    shop, rows = Shop(), Rows()
    async with (http1 if kind is over_http1 else http2)(shop) as url:
        three = Logins.of([LoginRequest("*", "GET", path, {}, None) for path in ("/stuck", "/a", "/b")])
        sender = kind(await resolve(parse_target(url)), timeout=PATIENCE, plan=SessionPlan(logins=three))
        await sender.open(rows.done, monotonic)
        (request,) = sender.prepare(pl.DataFrame({"client": ["a"], "op": ["GET"], "url": ["/a"]}))
        sender.send(0, request, monotonic())
        async with asyncio.timeout(PATIENCE):
            await shop.asked.wait()
        assert sender.waiting == 1, "a request of the plan: logins do not count"
        if given_up:
            sender.give_up_waiting(0)
            assert (sender.waiting, sender.counts.given_up) == (0, 1)
        sender.cancel()
        await rows.wait(1)
        for _ in range(5):
            await asyncio.sleep(0)
        await sender.close()
    return sender


@KINDS
@pytest.mark.parametrize("given_up", [False, True])
def test_nobody_logs_in_after_a_cancel(kind: Callable[..., Any], given_up: bool) -> None:
    sender = asyncio.run(cancelled_in_first_login(kind, given_up=given_up))
    assert not sender.busy
    assert (sender.counts.connections, sender.counts.reused) == (1, 0)


@KINDS
def test_logins_that_were_never_sent_are_not_counted(kind: Callable[..., Any]) -> None:
    counts = sessions(asyncio.run(cancelled_in_first_login(kind)).counts)
    assert [(row.url, row.error) for row in counts.rows] == [("/stuck", "cancelled")]
    assert counts.logins == 1


def test_over_http2_a_client_has_one_request_under_way_though_the_target_ends_its_connections() -> None:
    under_way = [0]

    async def ending(asked: Asked) -> None:
        under_way.append(under_way[-1] + 1)
        await asked.send(goaway(asked.stream))
        await asyncio.sleep(0.05)
        under_way.append(under_way[-1] - 1)
        await asked.send(answer(asked.stream))

    async def main() -> None:
        rows = Rows()
        async with http2_server(answers={"/a": ending}) as server:
            sender = Http2SessionSender(await resolve(parse_target(server.url)), timeout=PATIENCE, plan=PLAIN)
            await sender.open(rows.done, monotonic)
            frame = pl.DataFrame({"client": ["a"] * 4, "op": ["GET"] * 4, "url": ["/a"] * 4})
            for seq, request in enumerate(sender.prepare(frame)):
                sender.send(seq, request, monotonic())
            await rows.wait(4)
            await sender.close()
            assert server.connections == 4
        assert max(under_way) == 1
        assert set(rows.of(6)) == {200}

    asyncio.run(main())


_INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"


@pytest.mark.parametrize(
    "before", [[_INTERIM], [b"\r\n\r\n"], [b"\r\n", b"\r\n"], [_INTERIM + b"\r\n\r\n"], [_INTERIM, b"\r\n\r\n"]]
)
@pytest.mark.parametrize("apart", [False, True])
def test_a_cookie_behind_an_interim_answer_or_empty_lines_is_kept(before: list[bytes], apart: bool) -> None:
    """The parser skips empty lines before a status line; those were taken for the end of a head without a cookie."""

    async def main() -> list[bytes]:
        good = response(b"x", "200 OK", "Set-Cookie: sid=1234567")
        parts = [*before, good] if apart else [b"".join(before) + good]
        answers = {**ANSWERS, "/early": sends(*parts, keep=True)}
        async with raw_server(answers=answers) as server:
            asked = Client(over_http1(await resolve(parse_target(server.url)), timeout=PATIENCE, plan=PLAIN))
            await asked.sender.open(asked.done, monotonic)
            for path in ("/early", "/ok"):
                await asked.ask(path)
            await asked.sender.close()
            return list(server.heads)

    assert b"cookie: sid=1234567\r\n" in asyncio.run(main())[-1].replace(b"Cookie", b"cookie")


@KINDS
def test_neither_the_bodies_of_logins_nor_replaced_values_are_shown(kind: Callable[..., Any]) -> None:
    shown: list[Exchange] = []
    logins = Logins.of(
        [LoginRequest("*", "GET", "/form", {}, None), LoginRequest("", "POST", "/login", {}, b"user=ann&magic=hunter2")]
    )
    plain = Insertion.parse("csrf=header:X-Plain")
    plan = SessionPlan(PLAN.cookies, logins, PLAN.extract, (plain, *PLAN.use))
    asyncio.run(ask(kind, plan, [("x", "GET", "/form"), ("x", "GET", "/form"), ("x", "GET", "/a")], shown.append))
    texts = [describe(exchange) for exchange in shown]
    assert len(texts) == 5
    assert not [text for text in texts if "hunter2" in text or "token" in text.replace("csrf_token", "")]
    assert "hunter2" in "".join(describe(exchange, secrets=True) for exchange in shown)


@KINDS
def test_without_anything_to_keep_requests_stay_as_they_are(kind: Callable[..., Any]) -> None:
    shop, _, counts = asyncio.run(ask(kind, SessionPlan(cookies=True), [("x", "GET", "/a"), ("y", "GET", "/b")]))
    assert [cookie for _, cookie, _ in shop.seen] == ["", ""]
    assert sessions(counts).clients == 0
