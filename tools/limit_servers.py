"""Serves with real servers whose limit is known, to test the sentence on the limit of a sweep.

As a program, ``python limit_servers.py KIND`` serves HTTP/1.1 on a free port of 127.0.0.1, which it prints, until its
standard input ends.
"""

import asyncio
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory
from typing import Final
from urllib.error import URLError
from urllib.request import urlopen

Answer = Callable[[str], Awaitable[int]]
"""Works on a request of a path, and returns the status of its response."""

IN_USE: Final = "/in-use"
"""Path of a page with the number of places of the pool that are taken; no request waits for it."""


@dataclass(frozen=True, slots=True)
class LimitedServer:
    """A kind of server.

    Attributes:
        name: what it is.
        kinds: the answers that are right; none: only that it cannot be told.
        capacity: requests/s.
        at_once: the number that is right; None: any.
    """

    name: str
    kinds: Collection[str]
    capacity: float
    at_once: int | None = None


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that answers.

    Attributes:
        url: where.
        pid: its process, the parent of all others.
    """

    url: str
    pid: int


_Pool = Queue[None]
"""A pool: a request is put in, which waits for a place, and taken out when it is done."""


SERVERS: Final = {
    "threads": LimitedServer("4 threads that sleep for 40 ms", ("workers",), 100, 4),
    "one": LimitedServer("one thread that sleeps for 10 ms", ("workers",), 100, 1),
    "burning": LimitedServer("4 threads of one interpreter that work for 10 ms", ("sharing", "slowed"), 100),
    "async_lock": LimitedServer("coroutines with a lock for 10 ms of 40 ms", ("inner",), 95),
    "thread_lock": LimitedServer("32 threads with a lock for 10 ms of 40 ms", ("inner",), 95),
    "pool": LimitedServer("16 threads with a pool of 3 for 30 ms", ("workers", "inner"), 100, 3),
    "pool_60": LimitedServer("9 threads with a pool of 3 for 60 % of the requests", ("inner",), 160),
    "refusing": LimitedServer("coroutines that refuse beyond 6", ("refuses",), 140, 6),
    "route": LimitedServer("a route with a pool of 2", ("route",), 140),
    "limiter": LimitedServer("a token bucket that refuses", ("rate_limit",), 100),
    "delaying": LimitedServer("coroutines that are paced", ("paced",), 100),
    "gunicorn": LimitedServer("gunicorn with 2 workers that sleep for 20 ms", ("workers",), 98, 2),
    "gunicorn_4": LimitedServer("gunicorn with 4 workers that sleep for 40 ms", ("workers",), 98, 4),
    "nginx_429": LimitedServer("nginx with a limit of 100/s that refuses", ("rate_limit",), 100),
    "nginx_delaying": LimitedServer("nginx with a limit of 100/s that delays", ("paced",), 100),
}
"""The kinds; those of gunicorn and nginx need these programs."""


def available(kind: str) -> bool:
    """Whether the programs that a kind needs are installed."""
    if kind.startswith("gunicorn"):
        return find_spec("gunicorn") is not None
    return not kind.startswith("nginx") or shutil.which("nginx") is not None


@contextmanager
def serving(kind: str) -> Iterator[RunningServer]:
    """A server of a kind, in processes of its own."""
    with TemporaryDirectory() as folder:
        if kind.startswith(("gunicorn", "nginx")):
            port = _free_port()
            command = _gunicorn(kind, port) if kind.startswith("gunicorn") else _nginx(kind, port, Path(folder))
            with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                try:
                    url = f"http://127.0.0.1:{port}"
                    _wait_for(url)
                    yield RunningServer(url, process.pid)
                finally:
                    process.terminate()
            return
        command = [sys.executable, __file__, kind]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin
            assert process.stdout
            yield RunningServer(f"http://127.0.0.1:{int(process.stdout.readline())}", process.pid)
            process.stdin.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(url: str) -> None:
    for _ in range(100):
        try:
            urlopen(url, timeout=5).close()
        except (URLError, ConnectionError):
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(url)


def _gunicorn(kind: str, port: int) -> list[str]:
    number = 4 if kind.endswith("4") else 2
    options = ["--workers", str(number), "--bind", f"127.0.0.1:{port}", "--chdir", str(Path(__file__).parent)]
    app = f"limit_servers:sleeping({number * 0.01})"
    return [sys.executable, "-m", "gunicorn", "--no-control-socket", *options, app]


def _nginx(kind: str, port: int, folder: Path) -> list[str]:
    limit = "limit_req zone=all burst=5 nodelay;" if kind.endswith("429") else "limit_req zone=all burst=2000;"
    folder.joinpath("nginx.conf").write_text(
        f"""daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log emerg;
events {{ }}
http {{ access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; limit_req_zone $binary_remote_addr zone=all:1m rate=100r/s;
limit_req_status 429; root {folder};
server {{ listen 127.0.0.1:{port}; location / {{ {limit} try_files /page =404; }} }} }}
"""
    )
    folder.joinpath("page").write_text("hello")
    return [shutil.which("nginx") or "nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder), "-e", "stderr"]


def sleeping(seconds: float) -> Callable[..., list[bytes]]:
    """Return an application of WSGI that sleeps."""

    def app(_: object, start: Callable[[str, list[tuple[str, str]]], object]) -> list[bytes]:
        time.sleep(seconds)
        start("200 OK", [("Content-Length", "2")])
        return [b"ok"]

    return app


def _burn(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(500))


def _in_threads(number: int, work: Callable[[str], None]) -> Answer:
    threads = ThreadPoolExecutor(number)

    async def answer(path: str) -> int:
        await asyncio.get_running_loop().run_in_executor(threads, work, path)
        return 200

    return answer


def _locked(path: str, lock: threading.Lock) -> None:
    time.sleep(0.03)
    with lock:
        time.sleep(0.01)


def _pooled(path: str, pool: _Pool, share: float) -> None:
    if random.random() < share:
        pool.put(None)
        time.sleep(0.03)
        pool.get()
    else:
        time.sleep(0.03)


def _refusing(places: int, seconds: float) -> Answer:
    inside = 0

    async def answer(_: str) -> int:
        nonlocal inside
        if inside >= places:
            return 503
        inside += 1
        await asyncio.sleep(seconds)
        inside -= 1
        return 200

    return answer


def _async_lock() -> Answer:
    lock = asyncio.Lock()

    async def answer(_: str) -> int:
        await asyncio.sleep(0.03)
        async with lock:
            await asyncio.sleep(0.01)
        return 200

    return answer


def _own_pool() -> Answer:
    pool = asyncio.Semaphore(2)

    async def answer(path: str) -> int:
        if path == "/db":
            async with pool:
                await asyncio.sleep(0.04)
        else:
            await asyncio.sleep(0.005)
        return 200

    return answer


def _limiter(rate: float, burst: float) -> Answer:
    tokens, before = burst, time.monotonic()

    async def answer(_: str) -> int:
        nonlocal tokens, before
        now = time.monotonic()
        tokens, before = min(burst, tokens + (now - before) * rate), now
        if tokens < 1:
            return 429
        tokens -= 1
        await asyncio.sleep(0.005)
        return 200

    return answer


def _delaying(rate: float) -> Answer:
    free = 0.0

    async def answer(_: str) -> int:
        nonlocal free
        now = time.monotonic()
        at = max(free, now)
        free = at + 1 / rate
        await asyncio.sleep(at - now + 0.001)
        return 200

    return answer


def _answer(kind: str, pool: _Pool) -> Answer:
    lock = threading.Lock()
    made: dict[str, Callable[[], Answer]] = {
        "threads": lambda: _in_threads(4, lambda _: time.sleep(0.04)),
        "one": lambda: _in_threads(1, lambda _: time.sleep(0.01)),
        "burning": lambda: _in_threads(4, lambda _: _burn(0.01)),
        "async_lock": _async_lock,
        "thread_lock": lambda: _in_threads(32, lambda path: _locked(path, lock)),
        "pool": lambda: _in_threads(16, lambda path: _pooled(path, pool, 1)),
        "pool_60": lambda: _in_threads(9, lambda path: _pooled(path, pool, 0.6)),
        "refusing": lambda: _refusing(6, 0.04),
        "route": _own_pool,
        "limiter": lambda: _limiter(100, 5),
        "delaying": lambda: _delaying(100),
    }
    return made[kind]()


async def _serve(kind: str) -> None:
    pool = _Pool(3)
    answer = _answer(kind, pool)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n", 1)[0]:
                path = line.split()[1].decode()
                status, body = (200, b"%d" % pool.qsize()) if path == IN_USE else (await answer(path), b"ok")
                writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=4096)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
