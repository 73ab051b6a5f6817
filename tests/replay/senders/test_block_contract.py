"""Every sender gives the engine the same rows, and starts no request before it is due."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import uvloop

from logreplay.replay.engine.engine import Engine
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.outcome import Outcome
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.schedules.rates import Constant
from logreplay.replay.senders.aiohttp_sender import AiohttpSender
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http1.per_client import ByClientSender
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.senders.http2.per_client import Http2ByClientSender
from logreplay.replay.senders.http2.sender import Http2Sender
from support import hostile_target as http1
from support.background_server import beside
from support.http2_server import Always, after, http2_server
from support.raw_server import ok, raw_server
from support.thread_sender import ThreadSender

HTTP2 = (Http2Sender, Http2ByClientSender)
SENDERS = pytest.mark.parametrize("kind", [WireSender, AiohttpSender, ByClientSender, ThreadSender, *HTTP2])
Steps = Callable[[Engine], Any]


@contextmanager
def responding(kind: type[Any], seconds: float) -> Iterator[str]:
    """A server that answers each request after a delay, in the protocol of a sender."""
    if kind in HTTP2:
        many = 1000  # streams at once: on a busy machine more requests are in flight than servers usually take
        with beside(partial(http2_server, answers=Always(after(seconds)), max_concurrent_streams=many)) as server:
            yield server.url
    else:
        late = dict.fromkeys((f"/page/{number}" for number in range(100)), http1.then(http1.after(seconds), ok))
        with beside(partial(raw_server, answers=late)) as server:
            yield server.url


def run(kind: type[Any], url: str, steps: Steps) -> tuple[Any, pl.DataFrame]:
    """Run an engine over a sender; return what the steps return, and the rows by number."""
    results = MemoryResults()

    async def main() -> Any:
        made = kind(url) if kind is ThreadSender else kind(await resolve(parse_target(url)), timeout=5)
        async with Engine(made, results) as engine:
            return await steps(engine)

    return uvloop.run(main()), results.frame.sort("seq")


@SENDERS
def test_all_senders_give_the_same_rows(log: Path, kind: type[Any]) -> None:
    async def steps(engine: Engine) -> Outcome:
        return await engine.run(Plan(Requests(log), Constant(300, 0.5)))

    with responding(kind, 0.002) as url:
        outcome, rows = run(kind, url, steps)
    assert outcome.scheduled == outcome.counters.ok == 150
    expected = {
        "seq": range(150),
        "row": [seq % 100 for seq in range(150)],
        "rc": [200] * 150,
        "op": ["GET"] * 150,
        "url": [f"/page/{seq % 100}?q=%20{seq % 100}" for seq in range(150)],
        "bytes": [5] * 150,
        "error": [None] * 150,
        "protocol": ["HTTP/2.0" if kind in HTTP2 else "HTTP/1.1"] * 150,
    }
    found = rows.select(*expected)
    assert found.equals(pl.DataFrame(expected, schema=found.schema))
    assert rows["connection"].null_count() == (0 if kind in HTTP2 else 150)
    assert (rows["lag"] >= 0).all(), "start >= due"
    parts = ("queued", "connect", "latency", "xfertime")
    assert all((rows[part] >= 0).all() for part in parts)
    assert kind is ByClientSender or rows["queued"].max() == 0
    assert (rows.select(pl.sum_horizontal(parts)).to_series() >= 0.002).all()


@pytest.mark.slow
@SENDERS
def test_a_plan_that_is_cut_leaves_nothing_for_the_next_one(log: Path, kind: type[Any]) -> None:
    """Blocks that were pushed far ahead of their time belong to no other plan."""

    async def steps(engine: Engine) -> list[Outcome]:
        long = asyncio.create_task(engine.run(Plan(Requests(log), Constant(100, 600))))
        while engine.progress().scheduled < 20:  # noqa: ASYNC110  nobody could set an event
            await asyncio.sleep(0.005)
        engine.cut()
        return [await long, await engine.run(Plan(Requests(log), Constant(200, 0.5), step=1))]

    with responding(kind, 0.0) as url:
        (first, second), rows = run(kind, url, steps)
    assert 20 <= first.scheduled < 2000
    assert (second.first_seq, second.scheduled) == (first.scheduled, 100)
    assert rows["seq"].to_list() == list(range(first.scheduled + 100))
    assert rows["step"].to_list() == [0] * first.scheduled + [1] * 100
    assert rows["row"].to_list() == [seq % 100 for seq in range(first.scheduled)] + list(range(100))
    assert (rows["lag"] >= 0).all()


@pytest.mark.slow
@SENDERS
def test_what_is_in_flight_at_a_stop_is_cancelled_and_in_the_rows(log: Path, kind: type[Any]) -> None:
    async def steps(engine: Engine) -> Outcome:
        running = asyncio.create_task(engine.run(Plan(Requests(log), Constant(100))))
        while engine.progress().scheduled < (1 if kind is ThreadSender else 10):  # noqa: ASYNC110  nobody could
            await asyncio.sleep(0.005)
        engine.stop("enough")
        return await running

    with responding(kind, 30) as url:
        outcome, rows = run(kind, url, steps)
    assert outcome.stopped == "enough"
    assert outcome.counters.errors == {"cancelled": outcome.scheduled}
    assert rows["seq"].to_list() == list(range(outcome.scheduled))
