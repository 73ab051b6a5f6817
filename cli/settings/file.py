"""Options from ``logreplay.toml``."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import click

from logreplay.cli.settings.option_names import is_switch, nearest, settable, switched, takes_several
from logreplay.cli.settings.precedence import Rank, Setting
from logreplay.settings_files.rules import FILE, check_allowed, line_of

WITHOUT_SETTINGS: Final = ("init", "completion", "man")
"""Commands that take no settings."""
_SENDING: Final = ("run", "sweep", "find")


def read_settings(group: click.Group, path: Path) -> dict[str, dict[str, Setting]]:
    """Read a settings file: options at its top are for every command that has them, ``[run]`` is for ``run``.

    Returns:
        For each command the settings by the name of the parameter.

    Raises:
        ClickException: it is not TOML, has an unknown name or a value of the wrong kind, or sets what it may not.
    """
    try:
        text = path.read_text(encoding="utf-8")
        found = tomllib.loads(text)
    except OSError as error:
        raise click.ClickException(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise click.ClickException(f"{path}: is not TOML: {error}; mend it, or delete it") from None
    known = configurable(group)
    everywhere = shared(group)
    values: dict[str, dict[str, Setting]] = {name: {} for name in known}
    top = {key: value for key, value in found.items() if not isinstance(value, dict)}
    for key, value in top.items():
        where = f"{path}, line {line_of(text, '', key)}"
        check_allowed(where, path, key, value)
        if key not in everywhere:
            some = [name for name, options in known.items() if key in options]
            why = f"; it is not the same in all commands, so put it into {' or '.join(f'[{name}]' for name in some)}"
            raise click.ClickException(
                f"{where}: there is no option {key!r} for all commands{why if some else _meant(key, everywhere)}"
            )
        for name, options in known.items():
            if key in options and alike(options[key], everywhere[key]):
                typed = _as_typed(where, key, options[key], value)
                values[name][options[key].name or ""] = Setting(typed, Rank.FILE, FILE)
    for section in [name for name in found if name not in top]:
        if section not in known:
            where = f"{path}, line {line_of(text, section, '')}"
            raise click.ClickException(f"{where}: there is no command {section!r}{_meant(section, known)}")
        for key, value in found[section].items():
            where = f"{path}, line {line_of(text, section, key)}"
            if key not in known[section]:
                raise click.ClickException(f"{where}: {section} has no option {key!r}{_meant(key, known[section])}")
            check_allowed(where, path, key, value)
            parameter = known[section][key]
            typed = _as_typed(where, key, parameter, value)
            values[section][parameter.name or ""] = Setting(typed, Rank.FILE_SECTION, FILE)
    return values


def configurable(group: click.Group) -> dict[str, dict[str, click.Parameter]]:
    """Return the commands that take settings, each with its parameters by all names under which they can be set."""
    return {name: dict(settable(command)) for name, command in group.commands.items() if name not in WITHOUT_SETTINGS}


def alike(parameter: click.Parameter, kind: object) -> bool:
    """Return whether a parameter is what `shared` says of its name."""
    return _kind(parameter) == kind


def shared(group: click.Group) -> dict[str, object]:
    """The options that may stand at the top of a file, and what they are there: what run, sweep and find agree on."""
    kinds: dict[str, list[object]] = {}
    for among in (_SENDING, tuple(group.commands)):
        found: dict[str, list[object]] = {}
        for command in among:
            for key, parameter in settable(group.commands[command]):
                found.setdefault(key, []).append(_kind(parameter))
        kinds = {**found, **kinds}
    return {key: one for key, (one, *others) in kinds.items() if all(other == one for other in others)}


def _kind(parameter: click.Parameter) -> object:
    if not isinstance(parameter, click.Option):
        return "argument"
    return parameter.is_flag, parameter.multiple, parameter.help


def _as_typed(where: str, key: str, parameter: click.Parameter, value: Any) -> Any:
    """A value of the file as it would have come from the command line."""
    if is_switch(parameter):
        if not isinstance(value, bool):
            raise click.ClickException(f"{where}: {key!r} is a switch: write true or false, not {value!r}")
        return switched(parameter, key, on=value)
    alone = getattr(parameter, "flag_value", None)  # what --live means without a value
    if value is True and isinstance(alone, str):
        return alone
    if isinstance(value, bool | dict) or value is None:
        raise click.ClickException(f"{where}: {key!r} needs a value, not {str(value).lower()}")
    items = [str(item) for item in value] if isinstance(value, list) else [str(value)]
    if not all(item.strip() for item in items):
        raise click.ClickException(f"{where}: {key!r} is empty: give a value, or leave it out")
    if any("\0" in item for item in items):
        raise click.ClickException(f"{where}: {key!r} holds the character U+0000, which no option can; leave it out")
    return tuple(items) if takes_several(parameter) else ",".join(items)


def _meant(name: str, known: Iterable[str]) -> str:
    return nearest(name.replace("_", "-"), known)
