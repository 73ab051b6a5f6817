"""What is measured is what was: real time, real servers, and answers that are known beforehand."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import uvloop

from logreplay.core.record import RESPONSE_PARTS
from logreplay.replay.engine.engine import Engine, Limits
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.outcome import Outcome
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.results.verdict import RunVerdict
from logreplay.replay.schedules.rates import Constant, Limited
from logreplay.replay.senders.aiohttp_sender import AiohttpSender
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http1 import sender as wire
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.servers.minimal import responding
from support.delayed_responses import delayed_responses
from support.raw_server import raw_server

SENDERS = pytest.mark.parametrize("sender", [WireSender, AiohttpSender])


def run(
    url: str,
    log: Path,
    schedule: Constant,
    *,
    sender: type[WireSender] | type[AiohttpSender] = WireSender,
    timeout: float = 5.0,
    limits: Limits | None = None,
    meanwhile: Callable[[Engine], Awaitable[object]] | None = None,
) -> tuple[Outcome, pl.DataFrame]:
    """Replay, and do something else meanwhile."""
    results = MemoryResults()

    async def main() -> Outcome:
        endpoint = await resolve(parse_target(url))
        async with Engine(sender(endpoint, timeout=timeout), results, limits=limits) as engine:
            other = asyncio.create_task(_as_coroutine(meanwhile(engine))) if meanwhile else None
            outcome = await engine.run(Plan(Requests(log), schedule))
            if other:
                await other
            return outcome

    outcome = uvloop.run(main())
    rows = results.frame.sort("seq").with_columns(
        service=pl.col("connect") + pl.col("latency") + pl.col("xfertime"),
        response=pl.sum_horizontal(RESPONSE_PARTS),
    )
    return outcome, rows


def hold(measure: Callable[[], tuple[Outcome, pl.DataFrame]], holds: Callable[[Outcome, pl.DataFrame], bool]) -> None:
    """Measure until what must hold does, five times at most.

    A machine that does something else meanwhile is late, so a miss counts only if the run had the processor to
    itself; if none of the five had, nothing was learnt.
    """
    undisturbed = 0
    for _ in range(5):
        outcome, rows = measure()
        if holds(outcome, rows):
            return
        vitals = outcome.evidence.vitals
        busy = os.getloadavg()[0] > len(os.sched_getaffinity(0))
        undisturbed += not busy and vitals.waited < 0.01 * vitals.seconds
    if not undisturbed:
        pytest.skip("other work took the processor in each of five tries")
    pytest.fail(f"missed in {undisturbed} undisturbed tries of five")


async def _as_coroutine(awaitable: Awaitable[object]) -> None:
    await awaitable


def stopped(pid: int, at: float, seconds: float) -> Callable[[Engine], Awaitable[object]]:
    """Stop a process for some time of the run."""

    async def stop(engine: Engine) -> None:
        while engine.progress().elapsed < at:  # noqa: ASYNC110  nobody could set an event
            await asyncio.sleep(0.001)
        os.kill(pid, signal.SIGSTOP)
        await asyncio.sleep(seconds)
        os.kill(pid, signal.SIGCONT)

    return stop


@pytest.mark.alone
def test_a_frozen_target_is_charged_to_all_who_waited(nginx: Any, log: Path) -> None:
    """Response times of those sent in the freeze fall evenly from its length to 0, so p99 is known."""
    rate, seconds, freeze = 1000, 3.0, 0.8
    server = nginx()
    analytic = freeze - 0.01 * seconds

    def measure() -> tuple[Outcome, pl.DataFrame]:
        frozen = stopped(server.pid, 0.3 * seconds, freeze)
        outcome, rows = run(server.url, log, Constant(rate, seconds), meanwhile=frozen)
        assert outcome.counters.ok == rate * seconds
        assert rows.filter(pl.col("response") > 0.1 * freeze).height >= 0.98 * 0.9 * freeze * rate
        return outcome, rows

    def holds(_: Outcome, rows: pl.DataFrame) -> bool:
        on_time = bool(np.quantile(rows["lag"], 0.99) < 0.05)
        return on_time and bool(np.quantile(rows["response"], 0.99) == pytest.approx(analytic, rel=0.05))

    hold(measure, holds)


@pytest.mark.alone
@SENDERS
@pytest.mark.parametrize("delay", [0.005, 0.02, 0.1])
def test_to_an_injected_delay_at_most_the_work_of_one_exchange_is_added(
    log: Path, sender: type[WireSender], delay: float
) -> None:
    """That work depends on the machine, and so does the rate from which on requests wait for each other in the loop."""
    with delayed_responses(delay) as url:

        def measure() -> tuple[Outcome, pl.DataFrame]:
            outcome, rows = run(url, log, Constant(250, 0.8), sender=sender)
            assert outcome.counters.ok == 200
            assert (rows["service"] >= delay).all()
            return outcome, rows

        def holds(outcome: Outcome, rows: pl.DataFrame) -> bool:
            added = float(np.median(rows["service"])) - delay
            return added <= max(0.0003, outcome.evidence.vitals.loop / rows.height)

        hold(measure, holds)


@pytest.mark.alone
def test_sends_are_never_early_and_do_not_drift(log: Path) -> None:
    with responding() as url:

        def measure() -> tuple[Outcome, pl.DataFrame]:
            outcome, rows = run(url, log, Constant(997, 2))
            assert (rows["lag"] >= 0).all()
            even = rows["scheduled"][0] + np.arange(1994) / 997
            assert rows["scheduled"].to_numpy() == pytest.approx(even, abs=2e-6)
            return outcome, rows

        hold(measure, lambda _, rows: abs(np.median(rows["lag"][-500:]) - np.median(rows["lag"][:500])) < 0.001)


def test_rows_are_in_order_of_completion_and_add_up(log: Path) -> None:
    with delayed_responses(0.003) as url:
        outcome, rows = run(url, log, Constant(500, 0.4))
    assert rows["scheduled"].is_sorted()
    assert outcome.scheduled == rows.height == 200
    assert (rows["expected_rc"] == 200).all()
    assert rows["row"].to_list() == [seq % 100 for seq in range(200)]


def test_the_limit_of_requests_in_flight_is_kept_and_its_wait_is_queued(log: Path) -> None:
    """One at a time, 10 ms each: 100/s of the 200/s asked; the wait of the last is half the time."""
    with delayed_responses(0.01) as url:
        outcome, rows = run(url, log, Constant(200, 0.5), limits=Limits(max_in_flight=1))
    assert outcome.counters.ok == 100
    start = (rows["scheduled"] + rows["lag"] + rows["queued"]).to_numpy()
    end = start + rows["service"].to_numpy()
    assert (start[1:] >= end[:-1] - 1e-6).all()
    assert rows["queued"][-1] >= 0.45
    assert outcome.health.verdict is RunVerdict.RATE_MISSED


def test_each_request_that_waited_for_the_limit_is_counted(log: Path) -> None:
    """Four at a time, 40 ms each: 100/s of the 400/s asked. Several may become free at once, all later ones wait."""
    with delayed_responses(0.04) as url:
        outcome, rows = run(url, log, Constant(400, 0.25), limits=Limits(max_in_flight=4))
    assert (rows["queued"] > 0).sum() == outcome.evidence.limited <= 96
    assert (rows["queued"] > 0.05).sum() > 50


@pytest.mark.slow
@pytest.mark.few
def test_late_requests_are_dropped_when_asked_and_never_forgotten(log: Path) -> None:
    with delayed_responses(0.02) as url:
        limits = Limits(max_in_flight=1, drop_after=0.1)
        outcome, rows = run(url, log, Constant(200, 1), limits=limits)
    dropped = rows.filter(pl.col("error") == "dropped")
    assert outcome.scheduled == rows.height == 200
    assert outcome.counters.dropped == dropped.height > 100
    waited = pl.col("lag") + pl.col("queued")
    assert dropped.filter(waited <= 0.1).is_empty()
    assert (dropped["queued"] > dropped["lag"]).all()
    assert dropped["service"].sum() == 0
    assert rows.filter(pl.col("error").is_null(), waited > 0.1).select("seq", "lag", "queued", "connect").rows() == []


@pytest.mark.usefixtures("_plans_begin_at_once")
def test_steps_go_on_in_one_result_log(log: Path) -> None:
    results = MemoryResults()

    async def main(url: str) -> list[Outcome]:
        endpoint = await resolve(parse_target(url))
        async with Engine(WireSender(endpoint, timeout=5), results) as engine:
            return [
                await engine.run(Plan(Requests(log), Constant(rate, 0.3), step=step))
                for step, rate in enumerate((100, 200, 50))
            ]

    with responding() as url:
        outcomes = uvloop.run(main(url))
    rows = results.frame.sort("seq")
    assert [outcome.scheduled for outcome in outcomes] == [30, 60, 15]
    assert [outcome.first_seq for outcome in outcomes] == [0, 30, 90]
    assert rows["seq"].to_list() == list(range(105))
    assert rows["step"].to_list() == [0] * 30 + [1] * 60 + [2] * 15
    assert rows["offered"].to_list() == [100.0] * 30 + [200.0] * 60 + [50.0] * 15
    assert rows["scheduled"].is_sorted()
    assert all(a.ended <= b.started for a, b in pairwise(outcomes))


def test_stopping_ends_what_is_in_flight_as_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        "date,time,latency,xfertime,thinktime,bytes,url,rc,op\n2026-01-01,00:00:00,0,0,0,0,/stall,200,GET\n"
    )
    results = MemoryResults()

    async def main() -> Outcome:
        async with raw_server() as server:
            endpoint = await resolve(parse_target(server.url))
            async with Engine(WireSender(endpoint, timeout=60), results) as engine:
                running = asyncio.create_task(engine.run(Plan(Requests(path), Constant(100))))
                while server.counts["/stall"] < 10:  # noqa: ASYNC110  nobody could set an event
                    await asyncio.sleep(0.001)
                engine.stop("enough")
                return await running

    outcome = uvloop.run(main())
    assert outcome.stopped == "enough"
    assert outcome.counters.errors == {"cancelled": outcome.counters.sent}
    assert results.frame.height == outcome.counters.sent >= 10


@pytest.mark.usefixtures("_plans_begin_at_once")
def test_connections_that_nobody_needs_any_more_are_closed(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty at once need twenty connections; then one after the other needs one."""
    monkeypatch.setattr(wire, "UNNEEDED_NS", 200_000_000)

    async def main(url: str) -> tuple[int, int]:
        sender = WireSender(await resolve(parse_target(url)), timeout=5)
        async with Engine(sender, MemoryResults()) as engine:
            await engine.run(Plan(Requests(log), Limited(Constant(20_000), requests=20)))
            most = len(sender.idle)
            await engine.run(Plan(Requests(log), Constant(50, 0.8)))
            return most, len(sender.idle)

    with delayed_responses(0.03) as url:
        most, left = uvloop.run(main(url))
    assert most == 20
    assert left < 10
