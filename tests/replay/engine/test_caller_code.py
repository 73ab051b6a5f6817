"""Code of the caller that fails, blocks or wants to end the process, and results that are slow to write."""

import asyncio
import sys
import threading
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import NoReturn

import numpy as np
import polars as pl
import pytest
import uvloop

from logreplay.core.errors import LogreplayError
from logreplay.core.rows import scan
from logreplay.replay.clock import monotonic
from logreplay.replay.engine import engine as engine_module
from logreplay.replay.engine.engine import Engine, Limits, replay
from logreplay.replay.engine.recorder import Recorder
from logreplay.replay.engine.run_clock import RunClock
from logreplay.replay.requests.hook import Hooked, Planned, load
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.outcome import Outcome, Progress
from logreplay.replay.results.result_log import MemoryResults, ResultLog
from logreplay.replay.schedules.rates import Constant
from logreplay.replay.senders.contract import RECORD, Exchange
from logreplay.replay.senders.endpoint import Endpoint, parse_target
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.workers.coordinator import Coordinator
from logreplay.replay.workers.processes import processes
from support.raw_server import Exchange as ServerExchange
from support.raw_server import ok, raw_server

PATIENCE = 30.0


class Spoilt(BaseException):
    """No `Exception`, as a panic of Polars."""


def sender_maker(url: str) -> Callable[[], WireSender]:
    """Of parts that a worker process can import, as it cannot this module."""
    return partial(WireSender, Endpoint(parse_target(url), ("127.0.0.1",)), timeout=5.0)


def sender_to(url: str) -> WireSender:
    return sender_maker(url)()


def rows_on_disk_when(
    run: Callable[[Engine, Plan], Awaitable[None]], log: Path, path: Path, seconds: float = 60
) -> pl.DataFrame:
    """Run something that ends a run of an engine, and read what is on disk."""

    async def main() -> None:
        async with raw_server() as server, Engine(sender_to(server.url), ResultLog(path)) as engine:
            await asyncio.wait_for(run(engine, Plan(Requests(log, loop=True), Constant(100, seconds))), PATIENCE)

    asyncio.run(main())
    return scan(path).collect()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ValueError, Spoilt, SystemExit])
def test_what_on_progress_raises_ends_the_run_and_the_rows_are_on_disk(
    log: Path, tmp_path: Path, kind: type[BaseException]
) -> None:
    def show(now: Progress) -> NoReturn:
        raise kind(f"{now.scheduled > 0}")

    async def run(engine: Engine, plan: Plan) -> None:
        with pytest.raises(kind, match="True"):
            await engine.run(plan, show)
        assert engine.in_flight == 0

    rows = rows_on_disk_when(run, log, tmp_path / "r.csv")
    assert 50 < rows.height < 1000
    assert rows["seq"].n_unique() == rows.height


def test_nothing_is_kept_for_the_trace_of_requests_that_were_dropped(log: Path) -> None:
    """-v kept the status in the log of each of them to the end."""
    seen: list[Exchange] = []

    async def in_a_while(exchange: ServerExchange) -> bool:
        await asyncio.sleep(0.01)
        return await ok(exchange)

    async def main() -> tuple[Outcome, dict[int, int]]:
        limits = Limits(max_in_flight=1, drop_after=0.05)
        async with raw_server(answers={f"/page/{n}": in_a_while for n in range(100)}) as server:
            engine = Engine(sender_to(server.url), MemoryResults(), limits=limits, trace=seen.append)
            async with engine:
                return await engine.run(Plan(Requests(log), Constant(20_000, 0.1))), engine._expected

    outcome, kept = uvloop.run(main())
    assert outcome.counters.dropped > 0
    assert len(seen) == outcome.counters.sent
    assert {exchange.expected_rc for exchange in seen} == {200}
    assert kept == {}


def test_what_a_trace_raises_ends_the_run_and_the_rows_are_on_disk(log: Path, tmp_path: Path) -> None:
    def trace(exchange: Exchange) -> NoReturn:
        raise Spoilt(str(exchange.seq))

    async def main() -> None:
        async with raw_server() as server:
            plan = Plan(Requests(log), Constant(100, 60))
            results = ResultLog(tmp_path / "r.csv")
            await asyncio.wait_for(replay(plan, sender_to(server.url), results, trace=trace), PATIENCE)

    with pytest.raises(Spoilt):
        asyncio.run(main())
    assert scan(tmp_path / "r.csv").collect().height


@pytest.mark.slow
def test_what_on_progress_raises_ends_a_run_of_several_processes(log: Path, tmp_path: Path) -> None:
    def show(now: Progress) -> NoReturn:
        raise Spoilt

    async def main() -> None:
        path = tmp_path / "r.csv"
        async with (
            raw_server() as server,
            Coordinator(processes(2), sender_maker(server.url), ResultLog(path)) as coordinator,
        ):
            plan = Plan(Requests(log, loop=True), Constant(100, 60))
            await asyncio.wait_for(coordinator.run(plan, show), PATIENCE)

    with pytest.raises(Spoilt):
        asyncio.run(main())
    assert scan(tmp_path / "r.csv").collect().height


@pytest.mark.usefixtures("_plans_begin_at_once")
def test_a_second_run_of_an_engine_at_the_same_time_is_refused_and_the_first_goes_on(log: Path, tmp_path: Path) -> None:
    async def run(engine: Engine, plan: Plan) -> None:
        first = asyncio.create_task(engine.run(plan))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="this engine runs a plan already: await that one first"):
            await engine.run(plan)
        assert (await first).counters.sent == 20
        assert (await engine.run(plan)).counters.sent == 20

    assert rows_on_disk_when(run, log, tmp_path / "r.csv", seconds=0.2).height == 40


def test_a_hook_that_leaves_the_process_ends_the_run_with_its_message(log: Path) -> None:
    def leave(planned: Planned) -> NoReturn:
        sys.exit("no token")

    async def main() -> None:
        async with raw_server() as server:
            plan = Plan(Hooked(Requests(log), leave), Constant(100, 1))
            await asyncio.wait_for(replay(plan, sender_to(server.url), MemoryResults()), PATIENCE)

    with pytest.raises(LogreplayError, match="the hook ended with SystemExit: no token"):
        asyncio.run(main())


@pytest.mark.parametrize("line", ["raise SystemExit(3)", "1 / 0"])
def test_a_module_of_a_hook_that_fails_when_imported_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spoilt_hooks.py").write_text(f"{line}\n")
    with pytest.raises(LogreplayError, match=r"importing spoilt_hooks failed: (SystemExit: 3|ZeroDivisionError)"):
        load("spoilt_hooks:sign")
    sys.modules.pop("spoilt_hooks", None)


def test_a_stop_does_not_wait_for_a_hook_that_blocks(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "_READING_STOPPED_S", 0.2)
    let_go, called = threading.Event(), threading.Event()

    def block(planned: Planned) -> Planned:
        if planned.number == 20:
            called.set()
            let_go.wait()
        return planned

    async def main() -> Outcome:
        async with raw_server() as server, Engine(sender_to(server.url), MemoryResults()) as engine:
            running = asyncio.create_task(engine.run(Plan(Hooked(Requests(log), block), Constant(100, 60))))
            await asyncio.to_thread(called.wait)
            engine.stop("interrupted")
            return await asyncio.wait_for(running, PATIENCE)

    try:
        assert asyncio.run(main()).stopped == "interrupted"
    finally:
        let_go.set()


class Stuck(MemoryResults):
    """Results that are not written until they are let go, or for so many seconds from the first write on."""

    def __init__(self, stall: float = PATIENCE) -> None:
        super().__init__()
        self.let_go, self._stall = threading.Event(), stall

    def write(self, rows: pl.DataFrame) -> None:
        self.let_go.wait(self._stall)
        self.let_go.set()
        super().write(rows)


def test_a_disk_that_does_not_keep_up_ends_the_run_with_an_error_and_no_row_is_lost(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "MOST_WAITING", 300)
    results = Stuck()

    async def main() -> int:
        async with raw_server() as server, Engine(sender_to(server.url), results) as engine:
            stop = engine.stop

            def stopped(why: str = "") -> None:
                stop(why)
                results.let_go.set()

            monkeypatch.setattr(engine, "stop", stopped)
            with pytest.raises(LogreplayError, match=r"written as fast as requests end: [\d,]+ rows were wait"):
                await asyncio.wait_for(engine.run(Plan(Requests(log, loop=True), Constant(2000, 60))), PATIENCE)
            return engine._sender.taken_up

    taken_up = asyncio.run(main())
    assert results.frame["seq"].sort().to_list() == list(range(taken_up))
    assert 300 < taken_up < 20_000


def test_rows_that_are_written_late_are_counted(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logreplay.replay.engine.recorder._LATE_S", 0.3)
    results = Stuck(stall=0.8)

    async def main() -> Outcome:
        async with raw_server() as server:
            return await replay(Plan(Requests(log), Constant(100, 0.6)), sender_to(server.url), results)

    began = time.monotonic()
    delay = asyncio.run(main()).evidence.delay
    assert 0 < delay.rows <= 60
    assert 0.8 <= delay.longest < time.monotonic() - began
    assert delay.writing > delay.working / 2


def test_records_that_wait_need_no_more_memory_than_they_are_long() -> None:
    hold = threading.Event()
    recorder = Recorder(MemoryResults(), RunClock(monotonic))
    recorder.sync(hold.wait)
    tracemalloc.start()
    try:
        for seq in range(100):
            recorder.take(np.array([(seq, 0, 0, 0, 0, 0, 0, 200, 0, 0, 0)], RECORD))
        assert recorder.waiting == 100
        assert tracemalloc.get_traced_memory()[0] < 200_000
    finally:
        tracemalloc.stop()
        hold.set()
        recorder.close()
