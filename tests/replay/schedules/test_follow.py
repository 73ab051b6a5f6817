"""The times of a log that is still being written, a set time later, and in order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.replay.schedules.arrivals import FollowSchedule, delay_of
from logreplay.replay.schedules.rates import Constant, Limited


def test_live_requests_are_due_a_set_time_after_they_were() -> None:
    pace = FollowSchedule(2.0, wall=lambda: 1_000_000_000_000).pacer()
    assert len(pace(np.array([], np.int64))) == 0
    due = pace(np.array([999_500_000, 1_000_250_000, 1_000_000_000, 900_000_000], np.int64))
    assert (due / 1e9).tolist() == [1.5, 2.25, 2.25, 2.25]
    assert (pace(np.array([1_001_000_000], np.int64)) / 1e9).tolist() == [3.0]


BEGIN_US = 1_700_000_000 * 10**6


@given(st.lists(st.integers(-(10**7), 10**7), max_size=30), st.integers(1, 8), st.floats(0, 20))
def test_none_is_due_before_its_time_nor_before_the_one_ahead_however_the_log_is_cut(
    offsets: list[int], size: int, delay: float
) -> None:
    starts = np.array([BEGIN_US + offset for offset in offsets], np.int64)
    pace = FollowSchedule(delay, wall=lambda: BEGIN_US * 1000).pacer()
    parts = [pace(starts[at : at + size]) for at in range(0, len(starts), size)]
    due = np.concatenate([np.zeros(0, np.int64), *parts])
    earliest = np.array(offsets, np.int64) * 1000 + int(delay * 1e9)
    assert (due >= np.maximum(earliest, 0)).all()
    assert (np.diff(due) >= 0).all()
    assert due.tolist() == [max(0, *earliest[: place + 1]) for place in range(len(due))]


def test_a_request_of_a_year_too_far_off_is_due_in_order() -> None:
    """Nanoseconds since 1970 overflow in 2262 and in 1677: a request of the year 9000 was due at once."""
    pace = FollowSchedule(5.0, wall=lambda: BEGIN_US * 1000).pacer()
    assert pace(np.array([-62_135_596_800 * 10**6, BEGIN_US])).tolist() == [0, 5 * 10**9]
    far = pace(np.array([221_845_392_000 * 10**6, BEGIN_US])).tolist()
    assert far[0] == far[1] > 80 * 365 * 86_400 * 10**9


def test_a_request_without_a_time_is_due_at_once() -> None:
    assert FollowSchedule(5.0, wall=lambda: BEGIN_US * 1000).pacer()(np.array([0])).tolist() == [0]


def test_a_request_without_a_time_is_due_when_it_is_read() -> None:
    """It was due with the first one, so that the lag of later ones grew to hours."""
    readings = iter([0, 0, 3600, 7200])
    pace = FollowSchedule(5.0, wall=lambda: BEGIN_US * 1000 + next(readings) * 10**9).pacer()
    assert pace(np.array([0, BEGIN_US])).tolist() == [0, 5 * 10**9]
    assert (pace(np.array([0])) / 1e9).tolist() == [3600]
    assert (pace(np.array([0, 0])) / 1e9).tolist() == [7200, 7200]


def test_the_clock_is_read_when_the_first_requests_are_there() -> None:
    readings = iter([BEGIN_US * 1000])
    pace = FollowSchedule(0.0, wall=readings.__next__).pacer()
    assert pace(np.zeros(0, np.int64)).tolist() == []
    assert pace(np.array([BEGIN_US + 1])).tolist() == [1000]
    assert pace(np.array([BEGIN_US + 2])).tolist() == [2000]


@pytest.mark.parametrize("delay", [-1e-9, float("nan")])
def test_a_delay_below_zero_is_refused(delay: float) -> None:
    with pytest.raises(ValueError, match="delay must not be below 0 s, got"):
        FollowSchedule(delay)


def test_the_delay_of_a_schedule_is_found_behind_its_limits() -> None:
    assert delay_of(Limited(Limited(FollowSchedule(3.0), requests=5), seconds=9)) == 3.0
    assert delay_of(Constant(5)) is None
    assert (FollowSchedule(1).rate, FollowSchedule(1).duration) == (0.0, None)
