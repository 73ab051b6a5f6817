"""Values are taken from answers by header, JSON path and regular expression; hostile answers cost little."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.replay.sessions.extraction import MOST_BODY, Extraction, beginning, is_usable


def found(rule: str, body: bytes = b"", *headers: tuple[bytes, bytes]) -> str | None:
    return Extraction.parse(f"n={rule}").find(headers, body)


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("header:X-Token", "abc"),
        ("header:x-token", "abc"),
        ("header:other", None),
    ],
)
def test_by_header(rule: str, value: str | None) -> None:
    assert found(rule, b"", (b"Date", b"now"), (b"x-TOKEN", b"abc"), (b"X-Token", b"second")) == value


DATA = {"a": {"b c": [{"id": 17}, {"id": "x"}], "ok": True, "none": None}, "n": 1, "big": 12345678901234567890.5}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$.a['b c'][0].id", "17"),
        ('$.a["b c"][1].id', "x"),
        ("$.a.ok", "true"),
        ("$.a.none", None),
        ("$.a", None),
        ("$.a['b c'][2].id", None),
        ("$.n.m", None),
        ("$.n[0]", None),
    ],
)
def test_by_json_path(path: str, value: str | None) -> None:
    assert found(f"json:{path}", json.dumps(DATA).encode()) == value


def test_a_number_is_taken_as_it_is_written() -> None:
    assert found("json:$.n", b'{"n": 1.50e3}') == "1.50e3"
    assert found("json:$.n", b'{"n": ' + b"9" * 5000 + b"}") == "9" * 5000


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('name="csrf" value="([^"]+)"', "t0k"),
        (r"t\dk", "t0k"),
        ("(?i)NAME=.(CSRF)", "csrf"),
        ("(x)?t0k", None),
        ('value="(?:([0-9]+)|([a-z0-9]+))"', "t0k"),
        ('value="(?:(?P<number>[0-9]+)|(?P<word>[a-z0-9]+))"', "t0k"),
        ("(?:t0k)", "t0k"),
        ("nothing|t0k", "t0k"),
        ("names?=", "name="),
        ("nothing", None),
    ],
)
def test_by_regular_expression(expression: str, value: str | None) -> None:
    assert found(f"regex:{expression}", b'\xff\xfe<input name="csrf" value="t0k">') == value


@pytest.mark.parametrize(
    ("expression", "literal"),
    [
        ("abc(d)", "abc"),
        ("abc*", "ab"),
        ("ab?", "a"),
        ("ab+", "ab"),
        ("a{2}", ""),
        ("a|b", ""),
        ("(a)", ""),
        ("abc", "abc"),
    ],
)
def test_what_a_match_begins_with_is_searched_first(expression: str, literal: str) -> None:
    assert beginning(expression) == literal


@pytest.mark.parametrize(
    "text",
    ["", "n", "n=", "n=header:", "n=other:x", "=header:x", "n n=header:x", "n=header:a b", "n=json:token", "n=json:$",
     "n=json:$.a[", "n=regex:(", "n=regex:(?<!a)b", "n=regex:" + "x" * 1001],
)  # fmt: skip
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        Extraction.parse(text)


@pytest.mark.parametrize(
    "value", ["", "a\nb", "a\r\nX: y", "\x00", "x" * 4097, "\ud800", "a\x7f", "a\x85b", "a\u2028b"]
)
def test_a_value_that_could_break_a_request_is_not_usable(value: str) -> None:
    assert not is_usable(value)


def test_usual_values_are_usable() -> None:
    assert all(map(is_usable, ("a", "eyJ.x-_~+/=", "é", "x" * 4096, "a b")))


@pytest.mark.parametrize(
    ("rule", "body"),
    [
        ("regex:(a+)+b", b"a" * MOST_BODY),
        (r"regex:(\w+\s?)*!", b"word " * (MOST_BODY // 5)),
        ("regex:(.*)(.*)(.*)=$", b"=" * MOST_BODY),
        ("json:$.a", b"[" * MOST_BODY),
        ("json:$.a", b'{"a":' * (MOST_BODY // 5)),
        ("json:$.a", b'{"a":' + b"9" * (MOST_BODY - 20)),
    ],
)
def test_no_body_takes_time(rule: str, body: bytes) -> None:
    began = time.process_time()
    found(rule, body)
    assert time.process_time() - began < 2


@given(
    st.sampled_from(["header:X", "json:$.a.b[0]", "regex:a=(.*)", "regex:(a)?b", r"regex:\d+"]),
    st.one_of(st.binary(max_size=200), st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    ).map(lambda data: json.dumps(data).encode())),
    st.binary(max_size=40),
)  # fmt: skip
def test_any_answer_gives_text_or_nothing(rule: str, body: bytes, header: bytes) -> None:
    value = found(rule, body, (b"X", header))
    assert value is None or isinstance(value, str)
    if value is not None and is_usable(value):
        assert not {"\r", "\n", "\x00"} & set(value)
        value.encode()
