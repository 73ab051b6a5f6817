"""Lines of JSON are read with the repairs that real logs need; numbers stay as they were written."""

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.parsers.conversion.parse import parse
from logreplay.parsers.conversion.source import text_lines
from logreplay.parsers.formats.format import Format
from logreplay.parsers.formats.json_writers import JSON_FORMATS
from logreplay.parsers.formats.named_values import as_text, json_from_sample, load
from support.format_samples import SAMPLES

TEXTS = st.text(st.characters(min_codepoint=0, max_codepoint=255))
CADDY = JSON_FORMATS[0]
NGINX = '{"time":"2026-11-20T18:58:56+01:00","request":"GET /a HTTP/1.1","status":200,"request_time":0.061}'


@given(st.dictionaries(st.text(), st.text() | st.none() | st.booleans() | st.lists(st.text())))
def test_what_is_json_is_read_as_it_is(record: dict[str, Any]) -> None:
    assert load(json.dumps(record)) == record
    assert load(f"  {json.dumps(record, ensure_ascii=False)}\r") == record


@given(TEXTS | TEXTS.map(lambda text: "{" + text + "}"))
def test_any_other_line_is_none_or_an_object_and_nothing_is_raised(line: str) -> None:
    assert load(line) is None or isinstance(load(line), dict)


@pytest.mark.parametrize("number", ["1", "1.50", "1e300", "-0", "9" * 5000, "0.0610"])
def test_numbers_stay_text(number: str) -> None:
    assert load(f'{{"a":{number}}}') == {"a": number}


@pytest.mark.parametrize(
    ("broken", "value"),
    [
        (r'"a\x22b"', 'a"b'),
        (r'"\\x22"', r"\x22"),
        (r'"a\qb"', r"a\qb"),
        ("", None),
        ("-", None),
        ("0.001, 0.040", "0.001, 0.040"),
        ("0.001 : -, 2", "0.001 : -, 2"),
        ('"\t\x01"', "\t\x01"),
    ],
)
def test_what_nginx_writes_instead_of_json_is_repaired(broken: str, value: str | None) -> None:
    assert load(f'{{"before":1,"a":{broken},"b":"c"}}') == {"before": "1", "a": value, "b": "c"}
    assert load(f'{{"a":{broken}}}') == {"a": value}


@given(TEXTS)
def test_a_repair_of_one_value_leaves_the_texts_of_the_others(text: str) -> None:
    written = json.dumps(text, ensure_ascii=False)
    assert load(f'{{"a":{written},"b":,"c":{written}}}') == {"a": text, "b": None, "c": text}


@pytest.mark.parametrize("text", [":,", "a: -}", "x:1, 2,", ": 0.1 : -,"])
def test_what_looks_like_a_gap_inside_a_text_is_none(text: str) -> None:
    assert load(f'{{"a":"{text}","b":}}') == {"a": text, "b": None}


@pytest.mark.parametrize(
    ("before", "repeated", "after"),
    [
        ('{"a":"b:', " ", 'x","c":}'),
        ('{"a":', " ", "x}"),
        ('{"a":-', " ", "x}"),
        ('{"a":1', " : 1", "x}"),
        ('{"', r"\"", "}"),
        ('{"a":', "\\", "}"),
        ('{"a":', "[{", "}"),
    ],
)
def test_what_is_repeated_in_a_line_is_read_in_one_go(before: str, repeated: str, after: str) -> None:
    """To try each of the places where a value may begin or end would take minutes."""
    load(before + repeated * 300_000 + after)


@pytest.mark.parametrize("line", ["", "[]", "1", '"a"', '{"a":1', '{"a" 1}', "{1:2}", '{"a":' + "[" * 100_000 + "}"])
def test_what_is_no_object_is_none(line: str) -> None:
    assert load(line) is None


@pytest.mark.parametrize(
    ("value", "text"), [("a", "a"), ("", ""), (None, None), (True, "true"), (["a"], '["a"]'), ("\ud800x", "\ufffdx")]
)
def test_a_value_is_the_text_that_a_log_would_have(value: object, text: str | None) -> None:
    assert as_text(value) == text


@given(st.text(st.characters()))
def test_every_text_can_be_written_out(value: str) -> None:
    text = as_text(value)
    assert text is not None
    text.encode()


@settings(max_examples=60)
@given(st.lists(TEXTS | st.sampled_from([*SAMPLES["caddy"], "{}", "[]", '{"ts":[', '{"request":1}', '{"request":{}}'])))
def test_there_are_as_many_rows_as_lines_and_garbage_is_null(texts: list[str]) -> None:
    texts = [text.replace("\n", "") for text in texts]
    layout, lines = CADDY.layout, pl.Series(texts, dtype=pl.String)
    for answer in (layout.split(lines), layout.split_carefully(lines, 0)):
        assert answer.height == len(texts)
        urls = zip(texts, answer["url"], strict=True)
        assert all(url is None for text, url in urls if not text.strip().startswith("{"))


def test_a_line_that_is_no_json_leaves_the_others_of_its_block_as_they_are() -> None:
    good = SAMPLES["caddy"][0]
    parsed = parse(pl.Series([good, "{nonsense}", good]), [CADDY])
    assert parsed.rows["url"].to_list() == ["/a?b=c", "/a?b=c"]
    assert [(refusal.line, refusal.reason) for refusal in parsed.refusals] == [(1, "layout")]


@pytest.mark.parametrize(
    ("written", "client"),
    [("käse", "käse"), ("Łódź:80", "Łódź"), (r"a\\b", r"a\b"), (r"\u0001", r"\x01"), ("\x7f", r"\x7F")],
)
def test_a_client_beyond_printable_ascii_is_decoded_as_every_other_text(written: str, client: str) -> None:
    record = '{"time":"2026-11-20T18:58:56Z","request":"GET /a HTTP/1.1","status":200,"client":"%s","ua":"%s"}'
    format = json_from_sample([record])
    assert format is not None
    clean, both = record % (written, "curl"), record % (written, written)
    rows = parse(text_lines(f"{clean}\n{both}\n".encode()), [format]).rows
    assert rows["client"].to_list() == [client, client]


def test_the_format_is_found_by_the_names_of_the_values() -> None:
    format = json_from_sample([NGINX, "garbage"])
    assert format is not None
    assert (format.name, format.server, format.stamp.at, format.total_unit) == ("json", "nginx", "end", 1.0)
    assert format.layout.fields == {"time", "request", "rc", "total"}


def test_messages_of_another_kind_do_not_hide_the_requests() -> None:
    messages = ['{"level":"info","request":"reload","url":"file:/x","method":"POST"}'] * 9
    format = json_from_sample([*messages, '{"status":200,"path":"/a","verb":"GET"}'])
    assert format is not None
    assert format.layout.fields == {"rc", "url", "op"}


def rows(format: Format, *lines: str) -> pl.DataFrame:
    return parse(pl.Series(lines), [format]).rows


def test_a_query_is_not_appended_to_an_address_that_has_it() -> None:
    line = '{"status":200,"method":"GET","request_uri":"/a?b=c","args":"b=c","ua":"%s"}'
    format = json_from_sample([line % "x"])
    assert format is not None
    assert rows(format, line % "x", line % "ä")["url"].to_list() == ["/a?b=c"] * 2


AWS = (
    '{"requestId":"5f2a","ip":"10.0.0.7","requestTime":"20/Nov/2026:17:58:56 +0000","httpMethod":"GET","status":"200",'
    '"protocol":"HTTP/1.1","responseLength":"1212","responseLatency":"41","resourcePath":"/a/{id}"%s}'
)


def test_logs_of_aws_api_gateway_are_read() -> None:
    format = json_from_sample([AWS % ',"path":"/a/7"'])
    assert format is not None
    row = rows(format, AWS % ',"path":"/a/7"').row(0, named=True)
    assert (row["url"], row["op"], row["rc"], row["bytes"]) == ("/a/7", "GET", 200, 1212)
    assert (row["us"], row["back"], row["latency"]) == (1_795_197_536_000_000, 0, pytest.approx(0.041))
    assert (format.named, format.note) == (frozenset({"total"}), "")


def test_patterns_of_paths_are_read_with_a_note() -> None:
    format = json_from_sample([AWS % ""])
    assert format is not None
    assert "$context.path" in format.note
    assert rows(format, AWS % "")["url"].to_list() == ["/a/{id}"]


@pytest.mark.parametrize("lines", [[], ["garbage"], ["{}"], ['{"status":200}'], ['{"request":{"a":1}}'], ["[1]"]])
def test_without_a_request_there_is_no_format(lines: list[str]) -> None:
    assert json_from_sample(lines) is None
