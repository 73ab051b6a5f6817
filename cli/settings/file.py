"""Options from ``logreplay.toml``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from logreplay.cli.settings.option_names import aliases, is_switch, settable, switched, takes_several
from logreplay.cli.settings.precedence import Rank, Setting
from logreplay.settings_files.entries import entries
from logreplay.settings_files.entries import shared as agreed
from logreplay.settings_files.rules import FILE

WITHOUT_SETTINGS: Final = ("control", "init", "completion", "man")
"""Commands that take no settings."""


def read_settings(group: click.Group, path: Path) -> dict[str, dict[str, Setting]]:
    """Read a settings file: options at its top are for every command that has them, ``[run]`` is for ``run``.

    Returns:
        For each command the settings by the name of the parameter.

    Raises:
        ClickException: a value is of the wrong kind.
        LogreplayError: it is not TOML, has an unknown name, or sets what it may not.
    """
    known, further = configurable(group), aliases_in(group)
    kinds = _kinds(known)
    values: dict[str, dict[str, Setting]] = {name: {} for name in known}
    for entry in entries(path, kinds, agreed(kinds, further), further):
        parameter = known[entry.command][entry.key]
        typed = _as_typed(entry.where, entry.key, parameter, entry.value)
        values[entry.command][parameter.name or ""] = Setting(
            typed, Rank.FILE_SECTION if entry.own else Rank.FILE, FILE
        )
    return values


def configurable(group: click.Group) -> dict[str, dict[str, click.Parameter]]:
    """Return the commands that take settings, each with its parameters by all names under which they can be set."""
    return {name: dict(settable(command)) for name, command in group.commands.items() if name not in WITHOUT_SETTINGS}


def aliases_in(group: click.Group) -> dict[str, dict[str, str]]:
    """Return the commands that take settings, each with the first names of its options by the further ones."""
    return {name: aliases(command) for name, command in group.commands.items() if name not in WITHOUT_SETTINGS}


def shared(group: click.Group) -> dict[str, object]:
    """The options that may stand at the top of a file, and what they are there: what run, sweep and find agree on."""
    return agreed(_kinds(configurable(group)), aliases_in(group))


def _kinds(known: Mapping[str, Mapping[str, click.Parameter]]) -> dict[str, dict[str, object]]:
    return {command: {key: kind_of(one) for key, one in options.items()} for command, options in known.items()}


def kind_of(parameter: click.Parameter) -> object:
    """The properties that are equal if two commands mean the same by the name of an option."""
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
