"""Sorts rows by start into one file, in bounded memory.

Theory of operation. Rows are kept in a buffer; when it is full, it is sorted and its older part goes to the main run,
a CSV file, written by a thread of its own; date and time are written into the lines then. A row older than the last one
given to it comes too late for that run: it goes to a spill of further runs, each sorted in itself. A log is nearly in
order, so mostly the main run is the result; otherwise the runs are merged. A full spill is merged into one run of the
next spill, so a log of any length and order has few runs.

A run is plain CSV text. Every record is one line that begins with date and time at fixed width, so the first 26 bytes
of a line are its sort key. Equal keys keep the order in which the rows were added.
"""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import polars as pl

from logreplay.core.files import fresh_file
from logreplay.parsers.conversion.source import split_lines
from logreplay.parsers.fields import timestamps
from logreplay.parsers.fields.timestamps import Times
from logreplay.parsers.lines.csv_lines import CHUNK, Lines

BUFFER: Final = 30_000
"""Rows held in memory."""

_AT_ONCE: Final = 1 << 13
"""Rows written at a time."""

_BUFFERS: Final = 4
"""Buffers that waiting rows may keep in memory."""

MERGE: Final = 4 << 20
"""Bytes of all runs together held in memory while they are merged."""

RUNS: Final = 64
"""Runs of a spill that are merged into one of the next."""

_KEY: Final = len("2026-11-20,18:58:56.268000")

_ROOM: Final = _KEY + 1
"""Bytes in front of a line for its date and time, and a comma."""


class Sorter:
    """Sorts lines by their start into a file.

    Args:
        path: path of the file to make; ``PATH.spill``, ``PATH.spill1``, … and ``PATH.merged`` may be used beside it.
        header: the header line.
        buffer: rows held in memory.
    """

    def __init__(self, path: Path, header: bytes, buffer: int = BUFFER) -> None:
        self._path, self._header, self._limit = path, header, buffer
        self._merged_path = path.with_name(path.name + ".merged")
        self._main = fresh_file(path)
        self._main.write(header)
        self._spills: list[_Spill] = []
        self._waiting, self._late = _Rows(), _Rows()
        self._written: int | None = None
        self._writer = ThreadPoolExecutor(1)
        self._writing: Future[None] | None = None

    def add(self, start: Times, lines: Lines) -> None:
        """Add lines without date and time, and their starts: microseconds since 1970, UTC."""
        self._waiting.append(start, lines)
        if self._waiting.height >= self._limit:
            self._flush(self._waiting.height * 2 // 3)

    def close(self) -> None:
        """Write the rest, and merge the runs if there are several."""
        self._flush(self._waiting.height)
        self._write_late()
        self._settle()
        self._writer.shutdown()
        self._main.close()
        if self._spills:
            self._merge()

    def discard(self) -> None:
        """Remove whatever was written."""
        self._writer.shutdown()
        for file in (self._main, *(spill.file for spill in self._spills)):
            with suppress(OSError):  # a full disk refuses what is still to be written, too
                file.close()
        for path in (self._path, self._merged_path, *(spill.path for spill in self._spills)):
            path.unlink(missing_ok=True)

    def _flush(self, count: int) -> None:
        start, lines = self._waiting.take()
        if self._written is not None and len(start) and start[0] < self._written:
            late = int(np.searchsorted(start, self._written))
            self._late.append(start[:late], lines.take(slice(late)).compact())
            start, lines = start[late:], lines.take(slice(late, None))
            if self._late.height >= self._limit:
                self._write_late()
        if len(start) and count:
            self._settle()
            self._writing = self._writer.submit(self._write, self._main, start[:count], lines.take(slice(count)))
            self._written = int(start[:count][-1])
        if len(start) > count:
            self._waiting.append(start[count:], lines.take(slice(count, None)).compact(_BUFFERS))

    def _write(self, file: BinaryIO, start: Times, lines: Lines) -> None:
        for begin in range(0, len(start), _AT_ONCE):
            some = slice(begin, begin + _AT_ONCE)
            text, places = lines.take(some).joined(_ROOM)
            timestamps.write(start[some], text, places)
            text[places + _KEY] = ord(",")
            file.write(text.data[:-CHUNK])

    def _settle(self) -> None:
        """Wait until the writer has written all of its rows."""
        if self._writing is not None:
            self._writing.result()

    def _write_late(self) -> None:
        if self._late.height:
            self._write(self._spill(0).file, *self._late.take())
            self._end_run(0)

    def _spill(self, level: int) -> "_Spill":
        if level == len(self._spills):
            self._spills.append(_Spill(self._path.with_name(f"{self._path.name}.spill{level or ''}")))
        return self._spills[level]

    def _end_run(self, level: int) -> None:
        """Note that a run is written; merge those of a full spill into one of the next."""
        spill = self._spills[level]
        spill.ends.append(spill.file.tell())
        if len(spill.ends) > RUNS:
            with open(spill.path, "rb") as file:
                spill.file.flush()
                self._spill(level + 1).file.writelines(_merged(spill.runs(file, MERGE // RUNS)))
            spill.clear()
            self._end_run(level + 1)

    def _merge(self) -> None:
        with ExitStack() as stack:
            out = stack.enter_context(fresh_file(self._merged_path))
            out.write(self._header)
            size = max(MERGE // (1 + sum(len(spill.ends) - 1 for spill in self._spills)), 1 << 16)
            main = stack.enter_context(open(self._path, "rb"))
            runs = [_Run(main, len(self._header), os.fstat(main.fileno()).st_size, size)]
            for spill in reversed(self._spills):  # the earliest rows are in the last
                spill.file.close()
                runs += spill.runs(stack.enter_context(open(spill.path, "rb")), size)
            out.writelines(_merged(runs))
        for spill in self._spills:
            spill.path.unlink()
        self._merged_path.replace(self._path)


class _Spill:
    """A file of runs, one behind the other.

    Attributes:
        ends: 0, then the offset at which each run ends.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.file, self.ends = path, fresh_file(path), [0]

    def runs(self, file: BinaryIO, size: int) -> "list[_Run]":
        """Its runs, read from the file, ``size`` bytes at a time."""
        return [_Run(file, begin, end, size) for begin, end in pairwise(self.ends)]

    def clear(self) -> None:
        """Remove the runs."""
        self.file.seek(0)
        self.file.truncate()
        self.ends = [0]


class _Rows:
    """Lines and their starts, to be joined once."""

    def __init__(self) -> None:
        self._start: list[Times] = []
        self._lines: list[Lines] = []
        self.height = 0

    def append(self, start: Times, lines: Lines) -> None:
        self._start.append(start)
        self._lines.append(lines)
        self.height += len(lines)

    def take(self) -> tuple[Times, Lines]:
        """All of them, in order."""
        start, lines = np.concatenate((*self._start, np.zeros(0, np.int64))), Lines.concat(self._lines)
        self._start, self._lines, self.height = [], [], 0
        if (start[1:] >= start[:-1]).all():
            return start, lines
        order = np.argsort(start, kind="stable")
        return start[order], lines.take(order)


class _Run:
    """A sorted stretch of a file, read a piece at a time.

    Attributes:
        first: key of the first line in memory.
        newest: key of the last line in memory.
    """

    def __init__(self, file: BinaryIO, begin: int, end: int, size: int) -> None:
        self._file, self._position, self._end, self._size = file, begin, end, size
        self._lines = self._keys = pl.Series("line", [], pl.String)
        self._full = 0
        self.first = self.newest = ""
        self.load()

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def last(self) -> bool:
        """Whether the end of the file is reached."""
        return self._position >= self._end

    def load(self, *, more: bool = False) -> None:
        """Read on, if less than half of the lines are left or more are wanted."""
        size = self._size
        while not self.last and (more or len(self._lines) * 2 <= self._full):
            self._file.seek(self._position)
            data = self._file.read(min(size, self._end - self._position))
            data = data[: data.rfind(b"\n") + 1]
            self._position += len(data)
            if data:
                self._lines = pl.concat([self._lines, split_lines(data).alias("line")], rechunk=True)
                self._keys = self._lines.str.head(_KEY)
                self._full, more = len(self._lines), False
            size *= 2
        if len(self._lines):
            self.first, self.newest = self._keys[0], self._keys[-1]

    def take(self, bound: str) -> pl.Series:
        """Take the lines in memory below the bound."""
        count = int(self._keys.search_sorted(bound))
        taken, self._lines, self._keys = self._lines.head(count), self._lines.slice(count), self._keys.slice(count)
        self.load()
        return taken


def _merged(runs: list[_Run]) -> Iterator[bytes]:
    runs = [run for run in runs if len(run)]
    while runs:
        # what follows in a file is not below the last line in memory; so below the least of these all is known
        bound = min((run.newest for run in runs if not run.last), default="~")
        ready = [run for run in runs if run.first < bound]
        if not ready:
            for run in runs:
                run.load(more=run.newest == bound)
            continue
        lines = pl.concat([run.take(bound) for run in ready])
        order = lines.str.head(_KEY).to_frame("key").with_row_index().sort("key", maintain_order=True)["index"]
        yield ("\n".join(lines.gather(order)) + "\n").encode()
        runs = [run for run in runs if len(run)]
