"""Options from ``logreplay.toml``."""

from pathlib import Path
from typing import Any

import click

from logreplay.cli.settings.precedence import Rank, Setting
from logreplay.settings_files.entries import Entry, entries
from logreplay.settings_files.keys import ALONE, Key, aliases, everywhere, keys, meanings
from logreplay.settings_files.rules import FILE


def read_settings(path: Path) -> dict[str, dict[str, Setting]]:
    """Read a settings file: options at its top are for every command that has them, ``[run]`` is for ``run``.

    For each command the settings by the name of the parameter.
    """
    values: dict[str, dict[str, Setting]] = {name: {} for name in meanings()}
    for entry in entries(path, meanings(), everywhere(), aliases()):
        meant = keys(entry.command)[entry.key]
        rank = Rank.FILE_SECTION if entry.own else Rank.FILE
        values[entry.command][meant.name] = Setting(_as_typed(entry, meant), rank, FILE)
    return values


def _as_typed(entry: Entry, meant: Key) -> Any:
    """A value of the file as it would have come from the command line."""
    where, key, value = entry.where, entry.key, entry.value
    if meant.switch:
        if not isinstance(value, bool):
            raise click.ClickException(f"{where}: {key!r} is a switch: write true or false, not {value!r}")
        return value is meant.on
    if value is True and meant.name in ALONE:
        return ALONE[meant.name]
    if isinstance(value, bool | dict) or value is None:
        raise click.ClickException(f"{where}: {key!r} needs a value, not {str(value).lower()}")
    items = [str(item) for item in value] if isinstance(value, list) else [str(value)]
    if not all(item.strip() for item in items):
        raise click.ClickException(f"{where}: {key!r} is empty: give a value, or leave it out")
    if any("\0" in item for item in items):
        raise click.ClickException(f"{where}: {key!r} holds the character U+0000, which no option can; leave it out")
    return tuple(items) if meant.several else ",".join(items)
