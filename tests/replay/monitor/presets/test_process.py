"""The figures of a process: real processes that use a known processor time, and then wait."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from logreplay.replay.monitor.presets import process as module
from logreplay.replay.monitor.presets.figures import Figure
from logreplay.replay.monitor.presets.process import ProcessTree

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="no /proc/PID/schedstat here")

WORKERS = """
import os, threading, time

def burn(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass
    print("burned", flush=True)
    over.wait()

over = threading.Event()
for seconds in ([0.3], [0.2, 0.2]):
    if not os.fork():
        print("ready", flush=True)
        os.read(0, 1)
        for each in seconds:
            threading.Thread(target=burn, args=(each,)).start()
        over.wait()
over.wait()
"""
"""A master and two workers; each begins to burn when it has read a byte, one with two threads."""


@contextmanager
def running(*command: str) -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, bufsize=0
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def read(source: ProcessTree, at: float) -> Mapping[str, Figure]:
    session: Any = None
    return asyncio.run(source.read(session, at))


def lines(process: "subprocess.Popen[bytes]", word: bytes, count: int) -> None:
    assert process.stdout
    assert [process.stdout.readline() for _ in range(count)] == [word + b"\n"] * count


def test_a_master_and_its_workers_count_together_and_singly_and_by_thread() -> None:
    with running(sys.executable, "-c", WORKERS) as master:
        assert master.stdin
        lines(master, b"ready", 2)
        source = ProcessTree(str(master.pid))
        before = read(source, 10.0)
        master.stdin.write(b"12")
        lines(master, b"burned", 3)
        found = read(source, 12.0)
    assert set(before) == {"descriptors", "threads"}, "the first reading knows no growth"
    assert found["cpu"].value == pytest.approx(0.7 / 2, abs=0.05)
    assert found["cpu"].maximum == pytest.approx(len(os.sched_getaffinity(0)), abs=1)
    assert found["process"].value == pytest.approx(0.4 / 2, abs=0.04)
    assert 0.06 <= (found["thread"].value or 0) <= 0.2, "two threads share 0.4 s as the interpreter lets them"
    assert found["process"].maximum == found["thread"].maximum == 1.0
    waiting = found["waiting"].value
    assert waiting is not None
    assert waiting >= 0
    assert (before["threads"].value, found["threads"].value) == (3, 6)
    assert found["descriptors"].maximum == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert found["descriptors"].value == pytest.approx(3, abs=3)


def test_the_time_of_a_worker_that_ended_stays_in_the_sum() -> None:
    command = 'echo ready; read _; python="$1"; "$python" -c "$2"; echo burned; read _; exit'
    burn = "import time\nwhile time.process_time() < 0.4: pass"
    with running("sh", "-c", command, "sh", sys.executable, burn) as shell:
        assert shell.stdin
        lines(shell, b"ready", 1)
        source = ProcessTree(str(shell.pid))
        read(source, 0.0)
        shell.stdin.write(b"\n")
        lines(shell, b"burned", 1)
        found = read(source, 1.0)
    assert found["cpu"].value == pytest.approx(0.42, abs=0.06)
    assert found["process"].value == pytest.approx(0.0, abs=0.03), "the shell only waits"


def test_a_child_that_one_reading_of_the_kernels_list_leaves_out_adds_no_time_of_its_past(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All the time that it had ever used was counted in the second in which it was listed again."""
    with running(sys.executable, "-c", WORKERS) as master:
        assert master.stdin
        lines(master, b"ready", 2)
        master.stdin.write(b"12")
        lines(master, b"burned", 3)
        source = ProcessTree(str(master.pid))
        read(source, 0.0)
        with monkeypatch.context() as without:
            take = module._Tree._take
            without.setattr(module._Tree, "_take", lambda tree, pid: take(tree, pid) * (pid != master.pid))
            during = read(source, 1.0)
        after = read(source, 2.0)
    for found in (during, after):
        assert found["cpu"].value == pytest.approx(0.0, abs=0.05)
        assert found["process"].value == pytest.approx(0.0, abs=0.05)
        assert found["threads"].value == 6


FORGETTING = """
import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if not os.fork():
    print("ready", flush=True)
    os.read(0, 1)
    os._exit(0)
try:
    os.wait()
except ChildProcessError:
    print("gone", flush=True)
os.read(0, 1)
"""
"""A server that ignores the ends of its children; the kernel then counts their time nowhere."""


def test_no_processor_time_is_told_where_the_parent_of_an_ended_process_does_not_count_it() -> None:
    with running(sys.executable, "-c", FORGETTING) as server:
        assert server.stdin
        lines(server, b"ready", 1)
        source = ProcessTree(str(server.pid))
        read(source, 0.0)
        assert read(source, 1.0)["cpu"].value == pytest.approx(0.0, abs=0.05)
        server.stdin.write(b"1")
        lines(server, b"gone", 1)
        found = read(source, 2.0)
        assert found["cpu"].value is None
        assert found["cpu"].problem == "processes ended whose time their parent does not count"
        assert found["process"].value == pytest.approx(0.0, abs=0.05)
        assert read(source, 3.0)["cpu"].value == pytest.approx(0.0, abs=0.05), "nothing ended since"


@pytest.mark.parametrize(
    ("lacking", "option"), [("children", "CONFIG_PROC_CHILDREN"), ("schedstat", "CONFIG_SCHED_INFO")]
)
def test_a_kernel_that_hides_children_or_times_is_named(
    lacking: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = str(os.getpid())
    (tmp_path / "self").symlink_to(own)
    (tmp_path / own / "task" / own).mkdir(parents=True)
    (tmp_path / own / "stat").write_text(Path("/proc/self/stat").read_text())
    for name in {"children", "schedstat"} - {lacking}:
        (tmp_path / own / "task" / own / name).write_text("")
    monkeypatch.setattr(module, "_PROC", tmp_path)
    with pytest.raises(ValueError, match=f"this kernel has no .*{lacking} .{option}.*watch its control group"):
        ProcessTree(own)


def test_the_maximum_is_the_number_of_processors_that_the_process_is_bound_to() -> None:
    with running("sh", "-c", "echo ready; read _; exit") as shell:
        lines(shell, b"ready", 1)
        os.sched_setaffinity(shell.pid, {min(os.sched_getaffinity(0))})
        source = ProcessTree(str(shell.pid))
        read(source, 0.0)
        assert read(source, 1.0)["cpu"].maximum == 1.0


def test_a_process_that_ends_is_told_at_once_also_while_nobody_waits_for_it() -> None:
    with running("sh", "-c", "echo ready; read _; exit") as shell:
        lines(shell, b"ready", 1)
        source = ProcessTree(str(shell.pid))
        read(source, 0.0)
        os.kill(shell.pid, signal.SIGKILL)
        os.waitid(os.P_PID, shell.pid, os.WEXITED | os.WNOWAIT)  # a zombie now
        with pytest.raises(ValueError, match=f"process {shell.pid} has ended"):
            read(source, 1.0)
        shell.wait()
        with pytest.raises(ValueError, match=f"process {shell.pid} has ended"):
            read(source, 2.0)
        with pytest.raises(ValueError, match="no such process on this machine"):
            ProcessTree(str(shell.pid))


@pytest.mark.parametrize("text", ["", "0", "-1", "nginx", "1/../2", "99999999999"])
def test_what_is_no_number_of_a_process_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected the number of a process, such as pid:1234"):
        ProcessTree(text)
