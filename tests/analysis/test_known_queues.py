"""Servers whose capacity is known by construction: saturation is found, and none is invented."""

import numpy as np
import pytest

from logreplay.analysis import bends, intake, simulate
from logreplay.analysis.simulate import Queue

RATES = range(50, 401, 25)


def verdict(queue: Queue, seed: int) -> bends.Verdict:
    rng = np.random.default_rng(seed)
    return bends.judge(intake.read(simulate.serve(simulate.sweep(RATES, 10, rng), queue, rng)))


@pytest.mark.parametrize(
    "queue",
    [Queue(1, 0.004), Queue(4, 0.016), Queue(16, 0.064, "fixed"), Queue(4, 0.016, "lognormal")],
    ids=["M/M/1", "M/M/4", "M/D/16", "M/G/4"],
)
@pytest.mark.parametrize("seed", range(3))
def test_saturation_is_found_where_the_queue_has_it(queue: Queue, seed: int) -> None:
    found = verdict(queue, seed).saturation
    assert found.found, found.why
    assert found.rate == pytest.approx(queue.capacity, rel=0.06)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= queue.capacity <= found.high


@pytest.mark.parametrize("seed", range(3))
def test_a_target_with_room_to_spare_has_no_knee(seed: int) -> None:
    found = verdict(Queue(1000, 0.005), seed)
    assert not found.saturation.found
    assert found.sentence.startswith("no knee up to 400/s (p99 rose 1.")
