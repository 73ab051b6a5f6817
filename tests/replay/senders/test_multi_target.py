"""Each request of a log in the version of HTTP that the log names, over connections of its own."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import uvloop

from logreplay.replay.clock import monotonic
from logreplay.replay.engine.engine import replay
from logreplay.replay.requests.headers import LoggedProtocol
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.schedules.rates import Constant
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.senders.http2.sender import Http2Sender
from logreplay.replay.senders.multi_target import SeveralSenders, by_protocol
from support.http2_server import http2_server
from support.raw_server import raw_server


async def senders(first: str, second: str) -> SeveralSenders:
    made = [await resolve(parse_target(url)) for url in (first, second)]
    return by_protocol(WireSender(made[0], timeout=5), Http2Sender(made[1], timeout=5))


def test_each_request_is_sent_in_the_version_of_its_line(tmp_path: Path) -> None:
    """To two servers, so that each shows what it got."""
    log, results = tmp_path / "log.csv", MemoryResults()
    rows = [
        f"2026-01-01,00:00:00,0,0,0,5,/{n},200,GET,{name}" for n, name in enumerate(("HTTP/2.0", "HTTP/1.0", "HTTP/3"))
    ]
    log.write_text("\n".join(["date,time,latency,xfertime,thinktime,bytes,url,rc,op,protocol", *rows * 20]) + "\n")

    async def main() -> tuple[Any, Any, Any, Any]:
        async with raw_server() as old, http2_server() as new:
            made = await senders(old.url, new.url)
            requests = Requests(log, shapes=(LoggedProtocol(),), loop=False)
            outcome = await replay(Plan(requests, Constant(400)), made, results)
            return outcome, requests, old, new

    outcome, requests, old, new = uvloop.run(main())
    assert outcome.counters.ok == 40
    assert requests.left_out == {"protocol other than HTTP/1 and HTTP/2": 20}
    assert ({*old.counts}, {*new.counts}) == ({"/1"}, {"/0"})
    found = results.frame.sort("seq")
    assert found["protocol"].to_list() == ["HTTP/2.0", "HTTP/1.1"] * 20
    numbers = found.filter(pl.col("protocol") == "HTTP/2.0")["connection"]
    assert (numbers > 0).all()
    assert numbers.n_unique() == new.connections
    assert found.filter(pl.col("protocol") == "HTTP/1.1")["connection"].null_count() == 20


def test_all_that_is_in_flight_is_cancelled_and_counted_together() -> None:
    ended: list[tuple[int, ...]] = []

    async def main() -> Any:
        async with raw_server() as old, http2_server() as new:
            made = await senders(old.url, new.url)
            await made.open(lambda *record: ended.append(record), monotonic)
            frame = pl.DataFrame({"op": "GET", "url": ["/stall"] * 2, "protocol": ["HTTP/1.1", "HTTP/2.0"]})
            for seq, request in enumerate(made.prepare(frame)):
                made.send(seq, request, monotonic())
            await asyncio.sleep(0.1)
            made.cancel()
            await made.close()
            return made

    made = uvloop.run(main())
    assert sorted(record[0] for record in ended) == [0, 1]
    assert made.counts.connections == 2


def test_senders_within_senders_share_their_counts() -> None:
    async def main() -> None:
        inner = await senders("http://127.0.0.1:1", "http://127.0.0.1:1")
        outer = SeveralSenders((inner,), lambda frame: np.zeros(frame.height, np.int64))
        assert all(sender.counts is outer.counts for sender in (inner, *inner._senders))

    asyncio.run(main())


def test_the_requests_that_wait_are_counted_once_each_time() -> None:
    """Whether a sender lets requests wait was found out anew every 2 ms at the end of a run, by counting."""

    class Counting(Http2Sender):
        looks = 0

        @property
        def waiting(self) -> int:
            self.looks += 1
            return 3

    async def main() -> None:
        endpoint = await resolve(parse_target("http://127.0.0.1:1"))
        inner = Counting(endpoint, timeout=5)
        both = SeveralSenders((WireSender(endpoint, timeout=5), inner), lambda frame: np.zeros(frame.height, np.int64))
        inner.looks = 0
        both.give_up_waiting(0)
        assert (both.waiting, inner.looks) == (3, 1)

    asyncio.run(main())
