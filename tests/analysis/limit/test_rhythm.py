"""The rhythm in which requests leave."""

import numpy as np
import pytest

from logreplay.analysis.limit import rhythm
from logreplay.analysis.limit.carried import Backlog, LoadFigures


def leaving(ends: "np.ndarray[tuple[int], np.dtype[np.float64]]", service_s: float) -> LoadFigures:
    """A backlog in which requests leave at these times."""
    spell = Backlog(0, float(ends[0]), float(ends[-1]), ends)
    return LoadFigures([spell], spell.rate, np.arange(50), np.full(50, service_s))


def test_even_workers_keep_time_in_their_number() -> None:
    rng = np.random.default_rng(1)
    lanes = [rng.uniform(0, 0.05) + np.cumsum(rng.normal(0.05, 0.001, 200)) for _ in range(5)]
    found = leaving(np.sort(np.concatenate(lanes)), 0.05)
    assert rhythm.dips(rhythm.gaps(found.backlogs), 20) == 5


def test_one_at_a_time_leave_evenly() -> None:
    rng = np.random.default_rng(1)
    assert rhythm.dips([rng.normal(0.01, 0.001, 500)], 20) == 1


def test_random_times_have_no_rhythm() -> None:
    rng = np.random.default_rng(1)
    assert rhythm.dips([rng.exponential(0.01, 2000)], 20) is None


def test_batches_are_told_with_their_size() -> None:
    rng = np.random.default_rng(1)
    ends = np.sort(np.repeat(np.arange(100) * 0.1, 10) + rng.uniform(0, 0.0001, 1000))
    assert rhythm.batch(rhythm.gaps(leaving(ends, 0.1).backlogs), 100) == pytest.approx(10, rel=0.05)
    assert rhythm.batch([rng.exponential(0.01, 1000)], 100) is None


def test_pauses_are_told_with_their_length() -> None:
    rng = np.random.default_rng(1)
    ends = np.cumsum(rng.exponential(0.005, 2000))
    number = int(ends[-1] // 2)
    ends += 0.3 * np.floor(ends / 2)
    found = leaving(ends, 0.02)
    paused = rhythm.pauses(rhythm.gaps(found.backlogs), found)
    assert paused
    assert paused.number == number
    assert paused.length_s == pytest.approx(0.3, rel=0.1)
    calm = leaving(np.cumsum(rng.exponential(0.005, 2000)), 0.02)
    assert rhythm.pauses(rhythm.gaps(calm.backlogs), calm) is None
