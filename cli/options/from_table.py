"""Options of click from the table of options."""

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from logreplay.calling.audience import Telling
from logreplay.cli.options.types import LinesOfFiles, Once, ParsedType
from logreplay.options import kinds
from logreplay.options.answer_rules import AnswerRules
from logreplay.options.clashes import check
from logreplay.options.keywords import taken
from logreplay.options.kinds import Kind
from logreplay.options.load import Load
from logreplay.options.request_rules import RequestRules
from logreplay.options.sender_rules import SenderRules
from logreplay.options.table import Option, options_of

Command = TypeVar("Command", bound=Callable[..., Any])


def options(command: Command) -> Command:
    """Give a command the options of its name; it receives their checked values by name."""
    for option in reversed(options_of(command.__name__)):
        command = made(option)(command)
    return command


def parts(values: dict[str, Any]) -> dict[str, Any]:
    """The values of a command that sends, with the frozen values that are made of some of them.

    Raises:
        UsageError: two options contradict each other; names both.
    """
    given = dict(values)
    made = {"request_rules": taken(RequestRules, values), "telling": taken(Telling, values)}
    made |= {"sender_rules": taken(SenderRules, values, asked=_asked())}
    made |= {"load": taken(Load, values)} if "ramp" in values else {}
    made |= {"answer_rules": taken(AnswerRules, values)} if "ignore" in values else {}
    check(click.get_current_context().command.name or "", given)
    return made | {"stop_at": values.pop("stop")} | values


def _asked() -> frozenset[str]:
    """The parameters that stand on the command line."""
    context = click.get_current_context()
    return frozenset(
        name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    )


def made(option: Option) -> Any:
    """The decorator of click for an option."""
    kind = option.kind
    named: dict[str, Any] = {"help": option.help, "metavar": option.metavar or None}
    if kind is kinds.SWITCH:
        named |= {"is_flag": True}
    elif kind is kinds.OFF:
        named |= {"flag_value": False, "default": True}
    elif kind is kinds.EITHER:
        named |= {"default": None}
    else:
        named |= {"type": _type(kind), "multiple": option.several}
        named |= {"default": option.default, "show_default": True} if option.default else {}
    if option.name == "live":  # alone it means a free port
        named |= {"is_flag": False, "flag_value": "0"}
    cls = {"once": Once, "lines": LinesOfFiles}.get(option.repeated, click.Option)
    return click.option(*(option.flags or option.names[0]).split(), option.name, cls=cls, **named)


def _type(kind: Kind) -> click.ParamType[Any]:
    if kind.choices:
        return click.Choice(kind.choices)
    if kind is kinds.PATH:
        return click.Path(path_type=kind.reader)  # type: ignore[arg-type]
    return ParsedType(kind.read)
