"""The target of known capacity as a child process."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

import logreplay
from logreplay.core.errors import LogreplayError
from logreplay.replay.servers.known_capacity import ServerCapacity
from logreplay.replay.servers.target_process import Server
from support.command_line import children

LOG = "date,time,latency,xfertime,thinktime,bytes,url,rc,op\n2026-01-01,00:00:00,0,0,0,77,/a,200,GET\n"
PARENT = """
import logreplay, os, signal, sys
server = logreplay.serve(sys.argv[1])
print(server.url, flush=True)
os.kill(os.getpid(), int(sys.argv[2])) if int(sys.argv[2]) else None
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(LOG)
    return path


def size(url: str) -> int:
    with urlopen(f"{url}/a") as response:
        return len(response.read())


def test_a_server_ends_with_its_block_and_prints_nothing(log: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with logreplay.serve(log, workers=8, service_time="2ms") as server:
        assert size(server.url) == 77
        assert server.capacity.rate == 4000
        assert server.notes == ()
    with pytest.raises(OSError, match="refused"):
        size(server.url)
    assert capfd.readouterr() == ("", "")


def test_a_server_notes_that_it_gives_several_answers_to_one_request_in_turn(log: Path) -> None:
    """A duet with two runs of one server found differences that were those of the log."""
    log.write_text(LOG + LOG.splitlines()[-1].replace(",200,", ",304,") + "\n")
    with logreplay.serve(log) as server:
        assert server.notes == ("1 request has several answers in the log, given in turn to whoever asks",)


@pytest.mark.parametrize("number", [0, 9])
def test_a_server_ends_with_the_process_that_started_it(number: int, log: Path) -> None:
    """Its end of standard error closes when it has ended."""
    command = [sys.executable, "-c", PARENT, str(log), str(number)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (-number, "")
    with pytest.raises(OSError, match="refused"):
        size(ended.stdout.strip())


def test_a_server_that_cannot_start_says_why_in_an_error_alone(
    log: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(LogreplayError, match=r"gone\.csv: no such file"):
        Server(tmp_path / "gone.csv", ServerCapacity())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LogreplayError, match=rf"cannot listen on 127\.0\.0\.1:{port}: Address already in use"):
            logreplay.serve(log, port=port)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"workers": 0}, "workers=0"), ({"service_time": 0}, "service_time=0"), ({"port": 65536}, "port=65536")],
)
def test_a_server_that_nobody_could_mean_is_refused(wrong: dict[str, Any], said: str, log: Path) -> None:
    with pytest.raises(logreplay.UsageError, match=said):
        logreplay.serve(log, **wrong)


def test_the_command_ends_with_an_error_if_its_server_was_killed(log: Path) -> None:
    program = "from logreplay.cli.main import main; main()"
    command = [sys.executable, "-c", program, "serve", str(log), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        assert "carries" in process.stderr.readline()
        (server,) = children(process.pid)
        os.kill(server, signal.SIGKILL)
        assert "the server was killed, or crashed" in process.stderr.read()
        assert process.wait(30) == 1
