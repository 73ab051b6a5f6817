"""A histogram of durations: true to a hundredth, and the same whichever way it was put together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.replay.results.histogram import Histogram

DURATIONS = st.lists(st.integers(0, 10**14), min_size=1, max_size=50)
"""Nanoseconds, up to a day."""


def counted(ns: list[int]) -> Histogram:
    histogram = Histogram()
    histogram.add(np.array(ns, np.int64))
    return histogram


@given(DURATIONS, st.floats(0.01, 1))
def test_a_quantile_is_that_of_the_durations_within_a_hundredth(ns: list[int], share: float) -> None:
    exact = float(np.quantile(ns, share, method="inverted_cdf")) / 1e9
    assert counted(ns).quantile(share) == pytest.approx(exact, rel=0.011, abs=1e-8)


@given(st.lists(DURATIONS, min_size=1, max_size=4))
def test_quantiles_of_merged_histograms_are_those_of_all_durations(parts: list[list[int]]) -> None:
    whole = counted([value for part in parts for value in part])
    merged = Histogram()
    for part in parts:
        merged = merged + counted(part)
    assert merged.quantile(0.99) == whole.quantile(0.99)
    assert (merged - whole).quantile(0.5) is None


@given(DURATIONS, DURATIONS)
def test_what_was_counted_since_is_the_difference(before: list[int], since: list[int]) -> None:
    earlier, later = counted(before), counted([*before, *since])
    assert (later - earlier).quantile(0.5) == counted(since).quantile(0.5)
    assert later.total - earlier.total == len(since)


def test_a_sum_leaves_its_parts_alone() -> None:
    one, other = counted([10**6]), counted([10**9])
    assert (one + other).total == 2
    assert (one.total, other.total) == (1, 1)


def test_a_histogram_counts_up_to_bounds() -> None:
    histogram = counted([1_000_000, 3_000_000, 40_000_000])
    assert histogram.up_to([0.0005, 0.002, 0.03, 1.0]) == [0, 1, 2, 3]
    assert histogram.total == 3
    assert histogram.seconds == pytest.approx(0.044, rel=0.02)


def test_no_duration_has_no_quantile() -> None:
    assert Histogram().quantile(0.5) is None
    assert Histogram().seconds == 0
    assert counted([]).up_to([1.0]) == [0]


def test_what_is_below_zero_or_beyond_all_buckets_is_counted_at_the_end_it_is_beyond() -> None:
    histogram = counted([-(10**9), 2**63 - 1])
    assert histogram.total == 2
    assert histogram.quantile(0.5) == pytest.approx(0, abs=1e-7)
    assert histogram.quantile(1.0) == pytest.approx(2**42 / 1e6, rel=0.011)
