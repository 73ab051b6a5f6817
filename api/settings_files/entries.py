"""Reads a settings file into entries, each for a command: for the command line and for programs."""

import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

from logreplay.core.errors import LogreplayError
from logreplay.options.kinds import FORMER
from logreplay.settings_files.rules import check_allowed, line_of, opposite

_SENDING: Final = ("run", "sweep", "find")
Meanings = Mapping[str, Mapping[str, object]]
"""For each command its keys, and what each of them means."""
Aliases = Mapping[str, Mapping[str, str]]
"""For each command the further names of its options, and the first name of each: ``rate`` and ``tps``."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A value for a command.

    Attributes:
        where: file and line, for messages.
        key: the first name of the option.
        own: it stands in the section of the command, not at the top.
    """

    where: str
    command: str
    key: str
    value: Any
    own: bool


def entries(path: Path, known: Meanings, everywhere: Mapping[str, object], aliases: Aliases) -> Iterator[Entry]:
    """Read a file: keys at its top are for every command in which they mean the same, ``[run]`` is for ``run``."""
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
            for command, keys in known.items():
                at_top = [
                    key
                    for key, meaning in keys.items()
                    if key in everywhere and meaning == everywhere[key] and not is_replaced(key, found, keys)
                ]
                if name in at_top:
                    key = _first_name(where, name, found, at_top, aliases[command])
                    check_allowed(where, path, key, value)
                    yield Entry(where, command, key, value, own=False)
    for name, section in found.items():
        if isinstance(section, dict):
            yield from _section(path, text, name, section, known, aliases)


def is_replaced(key: str, given: Container[str], known: Container[str]) -> bool:
    """Whether ``log``, for all commands, stands beside ``logs``, which a command takes in its place."""
    return key == "log" and "logs" in given and "logs" in known


def _section(
    path: Path, text: str, name: str, section: Mapping[str, object], known: Meanings, aliases: Aliases
) -> Iterator[Entry]:
    if name not in known:
        where = f"{path}, line {line_of(text, name, '')}"
        raise LogreplayError(f"{where}: there is no command {name!r}{nearest(name, known)}")
    for key, value in section.items():
        where = f"{path}, line {line_of(text, name, key)}"
        if key not in known[name]:
            instead = nearest(key, known[name], f"logreplay {name} --help lists its options")
            raise LogreplayError(f"{where}: {name} has no option {key!r}{instead}")
        first = _first_name(where, key, section, known[name], aliases[name])
        check_allowed(where, path, first, value)
        yield Entry(where, name, first, value, own=True)


def _first_name(
    where: str, key: str, given: Mapping[str, object], known: Iterable[str], aliases: Mapping[str, str]
) -> str:
    """Return the first name of an option."""
    first = aliases.get(key, key)
    for other in known:
        if other != key and other in given and aliases.get(other, other) in (first, opposite(first)):
            raise LogreplayError(f"{where}: {key!r} and {other!r} set the same option: leave out one of them")
    return first


def shared(meanings: Meanings, aliases: Aliases) -> dict[str, object]:
    """The keys at the top of a file, and their meaning there: what run, sweep and find agree on, then all commands.

    An alias in one command that is the first name of an option in another, such as ``since``, means the latter.
    """
    first_names = {key for command, keys in meanings.items() for key in keys if key not in aliases[command]}
    agreed: dict[str, list[object]] = {}
    for among in (_SENDING, tuple(meanings)):
        found: dict[str, list[object]] = {}
        for command in among:
            for key, meaning in meanings[command].items():
                if key in aliases[command] and key in first_names and FORMER.get(aliases[command][key]) != key:
                    continue
                found.setdefault(key, []).append(meaning)
        agreed = {**found, **agreed}
    return {key: one for key, (one, *others) in agreed.items() if all(other == one for other in others)}


def nearest(name: str, known: Iterable[str], all_stand: str = "") -> str:
    """The end of a message about an unknown name: near names, or where all stand, or all there are."""
    from logreplay.options.spelling import near_names  # loads all tables: only for an error

    names = sorted(set(known))
    near = near_names(name, names)
    return f"; did you mean {' or '.join(near)}?" if near else f"; {all_stand or 'there are ' + ', '.join(names)}"


def _elsewhere(key: str, known: Meanings, everywhere: Iterable[str]) -> str:
    """The end of a refusal of a key at the top: the sections that have it, or the keys near to it."""
    if key in known:
        return f"; {key} is a command, so put its options under [{key}]"
    some = " or ".join(f"[{command}]" for command, keys in known.items() if key in keys)
    if some:
        return f"; it is not the same in all commands, so put it into {some}"
    return nearest(
        key, {*everywhere, *chain(*known.values())}, "logreplay COMMAND --help lists the options of a command"
    )
