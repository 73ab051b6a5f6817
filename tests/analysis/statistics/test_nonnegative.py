"""Non-negative least squares."""

import numpy as np
import pytest

from logreplay.analysis.statistics.nonnegative import nonnegative


def test_a_fit_whose_coefficients_are_all_positive_is_the_free_fit() -> None:
    design = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    free, *_ = np.linalg.lstsq(design, np.array([1.0, 2.0, 2.5]), rcond=None)
    assert nonnegative(design, np.array([[1.0, 2.0, 2.5]]))[0] == pytest.approx(free)


def test_no_change_of_a_coefficient_within_its_bounds_makes_the_fit_better() -> None:
    """The conditions of Karush, Kuhn and Tucker, for many random problems at once."""
    chance = np.random.default_rng(1)
    design, values = chance.normal(size=(7, 5)), chance.normal(size=(200, 7))
    found = nonnegative(design, values)
    slope = (values - found @ design.T) @ design
    assert (found >= 0).all()
    assert (slope <= 1e-9).all()
    assert np.abs(slope * found).max() < 1e-9
