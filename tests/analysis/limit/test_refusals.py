"""What refuses: a limit of the rate, or of the number in flight."""

import re

import numpy as np
import pytest

from limit_systems import Limited, rate_limit, refusing_pool, swept
from logreplay.analysis.input import arrays
from logreplay.analysis.limit.observations import Observations
from logreplay.analysis.limit.refusals import probability_above, refusing
from logreplay.analysis.limit.sentences import TargetLimit


def refused_by(system: Limited, seed: int) -> TargetLimit | None:
    seen = Observations.of(arrays.read(swept(system, np.random.default_rng(seed))))
    failing = [int(step) for step in np.unique(seen.step) if seen.failed[seen.step == step].mean() > 0.02]
    return refusing(seen, failing, 0.01)


def test_a_limiter_is_told_by_its_rate() -> None:
    for seed in range(3):
        system = rate_limit(np.random.default_rng(seed))
        found = refused_by(system, seed)
        assert found
        assert (found.kind, found.at_once) == ("rate_limit", None)
        told = re.search(r"limit of (\S+)/s: it refuses requests above it in (\S+) (ms|µs)$", found.text)
        assert told
        assert float(told[1]) == pytest.approx(system.capacity, rel=0.05)
        assert float(told[2]) * {"ms": 1e-3, "µs": 1e-6}[told[3]] < 0.002


def test_a_pool_is_told_by_the_number_in_flight() -> None:
    for seed in range(3):
        system = refusing_pool(np.random.default_rng(seed))
        found = refused_by(system, seed)
        assert found
        assert (found.kind, found.at_once) == ("refuses", system.at_once)


def test_ties_count_half() -> None:
    assert probability_above(np.array([1, 2]), np.array([1, 2])) == 0.5
    assert probability_above(np.array([3]), np.array([1, 2])) == 1.0
