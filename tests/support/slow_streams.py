"""Streams of requests that cannot be read, not to their end, or only slowly. Worker processes import them from here."""

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.replay.requests.plan import CHUNK_ROWS, Made, RequestStream


@dataclass
class SlowHere(Made):
    """A stream that takes its time to be read in the process that coordinates."""

    requests: RequestStream
    pid: int
    seconds: float

    def frames(self, rows: int = CHUNK_ROWS, begin: int = 0) -> Iterator[pl.DataFrame]:
        if os.getpid() == self.pid:
            time.sleep(self.seconds)  # reading a long log takes that long
        yield from self.requests.frames(rows, begin)


@dataclass
class Blocked(Made):
    """A stream of which nothing can be read."""

    requests: RequestStream

    def frames(self, rows: int = CHUNK_ROWS, begin: int = 0) -> Iterator[pl.DataFrame]:
        threading.Event().wait()
        yield from self.requests.frames(rows, begin)


@dataclass
class BreaksOnce(Made):
    """A stream that cannot be read to its end by the first process that comes so far."""

    requests: RequestStream
    claim: Path

    def frames(self, rows: int = CHUNK_ROWS, begin: int = 0) -> Iterator[pl.DataFrame]:
        for number, frame in enumerate(self.requests.frames(rows, begin)):
            if number == 1 and self._is_first():
                raise LogreplayError("the disk of this worker broke")
            yield frame

    def _is_first(self) -> bool:
        try:
            self.claim.touch(exist_ok=False)
        except FileExistsError:
            return False
        return True
