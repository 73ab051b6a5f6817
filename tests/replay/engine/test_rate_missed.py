"""A rate that was not sent is missed, whatever ends the run and whatever held its requests back."""

import asyncio
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from math import inf
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from logreplay.core.errors import LogreplayError
from logreplay.replay.engine import feed
from logreplay.replay.engine.engine import Engine, Limits
from logreplay.replay.requests.hook import Hooked, Planned
from logreplay.replay.requests.plan import CHUNK_ROWS, Chunk, Plan, Requests
from logreplay.replay.results.outcome import Outcome
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.results.verdict import RunVerdict
from logreplay.replay.schedules.arrivals import FollowSchedule, LogTimes, Poisson, Repeated
from logreplay.replay.schedules.orders import parse_order
from logreplay.replay.schedules.rates import Constant, Limited, Schedule
from logreplay.replay.schedules.steering import Steering
from logreplay.replay.schedules.users import Users
from logreplay.replay.senders.contract import Sender
from support.virtual_time import OneServerQueue, OneStream, VirtualTimeLoop, run

AT_ONCE = Limits(max_in_flight=1)


NOT_READY_S = feed._NOT_READY_S


@pytest.fixture(autouse=True)
def _the_log_is_read_in_no_virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread reads it: on a busy machine, virtual time would pass meanwhile."""
    monkeypatch.setattr(feed, "_NOT_READY_S", 0)


@pytest.fixture
def _in_real_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop rests while the thread reads, instead of holding it up."""
    monkeypatch.setattr(feed, "_NOT_READY_S", NOT_READY_S)


class OneSlowClient(OneServerQueue):
    """Answers at once, but the last request waits for two seconds, for the response before it of its client."""

    def send(self, seq: int, request: str, start: int, latest: float = inf) -> None:
        queued = 2_000_000_000 if seq == 399 else 0
        self._loop.call_at((start + queued) / 1e9, self._done, seq, start, queued, 0, 0, 0, 10, 200, 0)


class Delaying(OneServerQueue):
    """Sends each request after the same wait, as for the response before it of its client."""

    def __init__(self, wait: float, service: float = 0.01) -> None:
        super().__init__(service, (inf, inf))
        self._wait = round(wait * 1e9)

    def send(self, seq: int, request: str, start: int, latest: float = inf) -> None:
        latency = round(self._service * 1e9)
        ended = (start + self._wait + latency) / 1e9
        self._loop.call_at(ended, self._done, seq, start, self._wait, 0, latency, 0, 10, 200, 0)


def outcome_of(
    log: Path,
    schedule: Schedule | Users,
    sender: Sender,
    limits: Limits | None = None,
    loop: bool = True,
    closed: bool = False,
) -> Outcome:
    virtual = VirtualTimeLoop()

    async def main() -> Outcome:
        async with Engine(
            sender, MemoryResults(), clock=virtual.now_ns, threaded=False, limits=limits, closed=closed
        ) as engine:
            return await engine.run(Plan(Requests(log, loop=loop), schedule))

    return run(main(), virtual)


@pytest.mark.parametrize(
    ("schedule", "loops"),
    [
        (Constant(400, 0.5), True),
        (Limited(Constant(400), requests=200), True),
        (Limited(Constant(400, 10), requests=200), True),
        (Limited(Poisson(Constant(400)), requests=200), True),
        (Limited(Repeated(Constant(400, 0.1)), requests=200), True),
        (Constant(400), False),
        (LogTimes(1000), False),
        (Limited(LogTimes(1000), seconds=60), False),
    ],
)
@pytest.mark.parametrize("limits", [AT_ONCE, None])
def test_an_eighth_of_the_rate_is_missed_whatever_ends_the_run(
    log: Path, schedule: Schedule, loops: bool, limits: Limits | None
) -> None:
    sender = OneServerQueue(0.02, (inf, inf)) if limits else OneStream(0.02, (inf, inf))
    outcome = outcome_of(log, schedule, sender, limits, loops)
    assert outcome.health.verdict is RunVerdict.RATE_MISSED
    assert outcome.evidence.achieved < 0.2


@pytest.mark.parametrize("kind", [OneServerQueue, OneStream])
@pytest.mark.parametrize("requests", [1, 5, 200])
def test_a_few_requests_that_were_sent_are_valid(log: Path, requests: int, kind: type[OneServerQueue]) -> None:
    outcome = outcome_of(log, Limited(Constant(400), requests=requests), kind(0.001, (inf, inf)), AT_ONCE)
    assert (outcome.health.verdict, outcome.evidence.achieved) == (RunVerdict.VALID, 1)


def test_one_client_that_waits_for_long_does_not_decide(log: Path) -> None:
    outcome = outcome_of(log, Constant(400, 1), OneSlowClient(0.0, (inf, inf)))
    assert (outcome.health.verdict, outcome.evidence.achieved) == (RunVerdict.VALID, 399 / 400)


@pytest.mark.parametrize("schedule", [Limited(Constant(100), requests=20), Constant(100, 2)])
def test_waits_that_do_not_grow_leave_the_rate_as_it_is(log: Path, schedule: Schedule) -> None:
    outcome = outcome_of(log, schedule, Delaying(0.3))
    assert outcome.health.verdict is RunVerdict.VALID
    assert outcome.evidence.achieved == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("service", [0.02, 0.5])
def test_users_set_no_rate_that_could_be_missed(log: Path, service: float) -> None:
    outcome = outcome_of(log, Users(10, duration=1), Delaying(0, service), closed=True)
    assert (outcome.health.verdict, outcome.evidence.achieved) == (RunVerdict.VALID, 1)


def test_the_seconds_of_a_load_that_was_cut_end_with_its_last_request(log: Path) -> None:
    virtual = VirtualTimeLoop()

    async def main() -> Outcome:
        sender = Delaying(0, service=5)
        async with Engine(sender, MemoryResults(), clock=virtual.now_ns, threaded=False) as engine:
            asyncio.get_running_loop().call_at(1, engine.cut)
            return await engine.run(Plan(Requests(log, loop=True), Constant(100, 4)))

    assert run(main(), virtual).seconds == pytest.approx(1, abs=0.1)


def stopped(
    log: Path,
    sender: Sender,
    limits: Limits | None = None,
    *,
    rate: float = 100,
    steering: Steering | None = None,
) -> tuple[Outcome, pl.DataFrame]:
    """A run of 20 s that is stopped after 3.2 s; where it is steered, by an order."""
    virtual, results = VirtualTimeLoop(), MemoryResults()

    async def main() -> Outcome:
        async with Engine(sender, results, clock=virtual.now_ns, threaded=False, limits=limits) as engine:
            end = partial(engine.steer, parse_order("end"), "test") if steering else engine.stop
            asyncio.get_running_loop().call_at(3.2, end)
            return await engine.run(Plan(Requests(log, loop=True), Constant(rate, 20)), steering=steering)

    return run(main(), virtual), results.frame.sort("seq")


@pytest.mark.parametrize("steered", [False, True])
def test_requests_that_a_limit_held_back_when_the_run_was_stopped_have_rows_and_the_rate_was_missed(
    log: Path, steered: bool
) -> None:
    steering = Steering("rate", 100, 20) if steered else None
    outcome, rows = stopped(log, OneServerQueue(0.1, (inf, inf)), AT_ONCE, steering=steering)
    assert outcome.health.verdict is RunVerdict.RATE_MISSED
    assert outcome.scheduled == pytest.approx(320, abs=1)
    assert outcome.evidence.achieved == pytest.approx(0.1, abs=0.02)
    assert rows["seq"].to_list() == list(range(outcome.scheduled))
    unsent = rows.filter(pl.col("error") == "cancelled")
    assert len(unsent) == outcome.counters.not_sent == pytest.approx(288, abs=2)
    assert outcome.counters.sent == outcome.scheduled - len(unsent)
    assert (unsent["scheduled"] + unsent["queued"]).to_numpy() == pytest.approx(3.2, abs=0.05)
    assert unsent["lag"].max() == pytest.approx(0, abs=0.01)


def test_requests_that_were_not_read_when_the_run_was_stopped_are_read_up_to_the_stop(log: Path) -> None:
    outcome, rows = stopped(log, OneServerQueue(0.5, (inf, inf)), AT_ONCE, rate=20_000)
    assert outcome.scheduled == len(rows) == pytest.approx(64_000, abs=10)
    assert rows["scheduled"].is_sorted()
    assert rows["row"].to_list() == [seq % 100 for seq in range(len(rows))]


def test_where_the_held_back_requests_take_too_long_to_write_a_finding_says_so(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "_GIVING_UP_NS", -1)
    outcome, rows = stopped(log, OneServerQueue(0.5, (inf, inf)), AT_ONCE, rate=20_000)
    assert outcome.scheduled == len(rows) < 64_000
    assert "rows_missing" in codes(outcome)
    assert outcome.health.verdict is RunVerdict.RATE_MISSED


def codes(outcome: Outcome) -> list[str]:
    return [finding.code for finding in outcome.health.findings]


async def stopped_soon(plan: Plan, ready: Callable[[], bool] = lambda: True) -> Outcome:
    """A run in which a limit holds requests back, stopped 0.2 s after the first was sent, or when it is ready."""

    class Stopping(OneServerQueue):
        def send(self, seq: int, request: str, start: int, latest: float = inf) -> None:
            super().send(seq, request, start, latest)
            if not seq:
                self._loop.call_later(0.2, self.stop)

        def stop(self) -> None:
            if ready():
                engine.stop()
            else:
                self._loop.call_later(0.05, self.stop)

    async with Engine(Stopping(0.3, (inf, inf)), MemoryResults(), limits=AT_ONCE) as engine:
        return await engine.run(plan)


@pytest.mark.usefixtures("_in_real_time")
def test_a_followed_log_that_does_not_grow_at_the_stop_lacks_no_rows(log: Path) -> None:
    class Idle(Plan):
        def __iter__(self) -> Iterator[Chunk]:
            yield from islice(super().__iter__(), 3)
            while True:
                time.sleep(0.01)
                yield Chunk(pl.DataFrame(), np.zeros(0, np.int64))

    outcome = asyncio.run(stopped_soon(Idle(Requests(log, loop=True), FollowSchedule(0, lambda: 1 << 61))))
    assert (outcome.scheduled, "rows_missing" in codes(outcome)) == (100 + 2 * CHUNK_ROWS, False)


@pytest.mark.usefixtures("_in_real_time")
def test_an_error_of_the_log_behind_the_requests_that_were_held_back_is_raised(log: Path) -> None:
    class Damaged(Plan):
        def __iter__(self) -> Iterator[Chunk]:
            yield from islice(super().__iter__(), 30)
            raise LogreplayError("damaged")

    with pytest.raises(LogreplayError, match="damaged"):
        asyncio.run(stopped_soon(Damaged(Requests(log, loop=True), Constant(1_000_000))))


@pytest.mark.usefixtures("_in_real_time")
def test_a_hook_is_not_called_for_requests_that_were_not_read_when_the_run_was_stopped(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does the run wait for them."""
    for name in ("_BLOCKED_NS", "_GIVING_UP_NS"):
        monkeypatch.setattr(feed, name, 30 * 10**9)
    calls: list[int] = []
    before = 0

    def count(request: Planned) -> Planned:
        calls.append(request.number)
        return request

    def read_ahead() -> bool:
        nonlocal before
        before = len(calls)
        return before > CHUNK_ROWS + 512  # more than the sender takes: some wait to be handed to it

    plan = Plan(Hooked(Requests(log, loop=True), count), Constant(1_000_000))
    began = time.monotonic()
    outcome = asyncio.run(stopped_soon(plan, read_ahead))
    assert time.monotonic() - began < 20
    assert "rows_missing" in codes(outcome)
    assert len(calls) <= before + 2 * CHUNK_ROWS


@pytest.mark.parametrize(("sender", "limits"), [(OneServerQueue(0.001, (inf, inf)), AT_ONCE), (Delaying(0.5), None)])
def test_a_stopped_run_whose_waits_did_not_grow_is_valid(log: Path, sender: Sender, limits: Limits | None) -> None:
    outcome, _ = stopped(log, sender, limits)
    assert outcome.health.verdict is RunVerdict.VALID
    assert outcome.evidence.achieved == pytest.approx(1, abs=1e-3)
    assert outcome.scheduled == pytest.approx(320, abs=1)


def test_users_that_are_stopped_have_nothing_that_was_due(log: Path) -> None:
    virtual = VirtualTimeLoop()

    async def main() -> Outcome:
        sender = OneServerQueue(0.1, (inf, inf))
        async with Engine(sender, MemoryResults(), clock=virtual.now_ns, threaded=False, closed=True) as engine:
            asyncio.get_running_loop().call_at(1, engine.stop)
            return await engine.run(Plan(Requests(log, loop=True), Users(2, duration=20)))

    outcome = run(main(), virtual)
    assert (outcome.health.verdict, outcome.scheduled) == (RunVerdict.VALID, outcome.counters.ok)


@pytest.mark.usefixtures("_in_real_time")
def test_a_log_that_is_read_on_after_its_last_request_was_sent_is_no_delay(log: Path) -> None:
    """So it is with a log that is followed, or where a filter takes none of the later requests."""

    class SlowEnd(Plan):
        def __iter__(self) -> Iterator[Chunk]:
            yield from super().__iter__()
            time.sleep(0.3)

    async def main() -> Outcome:
        async with Engine(OneServerQueue(0.0, (inf, inf)), MemoryResults()) as engine:
            return await engine.run(SlowEnd(Requests(log), Limited(Constant(2000), requests=20)))

    assert asyncio.run(main()).evidence.seconds < 0.2
