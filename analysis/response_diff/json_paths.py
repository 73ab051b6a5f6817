"""Differences of two JSON documents by path; positions in lists are not told apart.

A walk of its own: deepdiff needs milliseconds for a document of a kilobyte, and fails on deep ones.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from logreplay.analysis.response_diff.difference import Difference, common_class, shortened, skeleton
from logreplay.analysis.response_diff.pairing import pair
from logreplay.analysis.response_diff.rules import LIST, Path, Rules, path_text

DEEPEST: Final = 100
"""Levels that are compared; a deeper document is compared as text."""
_DECODER: Final = json.JSONDecoder(parse_constant=str)
_TYPES: Final = {
    dict: "object", list: "list", str: "string", bool: "boolean", int: "number", float: "number", type(None): "null",
}  # fmt: skip


class TooDeep(Exception):
    """A document with more than `DEEPEST` levels."""


def differences(before: Any, after: Any, rules: Rules) -> Iterator[Difference]:
    """Yield the differences of two documents, as `read` returns them.

    Raises:
        TooDeep: they cannot be compared.
    """
    return _Walk(rules).values(before, after, ())


class _Walk:
    """Walks two documents at once."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._keys: dict[int, int] = {}
        """Keys of objects and lists, by identity: the documents live as long as the walk."""

    def values(self, before: Any, after: Any, path: Path) -> Iterator[Difference]:
        if len(path) > DEEPEST:
            raise TooDeep
        kind, other = _TYPES[type(before)], _TYPES[type(after)]
        if kind != other:
            yield self._difference(path, "type", before, after)
        elif kind == "object":
            yield from self._objects(before, after, path)
        elif kind == "list":
            yield from self._lists(before, after, path)
        elif before != after:
            yield self._difference(path, "changed", before, after, common_class(before, after))

    def _objects(self, before: dict[str, Any], after: dict[str, Any], path: Path) -> Iterator[Difference]:
        for name, value in before.items():
            step = (*path, "." + name)
            if name in after:
                yield from self.values(value, after[name], step)
            else:
                yield self._difference(step, "removed", value, None)
        for name, value in after.items():
            if name not in before:
                yield self._difference((*path, "." + name), "added", None, value)

    def _lists(self, before: list[Any], after: list[Any], path: Path) -> Iterator[Difference]:
        step = (*path, LIST)
        paired = pair([self._key(one, step) for one in before], [self._key(one, step) for one in after])
        if paired.moved:
            yield self._difference(path, "order", before, after)
        for old, new in (*paired.same, *paired.changed):
            yield from self.values(before[old], after[new], step)
        for old in paired.removed:
            yield self._difference(step, "removed", before[old], None)
        for new in paired.added:
            yield self._difference(step, "added", None, after[new])

    def _key(self, value: Any, path: Path) -> int:
        """The key of an element of a list: its content without UUIDs, time stamps, tokens and ignored members."""
        if not isinstance(value, dict | list):
            return hash((_TYPES[type(value)], skeleton(value) if isinstance(value, str) else value))
        if (known := self._keys.get(id(value))) is not None:
            return known
        if len(path) > DEEPEST:
            raise TooDeep
        if isinstance(value, dict):
            steps = ((name, (*path, "." + name)) for name in sorted(value))
            parts = [(name, self._key(value[name], step)) for name, step in steps if not self._rules.path(step)]
            key = hash(("object", *parts))
        else:
            key = hash(("list", *(self._key(one, (*path, LIST)) for one in value)))
        self._keys[id(value)] = key
        return key

    def _difference(self, path: Path, kind: str, before: Any, after: Any, alike: str = "") -> Difference:
        texts = ("" if kind == "added" else _text(before), "" if kind == "removed" else _text(after))
        return Difference(path_text(path), kind, *texts, alike, self._rules.path(path, order=kind == "order"))


def _text(value: Any) -> str:
    try:
        return shortened(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        raise TooDeep from None


def read(text: str) -> Any:
    """Read a document.

    Raises:
        ValueError: it is not JSON, or too deep.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("too deep") from None
