"""Several processes: one plan, one clock, one result log."""

import asyncio
import os
import signal
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import uvloop

from logreplay.parsers.record import LogreplayError, scan
from logreplay.replay.endpoint import Endpoint, parse_target, resolve
from logreplay.replay.engine import Limits
from logreplay.replay.outcome import Outcome, Progress
from logreplay.replay.plan import Plan, Requests
from logreplay.replay.responder import responding
from logreplay.replay.schedule import Constant
from logreplay.replay.shards import Dealt, replay_sharded
from logreplay.replay.wire import WireSender


def sharded(
    url: str, log: Path, path: Path, schedule: Constant, workers: int = 2, timeout: float = 10
) -> tuple[Outcome, list[Progress]]:
    seen: list[Progress] = []

    async def main() -> Outcome:
        endpoint = await resolve(parse_target(url))
        make = partial(WireSender, endpoint, timeout=timeout)
        return await replay_sharded(Plan(Requests(log), schedule), make, path, workers, on_progress=seen.append)

    return uvloop.run(main()), seen


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_a_plan_is_dealt_out_request_by_request(log: Path, count: int) -> None:
    schedule = Constant(1000, count=5000)
    whole = list(Plan(Requests(log), schedule))
    rows = np.concatenate([chunk.frame["row"].to_numpy() for chunk in whole])
    due = np.concatenate([chunk.due for chunk in whole])
    for index in range(count):
        share = list(Dealt(Requests(log), schedule, 0, index, count))
        assert (np.concatenate([chunk.frame["row"].to_numpy() for chunk in share]) == rows[index::count]).all()
        assert (np.concatenate([chunk.due for chunk in share]) == due[index::count]).all()


def test_the_merged_log_is_that_of_one_process_but_for_times(log: Path, tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    with responding(0.002) as url:
        outcome, seen = sharded(url, log, path, Constant(400, 2.5))
    rows = scan(path).collect()
    assert outcome.scheduled == outcome.ok == rows.height == 1000
    by_seq = rows.sort("seq")
    assert by_seq["seq"].to_list() == list(range(1000))
    assert by_seq["row"].to_list() == [seq % 100 for seq in range(1000)]
    assert by_seq["scheduled"].to_numpy() == pytest.approx((np.arange(1000) + 0.5) / 400, abs=2e-6)
    assert (rows["lag"] >= 0).all()
    completed = rows.select(pl.sum_horizontal("scheduled", "lag", "connect", "latency", "xfertime")).to_series()
    assert (completed.diff().drop_nulls() > -3e-6).all()
    assert seen
    assert seen[-1].sent <= 1000
    assert os.listdir(tmp_path).count("results.csv") == len([n for n in os.listdir(tmp_path) if "results" in n])


@pytest.mark.slow
def test_what_may_be_in_flight_is_shared_out(log: Path, tmp_path: Path) -> None:
    async def main(url: str) -> Outcome:
        make = partial(WireSender, Endpoint(parse_target(url), ("127.0.0.1",)), timeout=10)
        plan = Plan(Requests(log), Constant(100, 1))
        return await replay_sharded(plan, make, tmp_path / "r.csv", 2, limits=Limits(max_in_flight=2))

    with responding(0.05) as url:
        outcome = uvloop.run(main(url))
    rows = scan(tmp_path / "r.csv").collect()
    start = (rows["scheduled"] + rows["lag"]).to_numpy()
    end = start + (rows["connect"] + rows["latency"] + rows["xfertime"]).to_numpy()
    most = max(int(((start <= instant) & (end > instant)).sum()) for instant in start)
    assert most <= 2
    assert outcome.evidence.limited > 0


def test_a_run_that_is_stopped_keeps_the_rows_of_all(log: Path, tmp_path: Path) -> None:
    async def main(url: str) -> Outcome:
        make = partial(WireSender, Endpoint(parse_target(url), ("127.0.0.1",)), timeout=60)
        stop = asyncio.Event()

        def halt(progress: Progress) -> None:
            stop.set()

        plan = Plan(Requests(log), Constant(50, 60))
        return await replay_sharded(plan, make, tmp_path / "r.csv", 2, on_progress=halt, stop=stop)

    with responding(30) as url:
        outcome = uvloop.run(main(url))
    assert outcome.stopped == "interrupted"
    assert outcome.errors == {"cancelled": outcome.sent}
    assert scan(tmp_path / "r.csv").collect().height == outcome.sent > 40


def test_a_process_that_dies_is_told_and_its_parts_are_kept(log: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"

    async def main(url: str) -> None:
        make = partial(WireSender, Endpoint(parse_target(url), ("127.0.0.1",)), timeout=60)

        def kill(progress: Progress) -> None:
            children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
            victim = next(pid for pid in children if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text())
            os.kill(int(victim), signal.SIGKILL)

        await replay_sharded(Plan(Requests(log), Constant(50, 60)), make, path, 2, on_progress=kill)

    with responding() as url, pytest.raises(LogreplayError, match=r"a process of this run died; what was recorded"):
        uvloop.run(main(url))
    parts = sorted(tmp_path.glob("r.csv.part*.csv"))
    assert len(parts) == 2
    assert all(scan(part).collect().height > 10 for part in parts)


def test_more_processes_than_requests(log: Path, tmp_path: Path) -> None:
    with responding() as url:
        outcome, _ = sharded(url, log, tmp_path / "r.csv", Constant(10, count=1), workers=2)
    assert outcome.ok == 1
    assert scan(tmp_path / "r.csv").collect()["seq"].to_list() == [0]
    assert os.listdir(tmp_path).count("r.csv") == 1
