import numpy as np
import pytest

from logreplay.replay.schedules.arrivals import Poisson, Repeated, Scattered
from logreplay.replay.schedules.rates import Constant, Limited


def test_a_schedule_that_repeats_itself_goes_on_in_the_same_rhythm() -> None:
    due = Repeated(Constant(10, 2)).pacer()(np.zeros(50, np.int64))
    assert np.diff(due) == pytest.approx(1e8)


@pytest.mark.parametrize("arrivals", [Poisson, Scattered])
def test_random_arrivals_differ_between_rounds_and_not_between_runs(
    arrivals: type[Poisson] | type[Scattered],
) -> None:
    """Each round repeated the instants of the first."""
    schedule = arrivals(Constant(100, 2), 7)
    due = Repeated(schedule).pacer()(np.zeros(1000, np.int64))
    first, *others = (due[due // 2_000_000_000 == index] - index * 2_000_000_000 for index in range(4))
    assert np.array_equal(first, schedule.pacer()(np.zeros(len(first), np.int64)))
    assert all(not np.isin(first, other).any() for other in others)
    assert np.array_equal(due, Repeated(schedule).pacer()(np.zeros(1000, np.int64)))


def test_a_round_without_requests_ends_it() -> None:
    assert not len(Repeated(Limited(Constant(10, 2), requests=0)).pacer()(np.zeros(5, np.int64)))
