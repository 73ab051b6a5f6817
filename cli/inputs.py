"""What a command replays and where to: the given log and target, or the ones that come with the package."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory

import click

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
    from logreplay.replay.source import is_request_file
    from logreplay.replay.urls import is_url_list, read_url_list, to_normalized

    if log is not None and (is_normalized(log) or is_request_file(log)):
        yield log
        return
    from logreplay.parsers.convert import ConvertOptions, convert

    with TemporaryDirectory(prefix="logreplay-") as folder, bundled_log() as sample:
        if log is None:
            say(f"no LOG given: replaying the bundled sample log, {BUNDLED}", quiet=quiet)
        path = Path(folder) / "log.csv"
        if log is not None and is_url_list(log):
            with path.open("wb") as file:
                file.writelines(to_normalized(read_url_list(log)))
            yield path
            return
        report = convert([log or sample], path, ConvertOptions())
        say(f"{log or BUNDLED}: {report.sentence()}", quiet=quiet)
        yield path


@contextmanager
def target_or_builtin(target: str | None, log: Path, *, quiet: bool = False) -> Iterator[str]:
    """The base URL of the target; where none is given, of a built-in one that runs until the block ends.

    Raises:
        LogreplayError: the built-in target did not start.
    """
    if target is not None:
        yield target
        return
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
    from logreplay.parsers.record import LogreplayError

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
