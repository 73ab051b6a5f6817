"""Urls from templates and lists of values."""

import re
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.core.errors import LogreplayError
from logreplay.replay.requests.url_rows import UrlRow
from logreplay.replay.requests.url_templates import BATCH, Numbers, Templates, Texts, Values, values


def urls(templates: list[str], **variables: str) -> list[tuple[str, str | None]]:
    made = Templates(templates, {name: values(text) for name, text in variables.items()})
    rows = pl.concat(made.frames())
    assert rows.height == made.count
    return rows.select("url", "host").rows()


def test_several_templates_are_filled_one_after_the_other_each_with_its_own_variables() -> None:
    assert urls(["http://{host}/", "/item/{n}?n={n}"], host="a,b:81", n="08..10") == [
        ("/", "a"),
        ("/", "b:81"),
        ("/item/08?n=08", None),
        ("/item/09?n=09", None),
        ("/item/10?n=10", None),
    ]


def test_the_last_variable_changes_fastest_wherever_it_stands() -> None:
    assert [url for url, _ in urls(["/{b}/{a}"], a="1,2", b="x,y")] == ["/x/1", "/y/1", "/x/2", "/y/2"]


def test_a_template_without_variables_is_one_request() -> None:
    assert urls(["/a", "http://a.example"]) == [("/a", None), ("/", "a.example")]


def test_a_product_longer_than_a_block_is_whole_and_in_order() -> None:
    count = BATCH + 10
    rows = urls(["/{n}"], n=f"1..{count}")
    assert [rows[0], rows[BATCH], rows[-1]] == [("/1", None), (f"/{BATCH + 1}", None), (f"/{count}", None)]


def test_a_range_takes_no_memory() -> None:
    made = Templates(["/{a}/{b}/{c}"], dict.fromkeys("abc", Numbers(1, 10**17)))
    assert made.count == 10**51
    assert next(made.frames())["url"][1] == "/1/1/2"


def test_ranges_go_down_and_keep_their_zeros() -> None:
    assert [url for url, _ in urls(["/{n}"], n="02..-1")] == ["/02", "/01", "/00", "/-1"]


@pytest.mark.parametrize(
    ("templates", "variables", "said"),
    [
        (["/{a}", "/{b}"], {"a": "1"}, "no values for {b}; give them with --var b=a,b,c"),
        (
            ["/{a}/{user-id}"],
            {"a": "1"},
            "'/{a}/{user-id}': {user-id} is not a variable: names have letters, digits and _",
        ),
        (["/{a}/{"], {"a": "1"}, "{ is not a variable"),
        (["/{{a}}"], {"a": "1"}, "'/{{a}}': { is not a variable"),
        (['/{a}?f={"a":1}'], {"a": "1"}, '{"a":1} is not a variable'),
        (["/{a}", "/x"], {"a": "1", "c": "1"}, "{c} is not in the template '/{a}' and '/x'"),
    ],
)
def test_names_must_agree(templates: list[str], variables: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        urls(templates, **variables)


def test_a_value_with_which_a_template_is_no_url_is_named() -> None:
    with pytest.raises(
        LogreplayError, match=r"TEMPLATE '\{a\}/x': 'ftp:/x' is not a url; write /path or http://host/path"
    ):
        urls(["{a}/x"], a="/y,http://h,ftp:")


@pytest.mark.parametrize("text", ["@no\0file", f"1..{'9' * 19}", f"1..{'9' * 5000}", "@/nowhere/at/all", ",", ""])
def test_what_holds_no_values_is_an_error(text: str) -> None:
    with pytest.raises((ValueError, LogreplayError)):
        values(text)


def test_a_range_in_a_list_is_refused_and_may_stand_in_a_file(tmp_path: Path) -> None:
    said = "'1..2,4..5': the range 1..2 stands in a list; write 1..9 alone or each value; if it is a value, write"
    with pytest.raises(
        ValueError, match=f"^{re.escape(said)} the values in a file, one a line, and name it with @file$"
    ):
        values("1..2,4..5")
    (tmp_path / "values.txt").write_text("1..2\nx\n")
    assert urls(["/{v}"], v=f"@{tmp_path / 'values.txt'}") == [("/1..2", None), ("/x", None)]


def test_a_file_of_values_is_utf_8_with_or_without_a_mark(tmp_path: Path) -> None:
    (tmp_path / "marked.txt").write_bytes(b"\xef\xbb\xbfone\r\ncaf\xc3\xa9\xe2\x80\xa8x\n")
    assert urls(["/{n}"], n=f"@{tmp_path / 'marked.txt'}") == [("/one", None), ("/caf%C3%A9%E2%80%A8x", None)]
    (tmp_path / "latin.txt").write_bytes(b"one\ncaf\xe9\n")
    with pytest.raises(
        ValueError, match=re.escape("latin.txt: line 2: is not UTF-8: b'caf\\xe9'; save the file as UTF-8")
    ):
        values(f"@{tmp_path / 'latin.txt'}")


ODD = st.text("/:?#@[] \"\\%.aZ0\té\U0001f600{}'<|", max_size=6)


@given(
    st.sampled_from(["/{a}x{b}", "http://{a}/{b}", "https://h{a}{b}", "HTTP://{a}{b}#f", "{a}{b}"]),
    st.lists(ODD, min_size=1, max_size=3),
    st.lists(ODD, min_size=1, max_size=3),
)
def test_blocks_of_urls_are_what_each_url_is_by_itself(template: str, some: list[str], others: list[str]) -> None:
    expected: list[UrlRow] | None = []
    try:
        filled = [template.replace("{a}", "\1").replace("{b}", b).replace("\1", a) for a, b in product(some, others)]
        expected = [UrlRow.of(text) for text in filled]
    except ValueError:
        expected = None
    named: dict[str, Values] = {"a": Texts(pl.Series(some)), "b": Texts(pl.Series(others))}
    try:
        rows = pl.concat(Templates([template], named).frames())
    except LogreplayError:
        assert expected is None
    else:
        assert expected is not None
        assert rows.rows() == [(row.url, row.host, row.op, row.body) for row in expected]
