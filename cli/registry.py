"""Commands by name, in the order of the work; the module of a command is loaded when it is asked for.

``convert`` has no use for the event loop that ``run`` needs, and should not wait until it is loaded.
"""

from collections import UserDict
from importlib import import_module
from typing import Any, Final

import click

SHORT_HELP: Final = {
    "demo": "Run the one-minute demo on the bundled log.",
    "convert": "Convert access logs to normalized CSV.",
    "inspect": "Describe a log, and say how to replay it.",
    "urls": "Make a list of requests from a template.",
    "run": "Replay a log once.",
    "control": "Change the load of a run.",
    "sweep": "Replay a log at several rates; find saturation.",
    "find": "Find the highest rate that keeps a bound.",
    "plan": "Say how many machines the demand of a log needs.",
    "duet": "Compare two versions, side by side.",
    "analyze": "Judge a result log; make tables and a report.",
    "seconds": "Print the per-second table of a result log.",
    "capacity": "Compute how many machines carry a load.",
    "compare": "Say whether one run is slower than another.",
    "plot": "Plot one run, or overlay several.",
    "serve": "Start a target of known capacity.",
    "calibrate": "Measure what this machine can send.",
    "init": "Write a settings file.",
    "completion": "Print completion for bash, zsh or fish.",
    "man": "Print manual pages.",
}
"""Short help of each command, by its name, which is also that of its object."""
_MODULES: Final = {
    **dict.fromkeys(("convert", "inspect", "urls"), "logs"),
    **dict.fromkeys(("analyze", "seconds", "capacity", "compare", "plot"), "readings"),
    **dict.fromkeys(("demo", "serve", "calibrate"), "local"),
    **dict.fromkeys(("completion", "man"), "shell"),
    "control": "run",
}
"""The module of each command that has none of its own name."""


class Commands(UserDict[str, Any]):
    """The mapping that `click.Group` takes for its commands."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(SHORT_HELP))

    def __getitem__(self, name: str) -> click.Command:
        if self.data[name] is None:
            module = import_module(f"logreplay.cli.commands.{_MODULES.get(name, name)}")
            self.data[name] = getattr(module, name)
            self.data[name].short_help = SHORT_HELP[name]
        command: click.Command = self.data[name]
        return command
