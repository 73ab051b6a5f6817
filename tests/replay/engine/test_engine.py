"""The engine in virtual time: exact, and the same each time."""

import asyncio
from math import inf
from pathlib import Path

import polars as pl
import pytest

from logreplay.core.record import RESPONSE_PARTS
from logreplay.replay.engine import engine as engine_module
from logreplay.replay.engine.engine import Engine
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.outcome import Outcome, Progress
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.schedules.rates import Constant
from logreplay.replay.schedules.steering import Steering
from support.virtual_time import OneServerQueue, VirtualTimeLoop, run


def one_stall(log: Path) -> tuple[Outcome, pl.DataFrame]:
    loop, results = VirtualTimeLoop(), MemoryResults()

    async def main() -> Outcome:
        sender = OneServerQueue(0.005, stall=(10.0, 11.0))
        async with Engine(sender, results, clock=loop.now_ns, threaded=False) as engine:
            return await engine.run(Plan(Requests(log), Constant(100, 30)))

    return run(main(), loop), results.frame


def test_a_stall_of_one_second_is_charged_to_the_requests_that_waited_in_it(log: Path) -> None:
    """(1.0 - 0.1) / 0.005 = 180 requests respond later than 0.1 s; a closed loop would show one."""
    outcome, rows = one_stall(log)
    assert outcome.scheduled == outcome.counters.ok == 3000
    assert rows["lag"].max() == 0
    response = rows.select(pl.sum_horizontal(RESPONSE_PARTS)).to_series()
    assert (response > 0.1).sum() == 180


def test_virtual_time_is_deterministic(log: Path) -> None:
    columns = ["seq", "row", "scheduled", "lag", "latency"]
    assert one_stall(log)[1].select(columns).equals(one_stall(log)[1].select(columns))


def test_progress_tells_when_the_next_request_is_due_while_chunks_are_read_ahead(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine reports are late: the run goes on until there are two that tell it."""
    monkeypatch.setattr(engine_module, "_FLUSH_S", 0.1)
    known = list[Progress]()

    async def main() -> None:
        async with Engine(OneServerQueue(0.0, (inf, inf)), MemoryResults()) as engine:

            def look(now: Progress) -> None:
                known.extend([now] if now.next_due is not None else [])
                if len(known) >= 2:
                    engine.stop()

            await engine.run(Plan(Requests(log, loop=True), Constant(5_000, 60)), look)

    asyncio.run(main())
    assert len(known) >= 2
    assert all(now.next_due == pytest.approx(now.elapsed, abs=1) for now in known)


@pytest.mark.parametrize("steered", [False, True])
def test_no_request_is_due_after_a_stop(log: Path, steered: bool) -> None:
    """A load that may be changed told of no gap of the log: its requests are placed shortly before they are due."""
    loop, seen = VirtualTimeLoop(), list[float | None]()

    async def main() -> None:
        async with Engine(
            OneServerQueue(0.0, (inf, inf)), MemoryResults(), clock=loop.now_ns, threaded=False
        ) as engine:

            def stop() -> None:
                seen.append(engine.progress().next_due)
                engine.stop()
                seen.append(engine.progress().next_due)

            loop.call_at(10.5, stop)
            steering = Steering("rate", 0.01, 300) if steered else None
            await engine.run(Plan(Requests(log), Constant(0.01, 300)), steering=steering)

    run(main(), loop)
    assert seen == [100.5, None]


def stopped_in_a_stall(log: Path, *, until: float) -> Outcome:
    """Stop while requests wait in a stall, with a sender that does not end them before the stall is over."""
    loop = VirtualTimeLoop()

    async def main() -> Outcome:
        sender = OneServerQueue(0.005, stall=(10.0, until))
        async with Engine(sender, MemoryResults(), clock=loop.now_ns, threaded=False) as engine:
            loop.call_at(10.5, engine.stop)
            return await engine.run(Plan(Requests(log), Constant(100, 30)))

    return run(main(), loop)


def test_a_stopped_run_counts_what_its_sender_ends_later(log: Path) -> None:
    outcome = stopped_in_a_stall(log, until=11.0)
    assert outcome.scheduled == outcome.counters.sent == pytest.approx(1050, abs=1)


def test_a_sender_that_does_not_end_what_is_cancelled_is_named_after_a_bounded_wait(log: Path) -> None:
    with pytest.raises(RuntimeError, match=r"requests did not end within 5 s of being cancelled"):
        stopped_in_a_stall(log, until=100.0)
