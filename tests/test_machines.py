"""Several machines: network namespaces with a scheduler, two workers and a target, each behind its own address."""

import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import NGINX, NGINX_COMBINED, NGINX_CONF
from logreplay.core.rows import scan
from support.command_line import COMMAND, started, wait_until

pytest.importorskip("distributed", reason="needs the extra `cluster`")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="only root makes network namespaces"),
    pytest.mark.skipif(not NGINX, reason="nginx is not installed"),
]

COORDINATOR, WORKERS, TARGET = "10.77.0.1", ("10.77.0.2", "10.77.0.3"), "10.77.0.4"
HEADER = "date,time,latency,xfertime,thinktime,bytes,url,rc,op"


def ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, timeout=10)
    if done.returncode:
        raise OSError(f"ip {' '.join(arguments)}: {done.stderr}")


class Network:
    """Machines behind a switch. Leaves nothing when its stack unwinds."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._switch = self._machine("switch")
        ip("-n", self._switch, "link", "add", "name", "bridge0", "type", "bridge")
        ip("-n", self._switch, "link", "set", "bridge0", "up")
        for number, address in enumerate((COORDINATOR, *WORKERS, TARGET)):
            name, port = self._machine(address), f"port{number}"
            ip("-n", self._switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("-n", self._switch, "link", "set", port, "master", "bridge0", "up")
            ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")

    def _machine(self, name: str) -> str:
        space = self._space(name)
        ip("netns", "add", space)
        self._stack.callback(ip, "netns", "delete", space)
        ip("-n", space, "link", "set", "lo", "up")
        return space

    @staticmethod
    def _space(name: str) -> str:
        return f"logreplay-{os.getpid()}-{name}"

    def on(self, address: str, *command: object) -> list[str]:
        """A command, as it is run on a machine."""
        return ["ip", "netns", "exec", self._space(address), *map(str, command)]

    def start(self, address: str, *command: object) -> "subprocess.Popen[bytes]":
        """Run a command on a machine until the stack unwinds."""
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(self.on(address, *command), stdout=quiet, stderr=quiet)

        def end() -> None:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

        self._stack.callback(end)
        return process

    def unplug(self, address: str) -> None:
        """Take a machine off the switch."""
        ip("-n", self._space(address), "link", "set", "eth0", "down")


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    """Machines with a scheduler, two workers, and an nginx."""
    with ExitStack() as stack:
        try:
            machines = Network(stack)
        except OSError as error:
            pytest.skip(f"network namespaces cannot be made here: {error}")
        dask = (sys.executable, "-m", "dask")
        machines.start(COORDINATOR, *dask, "scheduler", "--host", COORDINATOR, "--port", 8786, "--no-dashboard")
        for address in WORKERS:
            worker = ("worker", f"tcp://{COORDINATOR}:8786", "--nthreads", 1, "--no-dashboard", "--no-nanny")
            machines.start(address, *dask, *worker, "--host", address, "--local-directory", tmp_path / address)
        conf = NGINX_CONF.format(
            folder=tmp_path,
            port=8080,
            log_format=NGINX_COMBINED,
            escape="default",
            server="location / { return 200 hello; }",
        ).replace("127.0.0.1:8080", f"{TARGET}:8080")
        (tmp_path / "nginx.conf").write_text(conf)
        machines.start(TARGET, NGINX, "-p", tmp_path, "-c", tmp_path / "nginx.conf")
        yield machines


Replay = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def replay(network: Network, tmp_path: Path) -> Replay:
    """Starts a replay of so many distinct requests on the coordinator's machine."""

    def start(requests: int, tps: int) -> "subprocess.Popen[str]":
        log = tmp_path / "log.csv"
        rows = (f"2026-01-01,00:00:00.000000,0,0,0,0,/{number},200,GET\n" for number in range(requests))
        log.write_text("".join(itertools.chain([HEADER + "\n"], rows)))
        command = (*COMMAND, "run", log, f"http://{TARGET}:8080", "--tps", tps)
        options = ("--cluster", f"tcp://{COORDINATOR}:8786", "--allow-target", TARGET, "--workers", 2)
        words = network.on(COORDINATOR, *command, *options, "-o", tmp_path / "r.csv", "--json")
        return started(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


def finished(start: Callable[[], "subprocess.Popen[str]"]) -> tuple[int, dict[str, Any], str]:
    """Start the replay until all machines are up and it prints a result; return exit code, summary and messages."""
    deadline = time.monotonic() + 60
    while True:
        process = start()
        out, err = process.communicate(timeout=120)
        if out:
            return process.returncode, json.loads(out), err
        assert "Traceback" not in err, err
        assert time.monotonic() < deadline, err


def arrived(folder: Path) -> list[tuple[str, str]]:
    """Who asked for what, as the target's own log says."""
    lines = (folder / "access.log").read_text().splitlines()
    return [(line.split()[0], line.split('"')[1].split()[1]) for line in lines if '"GET /' in line]


def test_two_machines_send_what_one_would(replay: Replay, tmp_path: Path) -> None:
    code, summary, err = finished(lambda: replay(1000, 500))
    assert code in (0, 3), err
    came = arrived(tmp_path)
    assert Counter(url for _, url in came) == Counter(f"/{number}" for number in range(1000))
    assert Counter(client for client, _ in came) == dict.fromkeys(WORKERS, 500)
    rows = scan(tmp_path / "r.csv").collect().sort("seq")
    assert rows["seq"].to_list() == list(range(1000))
    assert summary["requests"]["ok"] == 1000


def test_a_machine_that_is_unplugged_is_named_and_the_other_goes_on(
    replay: Replay, network: Network, tmp_path: Path
) -> None:
    finished(lambda: replay(10, 100))  # all are there
    for path in tmp_path.glob("r.*"):
        path.unlink()
    before = len(arrived(tmp_path))
    process = replay(1000, 50)
    wait_until(lambda: process.poll() is not None or len(arrived(tmp_path)) >= before + 100)
    assert process.poll() is None, process.communicate()
    network.unplug(WORKERS[1])
    out, err = process.communicate(timeout=120)
    summary = json.loads(out)
    counts, rows = summary["requests"], scan(tmp_path / "r.csv").collect()
    assert process.returncode == 3
    assert WORKERS[1] in err
    assert sorted(rows["seq"]) == list(range(1000))
    assert counts["scheduled"] == 1000 == counts["sent"] + counts["dropped"]
    assert max(Counter(arrived(tmp_path)[before:]).values()) == 1
    answered = rows.filter(pl.col("error").fill_null("") == "").group_by(pl.col("seq") % 2).len()
    assert answered["len"].max() == 500  # the half of the machine that stayed
