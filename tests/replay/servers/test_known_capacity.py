"""The built-in target: capacity as promised, answers as logged."""

import asyncio
import io
import socket
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientSession, ServerDisconnectedError
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from logreplay.core.errors import LogreplayError
from logreplay.replay.servers.known_capacity import LoggedAnswers, ServerCapacity, WorkQueue, serving
from logreplay.replay.servers.target_process import spawned

LOG = """date,time,latency,xfertime,thinktime,bytes,url,rc,op
2026-11-20,10:00:00.000000,0,0,0,5,/a?x=%2F,200,GET
2026-11-20,10:00:01.000000,0,0,0,0,/a?x=%2F,304,GET
2026-11-20,10:00:02.000000,0,0,0,200000,/big,206,GET
2026-11-20,10:00:03.000000,0,0,0,0,/gone,444,GET
2026-11-20,10:00:03.000000,0,0,0,0,/silent,0,GET
2026-11-20,10:00:04.000000,0,0,0,77,/a?x=%2F,200,HEAD
"""
FAST = ServerCapacity(workers=4, service_s=0.001)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(LOG)
    return path


async def ask(session: ClientSession, url: str, op: str = "GET") -> tuple[int, int]:
    async with session.request(op, URL(url, encoded=True), allow_redirects=False) as response:
        return response.status, len(await response.read())


@given(st.lists(st.floats(0, 1), min_size=1, max_size=200), st.integers(1, 20))
def test_a_queue_of_k_workers_never_finishes_more_than_its_capacity(gaps: list[float], workers: int) -> None:
    queue = WorkQueue(ServerCapacity(workers, 0.1))
    now, done = 0.0, []
    for gap in gaps:
        now += gap / workers
        done.append(queue.finish(now))
        assert done[-1] >= now + 0.1 - 1e-9
    for early, late in zip(done, done[workers:], strict=False):
        assert late >= early + 0.1 - 1e-9


def test_a_saturated_queue_works_at_exactly_its_capacity() -> None:
    queue = WorkQueue(ServerCapacity(4, 0.016))
    done = [queue.finish(0.0) for _ in range(1000)]
    assert done[-1] == pytest.approx(1000 / 250)


def test_exponential_service_times_have_the_asked_mean_and_repeat() -> None:
    capacity = ServerCapacity(1, 0.02, exponential=True, seed=7)
    first, second = WorkQueue(capacity), WorkQueue(capacity)
    done = [first.finish(0.0) for _ in range(20_000)]
    assert done[-1] / 20_000 == pytest.approx(0.02, rel=0.03)
    assert [second.finish(0.0) for _ in range(20_000)] == done


@pytest.mark.parametrize(("workers", "service_s"), [(0, 1.0), (1, 0.0), (1, -1.0), (1, float("nan"))])
def test_a_target_without_workers_or_time_is_refused(workers: int, service_s: float) -> None:
    with pytest.raises(ValueError, match=r"needs at least 1 worker|must be above 0 s"):
        ServerCapacity(workers, service_s)


def test_each_url_is_answered_as_the_log_did_several_answers_in_turn(log: Path) -> None:
    async def visit() -> list[tuple[int, int]]:
        async with serving(LoggedAnswers.of_log(log), FAST) as base, ClientSession() as session:
            urls = ("/a?x=%2F", "/a?x=%2F", "/a?x=%2F", "/big", "/a?x=/")
            return [await ask(session, base + url) for url in urls] + [await ask(session, base + "/a?x=%2F", "HEAD")]

    assert asyncio.run(visit()) == [(200, 5), (304, 0), (200, 5), (206, 200_000), (404, 0), (200, 0)]


def test_a_request_logged_without_a_status_is_answered_with_200_on_a_connection_that_stays(log: Path) -> None:
    async def visit() -> list[tuple[int, int]]:
        async with serving(LoggedAnswers.of_log(log), FAST) as base, ClientSession() as session:
            answers = [await ask(session, base + url) for url in ("/silent", "/silent", "/a?x=%2F")]
            assert session.connector
            assert len(session.connector._conns) == 1
            return answers

    assert asyncio.run(visit()) == [(200, 0), (200, 0), (200, 5)]


def test_a_head_of_a_logged_get_is_answered_as_that_get_without_its_body(log: Path) -> None:
    async def visit() -> list[tuple[int, str | None, bytes]]:
        async with serving(LoggedAnswers.of_log(log), FAST) as base, ClientSession() as session:
            answers = []
            for url in ("/big", "/silent", "/a?x=%2F", "/unknown", "/big"):
                async with session.head(URL(base + url, encoded=True)) as response:
                    answers.append((response.status, response.headers.get("Content-Length"), await response.read()))
            return answers

    assert asyncio.run(visit()) == [
        (206, "200000", b""),
        (200, "0", b""),
        (200, "77", b""),
        (404, "0", b""),
        (206, "200000", b""),
    ]


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_a_large_request_body_is_answered_as_the_log_did_and_not_kept(log: Path, encoding: str) -> None:
    """Above 1 MiB the answer was 413."""

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(640):
            yield bytes(100_000)

    async def visit() -> tuple[int, int]:
        async with serving(LoggedAnswers.of_log(log), FAST) as base, ClientSession() as session:
            async with session.post(base + "/big", data=io.BytesIO(bytes(1_100_000))) as response:
                assert response.status == 404
            tracemalloc.start()
            sent = {"Content-Encoding": encoding}
            async with session.request("GET", base + "/big", data=chunks(), headers=sent) as response:
                return response.status, len(await response.read())

    try:
        assert asyncio.run(visit()) == (206, 200_000)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_a_size_below_0_in_the_log_is_answered_without_a_body() -> None:
    """HTTP/1.1 sent 65,531 bytes, and HTTP/2 a traceback onto the terminal."""
    assert LoggedAnswers(iter([("GET", "/a", 200, -5)])).take("GET", "/a") == (200, 0)


def test_an_answered_request_is_not_kept_in_memory() -> None:
    """A second copy of each requested url stayed in memory."""
    rows = ((f"/{number}", rc) for number in range(5000) for rc in (200, 304))
    answers = LoggedAnswers(("GET", url, rc, 5) for url, rc in rows)
    tracemalloc.start()
    try:
        taken = [answers.take("GET", f"/{number}") for number in range(5000)] + [answers.take("GET", "/7")]
        assert taken == [(200, 5)] * 5000 + [(304, 5)]
        assert tracemalloc.get_traced_memory()[0] < 500_000  # most of it is the list `taken`
    finally:
        tracemalloc.stop()


def test_what_a_stranger_sends_prints_nothing(log: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with spawned(log, FAST) as base, socket.create_connection(("127.0.0.1", URL(base).port or 0), 30) as stranger:
        stranger.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n")
        assert b" 40" in stranger.recv(1 << 16)[:12]
    assert capfd.readouterr() == ("", "")


def test_an_error_of_the_target_itself_is_printed_with_its_trace(capfd: pytest.CaptureFixture[str]) -> None:
    """The client got a 500, and nobody learned why."""

    class Broken(LoggedAnswers):
        def take(self, op: str, url: str) -> tuple[int, int]:
            raise ZeroDivisionError(op)

    async def main() -> int:
        async with serving(Broken(iter(())), FAST) as url, ClientSession() as session:
            return (await ask(session, url))[0]

    assert asyncio.run(main()) == 500
    assert "ZeroDivisionError: GET" in capfd.readouterr().err


def test_a_status_that_is_no_final_answer_ends_the_connection(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(LOG.replace("/silent,0", "/socket,101"))

    async def visit() -> None:
        async with serving(LoggedAnswers.of_log(path), FAST) as base, ClientSession() as session:
            with pytest.raises(ServerDisconnectedError):
                await ask(session, base + "/socket")

    asyncio.run(visit())


def test_a_spawned_target_ends_with_its_block(log: Path) -> None:
    async def visit(base: str) -> tuple[int, int]:
        async with ClientSession() as session:
            return await ask(session, base + "/big")

    with spawned(log, FAST) as base:
        assert asyncio.run(visit(base)) == (206, 200_000)
    with pytest.raises(OSError, match="Cannot connect"):
        asyncio.run(visit(base))


def test_a_taken_port_is_named(log: Path) -> None:
    async def serve_twice() -> None:
        async with serving(LoggedAnswers.of_log(log), FAST) as base:
            port = int(base.rpartition(":")[2])
            with pytest.raises(LogreplayError, match=rf"cannot listen on 127.0.0.1:{port}: .*choose another port"):
                async with serving(LoggedAnswers.of_log(log), FAST, port=port):
                    pass

    asyncio.run(serve_twice())
