"""Differences of two answers."""

import json
import zlib
from typing import Any

import pytest

from logreplay.analysis.response_diff.diff import AnswerOf, differences, pretty
from logreplay.analysis.response_diff.json_paths import read
from logreplay.analysis.response_diff.rules import Rules

JSON = {"Content-Type": "application/json"}
HTML = {"Content-Type": "text/html; charset=utf-8"}


def answer(
    content: Any = b"", headers: dict[str, str] | None = None, status: int = 200, error: str = "", *, kept: bool = True
) -> AnswerOf:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    pairs = [(name.encode(), value.encode()) for name, value in (JSON if headers is None else headers).items()]
    return AnswerOf(status, pairs, body if kept else None, len(body), zlib.crc32(body), error)


def found(before: AnswerOf, after: AnswerOf, *ignore: str) -> list[tuple[str, str]]:
    return [(each.place, each.kind) for each in differences(before, after, Rules.of(ignore)) if not each.ignored]


def test_equal_answers_have_no_difference() -> None:
    assert not found(answer({"a": 1}), answer({"a": 1}))


@pytest.mark.parametrize(
    ("after", "kind"),
    [
        (answer(b"oops", HTML, 500), "200 → 500"),
        (answer(error="timeout", status=0), "200 → timeout"),
        (answer({"a": 1}, error="short_body"), "200 → short_body"),
    ],
)
def test_of_another_status_nothing_else_is_compared(after: AnswerOf, kind: str) -> None:
    assert found(answer({"a": 1}), after) == [("status", kind)]


def test_where_the_status_is_ignored_headers_and_bodies_are_compared() -> None:
    before = answer({"a": 1, "b": 1})
    assert found(before, answer({"a": 2}, status=500), "status", "$.b") == [("$.a", "changed")]
    assert not found(before, answer({"a": 1, "b": 1}, status=500), "status")
    assert not found(before, answer(error="timeout", status=0), "status")


def test_two_failures_are_equal() -> None:
    assert not found(answer(error="timeout", status=0), answer(error="timeout", status=0))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"X-Cache": "HIT"}, [("header:content-type", "removed"), ("header:x-cache", "added")]),
        ({"content-type": "text/plain"}, [("header:content-type", "changed")]),
        ({**JSON, "Date": "today", "Set-Cookie": "sid=1", "X-B3-TraceId": "7", "Content-Length": "8"}, []),
    ],
)
def test_headers_are_compared_by_name(headers: dict[str, str], expected: list[tuple[str, str]]) -> None:
    assert found(answer({"a": 1}), answer({"a": 1}, headers)) == expected


def test_a_header_is_ignored_by_its_name() -> None:
    assert not found(answer({"a": 1}), answer({"a": 1}, {**JSON, "X-Cache": "HIT"}), "header:x-cache")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (answer({"a": 1}), answer({"a": 2}), ("$.a", "changed")),
        (answer({"a": 1}), answer(b'{ "a":1 }'), ("body", "formatting")),
        (answer({"a": 1}), answer(b"<html>busy</html>"), ("body", "type")),
        (answer({"a": 1}), answer(b""), ("body", "removed")),
        (answer(b""), answer({"a": 1}), ("body", "added")),
        (answer(b"<p>1</p><p>a</p>", HTML), answer(b"<p>1</p><p>b</p>", HTML), ("line:<p>a</p>", "changed")),
        (answer(b"a\nb", {}), answer(b"a\nc", {}), ("line:b", "changed")),
        (answer(b"\x00\x01", {}), answer(b"\x00\x02", {}), ("body", "changed")),
        (answer(b"\x00\x01", {}), answer(b"\x00\x02\x03", {}), ("body", "size")),
        (answer(b"\xff\xfe\xfd", {}), answer(b"\xff\xfe\xfc", {}), ("body", "changed")),
        (answer({"a": 1}, kept=False), answer({"a": 2}), ("body", "changed")),
        (answer(b"[" * 3000, {}), answer(b"[" * 3001, {}), ("line:" + "[" * 100, "changed")),
    ],
)
def test_bodies_are_compared_by_what_they_hold(before: AnswerOf, after: AnswerOf, expected: tuple[str, str]) -> None:
    assert found(before, after)[:1] == [expected]
    assert not found(before, after, "body", "$..*", "$[*]")


def test_deep_documents_are_compared_as_text() -> None:
    deep = b"[" * 200 + b"1" + b"]" * 200
    assert found(answer(deep), answer(deep.replace(b"1", b"2")))[0][0].startswith("line:[[[")


def test_sizes_can_be_ignored() -> None:
    assert not found(answer(b"\x00\x01", {}), answer(b"\x00\x02\x03", {}), "size")


def test_a_text_in_another_charset_is_read() -> None:
    latin = {"Content-Type": "text/plain; charset=iso-8859-1"}
    before, after = (answer(text.encode("latin-1"), latin) for text in ("größer", "größe"))
    assert found(before, after) == [("line:größer", "changed")]


@pytest.mark.parametrize("charset", ["", "nonsense", "utf-8", "utf-16", "idna", "unicode_escape", "zlib_codec", "\x00"])
@pytest.mark.parametrize(
    "body", [b"\xff", b'{"a": "\\ud800"}', b"[1e999]", b"[" + b"9" * 5000 + b"]", b"{", b"\xef\xbb\xbf{}"]
)
def test_hostile_bodies_are_compared(charset: str, body: bytes) -> None:
    headers = {"Content-Type": f"application/json; charset={charset}"}
    assert found(answer(body, headers), answer(body + b" 1", headers))
    pretty(answer(body, headers))


@pytest.mark.parametrize(
    ("charset", "body"),
    [
        ("utf-8", b'{"\\ud83d": %d}'),
        ("unicode_escape", b"\\ud83d %d"),
        ("UTF_7", b"+2D0- %d"),
    ],
)
def test_the_place_of_half_a_surrogate_pair_is_one_that_a_file_can_hold(charset: str, body: bytes) -> None:
    headers = {"Content-Type": f"text/plain; charset={charset}"}
    [(place, _)] = found(answer(body % 1, headers), answer(body % 2, headers))
    assert place.encode()


def readable(depth: int) -> bool:
    try:
        read("[" * depth + "]" * depth)
    except ValueError:
        return False
    return True


def test_documents_as_deep_as_the_parser_goes_are_compared_and_shown() -> None:
    depth = next(depth for depth in range(1000, 0, -1) if readable(depth))
    assert pretty(answer(b"[" * (depth - 9) + b"]" * (depth - 9))).startswith("[")
    for less in range(15):  # calls around the parser take some levels
        deep = b"[" * (depth - less) + b"]" * (depth - less)
        assert found(answer({"b": 1}), answer(b'{"a": ' + deep + b"}"))


def test_json_is_shown_in_lines() -> None:
    assert pretty(answer({"a": [1]})) == '{\n  "a": [\n    1\n  ]\n}'
    assert pretty(answer(b"\x00\x01")).startswith("(2 bytes, hash ")
    assert pretty(answer()) == "(no body)"
