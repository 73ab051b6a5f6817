"""Every sender gives the engine the same rows, and starts no request before it is due."""

import asyncio
from collections.abc import Callable
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
from logreplay.replay.senders.per_client import ByClientSender
from logreplay.replay.senders.wire import WireSender
from support.delayed_responses import delayed_responses
from support.recording_server import recording
from support.thread_sender import ThreadSender

SENDERS = pytest.mark.parametrize("kind", [WireSender, AiohttpSender, ByClientSender, ThreadSender])
Steps = Callable[[Engine], Any]


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
        return await engine.run(Plan(Requests(log), Constant(300, 1)))

    with delayed_responses(0.002) as url:
        outcome, rows = run(kind, url, steps)
    assert outcome.scheduled == outcome.counters.ok == 300
    expected = {
        "seq": range(300),
        "row": [seq % 100 for seq in range(300)],
        "rc": [200] * 300,
        "op": ["GET"] * 300,
        "url": [f"/page/{seq % 100}?q=%20{seq % 100}" for seq in range(300)],
        "bytes": [24] * 300,
        "error": [None] * 300,
    }
    found = rows.select(*expected)
    assert found.equals(pl.DataFrame(expected, schema=found.schema))
    assert (rows["lag"] >= 0).all(), "start >= due"
    parts = ("queued", "connect", "latency", "xfertime")
    assert all((rows[part] >= 0).all() for part in parts)
    assert kind is ByClientSender or rows["queued"].max() == 0
    assert (rows.select(pl.sum_horizontal(parts)).to_series() >= 0.002).all()


@SENDERS
def test_a_plan_that_is_cut_leaves_nothing_for_the_next_one(log: Path, kind: type[Any]) -> None:
    """Blocks that were pushed far ahead of their time belong to no other plan."""

    async def steps(engine: Engine) -> list[Outcome]:
        long = asyncio.create_task(engine.run(Plan(Requests(log), Constant(100, 600))))
        while engine.progress().scheduled < 20:  # noqa: ASYNC110  nobody could set an event
            await asyncio.sleep(0.005)
        engine.cut()
        return [await long, await engine.run(Plan(Requests(log), Constant(200, 0.5), step=1))]

    async def main() -> tuple[list[Outcome], pl.DataFrame]:
        async with recording(0.0) as server:
            return await asyncio.to_thread(run, kind, server.url, steps)

    (first, second), rows = asyncio.run(main())
    assert 20 <= first.scheduled < 2000
    assert (second.first_seq, second.scheduled) == (first.scheduled, 100)
    assert rows["seq"].to_list() == list(range(first.scheduled + 100))
    assert rows["step"].to_list() == [0] * first.scheduled + [1] * 100
    assert rows["row"].to_list() == [seq % 100 for seq in range(first.scheduled)] + list(range(100))
    assert (rows["lag"] >= 0).all()


@SENDERS
def test_what_is_in_flight_at_a_stop_is_cancelled_and_in_the_rows(log: Path, kind: type[Any]) -> None:
    async def steps(engine: Engine) -> Outcome:
        running = asyncio.create_task(engine.run(Plan(Requests(log), Constant(100))))
        while engine.progress().scheduled < (1 if kind is ThreadSender else 10):  # noqa: ASYNC110  nobody could
            await asyncio.sleep(0.005)
        engine.stop("enough")
        return await running

    with delayed_responses(30) as url:
        outcome, rows = run(kind, url, steps)
    assert outcome.stopped == "enough"
    assert outcome.counters.errors == {"cancelled": outcome.scheduled}
    assert rows["seq"].to_list() == list(range(outcome.scheduled))
