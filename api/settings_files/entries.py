"""Reads a settings file into entries, each for a command: for the command line and for programs."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from logreplay.core.errors import LogreplayError
from logreplay.options.option import FORMER
from logreplay.settings_files.rules import check_allowed, line_of, opposite

_SENDING: Final = ("run", "sweep", "find")
Meanings = Mapping[str, Mapping[str, object]]
"""For each command its keys, and what each of them means."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A value for a command.

    Attributes:
        where: file and line, for messages.
        own: it stands in the section of the command, not at the top.
    """

    where: str
    command: str
    key: str
    value: Any
    own: bool


def entries(path: Path, known: Meanings, everywhere: Mapping[str, object]) -> Iterator[Entry]:
    """Read a file: keys at its top are for every command in which they mean the same, ``[run]`` is for ``run``.

    Args:
        path: path of the file.
        known: the commands that may have a section, and their keys.
        everywhere: the keys that may stand at the top, as `shared` says.

    Raises:
        LogreplayError: it cannot be read, has an unknown name, or sets what it may not.
    """
    try:
        text = path.read_text(encoding="utf-8")
        found = tomllib.loads(text)
    except OSError as error:
        raise LogreplayError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise LogreplayError(f"{path}: is not TOML: {error}; mend it, or delete it") from None
    for name, value in found.items():
        if not isinstance(value, dict):
            where = f"{path}, line {line_of(text, '', name)}"
            if name not in everywhere:
                instead = _elsewhere(name, known, everywhere)
                raise LogreplayError(f"{where}: there is no option {name!r} for all commands{instead}")
            _check_once(where, name, found, everywhere)
            check_allowed(where, path, name, value)
            commands = [each for each, keys in known.items() if name in keys and keys[name] == everywhere[name]]
            yield from (Entry(where, command, name, value, own=False) for command in commands)
    for name, section in found.items():
        if isinstance(section, dict):
            yield from _section(path, text, name, section, known)


def _section(path: Path, text: str, name: str, section: Mapping[str, object], known: Meanings) -> Iterator[Entry]:
    if name not in known:
        where = f"{path}, line {line_of(text, name, '')}"
        raise LogreplayError(f"{where}: there is no command {name!r}{nearest(name, known)}")
    for key, value in section.items():
        where = f"{path}, line {line_of(text, name, key)}"
        if key not in known[name]:
            raise LogreplayError(f"{where}: {name} has no option {key!r}{nearest(key, known[name])}")
        _check_once(where, key, section, known[name])
        check_allowed(where, path, key, value)
        yield Entry(where, name, key, value, own=True)


def _check_once(where: str, key: str, given: Mapping[str, object], known: Iterable[str]) -> None:
    """Check that an option is not also set by its earlier name, or by the name that undoes it.

    Raises:
        LogreplayError: it is.
    """
    for other in {FORMER.get(key, key), opposite(key)} - {key}:
        if other in given and other in known:
            raise LogreplayError(f"{where}: {key!r} and {other!r} set the same option: leave out one of them")


def shared(meanings: Meanings) -> dict[str, object]:
    """The keys at the top of a file, and their meaning there: what run, sweep and find agree on, then all commands."""
    agreed: dict[str, list[object]] = {}
    for among in (_SENDING, tuple(meanings)):
        found: dict[str, list[object]] = {}
        for command in among:
            for key, meaning in meanings[command].items():
                found.setdefault(key, []).append(meaning)
        agreed = {**found, **agreed}
    return {key: one for key, (one, *others) in agreed.items() if all(other == one for other in others)}


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the names that are near to it, or all there are."""
    from logreplay.options.spelling import near_names  # loads all tables: only for an error

    names = sorted(set(known))
    near = near_names(name, names)
    return f"; did you mean {' or '.join(near)}?" if near else f"; there are {', '.join(names)}"


def _elsewhere(key: str, known: Meanings, everywhere: Iterable[str]) -> str:
    """The end of a refusal of a key at the top: the sections that have it, or the keys near to it."""
    some = " or ".join(f"[{command}]" for command, keys in known.items() if key in keys)
    return f"; it is not the same in all commands, so put it into {some}" if some else nearest(key, everywhere)
