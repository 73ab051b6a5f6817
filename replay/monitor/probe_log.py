"""What the probes read, as a file beside the result log: ``second,name,value``, a line for each reading that worked.

Seconds are those of the run, as in its per-second table; which table and picture show.
"""

import threading
from collections import Counter
from pathlib import Path
from typing import Final

from logreplay.parsers.files import unwritable
from logreplay.replay.monitor.probes import ProbeReading
from logreplay.replay.results.verdict import Finding, Severity

HEADER: Final = "second,name,value\n"


class ProbeLog:
    """Takes readings from any thread.

    Args:
        path: the file.
        first: the second of the run at which it begins or, if it was interrupted, goes on.

    Attributes:
        latest: the newest reading of each probe; None where it failed.

    Raises:
        LogreplayError: the file cannot be written.
    """

    def __init__(self, path: Path, first: int = 0) -> None:
        self.latest: dict[str, float | None] = {}
        self._path, self._first = path, first
        self._began: float | None = None
        self._early: list[ProbeReading] = []
        self._read: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._problems: dict[str, str] = {}
        self._lock = threading.Lock()
        try:
            self._file = path.open("a" if first else "w", encoding="ascii")
            if not self._file.tell():
                self._write(HEADER)
        except OSError as error:
            raise unwritable(path, error) from None

    def begin(self, at: float) -> None:
        """Say when the run began, seconds of the monotonic clock; what was read before is no part of it."""
        with self._lock:
            if self._began is None:
                self._began = at
                for reading in self._early:
                    self._add(reading)

    def hear(self, reading: ProbeReading) -> None:
        """Take a reading."""
        with self._lock:
            self.latest[reading.name] = reading.value
            if self._began is None:
                self._early.append(reading)
            else:
                self._add(reading)

    def findings(self) -> list[Finding]:
        """One for each probe that failed."""
        with self._lock:
            return [self._finding(name) for name in self._failed]

    def close(self) -> None:
        """Finish the file; without a reading it is removed."""
        with self._lock:
            if self._file.tell() == len(HEADER):
                self._path.unlink(missing_ok=True)
            self._file.close()

    def _add(self, reading: ProbeReading) -> None:
        assert self._began is not None
        second = int((reading.at - self._began) // 1)
        if second < 0 or self._file.closed:
            return
        self._read[reading.name] += 1
        if reading.value is not None:
            self._write(f"{second + self._first},{reading.name},{reading.value!r}\n")
            return
        self._failed[reading.name] += 1
        self._problems.setdefault(reading.name, reading.problem)

    def _write(self, line: str) -> None:
        try:
            self._file.write(line)
            self._file.flush()
        except OSError:  # the result log on the same disk says so, and ends the run
            pass

    def _finding(self, name: str) -> Finding:
        text = (
            f"watch {name}: {self._failed[name]} of {self._read[name]} readings failed, and left gaps: "
            f"{self._problems[name]}"
        )
        return Finding("watch", Severity.WARNING, text)
