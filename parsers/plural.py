"""Writes a number with its noun: ``1 request``, ``2,000 requests``."""


def number_of(number: int, one: str, many: str = "") -> str:
    """Write a number with what there is so many of.

    Args:
        number: of them.
        one: the words for one: ``request``, ``request was``.
        many: those for any other number; empty: ``one`` with an s.
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
