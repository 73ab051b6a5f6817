"""Signals beside the sending: before it, after it, and while the interpreter ends."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Coroutine
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn

import polars as pl
import pytest

from logreplay.calling.loop_thread import run_in_loop, run_until_stopped
from logreplay.cli import main, signals
from logreplay.core.errors import Interrupted
from logreplay.core.record import CORE_COLUMNS, RESULT_COLUMNS
from logreplay.replay.checks import preflight
from logreplay.replay.sweeps.manifest import Manifest
from logreplay.replay.sweeps.step_log import Mark
from logreplay.replay.sweeps.steps import FinishedStep, Step
from support.command_line import interrupted_when

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
UNLIKE = (signal.SIGINT, signal.SIGTERM)
"""One that Python handles where the program does not, and one that it leaves to the system, as the third."""
WHEN = {
    "while the threads are waited for": """
def late():
    threading.main_thread().join()
    while True:  # one that comes just before the main thread waits does not wake it
        os.kill(os.getpid(), number)
        time.sleep(0.05)
threading.Thread(target=late).start()
""",
    "while the interpreter ends": "atexit.register(lambda: os.kill(os.getpid(), number))",
    "while the interpreter takes its modules down, without handlers": """
class Last:
    def __del__(self, kill=os.kill, me=os.getpid(), number=number):
        kill(me, number)
last = Last()
""",
}


@pytest.mark.parametrize("number", SIGNALS)
def test_after_the_loop_a_signal_does_what_it_did_before(number: signal.Signals) -> None:
    """The loop left the system's default: a SIGTERM killed the program while it wrote the report."""

    async def nothing(_: asyncio.Event) -> None:
        assert signal.getsignal(number) is not mine

    def mine(*_: object) -> None: ...

    before = signal.signal(number, mine)
    try:
        with signals.SIGNALS.hearing():
            run_in_loop(nothing)
        assert signal.getsignal(number) is mine
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.filterwarnings("error")
def test_a_signal_before_the_loop_turns_leaves_no_coroutine_behind(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``serve`` printed "coroutine ... was never awaited" when it came in the first instant."""
    begin = asyncio.Runner.run

    def run(self: asyncio.Runner, coroutine: Coroutine[Any, Any, Any], **named: Any) -> Any:
        signal.raise_signal(number)
        return begin(self, coroutine, **named)

    monkeypatch.setattr(asyncio.Runner, "run", run)
    with signals.SIGNALS.hearing(), pytest.raises(Interrupted):
        run_until_stopped(asyncio.Event().wait)
    with signals.SIGNALS.hearing():
        assert run_in_loop(asyncio.Event.wait)


@pytest.mark.parametrize("number", UNLIKE)
@pytest.mark.parametrize("when", WHEN)
def test_a_signal_after_the_work_leaves_the_exit_code_as_it_is(when: str, number: signal.Signals) -> None:
    begin = f"import atexit, os, threading, time\nfrom logreplay.cli import main\nnumber = {int(number)}\n"
    program = begin + WHEN[when] + "\nmain.run = lambda _: 3\nmain.main()"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (3, b"")


def test_the_hard_end_says_nothing_of_the_semaphores_of_a_cluster() -> None:
    """The tracker of multiprocessing warned of leaked ones."""
    program = """
from multiprocessing import get_context
from logreplay.cli import signals
held = get_context("spawn").Semaphore()
signals._end(130)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")


def test_the_hard_end_takes_a_local_cluster_along() -> None:
    psutil = pytest.importorskip("psutil")
    program = """
import psutil
from logreplay.cli import signals
from logreplay.replay.workers.dask_workers import cluster_client
with cluster_client("local:1"):
    print(*(each.pid for each in psutil.Process().children(recursive=True)), flush=True)
    signals._end(130)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert ended.returncode == 130
    assert len(family := ended.stdout.split()) > 2
    assert not [pid for pid in family if psutil.pid_exists(int(pid)) and psutil.Process(int(pid)).status() != "zombie"]


def test_the_hard_end_removes_temporary_files_though_a_cluster_takes_long_to_end(tmp_path: Path) -> None:
    program = """
import threading
from logreplay.cli import signals
from logreplay.core.files import scratch_folder
from logreplay.replay.workers import dask_workers
dask_workers.kill_local_clusters = threading.Event().wait
with scratch_folder():
    signals._end(130)
"""
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", program], env=env, timeout=60)
    assert ended.returncode == 130
    assert not [*tmp_path.iterdir()]


def test_a_program_that_ends_while_a_local_cluster_starts_takes_it_along(tmp_path: Path) -> None:
    psutil = pytest.importorskip("psutil")
    program = """
import atexit, threading, psutil
atexit.register(lambda: starting.join(0.5))  # after the cluster is killed: a traceback has the time to be printed
from logreplay.replay.workers import dask_workers
def start():
    with dask_workers.cluster_client("local:1"):
        pass
starting = threading.Thread(target=start, daemon=True)
starting.start()
while not dask_workers._RUNNING:
    pass
print(*(each.pid for each in psutil.Process().children(recursive=True)), flush=True)
"""
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert (family := ended.stdout.split())
    assert not [pid for pid in family if psutil.pid_exists(int(pid)) and psutil.Process(int(pid)).status() != "zombie"]
    assert not [*tmp_path.glob("logreplay-*")]


@pytest.mark.slow
def test_the_key_of_a_local_cluster_is_in_its_folder_only(tmp_path: Path) -> None:
    pytest.importorskip("psutil")
    program = """
import sys
from logreplay.replay.workers.dask_workers import cluster_client
sys.addaudithook(lambda event, values: event == "tempfile.mkdtemp" and print(*values, flush=True))
with cluster_client("local:1") as client:
    client.submit(sum, [1, 2]).result(30)
"""
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(folders := ended.stdout.split()) == 1, "Dask writes a key that is in memory to a folder of its own"
    assert Path(folders[0]).name.startswith("logreplay-")
    assert not [*tmp_path.iterdir()]


def test_a_signal_while_an_error_is_printed_is_an_interruption() -> None:
    program = "from logreplay.cli import main\ndef run(_): raise KeyboardInterrupt\nmain.run = run\nmain.main()"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (130, b"")


@pytest.mark.parametrize("number", UNLIKE)
def test_a_signal_while_a_module_is_loaded_is_an_interruption(number: signal.Signals, tmp_path: Path) -> None:
    """``python -m`` kills itself with SIGINT at its end if a KeyboardInterrupt came up in `exec`, caught or not."""
    load = f"exec('signal.raise_signal({int(number)})')"
    program = f"""
import signal
import socket
from logreplay.cli import main
def run(_):
    try:
        {load}
    except KeyboardInterrupt:
        return 130
main.run = run
main.main()
"""
    (tmp_path / "loading.py").write_text(program)
    ended = subprocess.run([sys.executable, "-m", "loading"], cwd=tmp_path, capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (130, b"")


_RATE = ["--tps", "10", "-n", "5"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "{log}", "{url}", *_RATE], "interrupted before the first request: nothing was measured"),
        (["duet", "{log}", "{url}", "{url}", *_RATE], "interrupted before the first request: nothing was measured"),
        (["sweep", "10,20", "{log}", "{url}"], "interrupted before the first step: nothing was measured"),
        (["find", "{log}", "{url}", "--p99", "1s"], "interrupted after 0 trials; nothing was measured"),
    ],
)
def test_a_signal_ends_the_wait_for_the_first_answer(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The target accepts connections and never answers; a signal did not shorten the wait for it."""
    log = tmp_path / "log.csv"
    log.write_text(f"{','.join(CORE_COLUMNS)}\n2026-01-01,00:00:00,0.1,0,0,5,/,200,GET\n")
    monkeypatch.setattr(preflight.answers, "__defaults__", (600.0,))
    with socket.create_server(("127.0.0.1", 0)) as server, ExitStack() as connections:
        server.settimeout(60)

        def wait_for_a_request() -> None:
            while not connections.enter_context(server.accept()[0]).recv(1000):
                pass  # the first connection only shows that one can be made

        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        given = [word.format(log=log, url=url) for word in words]
        with interrupted_when(wait_for_a_request):
            assert main.run([*given, "--timeout", "300", "-o", str(tmp_path / "out.csv")]) == 130
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


def test_a_second_signal_in_a_sweep_says_what_is_done_and_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It said nothing of the steps that were made."""

    def interrupted(call: object, manifest: Manifest, *_: object) -> NoReturn:
        (manifest.folder / "results.csv").write_text(",".join(RESULT_COLUMNS) + "\n")
        manifest.finish(FinishedStep(Step(0, 10.0, 1.0), True, 0, 10), Mark())
        raise Interrupted

    log, folder = tmp_path / "log.csv", tmp_path / "sw"
    log.write_text(f"{','.join(CORE_COLUMNS)}\n2026-01-01,00:00:00,0.1,0,0,5,/,200,GET\n")
    monkeypatch.setattr("logreplay.runs.curve.sweep_into", interrupted)
    assert main.run(["sweep", "10,20,30", str(log), "http://127.0.0.1:1", "-o", str(folder)]) == 130
    said = capsys.readouterr().err
    expected = f"the same command with --resume {folder} in place of -o makes the missing steps"
    assert f"interrupted: 1 of 3 steps are done; the rows are kept; {expected}" in said


def test_what_a_library_calls_an_error_after_an_interruption_is_no_bug() -> None:
    """A second Ctrl-C while Dask closed its cluster was called a bug, an unset variable of Dask."""
    program = """
import sys, threading
from logreplay.cli import main, signals
def busy():
    raise UnboundLocalError("result")
class Failed:
    exc_value = UnboundLocalError("result")
def run(_):
    signals.SIGNALS.raised = True
    threading.Thread(target=busy).start()
    sys.unraisablehook(Failed)
    return 130
main.run = run
main.main()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (130, b"")


def test_a_signal_within_polars_is_raised_once_polars_is_left(tmp_path: Path) -> None:
    """Polars asks Python code for its defaults at the first scan and prints a panic if that raises."""
    program = """
import signal
from polars.io.scan_options import cast_options
default = cast_options.ScanCastOptions._default
def first(*args):
    signal.raise_signal(signal.SIGTERM)
    return default(*args)
cast_options.ScanCastOptions._default = staticmethod(first)
from logreplay.cli import main
main.main()
"""
    log = tmp_path / "access.log"
    log.write_text('192.0.2.1 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-"\n' * 100_000)
    words = [sys.executable, "-c", program, "convert", str(log), "-q", "--to", "parquet", "-o", "out.parquet"]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=60)
    told = b"interrupted: no file was written; repeat the command"
    assert (ended.returncode, ended.stderr.strip()) == (130, told)
    assert {path.name for path in tmp_path.iterdir()} == {"access.log"}


def test_a_signal_within_polars_raises_outside_of_it() -> None:
    """The function that Polars calls ends; the interruption comes after."""
    ended = []

    def called(value: int) -> int:
        signal.raise_signal(signal.SIGINT)
        ended.append(value)
        return value

    def call_and_go_on() -> None:
        pl.Series([7]).map_elements(called, return_dtype=pl.Int64)
        threading.Event().wait(30)

    with signals.SIGNALS.hearing(), pytest.raises(Interrupted):
        call_and_go_on()
    assert ended == [7]
