"""How true a replay was to its schedule: nothing for a perfect one, and each kind of damage by itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.tables import schedule_accuracy
from logreplay.analysis.tables.schedule_accuracy import Punctuality, punctuality


def test_punctuality_of_a_perfect_replay_is_zero() -> None:
    scheduled = np.arange(0, 5_000_000, 10_000)
    assert punctuality(scheduled, np.zeros(500, np.int64)) == Punctuality(0, 0, 0, 0)
    assert punctuality(scheduled, np.full(500, 1000, np.int64)) == Punctuality(0, 0, 0, 0)
    assert punctuality(scheduled[:1], np.zeros(1, np.int64)) is None


def test_punctuality_sees_a_stall_and_a_drift() -> None:
    scheduled = np.arange(0, 10_000_000, 10_000)
    stall = np.where((scheduled >= 3_000_000) & (scheduled < 4_500_000), 4_500_000 - scheduled, 0)
    stalled = punctuality(scheduled, stall)
    assert stalled is not None
    assert stalled.misplaced == pytest.approx(0.1)
    late = punctuality(scheduled, np.full(1000, 5_000_000))
    assert late is not None
    assert (late.misplaced, late.gap_distance, late.drift_s) == (1, 0, 0)
    assert stalled.gap_distance > 0.2
    drifting = punctuality(scheduled, scheduled // 100)
    assert drifting is not None
    assert drifting.drift_s == pytest.approx(0.09, rel=0.01)


def test_drift_is_that_of_the_whole_run_where_gaps_are_those_of_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_accuracy, "_MOST_GAPS", 300)
    scheduled = np.arange(0, 10_000_000, 10_000)
    found = punctuality(scheduled, np.where(scheduled >= 8_000_000, 2_000_000, 0))
    assert found is not None
    assert (found.misplaced, found.gap_distance, found.drift_s) == (0.2, 0, 2)


@given(st.dictionaries(st.integers(0, 10**7), st.integers(0, 10**7), min_size=2, max_size=50))
def test_the_order_of_the_requests_does_not_matter_and_shares_are_shares(lags: dict[int, int]) -> None:
    due, lag = np.array([*lags]), np.array([*lags.values()])
    found = punctuality(due, lag)
    assert found == punctuality(due[::-1], lag[::-1])
    assert found is not None
    assert 0 <= found.misplaced <= 1
    assert found.gap_distance_s >= 0


def test_requests_that_are_all_due_at_once_have_no_gap_to_compare_with() -> None:
    assert punctuality(np.zeros(5, np.int64), np.zeros(5, np.int64)) == Punctuality(0, 0, 0, 0)
    late = punctuality(np.zeros(5, np.int64), np.arange(5) * 1000)
    assert late is not None
    assert late.gap_distance_s == pytest.approx(0.001)
    assert late.gap_distance == 0


def test_the_figures_are_said_in_words() -> None:
    said = Punctuality(0.012, 0.000123, 0.045, -0.000002).sentence()
    assert said.startswith("1.20% of the requests were sent in another second than scheduled")
    assert "off by 123 µs on average (4.5%)" in said
    assert "-2 µs from start to end" in said
    said = Punctuality(0.012, 0.024106, 0.045, 12.607941).sentence()
    assert "off by 24.1 ms on average" in said
    assert "lag changed by +12.6 s from start to end" in said
