"""Follows a log that is still being written.

The target is not the server whose log is read: production is only observed.
"""

import os
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

import polars as pl

from logreplay.core import record
from logreplay.core.errors import LogreplayError
from logreplay.core.plural import number_of
from logreplay.replay.requests.plan import Requests, part_of

POLL_S: Final = 0.05
_BLOCK: Final = 1 << 20
_LONGEST: Final = 16 << 20
"""Bytes of a line that are kept until its end comes."""

_MARK: Final = 1024
"""Bytes that identify the beginning of a file: W3C logs differ only behind their first lines."""


@dataclass(slots=True)
class Truncations:
    """The known loss of lines as a log was truncated: nobody can read them any more.

    Attributes:
        count: truncations.
        unread: bytes that had been seen in the file and not been read.
        seconds: from the last look at the file to the one that found it truncated, of all truncations.
        lines: read so far.
        read: bytes of them.
        took: seconds of reading so far.
    """

    count: int = 0
    unread: int = 0
    seconds: float = 0.0
    lines: int = 0
    read: int = 0
    took: float = 0.0

    def __str__(self) -> str:
        """The finding; empty if there was no truncation."""
        if not self.count:
            return ""
        unread = round(self.unread * self.lines / max(self.read, 1))
        unseen = round(self.seconds * self.lines / max(self.took, 1e-9))
        known = f" and {self.unread:,} bytes before them, about {number_of(unread, 'line')}" if self.unread else ""
        return (
            f"the log was truncated {number_of(self.count, 'time')} while it was followed: lines written in the "
            f"{self.seconds:.2f} s before were not read (about {number_of(unseen, 'line')} at the log's rate){known}; "
            "these requests were not sent; rotate the log by renaming it (logrotate: create, not copytruncate)"
        )


class Tail:
    """Reads the lines appended to a file, through its rotation (another file takes its name) and truncation.

    Args:
        path: path of the log; it may be missing for a while.
        from_start: also yield the present lines.
        seconds: for how long; None: until the iterator is closed.

    Attributes:
        truncations: and what they cost.
    """

    def __init__(self, path: Path, *, from_start: bool = False, seconds: float | None = None) -> None:
        self.path, self._from_start, self._seconds = path, from_start, seconds
        self._mark = b""
        self._size, self._looked = 0, 0.0
        self.truncations = Truncations()

    def __iter__(self) -> Iterator[bytes]:
        """Yield whole lines, many at a time; nothing (``b""``) about each `POLL_S` as long as there are none."""
        self._looked = time.monotonic()
        end = None if self._seconds is None else self._looked + self._seconds
        try:
            file = os.open(self.path, os.O_RDONLY)
        except OSError as error:
            why = "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
            raise LogreplayError(f"{self.path}: {why}") from None
        try:
            if not self._from_start:
                _seek_last_line(file)
            rest = b""
            while end is None or time.monotonic() < end:
                if self._rewind_if_truncated(file) and rest:
                    yield rest + b"\n"
                    rest = b""
                data = os.read(file, _BLOCK)
                if data:
                    self.truncations.read += len(data)
                    self.truncations.lines += data.count(b"\n")
                    whole, newline, rest = (rest + data).rpartition(b"\n")
                    yield whole + newline
                    if len(rest) > _LONGEST:  # its pieces are lines that fit no format, and are counted
                        yield rest + b"\n"
                        rest = b""
                    continue
                successor = self._successor(file)
                if successor is None:
                    yield b""
                    time.sleep(POLL_S)
                    continue
                late = os.read(file, _BLOCK)  # what came between the last read and the rotation
                if late:
                    os.close(successor)
                    rest += late
                    continue
                os.close(file)
                file, self._mark, self._size = successor, b"", 0
                if rest:
                    yield rest + b"\n"
                    rest = b""
        finally:
            os.close(file)

    def _rewind_if_truncated(self, file: int) -> bool:
        """Begin again where a file was cut: it is shorter than the part already read, or its beginning has changed."""
        at = os.lseek(file, 0, os.SEEK_CUR)
        size, looked = os.fstat(file).st_size, time.monotonic()
        begins = os.pread(file, _MARK, 0)  # after the size: a beginning of before the truncation would stay the mark
        cut, known = size < at or not begins.startswith(self._mark[:at]), self.truncations
        known.took += looked - self._looked
        if cut:
            os.lseek(file, 0, os.SEEK_SET)
            self._mark = b""
            known.count += 1
            known.unread += max(self._size - at, 0)
            known.seconds += looked - self._looked
        if len(self._mark) < _MARK:
            self._mark = begins
        self._size, self._looked = size, looked
        return cut

    def _successor(self, file: int) -> int | None:
        """The file that has the name now, if it is another one and has lines: until then the old one may get more."""
        try:
            new = os.open(self.path, os.O_RDONLY)
        except OSError:
            return None
        if os.path.sameopenfile(file, new) or not os.fstat(new).st_size:
            os.close(new)
            return None
        return new


def _seek_last_line(file: int) -> None:
    """Go to the end of a file, or to the beginning of a line there of which only a part is written."""
    end = os.lseek(file, 0, os.SEEK_END)
    begin = max(end - _BLOCK, 0)
    last = os.pread(file, end - begin, begin)
    if (newline := last.rfind(b"\n")) >= 0 or not begin:
        os.lseek(file, begin + newline + 1, os.SEEK_SET)


class Parser(Protocol):
    """Turns the lines of a log into rows with the columns of a normalized CSV.

    A line that became no row is a row with only a `logreplay.core.record.REASON`.
    """

    def __call__(self, data: bytes) -> pl.DataFrame:
        """Take whole lines (or ``b""``: nothing came); return the rows that are settled."""

    def close(self) -> pl.DataFrame:
        """Return the other rows: no more lines come."""


@dataclass(frozen=True, slots=True)
class Followed:
    """A log that grows, as a source of rows; without requests for a while it yields empty frames.

    Attributes:
        tail: its lines.
        parse: makes rows of them.
        values: number of requests with a value so far, by method and column.
    """

    tail: Tail
    parse: Parser
    values: Counter[tuple[str, str]] = field(default_factory=Counter)

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        written = False
        for data in self.tail:
            written = written or bool(data)
            yield self._counted(_chosen(self.parse(data), columns))
        yield self._counted(_chosen(self.parse.close(), columns))
        if not written:
            raise LogreplayError(f"{self}: no line was written while it was followed; follow it for longer")

    def lacking(self, column: str, methods: Collection[str]) -> int:
        """Count the requests of these methods so far, if not one of them had a value in a column; else 0."""
        if any(self.values[method, column] for method in methods):
            return 0
        return sum(self.values[method, "op"] for method in methods)

    def _counted(self, rows: pl.DataFrame) -> pl.DataFrame:
        for count in rows.drop_nulls("op").group_by("op").agg(pl.exclude("op").count(), rows=pl.len()).to_dicts():
            op = count.pop("op")
            self.values.update({(op, "op"): count.pop("rows")} | {(op, name): many for name, many in count.items()})
        return rows

    def __str__(self) -> str:
        return str(self.tail.path)


def truncated(stream: object) -> str:
    """The finding on the truncations of the log of a stream of requests; empty if there was none."""
    log = part_of(stream, Requests)
    return str(log.source.tail.truncations) if log and isinstance(log.source, Followed) else ""


def _chosen(rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    return rows.select(
        pl.col(name).cast(
            pl.Binary if rows.schema[name] == pl.Binary else record.SCHEMA.get(name, pl.String), strict=False
        )
        if name in rows.columns
        else pl.lit(None, record.SCHEMA.get(name, pl.String)).alias(name)
        for name in (*columns, record.REASON)
    )
