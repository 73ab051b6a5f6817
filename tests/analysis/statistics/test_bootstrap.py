"""Two series that ran at once: what disturbs both does not count, and the intervals hold what they say."""

import numpy as np
import pytest

from logreplay.analysis.statistics import bootstrap
from logreplay.analysis.statistics.bootstrap import Series
from logreplay.analysis.statistics.quantiles import Floats


def duet(
    rng: np.random.Generator, seconds: int, slower: float = 1.0, disturbed: float = 0.3
) -> tuple[Floats, Floats, Floats]:
    """Times of 50 pairs a second, each second with a disturbance of its own that both share."""
    at = np.sort(rng.uniform(0, seconds, 50 * seconds))
    shared = np.exp(rng.normal(0, disturbed, seconds + 1))[at.astype(np.int64)]
    return at, shared * rng.lognormal(0, 0.1, len(at)), slower * shared * rng.lognormal(0, 0.1, len(at))


@pytest.mark.parametrize("seconds", [2, 10, 20])
def test_the_interval_of_the_mean_of_pairs_holds_the_truth_in_95_of_100_duets(seconds: int) -> None:
    rng, hits = np.random.default_rng(1), 0
    for _ in range(400):
        at, old, new = duet(rng, seconds, 1.03)
        found = bootstrap.trimmed_mean(at, np.log(new / old))
        assert found is not None
        low, high = found.ends()
        hits += low <= np.log(1.03) <= high
    assert hits / 400 == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize("seconds", [1.7, 2.5, 10])
def test_neighbours_that_depend_on_each_other_as_in_duets_mislead_short_series_hardly_more(seconds: float) -> None:
    rng, wrong, step, correlated_s = np.random.default_rng(7), 0, 0.02, 0.1
    kept = np.exp(-step / correlated_s)
    waves = rng.normal(0, 0.02, (int(seconds / step), 1000))
    for at in range(1, len(waves)):
        waves[at] = kept * waves[at - 1] + np.sqrt(1 - kept**2) * waves[at]
    for wave in waves.T:
        times = np.sort(rng.uniform(0, len(wave) * step, int(100 * seconds)))
        found = bootstrap.trimmed_mean(times, wave[(times / step).astype(np.int64)] + rng.normal(0, 0.05, len(times)))
        assert found is not None
        low, high = found.ends(0.975)  # half of the doubt of a duet
        wrong += not low <= 0 <= high
    assert wrong / 1000 <= 0.06  # 0.025 if they did not depend on each other


def test_a_short_series_has_eight_blocks_of_equal_length() -> None:
    for seconds, blocks in ((1.6, 8), (2, 8), (3.9, 8), (5, 10)):
        at = np.linspace(0, seconds, 1 + round(100 * seconds))
        found = bootstrap.trimmed_mean(at, at)
        assert found is not None
        assert found.blocks == blocks, seconds


def test_a_burst_that_hits_one_of_both_moves_the_mean_of_pairs_little() -> None:
    rng = np.random.default_rng(5)
    at, old, new = duet(rng, 20, 1.03)
    new[(at > 7) & (at < 9)] *= 20
    found = bootstrap.trimmed_mean(at, np.log(new / old))
    assert found is not None
    assert np.exp(found.value) == pytest.approx(1.03, abs=0.01)
    assert found.ends()[0] > 0


def test_values_above_a_quantile_that_come_from_one_burst_are_told() -> None:
    rng = np.random.default_rng(6)
    at, old, _ = duet(rng, 20, disturbed=0.0)
    assert bootstrap.spread_above(at, old, 0.99)
    old[(at > 7) & (at < 8)] *= 20
    assert not bootstrap.spread_above(at, old, 0.99)


@pytest.mark.slow
def test_the_interval_of_the_ratio_of_quantiles_holds_the_truth() -> None:
    rng, hits = np.random.default_rng(2), np.zeros(2)
    for _ in range(25):
        at, old, new = duet(rng, 20, 1.05)
        found = bootstrap.ratios((at, old), (at, new), (0.5, 0.9))
        assert found is not None
        hits += [low <= np.log(1.05) <= high for low, high in (each.ends() for each in found)]
    assert (hits / 25 >= 0.84).all()


@pytest.mark.slow
def test_a_disturbance_of_both_widens_the_interval_of_each_and_hardly_that_of_their_ratio() -> None:
    rng = np.random.default_rng(3)
    errors = []
    for disturbed in (0.0, 0.5):
        at, old, new = duet(rng, 60, disturbed=disturbed)
        found = bootstrap.ratios((at, old), (at, new), (0.5,))
        other = bootstrap.ratios((at, old), (at, rng.permutation(new)), (0.5,))
        assert found is not None
        assert other is not None
        errors.append((found[0].up, other[0].up))
    assert errors[1][0] < 3 * errors[0][0] < errors[1][1]


def test_many_values_are_counted_in_bins_of_equal_count() -> None:
    rng = np.random.default_rng(4)
    at, old = np.sort(rng.uniform(0, 100, 40_000)), rng.lognormal(0, 1, 40_000)
    found = bootstrap.ratios((at, old), (at, 1.1 * old), (0.5, 0.99))
    assert found is not None
    assert [each.value for each in found] == pytest.approx([np.log(1.1)] * 2, abs=1e-3)


def test_too_short_series_give_no_estimate() -> None:
    few: Series = np.arange(3.0), np.ones(3)
    none: Series = np.array([]), np.array([])
    assert bootstrap.ratios(few, few, (0.5,)) is None
    assert bootstrap.ratios(none, few, (0.5,)) is None
    assert bootstrap.trimmed_mean(*few) is None
    assert bootstrap.trimmed_mean(np.linspace(0, 1.59, 200), np.ones(200)) is None
    assert bootstrap.trimmed_mean(*none) is None
