"""Groups of options that a command receives as one value."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

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
            value = kind(**{field: given.pop(field) for field in names})
            return command(**{name: value}, **given)

        for option in reversed(options):
            bundled = option(bundled)
        return bundled  # type: ignore[return-value]  # click's options keep what they decorate

    return give
