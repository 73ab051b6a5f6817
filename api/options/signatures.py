"""Signatures and docstrings of the functions, from the table of options."""

import inspect
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar

from logreplay.options import kinds
from logreplay.options.keywords import check_names, renamed
from logreplay.options.kinds import Option
from logreplay.options.spelling import respelled, spelled
from logreplay.options.table import grouped, options_of

F = TypeVar("F", bound=Callable[..., Any])
_KEYWORD: Final = inspect.Parameter.KEYWORD_ONLY
_LETTERS: Final = re.compile(r"(?!DIR)[A-Z]*%?")
"""A placeholder that tells no more than the type of the parameter."""
_VALUES: Final = """Values:
    Seconds: 0.3, "300ms" or a `timedelta`.
    Share: 0.05 or "5%".
    File: a text or a path.
    a|b: either form; capital letters stand for values, such as D for Seconds, DIR for a folder.
    Sequence: a single text is a sequence of one.
    ProgressFunction: takes a `logreplay.Snapshot`.
    StopFunction: takes a `logreplay.Snapshot`; returns why the run is to end, or True, or else None.
    Hook: takes a request (number, op, url, headers, body, client, row); returns it, or None to leave it out."""


def described(function: F) -> F:
    """Give a function its signature and the description of its keywords, by the table; its errors name parameters."""
    name = function.__name__
    options = options_of(name, python=True)
    own = inspect.signature(function)
    parameters = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    for option in options:
        shown = _Shown(annotation(option))
        parameters.append(inspect.Parameter(option.name, _KEYWORD, default=default_of(option), annotation=shown))
    told = [f"{title}:\n" + "\n".join(map(_line, among)) for title, among in grouped(name, options).items()]

    @wraps(function)
    def respelling(*given: Any, **options: Any) -> Any:
        with respelled(name):
            return function(*given, **options)

    respelling.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    respelling.__doc__ = spelled("\n\n".join([inspect.cleandoc(function.__doc__ or ""), *told, _VALUES]), name)
    return respelling  # type: ignore[return-value]  # it is called as the function is


def with_known_names(function: F) -> F:
    """Let a function take keywords by their earlier names as well, and refuse unknown ones as `run` does."""
    kinds_of = {name: each.kind for name, each in inspect.signature(function).parameters.items()}
    known = [name for name, kind in kinds_of.items() if kind is not inspect.Parameter.VAR_POSITIONAL]

    @wraps(function)
    def called(*given: Any, **options: Any) -> Any:
        options = renamed(options, known)
        check_names(function.__name__, options, known)
        return function(*given, **options)

    return called  # type: ignore[return-value]  # it is called as the function is


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
    form = "" if _LETTERS.fullmatch(option.metavar) else f"{option.metavar}. "
    return f"    {option.name}: {form}{'False: ' * (option.kind is kinds.OFF)}{option.help}"


def _value(option: Option) -> str:
    return {kinds.INJECT: "Share", kinds.BOUND: "Seconds"}.get(option.kind, "str")


class _Shown(str):
    """An annotation that `help` shows without quotes."""

    __slots__ = ()
    __repr__ = str.__str__
