"""TLS that fails at each stage: the row says that it did, and how. Both senders."""

import asyncio
import ssl
import warnings
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
import uvloop

from logreplay.replay.senders.tls import tls_context
from support.certificates import Authority
from support.hostile_target import HELLO, Seen, after, head, sized, then
from support.raw_server import Answer, raw_server, reset_transport, sends
from support.sender_driver import PATIENCE, SENDERS, TIMEOUT, Kind, asking, open_to, settles

TLS: Final = Seen("tls", 0, 0)
HALF: Final = then(sends(head("Content-Length: 9") + b"hello"), after(5))

Peer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Signs what the senders trust."""
    return Authority(tmp_path_factory.mktemp("tls"))


def seen(sender: Kind, authority: Authority, url: Callable[[], Any], timeout: float = PATIENCE) -> tuple[Seen, str]:
    """What a sender says of a request to a server, and the detail behind it; nothing is left open."""

    async def main() -> tuple[Seen, str]:
        async with url() as server:
            where = server.url.replace("127.0.0.1", "localhost")
            async with asking(sender, where, timeout=timeout, tls=tls_context(cacert=authority.cert)) as client:
                row = await client.ask("/x")
            assert await settles(lambda: not open_to(where))
            return row.seen, client.sender.counts.details.get(row.seen.error, "")

    return uvloop.run(main())


def too_old(context: ssl.SSLContext) -> None:
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1


def no_common_cipher(context: ssl.SSLContext) -> None:
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("AES128-SHA:@SECLEVEL=0")


def wants_a_certificate(context: ssl.SSLContext) -> None:
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_REQUIRED


@SENDERS
@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda authority: authority.context("expired", days=-1), "expired"),
        (lambda authority: authority.context("elsewhere", host="other.test"), "mismatch"),
        (lambda authority: authority.self_signed(), "self-signed"),
        (lambda authority: Authority(authority.cert.parent / "other").context("unknown"), "verify failed"),
    ],
    ids=["expired", "wrong-name", "self-signed", "unknown-authority"],
)
def test_a_certificate_that_is_not_good_is_a_tls_error(
    sender: Kind, authority: Authority, made: Callable[[Authority], ssl.SSLContext], said: str
) -> None:
    context = made(authority)
    row, detail = seen(sender, authority, lambda: raw_server(tls=context))
    assert row == TLS
    assert said in detail


@SENDERS
@pytest.mark.parametrize("change", [too_old, no_common_cipher, wants_a_certificate])
def test_two_that_cannot_agree_are_a_tls_error(
    sender: Kind, authority: Authority, change: Callable[[ssl.SSLContext], None]
) -> None:
    context = authority.context("choosy")
    change(context)
    assert seen(sender, authority, lambda: raw_server(tls=context))[0] == TLS


@dataclass
class Tcp:
    """A server that does as it likes with each connection (as a context: while it listens)."""

    peer: Peer
    url: str = ""

    async def __aenter__(self) -> "Tcp":
        self._tasks = set[asyncio.Task[None]]()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"https://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        with suppress(asyncio.CancelledError):
            await self.peer(reader, writer)
        writer.close()

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def says(answer: bytes, pause: float = 0.0) -> Peer:
    """Whatever it is told, it says this, and closes after a pause."""

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.write(answer)
        await asyncio.sleep(pause)

    return peer


@SENDERS
@pytest.mark.parametrize(
    ("answer", "pause", "error"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\nThis port speaks TLS, does it not?", 0, "tls"),
        (b"\x15\x03\x03\x00\x02\x02\x50", 0, "tls"),
        (b"\x00" * 100, 0, "tls"),
        (b"", 0, "tls"),
        (b"", 2, "connect_timeout"),
    ],
    ids=["plain-http", "alert", "rubbish", "nothing", "silence"],
)
def test_a_port_without_tls(sender: Kind, authority: Authority, answer: bytes, pause: float, error: str) -> None:
    timeout = TIMEOUT if pause else PATIENCE
    row, _ = seen(sender, authority, lambda: Tcp(says(answer, pause)), timeout)
    assert row == Seen(error, 0, 0)


def between(port: int, count: int, end: str) -> Peer:
    """Stands between a client and a TLS server, passes on so many bytes of what the server says, and ends it so."""

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection("127.0.0.1", port)

        async def upwards() -> None:
            with suppress(ConnectionError):
                while data := await reader.read(65536):
                    to_server.write(data)

        passing, left = asyncio.create_task(upwards()), count
        try:
            with suppress(TimeoutError):
                while left:
                    async with asyncio.timeout(0.1):  # the server has said all it has to say
                        data = await from_server.read(left)
                    if not data:
                        break
                    writer.write(data)
                    left -= len(data)
            await asyncio.sleep(2 if end == "stalls" else 0.01)  # or the reset overtakes what was sent
            if end == "rubbish":
                writer.write(b"\x17\x03\x03\x00\x20" + b"x" * 32)
            if end == "reset":
                reset_transport(writer)
        finally:
            passing.cancel()
            to_server.transport.abort()

    return peer


def cut(sender: Kind, authority: Authority, answer: Answer, count: int, end: str) -> Seen:
    """What is seen of an answer over TLS that is cut off after so many bytes."""
    context = authority.good

    class Between(Tcp):
        async def __aenter__(self) -> Tcp:
            self._behind = raw_server(tls=context, answers={"/x": answer})
            server = await self._behind.__aenter__()
            self.peer = between(urlsplit(server.url).port or 0, count, end)
            return await super().__aenter__()

        async def __aexit__(self, *_: object) -> None:
            await super().__aexit__()
            await self._behind.__aexit__(None, None, None)

    timeout = TIMEOUT if end == "stalls" else PATIENCE
    return seen(sender, authority, lambda: Between(says(b"")), timeout)[0]


@SENDERS
@pytest.mark.parametrize(("end", "error"), [("reset", "reset"), ("closes", "tls"), ("rubbish", "tls")])
@pytest.mark.parametrize("count", [0, 1, 5, 60, 127, 600])
def test_a_handshake_that_is_cut_off(sender: Kind, authority: Authority, count: int, end: str, error: str) -> None:
    assert cut(sender, authority, sends(sized()), count, end) == Seen(error, 0, 0)


@SENDERS
@pytest.mark.parametrize("count", [0, 60, 600])
def test_a_handshake_that_stalls(sender: Kind, authority: Authority, count: int) -> None:
    assert cut(sender, authority, sends(sized()), count, "stalls") == Seen("connect_timeout", 0, 0)


@SENDERS
@pytest.mark.parametrize(
    ("end", "error"), [("reset", "reset"), ("closes", "short_body"), ("rubbish", "tls"), ("stalls", "timeout")]
)
def test_an_answer_over_tls_that_is_cut_off(sender: Kind, authority: Authority, end: str, error: str) -> None:
    assert cut(sender, authority, HALF, 1 << 30, end) == Seen(error, 200, 5)


@SENDERS
def test_tls_that_is_good_is_good(sender: Kind, authority: Authority) -> None:
    assert seen(sender, authority, lambda: raw_server(tls=authority.good))[0] == HELLO
