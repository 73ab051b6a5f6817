"""The posterior of the highest rate that keeps the bounds."""

import numpy as np
import pytest

from logreplay.analysis.search.bounds import Bound
from logreplay.analysis.search.posterior import Belief, Carried, Light, Seen, believe, bunch, bunches

P99 = Bound("p99", 0.2)
LIGHT = Light(0.016, 1.0)
ENDS = (20.0, 500.0)


def trial(rate: float, share: float, seconds: float = 12.0, effect: float = 20.0) -> Seen:
    return Seen(rate, round(rate * seconds), share, effect, seconds)


def test_trials_that_passed_and_failed_put_the_rate_between_them() -> None:
    belief = believe([(P99, [trial(100, 0.0), trial(200, 0.0), trial(300, 0.9)], None)], LIGHT, ENDS)
    assert 200 < belief.quantile(0.5) < 290
    assert belief.quantile(0.05) < belief.quantile(0.5) < belief.quantile(0.95)


def test_more_trials_make_it_more_exact() -> None:
    few = [trial(200, 0.0), trial(280, 0.9)]
    more = [*few, *(trial(220, 0.004) for _ in range(5)), *(trial(235, 0.1) for _ in range(5))]
    narrow, wide = (believe([(P99, each, None)], LIGHT, ENDS) for each in (more, few))
    assert narrow.quantile(0.95) / narrow.quantile(0.05) < wide.quantile(0.95) / wide.quantile(0.05)


def test_completions_under_overload_show_the_rate_below_them_by_what_queues_need() -> None:
    """M/M/4 with a capacity of 250/s keeps p99 <= 200 ms up to 225.7/s."""
    belief = believe([(P99, [trial(128, 0.0, 3), trial(330, 0.8, 3)], Carried(250, 0.02))], LIGHT, ENDS)
    assert belief.quantile(0.5) == pytest.approx(225.7, rel=0.04)


def test_completions_below_a_rate_that_passed_are_no_capacity() -> None:
    seen = [trial(200, 0.0), trial(300, 0.9)]
    assert believe([(P99, seen, Carried(120, 0.02))], LIGHT, ENDS).quantile(0.5) > 200


def test_the_rate_that_keeps_several_bounds_is_that_of_the_tightest() -> None:
    loose = (Bound("p90", 0.2), [trial(200, 0.0), trial(400, 0.9)], None)
    tight = (P99, [trial(100, 0.0), trial(200, 0.9)], None)
    alone, both = believe([tight], LIGHT, ENDS), believe([loose, tight], LIGHT, ENDS)
    assert both.quantile(0.5) == pytest.approx(alone.quantile(0.5), rel=0.08)


def test_a_mean_rises_from_that_without_load_to_its_bound() -> None:
    """M/M/1 with a capacity of 125/s has a mean of 40 ms at 100/s."""
    seen = [Seen(r, 12 * r, 1 / (125 - r), 10.0, 12.0) for r in (25, 50, 80, 95, 105)]
    belief = believe([(Bound("mean", 0.04), seen, None)], Light(0.008, 1.0), ENDS)
    assert belief.quantile(0.5) == pytest.approx(100, rel=0.05)


def test_a_share_that_is_late_at_any_rate_moves_the_rate_little() -> None:
    """0.5 % of the answers are late without load; the queue adds as much at 225/s."""
    always = [trial(50, 0.005), trial(100, 0.005), trial(160, 0.005), trial(200, 0.006), trial(270, 0.9)]
    assert believe([(P99, always, None)], LIGHT, ENDS).quantile(0.5) > 195


def test_bunches_are_larger_where_requests_may_wait_longer_and_as_large_as_seen() -> None:
    assert bunch(P99, 200, 0.4, LIGHT) > bunch(P99, 200, 0.2, LIGHT) > bunch(P99, 100, 0.2, LIGHT)
    usual = bunches(P99, [], 0.18, LIGHT)
    large = [trial(200, 0.02, 60, 50 * bunch(P99, 200, 0.18, LIGHT))]
    assert usual == 1
    assert bunches(P99, large, 0.18, LIGHT) > 5


def test_a_further_doubt_widens_and_moves_nothing() -> None:
    rates = np.geomspace(50, 400, 240)
    belief = Belief(rates, np.clip((np.log(rates) - np.log(150)) / 0.3, 0, 1))
    wide = belief.wider(0.2)
    assert wide.quantile(0.5) == pytest.approx(belief.quantile(0.5), rel=0.02)
    assert wide.quantile(0.05) < belief.quantile(0.05) < belief.quantile(0.95) < wide.quantile(0.95)
