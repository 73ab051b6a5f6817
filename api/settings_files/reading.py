"""Parameters of a function from a settings file."""

from dataclasses import replace
from os import PathLike
from typing import Any, Final

from logreplay.core.errors import LogreplayError, UsageError
from logreplay.options.keywords import checked_option, value_of
from logreplay.options.kinds import PATH, RATES, TEXT, function_of
from logreplay.options.other_commands import OTHERS
from logreplay.options.signatures import with_known_names
from logreplay.options.table import MOST_USED, options_of
from logreplay.settings_files.entries import Entry, entries, nearest
from logreplay.settings_files.keys import ARGUMENTS, Key, aliases, everywhere, keys, meanings
from logreplay.settings_files.rules import DESTINATIONS, NEEDS_TYPED_DESTINATION, check_places

_FUNCTIONS: Final = ARGUMENTS.keys() - {"demo", "urls", "seconds", "plot", "calibrate"}
"""The commands that are functions, too."""
_READING: Final = {"convert", "inspect", "plan"}
"""Commands that check some of their options only together."""


@with_known_names
def settings(function: str, path: str | PathLike[str] = "logreplay.toml") -> dict[str, Any]:
    """Read the parameters of a function from a settings file, for ``**``.

    The file is that of the command line, with the same limits: see `docs/settings.md`. Options of the terminal are
    left out, and ``allow-target``, too: permission comes from the program.

    Args:
        function: its name, such as ``"run"``.
        path: the file; options at its top are for every function that has them, ``[run]`` is for `run`.

    Raises:
        UsageError: there is no such function, or ``path`` is not a path.
        LogreplayError: the file cannot be read, has an unknown name or a value of the wrong kind, or sets what it
            may not.
    """
    if value_of("function", TEXT, function) not in _FUNCTIONS:
        raise UsageError(f"{function!r} is not a function{nearest(function, _FUNCTIONS)}")
    file, known, taken, places = value_of("path", PATH, path), keys(function), dict[str, Any](), dict[str, str]()
    functions_first = {command: meanings()[command] for command in (*MOST_USED, *OTHERS)}
    for entry in entries(file, functions_first, everywhere(), aliases()):
        if entry.command == function:
            taken[entry.key], places[entry.key] = _typed(entry, known[entry.key]), entry.where
            _check_sent(entry.where, function, entry.key, known[entry.key], taken[entry.key])
    check_places(str(file), function, taken)
    if taken.keys() & {*DESTINATIONS} and (both := taken.keys() & {*NEEDS_TYPED_DESTINATION}):
        raise LogreplayError(f"{file} sets {min(both)} and the target; a file cannot do both: give one in the program")
    given = {
        known[key].name: _checked(places[key], key, known[key], value)
        for key, value in taken.items()
        if _is_parameter(function, known[key])
    }
    return {"log" if name == "logs" else name: value for name, value in given.items() if name != "allow_target"}


def _typed(entry: Entry, meant: Key) -> Any:
    """A value of the file as a program would write it."""
    value = meant.typed(entry)
    if (entry.command, entry.key) == ("compare", "more"):
        raise LogreplayError(
            f"{entry.where}: compare() takes 'more' only before its keywords: leave it out of the file, and name them "
            "in the program"
        )
    if not isinstance(value, tuple):
        return value
    return value[0] if len(value) == 1 and not meant.option else list(value)


def _checked(where: str, key: str, meant: Key, value: Any) -> Any:
    """Check a value of the file; return it as text, and for functions that send nothing as the value it stands for."""
    try:
        if meant.name == "rates":
            value_of(key, RATES, value)
        if not (option := meant.option):
            return value
        checked = checked_option(replace(option, name=key), value)
        if {*option.commands.split()} <= _READING:
            function_of("conversion:check_reading")({option.name: value})
    except UsageError as error:
        raise LogreplayError(f"{where}: {str(error).removeprefix('--')}") from None
    return checked if option.commands in OTHERS and not meant.several else value


def _check_sent(where: str, function: str, key: str, meant: Key, value: object) -> None:
    """Check that a function would not send what the command line does not."""
    option = meant.option
    if meant.name == "dry_run" and value is True:
        raise LogreplayError(
            f"{where}: {function}() would send what {key!r} on the command line only prints: leave it out of the file, "
            "and use logreplay run --dry-run"
        )
    if option and function in option.refused.split():
        raise LogreplayError(f"{where}: {function} has no option {key!r}: leave it out")


def _is_parameter(function: str, meant: Key) -> bool:
    """Whether a function takes the values of a key; those of ``progress`` are of the terminal."""
    among = {one.name: one.kind.annotation for one in options_of(function, python=True)}
    return meant.option is None or among.get(meant.name) == meant.option.kind.annotation
