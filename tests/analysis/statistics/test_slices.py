"""Slices cover an array once, in order, none longer than fits in the cache."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.statistics.slices import SLICE, slices


@given(st.integers(0, 10 * SLICE))
def test_slices_cover_each_entry_once_and_in_order(count: int) -> None:
    parts = list(slices(count))
    assert [part.start for part in parts] == [0, *(part.stop for part in parts)][: len(parts)]
    assert sum(part.stop - part.start for part in parts) == count
    assert all(0 < part.stop - part.start <= SLICE for part in parts)


@pytest.mark.parametrize(("count", "parts"), [(0, 0), (1, 1), (SLICE, 1), (SLICE + 1, 2)])
def test_there_are_no_more_slices_than_are_needed(count: int, parts: int) -> None:
    assert len(list(slices(count))) == parts
