"""Prepares all trials of a search for the posterior, and derives the rate that may be promised."""

import math
from typing import Final, Literal

import numpy as np

from logreplay.analysis.search.bounds import Bound
from logreplay.analysis.search.judging import Judging
from logreplay.analysis.search.posterior import Belief, Carried, Light, Seen, believe, bunches
from logreplay.analysis.search.trials import Judged
from logreplay.analysis.statistics.failures import share_of
from logreplay.analysis.statistics.isotonic import isotonic

_HIGHER: Final = 1.6
"""The highest rate of the grid, as a multiple of the highest rate that was tried."""
_LOWER: Final = 0.6
_LOWEST: Final = 0.15
"""The lowest rate of the grid: `_LOWER` of the lowest rate that was tried, at least `_LOWEST` of the highest."""
_PROMISED: Final = 0.3
"""Probability that the rate lies below the promise."""
_PROMISED_HARD: Final = 0.10
_LEAST_STEEP: Final = 6.0
_LIGHTLY: Final = 0.6
"""Up to this share of the lowest rate that failed, response times have no waiting in them."""
_SOME: Final = 50
_HARD_WORK: Final = 1.8
"""Above this squared coefficient of variation of the work, two minutes do not predict the next two."""
_HARD_BUNCHES: Final = 5.0
"""The same for the size of the bunches of late requests, as a multiple of what queueing theory expects."""
_HARD_SD: Final = 0.09
_HARD_S: Final = 120.0
_RANGE_SD: Final = 0.015
"""Standard deviation between the rate that the model of the posterior gives and that of a target, as a share of it."""
_RANGE_HARD_SD: Final = 0.12
"""The same where the next minutes may differ, or after a collapse; as `_HARD_SD` for two minutes of search."""
_AFTER_COLLAPSE: Final = 0.8


def light(judging: Judging) -> Light:
    """Estimate the target without load from the trials of the ramp that passed."""
    few = [each for each in judging.judged if each.verdict == "pass" and each.trial.phase in ("calibrate", "ramp")]
    if not few:
        return Light(0.0, 1.0)
    most = _LIGHTLY * min((each.trial.rate for each in judging.judged if each.verdict == "fail"), default=math.inf)
    some = [each.outcome.evidence for each in few if each.trial.rate <= max(most, few[0].trial.rate)]
    spread = max((each.variability for each in some if each.requests >= _SOME), default=1.0)
    return Light(some[0].mean_response_s, spread)


def believed(judging: Judging, highest: float) -> Belief:
    """The posterior after all trials; ``highest``: the rate cannot be above it."""
    rates = [each.trial.rate for each in judging.valid]
    ends = max(_LOWER * min(rates), _LOWEST * max(rates)), min(highest, _HIGHER * max(rates))
    work = light(judging)
    carried = _carried(judging, work)
    timed = [
        (bound, _seen_of(judging, index), carried)
        for index, bound in enumerate(judging.goal.bounds)
        if bound.statistic != "errors"
    ]
    return believe([*timed, *_failures(judging)], work, ends)


def _seen_of(judging: Judging, index: int) -> list[Seen]:
    """The results of the valid trials for a bound."""
    return [
        Seen(
            each.trial.rate, of.requests, of.cost, of.design_effect, len(each.outcome.evidence.counts),
            bool(each.outcome.cut),
        )
        for each in judging.valid
        if (of := each.findings[index]).requests
    ]  # fmt: skip


def _carried(judging: Judging, work: Light) -> Carried | None:
    """The completions of the trials in which requests piled up."""
    piled = [e for e in judging.judged if (e.verdict == "fail" or e.outcome.contended) and _busy(judging, e)]
    if not piled:
        return None
    completed = np.array([each.outcome.evidence.completed(each.trial.settle_s) for each in piled])
    seconds = np.array([max(len(each.outcome.evidence.counts), 1) for each in piled], np.float64)
    rate = max(float(completed @ seconds / seconds.sum()), 1e-9)
    return Carried(rate, math.sqrt(max(work.variability, 0.2) / max(rate * seconds.sum(), 1)))


def _busy(judging: Judging, judged: Judged) -> bool:
    """Whether the target was busy for the whole trial: requests piled up, or most were late and some remained."""
    evidence, settled = judged.outcome.evidence, int(judged.trial.settle_s)
    if judging.backlog_grows(evidence.in_flight, judged.trial):
        return True
    late = max((each.cost for each in judged.on_times if each.bound.is_share), default=0.0)
    if judging.goal.users or late < 0.5 or len(evidence.in_flight) <= settled:
        return False
    grown = evidence.in_flight[-1] - evidence.in_flight[settled - 1]
    return bool(grown > 0.02 * evidence.requests)


def _failures(judging: Judging) -> list[tuple[Bound, list[Seen], Carried | None]]:
    """The bound on failures, if more requests failed with the load than fail at every rate; otherwise none."""
    errors = [bound for bound in judging.goal.bounds if bound.statistic == "errors"]
    valid = judging.valid
    more = [each for each in valid if judging.fails(each.outcome.evidence, each.trial)]
    if not errors or not more:
        return []
    base = share_of(judging.base(max(each.trial.rate for each in valid)))
    allowed = Bound("errors", max(errors[0].limit - base, errors[0].limit / 2))
    seen, good = [], []
    for each in valid:
        counts, failed = each.outcome.evidence.failures
        number = int(counts.sum())
        if not number:
            continue
        excess = max(float(failed.sum()) / number - base, 0.0)
        index = judging.goal.bounds.index(errors[0])
        seen.append(Seen(each.trial.rate, number, excess, each.findings[index].design_effect, len(counts)))
        if excess > 0.04 and each in more:
            good.append((each.trial.rate * (1 - excess), len(counts)))
    if not good:
        return [(allowed, seen, None)]
    rates, seconds = np.array(good, np.float64).T
    return [(allowed, seen, Carried(float(rates @ seconds / seconds.sum()), 0.02))]


def hard(judging: Judging) -> Literal["work", "bunches", ""]:
    """What in the trials shows that later minutes may be slower: ``work`` or ``bunches``; empty if nothing does."""
    work = light(judging)
    if work.variability > _HARD_WORK:
        return "work"
    for index, bound in enumerate(judging.goal.bounds):
        if bound.statistic == "errors" or not bound.is_share:
            continue
        if bunches(bound, _seen_of(judging, index), work.slack(bound), work) > _HARD_BUNCHES:
            return "bunches"
    return ""


def doubted(judging: Judging, highest: float) -> Belief:
    """The posterior: wider where the next minutes may differ from those of the trials, lower after a collapse."""
    belief = believed(judging, highest)
    if hard(judging):
        belief = belief.wider(_in_longer_time(judging, _HARD_SD))
    if judging.collapses:
        belief = Belief(belief.rates * _AFTER_COLLAPSE, belief.below)
    return belief


def _in_longer_time(judging: Judging, sd: float) -> float:
    """The standard deviation, given for two minutes, after the trials: it falls with the root of their time."""
    return sd * math.sqrt(_HARD_S / max(judging.elapsed, _HARD_S / 4))


def ends_of_range(judging: Judging, belief: Belief) -> tuple[float, float]:
    """The rates between which the highest rate that keeps the bounds lies with a probability of 90 %, by `doubted`.

    The range also allows for the error of the model of the posterior: no target is exactly as theory expects it.
    """
    unlike = hard(judging) or judging.collapses
    wider = belief.wider(_in_longer_time(judging, _RANGE_HARD_SD) if unlike else _RANGE_SD)
    return wider.quantile(0.05), wider.quantile(0.95)


def promised(judging: Judging, belief: Belief) -> float:
    """The rate that may be promised: probably kept, by `doubted`, and not above one at which too many were late."""
    sure = belief.quantile(_PROMISED_HARD if hard(judging) or judging.collapses else _PROMISED)
    return min(sure, *(_kept_up_to(judging, index) for index, _ in enumerate(judging.goal.bounds)))


def _kept_up_to(judging: Judging, index: int) -> float:
    """The highest rate that was tried at which a bound on time is kept by all trials up to it together."""
    bound = judging.goal.bounds[index]
    trials = sorted((e for e in judging.valid if e.findings[index].requests), key=lambda each: each.trial.rate)
    if bound.statistic == "errors" or not trials:
        return math.inf
    cost = np.array([each.findings[index].cost for each in trials])
    number = np.array([each.findings[index].requests for each in trials], np.float64)
    share = np.maximum(isotonic(cost, number), 1e-12)
    rate = np.array([each.trial.rate for each in trials])
    return float((rate * np.minimum(1.0, (bound.allowance + 1e-12) / share) ** (1 / _LEAST_STEEP)).max())
