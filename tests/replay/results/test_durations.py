import sys
from types import FrameType
from typing import Any

import numpy as np
import polars as pl

from logreplay.replay.results.durations import DURATION_BOUNDS, OTHER, OVERFLOW, Durations
from logreplay.replay.senders.contract import ERROR_CODES, RECORD


def counted(*requests: tuple[str, int, str, float]) -> Durations:
    """Method, status, error and service time in s of requests."""
    records = np.zeros(len(requests), RECORD)
    for place, (_, status, error, seconds) in enumerate(requests):
        records[place]["status"], records[place]["error"] = status, ERROR_CODES[error]
        records[place]["connect"], records[place]["latency"] = round(seconds * 4e8), round(seconds * 6e8)
        records[place]["queued"] = 10**12
    made = Durations()
    made.add(records, pl.Series([method for method, *_ in requests]))
    return made


def test_service_times_are_counted_by_method_and_outcome_and_those_that_were_not_sent_are_not() -> None:
    made = counted(
        ("GET", 200, "", 0.004),
        ("GET", 200, "", 0.3),
        ("GET", 503, "", 20.0),
        ("PROPFIND", 207, "", 0.02),
        ("POST", 0, "timeout", 3.0),
        ("GET", 0, "dropped", 0.0),
        ("GET", 0, "cancelled", 0.0),
    )
    assert made.counts.keys() == {("GET", 200, ""), ("GET", 503, ""), (OTHER, 207, ""), ("POST", 0, "timeout")}
    assert {at for at, count in enumerate(made.counts["GET", 200, ""]) if count} == {0, DURATION_BOUNDS.index(0.5)}
    assert made.counts["GET", 503, ""][-1] == 1
    assert round(made.seconds["GET", 200, ""], 6) == 0.304


def test_sums_add_and_a_copy_does_not_change() -> None:
    one = counted(("GET", 200, "", 0.1), ("GET", 404, "", 0.1))
    copy = one.copy()
    both = one + counted(("GET", 200, "", 0.2))
    assert sum(both.counts["GET", 200, ""]) == 2
    assert both.seconds["GET", 404, ""] == one.seconds["GET", 404, ""]
    one.add(np.zeros(1, RECORD), pl.Series(["PUT"]))
    assert ("PUT", 0, "") not in copy.counts


def test_a_copy_has_the_sum_of_each_count_at_whatever_line_of_the_counting_it_is_taken() -> None:
    made, copies = Durations(), []

    def look(frame: FrameType, event: str, arg: object) -> Any:
        copies.append(made.copy())
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        made.add(np.zeros(1, RECORD), pl.Series(["PUT"]))
    finally:
        sys.settrace(before)
    assert copies[-1].counts
    assert all(copy.counts.keys() <= copy.seconds.keys() for copy in copies)


def test_a_target_does_not_decide_how_many_groups_there_are() -> None:
    made = counted(*(("GET", status, "", 0.1) for status in range(100, 600)))
    made += counted(*(("HEAD", status, "", 0.1) for status in range(100, 600)))
    assert len(made.counts) == 101
    assert sum(sum(buckets) for buckets in made.counts.values()) == 1000
    assert sum(made.counts[OVERFLOW]) == 900
