"""Folders of results: each has one writer, and an earlier result stays until the new one is whole."""

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from typing import Final, Self, TypeVar

from logreplay.analysis.output.file_names import ANSWERS, DUET, FIGURES, OF_COMMANDS, companion_files
from logreplay.calling.loop_thread import protected
from logreplay.core.errors import LogreplayError
from logreplay.core.files import (
    Closing,
    Lock,
    TakenError,
    check_distinct,
    check_nameable,
    make_folder,
    remove_left_behind,
    writing,
)
from logreplay.core.rows import check_name
from logreplay.replay.senders.pair_keeper import FILES
from logreplay.replay.sweeps.manifest import NAME
from logreplay.replay.sweeps.step_log import ASIDE, JUDGED

Place = TypeVar("Place")
Named = Sequence[tuple[str, Path]]
"""Files, each after the argument or option that names it."""
_RUNNING: Final = "running"
_PROOF: Final = re.compile(r"proof-(\d+|autoscaler)\.(csv|summary\.json|hlog|hgrm|watch\.csv|logins\.csv)")
"""Names of the files that a plan writes next to its search."""
_IN_A_SECOND: Final = 100
"""Names that are tried for results without ``-o`` within one second."""


def place_for(named: Path | None, take: Callable[[Path], Place], stem: str, ending: str = "") -> Place:
    """Take the named place, or else a free one in the current folder, named after the command and the time.

    ``take`` raises `TakenError` if something is there, or another process writes there.
    """
    if named:
        return take(named)
    name = f"{stem}-{datetime.now():%Y%m%d-%H%M%S}"
    for number in ("", *(f"-{count}" for count in range(2, _IN_A_SECOND))):
        with suppress(TakenError):
            return take(Path(f"{name}{number}{ending}"))
    return take(Path(f"{name}-{_IN_A_SECOND}{ending}"))


def free_folder(folder: Path) -> Path:
    """Refuse a folder that holds something; return it."""
    if folder.is_dir() and any(folder.iterdir()):
        advice = "choose another with -o, or replace it with --force"
        raise TakenError(f"{folder}: exists already, and is not empty; {advice}")
    return folder


class ResultFolder(Closing):
    """A folder of results, locked until `close`. Where it replaces a result, it grows as ``FOLDER/running``.

    Attributes:
        path: where to write.
    """

    def __init__(self, folder: Path, path: Path, locks: ExitStack) -> None:
        self._folder, self.path, self._locks = folder, path, locks
        self._made = False

    @classmethod
    def new(cls, folder: Path, reads: Named = (), *, force: bool = False, others: Named = ()) -> Self:
        """Make a folder, and lock it.

        Args:
            reads: the files that must not be among those that are replaced, each after its option.
            force: the folder may hold a result already, which is replaced.
            others: further files that the call writes, outside of the folder.
        """
        check_name(folder)
        check_nameable(folder)
        check_distinct([*others, *(("-o", folder / name) for name in _names())], reads)
        with ExitStack() as locks:
            made = not folder.exists()
            with writing(folder):
                make_folder(folder)
                locks.enter_context(Lock(folder, folder))
                remove_left_behind(folder)
                path = folder
                if any(folder.iterdir()):
                    if not force:
                        free_folder(folder)
                    path = folder / _RUNNING
                    if path.is_symlink():
                        raise LogreplayError(f"{folder}: cannot be written: {path} is a link; remove it")
                    make_folder(path)
                    made = True
                    locks.enter_context(Lock(path, folder))
                    _clear(path)
            result = cls(folder, path, locks.pop_all())
            result._made = made
            return result

    @classmethod
    def named(
        cls, output: Path | None, stem: str, reads: Named = (), *, force: bool = False, others: Named = ()
    ) -> Self:
        """Make the folder that the user named, or one with a name made from the command and the time; see `new`."""
        force = force and output is not None
        return place_for(output, lambda path: cls.new(path, reads, force=force, others=others), stem)

    @classmethod
    def resumed(cls, folder: Path, reads: Named = (), *, replaces: bool = False) -> Self:
        """Go on in a folder; ``replaces``: its result takes the place of that in the folder above, as it was to do."""
        kept = folder.absolute().parent if replaces and folder.resolve().name == _RUNNING else folder
        folders = dict.fromkeys((kept, folder))
        check_distinct([("--resume", each / name) for each in folders for name in _names()], reads)
        with ExitStack() as locks:
            for each in folders:
                if each.is_dir():
                    locks.enter_context(Lock(each, kept))
            if (newer := folder / _RUNNING).is_dir():
                raise LogreplayError(
                    f"{folder}: {newer} holds what a later command left: if it was a sweep, --resume {newer} makes "
                    f"what it lacks; to go on with the older one in {folder}, move {newer} elsewhere, or delete it"
                )
            return cls(kept, folder, locks.pop_all())

    @property
    def replaces(self) -> bool:
        """Whether it takes the place of another result."""
        return self.path != self._folder

    @property
    def place(self) -> Path:
        """Where the result is after `keep`."""
        return self._folder

    @property
    def measured(self) -> bool:
        """Whether there are rows to judge."""
        return any((self.path / name).exists() for name in (JUDGED, *DUET))

    def keep(self) -> Path:
        """Put the new result in the place of the old one, of which nothing stays; return where it is.

        Also by Ctrl-C, which then raises `Interrupted`.
        """
        if self.replaces:
            self._made = False  # from here on, `close` removes nothing
            protected(lambda _: self._move())  # Ctrl-C in between would leave a part of each result
        return self._folder

    def _move(self) -> None:
        with writing(self._folder):
            _clear(self._folder)
            for made in self.path.iterdir():
                made.replace(self._folder / made.name)
            self.path.rmdir()
        self.path = self._folder

    def close(self) -> None:
        """Let another process write here, and remove what nobody needs any more.

        That is the pairs of a duet that ended early, and a folder that was made and holds no rows to judge.
        """
        with self._locks, suppress(OSError):
            for pairs in self.path.glob(FILES):
                pairs.unlink()
            if self._made and not self.measured:
                _clear(self.path)
                self.path.rmdir()


def _names() -> Sequence[str]:
    """The files of a sweep, a search or a duet."""
    rows = [JUDGED, *(f"{JUDGED}{ending}" for ending in (".gz", ".zst")), str(Path(JUDGED).with_suffix(".parquet"))]
    beside = [path.name for log in (JUDGED, *DUET) for path in companion_files(Path(log))]
    return list(dict.fromkeys([NAME, ASIDE, *rows, *DUET, *beside, *FIGURES, *OF_COMMANDS, *ANSWERS]))


def _clear(folder: Path) -> None:
    """Remove the files of a sweep, a search or a duet, and nothing else."""
    proofs = (path for path in folder.glob("proof-*") if _PROOF.fullmatch(path.name))
    for path in (*(folder / name for name in _names()), *folder.glob(FILES), *proofs):
        path.unlink(missing_ok=True)
