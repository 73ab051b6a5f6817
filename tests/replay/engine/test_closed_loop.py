"""Closed loops: N users of K workers who each need D seconds get N/D requests a second, and never more than K/D."""

import asyncio
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import uvloop

from logreplay.replay.clock import monotonic
from logreplay.replay.engine.closed_loop import PacedUsers
from logreplay.replay.engine.engine import Engine, Limits
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.outcome import Outcome
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.schedules.users import UniformThink, Users
from logreplay.replay.senders.contract import Done, SenderCounts, Trace
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.servers.known_capacity import LoggedAnswers, ServerCapacity, WorkQueue, serving
from logreplay.replay.workers.partition import Share
from support.virtual_time import VirtualTimeLoop, run


class Workers:
    """K workers behind one queue, in virtual time."""

    def __init__(self, capacity: ServerCapacity) -> None:
        self.counts = SenderCounts()
        self._queue = WorkQueue(capacity)
        self.waiting: dict[int, asyncio.TimerHandle] = {}

    def prepare(self, frame: pl.DataFrame) -> Sequence[str]:
        return frame["url"].to_list()

    async def open(self, done: Done, clock: Callable[[], int], trace: Trace | None = None) -> None:
        self._done, self._loop = done, asyncio.get_running_loop()

    def send(self, seq: int, request: str, start: int, latest: float = inf) -> None:
        end = self._queue.finish(start / 1e9)
        self.waiting[seq] = self._loop.call_at(end, self._end, seq, start, round(end * 1e9) - start)

    def _end(self, seq: int, start: int, latency: int) -> None:
        del self.waiting[seq]
        self._done(seq, start, 0, 0, latency, 0, 10, 200, 0)

    def cancel(self) -> None: ...

    async def close(self) -> None: ...


def closed(log: Path, *steps: Users, capacity: ServerCapacity, **options: object) -> tuple[list[Outcome], pl.DataFrame]:
    loop, results = VirtualTimeLoop(), MemoryResults()

    async def main() -> list[Outcome]:
        engine = Engine(Workers(capacity), results, clock=loop.now_ns, threaded=False, closed=True)
        async with engine:
            requests = Requests(log, **options)  # type: ignore[arg-type]
            return [await engine.run(Plan(requests, users, step)) for step, users in enumerate(steps)]

    return run(main(), loop), results.frame


@pytest.mark.parametrize("users", [1, 4, 8, 10, 50, 300])
def test_throughput_grows_with_the_users_up_to_the_workers_and_then_stays(log: Path, users: int) -> None:
    """N/D up to K, then K/D; response time D, then N x D / K."""
    workers, service = 8, 0.02
    _, rows = closed(log, Users(users, duration=20), capacity=ServerCapacity(workers, service))
    in_time = rows.filter(pl.col("scheduled") + pl.col("latency") <= 20)
    assert in_time.height / 20 == pytest.approx(min(users, workers) / service, rel=0.02)
    later = rows.filter(pl.col("scheduled") > 5)
    assert later["latency"].mean() == pytest.approx(service * max(1, users / workers), rel=0.01)
    assert rows["lag"].abs().max() == 0


def test_little_holds_with_think_time(log: Path) -> None:
    """N = X (R + Z)."""
    (outcome,), rows = closed(log, Users(30, think=0.5, duration=60), capacity=ServerCapacity(8, 0.02))
    assert outcome.counters.ok / 60 == pytest.approx(30 / 0.52, rel=0.02)
    assert rows["thinktime"].unique().to_list() == [0.5]


def test_random_think_times_fill_their_range_and_little_holds_for_their_mean(log: Path) -> None:
    (outcome,), rows = closed(log, Users(30, UniformThink(0.2, 0.8), duration=60), capacity=ServerCapacity(8, 0.02))
    assert outcome.counters.ok / 60 == pytest.approx(30 / 0.52, rel=0.02)
    drawn = rows["thinktime"]
    assert 0.2 <= drawn.min() < 0.21  # type: ignore[operator]
    assert 0.79 < drawn.max() <= 0.8  # type: ignore[operator]
    assert drawn.mean() == pytest.approx(0.5, abs=0.02)


def test_a_user_pauses_for_the_time_that_was_drawn_and_logged(log: Path) -> None:
    _, rows = closed(log, Users(1, UniformThink(1.0, 3.0), duration=60), capacity=ServerCapacity(1, 0.1))
    rows = rows.sort("seq")
    ends = rows["scheduled"] + rows["latency"]
    pauses = (rows["scheduled"].shift(-1) - ends).drop_nulls().to_list()
    assert pauses == pytest.approx(rows["thinktime"][:-1].to_list(), abs=1e-5)


def test_a_user_thinks_no_less_than_a_part_of_a_millisecond() -> None:
    """The timers of uvloop count milliseconds: users did not think, or for a millisecond less than they should."""

    class Instant(Workers):
        def send(self, seq: int, request: str, start: int, latest: float = inf) -> None:
            self._loop.call_soon(self._done, seq, start, 0, 0, 0, 0, 10, 200, 0)
            starts.append(start)

    async def main(think: float) -> None:
        sender = PacedUsers(Instant(ServerCapacity()))
        await sender.open(monotonic)
        sender.begin(monotonic(), Users(1, think=think))
        await sender.push(0, np.zeros(20, np.int64), [""] * 20)
        await sender.finish()
        await sender.close()

    for think in (0.0004, 0.0014):
        starts: list[int] = []
        uvloop.run(main(think))
        assert np.diff(starts).min() >= think * 1e9


def test_random_think_times_are_those_of_the_seed_and_differ_between_processes(log: Path) -> None:
    def drawn(think: UniformThink) -> list[float]:
        return (
            closed(log, Users(3, think, requests=50), capacity=ServerCapacity(3, 0.1))[1]
            .sort("seq")["thinktime"]
            .to_list()
        )

    first = drawn(UniformThink(0, 1, seed=7))
    assert first == drawn(UniformThink(0, 1, seed=7))
    assert first != drawn(UniformThink(0, 1, seed=8))
    plan = Plan(Requests(log), Users(4, UniformThink(0, 1, seed=7)))
    parts = [Share(plan, index, 2).schedule for index in range(2)]
    assert all(isinstance(part, Users) and isinstance(part.think, UniformThink) for part in parts)
    assert drawn(parts[0].think) != drawn(parts[1].think)  # type: ignore[attr-defined]


def test_users_come_within_one_think_time(log: Path) -> None:
    _, rows = closed(log, Users(10, think=1.0, duration=5), capacity=ServerCapacity(100, 0.001))
    assert rows["scheduled"].sort().head(10).to_list() == pytest.approx([n / 10 for n in range(10)])


@pytest.mark.parametrize("workers", [2, 3, 10])
def test_users_of_several_workers_come_one_after_the_other_too(log: Path, workers: int) -> None:
    plan = Plan(Requests(log), Users(10, think=1.0, duration=5))
    shares = [Share(plan, index, workers).schedule for index in range(workers)]
    came = [closed(log, share, capacity=ServerCapacity(100, 0.001))[1].head(share.count) for share in shares]  # type: ignore[arg-type, attr-defined]
    assert pl.concat(came)["scheduled"].sort().to_list() == pytest.approx([n / 10 for n in range(10)])


def test_think_times_may_come_from_the_log(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [f"2026-01-01,00:00:00,0,0,{think},0,/{n},200,GET" for n, think in enumerate((2, 0, 3))]
    path.write_text("\n".join(["date,time,latency,xfertime,thinktime,bytes,url,rc,op", *rows]) + "\n")
    _, rows_sent = closed(
        path, Users(1, think=None, duration=12), capacity=ServerCapacity(1, 0.5), keep=("thinktime",), loop=True
    )
    assert rows_sent["scheduled"].to_list() == pytest.approx([0, 2.5, 3, 6.5, 9, 9.5])
    assert rows_sent["thinktime"].to_list() == [2, 0, 3, 2, 0, 3]


def test_a_think_time_of_the_log_above_a_day_is_a_day_and_a_finding_counts_it(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [f"2026-01-01,00:00:00,0,0,{think},0,/{n},200,GET" for n, think in enumerate((1e15, 86_400, -5, 2))]
    path.write_text("\n".join(["date,time,latency,xfertime,thinktime,bytes,url,rc,op", *rows]) + "\n")
    users = Users(4, think=None)
    (outcome,), rows_sent = closed(path, users, capacity=ServerCapacity(1, 0.5), keep=("thinktime",), loop=False)
    assert rows_sent["thinktime"].to_list() == [86_400, 86_400, 0, 2]
    (finding,) = (finding for finding in outcome.health.findings if finding.code == "thinktime")
    assert finding.text.startswith("--think log: 1 think time above a day")


def test_users_end_with_their_plan(log: Path) -> None:
    (outcome,), rows = closed(log, Users(7), capacity=ServerCapacity(7, 0.1), loop=False)
    assert outcome.scheduled == outcome.counters.ok == 100
    assert sorted(rows["row"]) == list(range(100))
    assert rows["offered"].null_count() == 100


def test_a_duration_ends_while_all_users_think_also_if_timers_are_early() -> None:
    """Timers of uvloop are early by up to a millisecond."""

    class EarlyLoop(VirtualTimeLoop):
        def call_later(self, delay: float, *call: Any) -> asyncio.TimerHandle:  # type: ignore[override]
            return super().call_later(delay - 0.0005 if delay > 0.001 else delay, *call)

    loop = EarlyLoop()

    async def main() -> float:
        sender = PacedUsers(Workers(ServerCapacity(1, 0.1)))
        await sender.open(loop.now_ns)
        sender.begin(0, Users(1, think=1000.0, duration=2))
        await sender.push(0, np.zeros(10, np.int64), [""] * 10)
        await sender.finish()
        await sender.close()
        return loop.time()

    assert run(main(), loop) == pytest.approx(2, abs=1e-6)


def test_one_engine_runs_more_and_more_users_each_number_from_a_whole_second_on(log: Path) -> None:
    outcomes, rows = closed(log, *(Users(n, duration=1.5) for n in (1, 2, 4)), capacity=ServerCapacity(10, 0.1))
    assert [outcome.counters.ok for outcome in outcomes] == [15, 30, 60]
    begins = rows.group_by("step").agg(pl.col("scheduled").min()).sort("step")["scheduled"]
    assert begins.to_list() == pytest.approx([0, 2, 4])


def test_no_answer_no_request(log: Path) -> None:
    """One user at a target that stands still for a second sends nothing in it: what a closed loop hides."""
    (outcome,), _ = closed(log, Users(1, duration=3), capacity=ServerCapacity(1, 1.0))
    assert outcome.scheduled == 3


def test_users_need_an_engine_that_knows() -> None:
    async def main() -> None:
        async with Engine(Workers(ServerCapacity()), MemoryResults()) as engine:
            await engine.run(Plan(Requests(Path("unread.csv")), Users(1)))

    with pytest.raises(ValueError, match=r"^an engine that runs users must be made with closed=True$"):
        asyncio.run(main())


@pytest.mark.alone
def test_a_real_target_serves_so_many_users_as_it_has_workers(log: Path) -> None:
    """4 workers of 20 ms: 100/s for 2 users, 200/s for 4 and for 12."""
    capacity = ServerCapacity(4, 0.02)

    async def main() -> list[Outcome]:
        async with serving(LoggedAnswers.of_log(log), capacity) as url:
            endpoint = await resolve(parse_target(url))
            async with Engine(WireSender(endpoint, timeout=5), MemoryResults(), closed=True) as engine:
                return [await engine.run(Plan(Requests(log), Users(n, duration=1))) for n in (2, 4, 12)]

    few, enough, many = asyncio.run(main())
    assert few.counters.ok + few.counters.http_error + few.counters.net_error == few.counters.sent == few.scheduled
    assert few.counters.net_error == many.counters.net_error == 0
    assert 40 <= few.counters.sent <= 105
    assert enough.counters.sent <= 210
    assert many.counters.sent <= 220
    assert many.counters.sent > 1.2 * few.counters.sent


def test_a_closed_loop_may_be_limited_in_number(log: Path) -> None:
    (outcome,), _ = closed(log, Users(3, requests=25), capacity=ServerCapacity(2, 0.1))
    assert outcome.counters.sent == 25


@pytest.mark.parametrize("limits", [Limits(max_in_flight=2), Limits(drop_after=0.0)])
def test_limits_of_an_open_loop_are_refused(log: Path, limits: Limits) -> None:
    async def main() -> None:
        async with Engine(Workers(ServerCapacity()), MemoryResults(), limits=limits, closed=True) as engine:
            await engine.run(Plan(Requests(log), Users(3, duration=1)))

    with pytest.raises(
        ValueError, match=r"^Limits\((max_in_flight=2|drop_after=0.0)\) and 3 users exclude each other: "
    ):
        asyncio.run(main())
