"""The commands by name, in the order of the work. The module of one is loaded when somebody asks for it.

``convert`` has no use for the event loop that ``run`` needs, and should not wait until it is loaded.
"""

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Final

import click

_NAMES: Final = (
    "demo",
    "convert",
    "urls",
    "run",
    "sweep",
    "find",
    "analyze",
    "seconds",
    "capacity",
    "compare",
    "plot",
    "serve",
    "calibrate",
    "init",
    "completion",
    "man",
)
"""Of the commands, of their modules, and of the objects in these."""


class Commands(MutableMapping[str, click.Command]):
    """What a `click.Group` takes for its commands."""

    def __init__(self) -> None:
        self._loaded: dict[str, click.Command | None] = dict.fromkeys(_NAMES)

    def __getitem__(self, name: str) -> click.Command:
        command = self._loaded[name]
        if command is None:
            command = self._loaded[name] = getattr(import_module(f"logreplay.cli.commands.{name}"), name)
        return command

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded)

    def __len__(self) -> int:
        return len(self._loaded)
