"""Streams of requests that cannot be read, or only slowly. Worker processes import them from here."""

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from logreplay.replay.requests.plan import CHUNK_ROWS, Made, RequestStream


@dataclass
class SlowHere(Made):
    """A stream that takes its time to be read in the process that coordinates."""

    requests: RequestStream
    pid: int
    seconds: float

    def frames(self, rows: int = CHUNK_ROWS) -> Iterator[pl.DataFrame]:
        if os.getpid() == self.pid:
            time.sleep(self.seconds)  # reading a long log takes that long
        yield from self.requests.frames(rows)


@dataclass
class Blocked(Made):
    """A stream of which nothing can be read."""

    requests: RequestStream

    def frames(self, rows: int = CHUNK_ROWS) -> Iterator[pl.DataFrame]:
        threading.Event().wait()
        yield from self.requests.frames(rows)
