"""Writes times, rates and changes as text: ``35.1 ms``, ``60.1–84``, ``+1.0% to +3.0%``."""

import math
import re
from collections.abc import Mapping
from typing import Any, Final

WIDEST: Final = 4
"""Ratio of the ends of an interval above which it is not printed."""
HOUR_S: Final = 3600
"""A step that would have to be longer is of no practical length."""


def show(seconds: float | None, *, failed: bool = False, late: bool = False) -> str:
    """Write a time so that it can be read: ``1.24 s``, ``35.1 ms``; ``–`` for none.

    Where there is none because a request ``failed``, or was sent too ``late``, it is ``failed`` or ``lag``.
    """
    if seconds is None or not math.isfinite(seconds):
        return "failed" if failed else "lag" if late else "–"
    if seconds >= 999.5:
        return f"{seconds:,.0f} s"
    for scale, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= 0.9995 * scale:  # what would be 1000 of the smaller unit, rounded
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.0f} µs" if seconds else "0"


def show_length(seconds: float) -> str:
    """Write how long a load was held: whole seconds, except for short ones."""
    return show(float(round(seconds)) if seconds > 2 else seconds)


def show_lengths(shortest: float, longest: float) -> str:
    """Write how long several loads were held: ``20 s``, ``3 s to 15 s``."""
    return " to ".join(dict.fromkeys((show_length(shortest), show_length(longest))))


def signed(seconds: float) -> str:
    """Write a change of a time with its sign: ``+12.6 s``, ``-35.1 ms``."""
    text = show(abs(seconds))
    return text if text in ("0", "0 µs") else f"{'-' if seconds < 0 else '+'}{text}"


def between(step: Mapping[str, Any]) -> str:
    """Write between what the p99 of a step lies: ``35.1–38 ms``; or how long a step has to be: ``needs 160 s``."""
    low, high, needed = (step.get(name) for name in ("p99_low", "p99_high", "p99_needs_s"))
    if low is None or high is None:
        return "–" if needed is None else "needs hours" if needed > HOUR_S else f"needs {rounded_up(needed)}"
    if math.isinf(high):
        return f"above {show(low)}"
    figure, _, unit = show(high).partition(" ")
    if not unit:
        return figure
    return f"{low / {'s': 1, 'ms': 1e-3, 'µs': 1e-6}[unit]:.3g}–{figure} {unit}"


def interval(low: float | None, high: float | None) -> str:
    """The ends of an interval of a ratio, as changes; None: an end is not known."""
    return "too wide" if low is None or high is None or high > WIDEST * low else f"{low - 1:+.1%} to {high - 1:+.1%}"


def show_rate(rate: float, digits: int = 3) -> str:
    """Write a rate, requests/s, with so many digits, or with all before the point: ``60.1``, ``1240``."""
    return f"{rate:.{digits}g}" if rate < 10**digits - 0.5 else f"{rate:.0f}"


def show_range(low: float, high: float) -> str:
    """Write both ends of the range of a rate: ``60.1–84``."""
    return f"{show_rate(low)}–{show_rate(high)}"


def show_share(share: float) -> str:
    """Write a share with two digits, or with all before the point: ``0.049 %``, ``100 %``."""
    return f"{share * 100:.2g} %" if share < 0.0995 else f"{share * 100:.0f} %"


def rounded_up(seconds: float) -> str:
    """Write a time of a second or longer with two digits, rounded up: ``160 s``."""
    digit = 10 ** max(math.floor(math.log10(seconds)) - 1, 0)
    return f"{math.ceil(seconds / digit - 1e-9) * digit:,} s"


def spoken(statistic: str) -> str:
    """A statistic as people write it: ``p999`` is p99.9."""
    return re.sub(r"^p(\d\d)(\d+)$", r"p\1.\2", statistic)
