"""What a command replays and where to: the given log and target, or the ones that come with the package."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from logreplay.replay.storage import Stored

BUNDLED = "nginx_request_time.log"


def say(text: str, *, quiet: bool = False) -> None:
    """Tell the user something that is no result."""
    if not quiet:
        click.echo(text, err=True)


@contextmanager
def bundled_log() -> Iterator[Path]:
    """The sample log of the package, as a file."""
    with as_file(files("logreplay.sample_logs") / BUNDLED) as path:
        yield path


@contextmanager
def normalized(log: Path | None, *, quiet: bool = False) -> Iterator[Path]:
    """A normalized CSV of the log, made on the way where it is a raw access log or a list of urls.

    The bundled log where none is given. A file with one raw HTTP request stays what it is.

    Raises:
        LogreplayError: no such file, or no line of it can be read.
    """
    from logreplay.parsers.record import LogreplayError
    from logreplay.replay.source import is_request_file
    from logreplay.replay.urls import is_url_list, read_url_list, to_normalized

    if log is not None and (is_normalized(log) or is_request_file(log)):
        yield log
        return
    from logreplay.parsers.convert import ConvertOptions, convert
    from logreplay.parsers.files import scratch_folder

    with scratch_folder() as folder, bundled_log() as sample:
        if log is None:
            say(f"no LOG given: replaying the bundled sample log, {BUNDLED}", quiet=quiet)
        path = folder / "log.csv"
        if log is not None and is_url_list(log):
            with path.open("wb") as file:
                file.writelines(to_normalized(read_url_list(log)))
            yield path
            return
        report = convert([log or sample], path, ConvertOptions())
        say(f"{log or BUNDLED}: {report.sentence()}", quiet=quiet)
        try:
            yield path
        except LogreplayError as error:  # the user knows the log, not what was made of it
            raise LogreplayError(str(error).replace(str(path), str(log or BUNDLED))) from error


class LogName(click.ParamType["Path | Stored"]):
    """A file, or an object of a store, ``s3://BUCKET/access.csv``."""

    name = "log"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> "Path | Stored":
        try:
            return log_named(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def log_named(text: str) -> "Path | Stored":
    """What a LOG on the command line names.

    Raises:
        ValueError: an address that no log can have.
    """
    if text.startswith(("http:/", "https:/", "unix:")):
        raise ValueError(f"{text}: a target stands where LOG is expected; name both: LOG, then TARGET")
    scheme, separator, _ = text.partition("://")
    if not separator:
        return Path(text)
    from logreplay.replay.storage import SCHEMES, Stored

    if scheme not in SCHEMES:
        raise ValueError(f"{text!r} is no log: a log is a file, or an object of a store such as s3://BUCKET/access.csv")
    return Stored(text)


@contextmanager
def replayable(log: "Path | Stored | None", *, quiet: bool = False) -> "Iterator[Path | Stored]":
    """As `normalized`; what lies in a store must be normalized already, and stays there.

    Raises:
        LogreplayError: as `normalized`; or the store cannot be read.
    """
    from logreplay.replay.storage import Stored

    if isinstance(log, Stored):
        log.names()
        yield log
        return
    with normalized(log, quiet=quiet) as path:
        yield path


@contextmanager
def target_or_builtin(target: str | None, log: "Path | Stored", *, quiet: bool = False) -> Iterator[str]:
    """The base URL of the target; where none is given, of a built-in one that runs until the block ends.

    Raises:
        LogreplayError: the built-in target did not start.
        UsageError: it cannot answer from a log in a store.
    """
    if target is not None:
        yield target
        return
    if not isinstance(log, Path):
        raise click.UsageError(f"{log}: the built-in target answers from files only; name a TARGET")
    from logreplay.replay.target import Capacity, spawned

    capacity = Capacity()
    with spawned(log, capacity) as url:
        say(f"no TARGET given: started the built-in one at {url}, {describe(capacity)}", quiet=quiet)
        yield url


def describe(capacity: object) -> str:
    """The capacity of a built-in target in words."""
    from logreplay.replay.target import Capacity

    assert isinstance(capacity, Capacity)
    kind = "exponential, mean " if capacity.exponential else ""
    return f"{capacity.workers} workers x {kind}{capacity.service_s * 1000:g} ms = {capacity.rate:g} requests/s"


def is_normalized(log: Path) -> bool:
    """Whether a file is a normalized CSV or a result log, by its name or first bytes."""
    if log.suffix == ".parquet":
        return True
    from logreplay.parsers.record import LogreplayError, scan

    try:
        scan(log)
    except LogreplayError:
        return False
    return True


def new_name(stem: str, ending: str = "") -> Path:
    """A name in the current folder made from the command and the time, not used so far."""
    from datetime import datetime

    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    return Path(f"{stem}-{stamp}{ending}")


def new_folder(folder: Path, *, force: bool = False) -> Path:
    """Make a folder for results; nothing that stands in it is overwritten without ``force``.

    Raises:
        LogreplayError: it holds something already, or cannot be made.
    """
    from logreplay.parsers.record import LogreplayError, check_name

    check_name(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LogreplayError(f"{folder}: cannot be written: {error.strerror}; choose another with -o") from None
    if not force and any(folder.iterdir()):
        raise LogreplayError(f"{folder}: holds something already; choose another with -o, or overwrite it with --force")
    return folder


def on_terminal() -> bool:
    """Whether progress and colour have somebody to see them."""
    return sys.stderr.isatty()


def terminal_size() -> tuple[int, int]:
    """Columns and lines of the terminal on stderr; 80 x 24 where there is none."""
    try:
        columns, lines = os.get_terminal_size(sys.stderr.fileno())
    except (OSError, ValueError):
        return 80, 24
    return columns or 80, lines or 24  # some know their size as 0 x 0
