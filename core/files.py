"""Atomic file writes: one writer for each name, and no write over a file that is being read.

Theory of operation. A new file grows under a temporary name beside its own and takes its name when it is whole. The
writer holds a kernel lock (flock) on the temporary file. The kernel releases it whatever ends the process, so a file
without a lock was left behind by a process that was killed, and may be written again. On a file system without locks
only the exclusive creation of names protects the writers from each other.
"""

import atexit
import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from glob import escape
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir, mkdtemp
from typing import BinaryIO, Final, Self

from logreplay.core.errors import LogreplayError, UsageError
from logreplay.core.errors import TakenError as TakenError
from logreplay.core.masking import masked
from logreplay.core.stores import is_address

FULL: Final = {
    errno.ENOSPC: "the disk is full; free some space",
    errno.EDQUOT: "the disk quota is used up; free some space",
    errno.EFBIG: "the file size limit is reached (ulimit -f); raise it",
}
"""Why a file cannot grow, and the remedy, by errno."""
_LOCK_NAME: Final = ".logreplay.lock"
_PART: Final = ".logreplay.part"
_SCRATCH: Final = "logreplay-"
_TRIES: Final = 5
_PAUSE_S: Final = 0.01


_MODES: Final = {"file": 0o600, "folder": 0o700}
"""Modes of result files and folders: owner only, because URLs may hold tokens."""
_UNFINISHED: Final[set[Path]] = set()
"""Lock files, temporary files and scratch folders of this process that still exist."""


def remove_unfinished() -> None:
    """Remove temporary files and locks at the end of the process; an exception may have skipped the usual removal.

    Code that ends the process without its exit handlers calls this first.
    """
    for path in [*_UNFINISHED]:
        if path.is_dir():
            rmtree(path, ignore_errors=True)
        else:
            _remove_with_parts(path)


def _remove_with_parts(path: Path) -> None:
    with suppress(OSError):
        for part in path.parent.glob(f"{escape(path.name)}*"):
            part.unlink(missing_ok=True)


atexit.register(remove_unfinished)
os.register_at_fork(after_in_child=_UNFINISHED.clear)


class Closing:
    """Closes itself at the end of ``with``."""

    def close(self) -> None:
        """Release files and locks."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Lock(Closing):
    """A kernel lock on a file or folder, held until `close` or the end of the process.

    Args:
        path: a folder; or a file, made if it is missing, and removed by `close`.
        of: the name that is protected, for the message.
        option: that gives the name, for the message.

    Raises:
        LogreplayError: another process holds it (`TakenError`), or the file cannot be made.
    """

    def __init__(self, path: Path, of: Path, option: str = "-o") -> None:
        self._path, self._folder = path.absolute(), path.is_dir()
        for _ in range(_TRIES):
            with writing(of, option):
                if self._take():
                    return
            time.sleep(_PAUSE_S)  # its last holder may just be removing it
        raise TakenError(in_use(of, option))

    def _take(self) -> bool:
        flags = os.O_RDONLY if self._folder else os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        self._descriptor = os.open(self._path, flags, _MODES["file"])
        with suppress(FileNotFoundError):  # removed by its last holder before it was locked here
            if lock(self._descriptor) and os.path.samestat(os.fstat(self._descriptor), os.stat(self._path)):
                if not self._folder:
                    _UNFINISHED.add(self._path)
                return True
        os.close(self._descriptor)
        return False

    def close(self) -> None:
        """Let the next writer in; remove the lock file, and the files beside it whose names begin with its name."""
        if not self._folder:
            with suppress(FileNotFoundError):  # the name may be free, or the next writer's
                if os.path.samestat(os.fstat(self._descriptor), os.stat(self._path)):
                    _remove_with_parts(self._path)  # an interruption may have come before a part had an owner
            _UNFINISHED.discard(self._path)
        os.close(self._descriptor)


def lock(descriptor: int, *, unsupported: bool = True) -> bool:
    """Lock an open file until it is closed; False if another process holds the lock.

    Args:
        unsupported: the answer on a file system without locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return unsupported
    return True


def in_use(path: Path, option: str = "-o") -> str:
    """The message for a name that another process is writing."""
    return f"{path}: another logreplay is writing it; wait for its end{_or_another(option)}"


def _or_another(option: str) -> str:
    return f", or choose another with {option}" if option else ""


def lock_beside(path: Path, of: Path) -> Lock:
    """Lock a name by a hidden file beside it; hidden files that killed processes left in that folder are removed."""
    remove_left_behind(path.parent)
    return Lock(path.with_name(f".{path.name}{_LOCK_NAME}"), of)


def remove_left_behind(folder: Path) -> None:
    """Remove the temporary files and locks of processes that were killed while they wrote into a folder."""
    parts = [part for part in folder.glob(f".*{_PART}*") if part.name == _part_of(part.name[1:].rpartition(_PART)[0])]
    for left in (*parts, *folder.glob(f".*{_LOCK_NAME}")):
        _if_abandoned(left, partial(_remove_with_parts, left))


def _part_of(name: str) -> str:
    """The name of a temporary file, with the ending of its own, by which libraries know the format."""
    return f".{name}{_PART}{Path(name).suffix}"


def is_part(path: str | Path) -> bool:
    """Whether a name is that of a temporary file."""
    return _PART in Path(path).name


def not_through_a_link(path: str, flags: int) -> int:
    """Open a file of results (an ``opener``): a link that somebody put there would lead the rows elsewhere."""
    return os.open(path, flags | os.O_NOFOLLOW, _MODES["file"])


def fresh_file(path: Path) -> BinaryIO:
    """Make a temporary file; anything of that name, such as a link, is removed."""
    path.unlink(missing_ok=True)
    return open(path, "xb", opener=not_through_a_link)


def make_folder(path: Path) -> None:
    """Make a folder of results, with those above it, if it is not there.

    Raises:
        LogreplayError: it is the address of a store, which as a path would be a folder ``s3:``; or a file has its name
            (`TakenError`).
    """
    if _is_in_store(path):
        raise LogreplayError(f"{path}: results are written to folders of this machine, not to a store; name one")
    check_no_file(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=_MODES["folder"], exist_ok=True)


@contextmanager
def removed_if_empty(path: Path) -> Iterator[None]:
    """Make a folder of results; at the end, remove it and those above it that were made, if they are empty."""
    made = [each for each in (path, *path.parents) if not each.exists()]
    with writing(path):
        make_folder(path)
    try:
        yield
    finally:
        with suppress(OSError):  # they hold something
            for each in made:
                each.rmdir()


@contextmanager
def shared() -> Iterator[None]:
    """Let the umask decide who may read the files and folders that this process makes in the block."""
    before = dict(_MODES)
    _MODES.update(file=0o666, folder=0o777)
    try:
        yield
    finally:
        _MODES.update(before)


class NewFile(Closing):
    """A file that takes its name when it is complete. Devices and pipes are written directly.

    Args:
        path: its name.
        force: a file of that name may be replaced.
        option: that gives the name, for messages; empty: none does.

    Attributes:
        part: where to write.

    Raises:
        LogreplayError: something has that name and ``force`` was not given (`TakenError`), another process writes it,
            or the folder cannot be written.
    """

    def __init__(self, path: Path, *, force: bool = False, option: str = "-o") -> None:
        self._path, self._force, self._option = path, force, option
        self.part, self._lock = path, None
        if is_stream(path):
            return
        if path.is_dir():
            raise LogreplayError(f"{path}: is a folder; give the name of a file with {option}")
        if _is_descriptor(path):
            raise LogreplayError(f"{path}: leads to a file that is open already; name the file itself with {option}")
        self._check()
        remove_left_behind(path.parent)
        self.part = path.with_name(_part_of(path.name))
        self._lock = Lock(self.part, path, option)

    def keep(self, made: Path | None = None) -> None:
        """Give the file its name; it was written at ``part``, or at ``made`` in the same folder."""
        if self.part == self._path:
            return
        made = made or self.part
        if not self._force:
            try:
                os.link(made, self._path)
                made.unlink()
                return
            except FileExistsError:
                raise taken(self._path, self._option) from None
            except OSError:  # a file system without links
                self._check()
        made.replace(self._path)

    def close(self) -> None:
        """Remove the temporary file, if it was not kept."""
        if self._lock:
            self._lock.close()
            self._lock = None

    def _check(self) -> None:
        if not self._force:
            check_absent(self._path, self._option)


@contextmanager
def atomic_path(path: Path, *, force: bool = True, option: str = "-o") -> Iterator[Path]:
    """Give another name to write under; the file gets its own when the block has ended well."""
    with closing(NewFile(path, force=force, option=option)) as new:
        try:
            yield new.part
        except OSError as error:
            if error.errno in FULL and not error.filename:  # a failed write names no file
                error.filename = str(path)
            raise
        new.keep()


def write_atomically(path: Path, data: bytes | str, *, force: bool = True, option: str = "-o") -> None:
    """Write a file atomically; text as UTF-8."""
    with atomic_path(path, force=force, option=option) as fresh:
        fresh.write_bytes(data.encode() if isinstance(data, str) else data)


def check_absent(path: Path, option: str = "-o") -> None:
    """Check that nothing has this name, not even a link that leads nowhere."""
    if os.path.lexists(path):
        raise taken(path, option)


def taken(path: Path, option: str = "-o") -> TakenError:
    """The error to raise where something has the name of an option."""
    remedy = f"choose another with {option}, or replace it with --force" if option else "replace it with --force"
    return TakenError(f"{path}: exists already; {remedy}")


def writable(text: str) -> bool:
    """Whether the system takes this text as a name; it has NUL bytes and lone surrogates from nowhere but Python."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def check_nameable(path: str | os.PathLike[str]) -> None:
    """Check that the system takes this as the name of a file, whether there is one or not; addresses of stores pass.

    Raises:
        UsageError: it is too long, or holds a NUL byte or a lone surrogate.
    """
    if is_address(os.fspath(path)):
        return
    try:
        os.lstat(path)
        return
    except ValueError:
        why = "it holds a character that no name has"
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            return
        why = f"{len(os.fspath(path))} characters are too many"
    raise UsageError(f"{os.fspath(path)[:40]!r}: is not a name that a file can have: {why}; name a file")


def path_given(value: object, argument: str) -> Path:
    """Return the path that a program gives for an argument.

    Raises:
        UsageError: it is not a path, or not one that a file can have.
    """
    if not isinstance(value, str | os.PathLike) or not (text := os.fspath(value)) or isinstance(text, bytes):
        shown = repr(value) if isinstance(value, str | bytes | int | float | None) else type(value).__name__
        raise UsageError(f"{argument}={shown}: expected a path, as a text or a Path", (argument,))
    check_nameable(text)
    return Path(text)


def check_no_file(folder: Path) -> None:
    """Check that no file has the name of a folder of results.

    Raises:
        TakenError: one has.
    """
    if folder.exists() and not folder.is_dir():
        raise TakenError(f"{folder}: is a file; name a folder with -o")


def _is_in_store(path: Path) -> bool:
    """Whether a path was made of the address of a store, which loses a slash by that: ``s3:/bucket``."""
    return is_address(path.as_posix().replace(":/", "://", 1))


def _is_descriptor(path: Path) -> bool:
    """Whether a path is a link such as ``/dev/stdout`` or ``/proc/self/fd/1``, which must not be replaced."""
    folder = path.parent.resolve()
    return path.is_symlink() and (folder == Path("/dev") or folder.is_relative_to("/proc"))


def is_stream(path: Path) -> bool:
    """Whether a path is a device or a pipe: it is written to, and never replaced or removed."""
    return path.exists() and not path.is_file() and not path.is_dir()


def check_distinct(writes: Sequence[tuple[str, Path]], reads: Sequence[tuple[str, str | Path]] = ()) -> None:
    """Check that each file to be written differs from all others written and read; follows links and other spellings.

    Args:
        writes: option or role, and path.
        reads: argument or option, and path; ``-`` is standard input.
    """
    for at, (role, path) in enumerate(writes):
        for other, read in reads:
            if _same_file(path, read):
                name = "standard input" if str(read) == "-" else read
                option = role if role.startswith("-") else other
                advice = f"choose another name with {option}"
                raise UsageError(f"{path}: {role} would overwrite {name}, the {other}; {advice}")
        for other, written in writes[:at]:
            if _same_file(path, written):
                raise UsageError(f"{path}: {other} and {role} name the same file; choose another name for one")


def check_named_once(
    paths: Iterable[str | Path], advice: str = "its lines would be counted twice; name it once"
) -> None:
    """Check that no two of the paths to be read are one file; follows links and other spellings.

    Args:
        paths: files, ``-`` for standard input, or addresses of stores, which are compared as text.
    """
    known: dict[object, str | Path] = {}
    for path in paths:
        file: object = str(path)
        with suppress(OSError):
            found = _status(path)
            file = (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else file
        name = "standard input" if str(path) == "-" else masked(str(path))
        if file in known:
            twice = f"{name} is named twice" if known[file] == name else f"{known[file]} and {name} are the same file"
            raise LogreplayError(f"{twice}: {advice}")
        known[file] = name


def _status(path: str | Path) -> os.stat_result:
    """The status of a file to be read; ``-`` is standard input."""
    return os.stat(0 if str(path) == "-" else path)


def _same_file(one: Path, other: str | Path) -> bool:
    try:
        first, second = os.stat(one), _status(other)
    except OSError:
        return str(other) != "-" and os.path.realpath(one) == os.path.realpath(other)
    return stat.S_ISREG(first.st_mode) and os.path.samestat(first, second)


def why(error: OSError, option: str = "-o") -> str:
    """Why the file of an option cannot be written, in words."""
    if error.errno in FULL:
        return f"{FULL[error.errno]}{f', or write elsewhere with {option}' if option else ''}"
    return error.strerror or str(error)


def reason(error: Exception) -> str:
    """The first line of an error; of one of the system its words alone, without number and file."""
    return (isinstance(error, OSError) and error.strerror) or str(error).partition("\n")[0]


def unwritable(path: Path, error: OSError, option: str = "-o") -> LogreplayError:
    """Return the error for an option whose file cannot be written: the reason, and what to do."""
    if error.errno == errno.EEXIST and (file := next(filter(Path.is_file, (path, *path.parents)), None)):
        named = f"{path}:" if file == path else f"{path}: {file}"
        return LogreplayError(f"{named} is a file; name a folder{f' with {option}' if option else ''}")
    missing = error.errno in (errno.ENOENT, errno.ENOTDIR) and not path.parent.is_dir()
    cause = f"there is no folder {path.parent}" if missing else why(error, option)
    if missing and _is_in_store(path):
        cause = "results are written to files of this machine, not to a store"
    remedy = "" if error.errno in FULL else f"; choose another with {option}" if option else "; use another folder"
    if error.errno == errno.ELOOP and error.filename:
        cause, remedy = f"{error.filename} is a link", f"; remove it{_or_another(option)}"
    return LogreplayError(f"{path}: cannot be written: {cause}{remedy}")


@contextmanager
def writing(path: Path, option: str = "-o") -> Iterator[None]:
    """Turn an OSError of the block, which writes this file or folder, into the error of `unwritable`."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error, option) from None


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a temporary folder for the length of a block; remove those that killed processes left behind."""
    _clear_scratch()
    folder = Path(mkdtemp(prefix=_SCRATCH)).absolute()
    _UNFINISHED.add(folder)
    descriptor = os.open(folder / f"{_LOCK_NAME}.new", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        lock(descriptor)
        (folder / f"{_LOCK_NAME}.new").rename(folder / _LOCK_NAME)  # nobody sees it without its lock
        yield folder
    finally:
        rmtree(folder, ignore_errors=True)
        _UNFINISHED.discard(folder)
        os.close(descriptor)


def in_scratch(path: Path) -> bool:
    """Whether a path lies, or lay, in a folder that `scratch_folder` made."""
    return any(folder.name.startswith(_SCRATCH) and folder.parent == Path(gettempdir()) for folder in path.parents)


def _clear_scratch() -> None:
    for mark in Path(gettempdir()).glob(f"{_SCRATCH}*/{_LOCK_NAME}"):
        with suppress(OSError):
            if not mark.parent.is_symlink() and mark.parent.stat().st_uid == os.getuid():
                _if_abandoned(mark, partial(rmtree, mark.parent, ignore_errors=True))


def _if_abandoned(path: Path, remove: Callable[[], object]) -> None:
    """Call this if the process that locked a file has ended."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        try:
            if lock(descriptor, unsupported=False):
                remove()
        finally:
            os.close(descriptor)
