"""One difference between two answers."""

from typing import Any, Final, NamedTuple

_LONGEST: Final = 4096
"""Characters of a value. A report shows fewer: secrets are masked before it cuts the value again."""


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
    """The beginning of a text. A quote follows the cut, so that a cut secret in quotes can be masked."""
    text = str(value)
    return text if len(text) <= most else text[:most].rstrip("\\") + '"…'
