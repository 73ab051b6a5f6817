"""Writes the readings of the probes beside the result log, a line for each successful reading: `HEADER`.

Seconds are those of the run, as in its per-second table; table and picture show the figures. The file is created by
the first reading of the run.
"""

import threading
from collections import Counter
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from logreplay.core.files import atomic_path, not_through_a_link, unwritable, writing
from logreplay.replay.results.verdict import Finding, Severity

if TYPE_CHECKING:
    from logreplay.replay.monitor.probes import ProbeReading

HEADER: Final = "second,name,value,maximum\n"
_WITHOUT_MAXIMUM: Final = "second,name,value\n"
"""Header line of earlier versions, whose runs are continued."""


class ProbeLog:
    """Takes readings from any thread.

    Attributes:
        latest: the newest reading of each probe; None where it failed.
    """

    def __init__(self, path: Path) -> None:
        self.latest: dict[str, float | None] = {}
        self._path, self._first = path, 0
        self._began: float | None = None
        self._early: list[ProbeReading] = []
        self._read: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._problems: dict[str, str] = {}
        self._told: set[str] = set()
        self._lost: int | None = None
        self._why_lost = ""
        self._lock = threading.Lock()
        self._file: FileIO | None = None
        self._ended, self._maxima = False, True

    def go_on(self, first: int) -> None:
        """Go on at this second of the run, once it begins again; readings of this second and later ones are dropped.

        They are of a step that is made again, or of the time between two parts of the run.
        """
        with self._lock:
            self._shut()
            self._first, self._began = first, None
            self._lost = None if self._lost is None else min(self._lost, first)
            self._early.clear()
            with writing(self._path):
                _drop_from(self._path, first)

    def begin(self, at: float) -> None:
        """Set the beginning of the run, seconds of the monotonic clock; earlier readings are ignored."""
        with self._lock:
            if self._began is None:
                self._began = at
                for reading in self._early:
                    self._add(reading)

    def hear(self, reading: "ProbeReading") -> bool:
        """Take a reading; return whether its problem is the first of this figure and of this kind."""
        with self._lock:
            new = bool(reading.problem) and not {reading.name, reading.problem} & self._told
            self._told |= {reading.name, reading.problem} if reading.problem else set()
            self.latest[reading.name] = reading.value
            if self._began is None:
                self._early.append(reading)
            else:
                self._add(reading)
            return new

    def lose(self, at: float, why: str) -> None:
        """No more readings come.

        Args:
            at: time at which the process that reads was heard last, seconds of the monotonic clock.
            why: fate of that process, as text.
        """
        with self._lock:
            self.latest, self._why_lost = {}, why
            self._lost = self._first + (0 if self._began is None else int(max(0.0, at - self._began)))

    def end(self) -> list[Finding]:
        """Take no more readings, so that file and findings agree; return a finding for each problem.

        The figures with as many failed readings for the same reason are named together.
        """
        with self._lock:
            self._ended = True
            alike: dict[tuple[int, int, str], list[str]] = {}
            for name, failed in self._failed.items():
                alike.setdefault((failed, self._read[name], self._problems[name]), []).append(name)
            texts = [
                f"watch {', '.join(names)}: {failed} of {read} readings failed and left gaps: {problem}"
                for (failed, read, problem), names in alike.items()
            ]
            if self._lost is not None:
                texts.append(
                    f"the readings of --watch end at second {self._lost}: the process beside the replay, which reads "
                    f"them, {self._why_lost}; repeat the run"
                )
            return [Finding("watch", Severity.WARNING, text) for text in texts]

    def close(self) -> None:
        """Finish the file."""
        with self._lock:
            self._ended = True
            self._shut()

    def _add(self, reading: "ProbeReading") -> None:
        assert self._began is not None
        second = int((reading.at - self._began) // 1)
        if second < 0 or self._ended:
            return
        self._read[reading.name] += 1
        most = "" if reading.maximum is None else repr(reading.maximum)
        line = f"{second + self._first},{reading.name},{reading.value!r},{most}\n"
        if problem := reading.problem if reading.value is None else self._write(line):
            self._failed[reading.name] += 1
            self._problems.setdefault(reading.name, problem)

    def _write(self, line: str) -> str:
        """Append a line; return why that failed."""
        try:
            if self._file is None:
                self._file = open(  # noqa: SIM115
                    self._path, "ab" if self._first else "wb", buffering=0, opener=not_through_a_link
                )
                if self._file.tell():
                    with self._path.open(encoding="ascii", errors="replace") as earlier:
                        self._maxima = earlier.readline() != _WITHOUT_MAXIMUM
            self._append(self._file, line if self._maxima else f"{line.rpartition(',')[0]}\n")
        except OSError as error:
            return str(unwritable(self._path, error))
        return ""

    def _append(self, file: FileIO, line: str) -> None:
        """Append a whole line or, if that fails, nothing."""
        whole = file.tell()
        rest = f"{'' if whole else HEADER}{line}".encode("ascii")
        try:
            while rest:
                rest = rest[file.write(rest) :]
        except OSError:
            file.seek(whole)
            file.truncate()
            raise

    def _shut(self) -> None:
        if self._file:
            with suppress(OSError):  # a network file system may report an error here
                self._file.close()
            self._file = None


def _drop_from(path: Path, second: int) -> None:
    """Remove the readings of this second and of later ones from the file, if there is one."""
    if not second or not path.exists():
        path.unlink(missing_ok=True)
        return
    with open(path, "rb", opener=not_through_a_link) as old, atomic_path(path) as fresh, fresh.open("wb") as new:
        new.write(old.readline())
        new.writelines(line for line in old if _is_before(line, second))


def _is_before(line: bytes, second: int) -> bool:
    """Whether a line is a whole one, of an earlier second."""
    number = line.partition(b",")[0]
    return line.endswith(b"\n") and number.isdigit() and int(number[:20]) < second
