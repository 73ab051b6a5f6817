"""A sender, asked one request at a time by a test, without an engine."""

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import polars as pl
import pytest

from logreplay.core.record import ERRORS
from logreplay.replay.clock import monotonic
from logreplay.replay.senders.aiohttp_sender import AiohttpSender
from logreplay.replay.senders.contract import Trace
from logreplay.replay.senders.endpoint import Endpoint, parse_target, resolve
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.senders.http2.sender import Http2Sender
from support.hostile_target import Seen


class OneStream(Http2Sender):
    """HTTP/2 with one request at a time on a connection: its rows are those of HTTP/1.1."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, streams=1, **options)


SENDERS = pytest.mark.parametrize("sender", [WireSender, AiohttpSender])
Kind = type[WireSender] | type[AiohttpSender] | type[Http2Sender]
TIMEOUT: Final = 0.25
PATIENCE: Final = 20.0
EARLY: Final = 2_000_000
"""Nanoseconds by which a timer of the loop may end an exchange before its time-out."""


class Row(NamedTuple):
    """What a sender told of an exchange; times in nanoseconds."""

    seq: int
    start: int
    queued: int
    connect: int
    latency: int
    xfertime: int
    size: int
    status: int
    error: int
    connection: int = 0
    digest: int = 0

    @property
    def seen(self) -> Seen:
        return Seen(("", *ERRORS)[self.error], self.status, self.size)

    @property
    def total(self) -> int:
        return self.queued + self.connect + self.latency + self.xfertime


class Client:
    """A sender, asked one request at a time."""

    def __init__(self, sender: Any) -> None:
        self.sender = sender
        self._ended: dict[int, asyncio.Future[Row]] = {}
        self._seq = 0

    def done(self, *row: int) -> None:
        self._ended.pop(row[0]).set_result(Row(*row))  # a second report of the same exchange is a KeyError

    async def ask(self, path: str, op: str = "GET") -> Row:
        """Send a request, wait for its row, and check that its times fit into the time that went by."""
        seq = self._seq
        self._seq += 1
        request = self.sender.prepare(pl.DataFrame({"op": [op], "url": [path]}))[0]
        ended = self._ended[seq] = asyncio.get_running_loop().create_future()
        start = monotonic()
        self.sender.send(seq, request, start)
        row: Row = await asyncio.wait_for(ended, PATIENCE)
        assert (row.seq, row.start) == (seq, start)
        assert min(row.connect, row.latency, row.xfertime) >= 0
        assert row.total <= monotonic() - start + EARLY
        return row


async def resolved(url: str) -> Endpoint:
    """Where a URL leads. localhost is also ::1 on most machines, where the servers of the tests do not listen."""
    endpoint = await resolve(parse_target(url))
    return replace(endpoint, addresses=("127.0.0.1",)) if endpoint.target.host == "localhost" else endpoint


@asynccontextmanager
async def asking(sender: Kind, url: str, trace: Trace | None = None, **options: Any) -> AsyncIterator[Client]:
    client = Client(sender(await resolved(url), **options))
    await client.sender.open(client.done, monotonic, trace)
    try:
        yield client
    finally:
        await client.sender.close()


async def settles(holds: Callable[[], bool]) -> bool:
    """Whether something comes true within a second: transports close in the loop's next turns."""
    until = time.monotonic() + 1
    while not holds() and time.monotonic() < until:  # noqa: ASYNC110  nobody could set an event
        await asyncio.sleep(0.002)
    return holds()


def open_to(url: str) -> int:
    """Sockets of this process that lead to a server."""
    port, count = urlsplit(url).port, 0
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the listing's own descriptor is gone; a listening socket has no peer
            if link.readlink().name.startswith("socket:"):
                with socket.socket(fileno=os.dup(int(link.name))) as copy:
                    count += copy.family != socket.AF_UNIX and copy.getpeername()[1] == port
    return count
