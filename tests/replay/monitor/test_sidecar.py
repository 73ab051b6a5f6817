import os
import subprocess
import sys
from multiprocessing import Pipe
from multiprocessing.connection import Connection

import pytest

from logreplay.replay.monitor.access import Address
from logreplay.replay.monitor.sidecar import Sidecar, SidecarConfig


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
