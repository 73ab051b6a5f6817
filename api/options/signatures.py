"""Signatures and docstrings of the functions, from the table of options."""

import inspect
from collections.abc import Callable
from typing import Any, Final, TypeVar

from logreplay.options import kinds
from logreplay.options.table import Option, grouped, options_of

F = TypeVar("F", bound=Callable[..., Any])
_KEYWORD: Final = inspect.Parameter.KEYWORD_ONLY
_VALUES: Final = """Values:
    Seconds: 0.3, "300ms" or a `timedelta`.
    Share: 0.05 or "5%".
    File: a text or a path.
    Sequence: a single text is a sequence of one."""


def described(function: F) -> F:
    """Give a function whose keywords are those of the table their signature and their description."""
    options = options_of(function.__name__, python=True)
    own = inspect.signature(function)
    parameters = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    parameters += [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default_of(option),
            annotation=_Shown(annotation(option)),
        )
        for option in options
    ]
    function.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    told = [
        f"{title}:\n"
        + "\n".join(f"    {option.name}: {'False: ' * (option.kind is kinds.OFF)}{option.help}" for option in among)
        for title, among in grouped(function.__name__, options).items()
    ]
    function.__doc__ = "\n\n".join([inspect.cleandoc(function.__doc__ or ""), *told, _VALUES])
    return function


def annotation(option: Option) -> str:
    """The annotation of a parameter."""
    one = option.kind.annotation
    if option.several:
        mapping = f" | Mapping[str, {_value(option)}]" if option.kind.between else ""
        return f"{one}{mapping} | Sequence[{one}]"
    return one if default_of(option) is not None else f"{one} | None"


def default_of(option: Option) -> object:
    """The default of a parameter, as a caller would write it."""
    value = option.value
    if option.default and not isinstance(value, int | float):
        return option.default
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _line(option: Option) -> str:
    return f"    {option.name}: {'False: ' * (option.kind is kinds.OFF)}{option.help}"


def _value(option: Option) -> str:
    return "Share" if option.kind is kinds.INJECT else "str"


class _Shown(str):
    """An annotation that `help` shows without quotes."""

    __slots__ = ()
    __repr__ = str.__str__
