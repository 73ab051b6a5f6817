"""Options of click from the table of options."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from logreplay.cli.options.types import EitherOption, LinesOfFiles, Once, ParsedType
from logreplay.options import kinds
from logreplay.options.kinds import Kind, Option
from logreplay.options.table import options_of
from logreplay.settings_files.keys import ALONE

Command = TypeVar("Command", bound=Callable[..., Any])


def options(command: Command) -> Command:
    """Give a command the options of its name; it receives their checked values by name."""
    for option in reversed(options_of(command.__name__)):
        command = made(option)(command)
    return command


def made(option: Option) -> Any:
    """The decorator of click for an option."""
    kind = option.kind
    named: dict[str, Any] = {"help": option.help, "metavar": option.metavar or None, "hidden": option.hidden}
    if kind is kinds.PAIR:
        named |= {"type": str, "nargs": 2}
    elif kind is kinds.SWITCH:
        named |= {"is_flag": True}
    elif kind is kinds.OFF:
        named |= {"flag_value": False, "default": True}
    elif kind is kinds.EITHER:
        named |= {"default": None}
    else:
        named |= {"type": _type(kind), "multiple": option.several, "required": option.required}
        named |= {"default": option.default, "show_default": True} if option.default else {}
    if option.name in ALONE:
        named |= {"is_flag": False, "flag_value": ALONE[option.name]}
    several = {"once": Once, "lines": LinesOfFiles}.get(option.repeated, click.Option)
    cls = EitherOption if kind is kinds.EITHER else several
    return click.option(*(option.flags or option.names[0]).split(), option.name, cls=cls, **named)


def _type(kind: Kind) -> click.ParamType[Any]:
    if kind.choices:
        return click.Choice(kind.choices)
    if kind is kinds.PATH:
        return click.Path(path_type=Path)
    return ParsedType(kind.read)
