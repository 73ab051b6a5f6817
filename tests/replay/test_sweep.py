"""A sweep, in virtual time against one server of 200 requests/s."""

from pathlib import Path

import polars as pl

from logreplay.replay.engine import Engine, Outcome
from logreplay.replay.plan import Requests
from logreplay.replay.results import MemoryResults
from logreplay.replay.schedule import steps
from logreplay.replay.sweep import overloaded, sweep
from virtual import OneServerQueue, VirtualTimeLoop, run

NO_STALL = (0.0, 0.0)


def swept(log: Path, *rates: float, keep_going: bool = False) -> tuple[tuple[Outcome, ...], pl.DataFrame]:
    loop, results = VirtualTimeLoop(), MemoryResults()

    async def main() -> tuple[Outcome, ...]:
        sender = OneServerQueue(0.005, stall=NO_STALL)
        async with Engine(sender, results, clock=loop.now_ns, threaded=False) as engine:
            return await sweep(engine, Requests(log), steps(rates, 10.0), keep_going=keep_going)

    return run(main(), loop), results.frame


def test_each_step_sends_the_log_from_its_beginning_at_its_rate(log: Path) -> None:
    outcomes, rows = swept(log, 10, 50, 25)
    assert [outcome.scheduled for outcome in outcomes] == [100, 500, 250]
    assert rows.sort("seq")["row"].to_list() == [*range(100), *(list(range(100)) * 5), *(list(range(100)) * 3)[:250]]
    assert rows.group_by("step").agg(pl.col("offered").unique().first()).sort("step")["offered"].to_list() == [
        10,
        50,
        25,
    ]


def test_each_second_of_a_run_belongs_to_one_step(log: Path) -> None:
    _, rows = swept(log, 150, 300, 100)
    owners = rows.group_by(pl.col("scheduled").floor()).agg(pl.col("step").n_unique())
    assert owners["step"].to_list() == [1] * owners.height
    counted = rows.group_by(pl.col("scheduled").floor()).agg(pl.len(), pl.col("offered").first())
    assert (counted["len"] == counted["offered"]).all()


def test_a_step_begins_when_all_answers_of_the_one_before_are_in(log: Path) -> None:
    _, rows = swept(log, 400, 100)
    end = pl.col("scheduled") + pl.col("lag") + pl.col("connect") + pl.col("latency") + pl.col("xfertime")
    ends = rows.filter(pl.col("step") == 0).select(end.max()).item()
    begins = rows.filter(pl.col("step") == 1)["scheduled"].min()
    assert isinstance(begins, float)
    assert ends <= begins


def test_two_overloaded_steps_in_a_row_end_a_sweep(log: Path) -> None:
    outcomes, _ = swept(log, 100, 300, 350, 400)
    assert [overloaded(outcome) for outcome in outcomes] == [False, True, True]


def test_a_sweep_goes_on_where_it_is_told_to(log: Path) -> None:
    assert len(swept(log, 100, 300, 350, 400, keep_going=True)[0]) == 4
