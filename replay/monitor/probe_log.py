"""Writes the readings of the probes beside the result log: ``second,name,value``, a line for each successful reading.

Seconds are those of the run, as in its per-second table; table and picture show the figures. The file is created by
the first reading of the run.
"""

import threading
from collections import Counter
from pathlib import Path
from typing import Final, TextIO

from logreplay.core.files import not_through_a_link, unwritable
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
        self._file: TextIO | None = None
        self._closed = False

    def begin(self, at: float) -> None:
        """Set the beginning of the run, seconds of the monotonic clock; earlier readings are ignored."""
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
        """Finish the file."""
        with self._lock:
            self._closed = True
            if self._file:
                self._file.close()

    def _add(self, reading: ProbeReading) -> None:
        assert self._began is not None
        second = int((reading.at - self._began) // 1)
        if second < 0 or self._closed:
            return
        self._read[reading.name] += 1
        line = f"{second + self._first},{reading.name},{reading.value!r}\n"
        if problem := reading.problem if reading.value is None else self._write(line):
            self._failed[reading.name] += 1
            self._problems.setdefault(reading.name, problem)

    def _write(self, line: str) -> str:
        """Append a line; return why that failed."""
        try:
            if self._file is None:
                self._file = open(  # noqa: SIM115
                    self._path, "a" if self._first else "w", encoding="ascii", opener=not_through_a_link
                )
                if not self._file.tell():
                    self._file.write(HEADER)
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            return str(unwritable(self._path, error))
        return ""

    def _finding(self, name: str) -> Finding:
        text = (
            f"watch {name}: {self._failed[name]} of {self._read[name]} readings failed and left gaps: "
            f"{self._problems[name]}"
        )
        return Finding("watch", Severity.WARNING, text)
