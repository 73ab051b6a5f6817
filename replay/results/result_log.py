"""Writes the result log during the run: one row for each request.

Whole lines only, appended in blocks: the file is readable even after a crash.
"""

import errno
import gzip
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from datetime import UTC, datetime
from functools import partial
from io import FileIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final, Protocol

import numpy as np
import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.core.files import (
    Closing,
    TakenError,
    atomic_path,
    check_absent,
    check_nameable,
    in_use,
    lock,
    not_through_a_link,
    reason,
    taken,
    unwritable,
    why,
    writing,
)
from logreplay.core.record import RESULT_COLUMNS, to_csv
from logreplay.core.rows import FORMS, check_name, scan
from logreplay.core.zstd import frame_compressor

CompanionFiles = Callable[[Path], Sequence[Path]]
"""The files that belong to a result log by its name: always as many, in the same order."""

_SUMMARY_BYTES: Final = 65_536
"""Space for the summary and the histograms of a run."""
_KILLED: Final = "it holds the rows of a run that was killed; rename it to keep them, or discard them with --force"


class Results(Protocol):
    """Takes the rows of a run, in order of completion."""

    def write(self, rows: pl.DataFrame) -> None:
        """Append rows, with `RESULT_COLUMNS`; a `LogreplayError` says why they cannot be written (the disk is full)."""

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
        return pl.concat(self._parts) if self._parts else pl.DataFrame(schema=RESULT_COLUMNS)


class InSteps:
    """Names in each row the step, and its rate, to which the scheduled send time belongs.

    Args:
        results: takes the rows.
        levels: ``(requests/s, seconds)`` of each step, one after the other from the start of the run.
    """

    def __init__(self, results: Results, levels: Sequence[tuple[float, float]]) -> None:
        self._results = results
        self._rates = np.array([rate for rate, _ in levels])
        self._begins = np.cumsum([seconds for _, seconds in levels])[:-1]

    def write(self, rows: pl.DataFrame) -> None:
        step = np.searchsorted(self._begins, rows["scheduled"].to_numpy(), side="right")
        self._results.write(rows.with_columns(step=pl.Series(step), offered=pl.Series(self._rates[step])))

    def close(self) -> None:
        self._results.close()


def no_files(path: Path) -> Sequence[Path]:
    """The files that belong to a result log, where there are none."""
    return ()


def partial_path(path: Path, companion_files: CompanionFiles = no_files) -> Path:
    """The file that holds the rows of a result log while it grows.

    Under its own name; beside it, as ``NAME.running.csv``, where it replaces something, or is a Parquet file, which
    cannot be read without its end.
    """
    replaces = any(os.path.lexists(each) for each in (path, _beside(path), *companion_files(path)))
    return _beside(path) if replaces or path.suffix == ".parquet" else path


def _beside(path: Path) -> Path:
    """The file that holds the rows of a result log that cannot grow under its name."""
    form = form_of(path)
    return path.with_name(f"{path.name}.running{'.csv.zst' if form == '.parquet' else form}")


def form_of(path: Path) -> str:
    """The ending of the name of a result log, one of `FORMS`; empty if it has none of them."""
    return next((form for form in FORMS if path.name.endswith(form)), "")


def check_new(path: Path, *, force: bool = False, companion_files: CompanionFiles = no_files) -> None:
    """Check that a result may be written here, before anything costly is done; nothing is created."""
    if not form_of(path):
        raise LogreplayError(f"{path}: the name of a result log ends in one of {', '.join(FORMS)}")
    check_name(path)
    check_nameable(path)
    if path.is_dir():
        raise LogreplayError(f"{path}: is a folder; give the name of a file with -o")
    if path.exists() and not path.is_file():
        raise LogreplayError(f"{path}: is a device or a pipe; the summary reads the rows again, so name a file with -o")
    if not path.parent.is_dir():
        raise unwritable(path, FileNotFoundError(errno.ENOENT, ""))
    if not force:
        for each in (path, *companion_files(path)):
            check_absent(each)
        if os.path.lexists(rows := _beside(path)):
            raise TakenError(f"{rows}: exists already; {_KILLED}")


class ResultLog(Closing):
    """A result log as a file; its name decides the form: ``.csv``, ``.csv.gz``, ``.csv.zst`` or ``.parquet``.

    Each block of rows is one write, and in the compressed forms a gzip member or zstd frame of its own, so that the
    part on disk is readable even after a crash. It grows where `partial_path` says, and `close` gives it its name;
    what it replaces stays until then. A log in which nothing was written is removed. It has one writer, by a kernel
    lock that ends with the process.

    Attributes:
        path: its name.
        growing: where the rows are until it is closed.
    """

    def __init__(
        self,
        path: Path,
        *,
        force: bool = False,
        keep: int = 0,
        companion_files: CompanionFiles = no_files,
        more: Sequence[str] = (),
    ) -> None:
        """Create the file, with its header line; or keep its first bytes and go on after them.

        Args:
            path: where.
            force: an existing file may be replaced.
            keep: bytes of an existing file that stay, as `sync` returned them; 0: begin again.
            companion_files: the files that belong to a result log by its name. Those of the growing one are renamed
                with it, others of the replaced one are removed with that.
            more: columns of the rows behind `RESULT_COLUMNS`.
        """
        check_new(path, force=force or keep > 0, companion_files=companion_files)
        self.path, self._force, self._companion_files = path, force, companion_files
        self._columns = [*RESULT_COLUMNS, *more]
        self.growing = path if keep else partial_path(path, companion_files)
        self._compress = _compressor(self.growing.suffix)
        if keep and (not self.growing.exists() or self.growing.stat().st_size < keep):
            raise LogreplayError(f"{path}: is shorter than when the run was interrupted; start again")
        with ExitStack() as stack:
            if self.growing != path and path.exists():
                stack.enter_context(self._locked(path, "rb"))  # who writes it now is not replaced
            mode = "r+b" if keep or (force and os.path.lexists(self.growing)) else "xb"
            self._file = stack.enter_context(self._locked(self.growing, mode))
            if keep and self.growing.suffix == ".csv":
                self._file.seek(keep - 1)
                if self._file.read(1) != b"\n":
                    raise LogreplayError(
                        f"{path}: a file of the interrupted run was changed: no row ends at byte {keep:,}, "
                        "where the run stopped; start again with -o"
                    )
            with writing(path):
                self._file.truncate(keep)
            self._file.seek(keep)
            stack.enter_context(_reserve(path.parent))
            self._open = stack.pop_all()
        self._empty = not keep
        if self.growing != path:  # a killed run may have left them, and they would be taken for those of this one
            for left in companion_files(self.growing):
                left.unlink(missing_ok=True)
        if not keep:
            self._append((",".join(self._columns) + "\n").encode())

    @property
    def rows(self) -> Path | None:
        """The file that holds its rows now; None: there are none."""
        at = self.growing if self.growing.exists() else self.path
        return at if not self._empty and at.exists() else None

    def _locked(self, path: Path, mode: str) -> FileIO:
        try:
            file = FileIO(path, mode, opener=None if mode == "rb" else not_through_a_link)
        except FileExistsError:
            if path == self.path:
                raise taken(path) from None
            raise TakenError(f"{path}: exists already; {_KILLED}") from None
        except OSError as error:
            raise unwritable(self.path, error) from None
        if lock(file.fileno()):
            return file
        file.close()
        raise TakenError(in_use(self.path))

    def write(self, rows: pl.DataFrame) -> None:
        if rows.columns != self._columns:  # those of a lost worker lack the columns of responses
            lacking = [name for name in self._columns if name not in rows.columns]
            rows = rows.with_columns(pl.lit(None).alias(name) for name in lacking).select(self._columns)
        self._append(to_csv(rows, header=False, exact=("offered",)))
        self._empty = False

    def sync(self) -> int:
        """Return how many bytes are written, after fsync."""
        os.fsync(self._file.fileno())
        return self._file.tell()

    def _append(self, lines: bytes) -> None:
        block = self._compress(lines)
        rest, whole = memoryview(block), self._file.tell()
        try:
            if not os.fstat(self._file.fileno()).st_nlink:
                raise FileNotFoundError(
                    errno.ENOENT, "it was removed; write elsewhere with -o, and do not remove it during the run"
                )
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self._cut(block, whole)
            if whole and os.fstat(self._file.fileno()).st_size > whole:
                self._empty = False
            if self._empty:
                self.growing.unlink(missing_ok=True)
            lost = self._empty or not os.fstat(self._file.fileno()).st_nlink
            self._open.close()
            kept = "" if lost else f"; the rows written so far are kept in {self.growing}"
            raise LogreplayError(f"{self.path}: cannot be written any more: {why(error)}{kept}") from None

    def _cut(self, block: bytes, whole: int) -> None:
        """After a failed write: leave no half line, and no half of a compressed block, behind."""
        with suppress(OSError):
            if self.growing.suffix == ".csv":
                whole += block.rfind(b"\n", 0, self._file.tell() - whole) + 1
            self._file.truncate(whole)

    def close(self) -> None:
        """Finish the file, and give it its name."""
        if self._file.closed:
            return
        with self._open:
            if self._empty:
                self.growing.unlink(missing_ok=True)
            elif self.growing != self.path:
                self._take_name()

    def _take_name(self) -> None:
        try:
            if self.path.suffix == ".parquet":
                with atomic_path(self.path, force=self._force) as fresh:
                    scan(self.growing).sink_parquet(fresh)
                    self._replace()
                self.growing.unlink()
            else:
                self._replace()
                self.growing.replace(self.path)
        except (OSError, pl.exceptions.PolarsError, LogreplayError) as error:
            text = f"{self.path}: cannot be written: {reason(error)}; the rows are in {self.growing}"
            raise LogreplayError(text) from None

    def _replace(self) -> None:
        """Remove the files that belong to the replaced log, and rename those of this one."""
        for new, old in zip(self._companion_files(self.growing), self._companion_files(self.path), strict=True):
            if new.exists():
                new.replace(old)
            else:
                old.unlink(missing_ok=True)


def _compressor(suffix: str) -> Callable[[bytes], bytes]:
    """The compression of a block of lines before it is written."""
    if suffix == ".gz":
        return partial(gzip.compress, compresslevel=1)
    if suffix == ".zst":
        return frame_compressor(level=1)
    return bytes


def _reserve(folder: Path) -> AbstractContextManager[object]:
    """Keep some space of a disk until the block ends: when rows have filled it, there is room for their summary."""
    try:
        with ExitStack() as stack:
            file = stack.enter_context(TemporaryFile(dir=folder))
            os.posix_fallocate(file.fileno(), 0, _SUMMARY_BYTES)
            return stack.pop_all()
    except (OSError, AttributeError):  # who writes rows is told why these cannot be written; macOS has no fallocate
        return nullcontext()


def utc(ns: int) -> datetime:
    """Nanoseconds since 1970 as an aware instant."""
    return datetime.fromtimestamp(ns / 1e9, UTC)
