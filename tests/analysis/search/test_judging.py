"""Trials are judged each by itself, and failures and trends by what chance does."""

from dataclasses import replace

import numpy as np
import pytest

from logreplay.analysis.search.bounds import Bound, BoundEvidence
from logreplay.analysis.search.judging import Judging
from logreplay.analysis.search.trials import Goal, Phase, Trial, TrialOutcome

GOAL = Goal((Bound("p99", 0.3), Bound("errors", 0.01)), start=50)


def evidence(rate: int, seconds: int, failed: dict[int, int] | None = None, late: float = 0.0) -> BoundEvidence:
    counts = np.full(seconds, rate, np.int64)
    failures = np.zeros(seconds, np.int64)
    for second, number in (failed or {}).items():
        failures[second] = number
    judged = np.stack((counts - failures, counts))
    costs = np.stack((judged[0] * late, failures.astype(np.float64)))
    return BoundEvidence(counts, costs, judged, np.full(seconds + 2, 3, np.int64), failures)


def judge(judging: Judging, rate: int, phase: Phase = "narrow", seconds: int = 12, **shown: object) -> str:
    trial = Trial(len(judging.judged) + 1, phase, rate, 2, seconds)
    return judging.judge(trial, TrialOutcome(evidence(rate, seconds, **shown), seconds + 2.0))  # type: ignore[arg-type]


def test_a_burst_of_failures_fails_no_trial_and_cannot_be_promised_away() -> None:
    judging = Judging(GOAL)
    assert judge(judging, 50) == "pass"
    assert judge(judging, 200, failed={5: 150}) == "pass"
    assert judge(judging, 210, "confirm", 60) == "pass"
    assert judging.fails_too_often == 0
    assert judge(judging, 205, failed={3: 200}) == "pass"
    assert judging.fails_too_often == pytest.approx(350 / (12 * 455 + 60 * 210))


def test_refusals_in_most_seconds_are_of_the_load() -> None:
    judging = Judging(GOAL)
    judge(judging, 50)
    assert judge(judging, 200, failed=dict.fromkeys(range(12), 20)) == "fail"
    assert judging.fails_too_often == 0


def test_a_rate_passed_only_if_no_longer_trial_failed_at_it_or_below() -> None:
    judging = Judging(GOAL)
    judge(judging, 160, "ramp", 3)
    judge(judging, 150, late=0.3)
    assert judging.highest_passed is None
    judge(judging, 140)
    assert judging.highest_passed == 140
    assert judging.lowest_failed(140) == 150


def test_response_times_that_rise_throughout_a_confirmation_are_a_trend_and_a_wave_is_none() -> None:
    judging = Judging(GOAL)
    judge(judging, 100, "confirm", 60)
    (judged,) = judging.judged
    assert judging.builds_up(judged) is None

    def seen(means: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> object:
        shown = replace(judged.outcome.evidence, response_s=judged.outcome.evidence.counts * means)
        return judging.builds_up(replace(judged, outcome=replace(judged.outcome, evidence=shown)))

    assert seen(np.linspace(0.02, 0.05, 60))
    assert seen(0.02 + 0.01 * np.sin(np.arange(60) / 5)) is None
    assert seen(np.linspace(0.02, 0.021, 60)) is None


def test_after_a_confirmation_that_failed_half_of_a_trend_is_enough() -> None:
    """A leak of 80 s passed the shorter confirmation that followed: 6 of 40 searches promised 22 to 33 % too much."""
    judging = Judging(GOAL)
    judge(judging, 100, "confirm", 40)
    (judged,) = judging.judged
    tenths = np.repeat([25, 21, 28, 24, 33, 27, 29, 35, 31, 43], 4) / 1e3
    rising = replace(judged.outcome.evidence, response_s=judged.outcome.evidence.counts * tenths)
    later = replace(judged, outcome=replace(judged.outcome, evidence=rising))
    assert judging.builds_up(later)
    tenths = np.repeat([25, 21, 31, 28, 24, 33, 27, 35, 38, 29], 4) / 1e3
    rising = replace(judged.outcome.evidence, response_s=judged.outcome.evidence.counts * tenths)
    later = replace(judged, outcome=replace(judged.outcome, evidence=rising))
    assert judging.builds_up(later) is None
    assert judge(judging, 120, "confirm", 60, late=0.05) == "fail"
    assert judging.builds_up(later)
