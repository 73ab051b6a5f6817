"""What goes wrong in a thread or in a callback ends the run with its own words; nobody waits for what will not come."""

import asyncio
from functools import partial
from math import inf
from pathlib import Path
from typing import NoReturn

import polars as pl
import pytest

from logreplay.core.errors import LogreplayError
from logreplay.replay.engine import recorder
from logreplay.replay.engine.engine import replay
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.schedules.rates import Constant
from logreplay.replay.senders.endpoint import Endpoint, parse_target
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.workers.coordinator import Coordinator
from logreplay.replay.workers.processes import processes
from support.raw_server import raw_server

PATIENCE = 30.0


class Panic(BaseException):
    """As Polars raises them: no `Exception`."""


class Unwritable(MemoryResults):
    def write(self, rows: pl.DataFrame) -> NoReturn:
        raise Panic(f"{rows.height} rows")


class Unreadable:
    """A shape that cannot."""

    columns = ()

    def __call__(self, frame: pl.DataFrame, /) -> NoReturn:
        raise Panic(f"{frame.height} rows")


class Unable(WireSender):
    def send(self, seq: int, request: object, now: int, latest: float = inf) -> NoReturn:
        raise Panic(f"request {seq}")


def sender_to(url: str) -> WireSender:
    return WireSender(Endpoint(parse_target(url), ("127.0.0.1",)), timeout=5.0)


async def replayed(plan: Plan, results: MemoryResults) -> None:
    async with raw_server() as server:
        await asyncio.wait_for(replay(plan, sender_to(server.url), results), PATIENCE)


def test_a_panic_of_what_writes_ends_the_run(log: Path) -> None:
    with pytest.raises(Panic):
        asyncio.run(replayed(Plan(Requests(log), Constant(100, 5)), Unwritable()))


def test_a_panic_before_the_first_record_ends_the_run(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def panic() -> NoReturn:
        raise Panic("no record yet")

    monkeypatch.setattr(recorder, "_rehearse", panic)
    with pytest.raises(Panic):
        asyncio.run(replayed(Plan(Requests(log), Constant(100, 5)), MemoryResults()))


def test_a_panic_of_what_sends_ends_the_run(log: Path) -> None:
    sender = Unable(Endpoint(parse_target("http://127.0.0.1:1"), ("127.0.0.1",)), timeout=5.0)
    with pytest.raises(Panic):
        asyncio.run(asyncio.wait_for(replay(Plan(Requests(log), Constant(100, 5)), sender, MemoryResults()), PATIENCE))


def test_a_panic_of_what_reads_ends_the_run(log: Path) -> None:
    with pytest.raises(Panic):
        asyncio.run(replayed(Plan(Requests(log, shapes=[Unreadable()]), Constant(100, 5)), MemoryResults()))


def test_a_panic_while_the_rows_of_workers_are_written_ends_the_run(log: Path) -> None:
    async def main() -> None:
        async with raw_server() as server:
            sender = partial(sender_to, server.url)
            async with Coordinator(processes(2), sender, Unwritable()) as coordinator:
                await asyncio.wait_for(coordinator.run(Plan(Requests(log), Constant(100, 5))), PATIENCE)

    with pytest.raises((Panic, LogreplayError)):
        asyncio.run(main())
