"""Text of an option → value: durations, rates, ranges of rates. No library of ours is imported here."""

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import click

_SECONDS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}
_DURATION: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(us|ms|s|m|h|)")

_SHORTEST_S: Final = 1e-6
_LONGEST_S: Final = 87_600 * 3600.0
_LOWEST_RATE: Final = 1e-6


class Duration(click.ParamType[float]):
    """``300ms``, ``10``, ``10s``, ``5m`` → seconds, above 0."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float | int):
            return float(value)
        try:
            return seconds_of(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Pause(Duration):
    """As `Duration`, or 0 for none."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        zero = _DURATION.fullmatch(str(value).strip().lower())
        return 0.0 if zero and not float(zero[1]) else super().convert(value, param, ctx)


class Rate(click.ParamType[float]):
    """Requests per second, fractions allowed, above 0."""

    name = "rate"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return positive_rate(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Percent(click.ParamType[float]):
    """``20%``, ``2.5 %`` or ``0.2`` → a fraction. ``5`` could mean 5 % or 500 %, and is refused.

    Args:
        most: the largest fraction.
    """

    name = "percent"

    def __init__(self, most: float = 1.0) -> None:
        self.most = most

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        text = str(value).strip()
        try:
            number = float(text.removesuffix("%"))
        except ValueError:
            number = -1.0
        if not text.endswith("%") and 1 <= number < math.inf:
            self.fail(f"{value!r} is ambiguous: write {number:g}%, or {number / 100:g}", param, ctx)
        fraction = number / 100 if text.endswith("%") else number
        if not 0 <= fraction <= self.most:
            self.fail(f"{value!r}: expected a share from 0% to {self.most:.0%}, such as 20% or 0.2", param, ctx)
        return fraction


class Percentage(click.ParamType[float]):
    """``5%`` or ``5`` → 5.0, above 0 and at most 100."""

    name = "percent"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            percent = float(str(value).strip().removesuffix("%"))
        except ValueError:
            percent = 0.0
        if not 0 < percent <= 100:
            self.fail(f"{value!r} is no percentage; write 5%", param, ctx)
        return percent


class ParsedType(click.ParamType[Any]):
    """Text that a function of the library reads; what it raises is a fault of the command line."""

    name = "text"

    def __init__(self, read: Callable[[str], Any]) -> None:
        self._read = read

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value  # click converts a default twice
        try:
            return self._read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Picture(click.ParamType[Path]):
    """A file to draw into, ``.png`` or ``.svg``."""

    name = "picture"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(str(value))
        if path.suffix.lower() not in (".png", ".svg"):
            self.fail(f"{path}: a picture is .png or .svg", param, ctx)
        return path


class UsersType(click.ParamType[Sequence[int]]):
    """``1,10,50`` → numbers of users, in the order given."""

    name = "users"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Sequence[int]:
        if not isinstance(value, str):
            return value  # type: ignore[return-value]  # click converts a default twice
        parts = [part.strip() for part in value.split(",")]
        if not all(part.isdigit() and 0 < int(part) <= 1_000_000 for part in parts):
            self.fail(f"{value!r} are no numbers of users; write 1,10,50", param, ctx)
        users = [int(part) for part in parts]
        if users != sorted(set(users)):
            self.fail(f"{value!r}: each number of users must be larger than the one before it", param, ctx)
        return users


class Late(click.ParamType[float | None]):
    """``send`` → None, ``drop:D`` → seconds."""

    name = "late"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float | None:
        if not isinstance(value, str):
            return value  # type: ignore[return-value]  # click converts a default twice
        if value == "send":
            return None
        word, _, duration = value.partition(":")
        if word != "drop" or not duration:
            self.fail(f"{value!r} is no way to treat late requests; write send or drop:2s", param, ctx)
        return Duration().convert(duration, param, ctx)


class Methods(click.ParamType[frozenset[str]]):
    """``GET,HEAD`` → the set of these; methods are case-sensitive, so what is not upper case stands for both."""

    name = "methods"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> frozenset[str]:
        if not isinstance(value, str):
            return value  # type: ignore[return-value]  # click converts a default twice
        named = [part.strip() for part in value.split(",")]
        methods = frozenset(named) | {method.upper() for method in named}
        for method in sorted(methods):
            if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", method) or method == "CONNECT":
                self.fail(f"{method!r} is not a method that can be sent; write GET,HEAD,POST", param, ctx)
        return methods


def seconds_of(text: str) -> float:
    """Read a duration.

    Returns:
        Seconds, from a microsecond to ten years.

    Raises:
        ValueError: not a duration, or not within these limits.
    """
    match = _DURATION.fullmatch(text.strip().lower())
    seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if seconds <= 0:
        raise ValueError(f"{text!r} is not a duration above 0; write 300ms, 10s or 5m")
    if not _SHORTEST_S <= seconds <= _LONGEST_S:
        raise ValueError(f"{text!r} is too {'short' if seconds < 1 else 'long'}: expected 1us to 87600h (ten years)")
    return seconds


def positive_rate(text: str) -> float:
    """Read a rate in requests per second.

    Raises:
        ValueError: not a number from a millionth to 10 million.
    """
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate <= 10_000_000:
        raise ValueError(f"{text!r} is not a rate; write requests per second above 0, such as 100 or 0.5")
    if rate < _LOWEST_RATE:
        raise ValueError(f"{text!r} is too low a rate; the lowest is {_LOWEST_RATE:g} requests per second")
    return rate


def parse_rates(text: str) -> tuple[float, ...]:
    """Read the rates of a sweep: a range in equal steps (about eight where no step is said), or a list.

    Raises:
        ValueError: not of one of these forms, or the range is empty.
    """
    if ".." not in text:
        return tuple(positive_rate(part) for part in text.split(","))
    ends, _, step_text = text.partition(":")
    low, high = (positive_rate(part) for part in ends.split("..", 1))
    if high <= low:
        raise ValueError(f"{text!r} is an empty range: {high:g} is not above {low:g}; write 50..400")
    step = positive_rate(step_text) if step_text else _round_step((high - low) / 7)
    count = int((high - low) / step + 1e-9)
    if count > 10_000:
        raise ValueError(f"{text!r} asks for {count + 1} steps; choose a larger step")
    rates = [low + index * step for index in range(count + 1)]
    if high - rates[-1] > 1e-9 * high:
        rates.append(high)
    return tuple(rates)


def _round_step(step: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten that is not below nine tenths of the step."""
    power = 10.0 ** int(f"{step:e}".partition("e")[2])
    return next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= 0.9 * step)
