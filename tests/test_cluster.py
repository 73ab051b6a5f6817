"""The same with a real Dask scheduler and workers, each in a process of its own, as on several machines."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import polars as pl
import pytest

from conftest import free_port
from logreplay.cli.main import run
from logreplay.core.errors import LogreplayError
from logreplay.core.rows import scan
from logreplay.parsers.conversion.job import ConvertOptions, convert
from logreplay.replay.child_process import ENDING, start_child
from logreplay.replay.servers.known_capacity import ServerCapacity
from logreplay.replay.servers.target_process import spawned
from logreplay.replay.workers import dask_workers
from logreplay.replay.workers.dask_workers import cluster_client, workers
from support.background_server import beside
from support.command_line import COMMAND, children, semaphores_of, started, wait_for_rows, wait_until

pytest.importorskip("distributed", reason="needs the extra `cluster`")

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "sample_logs" / "nginx_request_time.log"
HEADER = "date,time,latency,xfertime,thinktime,bytes,url,rc,op"


def dask(stack: ExitStack, *arguments: object, env: Mapping[str, str] | None = None) -> None:
    """Run a Dask command until the stack unwinds; ``env``: further variables of its processes."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dask", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, **(env or {})},
    )

    def end() -> None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    stack.callback(end)


def dask_worker(stack: ExitStack, address: str, folder: Path, env: Mapping[str, str] | None = None) -> None:
    options = ("--nthreads", 1, "--worker-port", free_port(), "--no-dashboard", "--local-directory", folder)
    dask(stack, "worker", address, *options, env=env)


@contextmanager
def real_cluster(folder: Path, count: int = 2) -> Iterator[str]:
    """A scheduler and workers under nannies, on ports that stay theirs when a worker is started anew."""
    address = f"tcp://127.0.0.1:{free_port()}"
    with ExitStack() as stack:
        dask(stack, "scheduler", "--host", address, "--no-dashboard", "--no-jupyter")
        for _ in range(count):
            dask_worker(stack, address, folder)
        deadline = time.monotonic() + 60
        while True:
            try:
                with cluster_client(address) as client:
                    client.wait_for_workers(count, timeout=30)
                break
            except LogreplayError:
                assert time.monotonic() < deadline, "the scheduler does not start"
        yield address


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a scheduler with two workers."""
    with real_cluster(tmp_path_factory.mktemp("dask")) as address:
        yield address


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled log, converted."""
    path = tmp_path_factory.mktemp("sample") / "access.csv"
    convert([str(SAMPLE)], str(path), ConvertOptions())
    return path


class Arrivals(asyncio.Protocol):
    """A target that answers everything with nothing, and notes when each request came."""

    noted: list[tuple[int, bytes]]
    held: list[asyncio.Transport]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.held.append(transport)

    def data_received(self, data: bytes) -> None:
        self.noted.append((time.perf_counter_ns(), data.split(b" ", 2)[1]))
        self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


@contextmanager
def arrivals() -> Iterator[tuple[str, list[tuple[int, bytes]]]]:
    """Run such a target; the value is its URL, and what it noted."""
    noted: list[tuple[int, bytes]] = []

    @asynccontextmanager
    async def serving() -> AsyncIterator[str]:
        held: list[asyncio.Transport] = []
        protocol = type("Noting", (Arrivals,), {"noted": noted, "held": held})
        server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        server.close()
        for transport in held:  # of processes that were killed and have not ended yet
            transport.abort()
        await asyncio.sleep(0)

    with beside(serving) as url:
        yield url, noted


def logreplay(*arguments: object) -> int:
    return run([str(argument) for argument in arguments])


def distinct_urls(path: Path, count: int) -> Path:
    rows = [f"2026-01-01,00:00:00.000000,0,0,0,0,/{number},200,GET" for number in range(count)]
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def blames_this_machine(summary: dict[str, Any]) -> bool:
    """Whether a run itself says that it was late: then it is no test of the schedule."""
    return any(finding["code"] in ("lag", "stood_still") for finding in summary["findings"])


def p99(values: Sequence[float]) -> float:
    return float(np.percentile(values, 99))


@pytest.mark.alone
def test_a_cluster_replays_the_bundled_log_every_row_once_and_on_time(
    cluster: str, sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planned = scan(sample).filter(pl.col("op").is_in(["GET", "HEAD"])).collect()
    with spawned(sample, ServerCapacity(64, 0.001)) as url:
        for attempt in range(3):
            path = tmp_path / f"r{attempt}.csv"
            logreplay("run", SAMPLE, url, "--tps", 1000, "--cluster", cluster, "-o", path, "--json", "-q")
            summary = json.loads(capsys.readouterr().out)
            rows = scan(path).collect().sort("seq")
            assert rows["seq"].to_list() == list(range(planned.height))
            assert rows["url"].equals(planned["url"])
            assert summary["requests"]["scheduled"] == summary["requests"]["sent"] == planned.height
            if not blames_this_machine(summary):
                assert p99(rows["lag"].to_list()) < 0.005
                return
    pytest.skip("this machine is too busy to be on time")


@pytest.mark.alone
def test_what_arrives_at_the_target_is_the_schedule(
    cluster: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = distinct_urls(tmp_path / "log.csv", 300)
    for attempt in range(3):
        path = tmp_path / f"r{attempt}.csv"
        with arrivals() as (url, noted):
            logreplay("run", log, url, "--tps", 150, "--cluster", cluster, "-o", path, "--json", "-q")
        came = {int(path[1:]): at for at, path in noted if path != b"/"}
        assert sorted(came) == list(range(300))
        off = np.array([came[k] / 1e9 - k / 150 for k in range(300)])
        worst = p99(list(np.abs(off - np.median(off))))
        if not blames_this_machine(json.loads(capsys.readouterr().out)) and worst < 0.01:
            return  # 5 ms of lag, and what the target's own thread is late
    pytest.skip(f"this machine is too busy to be on time: {worst:.4f} s")


@pytest.mark.parametrize("seen", [True, False], ids=["seen gone", "back before anybody looks"])
def test_a_killed_worker_is_named_and_nothing_is_sent_twice(
    seen: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its nanny starts it anew at the same address, and the scheduler begins its task once more: in vain."""
    if not seen:
        monkeypatch.setattr(dask_workers.DaskProcess, "gone", lambda _: "")
    log = distinct_urls(tmp_path / "log.csv", 4000)
    path = tmp_path / "r.csv"
    with real_cluster(tmp_path) as cluster, arrivals() as (url, noted), cluster_client(cluster) as client:
        pids: dict[str, int] = client.run(os.getpid)
        victim, pid = sorted(pids.items())[1]

        def kill_in_mid_run() -> None:
            while len(noted) < 300:
                threading.Event().wait(0.01)
            os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill_in_mid_run)
        killer.start()
        code = logreplay("run", log, url, "--tps", 200, "--cluster", cluster, "-o", path, "--json")
        killer.join()
        client.wait_for_workers(2, timeout=30)
        assert client.run(os.getpid)[victim] != pid
    said = capsys.readouterr()
    summary = json.loads(said.out)
    counts, rows = summary["requests"], scan(path).collect()
    assert code == 3
    assert f"worker 2 of 2 (Dask worker {victim})" in said.err
    assert sorted(rows["seq"]) == list(range(4000))
    assert counts["scheduled"] == 4000 == counts["sent"] + counts["dropped"]
    assert counts["sent"] == counts["ok"] + counts["http_error"] + counts["net_error"]
    assert 0 < counts["dropped"] < 1500
    came = Counter(path for _, path in noted if path != b"/")
    assert max(came.values()) == 1
    told, unsent = (
        {f"/{seq}".encode() for seq in rows.filter(pl.col("error").fill_null("") == error)["seq"]}
        for error in ("", "dropped")
    )
    assert told <= came.keys()
    assert not unsent & came.keys()
    assert len(came) - len(told) < 100, "of what was sent after the last report"


def test_a_killed_scheduler_is_named_and_ends_a_run_without_end(tmp_path: Path) -> None:
    log, path = distinct_urls(tmp_path / "log.csv", 100_000), tmp_path / "r.csv"
    with real_cluster(tmp_path) as cluster, arrivals() as (url, noted):
        with cluster_client(cluster) as client:
            pid: int = client.run_on_scheduler(os.getpid)
        words = ["run", log, url, "--tps", 100, "--loop", "--cluster", cluster, "-o", path]
        with begun(*words) as process:
            wait_for_rows(path)
            os.kill(pid, signal.SIGKILL)
            _, said = process.communicate(timeout=120)
    assert process.returncode == 3
    assert "the scheduler of the cluster ended, or cannot be reached" in said
    assert "The run ended with its last worker." in said
    assert "CancelledError" not in said
    assert "distributed" not in said
    rows = scan(path).collect()
    unsent = {f"/{seq}".encode() for seq in rows.filter(pl.col("error").fill_null("") == "dropped")["seq"]}
    came = {path for _, path in noted if path != b"/"}
    assert came <= {f"/{seq}".encode() for seq in rows["seq"]}
    assert not unsent & came


def begun(*words: object) -> "subprocess.Popen[str]":
    """A command of logreplay in a process group of its own."""
    return started(
        *COMMAND, *words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


VERSION = """
from importlib import metadata

plain = metadata.version


def version(name):
    if name == "logreplay-toolkit":
        {}
    return plain(name)


metadata.version = version
"""


@pytest.mark.parametrize(
    ("line", "named"), [("raise metadata.PackageNotFoundError(name)", "none"), ("return '0.0.1'", "0.0.1")]
)
def test_a_worker_without_logreplay_or_with_another_version_is_named_before_anything_is_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, named: str
) -> None:
    """Dask ends a worker that cannot import what it is given: it "has left the cluster, was killed, or crashed"."""
    (tmp_path / "sitecustomize.py").write_text(VERSION.format(line))
    log, output = distinct_urls(tmp_path / "log.csv", 100), ("-o", tmp_path / "out.csv", "-q")
    with ExitStack() as stack, arrivals() as (url, noted):
        cluster = stack.enter_context(real_cluster(tmp_path, 1))
        dask_worker(stack, cluster, tmp_path, {"PYTHONPATH": str(tmp_path)})
        with cluster_client(cluster) as client:
            client.wait_for_workers(2, timeout=60)
        for words in (("run", log, url, "--tps", 100), ("convert", SAMPLE)):
            assert logreplay(*words, "--cluster", cluster, *output) == 1
            said = capsys.readouterr().err
            assert re.search(rf"Error: this is logreplay .+, and worker tcp://\S+ has {named}; install the same", said)
        assert not [path for _, path in noted if path != b"/"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_whole_group_ends_a_run_on_a_local_cluster_in_good_order(
    number: signal.Signals, tmp_path: Path
) -> None:
    log, path = distinct_urls(tmp_path / "log.csv", 20_000), tmp_path / "r.csv"
    with (
        arrivals() as (url, noted),
        begun("run", log, url, "--tps", 200, "--cluster", "local:2", "-o", path) as process,
    ):
        wait_for_rows(path)
        os.killpg(process.pid, number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "lost" not in said
    assert "Traceback" not in said
    rows = scan(path).collect()
    assert set(rows["error"].drop_nulls()) <= {"cancelled"}
    assert {path for _, path in noted if path != b"/"} <= {url.encode() for url in rows["url"]}


def test_ctrl_c_again_and_again_while_a_local_cluster_ends_prints_no_traceback(tmp_path: Path) -> None:
    """It ended in an UnboundLocalError of Dask."""
    log, path = distinct_urls(tmp_path / "log.csv", 20_000), tmp_path / "r.csv"
    words = ("run", log, "--tps", 200, "--cluster", "local:2", "-o", path)
    with arrivals() as (url, _), begun(*words[:2], url, *words[2:]) as process:
        wait_for_rows(path)
        while process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.05)  # the next one comes at another place
        _, said = process.communicate()
    assert process.returncode == 130
    assert "Error" not in said
    assert "Traceback" not in said


def test_a_sweep_on_a_local_cluster(sample: Path, tmp_path: Path) -> None:
    with spawned(sample, ServerCapacity(64, 0.001)) as url:
        arguments = (
            "sweep",
            "50,100",
            sample,
            url,
            "--for",
            "1s",
            "--cluster",
            "local:2",
            "--no-plots",
            "-q",
            "--json",
        )
        assert logreplay(*arguments, "-o", tmp_path / "sweep") in (0, 3)
    rows = scan(tmp_path / "sweep" / "results.csv").collect()
    assert sorted(rows["seq"]) == list(range(150))
    assert (rows.filter(pl.col("step") == 1)["scheduled"] > 1).all()


TRESPASS = """
import sys
from distributed import Client, Security

for address, security in ((sys.argv[1].replace("tls://", "tcp://"), None), (sys.argv[1], Security.temporary())):
    try:
        with Client(address, security=security, timeout=2) as client:
            print(client.run_on_scheduler(int, "7"))
    except (OSError, TimeoutError):
        print("refused")
"""


def test_no_other_process_of_this_machine_can_use_a_local_cluster_or_read_of_it() -> None:
    """Whoever connects to a scheduler runs functions in its process, which is that of logreplay."""
    psutil = pytest.importorskip("psutil")

    def listening() -> set[tuple[str, int]]:
        processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
        sockets = [each for process in processes for each in process.net_connections()]
        return {tuple(each.laddr) for each in sockets if each.status == "LISTEN"}

    before = listening()
    with cluster_client("local:2") as client:
        assert client.submit(int, "7").result() == 7
        address = str(client.scheduler_info()["address"])
        command = [sys.executable, "-c", TRESPASS, address]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert ended.stdout.split() == ["refused", "refused"], ended.stderr
        opened = listening() - before
        assert {host for host, _ in opened} == {"127.0.0.1"}
        assert len(opened) > 3
        for _, port in opened:
            with pytest.raises((OSError, HTTPException)):
                urlopen(f"http://127.0.0.1:{port}/health", timeout=5)


def test_a_scheduler_that_is_not_there_is_named(
    sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_workers, "_CONNECT_S", 1.0)
    with arrivals() as (url, _):
        assert (
            logreplay("run", sample, url, "--tps", 10, "--cluster", "tcp://127.0.0.1:1", "-o", tmp_path / "r.csv") == 1
        )
    assert "Error: --cluster tcp://127.0.0.1:1: no scheduler can be reached there" in capsys.readouterr().err


def test_a_scheduler_with_tls_and_no_certificate_for_it_is_an_error_that_says_what_to_set(
    sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with arrivals() as (url, _):
        words = ("run", sample, url, "--tps", 10, "--cluster", "tls://127.0.0.1:1", "-o", tmp_path / "r.csv")
        assert logreplay(*words) == 1
    assert "TLS needs a certificate; set DASK_DISTRIBUTED__COMM__TLS__CA_FILE" in capsys.readouterr().err


def test_more_workers_than_there_are_cannot_be_had(cluster: str) -> None:
    with cluster_client(cluster) as client, pytest.raises(LogreplayError, match="has 2 workers, and 3 are needed"):
        workers(client, 3)


def test_a_worker_that_hangs_is_named_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_workers, "_ANSWER_S", 1.0)
    with cluster_client("local:1") as client:
        process = next(iter(client.run(os.getpid).values()))
        os.kill(process, signal.SIGSTOP)
        try:
            with pytest.raises(LogreplayError, match=r"did not answer within 1 s \(tcp|tls"):
                workers(client)
        finally:
            os.kill(process, signal.SIGCONT)


def test_a_scheduler_that_hangs_is_named_before_anything_is_sent(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_workers, "_ANSWER_S", 1.0)
    with cluster_client(cluster) as client:
        process = client.run_on_scheduler(os.getpid)
        os.kill(process, signal.SIGSTOP)
        try:
            with pytest.raises(LogreplayError, match="the scheduler of the cluster did not answer within 1 s"):
                workers(client)
        finally:
            os.kill(process, signal.SIGCONT)


def test_clocks_of_one_machine_need_no_correction(cluster: str) -> None:
    with cluster_client(cluster) as client:
        found = workers(client)
        offset = found[0].channel.clock_offset()
        assert (offset.offset, offset.uncertainty) == (0, 0)
        for process in found:
            process.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_a_local_cluster_starts_ends_a_conversion_in_good_order(
    number: signal.Signals, tmp_path: Path
) -> None:
    """It ended in the tracebacks of Dask."""
    command = [*COMMAND, "convert", str(SAMPLE), "-o", "out.csv", "--cluster", "local:2"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        wait_until(lambda: sum(len(children(child)) for child in children(process.pid)) >= 2)  # the workers begin
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.decode().strip() == "interrupted: no file was written; repeat the command"
    assert not list(tmp_path.iterdir())


def test_a_cluster_that_is_ended_while_it_starts_leaves_no_process_file_or_semaphore(tmp_path: Path) -> None:
    psutil = pytest.importorskip("psutil")
    (scratch := tmp_path / "tmp").mkdir()
    words = ("convert", SAMPLE, "--cluster", "local:2", "-o", "out.csv")
    environment = {**os.environ, "TMPDIR": str(scratch)}
    process = started(*COMMAND, *words, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    wait_until(lambda: len(psutil.Process(process.pid).children(recursive=True)) > 2)
    family = psutil.Process(process.pid).children(recursive=True)
    semaphores = [path for each in family for path in semaphores_of(each.pid)]
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    assert not [each for each in family if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]
    assert not any(scratch.iterdir())
    assert semaphores
    assert not [path for path in semaphores if path.exists()]


def test_the_temporary_files_of_workers_lie_in_the_folder_that_goes_with_their_cluster() -> None:
    """A second Ctrl-C kills the workers; then the requests that one had shuffled stayed on the disk."""
    with cluster_client("local:1") as client:
        folder = Path(client.submit(tempfile.gettempdir).result(timeout=60))
        assert (folder / "cluster.crt").exists()
    assert not folder.exists()


def test_a_cluster_is_deaf_to_the_signals_that_end_its_parent_from_its_first_moment(tmp_path: Path) -> None:
    process, connection = start_child("logreplay.replay.workers.local_cluster", in_group=True)
    for number in ENDING:
        process.send_signal(number)
    with connection:
        connection.send((1, str(tmp_path)))
        address, _ = connection.recv()
    assert address.startswith("tls://")
    process.wait(60)
