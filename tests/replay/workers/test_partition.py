"""Each request of a plan belongs to one worker."""

import pickle
from collections.abc import Iterator
from itertools import chain, islice
from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.core.errors import LogreplayError
from logreplay.replay.clock import monotonic
from logreplay.replay.engine.prefetch import Prefetcher
from logreplay.replay.requests.combine import ForTargets, Mixed, duet_plan
from logreplay.replay.requests.plan import Chunk, Plan, Requests
from logreplay.replay.schedules.rates import Constant, Limited
from logreplay.replay.schedules.users import Users
from logreplay.replay.workers.partition import Share, even_parts
from support.command_line import wait_until
from support.virtual_time import OneServerQueue


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


def of_one_client(folder: Path) -> Requests:
    path = folder / "one.csv"
    path.write_text(
        "date,time,latency,xfertime,thinktime,bytes,url,rc,op,client\n2026-01-01,00:00:00,0,0,0,1,/a,200,GET,10.0.0.1\n"
    )
    return Requests(path)


def test_a_worker_without_a_client_reads_on_and_can_be_told_to_end(tmp_path: Path) -> None:
    plan = Plan(of_one_client(tmp_path), Constant(1000))
    shares = [islice(Share(plan, index, 2, by_client=True), 5) for index in range(2)]
    assert sorted(sum(len(chunk.due) for chunk in share) for share in shares) == [0, 10_241]
    whole = [Share(plan, index, 2, by_client=True) for index in range(2)]
    (without,) = (share for share in whole if not len(next(iter(share)).due))
    reader = Prefetcher(without, OneServerQueue(0.0, (inf, inf)), monotonic)
    wait_until(lambda: reader.ready)
    reader.close()
    wait_until(lambda: reader.ended)


def test_a_worker_whose_users_would_have_no_client_is_refused(tmp_path: Path) -> None:
    plan = Plan(of_one_client(tmp_path), Users(2, 0.1, duration=1))
    shares = [Share(plan, index, 2, by_client=True) for index in range(2)]
    (without,) = (share for share in shares if not len(next(iter(share)).due))
    with pytest.raises(LogreplayError, match=r"^this worker has none of the clients of this log"):
        list(without)


def test_a_worker_whose_first_client_comes_late_has_it_with_others_mixed_in_too(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    lines = [f"2026-01-01,00:00:00,0,0,0,1,/a,200,GET,{name}" for name in ["10.0.0.1"] * 9000 + ["10.0.0.4"]]
    path.write_text("\n".join(["date,time,latency,xfertime,thinktime,bytes,url,rc,op,client", *lines]) + "\n")
    plan = Plan(Mixed(Requests(path), of_one_client(tmp_path), 0.5), Users(2, 0.1, duration=1))
    shares = [Share(plan, index, 2, by_client=True) for index in range(2)]
    (late,) = (share for share in shares if not len(next(iter(share)).due))
    assert next(chunk.frame["client"].unique().to_list() for chunk in late if len(chunk.due)) == ["10.0.0.4"]


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("together", [2, 3])
def test_requests_of_a_group_are_dealt_to_one_worker(log: Path, count: int, together: int) -> None:
    plan = duet_plan(ForTargets(Requests(log), together), Limited(Constant(1000), requests=5000))
    shares = [Share(plan, index, count) for index in range(count)]
    groups = [[rows_of(iter(share))[at::together] for at in range(together)] for share in shares]
    assert all(places[0] == other for places in groups for other in places[1:])
    numbers = [share.number(np.arange(len(rows_of(iter(share))))) for share in shares]
    assert sorted(np.concatenate(numbers).tolist()) == list(range(5000 * together))
    for share, mine in zip(shares, numbers, strict=True):
        assert share.own(mine).tolist() == list(range(len(mine)))
    whole = rows_of(iter(plan))
    assert rows_of(iter(shares[-1])) == [whole[number] for number in numbers[-1]]


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
