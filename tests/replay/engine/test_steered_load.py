"""A load that is changed while it is sent, in virtual time: each rate is kept to the request, and none is late."""

import asyncio
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from logreplay.replay.engine.engine import Engine
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.outcome import Outcome
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.results.verdict import RunVerdict
from logreplay.replay.schedules.orders import parse_order
from logreplay.replay.schedules.rates import Constant, Limited
from logreplay.replay.schedules.steering import Steering
from support.virtual_time import OneServerQueue, VirtualTimeLoop, run


def steered(
    log: Path, orders: dict[float, str], *, stall: tuple[float, float] = (0, 0)
) -> tuple[Outcome, pl.DataFrame]:
    """Replay 100/s for 10 s, and give orders at these seconds."""
    loop, results = VirtualTimeLoop(), MemoryResults()

    async def main() -> Outcome:
        queue = OneServerQueue(0.001, stall)
        async with Engine(queue, results, clock=loop.now_ns, threaded=False) as engine:
            for at, text in orders.items():
                loop.call_at(at, engine.steer, parse_order(text), "test")
            return await engine.run(Plan(Requests(log), Constant(100)), steering=Steering("rate", 100, 10))

    outcome = run(main(), loop)
    return outcome, results.frame.sort("seq")


def per_second(rows: pl.DataFrame, column: str = "scheduled") -> dict[int, int]:
    seconds = rows[column].floor().cast(pl.Int64)
    return dict(rows.group_by(seconds.alias("second")).len().sort("second").iter_rows())


def test_each_second_has_the_rate_of_its_step_and_no_request_is_late(log: Path) -> None:
    outcome, rows = steered(log, {1.5: "raise 50%", 3.2: "pause", 6.4: "continue", 8.0: "rate 10"})
    assert per_second(rows) == {
        0: 100, 1: 100, 2: 150, 3: 150, 7: 150, 8: 150, **dict.fromkeys(range(9, 13), 10)
    }  # fmt: skip
    assert rows["lag"].max() == pytest.approx(0, abs=1e-9)
    assert rows["lag"].min() == pytest.approx(0, abs=1e-9)
    assert rows.group_by("step", maintain_order=True).agg(pl.col("offered").unique().first()).rows() == [
        (0, 100.0), (1, 150.0), (2, 150.0), (3, 10.0)
    ]  # fmt: skip
    assert rows["row"].to_list() == [number % 100 for number in range(len(rows))], "each request of the log, in order"
    assert (outcome.health.verdict, outcome.stopped) == (RunVerdict.VALID, "")
    assert outcome.offered == 0, "no one rate was offered"
    assert outcome.seconds == 13


def test_a_stall_of_the_target_shifts_nothing_after_a_change(log: Path) -> None:
    _, rows = steered(log, {1.5: "raise 100%"}, stall=(2.5, 4.0))
    assert per_second(rows) == {0: 100, 1: 100, **dict.fromkeys(range(2, 10), 200)}
    assert rows["lag"].max() == pytest.approx(0, abs=1e-9)
    assert np.diff(rows.filter(step=1)["scheduled"]) == pytest.approx(0.005, abs=2e-9)


def test_the_end_keeps_what_was_sent_and_the_run_is_valid_and_says_that_it_is_short(log: Path) -> None:
    outcome, rows = steered(log, {2.255: "end"})
    assert 225 <= len(rows) <= 236
    assert (outcome.health.verdict, outcome.offered) == (RunVerdict.VALID, 100)
    assert re.fullmatch(r"ended by hand at 2\.\d+ of 10 s", outcome.stopped)


def test_a_number_of_requests_ends_the_run_and_what_would_hold_later_is_no_step(log: Path) -> None:
    loop, results, refused = VirtualTimeLoop(), MemoryResults(), list[str]()
    steering = Steering("rate", 100, 10, counted=True)

    async def main() -> Outcome:
        async with Engine(OneServerQueue(0.2, (0, 0)), results, clock=loop.now_ns, threaded=False) as engine:

            def late() -> None:
                with pytest.raises(ValueError, match="the run is ending") as error:
                    engine.steer(parse_order("pause"), "test")
                refused.append(str(error.value))

            loop.call_at(1.2, engine.steer, parse_order("raise 50%"), "test")
            loop.call_at(1.6, late)
            plan = Plan(Requests(log), Limited(Constant(100), requests=150))
            return await engine.run(plan, steering=steering)

    outcome = run(main(), loop)
    assert len(refused) == 1
    assert [(change.held, change.step) for change in steering.changes] == [(False, None)]
    assert (outcome.scheduled, outcome.offered, outcome.stopped) == (150, 100, "")
    assert outcome.seconds == pytest.approx(1.495, abs=0.1), "and not the 10 s that it might have taken"


def test_an_order_before_the_first_request_is_refused() -> None:
    async def main() -> None:
        async with Engine(OneServerQueue(0.001, (0, 0)), MemoryResults(), threaded=False) as engine:
            with pytest.raises(ValueError, match="has not begun to send"):
                engine.steer(parse_order("pause"), "test")

    asyncio.run(main())
