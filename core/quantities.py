"""Reads quantities as people write them: durations, instants, shares, rates, ranges of rates."""

import math
import re
import reprlib
import sys
from datetime import UTC, datetime, timedelta, tzinfo
from numbers import Real
from pathlib import Path
from typing import Any, Final

from logreplay.core.errors import UsageError

SECONDS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}
"""Seconds of each unit of a duration; a number without a unit is seconds."""
TIME_UNITS: Final = "units: us, ms, s, m, h"
"""Units of a duration, for error texts."""
_NUMBER: Final = r"(\d+(?:\.\d*)?|\.\d+)"
_UNITS: Final = ("h", "m", "s", "ms", "us", "")
_DURATION: Final = re.compile("".join(f"(?:{_NUMBER}{unit})?" for unit in _UNITS[:-1]) + f"|{_NUMBER}")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SHORTEST_S: Final = 1e-6
_LONGEST_S: Final = 87_600 * 3600.0
_LOWEST_RATE: Final = 1e-6
_HIGHEST_RATE: Final = 10_000_000
_HIGHEST_PRICE: Final = 1_000_000_000


Seconds = float | str | timedelta
"""A duration as Python programs give it: 0.3, "300ms", or a `timedelta`."""


def microseconds(text: str, zone: tzinfo = UTC) -> int:
    """Read an instant in ISO 8601 as microseconds since 1970, UTC; ``zone`` is for a text without an offset.

    Raises:
        OverflowError: an instant out of range.
    """
    moment = datetime.fromisoformat(text)
    return round(((moment if moment.tzinfo else moment.replace(tzinfo=zone)) - _EPOCH).total_seconds() * 1e6)


def naive_utc(instant: datetime) -> datetime:
    """Return an instant in UTC without its time zone; one without a zone unchanged.

    Raises:
        OverflowError: an instant out of range.
    """
    return instant.astimezone(UTC).replace(tzinfo=None) if instant.tzinfo else instant


def iso(us: int) -> str:
    """Write microseconds since 1970 in ISO 8601, UTC."""
    return (_EPOCH + timedelta(microseconds=us)).isoformat(timespec="microseconds").replace("+00:00", "Z")


def as_timedelta(value: Any) -> Any:
    """Return a duration of numpy as one of Python, None if it is not known; any other value unchanged.

    To Python, a ``timedelta64`` is a whole number, of whatever unit; one without a unit stands for no time.
    """
    if getattr(getattr(value, "dtype", None), "kind", "") != "m" or getattr(value, "shape", None) != ():
        return value
    made = None if str(value.dtype) == "timedelta64" else value.astype("m8[us]").item()
    return made if isinstance(made, timedelta) else None


def number_given(value: Any, argument: str) -> float:
    """Return the number that a program gives for an argument.

    Raises:
        UsageError: it is not a number, or below 0 or infinite.
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= value <= sys.float_info.max:  # type: ignore[operator]
        raise UsageError(f"{argument}={reprlib.repr(value)}: expected a number, 0 or more", (argument,))
    return float(value)


def seconds_of(text: str) -> float:
    """Read a duration, such as ``300ms``, ``90`` or ``3m30s``, as seconds, from a microsecond to ten years."""
    seconds = _sum_of(text) or 0.0
    if seconds <= 0:
        raise ValueError(f"{text!r}: expected a duration above 0, such as 300ms, 10s or 5m ({TIME_UNITS})")
    if not _SHORTEST_S <= seconds <= _LONGEST_S:
        raise ValueError(f"{text!r}: too {'short' if seconds < 1 else 'long'}; expected 1us to 87600h (ten years)")
    return seconds


def in_ms_instead(seconds: float) -> str:
    """Say how milliseconds are written, of a duration so long that they may be meant."""
    return f"a bare number means seconds: write {seconds:g}ms for milliseconds"


def pause_of(text: str) -> float:
    """Read a duration, or 0 for none."""
    if _sum_of(text) is None:
        raise ValueError(f"{text!r}: expected a duration, such as 300ms, 10s or 5m, or 0 ({TIME_UNITS})")
    return 0.0 if _sum_of(text) == 0 else seconds_of(text)


def _sum_of(text: str) -> float | None:
    """Seconds of ``90``, ``1.5h`` or ``3m30s``, whose units fall; None: not a duration."""
    match = _DURATION.fullmatch(text.strip().lower())
    if not match or not match[0]:
        return None
    return round(sum(float(part or 0) * SECONDS[unit] for part, unit in zip(match.groups(), _UNITS, strict=True)), 9)


def fraction_of(text: str, *, most: float = 1.0) -> float:
    """Read a share as a fraction. ``5`` could mean 5 % or 500 %, and is refused."""
    share = text.strip()
    try:
        number = float(share.removesuffix("%"))
    except ValueError:
        number = -1.0
    if not share.endswith("%") and (number > 1 or 1 == number <= most) and number <= 100 * most:
        other = f", or {number * 100:g}%" if number <= most else f", or {number / 100:g}" if number < 100 else ""
        raise ValueError(f"{text!r} is ambiguous: write {number:g}%{other}")
    fraction = number / 100 if share.endswith("%") else number
    if not 0 <= fraction <= most:
        raise ValueError(f"{text!r}: expected a share from 0% to {most:.0%}, such as 20% or 0.2")
    return fraction


def percent(share: float) -> str:
    """Write a share with three digits: ``8.5 %``."""
    return f"{100 * share:.3g} %"


def percentage_of(text: str) -> float:
    """Read ``5%`` or ``0.05`` as 5.0, above 0 and at most 100."""
    number = round(fraction_of(text) * 100, 12)
    if not number:
        raise ValueError(f"{text!r}: expected a share above 0%, such as 5% or 0.05")
    return number


def picture(text: str) -> Path:
    """Read the name of a file to draw into."""
    path = Path(text)
    if path.suffix.lower() not in (".png", ".svg"):
        raise ValueError(f"{path}: expected a file that ends with .png or .svg")
    return path


def positive_rate(text: str) -> float:
    """Read a rate in requests per second."""
    rate = _above_zero(text, "a rate above 0 requests/s, such as 100 or 0.5")
    if not _LOWEST_RATE <= rate <= _HIGHEST_RATE:
        limit = f"lowest rate is {_LOWEST_RATE:g}" if rate < 1 else f"highest rate is {_HIGHEST_RATE:,}"
        raise ValueError(f"{text!r}: the {limit} requests/s")
    return rate


def price_of(text: str) -> float:
    """Read a price, in whatever currency."""
    price = _above_zero(text, "a price above 0, such as 0.12")
    if price > _HIGHEST_PRICE:
        raise ValueError(f"{text!r}: the highest price is {_HIGHEST_PRICE:,}")
    return price


def _above_zero(text: str, expected: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not number > 0:
        raise ValueError(f"{text!r}: expected {expected}")
    return number


def parse_rates(text: str) -> tuple[float, ...]:
    """Read the rates of a sweep: a range in equal steps (about eight where no step is said), or a list."""
    ends, colon, step_text = text.partition(":")
    parts = [*ends.split("..", 1), *([step_text] if colon else [])] if ".." in text else text.split(",")
    if not all(map(_is_number, parts)):
        raise ValueError(f"{text!r}: expected rates above 0 requests/s, such as 100, 50..400, 50..400:25 or 10,20,50")
    rates = [positive_rate(part) for part in parts]
    if ".." not in text:
        return tuple(rates)
    low, high, step = (*rates, 0.0)[:3]
    step = step or _round_step((high - low) / 7)
    if high <= low:
        raise ValueError(f"{text!r}: {high:g} is not above {low:g}; expected a range such as 50..400")
    count = int((high - low) / step + 1e-9)
    if count > 10_000:
        raise ValueError(f"{text!r}: {count + 1} steps are too many; choose a larger step")
    rates = [low + index * step for index in range(count + 1)]
    if high - rates[-1] > 1e-9 * high:
        rates.append(high)
    return tuple(rates)


def _is_number(text: str) -> bool:
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False


def _round_step(step: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten that is not below nine tenths of the step."""
    power = 10.0 ** int(f"{step:e}".partition("e")[2])
    return next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= 0.9 * step)
