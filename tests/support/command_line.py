"""The command line in a process of its own, and waiting for what it does."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final

from logreplay.cli.main import run
from logreplay.cli.signals import SIGNALS

COMMAND: Final = (sys.executable, "-m", "logreplay.cli.main")
MEASURED: Final = (0, 3)
"""Exit codes of a run that came to its end; a busy machine may make it no measurement: not the question here."""
PATIENCE: Final = 60.0


_STARTED: Final[list["subprocess.Popen[Any]"]] = []


def started(*command: object, **options: Any) -> "subprocess.Popen[Any]":
    """Start a process that ends with the test at the latest."""
    _STARTED.append(subprocess.Popen([*map(str, command)], **options))
    return _STARTED[-1]


def end_started() -> None:
    """End the processes that a test has left, with the process groups that they lead."""
    while _STARTED:
        process = _STARTED.pop()
        if process.poll() is None:
            leads = os.getpgid(process.pid) == process.pid
            (os.killpg if leads else os.kill)(process.pid, signal.SIGKILL)
            process.wait(PATIENCE)
        for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
            pipe.close()


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)  # a file tells nobody that it grows: ask again


@contextmanager
def interrupted_when(ready: Callable[[], object]) -> Iterator[None]:
    """Send Ctrl-C to this process, which hears it as the program does, when a wait in another thread is over.

    None is sent after the block, where it would end all tests.
    """
    over = threading.Event()

    def interrupt() -> None:
        ready()
        if not over.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    with SIGNALS.hearing(), ThreadPoolExecutor(1) as threads:
        sent = threads.submit(interrupt)
        try:
            yield
        finally:
            over.set()
        sent.result()


def wait_for_rows(path: Path, size: int = 1000) -> None:
    """Wait until a file holds some rows."""
    wait_until(lambda: path.exists() and path.stat().st_size > size)


def wait_for_text(path: Path, text: str) -> None:
    """Wait until a file holds a text."""
    wait_until(lambda: text in path.read_text())


def children(pid: int) -> list[int]:
    """Processes that a process has begun and that run, in order."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sorted(int(child) for task in tasks for child in (task / "children").read_text().split())


def semaphores_of(pid: int) -> list[Path]:
    """The named semaphores that a process has open, without those of others on this machine."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    inodes = {int(line.split()[4]) for line in lines if "/dev/shm/sem." in line}  # they are mapped by another name
    return [Path(entry.path) for entry in os.scandir("/dev/shm") if entry.inode() in inodes]


def workers_of(pid: int) -> list[int]:
    """Of the children of a process the workers of ``--workers``."""
    return [child for child in children(pid) if b"workers.worker" in Path(f"/proc/{child}/cmdline").read_bytes()]


@contextmanager
def leading_to(name: str, file: IO[Any], mode: str) -> Iterator[None]:
    """Let a standard stream and its descriptor lead to a file."""
    before, number = getattr(sys, name), ("stdin", "stdout", "stderr").index(name)
    kept = os.dup(number)
    os.dup2(file.fileno(), number)
    try:
        with open(number, mode, encoding="utf-8", errors="replace", closefd=False) as stream:
            setattr(sys, name, stream)
            yield
    finally:
        setattr(sys, name, before)
        os.dup2(kept, number)
        os.close(kept)


def typed(folder: Path, *words: str | Path, stdin: Path = Path(os.devnull)) -> "subprocess.CompletedProcess[str]":
    """What a command says and ends with; in this process, since another takes half a second to load the modules."""
    command = [str(word) for word in words]
    with ExitStack() as stack:
        out, err = (stack.enter_context(TemporaryFile()) for _ in range(2))
        with (
            chdir(folder),
            stdin.open("rb") as given,
            leading_to("stdin", given, "r"),
            leading_to("stdout", out, "w"),
            leading_to("stderr", err, "w"),
        ):
            code = run(command)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    return subprocess.CompletedProcess(command, code, *texts)
