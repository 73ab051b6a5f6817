"""Answers without a body, and what follows an answer: which connections are kept, and what is shown."""

from collections.abc import Mapping
from typing import Any, Final

import pytest
import uvloop

from logreplay.replay.senders.aiohttp_sender import AiohttpSender
from logreplay.replay.senders.contract import Exchange
from logreplay.replay.senders.http1.connection import persists
from logreplay.replay.senders.http1.per_client import ByClientSender, SessionSender
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.sessions.client_sessions import SessionPlan
from support.hostile_target import HINTS, LATE, head
from support.raw_server import Exchange as RawExchange
from support.raw_server import raw_server, response, sends
from support.sender_driver import PATIENCE, Client, Row, asking


class WithSessions(SessionSender):
    """A sender whose clients keep cookies."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, plan=SessionPlan(cookies=True), **options)


SENDERS = pytest.mark.parametrize("sender", [WireSender, ByClientSender, WithSessions, AiohttpSender])
KEPT: Final = {
    "HEAD": [
        head(),
        head("Connection: keep-alive"),
        head("Content-Length: 5"),
        head("Transfer-Encoding: chunked"),
        head("Connection: keep-alive", status="HTTP/1.0 200 OK"),
        head(status="HTTP/1.1 404 Not Found"),
        HINTS + head(),
    ],
    "GET": [head(status="HTTP/1.1 204 No Content"), head(status="HTTP/1.1 304 Not Modified")],
}
ENDED: Final = {
    "HEAD": [
        head("Connection: close"),
        head("Connection: x, Close"),
        head(status="HTTP/1.0 200 OK"),
        head("Connection: close", "Content-Length: 0"),
    ],
    "GET": [head("Connection: close", status="HTTP/1.1 204 No Content")],
}


def answers_of(cases: Mapping[str, list[bytes]]) -> list[Any]:
    return [
        pytest.param(method, answer, id=f"{method}-{n}") for method in cases for n, answer in enumerate(cases[method])
    ]


def asked(sender: Any, answer: bytes, method: str = "GET") -> tuple[list[Row], int, list[Exchange]]:
    """Ask three times, unwatched and watched; return the rows, the connections of each time, and what was shown."""
    shown: list[Exchange] = []

    async def ask(client: Client) -> list[Row]:
        return [await client.ask("/asked", method) for _ in range(3)]

    async def main() -> tuple[list[Row], int]:
        async with raw_server(answers={"/asked": sends(answer, keep=True)}) as server:
            async with asking(sender, server.url, timeout=PATIENCE) as client:
                rows = await ask(client)
                made = server.connections
            async with asking(sender, server.url, shown.append, timeout=PATIENCE) as client:
                assert [row.seen for row in await ask(client)] == [row.seen for row in rows]
                assert server.connections == 2 * made
            return rows, made

    return *uvloop.run(main()), shown


@SENDERS
@pytest.mark.parametrize(("method", "answer"), answers_of(KEPT))
def test_an_answer_that_can_have_no_body_keeps_its_connection(sender: Any, method: str, answer: bytes) -> None:
    rows, made, _ = asked(sender, answer, method)
    assert made == 1
    assert all(row.error == row.size == 0 for row in rows)
    assert [row.connect > 0 for row in rows] == [True, False, False]


@SENDERS
@pytest.mark.parametrize(("method", "answer"), answers_of(ENDED))
def test_unless_it_says_that_the_connection_ends(sender: Any, method: str, answer: bytes) -> None:
    rows, made, _ = asked(sender, answer, method)
    assert made == 3
    assert all(row.error == row.size == 0 for row in rows)


@SENDERS
@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_the_headers_of_the_answer_are_shown_and_only_those(sender: Any, method: str) -> None:
    first = b"HTTP/1.1 103 Early Hints\r\nLink: early\r\n\r\n" + head("X-One: 1", "Content-Length: 0")
    _, _, shown = asked(sender, first + LATE, method)
    assert [(one.status, one.reason, one.headers) for one in shown] == [
        (200, b"OK", [(b"X-One", b"1"), (b"Content-Length", b"0")])
    ] * 3


@SENDERS
@pytest.mark.parametrize("before", [b"", HINTS], ids=["", "interim"])
@pytest.mark.parametrize("behind", [LATE, HINTS, response(b"stray")], ids=["408", "interim", "200"])
def test_an_answer_right_behind_another_changes_nothing_of_it_and_ends_the_connection(
    sender: Any, before: bytes, behind: bytes
) -> None:
    rows, made, shown = asked(sender, before + response(b"hello") + behind)
    assert [row.seen for row in rows] == [("", 200, 5)] * 3
    assert [(one.status, one.body) for one in shown] == [(200, b"hello")] * 3
    assert made == 3


def test_a_known_head_with_another_answer_behind_it_is_told_from_that() -> None:
    """The fast path for heads that were seen before."""
    pieces = iter([response(), response() + LATE, response()])

    async def main() -> tuple[list[Row], int]:
        async def answer(exchange: RawExchange) -> bool:
            await exchange.send(next(pieces))
            return True

        async with (
            raw_server(answers={"/asked": answer}) as server,
            asking(WireSender, server.url, timeout=PATIENCE) as client,
        ):
            return [await client.ask("/asked") for _ in range(3)], server.connections

    rows, made = uvloop.run(main())
    assert [row.seen for row in rows] == [("", 200, 5)] * 3
    assert made == 2


@pytest.mark.parametrize(
    ("version", "options", "kept"),
    [
        ("1.1", b"", True),
        ("1.1", b"close", False),
        ("1.1", b"upgrade,\tCLOSE", False),
        ("1.1", b"closed", True),
        ("1.0", b"", False),
        ("1.0", b"Keep-Alive", True),
        ("1.0", b"keep-alive,close", False),
        ("2.0", b"", False),
    ],
)
def test_whether_a_connection_persists_is_the_rule_of_rfc_9112(version: str, options: bytes, kept: bool) -> None:
    assert persists(version, options) == kept
