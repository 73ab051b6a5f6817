"""Workers that die, hang, stand still or do not understand: who is well goes on, and nobody waits for ever."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from logreplay.core.errors import LogreplayError
from logreplay.core.rows import scan
from logreplay.replay.engine import prefetch
from logreplay.replay.monitor import sidecar
from logreplay.replay.monitor.access import Address
from logreplay.replay.requests.hook import Hooked, load
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.outcome import Outcome, Progress
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.results.verdict import RunVerdict
from logreplay.replay.schedules.rates import Constant, Schedule
from logreplay.replay.schedules.users import Users
from logreplay.replay.senders.endpoint import Endpoint, parse_target
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.workers import coordinator
from logreplay.replay.workers.coordinator import Coordinator
from logreplay.replay.workers.processes import LocalProcess, processes
from support.background_server import beside
from support.command_line import wait_until
from support.recording_server import RecordingServer, recording
from support.slow_streams import Blocked, BreaksOnce, SlowHere
from support.worker_pids import pids

ENDS_WITHIN = 60.0
SILENT_S = 4.0
"""Longer than a healthy worker waits for a core of a machine under load: with 1.5 s, some counted as lost."""
pytestmark = pytest.mark.slow

NAME = "worker {} of {} (a process of this machine)"


def sender_to(url: str) -> Callable[[], WireSender]:
    return partial(WireSender, Endpoint(parse_target(url), ("127.0.0.1",)), timeout=5.0)


def on_workers(
    count: int,
    plan: Plan,
    sender: Callable[[], WireSender],
    *,
    results: MemoryResults | None = None,
    in_a_while: Callable[[Coordinator], object] = lambda coordinator: None,
    once_sending: Callable[[Coordinator], object] = lambda coordinator: None,
    closed: bool = False,
) -> tuple[Outcome, pl.DataFrame]:
    """Run a plan; ``once_sending`` is called when the first requests have ended, ``in_a_while`` after a second."""
    results, sending = results or MemoryResults(), list[bool]()
    workers = Coordinator(processes(count), sender, results, closed=closed)

    async def main() -> Outcome:
        async with asyncio.timeout(ENDS_WITHIN), workers as coordinator:
            asyncio.get_running_loop().call_later(1.0, in_a_while, coordinator)

            def see(progress: Progress) -> None:
                if progress.counters.sent and not sending:
                    sending.append(True)
                    once_sending(coordinator)

            return await coordinator.run(plan, see)

    return asyncio.run(main()), results.frame


def kill(*names: str) -> Callable[[Coordinator], None]:
    """Kill workers."""

    def now(running: Coordinator) -> None:
        for name in names:
            pid = pids(running)[name]
            assert pid
            os.kill(pid, signal.SIGKILL)

    return now


# what cannot travel


def test_a_plan_that_cannot_be_pickled_is_an_error_at_once(log: Path, target: str) -> None:
    plan = Plan(Hooked(Requests(log), lambda request: request), Constant(100, 1))
    with pytest.raises(LogreplayError, match=r"the plan cannot be sent to the workers: .*lambda"):
        on_workers(2, plan, sender_to(target))


def test_a_plan_whose_module_a_worker_cannot_import_is_an_error_that_names_it(
    log: Path, tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hooks_found_only_here.py").write_text("def sign(request):\n    return request\n")
    monkeypatch.chdir(tmp_path)
    plan = Plan(Hooked(Requests(log), load("hooks_found_only_here:sign")), Constant(100, 1))
    with pytest.raises(LogreplayError, match=r"worker \d of 2 .*No module named 'hooks_found_only_here'"):
        on_workers(2, plan, sender_to(target))


class Stuck:
    """Makes senders nowhere: to read it in another process takes for ever."""

    def __call__(self) -> WireSender:
        raise NotImplementedError

    def __reduce__(self) -> tuple[Callable[[float], None], tuple[float]]:
        return time.sleep, (3600.0,)


def test_a_worker_that_hangs_before_its_first_word_is_ended(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "STARTING_S", 3.0)
    monkeypatch.setattr(coordinator, "_LEAVING_S", 1.0)
    with pytest.raises(LogreplayError, match="could not begin: it did not start within 3 s"):
        on_workers(1, Plan(Requests(log), Constant(100, 1)), Stuck())


# the healthy go on


def test_a_lost_worker_whose_share_takes_long_to_read_loses_no_other(
    log: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator, "SILENT_S", SILENT_S)
    name = NAME.format(2, 3)
    plan = Plan(SlowHere(Requests(log), os.getpid(), 1.5 * SILENT_S), Constant(300, 8))
    outcome, rows = on_workers(3, plan, sender_to(target), once_sending=kill(name))
    assert outcome.lost == (name,)
    assert sorted(rows["seq"]) == list(range(2400))
    assert rows.filter(pl.col("seq") % 3 != 1)["error"].drop_nulls().to_list() == []
    assert outcome.scheduled == outcome.counters.sent + outcome.counters.dropped == 2400


class SlowDisk(MemoryResults):
    """The first rows take longer to be written than a worker may be silent."""

    def write(self, rows: pl.DataFrame) -> None:
        if self.frame.is_empty():
            time.sleep(1.5 * SILENT_S)
        super().write(rows)


def test_a_slow_disk_is_not_the_silence_of_a_worker(log: Path, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "SILENT_S", SILENT_S)
    outcome, rows = on_workers(2, Plan(Requests(log), Constant(200, 8)), sender_to(target), results=SlowDisk())
    assert outcome.lost == ()
    assert rows.height == outcome.counters.sent == 1600


def test_a_stop_of_the_whole_group_is_not_the_death_of_a_worker(log: Path, tmp_path: Path, target: str) -> None:
    """Ctrl-Z, and `fg` when more time has gone by than a worker may be silent."""
    path = tmp_path / "r.csv"
    code = (
        f"from logreplay.replay.workers import coordinator; coordinator.SILENT_S = {SILENT_S}; "
        "from logreplay.cli.main import main; main()"
    )
    words = ["run", log, target, "--tps", 200, "--for", "8s", "--workers", 2, "-o", path, "-q"]
    with subprocess.Popen([sys.executable, "-c", code, *map(str, words)], start_new_session=True) as process:
        while not path.exists() or path.read_bytes().count(b"\n") < 50:
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGSTOP)
        time.sleep(1.5 * SILENT_S)  # the length of the pause
        os.killpg(process.pid, signal.SIGCONT)
        assert process.wait(ENDS_WITHIN) in (0, 3)
    summary = json.loads(path.with_name("r.summary.json").read_text())
    assert "shard_lost" not in {finding["code"] for finding in summary["findings"]}
    rows = scan(path).collect()
    assert sorted(rows["seq"]) == list(range(1600))
    assert rows["error"].drop_nulls().to_list() == []


# nobody is left


@pytest.mark.parametrize("schedule", [Constant(200), Constant(200, 86_400), Users(4, 0.01)])
def test_the_loss_of_all_workers_is_the_end_of_the_plan(log: Path, target: str, schedule: Schedule) -> None:
    """Rows of requests that nobody would send were written until the disk was full."""
    names = [NAME.format(number, 2) for number in (1, 2)]
    closed = isinstance(schedule, Users)
    plan = Plan(Requests(log, loop=True), schedule)
    outcome, rows = on_workers(2, plan, sender_to(target), once_sending=kill(*names), closed=closed)
    assert sorted(outcome.lost) == names
    assert 0 < rows.height == outcome.scheduled < 2000
    assert rows.filter(pl.col("scheduled") > 30).is_empty()
    assert outcome.health.verdict is RunVerdict.GENERATOR_BOUND
    assert not outcome.stopped


def test_half_of_the_workers_carry_their_share_to_the_end(log: Path, target: str) -> None:
    lost = [NAME.format(number, 4) for number in (1, 3)]
    outcome, rows = on_workers(4, Plan(Requests(log), Constant(400, 3)), sender_to(target), once_sending=kill(*lost))
    assert sorted(outcome.lost) == lost
    assert sorted(rows["seq"]) == list(range(1200))
    assert rows.filter(pl.col("seq") % 2 == 1)["error"].drop_nulls().to_list() == []


def test_a_plan_after_the_loss_of_all_workers_has_no_request(log: Path, target: str) -> None:
    plan = Plan(Requests(log, loop=True), Constant(100))

    async def main() -> list[Outcome]:
        results = MemoryResults()
        async with asyncio.timeout(ENDS_WITHIN), Coordinator(processes(1), sender_to(target), results) as running:
            asyncio.get_running_loop().call_later(1.0, kill(NAME.format(1, 1)), running)
            return [await running.run(plan), await running.run(plan)]

    first, second = asyncio.run(main())
    assert (second.scheduled, second.lost) == (0, first.lost)


def test_a_watch_over_the_workers_that_fails_ends_the_run_with_its_error(
    log: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody would notice a worker that hangs."""

    def fails(_: LocalProcess) -> str:
        raise ZeroDivisionError("of the library")

    results, plan = MemoryResults(), Plan(Requests(log), Constant(100, 60))
    with pytest.raises(ZeroDivisionError, match="of the library"):
        on_workers(
            2,
            plan,
            sender_to(target),
            results=results,
            once_sending=lambda _: monkeypatch.setattr(LocalProcess, "gone", fails),
        )
    assert 0 < results.frame.height < 6000


# what was sent is in the result, however the run ends


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A normalized CSV of 20,000 different requests."""
    path = tmp_path_factory.mktemp("long") / "access.csv"
    rows = [f"2026-01-01,00:00:00,0,0,0,5,/{number},200,GET" for number in range(20_000)]
    path.write_text("\n".join(["date,time,latency,xfertime,thinktime,bytes,url,rc,op", *rows]) + "\n")
    return path


@pytest.fixture
def recorder() -> Iterator[RecordingServer]:
    """A target that keeps what it was sent, and answers after 50 ms."""
    seen: list[RecordingServer] = []

    @asynccontextmanager
    async def serving() -> AsyncIterator[None]:
        async with recording(0.05) as server:
            seen.append(server)
            yield

    with beside(serving):
        yield seen[0]


def assert_nothing_is_missing(rows: pl.DataFrame, recorder: RecordingServer) -> None:
    """Each request that came to the target is in the result, once."""
    assert rows["seq"].n_unique() == rows.height
    received = Counter(each.target for each in recorder.received)
    assert received
    assert received - Counter(rows.filter(pl.col("error").fill_null("") != "dropped")["url"]) == Counter()


def test_an_error_in_one_worker_ends_the_run_and_loses_no_row_of_any(
    long_log: Path, tmp_path: Path, recorder: RecordingServer
) -> None:
    results = MemoryResults()
    plan = Plan(BreaksOnce(Requests(long_log), tmp_path / "claim"), Constant(2000, 9.0))
    began = time.monotonic()
    with pytest.raises(LogreplayError, match=r"^worker \d of 2 .*: the disk of this worker broke"):
        on_workers(2, plan, sender_to(recorder.url), results=results)
    assert_nothing_is_missing(results.frame, recorder)
    assert results.frame.height < 18_000, f"the other worker went on to the end, {time.monotonic() - began:.0f} s"


def test_what_a_killed_worker_may_have_sent_does_not_count_as_not_sent(
    long_log: Path, recorder: RecordingServer
) -> None:
    results = MemoryResults()
    plan = Plan(Requests(long_log), Constant(2000, 3.0))
    outcome, rows = on_workers(2, plan, sender_to(recorder.url), results=results, once_sending=kill(NAME.format(2, 2)))
    assert_nothing_is_missing(results.frame, recorder)
    assert 0 < outcome.counters.dropped < 3000
    assert rows.height == 6000


def test_a_worker_whose_rows_cannot_be_recorded_sends_no_more(
    long_log: Path, recorder: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It went on to the end of the plan, and nobody wrote what it sent."""
    record = Coordinator._take_in

    def fails(self: Coordinator, worker: Any, report: Any) -> None:
        if worker.index == 1 and report.rows is not None:
            raise ValueError("a row that is none")
        record(self, worker, report)

    monkeypatch.setattr(Coordinator, "_take_in", fails)
    outcome, rows = on_workers(2, Plan(Requests(long_log), Constant(500, 4.0)), sender_to(recorder.url))
    assert outcome.lost == (NAME.format(2, 2),)
    assert "its rows could not be recorded" in outcome.health.findings[0].text
    assert outcome.counters.dropped > 500
    assert_nothing_is_missing(rows, recorder)


def test_a_run_that_its_caller_cancels_loses_no_row(long_log: Path, recorder: RecordingServer) -> None:
    results = MemoryResults()

    async def main() -> None:
        async with Coordinator(processes(2), sender_to(recorder.url), results) as coordinator:
            run = asyncio.create_task(coordinator.run(Plan(Requests(long_log), Constant(1000, 15.0))))
            await asyncio.to_thread(wait_until, lambda: len(recorder.received) > 1000)
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run

    asyncio.run(main())
    assert_nothing_is_missing(results.frame, recorder)


# who waits can be stopped


def test_a_stop_does_not_wait_for_a_plan_that_cannot_be_read(log: Path, target: str) -> None:
    plan = Plan(Blocked(Requests(log)), Constant(100, 60))
    outcome, rows = on_workers(2, plan, sender_to(target), in_a_while=Coordinator.stop)
    assert (outcome.stopped, outcome.scheduled, rows.height) == ("stopped", 0, 0)


def test_a_stop_does_not_wait_for_the_share_of_a_lost_worker_that_cannot_be_read_again(
    log: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator, "_REREADING_S", 1.0)
    results = MemoryResults()

    def kill_and_stop(running: Coordinator) -> None:
        kill(NAME.format(1, 2))(running)
        asyncio.get_running_loop().call_later(1.0, running.stop)

    plan = Plan(SlowHere(Requests(log), os.getpid(), 3600.0), Constant(100, 60))
    with pytest.raises(
        LogreplayError, match=r"the rows of worker 1 of 2 .* are missing: the log could not be read again"
    ):
        on_workers(2, plan, sender_to(target), once_sending=kill_and_stop, results=results)
    assert results.frame.height > 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_reader_that_dies_ends_the_run_with_a_word(log: Path, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def die() -> None:
        raise SystemExit

    monkeypatch.setattr(prefetch, "lower_priority", die)

    async def main() -> None:
        from logreplay.replay.engine.engine import replay

        async with asyncio.timeout(ENDS_WITHIN):
            await replay(Plan(Requests(log), Constant(100, 1)), sender_to(target)(), MemoryResults())

    with pytest.raises(LogreplayError, match="the thread that reads the requests has died"):
        asyncio.run(main())


def test_a_live_page_that_does_not_start_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = tmp_path / "python"
    stuck.write_text("#!/bin/sh\nexec sleep 3600\n")
    stuck.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stuck))
    monkeypatch.setattr(sidecar, "_OPENING_S", 1.0)
    with pytest.raises(LogreplayError, match="the process of the live page did not start within 1 s"):
        sidecar.Sidecar(sidecar.SidecarConfig(Address("127.0.0.1", 0)), print)
