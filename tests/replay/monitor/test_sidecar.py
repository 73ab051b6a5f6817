import asyncio
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NoReturn, cast
from urllib.parse import urlsplit

import pytest

from logreplay.replay.monitor import sidecar as sidecar_module
from logreplay.replay.monitor import sidecar_main
from logreplay.replay.monitor.access import Address
from logreplay.replay.monitor.control_socket import give_order
from logreplay.replay.monitor.probes import Probe, ProbeReading
from logreplay.replay.monitor.sidecar import Answer, Heard, Opened, Sidecar, SidecarConfig, SidecarDied
from logreplay.replay.monitor.sidecar_main import _offer, _serve
from logreplay.replay.monitor.snapshot import Snapshot
from logreplay.replay.schedules.orders import parse_order


def _children() -> set[str]:
    with open(f"/proc/self/task/{os.getpid()}/children") as children:
        return set(children.read().split())


def test_it_ends_without_a_word_if_the_replay_ended_before_it_had_opened() -> None:
    replay, peer = Pipe()
    command = [sys.executable, "-m", "logreplay.replay.monitor.sidecar_main"]
    with subprocess.Popen(command, stdin=peer.fileno(), stderr=subprocess.PIPE) as process, peer:
        replay.send([])
        replay.send(SidecarConfig(live=Address("127.0.0.1", 0)))
        replay.close()
        assert process.stderr
        assert (process.stderr.read(), process.wait(30)) == (b"", 0)


def test_it_ends_without_a_word_if_the_replay_ended_before_it_said_what_to_serve() -> None:
    command = [sys.executable, "-m", "logreplay.replay.monitor.sidecar_main"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    assert done.stderr == b""


def test_it_is_ended_if_the_replay_is_interrupted_while_it_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    before = _children()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Connection, "poll", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Sidecar(SidecarConfig(live=Address("127.0.0.1", 0)), lambda _: None)
    assert _children() == before


STRANGE = [
    b"POST /stop HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \xff\xfe\r\n\r\n",
    b"POST /control HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n",
    b"\x16\x03\x01 what is this\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: \xff\r\nContent-Length: -1\r\n\r\n",
]


def test_what_a_stranger_sends_to_the_live_page_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Tracebacks, with the bytes of the stranger, came onto the terminal of the user."""
    sidecar = Sidecar(SidecarConfig(live=Address("127.0.0.1", 0)), lambda _: None)
    try:
        address = urlsplit(sidecar.opened.live)
        for request in STRANGE:
            with socket.create_connection((address.hostname, address.port), timeout=30) as stranger:
                stranger.sendall(request)
                assert b" 40" in stranger.recv(1 << 16)[:12]
    finally:
        sidecar.close()
    assert capfd.readouterr() == ("", "")


def test_a_killed_sidecar_is_reported_and_a_closed_one_is_not() -> None:
    """Nobody was told that the figures of other systems, the page and the metrics had ended."""
    config, before = SidecarConfig(probes=(Probe("one", "echo 1", "command"),)), _children()
    for killed in (True, False):
        heard: queue.SimpleQueue[Heard] = queue.SimpleQueue()
        sidecar = Sidecar(config, heard.put)
        (process,) = _children() - before
        assert isinstance(heard.get(timeout=30), ProbeReading)
        if killed:
            os.kill(int(process), signal.SIGKILL)
            while isinstance(last := heard.get(timeout=30), ProbeReading):
                pass
            assert isinstance(last, SidecarDied)
        sidecar.close()
        while not heard.empty():
            assert isinstance(heard.get(), ProbeReading)


def test_a_sidecar_that_hangs_is_ended_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody was told that the page, the metrics and the figures of other systems stood still."""
    monkeypatch.setattr(sidecar_module, "_SILENT_S", 2)
    before, heard = _children(), queue.SimpleQueue[Heard]()
    sidecar = Sidecar(SidecarConfig(probes=(Probe("one", "echo 1", "command"),)), heard.put)
    (process,) = _children() - before
    assert isinstance(heard.get(timeout=30), ProbeReading)
    os.kill(int(process), signal.SIGSTOP)
    stopped = time.monotonic()
    while isinstance(last := heard.get(timeout=10), ProbeReading):
        pass
    assert isinstance(last, SidecarDied)
    assert last.why == "did not respond for 2 s, and was ended"
    assert last.at == pytest.approx(stopped, abs=1.5)
    sidecar.close()
    assert heard.empty()
    assert _children() == before


def test_a_sidecar_that_hangs_as_soon_as_it_serves_is_ended_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait for its first message had no end."""
    own, peer = Pipe()
    peer.send(Opened("", ""))
    process = subprocess.Popen(["sleep", "60"])
    monkeypatch.setattr(sidecar_module, "start_child", lambda _: (process, own))
    monkeypatch.setattr(sidecar_module, "_SILENT_S", 1)
    heard = queue.SimpleQueue[Heard]()
    sidecar = Sidecar(SidecarConfig(), heard.put)
    try:
        assert isinstance(heard.get(timeout=5), SidecarDied)
    finally:
        sidecar.close()
        peer.close()


def test_a_sidecar_goes_on_while_the_replay_is_stopped() -> None:
    """Unread messages of two minutes, later readings alone, filled the pipe, and the page and the metrics hung."""
    replay, sidecar = Pipe()
    with replay, sidecar:
        os.set_blocking(sidecar.fileno(), False)  # a full pipe is an error here, and no wait
        for at in range(2000):
            _offer(sidecar, ProbeReading("load", at, 1.0))
        assert replay.recv() == ProbeReading("load", 0, 1.0)


def test_neither_a_reading_nor_a_sign_of_life_is_sent_over_a_full_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reading that waited for a stopped replay held up the page and the metrics."""
    read, told = threading.Event(), list[object]()

    async def reads(_: object, tell: Callable[[ProbeReading], object]) -> None:
        tell(ProbeReading("load", 0, 1.0))
        read.set()
        await asyncio.Event().wait()

    class Stopped:
        """The end of a connection to a replay that reads nothing."""

        def send(self, message: object) -> None:
            told.append(message)

        def recv(self) -> NoReturn:
            assert read.wait(30)
            raise EOFError

        def fileno(self) -> int:
            return full.fileno()

    monkeypatch.setattr(sidecar_main, "keep_reading", reads)
    full, unread = Pipe()
    with full, unread:
        os.set_blocking(full.fileno(), False)
        with suppress(BlockingIOError):
            while True:
                os.write(full.fileno(), bytes(1 << 16))
        replay = cast("Connection[object, object]", Stopped())
        asyncio.run(asyncio.wait_for(_serve(SidecarConfig(), replay), 30))
    assert told == [Opened("", "")]


def test_a_sidecar_that_has_nothing_to_say_does_not_count_as_hanging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sidecar_module, "_SILENT_S", 2)
    heard = queue.SimpleQueue[Heard]()
    sidecar = Sidecar(SidecarConfig(live=Address("127.0.0.1", 0)), heard.put)
    with pytest.raises(queue.Empty):
        heard.get(timeout=2.5)
    sidecar.close()


def test_the_answer_to_an_order_comes_also_behind_more_snapshots_than_are_kept(tmp_path: Path) -> None:
    """It was dropped with them, and the client told that its order does not count, though the load had changed."""
    before = _children()

    def obey(_: object, answer: Answer) -> None:
        (process,) = _children() - before
        os.kill(int(process), signal.SIGSTOP)
        for _ in range(2000):
            sidecar.show(Snapshot(notes=("a note of the run",) * 100))
        answer(True, "paused")
        os.kill(int(process), signal.SIGCONT)

    sidecar = Sidecar(SidecarConfig(control=tmp_path), lambda _: None, obey)
    try:
        assert give_order(tmp_path, parse_order("pause")) == "paused"
    finally:
        sidecar.close()


def test_a_probe_that_is_read_after_the_replay_was_killed_ends_it_without_a_word() -> None:
    """A killed replay left a traceback on its terminal."""

    class Killed:
        """The end of a connection to a process that is gone, which is seen by writing first."""

        def __init__(self) -> None:
            self.seen, self.told = threading.Event(), 0

        def send(self, message: object) -> None:
            self.told += 1
            if self.told > 1:
                self.seen.set()
                raise BrokenPipeError

        def recv(self) -> NoReturn:
            assert self.seen.wait(30)
            raise EOFError

        def fileno(self) -> int:
            return writable.fileno()

    writable, reader = Pipe()
    replay = Killed()
    config = SidecarConfig(probes=(Probe("one", "echo 1", "command"),))
    with writable, reader:
        asyncio.run(asyncio.wait_for(_serve(config, cast("Connection[object, object]", replay)), 30))
    assert replay.told > 1
