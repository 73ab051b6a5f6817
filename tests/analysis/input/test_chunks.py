"""The requests of a run come in parts of whole seconds that together are all of them."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.analysis.input import arrays, chunks


def run(scheduled: list[float]) -> arrays.RequestArrays:
    rows = pl.DataFrame({"scheduled": scheduled, "latency": 0.01, "xfertime": 0.0, "rc": 200, "bytes": 1})
    return arrays.read(rows.with_columns(error=pl.lit("")))


@settings(max_examples=40)
@given(st.lists(st.floats(0, 30), min_size=1, max_size=60), st.integers(1, 20), st.integers(1, 20))
def test_each_request_is_in_the_part_of_its_second(scheduled: list[float], part: int, block: int) -> None:
    requests = run(scheduled)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "PART", part)
        patch.setattr(chunks, "_BLOCK", block)
        parts = list(chunks.by_second(requests))
    places = np.concatenate([rows for _, _, rows in parts])
    assert sorted(places.tolist()) == list(range(len(requests)))
    assert all(stop <= first for (_, stop, _), (first, _, _) in pairwise(parts))
    for first, stop, rows in parts:
        seconds = requests.scheduled[rows] // chunks.SECOND
        assert (np.diff(rows) > 0).all()
        assert ((seconds >= first) & (seconds < stop)).all()


def test_a_second_that_has_more_requests_than_a_part_is_not_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "PART", 10)
    parts = list(chunks.by_second(run([0.5] * 50 + [1.5] * 50)))
    assert [(first, stop, len(rows)) for first, stop, rows in parts] == [(0, 1, 50), (1, 2, 50)]


@given(st.lists(st.integers(0, 2)))
def test_a_group_begins_where_the_value_differs_from_the_one_before(values: list[int]) -> None:
    expected = [place == 0 or values[place] != values[place - 1] for place in range(len(values))]
    assert chunks.changes(np.array(values, dtype=np.int64)).tolist() == expected
