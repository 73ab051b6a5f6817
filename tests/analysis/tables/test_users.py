"""How many users are enough."""

import polars as pl
import pytest

from logreplay.analysis.input.arrays import read
from logreplay.analysis.tables.users import judge_users, users_table
from logreplay.parsers.record import RESULT_COLUMNS


def closed_table(users: list[int], workers: int = 8, service: float = 0.02, think: float = 0.0) -> pl.DataFrame:
    """What N users of K workers see: N / (R + Z) up to K / D, then N D / K - Z."""
    rows = []
    for count in users:
        throughput = min(count / (service + think), workers / service)
        response = count / throughput - think
        rows.append({"users": count, "throughput": throughput, "mean": response, "p90": response})
    return pl.DataFrame(rows)


def test_the_plateau_begins_where_all_workers_are_busy() -> None:
    verdict = judge_users(closed_table([1, 2, 4, 8, 16, 100]))
    assert verdict.plateau == 8
    assert verdict.enough == 8
    assert verdict.throughput == pytest.approx(400)
    assert verdict.sentence == (
        "throughput stops growing at 8 users, at 400/s; by Little's law 8 users are enough (400/s x (0.02 s + 0 s))"
    )


def test_think_time_needs_more_users() -> None:
    verdict = judge_users(closed_table([10, 50, 100, 150, 208, 300, 400], think=0.5), think=0.5)
    assert verdict.plateau == 208
    assert verdict.enough == 208


def test_a_sweep_that_begins_beyond_saturation_says_so() -> None:
    """The classic mistake: 5,000 to 35,000 users, all with the same throughput and ever longer waits."""
    verdict = judge_users(closed_table([5000, 15_000, 35_000]))
    assert verdict.saturated_at_first
    assert verdict.plateau == 5000
    assert verdict.sentence.startswith("the target was saturated at 400/s with the fewest users, 5000: ")
    assert "90th percentile 12.5 s with 5000, 87.5 s with 35000" in verdict.sentence


def test_a_throughput_that_still_grows_has_no_plateau() -> None:
    verdict = judge_users(closed_table([1, 2, 4]))
    assert verdict.plateau is None
    assert verdict.sentence.startswith("throughput still grew at 4 users, to 200/s: try more")


def test_one_point_shows_no_growth() -> None:
    verdict = judge_users(closed_table([50]))
    assert verdict.plateau is None
    assert not verdict.saturated_at_first
    assert verdict.sentence.startswith(
        "50 users reached 400/s; one number of users does not show where throughput stops growing: try several, such "
        "as --vusers 25,50,100; by Little's law"
    )


@pytest.mark.parametrize("users", [[1, 2, 4], [4, 8, 16], [100, 200]])
def test_several_trials_of_as_many_users_count_as_one(users: list[int]) -> None:
    once = closed_table(users)
    worse = once.with_columns(pl.col("throughput") * 0.9, pl.col("mean", "p90") * 1.1)
    assert judge_users(pl.concat([once, worse, once])) == judge_users(once)


def test_nothing_answered_says_nothing() -> None:
    table = pl.DataFrame({"users": [1], "throughput": [0.0], "mean": [None], "p90": [None]})
    assert judge_users(table).sentence == "no response came within its step: no throughput was measured"


def test_answers_after_the_end_of_a_step_do_not_count_for_its_throughput() -> None:
    rows = [
        {"seq": seq, "scheduled": at, "latency": 0.6, "rc": 200, "step": step, "url": "/", "op": "GET"}
        for seq, (step, at) in enumerate([(0, 0.0), (0, 0.6), (1, 2.0), (1, 2.0), (1, 2.6), (1, 2.6)])
    ]
    frame = pl.DataFrame(rows).with_columns(
        pl.lit("2026-01-01").alias("date"),
        pl.lit("00:00:00").alias("time"),
        *(pl.lit(0.0).alias(name) for name in ("xfertime", "thinktime", "lag", "queued", "connect")),
        pl.lit(0).alias("bytes"),
        *(pl.lit(None, pl.String).alias(name) for name in ("error", "client")),
        *(pl.lit(None, pl.Int64).alias(name) for name in ("row", "expected_rc", "expected_bytes")),
        *(pl.lit(None, pl.Float64).alias(name) for name in ("offered", "expected_latency")),
    )
    table = users_table(read(frame.select(RESULT_COLUMNS)), {0: 1, 1: 2}, 1.0)
    assert table["users"].to_list() == [1, 2]
    assert table["sent"].to_list() == [2, 4]
    assert table["throughput"].to_list() == [1.0, 2.0]
    assert table["p90"].to_list() == [0.6, 0.6]
