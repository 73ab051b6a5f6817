"""The result log: a row per request, written as the run goes.

Whole lines only, appended in blocks: whatever ends the process leaves a readable file.
"""

import errno
import gzip
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final, Protocol, Self

import polars as pl
import zstandard

from logreplay.parsers.record import RESULT_COLUMNS, LogreplayError, check_name, scan, to_csv

FORMS: Final = (".csv", ".csv.gz", ".csv.zst", ".parquet")


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
    if not path.name.endswith(FORMS):
        raise LogreplayError(f"{path}: the name of a result log ends in one of {', '.join(FORMS)}")
    check_name(path)
    if path.is_dir():
        raise LogreplayError(f"{path}: is a folder; give the name of a file with -o")
    if path.exists() and not force:
        raise LogreplayError(f"{path}: exists already; choose another name, or overwrite it with --force")
    if not path.parent.is_dir():
        raise LogreplayError(f"{path}: cannot be written: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise LogreplayError(f"{path}: cannot be written: no permission; choose another place with -o")


class ResultLog:
    """A result log as a file; its name decides the form: ``.csv``, ``.csv.gz``, ``.csv.zst`` or ``.parquet``.

    Each block of rows is one write, and in the compressed forms a gzip member or zstd frame of its own, so that what
    is on disk can be read whatever ends the process. A Parquet file cannot be read without its end: its rows are
    kept in ``NAME.running.csv.zst`` until it is closed. A log in which nothing was written is removed.
    """

    def __init__(self, path: Path, *, force: bool = False, keep: int = 0) -> None:
        """Create the file, with its header line; or keep its first bytes and go on after them.

        Args:
            path: where.
            force: what is there already may be overwritten.
            keep: bytes of an existing file that stay, as `sync` returned them; 0: begin anew.

        Raises:
            LogreplayError: it exists and ``force`` was not given, or cannot be written; or its name has no such form.
        """
        check_new(path, force=force)
        self.path = path
        self._parquet = path.suffix == ".parquet"
        self._growing = path.with_name(f"{path.name}.running.csv.zst") if self._parquet else path
        self._compress = _compressor(self._growing.suffix)
        if keep and (not self._growing.exists() or self._growing.stat().st_size < keep):
            raise LogreplayError(f"{path}: is shorter than it was when it was left; begin anew")
        try:
            self._file: BinaryIO = self._growing.open("r+b" if keep else "wb", buffering=0)
            if keep:
                self._file.truncate(keep)
                self._file.seek(keep)
        except OSError as error:
            raise LogreplayError(f"{path}: cannot be written: {_why(error)}") from None
        self._empty = not keep
        if not keep:
            self._append((",".join(RESULT_COLUMNS) + "\n").encode())

    def write(self, rows: pl.DataFrame) -> None:
        self._append(to_csv(rows, header=False))
        self._empty = False

    def sync(self) -> int:
        """Return how many bytes are written, once they are on disk for good."""
        os.fsync(self._file.fileno())
        return self._file.tell()

    def _append(self, lines: bytes) -> None:
        block = self._compress(lines)
        rest, whole = memoryview(block), self._file.tell()
        try:
            if not os.fstat(self._file.fileno()).st_nlink:
                raise FileNotFoundError(errno.ENOENT, "it was removed; write elsewhere with -o, and let it be")
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self._cut(block, whole)
            self._file.close()
            raise LogreplayError(f"{self.path}: cannot be written any more: {_why(error)}") from None

    def _cut(self, block: bytes, whole: int) -> None:
        """After a failed write: leave no half line, and no half of a compressed block, behind."""
        with suppress(OSError):
            if self._growing.suffix == ".csv":
                whole += block.rfind(b"\n", 0, self._file.tell() - whole) + 1
            self._file.truncate(whole)

    def close(self) -> None:
        if self._file.closed:
            return
        self._file.close()
        if self._empty and self._growing.is_file():  # never a device
            self._growing.unlink()
        elif self._parquet:
            try:
                scan(self._growing).sink_parquet(self.path)
            except (OSError, pl.exceptions.PolarsError) as error:
                text = f"{self.path}: cannot be written: {error}; the rows are in {self._growing}"
                raise LogreplayError(text) from None
            self._growing.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _compressor(suffix: str) -> Callable[[bytes], bytes]:
    """What to do with a block of lines before it is written."""
    if suffix == ".gz":
        return partial(gzip.compress, compresslevel=1)
    if suffix == ".zst":
        return zstandard.ZstdCompressor(level=1).compress
    return bytes


def _why(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return "the disk is full; free some space, or write elsewhere with -o"
    return error.strerror or str(error)


def utc(ns: int) -> datetime:
    """Nanoseconds since 1970 as an aware instant."""
    return datetime.fromtimestamp(ns / 1e9, UTC)
