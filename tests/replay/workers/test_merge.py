"""Rows of several workers become one result log: each once, in order of completion, and none is missing."""

from itertools import permutations
from math import inf
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.core.errors import LogreplayError
from logreplay.core.record import RESPONSE_PARTS, RESULT_COLUMNS, SCHEMA
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.schedules.rates import Constant
from logreplay.replay.schedules.users import Users
from logreplay.replay.workers.merge import PATIENCE_S, Arrived, LostRows, MergedLog
from logreplay.replay.workers.partition import Share

EMPTY = pl.DataFrame(schema={name: SCHEMA[name] for name in RESULT_COLUMNS})


@given(st.lists(st.lists(st.integers(0, 30_000), unique=True), max_size=6))
def test_what_has_arrived_is_known_exactly(groups: list[list[int]]) -> None:
    arrived, known = Arrived(), set[int]()
    for group in groups:
        new = [number for number in group if number not in known]
        arrived.add(np.array(new, np.int64))
        known.update(new)
        asked = np.arange(0, 31_000, 7)
        assert arrived.has(asked).tolist() == [number in known for number in asked.tolist()]


def test_what_has_arrived_in_order_takes_no_memory() -> None:
    arrived = Arrived()
    for first in range(0, 1_000_000, 1000):
        arrived.add(np.arange(first, first + 1000))
    assert len(arrived._flags) < 20_000


def test_a_lost_worker_leaves_a_row_for_each_request_it_told_nothing_about(log: Path) -> None:
    share = Share(Plan(Requests(log), Constant(100, 2), step=3), 1, 2)
    arrived = Arrived()
    arrived.add(np.array([0, 1, 2, 4]))
    estate = LostRows(share, arrived, 7, first=1000, began=10**9, heard=1_200_000_000, until=0, wall=0)
    rows = pl.concat(estate.rows())
    assert rows["seq"].to_list() == [1001 + 2 * number for number in range(100) if number not in (0, 1, 2, 4)]
    assert rows["error"].to_list() == ["cancelled"] * 3 + ["dropped"] * 93
    assert (rows["step"] == 3).all()
    assert rows["scheduled"].to_list()[0] == pytest.approx(1.075)
    assert rows["latency"].to_list()[0] == pytest.approx(0.125)
    assert (estate.counters.net_error, estate.counters.dropped) == (3, 93)


def test_of_a_plan_that_was_stopped_only_what_was_due_by_then_counts(log: Path) -> None:
    share = Share(Plan(Requests(log), Constant(100, 2)), 0, 2)
    estate = LostRows(share, Arrived(), 30, first=0, began=0, heard=0, until=0, wall=0)
    assert sum(rows.height for rows in estate.rows(0.5)) == 30
    estate = LostRows(share, Arrived(), 3, first=0, began=0, heard=0, until=0, wall=0)
    assert sum(rows.height for rows in estate.rows(0.5)) == 25


@pytest.mark.parametrize(("until", "cancelled"), [(0, 7), (0.5, 25), (5, 100)])
def test_what_was_due_before_a_lost_worker_had_stopped_may_have_been_sent(
    log: Path, until: float, cancelled: int
) -> None:
    """It had taken up 7 requests at its last report, and went on for a while."""
    share = Share(Plan(Requests(log), Constant(100, 2)), 0, 2)
    lost = LostRows(share, Arrived(), 7, first=0, began=0, heard=0, until=int(until * 1e9), wall=0)
    rows = pl.concat(lost.rows())
    assert rows["error"].to_list() == ["cancelled"] * cancelled + ["dropped"] * (100 - cancelled)


def test_what_a_lost_worker_may_have_sent_after_the_plan_was_stopped_has_its_rows(log: Path) -> None:
    share = Share(Plan(Requests(log), Constant(100, 2)), 0, 2)
    lost = LostRows(share, Arrived(), 0, first=0, began=0, heard=0, until=10**9, wall=0)
    assert pl.concat(lost.rows(stopped_at=0.5))["error"].to_list() == ["cancelled"] * 50


def ended_at(*ends: float) -> pl.DataFrame:
    """Rows that end at these seconds."""
    count = len(ends)
    return EMPTY.clear(count).with_columns(
        pl.Series("scheduled", ends),
        pl.Series("seq", range(count)),
        *(pl.lit(0.0).alias(name) for name in RESPONSE_PARTS),
    )


def ends(results: MemoryResults) -> list[float]:
    return results.frame["scheduled"].to_list()


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.lists(st.floats(0, 0.2), max_size=5)),
        max_size=30,
    )
)
def test_rows_of_all_workers_are_merged_in_order_of_completion(reports: list[tuple[int, list[float]]]) -> None:
    results = MemoryResults()
    log, told, sent = MergedLog(results, 3), [0.0, 0.0, 0.0], list[float]()
    for index, offsets in reports:
        rows = sorted(told[index] + offset for offset in offsets)
        told[index] += 0.2
        if max(told) - min(told) > PATIENCE_S:  # then order gives way to memory
            told[index] -= 0.2
            continue
        sent += rows
        log.add(index, ended_at(*rows), told[index])
    log.finish()
    assert ends(results) == sorted(sent)


def test_rows_are_held_until_all_workers_have_told_of_that_time() -> None:
    results = MemoryResults()
    log = MergedLog(results, 2)
    log.add(0, ended_at(0.1, 0.4), 0.5)
    assert ends(results) == []
    log.add(1, ended_at(0.2), 0.3)
    assert ends(results) == [0.1, 0.2]


def test_a_silent_worker_holds_nobody_up_for_longer_than_a_second() -> None:
    results = MemoryResults()
    log = MergedLog(results, 2)
    log.add(0, ended_at(0.1, 0.4), 0.5)
    log.add(0, ended_at(1.4), 1.5)
    assert ends(results) == [0.1, 0.4]
    log.add(1, ended_at(0.2, 1.3), 1.4)
    assert ends(results) == [0.1, 0.4, 0.2, 1.3]


def test_rows_that_cannot_be_written_are_told_once_and_end_nothing() -> None:
    class FullDisk(MemoryResults):
        def write(self, rows: pl.DataFrame) -> None:
            raise LogreplayError("the disk is full")

    log = MergedLog(FullDisk(), 1)
    log.add(0, ended_at(0.1), 0.5)
    log.add(0, ended_at(0.6), 1.0)
    assert str(log.failure) == "the disk is full"


@pytest.mark.slow
@settings(max_examples=50)
@given(
    st.lists(st.lists(st.floats(0, 5), max_size=4), min_size=3, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), st.floats(0, 9)), max_size=12),
)
def test_every_row_is_written_once_whatever_the_workers_say_of_their_time(
    rows: list[list[float]], said: list[tuple[int, float]]
) -> None:
    """Late, early or backwards: order may suffer, no row does."""
    results = MemoryResults()
    log, left = MergedLog(results, 3), [sorted(each) for each in rows]
    for index, reported in said:
        log.add(index, ended_at(left[index].pop()) if left[index] else None, reported)
    for index, rest in enumerate(left):
        log.add(index, ended_at(*rest), inf)
    log.finish()
    every = sorted(end for each in rows for end in each)
    assert (sorted(ends(results)) if every else []) == every


def test_the_order_in_which_workers_report_the_same_time_makes_no_difference() -> None:
    written = set()
    for order in permutations(range(3)):
        results = MemoryResults()
        log = MergedLog(results, 3)
        for index in order:
            log.add(index, ended_at(index / 16, 0.5 - index / 16), 0.6)
        written.add(tuple(ends(results)))
    assert written == {(0.0, 0.0625, 0.125, 0.375, 0.4375, 0.5)}


def test_a_lost_worker_holds_nobody_up_and_its_rows_are_written_at_the_end(log: Path) -> None:
    results = MemoryResults()
    merged = MergedLog(results, 2)
    merged.add(1, ended_at(0.3), 0.4)
    merged.lose(
        0,
        LostRows(
            Share(Plan(Requests(log), Constant(10, 1)), 0, 2),
            Arrived(),
            2,
            first=0,
            began=0,
            heard=10**9,
            until=0,
            wall=0,
        ),
    )
    merged.add(1, ended_at(0.5), 0.9)
    assert ends(results) == [0.3, 0.5]
    filled = merged.finish()
    assert (filled.net_error, filled.dropped) == (2, 3)
    assert results.frame["error"].to_list()[2:] == ["dropped", "dropped", "dropped", "cancelled", "cancelled"]
    assert merged.finish().dropped == 0


def test_a_lost_worker_that_told_everything_leaves_no_row(log: Path) -> None:
    share, arrived = Share(Plan(Requests(log), Constant(10, 1)), 0, 2), Arrived()
    arrived.add(np.arange(5))
    lost = LostRows(share, arrived, 5, first=0, began=0, heard=10**9, until=0, wall=0)
    assert [rows.height for rows in lost.rows()] == [0]


def test_users_that_are_lost_ask_for_nothing_more(log: Path) -> None:
    share = Share(Plan(Requests(log), Users(4, duration=5)), 0, 2)
    lost = LostRows(share, Arrived(), 7, first=0, began=0, heard=10**9, until=0, wall=0)
    assert sum(rows.height for rows in lost.rows()) == 7
    assert (lost.counters.net_error, lost.counters.dropped) == (7, 0)


def test_what_was_reported_is_written_even_if_the_share_of_a_lost_worker_cannot_be_read_again(tmp_path: Path) -> None:
    results = MemoryResults()
    merged = MergedLog(results, 2)
    merged.add(1, ended_at(0.3), 0.31)
    gone = Share(Plan(Requests(tmp_path / "gone.csv"), Constant(10, 1)), 0, 2)
    merged.lose(0, LostRows(gone, Arrived(), 0, first=0, began=0, heard=0, until=0, wall=0))
    with pytest.raises(LogreplayError, match=r"gone\.csv: no such file"):
        merged.finish()
    assert ends(results) == [0.3]


def test_a_plan_begins_anew_for_all_workers_that_are_left() -> None:
    results = MemoryResults()
    log = MergedLog(results, 3)
    log.lose(2, None)
    log.add(0, None, inf)
    log.add(1, None, inf)
    log.finish()
    log.begin(10.0)
    log.add(0, ended_at(10.1), 10.3)
    assert ends(results) == []
    log.add(1, ended_at(10.2), 10.3)
    assert ends(results) == [10.1, 10.2]
