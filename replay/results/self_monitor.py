"""Monitors the generator's process in a run: pauses of the loop, processor time, waits for a processor or the disk."""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_BEAT_S: Final = 0.01
_SCHEDSTAT: Final = Path("/proc/thread-self/schedstat")


@dataclass(frozen=True, slots=True)
class ProcessLoad:
    """Seconds, of one plan.

    Attributes:
        seconds: length of the measured time.
        loop: processor time of the loop's thread.
        process: processor time of all threads.
        waited: time in which the loop's thread was ready, and others had its processor; 0 where unknown.
        longest_pause: longest time without a turn of the loop, beyond a timer's usual delay.
    """

    seconds: float = 0.0
    loop: float = 0.0
    process: float = 0.0
    waited: float = 0.0
    longest_pause: float = 0.0

    @property
    def loop_share(self) -> float:
        """Share of one core that the loop's thread used."""
        return self.loop / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class WriteLag:
    """The lag of writing rows behind the requests.

    Attributes:
        rows: rows written more than a second after they were handed on.
        longest: seconds that the most delayed rows waited.
        working: seconds that counting and writing took.
        writing: seconds of these in which the results were written: the disk's share.
    """

    rows: int = 0
    longest: float = 0.0
    working: float = 0.0
    writing: float = 0.0

    def __add__(self, other: "WriteLag") -> "WriteLag":
        return WriteLag(
            self.rows + other.rows,
            max(self.longest, other.longest),
            self.working + other.working,
            self.writing + other.writing,
        )


class SelfMonitor:
    """Measures the process while a plan runs. Belongs to the running loop and its thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._began = self._readings()
        self._longest = 0.0
        self._due = time.perf_counter() + _BEAT_S
        self._handle = self._loop.call_later(_BEAT_S, self._beat)

    def _beat(self) -> None:
        now = time.perf_counter()
        self._longest = max(self._longest, now - self._due)
        self._due = now + _BEAT_S
        self._handle = self._loop.call_later(_BEAT_S, self._beat)

    def stop(self) -> ProcessLoad:
        """The load from the beginning until now."""
        self._handle.cancel()
        seconds, loop, process, waited = (now - then for now, then in zip(self._readings(), self._began, strict=True))
        return ProcessLoad(seconds, loop, process, waited, max(self._longest, time.perf_counter() - self._due))

    def _readings(self) -> tuple[float, float, float, float]:
        return time.perf_counter(), time.thread_time(), time.process_time(), _waited()


def _waited() -> float:
    """Seconds this thread was ready to run and did not; Linux counts them (proc_pid_schedstat)."""
    try:
        return int(_SCHEDSTAT.read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0
