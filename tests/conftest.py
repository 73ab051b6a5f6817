"""Real servers for the tests: an nginx and an Apache of our own, on free loopback ports, with logs of their own."""

import gc
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from logreplay.replay.servers.minimal import responding
from support.command_line import end_started

# on a busy machine everything is slow, and says nothing of the code
settings.register_profile(
    "unhurried", parent=settings.default, max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")

# where users run the program it is not set, and it hides what buffered output does at the exit
os.environ.pop("PYTHONUNBUFFERED", None)

NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
APACHE = shutil.which("apache2") or shutil.which("/usr/sbin/apache2")

NGINX_CONF = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
    client_body_temp_path {folder}; proxy_temp_path {folder};
    fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
    log_format measured escape={escape} '{log_format}';
    access_log {folder}/access.log measured;
    keepalive_requests 1000000;
    server {{ listen 127.0.0.1:{port} backlog=4096; {server} }}
}}
"""
NGINX_COMBINED = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
)
APACHE_CONF = """
ServerRoot {folder}
ServerName localhost
PidFile {folder}/pid
ErrorLog {folder}/error.log
Listen 127.0.0.1:{port}
MaxKeepAliveRequests 0
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LogFormat "{log_format}" measured
CustomLog {folder}/access.log measured
DocumentRoot {folder}/files
{server}
"""
APACHE_COMBINED = r"%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\""


@dataclass(frozen=True)
class WebServer:
    """A server that runs for the length of a test."""

    url: str
    log: Path
    files: Path
    pid: int


ServerFactory = Callable[..., WebServer]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(command: list[str | Path], folder: Path, port: int) -> Iterator[WebServer]:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            deadline = time.monotonic() + 20
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except ConnectionRefusedError:
                    if process.poll() is not None or time.monotonic() > deadline:
                        stderr = process.stderr.read().decode() if process.stderr else ""
                        pytest.fail(f"{command[0]} does not serve: {stderr}")
                    time.sleep(0.01)  # it says nothing when it is ready: ask again
            yield WebServer(f"http://127.0.0.1:{port}", folder / "access.log", folder / "files", process.pid)
        finally:
            process.terminate()


@pytest.fixture(scope="module", autouse=True)
def the_collector_scans_only_what_a_module_makes() -> None:
    """Each replay begins with a full collection: with the objects of 10,000 collected tests it took half a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """End the processes that a failed test has left."""
    yield
    end_started()


@pytest.fixture(scope="session", autouse=True)
def signals_reach_what_tests_start() -> None:
    """Undo ``nohup`` and the ``&`` of a script: a program inherits that a signal is ignored, but no handler."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture
def nginx(tmp_path: Path) -> Iterator[ServerFactory]:
    """Start an nginx: ``nginx(server='location / { return 200 "hello"; }', log_format=…)``."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    with ExitStack() as stack:

        def start(
            server: str = 'location / { return 200 "hello"; }',
            log_format: str = NGINX_COMBINED,
            escape: str = "default",
        ) -> WebServer:
            folder, port = tmp_path / "nginx", free_port()
            (folder / "files").mkdir(parents=True)
            how = {"server": server, "log_format": log_format, "escape": escape}
            conf = NGINX_CONF.format(folder=folder, port=port, **how)
            (folder / "nginx.conf").write_text(conf)
            command: list[str | Path] = [NGINX, "-c", folder / "nginx.conf", "-p", folder, "-e", folder / "error.log"]
            return stack.enter_context(running(command, folder, port))

        yield start


@pytest.fixture
def apache(tmp_path: Path) -> Iterator[ServerFactory]:
    """Start an Apache httpd: ``apache(server="Redirect 204 /", log_format=…)``."""
    if APACHE is None:
        pytest.skip("Apache httpd is not installed")
    with ExitStack() as stack:

        def start(server: str = "", log_format: str = APACHE_COMBINED) -> WebServer:
            folder, port = tmp_path / "apache", free_port()
            (folder / "files").mkdir(parents=True)
            modules = Path("/usr/lib/apache2/modules")
            conf = APACHE_CONF.format(folder=folder, port=port, modules=modules, server=server, log_format=log_format)
            (folder / "apache.conf").write_text(conf)
            return stack.enter_context(running([APACHE, "-X", "-f", folder / "apache.conf"], folder, port))

        yield start


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    """A server that answers at once, in a process of its own."""
    with responding() as url:
        yield url


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A normalized CSV of 60 requests, a second apart."""
    path = tmp_path / "access.csv"
    rows = [f"2026-01-01,00:00:{n:02}.000000,0,0,0,0,/{n},200,GET" for n in range(60)]
    path.write_text("\n".join(["date,time,latency,xfertime,thinktime,bytes,url,rc,op", *rows]) + "\n")
    return path


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let pytest-rerunfailures send two messages a test at once: the second waited 40 ms for TCP's acknowledgement."""
    connection = getattr(getattr(config, "failures_db", None), "sock", None)
    if hasattr(config, "workerinput") and connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that have a longer time limit, so that no process is left with one of them at the end."""
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None)
