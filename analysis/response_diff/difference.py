"""One difference between two answers."""

from typing import Any, Final, NamedTuple

_SHOWN: Final = 300


class Difference(NamedTuple):
    """One difference between two answers.

    Attributes:
        place: ``status``, ``header:NAME``, a JSON path, ``line:TEXT`` or ``body``.
        kind: ``changed``, ``added``, ``removed``, ``order``, ``type``, ``size``, or the two statuses.
        baseline, candidate: the values, as text; empty: nothing.
        alike: the class of value that both are, where they differ in nothing else; empty: none.
        ignored: the word of ``--ignore`` that means it; empty: it counts.
    """

    place: str
    kind: str
    baseline: str = ""
    candidate: str = ""
    alike: str = ""
    ignored: str = ""


def shortened(value: Any) -> str:
    """The beginning of a text."""
    text = str(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
