"""What is promised rests on all trials."""

import math

import numpy as np

from logreplay.analysis.search.bounds import Bound, BoundEvidence
from logreplay.analysis.search.judging import Judging
from logreplay.analysis.search.pooled import believed, doubted, ends_of_range, hard, light, promised
from logreplay.analysis.search.trials import Goal, Phase, Trial, TrialOutcome

GOAL = Goal((Bound("p99", 0.2),), start=50)


def tried(*trials: tuple[Phase, int, int, float], variability: float = 1.0, overload: float = 0.0) -> Judging:
    """Judge trials of a phase, a rate, seconds and a share of late requests."""
    judging = Judging(GOAL)
    for phase, rate, seconds, late in trials:
        counts = np.full(seconds, rate, np.int64)
        grows = round(rate - overload) if overload and late else 0
        in_flight = 3 + np.arange(seconds + 2, dtype=np.int64) * grows
        shown = BoundEvidence(
            counts,
            late * counts[None].astype(np.float64),
            counts[None],
            in_flight,
            0 * counts,
            variability,
            (0.016 * counts).astype(np.float64),
        )
        judging.judge(Trial(len(judging.judged) + 1, phase, rate, 2, seconds), TrialOutcome(shown, seconds + 2.0))
    return judging


RAMP: tuple[tuple[Phase, int, int, float], ...] = (
    ("calibrate", 50, 3, 0.0), ("ramp", 80, 3, 0.0), ("ramp", 128, 3, 0.0), ("ramp", 205, 3, 0.0),
    ("ramp", 330, 3, 0.8),
)  # fmt: skip


def promise(judging: Judging) -> float:
    return promised(judging, doubted(judging, math.inf))


def test_the_unloaded_target_is_read_from_the_lowest_rates() -> None:
    found = light(tried(*RAMP, variability=3.0))
    assert (round(found.response_s, 3), found.variability) == (0.016, 3.0)


def test_a_promise_is_below_the_likeliest_rate_and_lower_where_few_requests_bring_most_of_the_work() -> None:
    plain, uneven = (tried(*RAMP, ("narrow", 215, 12, 0.0), variability=each) for each in (1.0, 4.0))
    assert promise(plain) < believed(plain, math.inf).quantile(0.5)
    assert (hard(plain), hard(uneven)) == ("", "work")
    assert promise(uneven) < promise(plain)


def test_nothing_is_promised_above_a_rate_at_which_too_many_were_late() -> None:
    judging = tried(*RAMP, ("narrow", 215, 12, 0.0), ("confirm", 210, 60, 0.015))
    assert promise(judging) < 210


def test_a_target_that_completes_less_under_overload_than_before_is_promised_less() -> None:
    judging = tried(*RAMP, overload=110)
    assert judging.collapses
    assert doubted(judging, math.inf).quantile(0.5) < 0.85 * believed(judging, math.inf).quantile(0.5)


def test_the_range_allows_for_what_theory_lacks_and_for_more_where_few_requests_bring_most_of_the_work() -> None:
    """Of plain servers 94 of 100 ranges held the rate, of those with a heavy tail or pauses 80."""
    for variability, least in ((1.0, 1.0), (4.0, 1.1)):
        judging = tried(*RAMP, ("narrow", 215, 12, 0.0), variability=variability)
        belief = doubted(judging, math.inf)
        low, high = ends_of_range(judging, belief)
        assert low < belief.quantile(0.05)
        assert high > belief.quantile(0.95)
        assert high / low > least * belief.quantile(0.95) / belief.quantile(0.05)
