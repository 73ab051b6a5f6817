"""Differences of two answers to the same request; of texts by line, of HTML also by tag."""

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from logreplay.analysis.response_diff import json_paths
from logreplay.analysis.response_diff.difference import Difference, common_class, shortened, skeleton
from logreplay.analysis.response_diff.pairing import pair
from logreplay.analysis.response_diff.rules import Rules, default_ignored
from logreplay.core.masking import masked

STATUS: Final = "status"
"""Place of a difference in the status, or in the error."""
MOST: Final = 1000
"""Differences of one pair that are told apart; the others are not looked at."""
_CONTROL: Final = re.compile(r"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
"""Characters that texts do not contain; the rule of file(1)."""
_CHARSET: Final = re.compile(rb"charset\s*=\s*\"?([\w.:-]+)", re.IGNORECASE)
_NO_CHARSETS: Final = frozenset({"punycode", "raw-unicode-escape", "unicode-escape", "utf-7"})
"""Codecs of Python that are read as Latin-1: they give halves of surrogate pairs, or need quadratic time."""
_TAGS: Final = re.compile(r"\r\n|\n|(?<=>)(?=<)")
_LINES: Final = re.compile(r"\r\n|\n")
_NUMBER: Final = re.compile(r"\d+")
_LONGEST_PLACE: Final = 100
_MASKED: Final = 5 * _LONGEST_PLACE
"""Characters of a line that are masked before its place is cut: they hold the end of a password that the cut hits."""


class AnswerOf(NamedTuple):
    """The answer of one target.

    Attributes:
        status: 0: none came.
        headers: names and values, as received.
        body: decoded; None: not kept.
        size: bytes of the decoded body.
        digest: digest of the decoded body.
        error: word of the result log; empty: none.
    """

    status: int
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes | None
    size: int
    digest: int
    error: str


class _ReadBody(NamedTuple):
    """A body as it is compared: ``kind`` is json, html, text or binary."""

    kind: str
    content: Any
    text: str


def differences(before: AnswerOf, after: AnswerOf, rules: Rules) -> list[Difference]:
    """The differences of two answers. Headers and bodies are compared where the status is equal, or is ignored."""
    said, says, ignored = _status(before), _status(after), rules.place(STATUS)
    found = [Difference(STATUS, f"{said} → {says}", said, says, ignored=ignored)] if said != says else []
    if (found and not ignored) or not (before.status and after.status):
        return found
    return [*islice(chain(found, _of_headers(before, after, rules), _of_bodies(before, after, rules)), MOST)]


def _status(answer: AnswerOf) -> str:
    return answer.error or str(answer.status)


def _of_headers(before: AnswerOf, after: AnswerOf, rules: Rules) -> Iterator[Difference]:
    old, new = _headers(before), _headers(after)
    for name in [*old, *(name for name in new if name not in old)]:
        values = old.get(name, ""), new.get(name, "")
        if values[0] != values[1] or (name in old) != (name in new):
            kind = "changed" if name in old and name in new else "removed" if name in old else "added"
            alike = common_class(*values) if kind == "changed" else ""
            had, has = map(shortened, values)
            yield Difference(f"header:{name}", kind, had, has, alike, rules.header(name))


def _headers(answer: AnswerOf) -> dict[str, str]:
    """The headers that are compared, by name; several of one name joined as RFC 9110 (5.3) does."""
    found: dict[str, str] = {}
    for raw, value in answer.headers:
        name = raw.decode("latin-1").lower()
        if not default_ignored(name):
            text = value.decode("latin-1").strip()
            found[name] = f"{found[name]}, {text}" if name in found else text
    return found


def _of_bodies(before: AnswerOf, after: AnswerOf, rules: Rules) -> Iterator[Difference]:
    if before.digest == after.digest and before.size == after.size:
        return
    ignored = rules.place("body")
    if not before.size or not after.size:
        kind = "added" if after.size else "removed"
        yield Difference("body", kind, _bytes(before), _bytes(after), ignored=ignored)
        return
    if before.body is None or after.body is None:
        yield from _by_digest(before, after, rules)
        return
    old, new = _body(before, before.body), _body(after, after.body)
    if old.kind != new.kind:
        yield Difference("body", "type", f"{old.kind}: {shortened(old.text)}", f"{new.kind}: {shortened(new.text)}",
                         ignored=ignored)  # fmt: skip
    elif old.kind == "binary":
        yield from _by_digest(before, after, rules)
    else:
        yield from _of_texts(old, new, rules)


def _of_texts(old: _ReadBody, new: _ReadBody, rules: Rules) -> Iterator[Difference]:
    ignored, found = rules.place("body"), None
    if old.kind == "json":
        with suppress(json_paths.TooDeep):
            found = [*islice(json_paths.differences(old.content, new.content, rules), MOST)]
    if found is None:
        found = [*islice(line_differences(old.text, new.text, rules, html=old.kind == "html"), MOST)]
    if ignored:
        found = [each._replace(ignored=ignored) for each in found]
    if not found and old.text != new.text:
        found = [Difference("body", "formatting", shortened(old.text), shortened(new.text), ignored=ignored)]
    yield from found


def line_differences(before: str, after: str, rules: Rules, *, html: bool = False) -> Iterator[Difference]:
    """Yield the differences of two texts. Blanks at the ends of lines do not count."""
    cut = _TAGS if html else _LINES
    old, new = ([line for piece in cut.split(text) if (line := piece.strip())] for text in (before, after))
    paired = pair([skeleton(line) for line in old], [skeleton(line) for line in new])
    if paired.moved:
        yield Difference("body", "order", shortened(before), shortened(after), ignored=rules.place("body"))
    for at, other in (*paired.same, *paired.changed):
        if old[at] != new[other]:
            yield _of_lines("changed", old[at], new[other], rules)
    for at in paired.removed:
        yield _of_lines("removed", old[at], "", rules)
    for at in paired.added:
        yield _of_lines("added", "", new[at], rules)


def _of_lines(kind: str, before: str, after: str, rules: Rules) -> Difference:
    alike = common_class(before, after) if kind == "changed" else ""
    ignored = rules.place("body") or rules.line(before) or rules.line(after)
    return Difference(place_of(before or after), kind, shortened(before), shortened(after), alike, ignored)


def place_of(line: str) -> str:
    """The place of a line: its beginning, secrets masked, without the numbers in it."""
    return "line:" + _NUMBER.sub("#", skeleton(masked(shortened(line, _MASKED))))[:_LONGEST_PLACE]


def _by_digest(before: AnswerOf, after: AnswerOf, rules: Rules) -> Iterator[Difference]:
    """Bodies that cannot be read, or were not kept."""
    ignored = rules.place("body")
    if before.size != after.size:
        yield Difference("body", "size", _bytes(before), _bytes(after), ignored=ignored or rules.place("size"))
    else:
        yield Difference("body", "changed", _bytes(before), _bytes(after), ignored=ignored)


def _bytes(answer: AnswerOf) -> str:
    return f"{answer.size:,} bytes, hash {answer.digest:010x}" if answer.size else ""


def _body(answer: AnswerOf, body: bytes) -> _ReadBody:
    """Parse a body. Its bytes tell JSON from text; its Content-Type only tells HTML from text."""
    media = next((value for name, value in answer.headers if name.lower() == b"content-type"), b"")
    try:
        text = body.decode(_charset(media), "strict")
    except (UnicodeError, LookupError):
        text = body.decode("latin-1")
        if not media.lower().startswith((b"text/", b"application/json", b"application/xml")):
            return _ReadBody("binary", None, "")
    if _CONTROL.search(text):
        return _ReadBody("binary", None, "")
    start = text[:200].lstrip("\ufeff \t\r\n")
    if start[:1] in ("{", "[") or b"json" in media.lower():
        try:
            return _ReadBody("json", json_paths.read(text), text)
        except ValueError:
            pass
    is_html = b"html" in media.lower() or start[:1] == "<"
    return _ReadBody("html" if is_html else "text", None, text)


def _charset(media: bytes) -> str:
    """The codec that a Content-Type names."""
    found = _CHARSET.search(media)
    name = codecs.lookup(found[1].decode()).name if found else "utf-8"
    if name in _NO_CHARSETS:
        raise LookupError(name)
    return name


def pretty(answer: AnswerOf) -> str:
    """The body of an answer for a reader: JSON with a line for each value."""
    if not answer.body:
        return f"({_bytes(answer) or 'no body'})"
    body = _body(answer, answer.body)
    if body.kind == "binary":
        return f"({_bytes(answer)})"
    try:
        return json.dumps(body.content, indent=2, ensure_ascii=False) if body.kind == "json" else body.text
    except RecursionError:
        return body.text
