"""The error rates of docs/howto/compare.md, on fewer simulated runs."""

import pytest

from compare_table import Case, rates


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "false", "found"),
    [
        (Case(0.6, seconds=60), 0.05, 0.95),
        (Case(0.6, wanders=True, seconds=60), 0.10, 0.0),
        (Case(0.6, wanders=True, seconds=240), 0.10, 0.95),
        (Case(0.6, wanders=True, seconds=60, pairs=6), 0.10, 0.95),
    ],
    ids=["steady", "short", "wandering", "six pairs"],
)
def test_equal_versions_are_seldom_called_different_and_ten_percent_is_found(
    case: Case, false: float, found: float
) -> None:
    measured = rates(case, 60, seed=2)
    assert measured.false <= false
    assert measured.found >= found


def test_runs_that_differ_by_themselves_need_several_pairs() -> None:
    one = rates(Case(0, differs=True, seconds=30), 40, seed=3)
    several = rates(Case(0, differs=True, seconds=30, pairs=4), 40, seed=3)
    assert one.false > 0.3
    assert several.false <= 0.1
