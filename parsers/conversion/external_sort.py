"""Sorts rows by start into one file, in bounded memory.

Theory of operation. Rows are kept in a buffer; when it is full, it is sorted and its older part goes to the main run,
a CSV file, written by a thread of its own. A row older than the last one given to it comes too late for that run: it
goes to a spill of further runs, each sorted in itself. A log is nearly in order, so mostly the main run is the result;
otherwise the runs are merged.

A run is plain CSV text. Every record is one line that begins with date and time at fixed width, so the first 26 bytes
of a line are its sort key. Equal keys keep the order in which the rows were added.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

import polars as pl

from logreplay.parsers.conversion.source import compact, split_lines

BUFFER: Final = 40_000
"""Rows held in memory."""

_AT_ONCE: Final = 1 << 14
"""Rows encoded at a time."""

MERGE: Final = 16 << 20
"""Bytes of all runs together held in memory while they are merged."""

_KEY: Final = len("2026-11-20,18:58:56.268000")

Encode = Callable[[pl.DataFrame], bytes | memoryview]


class Sorter:
    """Sorts rows by ``start`` into a file.

    Args:
        path: of the file to make; ``PATH.spill`` and ``PATH.merged`` may be used beside it.
        header: the header line.
        encode: sorted rows → lines of CSV.
        buffer: rows held in memory.
    """

    def __init__(self, path: Path, header: bytes, encode: Encode, buffer: int = BUFFER) -> None:
        self._path, self._header, self._encode, self._limit = path, header, encode, buffer
        self._spill_path, self._merged_path = (path.with_name(path.name + end) for end in (".spill", ".merged"))
        self._main: BinaryIO = open(path, "wb")  # noqa: SIM115  # closed by close() or discard()
        self._main.write(header)
        self._spill: BinaryIO | None = None
        self._runs: list[tuple[int, int]] = []
        self._waiting, self._late = _Frames(), _Frames()
        self._written: int | None = None
        self._writer = ThreadPoolExecutor(1)
        self._writing: Future[None] | None = None

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows with a column ``start``: microseconds since 1970, UTC."""
        self._waiting.append(rows)
        if self._waiting.height >= self._limit:
            self._flush(self._waiting.height * 3 // 4)

    def close(self) -> None:
        """Write the rest, and merge the runs if there are several."""
        self._flush(self._waiting.height)
        self._write_late()
        self._settle()
        self._writer.shutdown()
        self._main.close()
        if self._spill is not None:
            self._spill.close()
            self._merge()

    def discard(self) -> None:
        """Remove whatever was written."""
        self._writer.shutdown()
        for file in (self._main, self._spill):
            with suppress(OSError):  # a full disk refuses what is still to be written, too
                if file is not None:
                    file.close()
        for path in (self._path, self._spill_path, self._merged_path):
            path.unlink(missing_ok=True)

    def _flush(self, count: int) -> None:
        rows = _sorted(self._waiting.take())
        if self._written is not None and rows.height and rows["start"][0] < self._written:
            late = int(rows["start"].search_sorted(self._written, side="left"))
            self._late.append(compact(rows.head(late)))
            rows = rows.slice(late)
            if self._late.height >= self._limit:
                self._write_late()
        ready, rest = rows.head(count), rows.slice(count)
        if ready.height:
            self._settle()
            self._writing = self._writer.submit(self._write, ready)
            self._written = ready["start"][-1]
        if rest.height:
            self._waiting.append(compact(rest))

    def _write(self, rows: pl.DataFrame) -> None:
        for some in rows.iter_slices(_AT_ONCE):
            self._main.write(self._encode(some))

    def _settle(self) -> None:
        """Wait until the writer has written all of its rows."""
        if self._writing is not None:
            self._writing.result()

    def _write_late(self) -> None:
        if not self._late.height:
            return
        if self._spill is None:
            self._spill = open(self._spill_path, "wb")  # noqa: SIM115  # closed by close() or discard()
        begin = self._spill.tell()
        self._spill.write(self._encode(_sorted(self._late.take())))
        self._runs.append((begin, self._spill.tell()))

    def _merge(self) -> None:
        with (
            open(self._path, "rb") as main,
            open(self._spill_path, "rb") as spill,
            open(self._merged_path, "wb") as out,
        ):
            out.write(self._header)
            size = max(MERGE // (len(self._runs) + 1), 1 << 16)
            runs = [_Run(main, len(self._header), os.fstat(main.fileno()).st_size, size)]
            runs += [_Run(spill, begin, end, size) for begin, end in self._runs]
            for chunk in _merged(runs):
                out.write(chunk)
        self._spill_path.unlink()
        self._merged_path.replace(self._path)


def _sorted(rows: pl.DataFrame) -> pl.DataFrame:
    return rows if rows["start"].is_sorted() else rows.sort("start", maintain_order=True)


class _Frames:
    """Frames to be joined once."""

    def __init__(self) -> None:
        self._frames: list[pl.DataFrame] = []
        self.height = 0

    def append(self, frame: pl.DataFrame) -> None:
        self._frames.append(frame)
        self.height += frame.height

    def take(self) -> pl.DataFrame:
        frame = pl.concat(self._frames) if self._frames else pl.DataFrame(schema={"start": pl.Int64})
        self._frames, self.height = [], 0
        return frame


class _Run:
    """A sorted stretch of a file, read a piece at a time."""

    def __init__(self, file: BinaryIO, begin: int, end: int, size: int) -> None:
        self._file, self._position, self._end, self._size = file, begin, end, size
        self.lines = pl.Series("line", [], pl.String)
        self.keys = self.lines
        self.load()

    @property
    def last(self) -> bool:
        """Whether the end of the file is reached."""
        return self._position >= self._end

    def load(self) -> None:
        """Read on, if nothing is in memory."""
        size = self._size
        while not len(self.lines) and not self.last:
            self._file.seek(self._position)
            data = self._file.read(min(size, self._end - self._position))
            data = data[: data.rfind(b"\n") + 1]
            self._position += len(data)
            if data:
                self.lines = split_lines(data)
                self.keys = self.lines.str.head(_KEY)
            size *= 2

    def take(self, bound: str) -> pl.Series:
        """Take the lines in memory up to and with the bound."""
        count = int(self.keys.search_sorted(bound, side="right"))
        taken, self.lines, self.keys = self.lines.head(count), self.lines.slice(count), self.keys.slice(count)
        self.load()
        return taken


def _merged(runs: list[_Run]) -> Iterator[bytes]:
    runs = [run for run in runs if len(run.lines)]
    while runs:
        # what follows in a file is not below the last line in memory; so up to the least of these all is known
        bound = min((run.keys[-1] for run in runs if not run.last), default="~")
        lines = pl.concat([run.take(bound) for run in runs])
        order = lines.str.head(_KEY).to_frame("key").with_row_index().sort("key", maintain_order=True)["index"]
        yield ("\n".join(lines.gather(order)) + "\n").encode()
        runs = [run for run in runs if len(run.lines)]
