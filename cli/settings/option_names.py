"""The names under which options and arguments are set, in a settings file and in variables."""

from collections.abc import Iterator

import click

from logreplay.settings_files.rules import opposite


def settable(command: click.Command) -> Iterator[tuple[str, click.Parameter]]:
    """List the name of each option of a command without ``--``, that which undoes it, and its arguments.

    The first name of an option comes before its aliases.
    """
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            yield parameter.name or "", parameter
            continue
        for name in (*parameter.opts, *parameter.secondary_opts):
            if name.startswith("--"):
                yield name[2:], parameter
        if is_switch(parameter) and not parameter.secondary_opts:
            yield opposite(key_of(parameter)), parameter


def aliases(command: click.Command) -> dict[str, str]:
    """The first name of each option by its further names."""
    named = [(name[2:], key_of(each)) for each in command.params for name in each.opts if name.startswith("--")]
    return {name: first for name, first in named if name != first}


def key_of(parameter: click.Parameter) -> str:
    """Return the name by which a parameter is set."""
    return next((name[2:] for name in parameter.opts if name.startswith("--")), parameter.name or "")


def is_switch(parameter: click.Parameter) -> bool:
    """Return whether an option takes no value."""
    return isinstance(parameter, click.Option) and parameter.is_flag


def switched(parameter: click.Parameter, key: str, *, on: bool) -> bool:
    """Return the value of a switch that is turned on or off under one of its names."""
    typed = bool(getattr(parameter, "flag_value", True))
    return typed is on if f"--{key}" in parameter.opts else typed is not on


def takes_several(parameter: click.Parameter) -> bool:
    """Return whether a parameter can be given more than once."""
    return parameter.nargs != 1 or bool(getattr(parameter, "multiple", False))
