"""Logs by name: files, pipes, objects of stores, one url; or the one that comes with the package."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Final

from logreplay.core.errors import LogreplayError, Loss, UsageError
from logreplay.core.files import is_stream, scratch_folder, why, writable

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from logreplay.inputs.python_logs import Request, RequestsFrom, TableLog
    from logreplay.replay.requests.follow import Followed
    from logreplay.replay.requests.siege_list import UrlList
    from logreplay.replay.requests.sources import Stored
    from logreplay.replay.requests.url_rows import UrlRow

    AnyLog = str | PathLike[str] | pd.DataFrame | pl.DataFrame | Iterable[Request] | Callable[[], Iterable[Request]]
    Log = Path | Stored | UrlRow | TableLog | RequestsFrom
    Replayable = Path | Stored | UrlList | TableLog | RequestsFrom


Tell = Callable[[str], object]
"""Takes a sentence besides the result."""
BUNDLED = "nginx_request_time.log"
_ELSEWHERE: Final = "TMPDIR=FOLDER"
"""Advice on moving the temporary files."""


@contextmanager
def bundled_log() -> Iterator[Path]:
    """The sample log of the package, as a file."""
    with as_file(files("logreplay.sample_logs") / BUNDLED) as path:
        yield path


@contextmanager
def normalized(log: "Log | None", tell: Tell) -> Iterator[Path]:
    """A normalized CSV of the log, made on the way where it is a raw access log or a list of urls.

    The bundled log where none is given. A file with one raw HTTP request stays what it is.
    """
    from logreplay.inputs.python_logs import RequestsFrom
    from logreplay.replay.requests.sources import Stored

    with replayable(log, tell) as source:
        if isinstance(source, Stored | RequestsFrom):
            text = "the built-in target answers from files, tables and lists of requests only; give one of them"
            raise UsageError(f"{log}: {text}")
        with as_file_of(source) as path:
            yield path


@contextmanager
def as_file_of(log: "Path | UrlList | TableLog") -> Iterator[Path]:
    """Requests as a file that any command reads."""
    if isinstance(log, Path):
        yield log
        return
    with scratch_folder() as folder:
        yield log.write_normalized(folder / "log.csv")


@contextmanager
def replayable(
    log: "Log | None", tell: Tell, *, expect_target: Callable[[], object] | None = None
) -> "Iterator[Replayable]":
    """Requests to replay: a normalized CSV, made on the way where the log is another; or a list of urls.

    The bundled log where none is given. A pipe is read to its end first. A file with one raw HTTP request stays what it
    is. What lies in a store must be normalized already, and stays there.

    Args:
        log: path, table, list or function with the requests.
        tell: takes the report of the conversion.
        expect_target: called before an access log, which names no target, is converted for a call that sends.
    """
    from logreplay.replay.requests.siege_list import UrlList, is_url_list
    from logreplay.replay.requests.sources import Stored, is_request_file
    from logreplay.replay.requests.url_rows import UrlRow

    if isinstance(log, Stored):
        log.names()
    if not (log is None or isinstance(log, Path | UrlRow)):
        yield log
        return

    if isinstance(log, Path) and not is_pipe(log) and (is_normalized(log) or is_request_file(log)):
        yield log
        return
    name = str(log or BUNDLED)
    with scratch_folder() as folder, bundled_log() as sample:
        path = folder / "log.csv"
        if isinstance(log, UrlRow):
            yield UrlList.one(log)
            return
        if log is None:
            tell(f"no LOG is given: replaying the bundled sample log, {BUNDLED}")
        held = log or sample
        if is_pipe(held):
            tell(f"{name}: a pipe; reading it to its end")
            held = copied(held, folder)
        try:
            if is_normalized(held) or is_request_file(held):
                yield held
            elif is_url_list(held):
                yield UrlList.read(held, name)
            else:
                if expect_target and log is not None and held.exists():
                    expect_target()
                from logreplay.parsers.conversion.job import ConvertOptions, convert

                report = convert([held], path, ConvertOptions())
                rest = "; the compressed data end too soon or are damaged: the requests behind are missing"
                text = f"{name}: {report.sentence()}{rest if report.damaged else ''}"
                tell(Loss(text) if report.losses else text)
                if not report.converted:
                    raise LogreplayError(f"{name}: no line is a request that can be replayed; name another log")
                yield path
        except LogreplayError as error:  # the user knows the log, not what was made of it
            text = str(error)
            if text.endswith("with -o; nothing was kept"):  # the disk of the temporary files is full
                text = text.replace(f"{path}: ", f"{name}: in {folder.parent} ").replace(
                    "with -o", f"with {_ELSEWHERE}"
                )
            text = text.replace(str(path), name).replace(str(held), name)
            if text == str(error):
                raise
            raise LogreplayError(text) from error


def is_pipe(path: Path) -> bool:
    """Whether a log can be read only once: standard input (``-``), a named pipe, or ``<(command)``."""
    return str(path) == "-" or is_stream(path)


def copied(pipe: Path, folder: Path) -> Path:
    """Copy the data of a pipe into a file whose ending names its format."""
    copy = folder / "pipe"
    try:
        with open(0 if str(pipe) == "-" else pipe, "rb", closefd=str(pipe) != "-") as source, copy.open("wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
        with copy.open("rb") as file:
            return copy.rename(folder / "pipe.parquet") if file.read(4) == b"PAR1" else copy
    except OSError as error:
        raise LogreplayError(f"{pipe}: cannot be copied to {folder}: {why(error, _ELSEWHERE)}") from None


def named(log: object) -> "Log | None":
    """The log that a caller of the library gives: a path or an address, or rows of its own."""
    if log is None:
        return None
    if not isinstance(log, str | PathLike):
        from logreplay.inputs.python_logs import python_log

        return python_log(log)
    try:
        return log_named(fspath(log))
    except ValueError as error:
        raise UsageError(str(error)) from None


def log_named(text: str) -> "Log":
    """What a LOG on the command line names."""
    if not writable(text):
        raise ValueError(f"log {text!r}: no file has such a name; name a log")
    scheme, separator, rest = text.partition("://")
    if text.startswith(("http:/", "https:/", "unix:")):
        if scheme == "unix" or "/" not in rest:
            one = "" if scheme.startswith("unix:") else f"; {text.rstrip('/')}/ would replay that one url"
            raise ValueError(f"{text}: a target stands where LOG is expected; name LOG first{one}")
        from logreplay.replay.requests.url_rows import UrlRow

        return UrlRow.of(text)
    if not separator:
        try:
            Path(text).exists()
        except OSError as error:  # the name is too long, or its folder is closed to this user
            raise ValueError(f"log {text}: cannot be read: {error.strerror}; name another") from None
        return Path(text)
    from logreplay.core.stores import SCHEMES
    from logreplay.replay.requests.sources import Stored

    if scheme not in SCHEMES:
        raise ValueError(f"{text!r} is not a log; name a file, or an object of a store such as s3://BUCKET/access.csv")
    return Stored(text)


def followed(log: Path, seconds: float | None) -> "Followed":
    """A log as a source of requests while it is written."""
    from logreplay.parsers.conversion.follow import LineParser
    from logreplay.replay.requests.follow import Followed, Tail

    if log.exists() and not log.is_file():
        raise LogreplayError(f"--follow {log}: is not a file; name the log file that a server writes")
    return Followed(Tail(log, seconds=seconds), LineParser(log))


def is_normalized(log: Path) -> bool:
    """Whether a file is a normalized CSV or a result log, by its name or first bytes."""
    from logreplay.core.rows import is_parquet, names_in

    if is_parquet(log):
        return True

    try:
        names_in(log)
    except LogreplayError:
        return False
    return True
