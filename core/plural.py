"""Writes a count with its noun, ``1 request``, ``2,000 requests``, and lists: ``p50, p90 and p99``."""

from collections.abc import Sequence


def number_of(count: int, one: str, many: str = "") -> str:
    """Write a count with its noun; the plural is by default the singular with an s."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def first_of(names: Sequence[str], most: int = 5) -> str:
    """Write the first names: ``50/s, 60/s``, or ``50/s, 60/s, 70/s, 80/s, 90/s and 300 more``."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def listed(names: Sequence[str]) -> str:
    """Write names as a list: ``p50``, ``p50 and p90``, ``p50, p90 and p99``."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
