"""The engine in virtual time: exact, and the same each time."""

from pathlib import Path

import polars as pl

from logreplay.replay.engine.engine import Engine
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.outcome import Outcome
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.schedules.rates import Constant
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
    response = rows["lag"] + rows["connect"] + rows["latency"] + rows["xfertime"]
    assert (response > 0.1).sum() == 180


def test_virtual_time_is_deterministic(log: Path) -> None:
    columns = ["seq", "row", "scheduled", "lag", "latency"]
    assert one_stall(log)[1].select(columns).equals(one_stall(log)[1].select(columns))
