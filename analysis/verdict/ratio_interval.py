"""Changes of response times, from pairs of requests or from percentiles, and the verdicts on them.

A verdict follows from the interval beside it: a change is slower or faster if its interval excludes no change. Changes
that are judged together have wider intervals (by the method of Holm, A simple sequentially rejective multiple test
procedure, 1979): of equal versions, no interval excludes no change in 95 % of the cases.
"""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import numpy as np
import polars as pl

from logreplay.analysis.statistics import bootstrap, estimates
from logreplay.analysis.statistics.estimates import Estimate, p_value, student

TOLERANCE: Final = 0.02
AT_ONCE_TOLERANCE: Final = 0.01
"""Changes of a duet up to this fraction do not count."""
FEWEST_PAIRS: Final = 100
QUANTILES: Final = (0.5, 0.9, 0.99)
NO_DIFFERENCE: Final = "no difference detected"
DIFFERENT: Final = ("slower", "faster")
POWER: Final = 0.8
"""Share of the comparisons in which the smallest detectable change is found."""
_DOUBT: Final = 0.05
_DRIFT_DOUBT: Final = 0.01
_DIGITS: Final = 9
"""Equal ratios of times, such as 0.004/0.002 and 0.006/0.003, differ in digits behind these."""
_FEWEST_ABOVE: Final = 10
"""Requests above a percentile of a duet, or it is not judged."""

Key = TypeVar("Key", bound=Hashable)


ALL: Final = "all"
"""Name of the change of all requests together."""


@dataclass(frozen=True)
class Change:
    """By what factor times differ.

    Attributes:
        ratio: candidate / baseline; 1.03 is 3 % slower.
        low: lower end of its interval.
        high: upper end.
        count: requests (or pairs of them) it rests on.
        blocks: blocks of time it rests on; of several pairs of runs: pairs.
        freedom: degrees of freedom of the interval, which is that of Student's t.
        confidence: of the interval; above 0.95 where others are judged beside it.
    """

    ratio: float
    low: float
    high: float
    count: int
    blocks: int
    freedom: float
    confidence: float = 1 - _DOUBT

    @classmethod
    def of(cls, estimate: Estimate, count: int) -> "Change":
        """Return the change that an estimate of the logarithm of the ratio stands for."""
        low, high = (math.exp(min(end, 700)) for end in estimate.ends(1 - _DOUBT))
        return cls(math.exp(estimate.value), low, high, count, estimate.blocks, estimate.freedom)

    @property
    def p(self) -> float:
        """The probability that equal versions differ by so much."""
        distance = abs(math.log(self.ratio))
        half = math.log(self.ratio / self.low if self.ratio > 1 else self.high / self.ratio)
        if not half or not distance:
            return float(not distance)
        return p_value(student(self.confidence, self.freedom) * distance / half, self.freedom)

    @property
    def error(self) -> float:
        """Standard error of the logarithm of the ratio."""
        return math.log(self.high / max(self.low, 1e-300)) / 2 / student(self.confidence, self.freedom)

    def at(self, confidence: float) -> "Change":
        """Return the same change with an interval of another confidence."""
        wider = student(confidence, self.freedom) / student(self.confidence, self.freedom)
        logs = (math.log(max(end, 1e-300) / self.ratio) * wider for end in (self.low, self.high))
        low, high = (self.ratio * math.exp(max(min(end, 600), -600)) for end in logs)
        return replace(self, low=low, high=high, confidence=confidence)

    def verdict(self, tolerance: float = TOLERANCE) -> str:
        """``no difference detected`` if the interval holds no change; else ``slower`` or ``faster``.

        Up to the tolerance that word is ``slower within 2%``: the change is certain, and too small to count.
        """
        if self.low <= 1 <= self.high:
            return NO_DIFFERENCE
        word = DIFFERENT[self.ratio < 1]
        return word if abs(self.ratio - 1) > tolerance else f"{word} within {100 * tolerance:g}%"

    def detectable(self, tolerance: float = TOLERANCE) -> float:
        """The smallest change that is found in `POWER` of such comparisons, as a fraction.

        It is found if its estimate is beyond both half the interval and the tolerance. An estimate falls short of the
        truth in half of the comparisons, so a change of just that size is found in the other half only.
        """
        least = max(self.error * student(self.confidence, self.freedom), math.log1p(tolerance))
        return math.expm1(min(least + self.error * student(2 * POWER - 1, self.freedom), 700))

    def may_exceed(self, limit: float) -> bool:
        """Whether it may be slower by more than a limit, and a change of that size could not have been detected."""
        return self.high - 1 > limit and max(self.ratio - 1, self.detectable(0)) > limit

    def sentence(self, tolerance: float = TOLERANCE) -> str:
        """The verdict with its figures."""
        verdict, detectable = self.verdict(tolerance), self.detectable(tolerance)
        if verdict != NO_DIFFERENCE:
            low, high = sorted(abs(end - 1) for end in (self.low, self.high))
            word, _, within = verdict.partition(" ")
            counts = f", {within}: too small to count" if within else ""
            return f"{word} by {abs(self.ratio - 1):.1%} ({low:.1%} to {high:.1%}){counts}"
        if detectable > 1:
            return f"{NO_DIFFERENCE}: too short, or too unsteady, to detect even a doubling"
        return f"{NO_DIFFERENCE} ({self.low - 1:+.1%} to {self.high - 1:+.1%}; smallest detectable ~{detectable:.1%})"


def together(changes: Mapping[Key, Change], doubt: float = _DOUBT) -> dict[Key, Change]:
    """Return changes that are judged together, with intervals that allow for their number, by the method of Holm.

    Args:
        changes: by name.
        doubt: share of the cases in which an interval of one of equal versions may exclude no change.
    """
    found, highest = {}, 0.0
    for place, name in enumerate(sorted(changes, key=lambda name: changes[name].p)):
        change, left = changes[name], len(changes) - place
        highest = max(highest, change.p * left)
        found[name] = change.at(1 - doubt / (highest / change.p if change.p else left))
    return {name: found[name] for name in changes}


def together_in_duet(change: Change, others: Mapping[Key, Change]) -> dict[Key | str, Change]:
    """Return the changes of a duet as `together`; half of the doubt is for that of all pairs, `ALL`."""
    return together({ALL: change}, _DOUBT / 2) | together(others, _DOUBT / 2)


def combined(changes: Sequence[Change | None]) -> Change | None:
    """Return the change of several pairs of runs, from the spread between them; None where fewer than two have one."""
    if len(changes) == 1:
        return changes[0]
    known = [change for change in changes if change]
    if len(known) < 2:
        return None
    logs = np.log([change.ratio for change in known])
    return Change.of(estimates.mean(logs), sum(change.count for change in known))


def median_change(pairs: pl.DataFrame) -> Change | None:
    """Return the median ratio of pairs; None for fewer than `FEWEST_PAIRS`, or less than five seconds with any.

    Args:
        pairs: ``scheduled`` (seconds) and ``log`` (logarithm of the ratio).
    """
    if pairs.height < FEWEST_PAIRS:
        return None
    logs = pairs["log"].round(_DIGITS).to_numpy()
    found = estimates.quantile(pairs["scheduled"].to_numpy(), logs, 0.5)
    return Change.of(found, pairs.height) if found else None


def quantile_changes(old: pl.DataFrame, new: pl.DataFrame) -> dict[str, Change]:
    """Return the ratios of the percentiles of two runs, of the requests answered as expected, with intervals."""
    sides = [answered(run) for run in (old, new)]
    fewest = min(side.height for side in sides)
    if fewest < FEWEST_PAIRS:
        return {}
    logs = [(side["scheduled"].to_numpy(), np.log(side["response"].to_numpy())) for side in sides]
    changes = {}
    for p in QUANTILES:
        before, after = (estimates.quantile(*side, p) for side in logs)
        if before and after:
            changes[f"p{100 * p:g}"] = Change.of(after.minus(before), fewest)
    return changes


def ratio_changes(sides: Sequence[pl.DataFrame], shares: Sequence[float] = QUANTILES) -> dict[str, Change]:
    """Return the ratios of the percentiles of two runs that were made at once; empty where they are too short.

    Args:
        sides: both runs; ``scheduled`` (seconds, of one clock), ``response``.
        shares: 0.5 for the median.
    """
    fewest = min(side.height for side in sides)
    if fewest < FEWEST_PAIRS:
        return {}
    old, new = ((side["scheduled"].to_numpy(), side["response"].to_numpy()) for side in sides)
    known = [
        share
        for share in shares
        if fewest * (1 - share) >= _FEWEST_ABOVE and all(bootstrap.spread_above(*side, share) for side in (old, new))
    ]
    found = bootstrap.ratios(old, new, known) or []
    return {f"p{100 * p:g}": Change.of(each, fewest) for p, each in zip(known, found, strict=False)}


def answered(run: pl.DataFrame) -> pl.DataFrame:
    """The requests that were answered as expected, with a time above 0."""
    return run.filter(pl.col("good"), pl.col("response") > 0)


def shared_change(sides: Sequence[pl.DataFrame], *, paired: bool) -> Change | None:
    """Return the change between two runs that were made at once: the trimmed mean of the ratios of pairs, or p50.

    Args:
        sides: as for `ratio_changes`.
        paired: the rows of both are pairs.
    """
    if not paired:
        return ratio_changes(sides, (0.5,)).get("p50")
    if sides[0].height < FEWEST_PAIRS:
        return None
    old, new = (side["response"].to_numpy() for side in sides)
    found = bootstrap.trimmed_mean(sides[0]["scheduled"].to_numpy(), np.log(new / old))
    return Change.of(found, len(old)) if found else None


def drift(sides: Sequence[pl.DataFrame], tolerance: float, *, paired: bool) -> Iterator[str]:
    """Say if the change was another in the second half of a duet; arguments as for `shared_change`."""
    times = sides[0]["scheduled"]
    if times.is_empty():
        return
    middle = float(np.median(times.to_numpy()))
    early, late = pl.col("scheduled") < middle, pl.col("scheduled") >= middle
    halves = [shared_change([side.filter(half) for side in sides], paired=paired) for half in (early, late)]
    if not (halves[0] and halves[1]):
        return
    error, moved = math.hypot(halves[0].error, halves[1].error), math.log(halves[1].ratio / halves[0].ratio)
    doubt = p_value(moved / error, halves[0].freedom + halves[1].freedom) if error else 0.0
    if abs(moved) > tolerance and doubt < _DRIFT_DOUBT:
        yield (
            f"the change drifted: {halves[0].ratio - 1:+.1%} in the first half, {halves[1].ratio - 1:+.1%} in the "
            "second; warm both targets up, and run longer"
        )
