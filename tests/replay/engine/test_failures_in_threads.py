"""What goes wrong in a thread or in a callback ends the run with its own words; nobody waits for what will not come."""

import asyncio
import threading
from functools import partial
from math import inf
from pathlib import Path
from typing import NoReturn

import polars as pl
import pytest

from logreplay.core.errors import LogreplayError
from logreplay.replay.clock import monotonic
from logreplay.replay.engine import recorder
from logreplay.replay.engine.engine import replay
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.by_target import ByTarget
from logreplay.replay.results.result_log import MemoryResults, ResultLog
from logreplay.replay.schedules.rates import Constant
from logreplay.replay.senders.endpoint import Endpoint, parse_target
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.senders.multi_target import SeveralSenders, target_of
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


class Unclosable(WireSender):
    async def close(self) -> NoReturn:
        await super().close()
        raise LogreplayError("no space left on device")


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


def test_a_sender_that_fails_at_its_end_leaves_a_finished_log_no_lock_and_no_thread(log: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.parquet"

    async def main() -> None:
        async with raw_server() as server:
            sender = Unclosable(Endpoint(parse_target(server.url), ("127.0.0.1",)), timeout=5.0)
            await replay(Plan(Requests(log), Constant(100, 0.2)), sender, ResultLog(rows))

    before = {*threading.enumerate()}
    with pytest.raises(LogreplayError, match="no space left"):
        asyncio.run(main())
    assert pl.read_parquet(rows).height == 20
    assert not {*threading.enumerate()} - before
    ResultLog(rows, force=True).close()


def test_of_several_senders_those_that_were_opened_are_closed_if_another_cannot_be_opened() -> None:
    class Closing(WireSender):
        closed = False

        async def close(self) -> None:
            self.closed = True
            await super().close()

    class Unopenable(WireSender):
        async def open(self, *_: object) -> NoReturn:
            raise LogreplayError("no descriptor left")

    endpoint = Endpoint(parse_target("http://127.0.0.1:1"), ("127.0.0.1",))
    first, second = Closing(endpoint, timeout=5.0), Unopenable(endpoint, timeout=5.0)
    several = SeveralSenders((first, second), target_of)
    with pytest.raises(LogreplayError, match="no descriptor"):
        asyncio.run(several.open(lambda *_: None, monotonic))
    assert first.closed


def test_each_result_log_of_a_duet_is_closed_also_where_another_one_fails() -> None:
    class Full(MemoryResults):
        def close(self) -> NoReturn:
            raise LogreplayError("no space left on device")

    class Closing(MemoryResults):
        closed = False

        def close(self) -> None:
            self.closed = True

    logs = Closing(), Full(), Closing()
    with pytest.raises(LogreplayError, match="no space left"):
        ByTarget(logs, together=3).close()
    assert logs[0].closed
    assert logs[2].closed
