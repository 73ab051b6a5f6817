"""One difference between two answers."""

from typing import Any, Final, NamedTuple

_LONGEST: Final = 4096
"""Characters of a value: more than a report shows, as secrets in it are masked before it is cut to those."""


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


def shortened(value: Any, most: int = _LONGEST) -> str:
    """The beginning of a text; where it is cut, a quote ends the secret in quotes that may be there."""
    text = str(value)
    return text if len(text) <= most else text[:most].rstrip("\\") + '"…'
