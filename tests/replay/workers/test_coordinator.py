"""A plan on several processes of this machine, with a real target."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from logreplay.cli.main import run
from logreplay.core.errors import LogreplayError
from logreplay.core.record import RESPONSE_PARTS
from logreplay.core.rows import scan
from logreplay.parsers.conversion.job import ConvertOptions, convert
from logreplay.replay.engine.engine import Limits, replay
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.outcome import Outcome, Progress
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.schedules.rates import Constant
from logreplay.replay.schedules.users import Users
from logreplay.replay.senders.endpoint import Endpoint, parse_target
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.servers.known_capacity import ServerCapacity
from logreplay.replay.servers.target_process import spawned
from logreplay.replay.sweeps.step_log import JUDGED, StepLog
from logreplay.replay.sweeps.steps import FinishedStep, SweepPlan, sweep
from logreplay.replay.workers.coordinator import Coordinator
from logreplay.replay.workers.processes import processes
from support.background_server import beside
from support.command_line import children
from support.http2_server import Asked, http2_server, ok
from support.recording_server import RecordingServer, recording
from support.worker_pids import pids

pytestmark = pytest.mark.slow

SAMPLE = Path(__file__).parents[3] / "sample_logs" / "nginx_request_time.log"
TIMES = ("date", "time", *RESPONSE_PARTS)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled log, converted."""
    path = tmp_path_factory.mktemp("sample") / "access.csv"
    convert([str(SAMPLE)], str(path), ConvertOptions())
    return path


@pytest.fixture(scope="module")
def target(sample: Path) -> Iterator[str]:
    """A target that carries more than is asked of it, and knows no answer order: each URL has one answer."""
    with spawned(sample, ServerCapacity(64, 0.001)) as url:
        yield url


def sender_to(url: str) -> Callable[[], WireSender]:
    return partial(WireSender, Endpoint(parse_target(url), ("127.0.0.1",)), timeout=5.0)


def identities_hold(outcome: Outcome, rows: pl.DataFrame) -> None:
    assert outcome.scheduled == outcome.counters.sent + outcome.counters.dropped == rows.height
    assert outcome.counters.sent == outcome.counters.ok + outcome.counters.http_error + outcome.counters.net_error
    assert rows["seq"].n_unique() == rows.height
    error = rows["error"].fill_null("")
    assert (error == "dropped").sum() == outcome.counters.dropped
    assert (~error.is_in(["", "dropped"])).sum() == outcome.counters.net_error
    assert ((error == "") & (rows["rc"] < 400)).sum() == outcome.counters.ok


async def on_processes(
    count: int, plan: Plan, url: str, in_mid_run: Callable[[Coordinator], object] = lambda coordinator: None
) -> tuple[Outcome, pl.DataFrame, list[Progress]]:
    """Run the plan; ``in_mid_run`` is called once, when more than 100 requests were scheduled."""
    results, seen = MemoryResults(), list[Progress]()
    async with Coordinator(processes(count), sender_to(url), results) as coordinator:

        def see(progress: Progress) -> None:
            if progress.scheduled > 100 and (not seen or seen[-1].scheduled <= 100):
                in_mid_run(coordinator)
            seen.append(progress)

        outcome = await coordinator.run(plan, see)
    return outcome, results.frame, seen


def test_the_merged_log_is_that_of_one_process_but_for_times(sample: Path, target: str) -> None:
    plan, parted = (Plan(Requests(sample), Constant(500, 1.7)) for _ in range(2))
    alone = MemoryResults()
    one = asyncio.run(replay(plan, sender_to(target)(), alone))
    two, rows, seen = asyncio.run(on_processes(2, parted, target))
    identities_hold(two, rows)
    same = [name for name in rows.columns if name not in TIMES and name not in ("bytes", "rc")]
    assert rows.sort("seq").select(same).equals(alone.frame.sort("seq").select(same))
    assert (two.scheduled, two.first_seq) == (one.scheduled, 0)
    assert parted.requests.left_out == plan.requests.left_out
    ends = rows.select(pl.sum_horizontal("scheduled", *RESPONSE_PARTS)).to_series()
    assert ends.is_sorted()
    assert seen[-1].scheduled > 300
    assert (seen[-1].counters.response.quantile(0.5) or 0) > 0


def test_a_killed_worker_is_named_and_its_requests_count_as_not_sent(sample: Path, target: str) -> None:
    def kill(coordinator: Coordinator) -> None:
        pid = pids(coordinator)["worker 2 of 2 (a process of this machine)"]
        assert pid
        os.kill(pid, signal.SIGKILL)

    outcome, rows, _ = asyncio.run(on_processes(2, Plan(Requests(sample), Constant(400, 3)), target, kill))
    identities_hold(outcome, rows)
    assert outcome.scheduled == 1200
    assert sorted(rows["seq"]) == list(range(1200))
    assert rows.filter(pl.col("seq") % 2 == 0)["error"].fill_null("").eq("").all()
    assert 0 < outcome.counters.dropped < 600
    assert not outcome.health.valid
    assert outcome.lost == ("worker 2 of 2 (a process of this machine)",)
    assert "worker 2 of 2" in outcome.health.findings[0].text
    assert "killed" in outcome.health.findings[0].text


def test_a_sweep_begins_each_step_at_one_instant_in_all_workers_and_ends_when_one_is_lost(
    sample: Path, target: str, tmp_path: Path
) -> None:
    results, course = StepLog(tmp_path), SweepPlan([100, 300, 200, 100], 1.0, keep_going=True)

    async def main() -> tuple[Outcome, ...]:
        async with Coordinator(processes(2), sender_to(target), results) as coordinator:
            alive = iter(pids(coordinator).values())

            def lose_one(finished: FinishedStep, outcome: Outcome) -> None:
                if finished.step.index == 1 and (pid := next(alive)):
                    asyncio.get_running_loop().call_later(0.6, os.kill, pid, signal.SIGKILL)

            return await sweep(
                coordinator, results, Requests(sample), course, at=lambda rate, seconds, _: Constant(rate, seconds),
                on_end=lose_one,
            )  # fmt: skip

    outcomes = asyncio.run(main())
    rows = scan(tmp_path / JUDGED).collect()
    assert [outcome.scheduled for outcome in outcomes] == [100, 300, 200]
    assert [bool(outcome.lost) for outcome in outcomes] == [False, False, True]
    assert sorted(rows["seq"]) == list(range(600))
    for outcome in outcomes:
        part = rows.filter(pl.col("step") == outcome.step).sort("seq")
        assert part["seq"].min() == outcome.first_seq
        assert outcome.began == int(outcome.began)
        due = [round(outcome.began + (k + 0.5) / outcome.offered, 6) for k in range(part.height)]
        assert part["scheduled"].to_list() == pytest.approx(due, abs=2e-6)
        assert part["offered"].unique().to_list() == [outcome.offered]


def test_users_are_shared_out_and_leave_numbers_to_the_next_plan_though_they_come_unequally_far(
    sample: Path, target: str
) -> None:
    plans = [Plan(Requests(sample), Users(5, 0.01, requests=300))]
    plans += [Plan(Requests(sample), Users(3, 0.001, 0.3), step=step) for step in (1, 2, 3)]

    async def main() -> tuple[list[Outcome], pl.DataFrame]:
        results = MemoryResults()
        async with Coordinator(processes(2), sender_to(target), results, closed=True) as coordinator:
            return [await coordinator.run(plan) for plan in plans], results.frame

    outcomes, rows = asyncio.run(main())
    first = rows.filter(pl.col("step") == 0)
    identities_hold(outcomes[0], first)
    assert outcomes[0].scheduled == 300
    assert sorted(first["seq"]) == list(range(300))
    assert rows.height == sum(outcome.scheduled for outcome in outcomes)
    assert rows["seq"].n_unique() == rows.height


def test_a_stop_ends_all_workers_at_once_and_keeps_what_was_measured(sample: Path, target: str) -> None:
    plan = Plan(Requests(sample), Constant(200, 60))
    outcome, rows, _ = asyncio.run(on_processes(2, plan, target, Coordinator.stop))
    identities_hold(outcome, rows)
    assert outcome.stopped == "stopped"
    assert 100 < outcome.scheduled < 200 * 30


def test_a_log_that_a_worker_cannot_read_ends_the_run_with_a_word(tmp_path: Path, target: str) -> None:
    plan = Plan(Requests(tmp_path / "none.csv"), Constant(100, 1))
    with pytest.raises(LogreplayError, match=r"^worker \d of 2 \(.*\): .*none.csv: no such file"):
        asyncio.run(on_processes(2, plan, target))


def test_a_limit_in_flight_is_shared_by_all() -> None:
    with pytest.raises(LogreplayError, match="at most 1 request in flight cannot be shared by 2 workers"):
        Coordinator(processes(2), sender_to("http://127.0.0.1:1"), MemoryResults(), limits=Limits(max_in_flight=1))


def test_a_run_with_workers_is_a_run_and_all_share_the_connections_of_http2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The limit holds for all workers together, as those on requests in flight and on users do."""
    carrying = set()

    async def noted(asked: Asked) -> None:
        carrying.add(asked.connection)
        await ok(asked)

    urls, limits = tmp_path / "urls.txt", ["--http", "2", "--connections", "2", "--workers", "2"]
    urls.write_text("/ok\n")
    with beside(partial(http2_server, answers={"/ok": noted})) as server:
        sending = ["run", str(urls), server.url, "--tps", "100", "--for", "1s", "-q", "-o", str(tmp_path / "r.csv")]
        assert run([*sending, "--json", *limits]) in (0, 3)  # a busy machine may make it no measurement
    assert len(carrying) == 2
    summary = json.loads(capsys.readouterr().out)
    assert summary["requests"]["scheduled"] == summary["requests"]["sent"] == 100
    assert sorted(scan(tmp_path / "r.csv").collect()["seq"]) == list(range(100))


def test_too_few_connections_for_the_workers_are_refused() -> None:
    with pytest.raises(LogreplayError, match="at most 1 connection cannot be shared by 2 workers"):
        Coordinator(processes(2), sender_to("http://127.0.0.1:1"), MemoryResults(), connections=1)


@pytest.mark.parametrize("several", ["--workers 4", "--cluster local:2"])
def test_with_several_workers_each_client_keeps_its_connection_its_order_and_its_session(
    several: str, tmp_path: Path
) -> None:
    clients, each, logins = 400, 4, tmp_path / "logins.csv"
    logins.write_text("".join(["url,body\n", *(f"/login,{number}\n" for number in range(4 * clients))]))
    log, path = tmp_path / "log.csv", tmp_path / "r.csv"
    rows = [
        f"2026-01-01,00:00:00,0,0,0,5,/{client}/{number},200,GET,10.0.0.{client}"
        for number in range(each)
        for client in range(clients)
    ]
    log.write_text("\n".join(["date,time,latency,xfertime,thinktime,bytes,url,rc,op,client", *rows]) + "\n")
    seen: list[RecordingServer] = []

    @asynccontextmanager
    async def serving() -> AsyncIterator[str]:
        async with recording(0.01, b"Set-Cookie: sid=1; Path=/\r\n") as server:
            seen.append(server)
            yield server.url

    with beside(serving) as url:
        words = ["run", log, url, "--tps", 800, *several.split(), "--by-client", "--cookies", "--login", logins]
        words += ["-o", path, "-q"]
        assert run([str(word) for word in words]) in (0, 3)  # a busy machine may be late
    told = json.loads((tmp_path / "r.summary.json").read_text())["findings"]
    if lost := [finding["text"] for finding in told if finding["code"] == "shard_lost"]:
        pytest.skip(f"this machine is too busy for a cluster: {lost}")
    order, connections = defaultdict(list), defaultdict(set)
    logged_in = {one.connection: one.body for one in seen[0].received if one.target == "/login"}
    for one in seen[0].received:
        if one.target.count("/") == 2:  # not the question whether the target answers
            _, client, number = one.target.split("/")
            order[client].append(int(number))
            connections[client].add(one.connection)
            assert one.header("cookie") == "sid=1"
    assert order == {str(client): list(range(each)) for client in range(clients)}
    assert all(len(numbers) == 1 for numbers in connections.values())
    assert len(set.union(*connections.values())) == clients
    assert set.union(*connections.values()) == logged_in.keys()
    assert len(set(logged_in.values())) == clients, "two clients have one login of the pool"
    results = scan(path).collect()
    assert results["seq"].n_unique() == results.height == clients * each
    assert pl.read_csv(tmp_path / "r.logins.csv").height == clients


def test_crash_stops_all_workers_at_the_first_failure(
    sample: Path, target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = scan(sample).filter(pl.col("op") == "GET").group_by("url").agg(pl.col("rc").unique()).collect()
    good = answers.filter(pl.col("rc") == [200])["url"].sort().to_list()
    log = tmp_path / "log.csv"
    urls = good[:20] + [f"/not-there/{number}" for number in range(1000)]
    rows = [f"2026-01-01,00:00:00.000000,0,0,0,5,{url},200,GET" for url in urls]
    log.write_text("\n".join(["date,time,latency,xfertime,thinktime,bytes,url,rc,op", *rows]) + "\n")
    arguments = ["run", log, target, "--tps", 100, "--workers", 2, "-o", tmp_path / "r.csv", "--crash"]
    assert run([str(argument) for argument in arguments]) == 4
    shown = capsys.readouterr().err
    assert "> GET /not-there/" in shown
    assert "! status 404; the log had 200" in shown
    assert scan(tmp_path / "r.csv").collect().height < 300


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_whole_group_ends_the_run_in_good_order(
    sample: Path, target: str, tmp_path: Path, number: signal.Signals
) -> None:
    """A shell sends Ctrl-C to the group, a closed terminal SIGHUP, ``timeout`` and systemd SIGTERM."""
    code, said = ended_by(lambda process: os.killpg(process.pid, number), sample, target, tmp_path / "r.csv")
    assert code == 130
    assert "lost" not in said
    assert "Traceback" not in said
    assert "Warning" not in said
    rows = scan(tmp_path / "r.csv").collect()
    assert rows["seq"].n_unique() == rows.height >= 50
    assert set(rows["error"].drop_nulls()) <= {"cancelled"}


def test_no_worker_outlives_a_coordinator_that_was_killed(sample: Path, target: str, tmp_path: Path) -> None:
    code, _ = ended_by(lambda process: process.kill(), sample, target, tmp_path / "r.csv")
    assert code == -signal.SIGKILL
    rows = scan(tmp_path / "r.csv").collect()
    assert rows["seq"].n_unique() == rows.height >= 50


def ended_by(
    end: Callable[["subprocess.Popen[str]"], object], sample: Path, target: str, path: Path
) -> tuple[int, str]:
    """End a run of two workers, in a process group of its own; its exit code, and what it said.

    Every worker has ended by then, too.
    """
    command = [sys.executable, "-m", "logreplay.cli.main", "run", str(sample), target, "--workers", "2"]
    command += ["--tps", "200", "--for", "60s", "-o", str(path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        while not path.exists() or path.read_bytes().count(b"\n") < 50:
            assert process.poll() is None
            threading.Event().wait(0.01)
        workers = children(process.pid)
        assert len(workers) >= 2
        with ExitStack() as watched:
            ends = [watched.enter_context(pidfd(pid)) for pid in workers]
            end(process)
            _, said = process.communicate(timeout=30)
            for each in ends:
                assert each.wait(20), "a worker goes on"
    return process.returncode, said


class pidfd:
    """Waits for the end of a process that is not our child."""

    def __init__(self, pid: int) -> None:
        self._fd = os.pidfd_open(pid)

    def __enter__(self) -> "pidfd":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def wait(self, seconds: float) -> bool:
        import select

        return bool(select.select([self._fd], [], [], seconds)[0])
