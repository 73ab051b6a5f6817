"""Student's t, and means of independent values."""

import math

import numpy as np
import pytest

from logreplay.analysis.statistics import estimates
from logreplay.analysis.statistics.estimates import student


def test_students_quantiles_are_those_of_the_tables() -> None:
    assert student(0.95, 1) == pytest.approx(12.706, abs=1e-3)
    assert student(0.95, 2) == pytest.approx(4.3027, abs=1e-4)
    assert student(0.99, 10) == pytest.approx(3.1693, abs=1e-4)
    assert student(0.95, 1e4) == pytest.approx(1.96, abs=1e-3)


def test_the_tables_of_many_degrees_of_freedom_are_not_all_held() -> None:
    for freedom in range(1, 101):
        student(0.95, freedom + 0.123)
    assert estimates._student.cache_info().currsize <= 64


def test_the_interval_of_a_mean_is_that_of_student() -> None:
    low, high = estimates.mean(np.array([1.0, 2.0, 3.0])).ends()
    assert (low, high) == pytest.approx((2 - 4.3027 / math.sqrt(3), 2 + 4.3027 / math.sqrt(3)), abs=1e-4)


def test_the_mean_of_the_middle_values_leaves_out_both_ends_and_has_the_error_of_yuen() -> None:
    found = estimates.trimmed_mean(np.array([-100.0, 1, 2, 3, 100]), 0.2, 60)
    assert (found.value, found.freedom, found.blocks, found.seconds) == (2, 2, 5, 60)
    assert found.up == found.down == pytest.approx(math.sqrt(4 / 6))
