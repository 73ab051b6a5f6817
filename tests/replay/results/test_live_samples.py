"""Recent requests: each row is kept in mind and handed on, until all are forgotten."""

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.core.record import RESPONSE_PARTS, RESULT_COLUMNS, SCHEMA
from logreplay.replay.results.live_samples import RecentRequests
from logreplay.replay.results.result_log import MemoryResults


def rows(first: int, ended: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Rows of a result log: a good answer after some parts of a second, but for what each one says of itself."""
    times = dict(zip(RESPONSE_PARTS, (0.5, 0.03125, 0.25, 0.125, 0.0625), strict=True))
    good = {"scheduled": 1.0, "rc": 200, **times}
    values = [{"seq": first + place} | good | one for place, one in enumerate(ended)]
    return pl.DataFrame(values, schema={name: SCHEMA[name] for name in RESULT_COLUMNS})


@given(st.lists(st.integers(0, 5), max_size=6))
def test_every_row_that_was_written_is_kept_once_and_handed_on(sizes: list[int]) -> None:
    results = MemoryResults()
    recent, first = RecentRequests(results), 0
    for size in sizes:
        recent.write(rows(first, [{}] * size))
        first += size
    assert recent.ended.seq.tolist() == list(range(first))
    assert (results.frame.height if first else 0) == first


def test_the_response_time_counts_from_the_scheduled_send_time() -> None:
    recent = RecentRequests(MemoryResults())
    recent.write(rows(7, [{"scheduled": 2.5}]))
    ended = recent.ended
    assert (ended.seq[0], ended.scheduled[0], ended.lag[0], ended.response[0]) == (7, 2.5, 0.5, 0.96875)


@pytest.mark.parametrize(
    ("row", "failed"),
    [
        ({}, False),
        ({"rc": 0, "error": "timeout"}, True),
        ({"error": "short_body"}, True),
        ({"error": ""}, False),
        ({"rc": 503, "expected_rc": 503}, False),
        ({"rc": 503, "expected_rc": 404}, True),
        ({"error": "cancelled"}, False),
        ({"rc": 404, "expected_rc": 404}, False),
        ({"rc": 404, "expected_rc": 200}, True),
        ({"rc": 404}, True),
    ],
)
def test_a_request_failed_if_its_answer_did(row: dict[str, Any], failed: bool) -> None:
    recent = RecentRequests(MemoryResults())
    recent.write(rows(0, [row]))
    assert recent.ended.failed.tolist() == [failed]


def test_what_is_forgotten_stays_in_the_result_log() -> None:
    results = MemoryResults()
    recent = RecentRequests(results)
    recent.write(rows(0, [{}, {}]))
    seen = recent.ended
    recent.forget()
    assert recent.ended.seq.tolist() == []
    recent.write(rows(2, [{}]))
    assert recent.ended.seq.tolist() == [2]
    assert seen.seq.tolist() == [0, 1]
    assert results.frame["seq"].to_list() == [0, 1, 2]
