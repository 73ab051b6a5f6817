"""A sender of blocks that shares nothing with the others: one thread, http.client, one request after the other."""

import asyncio
import http.client
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import polars as pl
from numpy.typing import NDArray

from logreplay.replay.senders.contract import ERROR_CODES, RECORD, SenderCounts, Trace

Block = Sequence[tuple[str, str]]


class ThreadSender:
    def __init__(self, url: str) -> None:
        self.counts = SenderCounts()
        self.taken_up = self.ended = 0
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=5)
        self._blocks: queue.SimpleQueue[tuple[int, list[int], Block] | None] = queue.SimpleQueue()
        self._pushed, self._plan, self._is_cut, self._cancelled = 0, 0, False, False
        self._records: list[tuple[int, ...]] = []
        self._thread = threading.Thread(target=self._work, daemon=True)

    def prepare(self, frame: pl.DataFrame) -> Block:
        return list(zip(frame["op"], frame["url"], strict=True))

    async def open(self, clock: Callable[[], int], trace: Trace | None = None) -> None:
        self._clock = clock
        self._thread.start()

    def begin(self, base: int, users: Any) -> None:
        assert users is None
        self._plan, self._is_cut = self._plan + 1, False

    async def push(self, first: int, due: NDArray[np.int64], block: Block, think: Sequence[float] = ()) -> bool:
        assert first == max(self._pushed, self.taken_up)
        self._pushed = first + len(due)
        self._blocks.put((self._plan, due.tolist(), block))
        while self._pushed - self.taken_up > 4096 and not self._is_cut:  # noqa: ASYNC110  another thread's
            await asyncio.sleep(0.002)
        return not self._is_cut

    async def finish(self) -> None:
        while self.taken_up < self._pushed and not self._is_cut:  # noqa: ASYNC110  another thread's
            await asyncio.sleep(0.002)

    def cut(self) -> None:
        self._is_cut, self._pushed = True, 0

    def give_up(self, due: NDArray[np.int64]) -> bool:
        return False

    def records(self) -> NDArray[np.void]:
        taken, self._records = self._records, []
        return np.array(taken, RECORD)

    def cancel(self) -> None:
        self._cancelled = True
        if self._connection.sock:
            self._connection.sock.shutdown(2)

    async def close(self) -> None:
        self._blocks.put(None)
        await asyncio.to_thread(self._thread.join)
        self._connection.close()

    def _work(self) -> None:
        while item := self._blocks.get():
            plan, due, block = item
            for when, (op, url) in zip(due, block, strict=True):
                while (left := when - self._clock()) > 0 and not self._over(plan):
                    time.sleep(min(0.01, left / 1e9))
                if self._over(plan):
                    break
                self._exchange(op, url)

    def _over(self, plan: int) -> bool:
        return self._is_cut or plan != self._plan

    def _exchange(self, op: str, url: str) -> None:
        seq, start = self.taken_up, self._clock()
        self.taken_up += 1
        size = status = 0
        error, first = "", start
        try:
            if not self._connection.sock:
                self._connection.connect()
            if self._cancelled:  # before there was a socket to shut down
                raise ConnectionAbortedError
            self._connection.request(op, url)
            answer = self._connection.getresponse()
            first, status = self._clock(), answer.status
            size = len(answer.read())
        except (OSError, http.client.HTTPException):
            error = "cancelled" if self._cancelled else "closed"
            self._connection.close()
        end = self._clock()
        self._records.append((seq, start, 0, 0, first - start, end - first, size, status, ERROR_CODES[error], 0, 0))
        self.ended += 1
