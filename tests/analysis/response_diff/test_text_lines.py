"""Differences of two texts."""

import pytest

from logreplay.analysis.response_diff.diff import line_differences, place_of
from logreplay.analysis.response_diff.rules import Rules

PAGE = "<html><head><title>Shop</title></head><body><h1>42 offers</h1><p>Good</p></body></html>"


def found(before: str, after: str, *ignore: str, html: bool = False) -> list[tuple[str, str, str]]:
    each = line_differences(before, after, Rules.of(ignore), html=html)
    return [(one.place, one.kind, one.alike) for one in each if not one.ignored]


def test_a_changed_line_is_named_without_its_numbers() -> None:
    assert found("a\nTotal: 12 EUR\nb", "a\nTotal: 13 EUR\nb") == [("line:Total: # EUR", "changed", "")]


def test_a_page_in_one_line_is_cut_at_its_tags() -> None:
    after = PAGE.replace("Good", "Bad")
    assert found(PAGE, after, html=True) == [("line:<p>Good</p>", "changed", "")]


@pytest.mark.parametrize(
    ("after", "kind"), [("a\nb\nc\nd", "added"), ("a\nc", "removed"), ("c\nb\na", "order"), ("a\nb\nX", "changed")]
)
def test_lines_are_added_removed_moved_or_changed(after: str, kind: str) -> None:
    assert [one for _, one, _ in found("a\nb\nc", after)] == [kind]


def test_a_line_with_another_token_is_alike() -> None:
    before = '<input value="9f86d081884c7d659a2feaa0c55ad015">'
    after = '<input value="60303ae22b998861bce3b28f33eec1be">'
    assert found(before, after) == [('line:<input value="<token>">', "changed", "token")]


def test_lines_are_ignored_by_a_part_of_them() -> None:
    assert not found("a\nbuilt by 7", "a\nbuilt by 8", "line:built by")


def test_blanks_at_the_ends_of_lines_do_not_count() -> None:
    assert not found("a \r\n b", "a\n\nb\n")


def test_a_place_is_short() -> None:
    assert len(place_of("x" * 10_000)) < 120
