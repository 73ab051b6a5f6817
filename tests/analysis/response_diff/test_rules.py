"""The words of ``--ignore``."""

import pytest

from logreplay.analysis.response_diff.rules import IGNORED_HEADERS, LIST, Rules, default_ignored, path_text

ITEMS = (".items", LIST, ".price")


@pytest.mark.parametrize(
    ("word", "path"),
    [
        ("$.items", ITEMS),
        ("$.items[*].price", ITEMS),
        ("$..price", ITEMS),
        ("$..items", ITEMS),
        ("$.*[*].price", ITEMS),
        ("$['a b'].c", (".a b", ".c")),
        ('$["a.b"]', (".a.b",)),
        ("$[*].id", (LIST, ".id")),
    ],
)
def test_a_path_means_its_place_and_all_below_it(word: str, path: tuple[str, ...]) -> None:
    assert Rules.of([word]).path(path) == word


@pytest.mark.parametrize(
    "word", ["$.items.price", "$.item", "$.items[*].name", "$..prices", "$.*", "$.items[*].price.x"]
)
def test_a_path_means_no_other_place(word: str) -> None:
    path = (LIST, ".x") if word == "$.*" else ITEMS
    assert not Rules.of([word]).path(path)


def test_the_order_of_a_list_is_ignored_without_what_is_in_it() -> None:
    rules = Rules.of(["order:$.items"])
    assert rules.path((".items",), order=True) == "order:$.items"
    assert not rules.path((".items",))
    assert not rules.path(ITEMS)


def test_the_order_of_every_list_can_be_ignored() -> None:
    assert Rules.of(["order:$..*"]).path((".a", ".b"), order=True)


def test_headers_are_named_with_wildcards_in_any_case() -> None:
    rules = Rules.of(["header:X-Build-*"])
    assert rules.header("x-build-id") == "header:X-Build-*"
    assert not rules.header("x-builder")


def test_lines_are_named_by_a_part_of_them() -> None:
    assert Rules.of(["line:csrf"]).line('<input name="csrf_token">') == "line:csrf"


@pytest.mark.parametrize(
    "word",
    ["", "statuses", "headers:Date", "header:", "header:a b", "line:", "$", "$.items[0]", "$.a b", "order:items", "$.",
     "$..", "x.y", "$.a[", "$[''"],
)  # fmt: skip
def test_a_word_outside_the_vocabulary_is_an_error(word: str) -> None:
    with pytest.raises(ValueError, match=r"expected status, size|not a step|ignores every"):
        Rules.of([word])


@pytest.mark.parametrize("path", [ITEMS, (".a b",), (".it's", LIST), (".a.b",), (".[*]",), ('.say "a"',)])
def test_the_place_in_the_table_is_a_word_that_ignores_it(path: tuple[str, ...]) -> None:
    text = path_text(path)
    assert Rules.of([text]).path(path) == text


def test_a_quoted_asterisk_is_a_name_and_not_every_name() -> None:
    assert path_text((".*",)) == "$['*']"
    assert Rules.of(["$['*']"]).path((".*",))
    assert not Rules.of(["$['*']"]).path((".price",))


def test_clocks_cookies_and_ids_are_ignored_without_being_asked() -> None:
    assert all(map(default_ignored, (*IGNORED_HEADERS, "x-b3-traceid")))
    assert not any(map(default_ignored, ("content-type", "etag", "location", "server")))
