"""Each client's requests come in order, on a connection of its own."""

import asyncio
import resource
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from logreplay.replay.engine.engine import Engine, Limits
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.outcome import Outcome, Progress
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.results.verdict import RunVerdict
from logreplay.replay.schedules.rates import Constant, Limited
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http1 import per_client
from logreplay.replay.senders.http1.per_client import ByClientSender
from logreplay.replay.senders.http2.per_client import Http2ByClientSender
from support.http2_server import http2_server, stall
from support.recording_server import RecordingServer, recording

HEADER = "date,time,latency,xfertime,thinktime,bytes,url,rc,op,client"


def log_of(path: Path, clients: int, each: int) -> Path:
    rows = [
        f"2026-01-01,00:00:00,0,0,0,5,/{client}/{number},200,GET,10.0.0.{client}"
        for number in range(each)
        for client in range(clients)
    ]
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


@asynccontextmanager
async def engine_to(server: RecordingServer, results: MemoryResults) -> AsyncIterator[tuple[Engine, ByClientSender]]:
    sender = ByClientSender(await resolve(parse_target(server.url)), timeout=5)
    async with Engine(sender, results) as engine:
        yield engine, sender


def replayed(log: Path, rate: float, service: float) -> tuple[RecordingServer, Outcome, pl.DataFrame, ByClientSender]:
    results = MemoryResults()

    async def main() -> tuple[RecordingServer, Outcome, ByClientSender]:
        async with recording(service) as server, engine_to(server, results) as (engine, sender):
            return server, await engine.run(Plan(Requests(log, loop=False), Constant(rate))), sender

    server, outcome, sender = asyncio.run(main())
    return server, outcome, results.frame, sender


def test_no_request_overtakes_its_client_s_one_before(tmp_path: Path) -> None:
    """Five clients ask a hundred times a second of a server that needs 30 ms: all queue up, in order."""
    server, outcome, rows, sender = replayed(log_of(tmp_path / "log.csv", 5, 12), rate=500, service=0.03)
    assert outcome.counters.ok == 60
    order, connections = defaultdict(list), defaultdict(set)
    for one in server.received:
        _, client, number = one.target.split("/")
        order[client].append(int(number))
        connections[client].add(one.connection)
    assert all(numbers == list(range(12)) for numbers in order.values())
    assert all(len(numbers) == 1 for numbers in connections.values())
    assert len(set.union(*connections.values())) == 5
    assert sender.counts.connections == 5
    assert sender.counts.queued > 40
    # the twelfth request of a client began when eleven were served
    assert max(rows["queued"].to_list()) > 0.2
    assert (rows["queued"] > 0).sum() == sender.counts.queued
    assert [finding.code for finding in outcome.health.findings if finding.code == "by_client"]
    assert outcome.health.verdict is RunVerdict.RATE_MISSED


def test_clients_do_not_wait_for_each_other(tmp_path: Path) -> None:
    _, outcome, rows, sender = replayed(log_of(tmp_path / "log.csv", 40, 1), rate=2000, service=0.1)
    assert outcome.counters.ok == 40
    assert sender.counts.queued == 0
    assert min(rows["latency"].to_list()) > 0.09


def test_those_who_wait_are_cancelled_with_the_others(tmp_path: Path) -> None:
    log = log_of(tmp_path / "log.csv", 2, 50)
    results = MemoryResults()

    async def stop_when_all_are_taken_up(engine: Engine) -> None:
        while engine.progress().scheduled < 60:  # noqa: ASYNC110  it tells about once a second
            await asyncio.sleep(0.005)
        engine.stop()

    async def main() -> Outcome:
        async with recording(0.2) as server, engine_to(server, results) as (engine, _):
            stopping = asyncio.create_task(stop_when_all_are_taken_up(engine))
            outcome = await engine.run(Plan(Requests(log), Limited(Constant(500), requests=60)))
            await stopping
            return outcome

    outcome = asyncio.run(main())
    assert outcome.scheduled == outcome.counters.ended == 60
    assert (outcome.counters.sent, outcome.counters.not_sent) == (outcome.counters.ok + 2, 58 - outcome.counters.ok)
    assert outcome.counters.errors["cancelled"] == 60 - outcome.counters.ok


Stalled = tuple[Outcome, pl.DataFrame, list[Progress]]


async def replayed_at_50(sender: ByClientSender | Http2ByClientSender, log: Path, seconds: float | None) -> Stalled:
    """Replay a log of 50 requests/s, and look at the run 50 times a second."""
    results, seen = MemoryResults(), list[Progress]()

    async def look() -> None:
        while True:
            seen.append(engine.progress())
            await asyncio.sleep(0.02)

    async with Engine(sender, results) as engine:
        looking = asyncio.create_task(look())
        outcome = await engine.run(Plan(Requests(log, loop=False), Constant(50, seconds)))
        looking.cancel()
    return outcome, results.frame, seen


async def stalled(log: Path, seconds: float | None) -> Stalled:
    """A run with a time-out of 0.2 s against a target that answers nothing over HTTP/1.1."""
    async with recording(60) as server:
        sender = ByClientSender(await resolve(parse_target(server.url)), timeout=0.2)
        return await replayed_at_50(sender, log, seconds)


async def stalled_over_http2(log: Path, seconds: float | None) -> Stalled:
    async with http2_server(answers=dict.fromkeys((f"/0/{number}" for number in range(20)), stall)) as server:
        sender = Http2ByClientSender(await resolve(parse_target(server.url)), timeout=0.2, streams=1)
        return await replayed_at_50(sender, log, seconds)


OVER_BOTH = pytest.mark.parametrize("over", [stalled, stalled_over_http2])
Over = Callable[[Path, float | None], Coroutine[Any, Any, Stalled]]


@OVER_BOTH
def test_who_waits_does_not_count_as_sent_yet_and_is_not_sent_a_time_out_after_the_end_of_the_load(
    tmp_path: Path, over: Over
) -> None:
    """It counted, and the requests sent became fewer when those that waited were given up.

    Each of the twenty requests of the client waited for the time-out of the one before it.
    """
    outcome, rows, seen = asyncio.run(over(log_of(tmp_path / "log.csv", 1, 20), 0.4))
    on_the_way = [now for now in seen if now.in_flight > 1]
    assert len(on_the_way) > 10
    assert {now.in_flight - now.waiting for now in on_the_way} <= {0, 1}
    assert max(now.sent for now in seen if now.elapsed < 0.15) <= 1
    counters = outcome.counters
    assert outcome.scheduled == rows.height == counters.ended == 20
    assert (counters.sent, counters.net_error, counters.failed) == (counters.errors["timeout"],) * 3
    assert 3 <= counters.sent <= 5
    assert (rows["scheduled"] + rows["lag"] + rows["queued"]).to_numpy().max() < 1
    assert (outcome.ended - outcome.started).total_seconds() < 1.5
    assert outcome.evidence.given_up == counters.not_sent
    (told,) = (each.text for each in outcome.health.findings if each.code in ("by_client", "streams_limit"))
    assert told.endswith(f"; not sent, because they still waited a time-out after the end: {counters.not_sent}")
    assert "rate_missed" in {finding.code for finding in outcome.health.findings}


def test_without_an_end_of_the_load_each_request_of_the_log_has_its_turn(tmp_path: Path) -> None:
    outcome, *_ = asyncio.run(stalled(log_of(tmp_path / "log.csv", 1, 3), None))
    assert outcome.counters.errors == {"timeout": 3}


def test_what_waits_too_long_for_its_client_is_dropped_and_counted(tmp_path: Path) -> None:
    """One client asks 50 times a second of a server that needs 100 ms: one in five can be sent."""
    log, results = log_of(tmp_path / "log.csv", 1, 40), MemoryResults()

    async def main() -> tuple[RecordingServer, Outcome]:
        async with recording(0.1) as server:
            sender = ByClientSender(await resolve(parse_target(server.url)), timeout=5)
            async with Engine(sender, results, limits=Limits(drop_after=0.2)) as engine:
                return server, await engine.run(Plan(Requests(log, loop=False), Constant(50)))

    server, outcome = asyncio.run(main())
    rows = results.frame
    dropped = pl.col("error").fill_null("") == "dropped"
    sent, unsent = rows.filter(~dropped), rows.filter(dropped)
    assert (outcome.scheduled, outcome.counters.sent, outcome.counters.dropped) == (40, sent.height, unsent.height)
    assert unsent.height > 20
    assert max((sent["lag"] + sent["queued"]).to_list()) <= 0.2
    assert min((unsent["lag"] + unsent["queued"]).to_list()) > 0.2
    assert [one.target for one in server.received] == sent.sort("seq")["url"].to_list()


def test_a_target_that_hangs_holds_up_no_drop(tmp_path: Path) -> None:
    """The first request is never answered; those behind it are dropped when their time is over, not at its time-out."""
    log, results = log_of(tmp_path / "log.csv", 1, 10), MemoryResults()

    async def main() -> Outcome:
        async with recording(60) as server:
            sender = ByClientSender(await resolve(parse_target(server.url)), timeout=1)
            async with Engine(sender, results, limits=Limits(drop_after=0.1)) as engine:
                return await engine.run(Plan(Requests(log, loop=False), Constant(100)))

    assert asyncio.run(main()).counters.dropped == 9
    waits = results.frame.filter(pl.col("error") == "dropped").select(pl.col("lag") + pl.col("queued")).to_series()
    assert min(waits.to_list()) > 0.1
    assert max(waits.to_list()) < 0.8


@pytest.mark.parametrize(("descriptors", "idle"), [(1024, 512), (100_000, 20_000)])
def test_as_many_clients_stay_connected_as_descriptors_allow(
    monkeypatch: pytest.MonkeyPatch, descriptors: int, idle: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (descriptors, descriptors))
    assert per_client.most_idle() == idle


def test_idle_connections_of_many_clients_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(per_client, "MAX_IDLE", 5)
    _, outcome, _, sender = replayed(log_of(tmp_path / "log.csv", 60, 2), rate=2000, service=0.0)
    assert outcome.counters.ok == 120
    assert len(sender._own) <= 4 * 5 + 2
