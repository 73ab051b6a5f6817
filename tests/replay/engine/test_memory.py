"""A run of any length needs the memory of a short one, whatever goes wrong in it."""

import asyncio
import gc
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import uvloop

from logreplay.replay.clock import monotonic
from logreplay.replay.engine.engine import Limits, replay
from logreplay.replay.engine.undisturbed import no_collection
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.result_log import ResultLog
from logreplay.replay.schedules.rates import Constant
from logreplay.replay.senders.contract import SenderCounts
from logreplay.replay.senders.endpoint import Endpoint, parse_target, resolve
from logreplay.replay.senders.tls import tls_context
from support.certificates import Authority
from support.raw_server import raw_server
from support.sender_driver import SENDERS, Kind

BATCH = 50
FAILURES = ("refused", "tls", "/reset", "/close", "/short", "/garbage", "/stall", "/stall-in-body")


@asynccontextmanager
async def failing(failure: str, folder: Path) -> AsyncIterator[tuple[str, str]]:
    """A target that fails in this way: its address, and the path to ask for."""
    if failure == "refused":
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            yield f"http://127.0.0.1:{taken.getsockname()[1]}", "/"
        return
    tls = Authority(folder).good if failure == "tls" else None
    async with raw_server(tls=tls) as server:
        yield server.url, "/ok" if tls else failure


async def fail_often(
    sender: Kind, url: str, path: str, count: int, watch: Callable[[int], None] = lambda _: None, limit: float = 5
) -> SenderCounts:
    """Send so many requests, some at once, with a time limit in seconds; ``watch`` is told how many have ended."""
    ended = 0
    over = asyncio.Event()

    def done(*_: int) -> None:
        nonlocal ended
        ended += 1
        over.set()

    target: Endpoint = await resolve(parse_target(url))
    made: Any = sender(target, timeout=limit, tls=tls_context() if "https" in url else None)
    await made.open(done, monotonic)
    request = made.prepare(pl.DataFrame({"op": ["GET"], "url": [path]}))[0]
    for sent in range(0, count, BATCH):
        for seq in range(sent, sent + BATCH):
            made.send(seq, request, monotonic())
        while ended < sent + BATCH:
            over.clear()
            await over.wait()
        watch(ended)
    await made.close()
    counts: SenderCounts = made.counts
    return counts


@SENDERS
@pytest.mark.parametrize("failure", FAILURES)
def test_an_error_leaves_no_cycle_behind(tmp_path: Path, sender: Kind, failure: str) -> None:
    """The collector is off during a run: what only it can free stays until the end."""
    errors = 100

    async def main() -> int:
        async with failing(failure, tmp_path) as (url, path):
            limit = 0.3 if "stall" in path else 5.0
            while True:
                await fail_often(sender, url, path, BATCH, limit=limit)  # makes the objects that stay, such as caches
                with no_collection():
                    counts = await fail_often(sender, url, path, errors, limit=limit)
                    kept = gc.collect()
                if "connect_timeout" not in counts.details:
                    return kept
                limit *= 2  # on a busy machine: another failure, in which uvloop makes a cycle for aiohttp

    assert uvloop.run(main()) < 2 * errors, "objects in cycles"


def resident() -> int:
    """Bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@SENDERS
@pytest.mark.parametrize("failure", ["refused", "/short"])
def test_twenty_thousand_errors_need_the_memory_of_five_thousand(tmp_path: Path, sender: Kind, failure: str) -> None:
    seen: list[int] = []

    def watch(ended: int) -> None:
        if ended % 5_000 == 0:
            seen.append(resident())

    async def main() -> None:
        async with failing(failure, tmp_path) as (url, path):
            with no_collection():
                await fail_often(sender, url, path, 20_000, watch)

    uvloop.run(main())
    servers = 0 if failure == "refused" else 400  # it is in this process, and keeps the heads
    assert (seen[-1] - seen[0]) / 15_000 < 200 + servers, "bytes per error"


@pytest.mark.slow
@SENDERS
def test_a_run_against_a_refusing_target_stays_flat(
    tmp_path: Path, sender: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the engine, the recorder and the result log, too."""
    monkeypatch.setattr("logreplay.replay.engine.engine._FLUSH_S", 0.25)
    log, seen = tmp_path / "log.csv", list[int]()
    header = "date,time,latency,xfertime,thinktime,bytes,url,rc,op\n"
    log.write_text(header + "2026-01-01,00:00:00.000000,0,0,0,0,/ok,200,GET\n" * 1000)

    async def main() -> int:
        async with failing("refused", tmp_path) as (url, _):
            made = sender(await resolve(parse_target(url)), timeout=5)
            plan = Plan(Requests(log), Constant(2000, 5))
            results = ResultLog(tmp_path / "results.csv")
            outcome = await replay(
                plan, made, results, limits=Limits(1000), on_progress=lambda _: seen.append(resident())
            )
            return outcome.counters.errors["refused"]

    errors = uvloop.run(main())
    assert errors > 6_000
    third = len(seen) // 3
    assert (seen[-1] - seen[third]) / (errors * 2 / 3) < 400, "bytes per error"
