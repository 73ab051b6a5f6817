"""A format as words between blanks, and texts between quotes.

In a line of such a format, if no value outside of quotes has a blank and none inside a quote, the blanks and quotes say
where each value stands.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from logreplay.parsers.fields.timestamps import Stamp
from logreplay.parsers.formats.format import Format, TextLayout, Value

_SIGN: Final = 0xE000
"""Of the letters that nobody uses the first: each stands for a value."""

_OWN: Final = {
    "time": ("clf",),
    "rc": ("status",),
    "bytes": ("int",),
    "request_bytes": ("int",),
    "request": ("request",),
    "total": ("seconds", "list"),
    "client": ("client",),
    **dict.fromkeys(("host", "user", "referer", "agent", "body"), ("text", "user")),
    "": ("text", "user", "client", "status", "int", "seconds", "list"),
}
"""Kinds of values, by the raw field, whose bytes can go into the CSV as they are."""

_REQUEST: Final = (("op", "method"), ("url", "target"), ("protocol", "protocol"))


@dataclass(frozen=True, slots=True)
class Word:
    """What stands between two marks: a literal, or a value perhaps between two literals.

    Attributes:
        begin: the mark before it; of a line those are counted that its format has, from 0, the newline before it.
        end: the mark behind it.
        slot: the raw field; empty: none.
        kind: of the value: that of its field, or ``method``, ``target``, ``protocol``; ``literal``: it has none.
        before: literal in front of the value.
        after: literal behind it.
        quoted: it stands in quotes, and may hold blanks and commas.
    """

    begin: int
    end: int
    slot: str
    kind: str
    before: str = ""
    after: str = ""
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Wording:
    """A format that is made of words.

    Attributes:
        words: in the order of the line.
        blanks: how many stand before the first quote, between two, and behind the last; None: any number.
        request: which of these is the request.
        stamp: how the server stamps.
        server: who writes it.
    """

    words: tuple[Word, ...]
    blanks: tuple[int | None, ...]
    request: int
    stamp: Stamp
    server: str


@lru_cache(8)
def wording(format: Format) -> Wording | None:
    """Find the words of a format; None if it is not made of words, or some of their bytes cannot go into the CSV."""
    layout = format.layout
    if not isinstance(layout, TextLayout) or format.total_unit != 1.0 or format.agent_coding:
        return None
    values = [part for part in layout.parts if isinstance(part, Value)]
    slots = {value.slot for value in values}
    if not {"request", "time", "rc"} <= slots or any(v.kind not in _OWN.get(v.slot, ()) for v in values):
        return None
    signs = {chr(_SIGN + number): value for number, value in enumerate(values)}
    names = iter(signs)
    stretches = "".join(part if isinstance(part, str) else next(names) for part in layout.parts).split('"')
    words: list[Word] = []
    blanks: list[int | None] = []
    mark = request = 0
    for number, text in enumerate(stretches):
        if number % 2 == 0:
            found = list(_outside(text, mark, signs))
            edges = found[:1] * (number > 0) + found[-1:] * (number < len(stretches) - 1)
            if any(word.before or word.kind != "literal" for word in edges):  # a quote has a blank outside
                return None
            blanks.append(found[-1].end - mark - 1)
        elif (value := signs.get(text)) and value.kind == "request":
            found = [Word(mark + n, mark + n + 1, slot, kind) for n, (slot, kind) in enumerate(_REQUEST)]
            blanks.append(len(_REQUEST) - 1)
            request = number
        elif value and value.kind in ("text", "client"):
            found = [Word(mark, mark + 1, value.slot, value.kind, quoted=value.kind == "text")]
            blanks.append(None if value.kind == "text" else 0)
        else:
            return None
        words += found
        mark = found[-1].end
    if len(stretches) % 2 == 0 or any(word.kind == "request" or (word.after and word.kind != "clf") for word in words):
        return None
    return Wording(tuple(words), tuple(blanks), request, format.stamp, format.server)


def _outside(text: str, mark: int, signs: Mapping[str, Value]) -> Iterator[Word]:
    """The words of a stretch outside of quotes; of several values in one the others stay in the literal behind."""
    for piece in text.split(" "):
        sign = next((sign for sign in piece if sign in signs), "")
        before, _, after = piece.partition(sign) if sign else (piece, "", "")
        value = signs.get(sign, Value("", "literal"))
        end = mark + (2 if value.kind == "clf" else 1)  # a stamp has a blank
        yield Word(mark, end, value.slot, value.kind, before, after)
        mark = end
