"""Headers as the text of a column, and back."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.core.headers import (
    LONGEST,
    NAME,
    OF_CONNECTION,
    HeadersTooLong,
    header_pairs,
    header_text,
    header_value,
)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.one_of(st.text(max_size=8), st.sampled_from(["Cookie", "TE"])), st.text(max_size=20))))
def test_a_text_holds_only_headers_of_the_client_without_control_bytes(pairs: list[tuple[str, str]]) -> None:
    text = header_text(pairs)
    kept = [name for name, _ in pairs if NAME.fullmatch(name) and name.lower() not in OF_CONNECTION]
    assert [name for name, _ in header_pairs(text)] == kept
    assert all(sign == "\t" or (sign >= " " and sign != "\x7f") for sign in text or "")
    assert header_text(header_pairs(text)) == text


def test_headers_without_end_are_refused() -> None:
    with pytest.raises(HeadersTooLong):
        header_text([("X", "y" * LONGEST)])


def test_the_value_of_a_header_is_found_in_any_case() -> None:
    text = header_text([("X-Content-Type", "no"), ("content-TYPE", "a: b"), ("Content-Type", "c")])
    frame = pl.DataFrame({"headers": [text, None, "Other: 1"]})
    assert frame.select(header_value("Content-Type")).to_series().to_list() == ["a: b", None, None]
