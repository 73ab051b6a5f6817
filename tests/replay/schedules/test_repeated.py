import numpy as np
import pytest

from logreplay.replay.schedules.rates import Constant, Limited
from logreplay.replay.schedules.repeated import Repeated


def test_a_schedule_that_repeats_itself_goes_on_in_the_same_rhythm() -> None:
    due = Repeated(Constant(10, 2)).pacer()(np.zeros(50, np.int64))
    assert np.diff(due) == pytest.approx(1e8)


def test_a_round_without_requests_ends_it() -> None:
    assert not len(Repeated(Limited(Constant(10, 2), requests=0)).pacer()(np.zeros(5, np.int64)))
