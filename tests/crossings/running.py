"""Runs one crossing: the program in a session of its own, with the terminal and the signals that were chosen."""

import fcntl
import os
import pty
import shlex
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from crossings.pairs import Case
from crossings.table import COMMANDS, READING
from crossings.target import Got, targets
from crossings.world import World, log_line
from support.background_server import beside

PATIENCE_S: Final = 90.0
"""Crossings last two or three seconds; so much more is for a busy machine."""
_UNREAD_S: Final = 4.0
"""How long nobody reads what a program with blocked pipes prints."""
_PIPE_BYTES: Final = 4096
_SIGNALS: Final = {
    "INT": signal.SIGINT,
    "TERM": signal.SIGTERM,
    "HUP": signal.SIGHUP,
    "INT twice": signal.SIGINT,
    "KILL": signal.SIGKILL,
    "TERM to all": signal.SIGTERM,
    "HUP to all": signal.SIGHUP,
}


@dataclass
class Ran:
    """What became of a crossing.

    Attributes:
        code: exit code; None: it had to be killed.
        out, err: what it printed; on a terminal all of it in ``err``.
        signalled: the signal reached the program while it ran.
        lost: how many of its workers were killed.
        sent_s: from the first request to the end of the program; negative if there was none.
        got: what the target got; of a duet the baseline.
        others: what the other targets of a duet got, by name.
        strays: processes of its session that were still there.
    """

    words: list[str]
    code: int | None = None
    out: str = ""
    err: str = ""
    signalled: bool = False
    lost: int = 0
    seconds: float = 0.0
    sent_s: float = 0.0
    got: Got = field(default_factory=Got)
    others: dict[str, Got] = field(default_factory=dict)
    strays: list[str] = field(default_factory=list)


def words_of(case: Case, urls: Mapping[str, str]) -> list[str]:
    """The command line, without the name of the program."""
    factors = COMMANDS[case.command]
    given = {name: factors[name][value].format(**urls) for name, value in case.choice.items()}
    log, to = given.pop("input"), given.pop("target", "")
    first = [log, to, *([given.pop("candidate")] if case.command == "duet" else [])]
    if case.command in READING:
        first = shlex.split(log)
    elif not to:
        first = [log]
    options = [word for words in given.values() for word in shlex.split(words)]
    if case.command == "sweep":
        pacing = shlex.split(given["pacing"])
        options = options[len(pacing) :]
        first = [*pacing, *first]
    return [case.command, *first, *options]


def other_targets(case: Case) -> dict[str, str]:
    """The kinds of the targets of a duet beside the baseline, by name."""
    if case.command != "duet":
        return {}
    found = {"candidate": case.choice["candidate"]}
    if case.choice["noise"] != "-":
        found["noise"] = "loopback"
    if case.choice["swap"] != "-":
        found |= {"baseline2": case.choice["target"], "candidate2": case.choice["candidate"]}
    return found


def run(case: Case, world: World, tls: ssl.SSLContext) -> Ran:
    """Run a crossing to its end, or kill it after `PATIENCE_S`."""
    kind = case.choice.get("target", "builtin")
    kinds = {**({} if kind == "builtin" else {"target": kind}), **other_targets(case)}
    with ExitStack() as stack:
        others = stack.enter_context(beside(partial(targets, kinds, world.folder, tls)))
        got = others.pop("target", Got())
        urls = {"url": got.url} | {name: other.url for name, other in others.items()}
        ran = Ran(words_of(case, urls), got=got, others=others)
        began = time.monotonic()
        _run(case, world, ran, stack)
        ended = time.monotonic()
        ran.seconds, ran.sent_s = ended - began, ended - got.first
    return ran


def _run(case: Case, world: World, ran: Ran, stack: ExitStack) -> None:
    changed = ("LOGREPLAY_", "PYTHONUNBUFFERED")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(changed)}
    home = str(world.folder / "home")
    env = {**kept, "TMPDIR": str(world.folder / "tmp"), "HOME": home, "XDG_CACHE_HOME": home, "XDG_CONFIG_HOME": home}
    env |= {"PYTHONFAULTHANDLER": "1", "COLUMNS": "100", "TERM": "xterm", **world.env}
    terminal = _TERMINALS[case.choice["terminal"]](case.moment / 1000)
    stdin = subprocess.DEVNULL
    if case.choice["input"] == "stdin":
        stdin = stack.enter_context((world.folder / "access.log").open("rb")).fileno()
    command = [sys.executable, "-m", "logreplay.cli.main", *ran.words]
    if case.choice["stdin"] == "closed":
        command = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *command]
    process = subprocess.Popen(
        command, cwd=world.folder, env=env, stdin=stdin, stdout=terminal.out, stderr=terminal.err,
        start_new_session=True,
    )  # fmt: skip
    terminal.begin()
    ended = threading.Event()
    beside_it = [threading.Thread(target=work, daemon=True) for work in _companions(case, world, process, ran, ended)]
    for thread in beside_it:
        thread.start()
    try:
        ran.code = process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)  # faulthandler tells where it hung
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)
    finally:
        ended.set()
        ran.strays = _strays(process.pid)
        for pid in _session(process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.kill()
        process.wait(PATIENCE_S)
    for thread in beside_it:
        thread.join(10)
    ran.out, ran.err = terminal.end()


def _companions(
    case: Case, world: World, process: "subprocess.Popen[bytes]", ran: Ran, ended: threading.Event
) -> Iterator[Callable[[], None]]:
    """What goes on beside the program."""
    if case.choice["input"] == "pipe":
        yield lambda: _feed(world.folder / "pipe.log", world.inputs["access.log"], ended)
    if case.choice["signal"].startswith("KILL worker"):
        yield lambda: _kill_workers(case, process, ran, ended)
    elif case.choice["signal"] != "-":
        yield lambda: _signal(case, process, ran, ended)
    if case.choice.get("pacing") == "follow":
        yield lambda: _grow(world.folder / "access.log", ended)


def _feed(path: Path, data: bytes, ended: threading.Event) -> None:
    """Write into a named pipe as soon as it is opened for reading, once."""
    while not ended.wait(0.01):
        with suppress(OSError):
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            os.set_blocking(descriptor, True)
            with suppress(BrokenPipeError), open(descriptor, "wb") as pipe:
                pipe.write(data)
            return


def _grow(path: Path, ended: threading.Event) -> None:
    """Append lines to a log, as a server would."""
    number = 0
    while not ended.wait(0.05):
        with path.open("a") as log:
            log.write(log_line(number, datetime.now(UTC)))
        number += 1


def _signal(case: Case, process: "subprocess.Popen[bytes]", ran: Ran, ended: threading.Event) -> None:
    number = _SIGNALS[case.choice["signal"]]
    while not _handles(process.pid, signal.SIGTERM):
        if ended.wait(0.01):
            return
    if ended.wait(case.moment / 1000):
        return
    ran.signalled = True
    if case.choice["signal"].endswith("to all"):
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    if case.choice["signal"] == "INT twice" and not ended.wait(0.3):
        process.send_signal(number)


def _kill_workers(case: Case, process: "subprocess.Popen[bytes]", ran: Ran, ended: threading.Event) -> None:
    """Kill workers: at an even moment after the first request, else at the moment, which may be while they start."""
    while not _handles(process.pid, signal.SIGTERM) or (case.moment % 2 == 0 and not ran.got.requests):
        if ended.wait(0.01):
            return
    if ended.wait(case.moment / 4000):
        return
    workers = [pid for pid in sorted(_session(process.pid)) if b"workers.worker" in _command(pid)]
    for pid in workers if case.choice["signal"] == "KILL workers" else workers[:1]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            ran.lost += 1


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _handles(pid: int, number: signal.Signals) -> bool:
    """Whether a process has taken over a signal, that is, whether our program runs and not yet its interpreter only."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


def _session(leader: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, session = path.read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state != "Z":
                found.append(int(path.parent.name))
    return [pid for pid in found if pid != leader]


def _strays(leader: int) -> list[str]:
    """Processes that are left, some time after their leader ended."""
    until = time.monotonic() + 10
    while (left := _session(leader)) and time.monotonic() < until:
        time.sleep(0.05)  # they tell nobody when they end
    names = []
    for pid in left:
        with suppress(OSError):
            names.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:200])
    return names


class _Pipes:
    """Standard output and error as pipes, each read at once, or after a while."""

    def __init__(self, unread_s: float = 0.0) -> None:
        self._unread_s = unread_s
        self._pipes = [os.pipe(), os.pipe()]
        if unread_s:
            for _, write in self._pipes:
                fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self.out, self.err = (write for _, write in self._pipes)
        self._read: dict[int, bytes] = {}

    def begin(self) -> None:
        self._threads = [threading.Thread(target=self._drain, args=(read,), daemon=True) for read, _ in self._pipes]
        for _, write in self._pipes:
            os.close(write)
        for thread in self._threads:
            thread.start()

    def _drain(self, descriptor: int) -> None:
        time.sleep(self._unread_s)
        with open(descriptor, "rb") as pipe:
            self._read[descriptor] = pipe.read()

    def end(self) -> tuple[str, str]:
        for thread in self._threads:
            thread.join(PATIENCE_S)
        out, err = (self._read.get(read, b"").decode(errors="replace") for read, _ in self._pipes)
        return out, err


class _Head(_Pipes):
    """Standard output is closed after its first bytes, as ``head`` does."""

    def _drain(self, descriptor: int) -> None:
        if descriptor == self._pipes[0][0]:
            self._read[descriptor] = os.read(descriptor, 20)
            os.close(descriptor)
        else:
            super()._drain(descriptor)


class _Terminal:
    """All three lead to a pseudo-terminal, which may go away after some seconds."""

    def __init__(self, gone_after_s: float | None = None) -> None:
        self._gone_after_s = gone_after_s
        self._master, slave = pty.openpty()
        self.out = self.err = slave
        self._read = bytearray()

    def begin(self) -> None:
        os.close(self.out)
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        os.set_blocking(self._master, False)
        until = None if self._gone_after_s is None else time.monotonic() + self._gone_after_s + 0.5
        while until is None or time.monotonic() < until:
            try:
                self._read += os.read(self._master, 65536)
            except BlockingIOError:
                time.sleep(0.01)  # polled, so that it can go away in time
            except OSError:
                break
        os.close(self._master)

    def end(self) -> tuple[str, str]:
        self._thread.join(PATIENCE_S)
        return "", self._read.decode(errors="replace")


_TERMINALS: Final[dict[str, Callable[[float], _Pipes | _Terminal]]] = {
    "-": lambda _: _Pipes(),
    "blocked": lambda _: _Pipes(_UNREAD_S),
    "head": lambda _: _Head(),
    "pty": lambda _: _Terminal(),
    "hangup": _Terminal,
}
