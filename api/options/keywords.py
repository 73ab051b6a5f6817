"""The keywords of the functions: read by the table of options; and frozen values made of options by name."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeVar

from logreplay.core.errors import UsageError
from logreplay.core.masking import masked
from logreplay.options.clashes import check
from logreplay.options.kinds import FORMER, Kind, Option
from logreplay.options.spelling import near_names
from logreplay.options.table import options_of

T = TypeVar("T")
_LONGEST: Final = 200
"""Characters of a wrong value that a text shows."""
_NONE: Final[Mapping[str, str]] = MappingProxyType({})


def read(function: str, given: Mapping[str, object]) -> dict[str, Any]:
    """Check the keywords of a function; return the value of each parameter: its default where none or None is given."""
    options = {option.name: option for option in options_of(function, python=True)}
    given = renamed(given, options)
    flags = {flag.lstrip("-").replace("-", "_"): option.name for option in options.values() for flag in option.names}
    check_names(function, given, options, flags)
    values = {name: checked_option(option, given.get(name)) for name, option in options.items()}
    check(function, values)
    return values


def check_names(function: str, given: Iterable[str], known: Collection[str], flags: Mapping[str, str] = _NONE) -> None:
    """Refuse keywords that a function lacks; ``flags``: its parameters by the names of their options."""
    for name in given:
        if name not in known:
            near = [flags[name]] if name in flags else near_names(name, known)
            meant = f"; did you mean {' or '.join(near)}?" if near else f"; see help(logreplay.{function})"
            raise UsageError(f"{function}() has no parameter {name!r}{meant}", (name,))


def renamed(given: Mapping[str, object], known: Collection[str]) -> dict[str, object]:
    """Return keywords with the names of today."""
    names = {FORMER[name]: name for name in known if name in FORMER and FORMER[name] not in known}
    twice = next((name for name in given if name in names and given.get(names[name]) is not None), None)
    if twice:
        raise UsageError(f"{twice} is an earlier name of {names[twice]}: give one of them", (names[twice],))
    return {names.get(name, name): value for name, value in given.items()}


def value_of(name: str, kind: Kind, value: object) -> Any:
    """Check the value of one parameter."""
    return _named(name, value, kind.checked)


def checked_option(option: Option, value: object) -> Any:
    """Check the value of an option: its default where it is None."""
    if value is None:
        return option.value
    several = partial(option.kind.several, lines=option.repeated == "lines")
    return _named(option.name, value, several if option.several else option.kind.checked)


def taken(kind: Callable[..., T], values: dict[str, Any], **more: object) -> T:
    """Make a frozen value from those of the values that are its fields, and take them out."""
    fields = kind.__dataclass_fields__  # type: ignore[attr-defined]  # only dataclasses have it
    return kind(**{name: values.pop(name) for name in fields if name in values}, **more)


def _named(name: str, value: object, check: Callable[[object], Any]) -> Any:
    try:
        return check(value)
    except ValueError as error:
        shown = "***" if name.endswith("password") else masked(repr(value))
        shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
        raise UsageError(f"{name}={shown}: {masked(str(error))}", (name,)) from None
