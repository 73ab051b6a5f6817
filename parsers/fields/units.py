"""Units of durations, by the field's name or its values; a guess comes with a note for the user."""

import re
from collections.abc import Sequence
from statistics import median
from typing import Final

UNITS: Final = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""Seconds in one."""

UNKNOWN: Final = 0.0
"""Marks an unknown unit: such durations are not used."""

NGINX_DURATIONS: Final = {
    **{name: name for name in ("request_time", "upstream_response_time", "upstream_header_time")},
    **dict.fromkeys(("rt", "reqtime", "req_time"), "request_time"),
    "urt": "upstream_response_time",
    "uht": "upstream_header_time",
}
"""Names that logs give to nginx's durations, all in seconds → the variables."""

_MILLISECONDS: Final = "responselatency"
"""The name of the whole time in logs of AWS API Gateway, in lower case."""

_DECIMALS: Final = re.compile(r"[0-9]+\.[0-9]{3}")


def unit_by_name(name: str) -> float | None:
    """The unit that the name of a field tells, seconds in one; None if it tells none."""
    lower = name.lower()
    if lower in NGINX_DURATIONS:
        return 1.0
    if lower == _MILLISECONDS:
        return UNITS["ms"]
    return next((UNITS[u] for u in ("ns", "us", "ms") if lower.endswith("_" + u)), None)


def named_units(total: str, first: str) -> frozenset[str]:
    """Which of ``total`` and ``first`` have names that tell their units, whatever unit the user gives for the others.

    nginx's names count only for the first byte, and only if the name of the total tells no unit: other programs write
    durations of these names in other units. An empty name means that the log has no such field.
    """
    named = {slot for slot, name in (("total", total), ("first", first)) if unit_by_name(name) not in (None, 1.0)}
    if first and unit_by_name(first) and not unit_by_name(total):
        named.add("first")
    return frozenset(named)


def unit_of(name: str, values: Sequence[str]) -> tuple[float, str]:
    """Find the unit of a field by its name, if it has one, or by the look of some values.

    Returns:
        Seconds in one, `UNKNOWN` without any evidence; and a note for the user, or an empty text.
    """
    if named := unit_by_name(name):
        return named, ""
    numbers = [text for text in values if text not in ("", "-")]
    field = f"the durations in {name!r}" if name else "the numbers after the status and size"
    if numbers and sum(_DECIMALS.fullmatch(text) is not None for text in numbers) > 0.9 * len(numbers):
        return 1.0, f"{field} are taken as seconds, as they have three decimals; change it with --time-unit"
    whole = [int(text) for text in numbers if re.fullmatch(r"[0-9]{1,15}", text)]
    if whole and len(whole) > 0.9 * len(numbers):
        if max(whole) < 300 and median(whole) == 0:
            return 1.0, f"{field} are taken as whole seconds, as most are 0; change it with --time-unit"
        if median(whole) >= 5000:
            return 1e-6, f"{field} are taken as microseconds, as most are above 5,000; change it with --time-unit"
    if numbers:
        return UNKNOWN, f"{field} have no known unit and are not used: give it with --time-unit s, ms or us"
    return 1.0, ""
