"""Rules for differences that are ignored, in the words of ``--ignore``."""

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

IGNORED_HEADERS: Final = (
    "age", "alt-svc", "cf-ray", "connection", "content-length", "date", "keep-alive", "nel", "report-to", "request-id",
    "server-timing", "set-cookie", "traceparent", "tracestate", "transfer-encoding", "x-amz-cf-id", "x-amz-id-2",
    "x-amz-request-id", "x-amzn-requestid", "x-amzn-trace-id", "x-b3-*", "x-cloud-trace-context", "x-correlation-id",
    "x-request-id", "x-request-start", "x-runtime", "x-trace-id",
)  # fmt: skip
"""Headers that are not compared: clocks, ids, cookies, and those that describe the connection or the length."""

LIST: Final = "[*]"
"""The step of a path from a list to its elements."""
_ANY_NAME: Final = "*"
_ANY_DEPTH: Final = ".."
_MOST_REMEMBERED: Final = 10_000

VOCABULARY: Final = (
    "status, size, body, header:NAME, line:TEXT, a JSON path such as $.meta.id, $.items[*].price, $.meta.* or $..id, "
    "or order:PATH for the order of a list"
)

Path = tuple[str, ...]
"""A place in JSON: names of objects, each with a dot before it, and `LIST`."""

_STEP: Final = re.compile(
    r"(?P<list>\[\*\])|\[(?P<quote>['\"])(?P<quoted>.+?)(?P=quote)\]|(?P<dots>\.\.?)(?P<name>\*|[^.\[\]*\s]+)"
)
_PLAIN: Final = re.compile(r"[^.\[\]*\s'\"]+")


def path_text(path: Path) -> str:
    """A path as ``--ignore`` takes it: ``$.items[*].price``; unusual names as ``$['a b']``.

    An empty name, one with both quotes, and one that cannot be printed are escaped; no word of ``--ignore`` means them.
    """
    return "$" + "".join(
        step if step == LIST or (step.isprintable() and _PLAIN.fullmatch(step[1:])) else f"[{step[1:]!r}]"
        for step in path
    )


class _PathRule(NamedTuple):
    """A JSON path that is ignored, with everything below it.

    Attributes:
        word: as the user wrote it.
        steps: names, `LIST`, and `_ANY_DEPTH` before a name that may be at any depth.
        order: only the order of the list there is ignored.
    """

    word: str
    steps: Path
    order: bool


def _matches(steps: Path, path: Path, *, exactly: bool) -> bool:
    """Whether steps mean this place; if not ``exactly``, or one above it."""
    reached = {0}
    """Numbers of path steps that the path so far can stand for."""
    for place in path:
        after = set()
        for done in reached:
            if done == len(steps):
                continue
            if steps[done] == _ANY_DEPTH:
                after.add(done)
                if _fits(steps[done + 1], place):
                    after.add(done + 2)
            elif _fits(steps[done], place):
                after.add(done + 1)
        if not exactly and len(steps) in after:
            return True
        reached = after
    return len(steps) in reached


def _fits(step: str, place: str) -> bool:
    return step == place or (step == _ANY_NAME and place != LIST)


@dataclass(slots=True)
class Rules:
    """Rules for differences that are ignored.

    Attributes:
        words: as the user wrote them.
        places: ignored ones of ``status``, ``size`` and ``body``.
    """

    words: Sequence[str] = ()
    places: frozenset[str] = frozenset()
    _headers: Sequence[tuple[str, str]] = ()
    _lines: Sequence[tuple[str, str]] = ()
    _paths: Sequence[_PathRule] = ()
    _remembered: dict[tuple[Path, bool], str] = field(default_factory=dict)

    @classmethod
    def of(cls, words: Sequence[str]) -> "Rules":
        """Read the words of ``--ignore``."""
        headers, lines, paths, places = [], [], [], set()
        for word in words:
            kind, _, rest = word.partition(":")
            if word in ("status", "size", "body"):
                places.add(word)
            elif kind == "header" and re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", rest):
                headers.append((word, rest.lower()))
            elif kind == "line" and rest:
                lines.append((word, rest))
            elif kind == "order" and rest.startswith("$"):
                paths.append(_PathRule(word, _steps(word, rest), order=True))
            elif word.startswith("$"):
                paths.append(_PathRule(word, _steps(word, word), order=False))
            else:
                raise ValueError(f"{word!r}: expected {VOCABULARY}")
        return cls(tuple(words), frozenset(places), headers, lines, paths)

    def header(self, name: str) -> str:
        """The word by which differences of a header are ignored; empty: they count. Name in lower case."""
        return next((word for word, pattern in self._headers if fnmatch.fnmatchcase(name, pattern)), "")

    def line(self, text: str) -> str:
        """The word by which differences of a line are ignored; empty: they count."""
        return next((word for word, part in self._lines if part in text), "")

    def place(self, place: str) -> str:
        """The word by which ``status``, ``size`` or ``body`` is ignored; empty: it counts."""
        return place if place in self.places else ""

    def path(self, path: Path, *, order: bool = False) -> str:
        """The word by which a place in JSON, or with ``order`` its order, is ignored; empty: it counts."""
        key = (path, order)
        if (known := self._remembered.get(key)) is not None:
            return known
        rules = (rule for rule in self._paths if not rule.order or order)
        word = next((rule.word for rule in rules if _matches(rule.steps, path, exactly=rule.order)), "")
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[key] = word
        return word


def default_ignored(name: str) -> bool:
    """Whether a header is one of `IGNORED_HEADERS`. Name in lower case."""
    return name in IGNORED_HEADERS or name.startswith("x-b3-")


def _steps(word: str, text: str) -> Path:
    """Read a JSON path."""
    steps: list[str] = []
    at = 1
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            hint = "; positions in lists are not told apart, write [*]" if re.match(r"\[\d+\]", text[at:]) else ""
            raise ValueError(f"{word!r}: {text[at:]!r} is not a step of a JSON path such as $.items[*].price{hint}")
        at = match.end()
        if match["list"]:
            steps.append(LIST)
            continue
        if match["dots"] == _ANY_DEPTH:
            steps.append(_ANY_DEPTH)
        steps.append(_ANY_NAME if match["name"] == "*" else "." + (match["quoted"] or match["name"]))
    if not steps and not word.startswith("order:"):
        raise ValueError(f"{word!r}: ignores every body of JSON; write body to ignore all bodies")
    return tuple(steps)
