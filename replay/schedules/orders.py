"""Orders to a running load, as people write them, and the load that follows from them."""

import re
from dataclasses import dataclass
from typing import Final

_ORDER: Final = re.compile(
    r"(?P<change>raise|lower) (?P<percent>\d{1,4}(?:\.\d{1,6})?)%"
    r"|(?P<unit>rate|speed) (?P<level>\d{1,9}(?:\.\d{1,9})?)|(?P<alone>pause|continue|end)",
    re.ASCII,
)
WORDS: Final = "raise 20%, lower 20%, rate 150, speed 2, pause, continue or end"


@dataclass(frozen=True, slots=True)
class Order:
    """What a person asks of a running load.

    Attributes:
        text: words of the person.
        word: ``raise``, ``lower``, ``rate``, ``speed``, ``pause``, ``continue`` or ``end``.
        value: a share, a rate or a speed; 0 where the word says all.
    """

    text: str
    word: str
    value: float = 0.0


def parse_order(text: str) -> Order:
    """Read ``raise 20%``, ``lower 20%``, ``rate 150``, ``speed 2``, ``pause``, ``continue`` or ``end``."""
    text = " ".join(text.split())
    match = _ORDER.fullmatch(text)
    if not match:
        raise ValueError(f"{text[:40]!r}: expected {WORDS}")
    if match["alone"]:
        return Order(text, match["alone"])
    if match["unit"]:
        return Order(text, match["unit"], float(match["level"]))
    return Order(text, match["change"], float(match["percent"]) / 100)


@dataclass(frozen=True, slots=True)
class Level:
    """The load that is asked for.

    Attributes:
        unit: ``rate``, requests/s; or ``speed``, of the log's own times.
        value: value in this unit; in a pause, the value before and after it.
        paused: nothing is due.
    """

    unit: str
    value: float
    paused: bool = False

    def __str__(self) -> str:
        if self.paused:
            return "paused"
        return f"{self.value:.6g} requests/s" if self.unit == "rate" else f"speed {self.value:.6g}"
