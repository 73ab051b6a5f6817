"""The exact sign test, and Holm's correction."""

from math import comb

import pytest

from logreplay.analysis.statistics.sign_test import holm, sign_test


@pytest.mark.parametrize(("more", "fewer"), [(0, 0), (1, 0), (0, 5), (8, 1), (30, 20), (500, 500)])
def test_the_tail_is_that_of_the_binomial_distribution(more: int, fewer: int) -> None:
    number = more + fewer
    assert sign_test(more, fewer) == pytest.approx(sum(comb(number, k) for k in range(more, number + 1)) / 2**number)


def test_many_signs_are_no_problem() -> None:
    assert sign_test(100_000, 0) == 0
    assert 0.4 < sign_test(100_000, 100_000) < 0.6


def test_the_correction_keeps_the_order_and_counts_the_tests() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
