"""Commands by name, in the order of the work; the module of a command is loaded when it is asked for.

``convert`` has no use for the event loop that ``run`` needs, and should not wait until it is loaded.
"""

from collections import UserDict
from importlib import import_module
from typing import Any, Final

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


class Commands(UserDict[str, Any]):
    """What a `click.Group` takes for its commands."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(_NAMES))

    def __getitem__(self, name: str) -> click.Command:
        if self.data[name] is None:
            self.data[name] = getattr(import_module(f"logreplay.cli.commands.{name}"), name)
        command: click.Command = self.data[name]
        return command
