"""Intervals hold what was seen, and what was so in the long run."""

import numpy as np
import pytest

from logreplay.core.validity import USUAL_CLUSTER, batch_variance, cluster_size


def test_costs_that_come_in_bunches_vary_more() -> None:
    counts, spread, bunched = np.full(60, 100), np.full(60, 1.0), np.zeros(60)
    bunched[20:22] = 30
    assert batch_variance(counts, spread) == 0
    assert batch_variance(counts, bunched) > 0


def test_hits_that_come_together_are_one_cluster() -> None:
    counts, spread, blip = np.full(60, 100), np.full(60, 3), np.zeros(60, np.int64)
    blip[20:22] = 90
    assert spread.sum() == blip.sum()
    assert cluster_size((counts, spread)) == 1
    assert 90 < cluster_size((counts, blip)) < 1.05 * 180
    assert cluster_size((counts, spread), (counts, blip)) == pytest.approx(cluster_size((counts, blip)) / 2, rel=0.1)


def test_two_seconds_tell_little_of_the_size_of_clusters() -> None:
    counts, hits = np.full(2, 100), np.array([5, 5])
    assert 4 < cluster_size((counts, hits)) < USUAL_CLUSTER
    for none in (np.zeros(2, np.int64), counts):
        assert cluster_size((counts, none)) == USUAL_CLUSTER, "nothing failed, or all did"


@pytest.mark.parametrize("seconds", [3, 5, 10, 60])
def test_the_variance_of_few_independent_seconds_is_as_large_as_that_of_many(seconds: int) -> None:
    rng, counts = np.random.default_rng(seconds), np.full(seconds, 100)
    found = [batch_variance(counts, rng.normal(50, 10, seconds)) for _ in range(20_000)]
    assert np.mean(found) == pytest.approx(100 / (seconds * 100**2), rel=0.5 if seconds < 10 else 0.1)
