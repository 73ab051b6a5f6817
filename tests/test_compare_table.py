"""The error rates of docs/howto/compare.md, on fewer simulated runs."""

import math

import pytest

from compare_table import Case, rates

COMPARISONS = 80


def error(share: float) -> float:
    """Return three standard errors of a share that is measured with `COMPARISONS` comparisons."""
    return 3 * math.sqrt(share * (1 - share) / COMPARISONS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "false", "found"),
    [
        (Case(0.6, seconds=60), 0.01, 0.99),
        (Case(0.6, wanders=True, seconds=60), 0.10, 0.30),
        (Case(0.6, wanders=True, seconds=240), 0.10, 0.97),
        (Case(0.6, wanders=True, seconds=60, pairs=5), 0.10, 0.96),
    ],
    ids=["steady", "short", "wandering", "five pairs"],
)
def test_equal_versions_are_called_different_and_ten_percent_is_found_as_often_as_the_table_says(
    case: Case, false: float, found: float
) -> None:
    measured = rates(case, COMPARISONS, seed=2)
    assert measured.false <= false + error(false)
    assert measured.found >= found - error(found)


def test_runs_that_differ_by_themselves_need_several_pairs() -> None:
    one = rates(Case(0, differs=True, seconds=30), COMPARISONS, seed=3)
    several = rates(Case(0, differs=True, seconds=30, pairs=4), COMPARISONS, seed=3)
    assert one.false > 0.5 - error(0.5)
    assert several.false <= 0.05 + error(0.05)
