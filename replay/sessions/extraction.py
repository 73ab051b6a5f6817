"""Extraction of values from answers: ``NAME=header:…``, ``NAME=json:$.path``, ``NAME=regex:…``.

Answers are hostile bytes: only the beginning of a body is read, JSON that is too deep is not a value, and expressions
run in the engine of ``--match`` (Rust's, through Polars), whose time is linear in the body. A value that is empty, too
long or holds a control character is not taken.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from logreplay.replay.requests.filters import check_patterns
from logreplay.replay.requests.header_columns import TOKEN

MOST_BODY: Final = 131_072
"""Bytes of a body that are looked at."""
LONGEST_VALUE: Final = 4096
"""Characters of a value."""
_LONGEST_RULE: Final = 1000
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_STEP: Final = re.compile(r"\.([A-Za-z_][\w-]*)|\[(\d{1,6})\]|\['([^']+)'\]|\[\"([^\"]+)\"\]")
_META: Final = frozenset("\\.^$*+?{}()[]|")
_REPEATS: Final = frozenset("*?{")

Pairs = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Extraction:
    """A rule that takes a value from an answer.

    Attributes:
        name: name of the value.
        kind: ``header``, ``json`` or ``regex``.
        rule: name of the header, path, or expression. The value is the first of its groups that took part
            in the match, or all of the match if it has no group.
    """

    name: str
    kind: str
    rule: str

    @classmethod
    def parse(cls, text: str) -> "Extraction":
        """Read ``NAME=KIND:RULE``."""
        name, equals, what = text.partition("=")
        kind, colon, rule = what.partition(":")
        if not (equals and colon and NAME.fullmatch(name) and rule) or kind not in ("header", "json", "regex"):
            raise ValueError(
                f"{text!r}: expected NAME=header:HEADER, NAME=json:$.path or NAME=regex:EXPRESSION, "
                "such as form=header:X-CSRF-Token"
            )
        if len(rule) > _LONGEST_RULE:
            raise ValueError(f"{name}: a rule has at most {_LONGEST_RULE} characters")
        if kind == "header" and not TOKEN.fullmatch(rule):
            raise ValueError(f"{text!r}: {rule!r} is not the name of a header")
        if kind == "json":
            _steps(rule)
        if kind == "regex":
            check_patterns((rule,))
        return cls(name, kind, rule)

    @property
    def of_body(self) -> bool:
        """Whether the rule needs the body."""
        return self.kind != "header"

    def find(self, headers: Pairs, body: bytes) -> str | None:
        """The value in an answer, of whose body the first `MOST_BODY` bytes are given; None if there is none."""
        if self.kind == "header":
            wanted = self.rule.lower().encode()
            found = next((value for name, value in headers if name.lower() == wanted), None)
            return None if found is None else found.decode("utf-8", "replace")
        if self.kind == "json":
            return _in_json(body, self.rule)
        return _by_expression(body, self.rule)


def is_usable(value: str) -> bool:
    """Whether a value may be put into a request."""
    return 0 < len(value) <= LONGEST_VALUE and value.isprintable()


def _steps(path: str) -> list[str | int]:
    """A path such as ``$.user.tokens[0]`` as keys and indices."""
    steps: list[str | int] = []
    at = 1
    while path.startswith("$") and at < len(path):
        found = _STEP.match(path, at)
        if not found:
            break
        steps.append(int(found[2]) if found[2] else found[1] or found[3] or found[4])
        at = found.end()
    if not steps or at < len(path):
        raise ValueError(f"{path!r}: expected a path such as $.token or $.items[0].id")
    return steps


def _in_json(body: bytes, path: str) -> str | None:
    try:
        # numbers stay as they are written: a long one costs no time and loses no digit
        data: Any = json.loads(body, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    for step in _steps(path):
        if isinstance(step, str) and isinstance(data, dict):
            data = data.get(step)
        elif isinstance(step, int) and isinstance(data, list) and step < len(data):
            data = data[step]
        else:
            return None
    if isinstance(data, bool):
        return str(data).lower()
    return data if isinstance(data, str) else None


def beginning(expression: str) -> str:
    """The literal text with which all that an expression matches begins; empty where that is not known."""
    if "|" in expression:
        return ""
    end = next((at for at, sign in enumerate(expression) if sign in _META), len(expression))
    if end < len(expression) and expression[end] in _REPEATS:
        end -= 1
    return expression[: max(0, end)]


def _by_expression(body: bytes, expression: str) -> str | None:
    import polars as pl

    at = body.find(beginning(expression).encode())
    if at < 0:  # most answers: the engine of expressions takes a fifth of a millisecond for each
        return None
    text = pl.Series([body[at:].decode("utf-8", "replace")])
    groups: dict[str, str | None] = text.str.extract_groups(expression)[0] if "(" in expression else {}
    found: Iterable[str | None] = groups.values() or text.str.extract(expression, 0)
    return next((value for value in found if value is not None), None)
