"""Writes a count with its noun: ``1 request``, ``2,000 requests``."""


def number_of(count: int, one: str, many: str = "") -> str:
    """Write a count with its noun.

    Args:
        count: the count.
        one: the singular, such as ``request`` or ``request was``.
        many: the plural; default: ``one`` with an s.
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"
