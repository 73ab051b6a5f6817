"""In which order requests leave, and who delays whom."""

import numpy as np

from limit_systems import Limited, sharing, swept, workers
from logreplay.analysis.input import arrays
from logreplay.analysis.limit.carried import backlog
from logreplay.analysis.limit.observations import Observations
from logreplay.analysis.limit.order import delayed_by_later, rank


def seen_of(system: Limited, seed: int) -> Observations:
    return Observations.of(arrays.read(swept(system, np.random.default_rng([seed, 1]))))


def test_later_requests_delay_earlier_ones_where_all_share() -> None:
    stable = np.arange(5)
    shares = [sharing(np.random.default_rng(seed)) for seed in (10, 11, 12, 13)]
    queues = [workers(np.random.default_rng(seed)) for seed in (10, 11, 12, 13)]
    of_both = [
        [
            delayed_by_later(seen_of(each, 1), stable, each.at_once or 1, (each.at_once or 1) / each.capacity)[0]
            for each in systems
        ]
        for systems in (shares, queues)
    ]
    assert max(of_both[0]) > 0.25
    assert max(of_both[1]) < 0.15


def test_in_order_of_arrival_the_oldest_leave() -> None:
    system = workers(np.random.default_rng(3))
    seen = seen_of(system, 1)
    spell = backlog(seen, int(seen.step[-1]), 20)
    assert spell
    assert rank(seen, [spell]) < 0.1
    assert rank(seen, []) == 0.0
