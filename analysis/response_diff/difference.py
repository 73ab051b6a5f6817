"""One difference between two answers, and values that are new in every answer: UUIDs, time stamps and tokens."""

import re
from typing import Any, Final, NamedTuple

_LONGEST_SHOWN: Final = 4096
"""Characters of a value. A report shows fewer: secrets are masked before it cuts the value again."""
_DAY: Final = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? "
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_CLASSES: Final = {
    "uuid": r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    "time stamp": r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?"
    rf"|(?:{_DAY})?\d\d?[ /-]{_MONTH}[ /-]\d{{4}}[ :]\d\d:\d\d:\d\d(?: GMT| UTC| [+-]\d{{4}})?",
    "token": r"eyJ[\w-]{6,}+\.[\w-]++(?:\.[\w-]*+)?"  # a JSON Web Token (RFC 7519)
    r"|(?=[0-9]*+[a-fA-F])[0-9a-fA-F]{16,}+"
    r"|(?=[0-9]*+[A-Za-z])(?=[A-Za-z]*+[0-9])[A-Za-z0-9]{20,}+"
    r"|(?=[0-9a-z_-]*+[A-Z])(?=[0-9A-Z_-]*+[a-z])(?=[A-Za-z_-]*+[0-9])[\w-]{20,}+"
    r"|(?<!/)(?=[\w/]*+[+=])[A-Za-z0-9][A-Za-z0-9+/]{23,}+={0,2}+(?!/)",
}
_ANY: Final = re.compile(
    r"(?<![\w+=-])(?:" + "|".join(f"({pattern})" for pattern in _CLASSES.values()) + r")(?![\w+=-])", re.ASCII
)
_NAMES: Final = (*_CLASSES,)
_EPOCH: Final = re.compile(r"\d{10}(?:\.\d{1,9})?|\d{13}|\d{16}|\d{19}", re.ASCII)
_EPOCH_UNITS: Final = {10: 1.0, 13: 1e3, 16: 1e6, 19: 1e9}
_EPOCH_RANGE: Final = (1e9, 4e9)
"""Seconds since 1970 that count as a time stamp: 2001 to 2096."""
_TOGETHER_S: Final = 3600.0
"""Two numbers are time stamps of one moment if they are at most so far apart."""
_LONGEST: Final = 1 << 16


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


def shortened(value: Any, most: int = _LONGEST_SHOWN) -> str:
    """The beginning of a text. A quote follows the cut, so that a cut secret in quotes can be masked."""
    text = str(value)
    return text if len(text) <= most else text[:most].rstrip("\\") + '"…'


def skeleton(text: str) -> str:
    """A text with each UUID, time stamp and token replaced by the name of its class."""
    return _ANY.sub(lambda match: f"<{_NAMES[(match.lastindex or 1) - 1]}>", text[:_LONGEST]) + text[_LONGEST:]


def common_class(before: object, after: object) -> str:
    """The class of two unequal values that differ in nothing but UUIDs, time stamps, tokens; empty: in more."""
    if _seconds(before) and _seconds(after) and abs(_seconds(before) - _seconds(after)) <= _TOGETHER_S:
        return "time stamp"
    if not isinstance(before, str) or not isinstance(after, str):
        return ""
    match = _ANY.search(before[:_LONGEST])
    if match is None or skeleton(before) != skeleton(after):
        return ""
    return _NAMES[(match.lastindex or 1) - 1]


def _seconds(value: object) -> float:
    """Seconds since 1970, if a number or a text of digits can be a recent time stamp; otherwise 0."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return 0.0
    text = (
        value
        if isinstance(value, str)
        else f"{value:d}"
        if isinstance(value, int) and abs(value) < 1e20
        else f"{value}"
    )
    if len(text) > 20 or not _EPOCH.fullmatch(text):
        return 0.0
    seconds = float(text) / _EPOCH_UNITS[len(text.partition(".")[0])]
    return seconds if _EPOCH_RANGE[0] <= seconds < _EPOCH_RANGE[1] else 0.0
