"""One difference between two answers."""

from typing import Any, Final, NamedTuple

from logreplay.core.masking import masked

_SHOWN: Final = 300
MOST_MASKED: Final = 4096
"""Characters of a longer text in which secrets are masked before it is cut: a secret that is cut has no end to find."""


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
    """The beginning of a text; where it is cut, secrets are masked before."""
    text = str(value)
    return text if len(text) <= _SHOWN else masked(text[:MOST_MASKED])[:_SHOWN] + "…"
