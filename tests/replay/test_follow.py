"""A log that is being written, rotated, truncated."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest

from conftest import ServerFactory
from logreplay.parsers.record import LogreplayError
from logreplay.replay.follow import Live, Tail
from recording import recording


class Writer:
    """Writes a log as a server does, and takes down what a tail yields of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.path.write_bytes(b"old\n")
        self.tail = Tail(path)
        self.seen = b""
        self._lines = iter(self.tail)
        self.wait_for(b"", at_least=1)

    def append(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)

    def wait_for(self, data: bytes, at_least: int = 0) -> None:
        for _ in range(at_least or 100):
            self.seen += next(self._lines)
            if data and self.seen.endswith(data):
                return
        assert self.seen.endswith(data)


def test_only_what_is_appended_is_seen_and_only_whole_lines(tmp_path: Path) -> None:
    log = Writer(tmp_path / "access.log")
    log.append(b"one\ntwo\nthr")
    log.wait_for(b"two\n")
    log.append(b"ee\n")
    log.wait_for(b"three\n")
    assert log.seen == b"one\ntwo\nthree\n"


def test_a_rotated_log_is_read_to_its_end_and_then_its_successor(tmp_path: Path) -> None:
    log = Writer(tmp_path / "access.log")
    log.append(b"one\n")
    log.wait_for(b"one\n")
    old = log.path.open("ab", buffering=0)
    log.path.rename(tmp_path / "access.log.1")
    old.write(b"two\n")  # the server has it open still
    log.wait_for(b"two\n")
    old.write(b"three")
    log.path.write_bytes(b"four\n")
    log.wait_for(b"four\n")
    assert log.seen == b"one\ntwo\nthree\nfour\n"
    assert log.tail.rotations == 1
    old.close()


def test_a_missing_log_is_waited_for(tmp_path: Path) -> None:
    log = Writer(tmp_path / "access.log")
    log.path.unlink()
    log.wait_for(b"", at_least=3)
    log.path.write_bytes(b"again\n")
    log.wait_for(b"again\n")
    assert log.seen == b"again\n"


def test_a_truncated_log_is_read_from_its_beginning(tmp_path: Path) -> None:
    log = Writer(tmp_path / "access.log")
    log.append(b"one\ntwo\n")
    log.wait_for(b"two\n")
    os.truncate(log.path, 0)
    log.append(b"new\n")
    log.wait_for(b"new\n")
    assert log.seen == b"one\ntwo\nnew\n"


def test_a_truncated_log_that_grew_longer_at_once_is_read_from_its_beginning(tmp_path: Path) -> None:
    log = Writer(tmp_path / "access.log")
    log.append(b"one\n")
    log.wait_for(b"one\n")
    with log.path.open("r+b") as file:
        file.truncate(0)
        file.write(b"two, and more than there was before\n")
    log.wait_for(b"before\n")
    assert log.seen == b"one\ntwo, and more than there was before\n"


def test_it_ends_when_its_time_is_over(tmp_path: Path) -> None:
    (tmp_path / "access.log").write_bytes(b"one\n")
    assert b"".join(Tail(tmp_path / "access.log", from_start=True, seconds=0.2)) == b"one\n"


def test_a_log_that_never_was_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LogreplayError, match=r"access\.log: No such file"):
        next(iter(Tail(tmp_path / "access.log")))


def test_live_requests_are_due_a_set_time_after_they_were() -> None:
    pace = Live(2.0, wall=lambda: 1_000_000_000_000).pacer()
    assert len(pace(np.array([], np.int64))) == 0
    due = pace(np.array([999_500_000, 1_000_250_000, 1_000_000_000, 900_000_000], np.int64))
    assert (due / 1e9).tolist() == [1.5, 2.25, 2.25, 2.25]
    assert (pace(np.array([1_001_000_000], np.int64)) / 1e9).tolist() == [3.0]


@pytest.mark.slow
def test_a_live_log_is_replayed_against_another_server(tmp_path: Path, nginx: ServerFactory) -> None:
    """A real server is visited, its log followed, and what it was asked arrives at another one in the same order."""
    production = nginx()
    urlopen(f"{production.url}/before").read()
    command = [sys.executable, "-m", "logreplay.cli.main", "run", str(production.log)]
    options = ["--follow", "--delay", "3", "-o", str(tmp_path / "results.csv"), "--match", "^/live"]

    async def main() -> list[str]:
        async with recording() as shadow:
            running = await asyncio.create_subprocess_exec(*command, shadow.url, *options, stderr=subprocess.PIPE)
            visits = 0
            deadline = time.monotonic() + 30
            while len(shadow.received) < 10 and time.monotonic() < deadline:
                await asyncio.to_thread(lambda path: urlopen(production.url + path).read(), f"/live/{visits}")
                visits += 1
                await asyncio.sleep(0.05)  # visitors are not in a hurry
            running.send_signal(signal.SIGINT)
            _, errors = await running.communicate()
            assert running.returncode == 130, errors.decode()
            return [one.target for one in shadow.received if one.target.startswith("/live")]

    arrived = asyncio.run(main())
    numbers = [int(target.removeprefix("/live/")) for target in arrived]
    assert len(numbers) >= 9
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
