"""Labels say what the values between tabs are, in any order."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.parsers.conversion.parse import parse
from logreplay.parsers.formats.named_values import ltsv_from_sample, pairs

LINE = "time:2026-11-20T18:58:56+01:00\treq:GET /a HTTP/1.1\tstatus:200\tsize:17\treqtime:0.061\tua:x"
LABELS = st.text(st.characters(min_codepoint=1, max_codepoint=255, exclude_characters="\t:\n"))
VALUES = st.text(st.characters(min_codepoint=0, max_codepoint=255, exclude_characters="\t\n"))


@given(st.dictionaries(LABELS, VALUES))
def test_labels_and_values_come_apart_at_the_first_colon(record: dict[str, str]) -> None:
    assert pairs("\t".join(f"{label}:{value}" for label, value in record.items())) == record


def test_of_a_label_that_comes_twice_the_first_counts_and_what_has_no_label_is_skipped() -> None:
    assert pairs("a:1\tnonsense\ta:2\t\tb:") == {"a": "1", "b": ""}
    assert pairs("") == {}


@pytest.mark.parametrize(
    "lines", [[], [""], ["a b c"], ["\t\t"], ["req:GET /a\tstatus:200"], ["a:1\tb:2\tc:3"], ["a:1\tstatus:2\ttime:3"]]
)
def test_lines_without_three_labels_or_without_a_request_have_no_format(lines: list[str]) -> None:
    assert ltsv_from_sample(lines) is None


def test_the_format_is_found_by_the_labels() -> None:
    format = ltsv_from_sample([LINE, "garbage"])
    assert format is not None
    assert (format.name, format.server, format.stamp.at) == ("ltsv", "nginx", "end")
    assert format.layout.fields == {"time", "request", "rc", "bytes", "total", "agent"}


@given(st.permutations(LINE.split("\t")), st.permutations(LINE.split("\t")))
@settings(max_examples=40)
def test_the_order_of_the_labels_does_not_matter(usual: list[str], other: list[str]) -> None:
    format = ltsv_from_sample(["\t".join(usual)] * 2)
    assert format is not None
    rows = parse(pl.Series(["\t".join(usual), "\t".join(other)]), [format]).rows.drop("line")
    assert rows.height == 2
    assert rows.row(0) == rows.row(1)


@pytest.mark.parametrize("label", ["a(b", "[x", "a.b*", "\\d", "{3}", "", " ", "é", "$^|"])
def test_labels_are_not_patterns(label: str) -> None:
    lines = [f"{LINE}\t{label}:x"] * 2
    format = ltsv_from_sample(lines)
    assert format is not None
    assert format.layout.split(pl.Series(lines))["url"].to_list() == ["/a", "/a"]


@settings(max_examples=60)
@given(st.lists(VALUES | st.sampled_from([LINE, "req:GET /b", "\treq:x\t", "uri:/a\tstatus:1\ta:b", "req:\tb:\tc:"])))
def test_there_are_as_many_rows_as_lines_and_lines_without_a_request_are_null(texts: list[str]) -> None:
    format = ltsv_from_sample([LINE])
    assert format is not None
    lines = pl.Series(texts, dtype=pl.String)
    assert format.layout.split(lines).height == len(texts)
    careful = format.layout.split_carefully(lines, 0)
    assert careful.height == len(texts)
    for text, request, status in zip(texts, careful["request"], careful["rc"], strict=True):
        assert (request is None) == ("req" not in pairs(text))
        assert (status is None) == (request is None)
