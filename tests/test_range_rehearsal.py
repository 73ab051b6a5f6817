"""Ranges of onset and saturation hold the truth of simulated servers."""

import pytest

import range_rehearsal as rehearsal
from simulate import SimulatedQueue


@pytest.mark.parametrize(
    ("rate", "p", "seconds"),
    [(0.0001, 0.9, 2.303), (0.5, 0.9, 4.605), (0.9, 0.99, 46.05)],
)
def test_percentiles_of_one_worker_are_those_of_an_exponential(rate: float, p: float, seconds: float) -> None:
    assert rehearsal.quantile(SimulatedQueue(1, 1.0), rate, p) == pytest.approx(seconds, rel=1e-3)


@pytest.mark.slow
def test_nine_of_ten_ranges_hold_the_truth() -> None:
    held = list(rehearsal.bends(50))
    for name in ("onset", "saturation"):
        those = [each for which, each in held if which == name]
        assert len(those) >= 25
        assert sum(those) >= 0.9 * len(those)
