"""A tool at work, seen from outside: what the target counted, and what the kernel says of the process.

No tool's own report is used, so all are measured alike: the rate is nginx's counter of requests, read at two instants
well within the run; processor time is that of the process (all threads) between the same two; memory is its peak;
and when requests arrived stands in nginx's log, in milliseconds.
"""

import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

import numpy as np

CORES: Final = sorted(os.sched_getaffinity(0))
SERVER, CLIENT = CORES[0], CORES[-1]
NGINX: Final = shutil.which("nginx") or "/usr/sbin/nginx"
WAYS: Final = ("http1", "http2", "tls")
_CERTIFICATE: Final = (
    *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
    *("-addext", "subjectAltName=IP:127.0.0.1"),
)
_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")
_SETTLE_S: Final = 0.7
_STARTED: Final = 100
_CONF: Final = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
    client_body_temp_path {folder}; proxy_temp_path {folder};
    fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
    keepalive_requests 100000000; access_log off;
    log_format arrivals '$msec $request_method';
    ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
    server {{
        listen 127.0.0.1:{http1} backlog=4096;
        listen 127.0.0.1:{http2} http2 backlog=4096;
        listen 127.0.0.1:{tls} ssl http2 backlog=4096;
        location = /counter {{ stub_status; }}
        location / {{ return 200 "hello, this is 24 bytes!"; }}
    }}
    server {{
        listen 127.0.0.1:{logged_http1} backlog=4096;
        listen 127.0.0.1:{logged_http2} http2 backlog=4096;
        listen 127.0.0.1:{logged_tls} ssl http2 backlog=4096;
        access_log {folder}/arrivals.log arrivals buffer=64k flush=1s;
        location / {{ return 200 "hello, this is 24 bytes!"; }}
    }}
}}
"""


class ToolFailed(Exception):
    """A tool did not do what it was asked."""


@dataclass(frozen=True)
class Load:
    """Requests per second, microseconds of processor time for each, and megabytes at most."""

    rate: float
    cpu_us: float
    memory_mb: float


@dataclass(frozen=True)
class Arrivals:
    """How requests came that were meant to come evenly. Seconds.

    Attributes:
        achieved: share of the rate asked for.
        off_p50, off_p99: distance of the k-th request from its place in an even schedule of that rate, which is laid
            so that half of them are early.
        gap: the longest between two requests.
    """

    achieved: float
    off_p50: float
    off_p99: float
    gap: float


@dataclass(frozen=True)
class Target:
    """An nginx on a core of its own: 24 bytes for each request.

    Attributes:
        urls, logged: its address for each way (`benchmarks.peers.tools.Tool`); the second keeps when each request came.
        log: where.
    """

    urls: Mapping[str, str]
    logged: Mapping[str, str]
    log: Path

    def requests(self) -> int:
        """How many it has answered."""
        with urllib.request.urlopen(f"{self.urls['http1']}counter") as answer:
            found = re.search(rb"\n ?\d+ \d+ (\d+)", answer.read())
        assert found
        return int(found[1])


def go_first() -> bool:
    """Give this process and its children priority over other programs; False where that is not permitted."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
        Path("/proc/self/autogroup").write_text("-20")  # niceness counts within the processes of a session only
    except OSError:
        return False
    return True


@contextmanager
def target(folder: Path) -> Iterator[Target]:
    """Run it while the block runs."""
    ports = {}
    for name in (*WAYS, *(f"logged_{way}" for way in WAYS)):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            ports[name] = probe.getsockname()[1]
    subprocess.run(
        [*_CERTIFICATE, "-keyout", "key.pem", "-out", "cert.pem"], cwd=folder, check=True, capture_output=True
    )
    (folder / "nginx.conf").write_text(_CONF.format(folder=folder, **ports))
    command: list[str | Path] = [NGINX, "-c", folder / "nginx.conf", "-p", folder, "-e", folder / "error.log"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        os.sched_setaffinity(process.pid, {SERVER})
        try:
            urls = {name: f"http{'s' if 'tls' in name else ''}://127.0.0.1:{port}/" for name, port in ports.items()}
            running = Target(urls, {way: urls[f"logged_{way}"] for way in WAYS}, folder / "arrivals.log")
            while True:
                try:
                    running.requests()
                    break
                except OSError:
                    if process.poll() is not None:
                        raise
                    time.sleep(0.05)
            yield running
        finally:
            process.terminate()


@contextmanager
def pinned(command: list[str]) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a command on the client's core while the block runs; it may end itself."""
    with (
        TemporaryFile("w+") as said,
        subprocess.Popen(["taskset", "-c", str(CLIENT), *command], stdout=subprocess.DEVNULL, stderr=said) as process,
    ):
        try:
            yield process
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            raise ToolFailed("does not end") from None
        except ToolFailed as error:
            said.seek(0)
            lines = said.read().strip().splitlines() or ["without a word"]
            raise ToolFailed(f"{error}: {lines[-1]}") from None
        finally:
            if process.poll() is None:
                process.kill()


def load(command: list[str], target: Target, window_s: float) -> Load:
    """Watch a command in the middle of its run.

    Args:
        command: must go on for a second and this window after its first requests.
        target: that it sends to.
        window_s: seconds.

    Raises:
        ToolFailed: it ended before that.
    """
    before = target.requests()
    with pinned(command) as process:
        asked = 0
        while target.requests() - before - asked < _STARTED:
            asked += 1
            _alive(process)
            time.sleep(0.02)
        time.sleep(_SETTLE_S)
        began, cpu, count = time.perf_counter(), _cpu(process.pid), target.requests()
        time.sleep(window_s)
        _alive(process)
        seconds, cpu, count = time.perf_counter() - began, _cpu(process.pid) - cpu, target.requests() - 1 - count
        memory = _peak_memory(process.pid)
        while process.poll() is None:
            memory = max(memory, _peak_memory(process.pid))
            time.sleep(0.05)
    return Load(count / seconds, cpu / max(count, 1) * 1e6, memory)


def arrivals(command: list[str], target: Target, rate: float) -> Arrivals:
    """Run a command that is to send evenly, and look at when its requests came; not at its first and last second."""
    target.log.write_text("")
    with pinned(command):
        pass
    time.sleep(1.2)  # nginx keeps its lines up to a second
    lines = [line.split() for line in target.log.read_text().splitlines()]
    came = np.sort(np.array([float(at) for at, method in lines if method == "GET"]))
    return judge(came, rate)


def judge(came: "np.ndarray[tuple[int], np.dtype[np.float64]]", rate: float) -> Arrivals:
    """Compare instants (seconds, increasing) with an even schedule of a rate."""
    came = came[(came >= came[0] + 1) & (came <= came[-1] - 1)] if len(came) else came
    if len(came) < 3:
        raise ToolFailed("too few requests came")
    off = came - np.arange(len(came)) / rate
    off = np.abs(off - np.median(off))
    p50, p99 = np.quantile(off, (0.5, 0.99)).tolist()
    achieved = (len(came) - 1) / (came[-1] - came[0]) / rate
    return Arrivals(float(achieved), p50, p99, float(np.diff(came).max()))


def _alive(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is not None:
        raise ToolFailed(f"ended with {process.returncode}")


def _cpu(pid: int) -> float:
    """Seconds of all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK_S


def _peak_memory(pid: int) -> float:
    """Megabytes."""
    try:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0
