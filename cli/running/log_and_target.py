"""Logs and targets that commands are given, or the ones that come with the package."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from logreplay.cli.display.terminal import say

if TYPE_CHECKING:
    from logreplay.cli.options.replay import ReplayOptions
    from logreplay.replay.requests.remote import Stored
    from logreplay.replay.requests.siege_list import UrlList
    from logreplay.replay.requests.tail import Followed
    from logreplay.replay.requests.url_rows import UrlRow

    Log = Path | Stored | UrlRow

BUNDLED = "nginx_request_time.log"


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
    from logreplay.replay.requests.remote import Stored

    with replayable(log, quiet=quiet) as source:
        assert not isinstance(source, Stored)
        with _as_file(source) as path:
            yield path


@contextmanager
def _as_file(log: "Path | UrlList") -> Iterator[Path]:
    """Requests as a file that any command reads."""
    from logreplay.core.files import scratch_folder

    if isinstance(log, Path):
        yield log
        return
    with scratch_folder() as folder:
        yield log.write_normalized(folder / "log.csv")


@contextmanager
def replayable(
    log: "Log | None", *, quiet: bool = False, sender: "ReplayOptions | None" = None
) -> "Iterator[Path | Stored | UrlList]":
    """Requests to replay: a normalized CSV, made on the way where the log is another; or a list of urls.

    The bundled log where none is given. A pipe is read to its end first. A file with one raw HTTP request stays what it
    is. What lies in a store must be normalized already, and stays there.

    Args:
        log: of any of these kinds.
        quiet: do not report the conversion.
        sender: the options of the command that sends these requests: it needs a target, which an access log does not
            name. Checked before a log is converted.

    Raises:
        LogreplayError: no such file, or no line of it can be read; or the store cannot be read.
        UsageError: an access log without a target.
    """
    from logreplay.core.record import LogreplayError
    from logreplay.replay.requests.remote import Stored
    from logreplay.replay.requests.siege_list import UrlList, is_url_list
    from logreplay.replay.requests.url_rows import UrlRow

    if isinstance(log, Stored):
        log.names()
        yield log
        return
    from logreplay.core.files import scratch_folder
    from logreplay.replay.requests.sources import is_request_file

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
            say(f"no LOG is given: replaying the bundled sample log, {BUNDLED}", quiet=quiet)
        held = log or sample
        if is_pipe(held):
            say(f"{name}: a pipe; reading it to its end", quiet=quiet)
            held = copied(held, folder)
        try:
            if is_normalized(held) or is_request_file(held):
                yield held
            elif is_url_list(held):
                yield UrlList.read(held, name)
            else:
                if sender and log is not None and held.exists():
                    _expect_target(sender)
                from logreplay.parsers.conversion.job import ConvertOptions, convert

                report = convert([held], path, ConvertOptions())
                say(f"{name}: {report.sentence()}", quiet=quiet)
                if not report.converted:
                    raise LogreplayError(f"{name}: no line is a request that can be replayed; name another log")
                yield path
        except LogreplayError as error:  # the user knows the log, not what was made of it
            text = str(error).replace(str(path), name).replace(str(held), name)
            if text == str(error):
                raise
            raise LogreplayError(text) from error


def is_typed(name: str) -> bool:
    """Whether a parameter of the command that runs comes from the command line, not from settings."""
    context = click.get_current_context()
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def is_pipe(path: Path) -> bool:
    """Whether a log can be read only once: standard input (``-``), a named pipe, or ``<(command)``."""
    from logreplay.core.files import is_stream

    return str(path) == "-" or is_stream(path)


def copied(pipe: Path, folder: Path) -> Path:
    """Copy what comes out of a pipe into a file, named after what it holds.

    Raises:
        LogreplayError: it cannot be read, or the disk is full.
    """
    from logreplay.core.files import why
    from logreplay.core.record import LogreplayError

    copy = folder / "pipe"
    try:
        with open(0 if str(pipe) == "-" else pipe, "rb", closefd=str(pipe) != "-") as source, copy.open("wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
        with copy.open("rb") as file:
            return copy.rename(folder / "pipe.parquet") if file.read(4) == b"PAR1" else copy
    except OSError as error:
        raise LogreplayError(f"{pipe}: cannot be copied to {folder}: {why(error)}") from None


class LogName(click.ParamType["Log"]):
    """A file; an object of a store, ``s3://BUCKET/access.csv``; or one url, ``http://HOST/PATH``."""

    name = "log"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> "Log":
        try:
            return log_named(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def log_named(text: str) -> "Log":
    """What a LOG on the command line names.

    Raises:
        ValueError: an address that no log can have.
    """
    scheme, separator, rest = text.partition("://")
    if text.startswith(("http:/", "https:/", "unix:")):
        if scheme == "unix" or "/" not in rest:
            one = "" if scheme.startswith("unix:") else f", or {text.rstrip('/')}/ to replay that one url"
            raise ValueError(f"{text}: a target stands where LOG is expected; name both: LOG, then TARGET{one}")
        from logreplay.replay.requests.url_rows import UrlRow

        return UrlRow.of(text)
    if not separator:
        return Path(text)
    from logreplay.core.stores import SCHEMES
    from logreplay.replay.requests.remote import Stored

    if scheme not in SCHEMES:
        raise ValueError(f"{text!r} is not a log; name a file, or an object of a store such as s3://BUCKET/access.csv")
    return Stored(text)


def _expect_target(options: "ReplayOptions") -> None:
    """Check that a command with a LOG has a target, or may send to the built-in one.

    Raises:
        UsageError: neither; and nobody sits at a terminal.
    """
    if not (options.target or options.demo_target or (sys.stdin.isatty() and sys.stdout.isatty())):
        raise click.UsageError("no TARGET is given; name it, or add --demo-target to send to a built-in server")


@contextmanager
def target_or_builtin(options: "ReplayOptions", log: "Path | Stored | UrlList", *, given: bool) -> Iterator[str]:
    """The base URL of the target; or of the built-in one, which runs until the block ends.

    Without LOG and TARGET a command is the demo, and says so on stdout. With LOG alone it uses the built-in target
    where somebody sits at a terminal; a script has rather forgotten the target than meant that.

    Args:
        options: name a target, or ``--demo-target``.
        log: to be replayed.
        given: the user named it.

    Raises:
        LogreplayError: the built-in target did not start.
        UsageError: no target is named and there is no terminal; or the built-in one cannot answer from this log; or
            two targets are named.
    """
    from logreplay.replay.requests.remote import Stored
    from logreplay.replay.requests.siege_list import UrlList

    target, quiet = options.target, options.quiet
    if options.demo_target:
        if target is not None and is_typed("target"):
            raise click.UsageError(f"--demo-target and TARGET exclude each other: leave out {target}")
        if isinstance(log, UrlList) and log.target:
            raise click.UsageError(f"--demo-target: {log} names its own target, {log.target}; leave out --demo-target")
        target = None
    if isinstance(log, UrlList) and log.target:
        if target is not None and is_typed("target"):
            raise click.UsageError(f"{log} names its own target, {log.target}: leave out {target}")
        yield log.target
        return
    if target is not None:
        yield target
        return
    if isinstance(log, Stored):
        raise click.UsageError(f"{log}: the built-in target answers from files only; give a TARGET")
    if isinstance(log, UrlList) and (origins := log.origins()):
        named = ", ".join(origins[:3]) + (", ..." if len(origins) > 3 else "")
        raise click.UsageError(f"{log} names {named}, and no TARGET is given; name it: {log} {origins[0]}")
    if given:
        _expect_target(options)
    else:
        words = "demo: no LOG is given; this replays the bundled sample log"
        words += "" if options.demo_target else " against a built-in server, since no TARGET is given"
        if options.as_json:
            say(words, quiet=quiet)
        elif not quiet:
            click.echo(words)
    from logreplay.replay.servers.known_capacity import ServerCapacity, spawned

    capacity = ServerCapacity()
    with _as_file(log) as path, spawned(path, capacity) as url:
        say(f"started the built-in target at {url}: {capacity}", quiet=quiet)
        yield url


def followed(log: Path, seconds: float | None) -> "Followed":
    """A log as a source of requests while it is written.

    Args:
        log: an access log in any format that `convert` reads by itself.
        seconds: how long to follow it; None: until the run is stopped.

    Raises:
        LogreplayError: it is not a file, is compressed, or its present part is not an access log.
    """
    from logreplay.core.record import LogreplayError
    from logreplay.parsers.conversion.follow import LineParser
    from logreplay.replay.requests.tail import Followed, Tail

    if log.exists() and not log.is_file():
        raise LogreplayError(f"--follow {log}: is not a file; name the log file that a server writes")
    return Followed(Tail(log, seconds=seconds), LineParser(log))


def is_normalized(log: Path) -> bool:
    """Whether a file is a normalized CSV or a result log, by its name or first bytes."""
    from logreplay.core.record import LogreplayError, is_parquet, scan

    if is_parquet(log):
        return True

    try:
        scan(log)
    except LogreplayError:
        return False
    return True
