"""Printed intervals and ranges hold the truth of simulated servers."""

import pytest

from accuracy import intervals
from simulate import SimulatedQueue


@pytest.mark.parametrize(
    ("rate", "p", "seconds"),
    [(0.0001, 0.9, 2.303), (0.5, 0.9, 4.605), (0.9, 0.99, 46.05)],
)
def test_percentiles_of_one_worker_are_those_of_an_exponential(rate: float, p: float, seconds: float) -> None:
    assert intervals.quantile(SimulatedQueue(1, 1.0), rate, p) == pytest.approx(seconds, rel=1e-3)


def test_the_table_has_a_row_for_each_figure_and_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "LENGTHS", (10,))
    rows = intervals.table(1, 1).splitlines()
    assert [row.split("|")[1].strip() for row in rows if ", 10 s" in row] == [
        f"{name}, 10 s" for name in ("p50", "p90", "p99", "mean")
    ]


@pytest.mark.slow
def test_nine_of_ten_intervals_of_a_step_hold_and_none_is_printed_near_saturation() -> None:
    found = list(intervals.intervals(20, 40, 1))
    for name in ("p50", "p90", "p99", "mean"):
        held = [each for _, which, each in found if which == name and each is not None]
        assert len(held) >= 30
        assert sum(held) >= 0.9 * len(held)
    assert all(each is None for load, name, each in found if name == "p99" and load >= 0.7)


@pytest.mark.slow
def test_nine_of_ten_ranges_hold_the_truth() -> None:
    held = list(intervals.ranges(50, 0))
    for name in ("onset", "saturation"):
        those = [each for which, each in held if which == name]
        assert len(those) >= 25
        assert sum(those) >= 0.9 * len(those)
