"""A layout answers with one row a line, whatever the line holds."""

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.parsers.formats.format import TextLayout

LAYOUT = TextLayout(
    fast=r"^(?P<op>[A-Z]+) (?P<url>/[!-~]*)$",
    careful=(r"^(?P<op>[A-Z]+) (?P<url>/.*)$", r"^(?P<op>\S*) (?P<url>.*)$"),
    fields=frozenset({"op", "url"}),
)


def test_a_line_that_does_not_fit_is_a_row_of_nulls() -> None:
    lines = pl.Series(["GET /a", "", "garbage", "PUT /"])
    assert LAYOUT.split(lines).rows() == [("GET", "/a"), (None, None), (None, None), ("PUT", "/")]


def test_each_tier_takes_what_the_one_before_takes_and_more() -> None:
    lines = pl.Series(["GET /a", "GET /a b", "get a b"])
    fits = [LAYOUT.split(lines)["op"].is_not_null().sum()]
    fits += [LAYOUT.split_carefully(lines, tier)["op"].is_not_null().sum() for tier in range(LAYOUT.tiers)]
    assert fits == [1, 2, 3]


@settings(max_examples=50)
@given(st.lists(st.text(st.characters(min_codepoint=0, max_codepoint=255))))
def test_there_are_as_many_rows_as_lines(texts: list[str]) -> None:
    lines = pl.Series(texts, dtype=pl.String)
    answers = [LAYOUT.split(lines), *(LAYOUT.split_carefully(lines, tier) for tier in range(LAYOUT.tiers))]
    for answer in answers:
        assert answer.height == len(texts)
        assert set(answer.columns) == LAYOUT.fields


def test_a_line_made_to_be_tried_in_all_ways_is_refused_all_the_same() -> None:
    """Nested repetition that would take a backtracking matcher longer than the universe is old."""
    nested = TextLayout(r"^(?P<url>(?:a+)+)$", (), frozenset({"url"}))
    assert nested.split(pl.Series(["a" * 100_000 + "!"])).rows() == [(None,)]
