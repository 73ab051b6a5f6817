"""A target that answers a long request before it has read it, on a connection that it keeps open."""

import asyncio
import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import polars as pl
import pytest
import uvloop

from logreplay.replay.engine.engine import Limits, replay
from logreplay.replay.requests.bodies import SizedBody
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.schedules.rates import Constant
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.tls import tls_context
from support.certificates import Authority
from support.sender_driver import SENDERS, Kind

BODY: Final = 8 << 20
CASES: Final = 10
ANSWERS: Final = (
    b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno",
    b"HTTP/1.1 401 Unauthorized\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 413 Content Too Large\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno",
)
"""By the number in the path of the POST, in turn."""


@dataclass
class Early:
    """Answers each head at once, pauses, reads on; keeps all bytes of each connection.

    Attributes:
        pause: seconds between an early answer and the reading of the body.
        streams: what came on each connection.
    """

    pause: float
    streams: list[bytearray] = field(default_factory=list)
    tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self.tasks.add(task)
        came = bytearray()
        self.streams.append(came)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                came += head
                post = re.match(rb"POST /(\d+)", head)
                writer.write(ANSWERS[int(post[1]) % len(ANSWERS)] if post else ANSWERS[3])
                length = re.search(rb"Content-Length: (\d+)", head)
                left = int(length[1]) if length else 0
                if left:
                    await asyncio.sleep(self.pause)
                while left and (data := await reader.read(min(left, 1 << 18))):
                    came += data
                    left -= len(data)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass
        finally:
            writer.close()
            self.tasks.discard(task)


def ask(sender: Kind, log: Path, pause: float, tls: ssl.SSLContext | None = None) -> tuple[pl.DataFrame, Early]:
    """Send the log, one request after the other; bodies have the size that it has for them."""
    results, early = MemoryResults(), Early(pause)

    async def main() -> None:
        server = await asyncio.start_server(early, "127.0.0.1", 0, ssl=tls)
        port = server.sockets[0].getsockname()[1]
        endpoint = await resolve(parse_target(f"{'https' if tls else 'http'}://127.0.0.1:{port}"))
        made = sender(endpoint, timeout=20, tls=tls_context(verify=False) if tls else None)
        requests = Requests(log, methods=("GET", "POST"), loop=False, shapes=(SizedBody(),))
        await replay(Plan(requests, Constant(200)), made, results, limits=Limits(max_in_flight=1))
        server.close()
        await asyncio.gather(*early.tasks)

    uvloop.run(main())
    return results.frame.sort("seq"), early


def write_log(folder: Path, requests: Sequence[tuple[str, str, int]]) -> Path:
    path = folder / "log.csv"
    rows = [f"2026-01-01,00:00:00.000000,0,0,0,0,{url},200,{op},{size}" for op, url, size in requests]
    path.write_text("\n".join(["date,time,latency,xfertime,thinktime,bytes,url,rc,op,request_bytes", *rows]) + "\n")
    return path


def assert_unmixed(stream: bytes) -> None:
    """Requests one after the other, of which the last may be cut short."""
    while stream:
        head, _, rest = stream.partition(b"\r\n\r\n")
        assert re.match(rb"(GET|POST) /\d+ HTTP/1.1\r\n", head), head[:100]
        length = re.search(rb"Content-Length: (\d+)", head)
        size = int(length[1]) if length else 0
        assert rest[:size].strip(b"x") == b""
        stream = rest[size:]


@SENDERS
@pytest.mark.parametrize("pause", [pytest.param(0.0, marks=pytest.mark.slow), 0.02])
def test_a_connection_with_an_unfinished_request_is_never_used_again(
    tmp_path: Path, sender: Kind, pause: float
) -> None:
    requests = [("POST", f"/{n // 2}", BODY) if n % 2 == 0 else ("GET", f"/{n // 2}", 0) for n in range(2 * CASES)]
    rows, early = ask(sender, write_log(tmp_path, requests), pause)
    assert rows["error"].null_count() == 2 * CASES
    assert rows["rc"].to_list()[::2] == [401, 401, 413, 200, 500] * (CASES // 5)
    for stream in early.streams:
        assert_unmixed(bytes(stream))
    posts = [stream.count(b"POST /") for stream in early.streams]
    assert sum(posts) == CASES
    if pause:  # nobody had read the body when the answer came
        assert max(posts) == 1
        assert not any(stream.startswith(b"POST") and b"GET /" in stream for stream in early.streams)


@SENDERS
def test_over_tls_too(tmp_path: Path, sender: Kind) -> None:
    requests = [("POST", f"/{n}", BODY) if n % 2 == 0 else ("GET", f"/{n}", 0) for n in range(6)]
    rows, early = ask(sender, write_log(tmp_path, requests), 0.02, Authority(tmp_path).good)
    assert rows["error"].null_count() == 6
    for stream in early.streams:
        assert_unmixed(bytes(stream))
        assert stream.count(b" HTTP/1.1\r\n") == 1 or not stream.startswith(b"POST")


@SENDERS
def test_a_connection_whose_request_was_read_is_used_again(tmp_path: Path, sender: Kind) -> None:
    rows, early = ask(sender, write_log(tmp_path, [("POST", "/3", 1000), ("GET", "/0", 0)] * 3), 0.0)
    assert rows["error"].null_count() == 6
    assert len(early.streams) == 1
