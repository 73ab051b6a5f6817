"""The result log: a row per request, written as the run goes.

Whole lines only, appended in blocks: whatever ends the process leaves a readable file.
"""

import errno
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Protocol, Self

import polars as pl

from logreplay.parsers.record import RESULT_COLUMNS, LogreplayError, to_csv


class Results(Protocol):
    """Takes the rows of a run, in order of completion."""

    def write(self, rows: pl.DataFrame) -> None:
        """Append rows, with `logreplay.parsers.record.RESULT_COLUMNS`.

        Raises:
            LogreplayError: they cannot be written (the disk is full).
        """

    def close(self) -> None:
        """Finish the file."""


class MemoryResults:
    """Keeps the rows: for short runs in a notebook."""

    def __init__(self) -> None:
        self._parts: list[pl.DataFrame] = []

    def write(self, rows: pl.DataFrame) -> None:
        self._parts.append(rows)

    def close(self) -> None:
        """Nothing to finish."""

    @property
    def frame(self) -> pl.DataFrame:
        """All rows so far; columns as `RESULT_COLUMNS`."""
        return pl.concat(self._parts) if self._parts else pl.DataFrame(schema=RESULT_COLUMNS)


def check_new(path: Path, *, force: bool = False) -> None:
    """Check that a result may be written here, before anything costly is done; nothing is created.

    Raises:
        LogreplayError: something is there already and ``force`` was not given, or the folder cannot be written.
    """
    if path.exists() and not force:
        raise LogreplayError(f"{path}: exists already; choose another name, or overwrite it with --force")
    if not path.parent.is_dir():
        raise LogreplayError(f"{path}: cannot be written: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise LogreplayError(f"{path}: cannot be written: no permission; choose another place with -o")


class ResultLog:
    """A result log as a CSV file."""

    def __init__(self, path: Path, *, force: bool = False) -> None:
        """Create the file, with its header line.

        Raises:
            LogreplayError: it exists and ``force`` was not given, or cannot be written.
        """
        check_new(path, force=force)
        self.path = path
        try:
            self._file: BinaryIO = path.open("wb", buffering=0)
        except OSError as error:
            raise LogreplayError(f"{path}: cannot be written: {_why(error)}") from None
        self._append((",".join(RESULT_COLUMNS) + "\n").encode())

    def write(self, rows: pl.DataFrame) -> None:
        self._append(to_csv(rows, header=False))

    def _append(self, lines: bytes) -> None:
        rest, whole = memoryview(lines), self._file.tell()
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self._cut(lines, whole)
            self._file.close()
            raise LogreplayError(f"{self.path}: cannot be written any more: {_why(error)}") from None

    def _cut(self, lines: bytes, whole: int) -> None:
        """After a failed write: leave no half line behind."""
        with suppress(OSError):
            written = lines[: self._file.tell() - whole]
            self._file.truncate(whole + written.rfind(b"\n") + 1)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _why(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return "the disk is full; free some space, or write elsewhere with -o"
    return error.strerror or str(error)


def utc(ns: int) -> datetime:
    """Nanoseconds since 1970 as an aware instant."""
    return datetime.fromtimestamp(ns / 1e9, UTC)
