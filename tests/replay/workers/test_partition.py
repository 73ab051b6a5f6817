"""Which requests belong to which worker, and how the parts become one result log again."""

import pickle
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.parsers.record import RESULT_COLUMNS, SCHEMA, LogreplayError
from logreplay.replay.requests.plan import Chunk, Plan, Requests
from logreplay.replay.results.histogram import Histogram
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.schedules.rates import Constant, Limited
from logreplay.replay.workers.clock_offset import SAME, ClockOffset, measure, settled
from logreplay.replay.workers.merge import PATIENCE_S, Arrived, LostRows, MergedLog
from logreplay.replay.workers.partition import Share, even_parts

EMPTY = pl.DataFrame(schema={name: SCHEMA[name] for name in RESULT_COLUMNS})


def rows_of(chunks: Iterator[Chunk]) -> list[tuple[int, int]]:
    """Row in the log and instant of each request."""
    return [pair for chunk in chunks for pair in zip(chunk.frame["row"].to_list(), chunk.due.tolist(), strict=True)]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("requests", [0, 1, 5, 2048, 10_000])
def test_every_request_is_dealt_to_one_worker_in_turn(log: Path, count: int, requests: int) -> None:
    plan = Plan(Requests(log), Limited(Constant(1000), requests=requests))
    whole = rows_of(iter(plan))
    assert len(whole) == requests
    for index in range(count):
        assert rows_of(iter(Share(plan, index, count))) == whole[index::count]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_all_requests_of_a_client_are_dealt_to_one_worker_in_their_order(tmp_path: Path, count: int) -> None:
    path = tmp_path / "clients.csv"
    names = [f"10.0.0.{number * number % 37}" if number % 11 else "" for number in range(5000)]
    lines = [f"2026-01-01,00:00:00,0,0,0,5,/{number},200,GET,{name}" for number, name in enumerate(names)]
    path.write_text("\n".join(["date,time,latency,xfertime,thinktime,bytes,url,rc,op,client", *lines]) + "\n")
    plan = Plan(Requests(path), Limited(Constant(1000), requests=12_000))
    whole = rows_of(iter(plan))
    shares = [rows_of(iter(Share(plan, index, count, by_client=True))) for index in range(count)]
    assert sorted(chain.from_iterable(shares)) == sorted(whole)
    clients = [{names[row] for row, _ in share} for share in shares]
    assert sum(map(len, clients)) == len(set(names))
    assert all([due for _, due in share] == sorted(due for _, due in share) for share in shares)


def test_a_share_comes_in_chunks_of_a_good_size_however_many_workers_there_are(log: Path) -> None:
    share = Share(Plan(Requests(log), Limited(Constant(1000), requests=100_000)), 3, 50)
    assert next(len(chunk.due) for chunk in share) > 1000


def test_a_plan_of_a_billion_requests_is_a_description_of_it(log: Path) -> None:
    share = Share(Plan(Requests(log), Limited(Constant(1_000_000), requests=10**9)), 3, 8)
    assert len(pickle.dumps(share)) < 4096
    chunk = next(iter(share))
    assert chunk.due[:2].tolist() == [3_500, 11_500]  # ns: in the middle of its microsecond, each


@given(total=st.integers(0, 10**6), count=st.integers(1, 100))
def test_a_number_is_shared_out_whole_and_evenly(total: int, count: int) -> None:
    parts = even_parts(total, count)
    assert sum(parts) == total
    assert len(parts) == count
    assert max(parts) - min(parts) <= 1


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
    estate = LostRows(share, arrived, 7, first=1000, began=10**9, lost=1_200_000_000, wall=0)
    rows = pl.concat(estate.rows())
    assert rows["seq"].to_list() == [1001 + 2 * number for number in range(100) if number not in (0, 1, 2, 4)]
    assert rows["error"].to_list() == ["cancelled"] * 3 + ["dropped"] * 93
    assert (rows["step"] == 3).all()
    assert rows["scheduled"].to_list()[0] == pytest.approx(1.075)
    assert rows["latency"].to_list()[0] == pytest.approx(0.125)
    assert (estate.counters.net_error, estate.counters.dropped) == (3, 93)


def test_of_a_plan_that_was_stopped_only_what_was_due_by_then_counts(log: Path) -> None:
    share = Share(Plan(Requests(log), Constant(100, 2)), 0, 2)
    estate = LostRows(share, Arrived(), 30, first=0, began=0, lost=0, wall=0)
    assert sum(rows.height for rows in estate.rows(0.5)) == 30
    estate = LostRows(share, Arrived(), 3, first=0, began=0, lost=0, wall=0)
    assert sum(rows.height for rows in estate.rows(0.5)) == 25


def ended_at(*ends: float) -> pl.DataFrame:
    """Rows that end at these seconds."""
    count = len(ends)
    return EMPTY.clear(count).with_columns(
        pl.Series("scheduled", ends),
        pl.Series("seq", range(count)),
        *(pl.lit(0.0).alias(name) for name in ("lag", "connect", "latency", "xfertime")),
    )


def ends(results: MemoryResults) -> list[float]:
    return results.frame["scheduled"].to_list()


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


@given(offset=st.integers(-(10**12), 10**12), ways=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6))))
def test_an_offset_is_never_further_off_than_it_says(offset: int, ways: list[tuple[int, int]]) -> None:
    now, trips = 0, iter([*ways, (1000, 5000)])

    def here() -> int:
        return now

    def there() -> int:
        nonlocal now
        there_way, back = next(trips)
        now += there_way
        read = now - offset
        now += back
        return read

    found = measure(there, here, rounds=len(ways) + 1)
    assert abs(found.offset - offset) <= found.uncertainty
    assert found.here(found.common(12345)) == 12345


def test_one_clock_needs_no_measuring() -> None:
    apart = ClockOffset(500, 600)
    assert settled(apart, same_boot=True) == SAME
    assert settled(apart, same_boot=False) == apart
    assert settled(replace(apart, offset=5000), same_boot=True).offset == 5000


@given(st.lists(st.lists(st.integers(0, 10**10), min_size=1), min_size=1, max_size=4))
def test_quantiles_of_merged_histograms_are_those_of_all_durations(parts: list[list[int]]) -> None:
    whole, merged = Histogram(), Histogram()
    whole.add(np.array([value for part in parts for value in part]))
    for part in parts:
        histogram = Histogram()
        histogram.add(np.array(part))
        merged = merged + histogram
    assert merged.quantile(0.99) == whole.quantile(0.99)
    assert (merged - whole).quantile(0.5) is None
