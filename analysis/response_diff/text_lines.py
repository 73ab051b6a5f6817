"""Differences of two texts by line, of HTML also by tag."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from logreplay.analysis.response_diff.difference import Difference, shortened
from logreplay.analysis.response_diff.pairing import pair
from logreplay.analysis.response_diff.rules import Rules
from logreplay.analysis.response_diff.value_classes import common_class, skeleton
from logreplay.core.masking import masked

_TAGS: Final = re.compile(r"\r\n|\n|(?<=>)(?=<)")
_LINES: Final = re.compile(r"\r\n|\n")
_NUMBER: Final = re.compile(r"\d+")
_LONGEST_PLACE: Final = 100
_MASKED: Final = 5 * _LONGEST_PLACE
"""Characters of a line that are masked before its place is cut: they hold the end of a password that the cut hits."""


def differences(before: str, after: str, rules: Rules, *, html: bool = False) -> Iterator[Difference]:
    """Yield the differences of two texts. Blanks at the ends of lines do not count."""
    cut = _TAGS if html else _LINES
    old, new = _lines(before, cut), _lines(after, cut)
    paired = pair([skeleton(line) for line in old], [skeleton(line) for line in new])
    if paired.moved:
        yield Difference("body", "order", shortened(before), shortened(after), ignored=rules.place("body"))
    for at, other in (*paired.same, *paired.changed):
        if old[at] != new[other]:
            yield _difference("changed", old[at], new[other], rules)
    for at in paired.removed:
        yield _difference("removed", old[at], "", rules)
    for at in paired.added:
        yield _difference("added", "", new[at], rules)


def _lines(text: str, cut: re.Pattern[str]) -> Sequence[str]:
    return [line for piece in cut.split(text) if (line := piece.strip())]


def _difference(kind: str, before: str, after: str, rules: Rules) -> Difference:
    line = before or after
    alike = common_class(before, after) if kind == "changed" else ""
    ignored = rules.place("body") or rules.line(before) or rules.line(after)
    return Difference(place_of(line), kind, shortened(before), shortened(after), alike, ignored)


def place_of(line: str) -> str:
    """The place of a line: its beginning, secrets masked, without the numbers in it."""
    return "line:" + _NUMBER.sub("#", skeleton(masked(shortened(line, _MASKED))))[:_LONGEST_PLACE]
