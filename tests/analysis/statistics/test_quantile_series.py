"""Series whose mean is the change of a quantile."""

import numpy as np
import pytest

from logreplay.analysis.statistics.quantile_series import blocks_of, ratio_series

SHARES = (0.5, 0.9, 0.99)


def test_the_blocks_are_of_equal_length_from_the_first_value_to_the_last() -> None:
    assert list(np.bincount(blocks_of(np.linspace(10, 70, 1201), 12))) == [100] * 11 + [101]
    assert list(blocks_of(np.array([3.0, 3.0]), 4)) == [0, 0]


def test_the_mean_of_a_series_is_the_change_and_its_scatter_is_that_of_the_quantile() -> None:
    rng, number, blocks = np.random.default_rng(1), 6000, 120
    block, changes, errors = np.repeat(np.arange(blocks), number // blocks), [], []
    for _ in range(150):
        old, new = rng.normal(0, 1, number), rng.normal(0.1, 1, number)
        series = ratio_series((block, old), (block, new), blocks, SHARES)
        changes.append([each.mean() for each in series])
        errors.append([each.std() / np.sqrt(blocks) for each in series])
    assert np.mean(changes, axis=0) == pytest.approx([0.1] * 3, abs=0.02)
    assert np.mean(errors, axis=0) == pytest.approx(np.std(changes, axis=0), rel=0.2)


def test_what_disturbs_both_runs_alike_moves_the_difference_little() -> None:
    rng, block = np.random.default_rng(2), np.repeat(np.arange(120), 50)
    shared = 0.5 * rng.normal(size=120)[block]
    sides = [shared + rng.normal(0, 0.3, 6000) for _ in "ab"]
    (together,) = ratio_series((block, sides[0]), (block, sides[1]), 120, (0.5,))
    (apart,) = ratio_series((block, sides[0]), (block, sides[1][::-1]), 120, (0.5,))
    assert 3 * together.std() < apart.std()


def test_equal_values_have_no_scatter() -> None:
    same = np.zeros(20, np.int64), np.full(20, 0.3)
    (series,) = ratio_series(same, same, 1, (0.99,))
    assert list(series) == [0.0]
