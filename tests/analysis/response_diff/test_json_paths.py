"""Differences of two JSON documents."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.response_diff.json_paths import TooDeep, differences, read
from logreplay.analysis.response_diff.rules import Rules

BASE = {
    "id": 7,
    "user": {"name": "Ann", "tags": ["a", "b", "c"]},
    "items": [{"sku": "x", "price": 1.5}, {"sku": "y", "price": 2.5}],
}


def found(before: Any, after: Any, *ignore: str) -> list[tuple[str, str]]:
    return [(each.place, each.kind) for each in differences(before, after, Rules.of(ignore)) if not each.ignored]


def changed(**values: Any) -> dict[str, Any]:
    return {**json.loads(json.dumps(BASE)), **values}


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (changed(id=8), ("$.id", "changed")),
        (changed(id="7"), ("$.id", "type")),
        (changed(id=None), ("$.id", "type")),
        (changed(new=1), ("$.new", "added")),
        ({key: value for key, value in BASE.items() if key != "id"}, ("$.id", "removed")),
        (changed(user={"name": "Ann", "tags": ["c", "a", "b"]}), ("$.user.tags", "order")),
        (changed(user={"name": "Ann", "tags": ["a", "b"]}), ("$.user.tags[*]", "removed")),
        (changed(user={"name": "Ann", "tags": ["z", "a", "b", "c"]}), ("$.user.tags[*]", "added")),
        (changed(items=[BASE["items"][0], {"sku": "y", "price": 3}]), ("$.items[*].price", "changed")),  # type: ignore[index]
        (changed(items=BASE["items"][::-1]), ("$.items", "order")),  # type: ignore[index]
    ],
)
def test_a_difference_is_named_by_its_path(after: Any, expected: tuple[str, str]) -> None:
    assert found(BASE, after) == [expected]


def test_the_order_is_seen_although_each_element_has_a_new_uuid() -> None:
    def listed(names: str, first: int) -> list[dict[str, str]]:
        return [
            {"name": name, "id": f"{number:08x}-9a0e-4b7e-8d53-0b1f8b1e2c3d"}
            for number, name in enumerate(names, first)
        ]

    each = differences(listed("abc", 1), listed("cab", 9), Rules.of([]))
    assert {(one.place, one.kind, one.alike) for one in each} == {("$", "order", ""), ("$[*].id", "changed", "uuid")}


def test_what_is_ignored_is_reported_with_the_word_that_means_it() -> None:
    after = changed(id=8, items=BASE["items"][::-1])  # type: ignore[index]
    words = {each.ignored for each in differences(BASE, after, Rules.of(["$.id", "order:$..*"]))}
    assert words == {"$.id", "order:$..*"}


def test_an_ignored_member_does_not_hide_the_order() -> None:
    def listed(names: str, start: int) -> list[dict[str, Any]]:
        return [{"name": name, "hit": number} for number, name in enumerate(names, start)]

    assert found(listed("abc", 1), listed("cab", 90), "$[*].hit") == [("$", "order")]


def test_an_ignored_order_leaves_the_elements_compared() -> None:
    after = changed(items=[{"sku": "y", "price": 2.5}, {"sku": "x", "price": 9}])
    assert found(BASE, after, "order:$.items") == [("$.items[*].price", "changed")]


def test_true_is_not_one() -> None:
    assert found([1], [True]) == [("$[*]", "type")]
    assert not found([1], [1.0])


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(values, values)
def test_documents_without_a_difference_are_equal(before: Any, after: Any) -> None:
    assert not found(before, before)
    assert bool(found(before, after)) == bool(found(after, before))
    if not found(before, after):
        assert before == after


@pytest.mark.parametrize("text", ["[" * 500 + "]" * 500, '{"a":' * 500 + "1" + "}" * 500])
def test_a_deep_document_is_refused(text: str) -> None:
    other = text.replace("]", "1]", 1).replace("1}", "2}")
    with pytest.raises(TooDeep):
        found(read(text), read(other))


def test_a_document_deeper_than_the_parser_goes_is_not_json() -> None:
    with pytest.raises(ValueError, match="too deep"):
        read("[" * 200_000)


def test_large_nested_lists_are_compared_in_linear_time() -> None:
    def seconds(size: int) -> float:
        wide: Any = [*range(size)]
        other: Any = [*range(1, size + 1)]
        for _ in range(90):
            wide, other = [wide], [other]
        began = time.process_time()
        found(wide, other)
        return time.process_time() - began

    assert seconds(50_000) < 40 * max(seconds(5_000), 1e-2)


def test_numbers_that_are_not_numbers_are_equal_to_themselves() -> None:
    assert not found(read("[NaN, Infinity]"), read("[NaN, Infinity]"))
