"""The two requests of a pair reach the sockets in the drawn order, or the target that is always first looks faster."""

import asyncio
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import pytest
import uvloop

from logreplay.core.record import TARGET
from logreplay.replay.clock import monotonic
from logreplay.replay.engine.open_loop import Limits, OpenLoopSender
from logreplay.replay.senders.aiohttp_sender import AiohttpSender
from logreplay.replay.senders.contract import Sender
from logreplay.replay.senders.endpoint import Endpoint, parse_target
from logreplay.replay.senders.http1.per_client import ByClientSender, SessionSender
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.senders.http2.per_client import Http2ByClientSender, Http2SessionSender
from logreplay.replay.senders.http2.sender import Http2Sender
from logreplay.replay.senders.multi_target import by_protocol, by_target
from logreplay.replay.senders.tls import tls_context
from logreplay.replay.sessions.client_sessions import SessionPlan
from support.background_server import beside
from support.certificates import Authority
from support.http2_server import http2_server
from support.raw_server import raw_server
from support.sender_driver import open_to, settles
from support.wiretap import Wiretap, wiretap

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads time stamps of Linux's sockets")

SESSIONS: Final = SessionPlan(cookies=True)
HTTP1: Final[dict[str, Callable[..., Sender]]] = {
    "wire": WireSender,
    "aiohttp": AiohttpSender,
    "by client": ByClientSender,
    "sessions": partial(SessionSender, plan=SESSIONS),
}
HTTP2: Final[dict[str, Callable[..., Sender]]] = {
    "http2": Http2Sender,
    "http2, one connection": partial(Http2Sender, connections=1),
    "http2, by client": Http2ByClientSender,
    "http2, sessions": partial(Http2SessionSender, plan=SESSIONS),
    "of the log": lambda *endpoint, **given: by_protocol(
        WireSender(*endpoint, **given), Http2Sender(*endpoint, **given)
    ),
}
OPENING: Final = 4
Pairs = np.ndarray[tuple[int, int], np.dtype[np.int64]]


@contextmanager
def tapped(server: Any, tls: Authority | None) -> Iterator[tuple[Wiretap, Wiretap]]:
    """Two servers of a kind, each behind a tap."""
    with ExitStack() as stack:
        started = [stack.enter_context(beside(partial(server, tls=tls and tls.good))) for _ in range(2)]
        one, other = (stack.enter_context(wiretap(each.url)) for each in started)
        yield one, other


async def first_written(make: Callable[[str], Any], taps: tuple[Wiretap, Wiretap], drawn: Pairs) -> list[int]:
    """Send pairs, one after the other, in the drawn order; return the target of each to which was written first.

    The first pairs open connections, and are left out. The kernel begins to give times after a while. A pair without
    times, or with other writes beside it, is sent again.
    """
    paced, first, again = OpenLoopSender(by_target([make(tap.url) for tap in taps]), Limits()), list[int](), 0
    left, numbers = deque(drawn), count()
    await paced.open(monotonic)
    paced.begin(monotonic(), None)
    try:
        while left:
            number, pair, begun = next(numbers), left.popleft(), time.time_ns()
            columns = {"op": ["GET"] * 2, "url": ["/ok"] * 2, "protocol": ["HTTP/2.0"] * 2, TARGET: pair}
            await paced.push(2 * number, np.full(2, monotonic()), paced.prepare(pl.DataFrame(columns)))
            while paced.ended < 2 * number + 2:  # noqa: ASYNC110  nobody could set an event
                await asyncio.sleep(0.001)
            assert not paced.records()["error"].any()
            one, other = (tap.since(begun) for tap in taps)
            if number >= OPENING and len(one) == len(other) == 1:
                first.append(int(one > other))
            elif number >= OPENING:
                again += 1
                assert again < 1000, "no pair can be told from what else is written"
                left.appendleft(pair)
    finally:
        await paced.close()
        assert await settles(lambda: not any(open_to(tap.url) for tap in taps))
    return first


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("kind", [*HTTP1, *HTTP2])
def test_pairs_are_written_in_the_drawn_order(kind: str, tls: bool, tmp_path: Path) -> None:
    authority = Authority(tmp_path) if tls else None

    def make(url: str) -> Any:
        context = tls_context(cacert=authority.cert) if authority else None
        endpoint = Endpoint(parse_target(url), ("127.0.0.1",))
        return (HTTP1 | HTTP2)[kind](endpoint, timeout=5, tls=context)

    drawn = np.random.default_rng(1).random((OPENING + 40, 2)).argsort(axis=1)
    with tapped(raw_server if kind in HTTP1 else http2_server, authority) as taps:
        written = uvloop.run(first_written(make, taps, drawn))
    assert written == drawn[OPENING:, 0].tolist()
