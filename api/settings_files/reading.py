"""Parameters of a function from a settings file."""

from collections.abc import Mapping
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any, Final

from logreplay.core.errors import LogreplayError, UsageError
from logreplay.options import kinds
from logreplay.options.option import Option
from logreplay.options.other_commands import OTHERS
from logreplay.options.signatures import with_known_names
from logreplay.options.table import MOST_USED, options_of
from logreplay.settings_files.entries import Aliases, Entry, Meanings, entries, nearest, shared
from logreplay.settings_files.places import DESTINATIONS, NEEDS_TYPED_DESTINATION, check_places
from logreplay.settings_files.rules import opposite

_ARGUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    **{"run": ("log", "target"), "sweep": ("rates", "log", "target"), "find": ("log", "target")},
    **{"duet": ("log", "baseline", "candidate"), "compare": ("baseline", "candidate", "more"), "serve": ("log",)},
    **{"capacity": ("results",), "analyze": ("results",), "convert": ("logs",), "inspect": ("logs",)},
    "plan": ("logs", "target"),
}
"""The arguments of a command that is a function, too."""
_OTHERS: Final = {"plot": ("results",), "seconds": ("results",), "urls": ("templates",)}
"""The arguments of the other commands."""
_REPEATED: Final = {
    **{"convert": "logs", "inspect": "logs", "plan": "logs"},
    "capacity": "results",
}
"""The argument of a command that can be given more than once."""
_SWITCHES: Final = (kinds.SWITCH, kinds.OFF, kinds.EITHER)
_Key = tuple[str, Option | None, bool]
"""The parameter that a key sets; its row in the table, None for an argument; whether ``true`` is what the row says."""


@with_known_names
def settings(function: str, path: str | PathLike[str] = "logreplay.toml") -> dict[str, Any]:
    """Read the parameters of a function from a settings file, for ``**``.

    The file is that of the command line, with the same limits: see `docs/settings.md`. Options of the terminal are
    left out, and ``allow-target``, too: permission comes from the program.

    Args:
        function: its name, such as ``"run"``.
        path: the file; options at its top are for every function that has them, ``[run]`` is for `run`.

    Raises:
        UsageError: there is no such function.
        LogreplayError: the file cannot be read, has an unknown name or a value of the wrong kind, or sets what it
            may not.
    """
    if function not in _ARGUMENTS:
        raise UsageError(f"{function!r} is not a function{nearest(function, _ARGUMENTS)}")
    path, keys, taken = Path(path), _keys(function), dict[str, Any]()
    for entry in entries(path, _meanings(), _shared(), _aliases()):
        if entry.command == function:
            taken[entry.key] = _typed(entry, keys[entry.key])
            _check_sent(entry.where, function, entry.key, keys[entry.key], taken[entry.key])
    check_places(str(path), function, taken)
    if taken.keys() & {*DESTINATIONS} and (both := taken.keys() & {*NEEDS_TYPED_DESTINATION}):
        raise LogreplayError(f"{path} sets {min(both)} and the target; a file cannot do both: give one in the program")
    given = {keys[key][0]: value for key, value in taken.items() if _is_parameter(function, keys[key])}
    return {name: value for name, value in given.items() if name != "allow_target"}


@cache
def _shared() -> Mapping[str, object]:
    return shared(_meanings(), _aliases())


@cache
def _aliases() -> Aliases:
    return {
        command: {name: names[0] for option in options_of(command) for names in [_names(option)] for name in names[1:]}
        for command in _meanings()
    }


def _names(option: Option) -> list[str]:
    """The names of an option without ``--``, the first one first, without that which undoes it."""
    return [flag[2:] for flag in option.names if flag.startswith("--") and flag not in option.flags.split("/")[1:]]


@cache
def _meanings() -> Meanings:
    commands = (*MOST_USED, *OTHERS)
    return {command: {key: _meaning(meant) for key, meant in _keys(command).items()} for command in commands}


def _meaning(meant: _Key) -> object:
    _, option, _ = meant
    return (option.kind in _SWITCHES, option.several, option.help) if option else "argument"


def _keys(command: str) -> dict[str, _Key]:
    """The keys of a command, each with what it sets."""
    arguments = {**_ARGUMENTS, **_OTHERS}.get(command, ())
    keys: dict[str, _Key] = {name: ("log" if name == "logs" else name, None, True) for name in arguments}
    for option in options_of(command):
        names, on = _names(option), option.kind is not kinds.OFF
        keys |= dict.fromkeys(names, (option.name, option, on))
        if option.kind in _SWITCHES:
            keys[opposite(names[0])] = (option.name, option, not on)
    return keys


def _typed(entry: Entry, meant: _Key) -> Any:
    """A value of the file as a program would write it.

    Raises:
        LogreplayError: it is not of the kind of the option, or the function does not take it as a keyword.
    """
    where, key, value, (_, option, on) = entry.where, entry.key, entry.value, meant
    if option and option.kind in _SWITCHES:
        if not isinstance(value, bool):
            raise LogreplayError(f"{where}: {key!r} is a switch: write true or false, not {value!r}")
        return value is on
    if isinstance(value, bool | dict) and not (value is True and key == "live"):
        raise LogreplayError(f"{where}: {key!r} needs a value, not {str(value).lower()}")
    texts = ["0"] if value is True else [str(item) for item in (value if isinstance(value, list) else [value])]
    if not all(text.strip() and "\0" not in text for text in texts):
        raise LogreplayError(f"{where}: {key!r} is empty, or holds the character U+0000: give a value, or leave it out")
    if option and (option.several or option.kind is kinds.PAIR):
        return texts
    if (entry.command, key) == ("compare", "more"):
        raise LogreplayError(
            f"{where}: compare() takes 'more' only before its keywords: leave it out of the file, and name them in the "
            "program"
        )
    if _REPEATED.get(entry.command) == key and len(texts) > 1:
        return texts
    return option.kind.checked(texts[0]) if option and option.commands in OTHERS else ",".join(texts)


def _check_sent(where: str, function: str, key: str, meant: _Key, value: object) -> None:
    """Check that a function would not send what the command line does not.

    Raises:
        LogreplayError: the option keeps the command from sending, and the function does not have it.
    """
    name, option, _ = meant
    if name == "dry_run" and value is True:
        raise LogreplayError(
            f"{where}: {function}() would send what {key!r} on the command line only prints: leave it out of the file, "
            "and use logreplay run --dry-run"
        )
    if option and function in option.refused.split():
        raise LogreplayError(f"{where}: {function} has no option {key!r}: leave it out")


def _is_parameter(function: str, meant: _Key) -> bool:
    """Whether a function takes the values of a key; those of ``progress`` are of the terminal."""
    name, option, _ = meant
    among = {one.name: one.kind.annotation for one in options_of(function, python=True)}
    return option is None or among.get(name) == option.kind.annotation
