"""Options from ``logreplay.toml``."""

from pathlib import Path

from logreplay.cli.settings.precedence import Rank, Setting
from logreplay.settings_files.entries import entries
from logreplay.settings_files.keys import aliases, everywhere, keys, meanings
from logreplay.settings_files.rules import FILE


def read_settings(path: Path) -> dict[str, dict[str, Setting]]:
    """Read a settings file: options at its top are for every command that has them, ``[run]`` is for ``run``.

    For each command the settings by the name of the parameter.
    """
    values: dict[str, dict[str, Setting]] = {name: {} for name in meanings()}
    for entry in entries(path, meanings(), everywhere(), aliases()):
        meant = keys(entry.command)[entry.key]
        rank = Rank.FILE_SECTION if entry.own else Rank.FILE
        values[entry.command][meant.name] = Setting(meant.typed(entry), rank, FILE)
    return values
