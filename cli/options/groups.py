"""Groups of options that a command receives as one value."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import click
from click.core import ParameterSource

Command = TypeVar("Command", bound=Callable[..., Any])
Option = Callable[[Any], Any]


def bundle(name: str, kind: Callable[..., object], options: Sequence[Option]) -> Callable[[Command], Command]:
    """A decorator that gives a command some options.

    Args:
        name: of the argument that the command receives instead of them.
        kind: the dataclass of that argument; each of its fields is the value of an option.
        options: decorators of click, in the order of the help.
    """
    names = kind.__dataclass_fields__  # type: ignore[attr-defined]  # only dataclasses have it

    def give(command: Command) -> Command:
        @wraps(command)
        def bundled(**given: Any) -> Any:
            values = {field: given.pop(field) for field in names if field in given}
            if "asked" in names:
                values["asked"] = _asked()
            value = kind(**values)
            return command(**{name: value}, **given)

        for option in reversed(options):
            bundled = option(bundled)
        return bundled  # type: ignore[return-value]  # click's options keep what they decorate

    return give


def _asked() -> frozenset[str]:
    """The parameters that stand on the command line."""
    context = click.get_current_context()
    return frozenset(
        name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    )
