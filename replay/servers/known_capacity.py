"""The built-in target: serves the responses of a log at a known capacity.

K workers take requests from one FIFO queue and hold each for the service time D, so the target carries K/D
requests a second and no more. Who works when is computed, not slept: a request's answer is due when a queue of
exact workers would have finished it, so a late timer delays that one answer and never lowers the capacity.
"""

import asyncio
import heapq
import os
import random
from array import array
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from aiohttp import StreamReader, web

from logreplay.core.errors import LogreplayError
from logreplay.core.record import CLIENT_LEFT, REASON
from logreplay.core.rows import read_batches
from logreplay.replay.servers.http2_service import NO_BODY, EitherService
from logreplay.replay.servers.server_process import SERVER_LOG, listening

FILLER: Final = bytes(65536)
_LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ServerCapacity:
    """The capacity of a target: ``workers`` requests at once, each for ``service_s`` seconds.

    With ``exponential``, ``service_s`` is the mean of exponentially distributed times, the same for each ``seed``.
    """

    workers: int = 4
    service_s: float = 0.016
    exponential: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise ValueError(f"a target needs at least 1 worker, got {self.workers}")
        if not self.service_s > 0:
            raise ValueError(f"service time must be above 0 s, got {self.service_s:g}")

    @property
    def rate(self) -> float:
        return self.workers / self.service_s

    def __str__(self) -> str:
        kind = "exponential, mean " if self.exponential else ""
        return f"{self.workers} workers x {kind}{self.service_s * 1000:g} ms = {self.rate:g} requests/s"


class WorkQueue:
    """K workers behind one FIFO queue, in computed time: no clock, no sleeping."""

    def __init__(self, capacity: ServerCapacity) -> None:
        self._free_at = [float("-inf")] * capacity.workers
        self._capacity = capacity
        self._random = random.Random(capacity.seed)

    def finish(self, arrival: float) -> float:
        """Take in a request; return when a worker will have done it. Arrivals come in order of time."""
        service = self._capacity.service_s
        if self._capacity.exponential:
            service = self._random.expovariate(1 / service)
        done = max(arrival, self._free_at[0]) + service
        heapq.heapreplace(self._free_at, done)
        return done


class LoggedAnswers:
    """Status and size for each request of a log.

    Where a log has several answers to one request (200, then 304), they come round in the log's order. Where it has no
    status (a list of urls), or 499 (the client left), the answer is 200.

    Attributes:
        refused: number of rows of the log that could not be read, by reason.
        varied: number of requests with several answers.
    """

    def __init__(self, rows: Iterator[tuple[str, str, int, int]], refused: Counter[str] | None = None) -> None:
        self.refused = Counter[str]() if refused is None else refused
        self._logged: dict[tuple[str, str], array[int]] = {}  # place of the next, status, size, status, size …
        for op, url, rc, size in rows:
            self._logged.setdefault((op, url), array("q", (1,))).extend(
                (200 if rc in (0, CLIENT_LEFT) else rc, max(size, 0))
            )
        for request, answers in self._logged.items():
            if answers[1:] == answers[1:3] * (len(answers) // 2):
                self._logged[request] = answers[:3]
        self.varied = sum(len(answers) > 3 for answers in self._logged.values())

    @classmethod
    def of_log(cls, path: Path) -> "LoggedAnswers":
        refused, columns = Counter[str](), ("op", "url", "rc", "bytes")

        def rows() -> Iterator[tuple[str, str, int, int]]:
            for batch in read_batches(path, columns):
                refused.update(batch[REASON].drop_nulls() if REASON in batch.columns else ())
                for op, url, rc, size in batch.select(columns).drop_nulls(("op", "url")).iter_rows():
                    yield op, url, rc or 0, size or 0

        return cls(rows(), refused)

    def take(self, op: str, url: str) -> tuple[int, int]:
        """Status and body size of the next answer to this request; 404 where the log does not know it.

        A HEAD that the log does not know is answered as the GET of the same url.
        """
        answers = self._logged.get((op, url)) or (self._logged.get(("GET", url)) if op == "HEAD" else None)
        if not answers:
            return 404, 0
        at = answers[0]
        answers[0] = at + 2 if at + 2 < len(answers) else 1
        return answers[at], answers[at + 1]


class _Server(web.Server):
    """Serves both versions of HTTP: one request → one answer, when its worker is done."""

    def __init__(self, answers: LoggedAnswers, capacity: ServerCapacity) -> None:
        super().__init__(
            self._handle,
            access_log=None,
            logger=SERVER_LOG,
            max_line_size=1 << 20,
            max_field_size=1 << 20,
            auto_decompress=False,
        )
        self._answers = answers
        self._queue = WorkQueue(capacity)

    def __call__(self) -> Any:
        return EitherService(super().__call__, self._respond)

    async def _respond(
        self, method: str, path: str, read: Callable[[], Awaitable[object]] | None = None
    ) -> tuple[int, int]:
        """Status and body size of the answer, when its worker is done; ``read`` takes in the rest of the request."""
        loop = asyncio.get_running_loop()
        done = self._queue.finish(loop.time())
        answer = self._answers.take(method, path)
        if read:
            await read()
        await asyncio.sleep(done - loop.time())
        return answer

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        status, size = await self._respond(request.method, request.raw_path, partial(_drain, request.content))
        if status < 200 and request.transport is not None:
            request.transport.abort()  # 101 and the like: no final answer
        if status in NO_BODY:
            return web.Response(status=status)
        if request.method == "HEAD":
            return web.Response(status=status, headers={"Content-Length": str(size)})
        if size <= len(FILLER):
            return web.Response(status=status, body=FILLER[:size], content_type="application/octet-stream")
        return await _stream(request, status, size)


async def _drain(body: StreamReader) -> None:
    """Read to its end, and keep nothing."""
    while await body.readany():
        pass


async def _stream(request: web.BaseRequest, status: int, size: int) -> web.StreamResponse:
    response = web.StreamResponse(status=status)
    response.content_length = size
    await response.prepare(request)
    for start in range(0, size, len(FILLER)):
        await response.write(FILLER[: size - start])
    return response


@asynccontextmanager
async def serving(answers: LoggedAnswers, capacity: ServerCapacity, port: int = 0) -> AsyncIterator[str]:
    """Serve in the running loop; the value is the base URL."""
    runner = web.ServerRunner(_Server(answers, capacity), shutdown_timeout=0.1)
    async with AsyncExitStack() as stack:
        try:
            url = await stack.enter_async_context(listening(runner, _LOOPBACK, port))
        except OSError as error:
            why = os.strerror(error.errno or 0)  # asyncio's own text repeats the address
            raise LogreplayError(f"cannot listen on {_LOOPBACK}:{port}: {why}; choose another port") from None
        yield url
