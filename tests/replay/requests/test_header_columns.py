"""The columns that hold headers: each name is found again, and what must stand once comes once."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.replay.requests.header_columns import (
    RESERVED,
    TOKEN,
    check_header,
    header_column,
    header_name,
    headers,
    is_sent,
)

NAMES = st.from_regex(TOKEN, fullmatch=True)


@given(st.lists(NAMES, max_size=8))
def test_each_header_has_a_column_of_its_own_that_tells_its_name(names: list[str]) -> None:
    columns: list[str] = []
    for name in names:
        columns.append(header_column(name, columns))
    assert len(set(columns)) == len(names)
    assert [header_name(column) for column in columns] == names
    assert all(map(is_sent, columns))


def test_other_columns_are_no_headers() -> None:
    assert [header_name(column) for column in ("payload", "url", "Header:X", "")] == [None] * 4
    assert [is_sent(column) for column in ("payload", "url", "header:X")] == [True, False, True]


def values(frame: pl.DataFrame) -> list[tuple[str, list[str | None]]]:
    names, found = headers(frame.columns)
    return list(zip(names, (column.to_list() for column in frame.select(found).get_columns()), strict=True))


def test_of_a_header_that_stands_once_the_last_column_with_a_value_counts() -> None:
    frame = pl.DataFrame(
        {
            "header:Host": ["a", "b", None],
            "url": "/",
            "header:HOST": ["c", None, None],
            "header:host:2": [None, None, "d"],
        }
    )
    assert values(frame) == [("Host", ["c", "b", "d"])]


def test_other_headers_come_as_often_as_they_have_columns() -> None:
    frame = pl.DataFrame({"header:Accept": ["a"], "header:Accept:2": ["b"], "header:accept": ["c"]})
    assert values(frame) == [("Accept", ["a"]), ("Accept", ["b"]), ("accept", ["c"])]


def test_no_header_column_is_no_header() -> None:
    assert headers(["url", "op"]) == ([], [])


@given(st.text(max_size=8), st.text(max_size=8))
def test_what_is_accepted_is_a_token_and_one_line(name: str, value: str) -> None:
    try:
        check_header(name, value)
    except ValueError:
        return
    assert name.isascii()
    assert name.isprintable()
    assert not set(name) & set(' :()<>@,;\\"/[]?={}')
    assert len(f"-{value}-".encode().splitlines()) == 1


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_what_ends_a_message_is_the_senders_alone_in_any_case(name: str) -> None:
    for written in (name, name.upper(), name.title()):
        with pytest.raises(ValueError, match="is written by the sender; it cannot be set"):
            check_header(written, "1")


def test_a_secret_with_a_control_byte_is_not_told() -> None:
    with pytest.raises(ValueError, match=r"the value of header 'Cookie' holds a control byte") as told:
        check_header("Cookie", "hunter2\n")
    assert "hunter2" not in str(told.value)
