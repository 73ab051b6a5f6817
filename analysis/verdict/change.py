"""Changes of response times, from pairs of requests or from percentiles, and the verdicts on them.

Changes that are judged together allow for their number (Holm, A simple sequentially rejective multiple test procedure,
1979): of equal versions, none of them is called different in 95 % of the cases.
"""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import polars as pl

from logreplay.analysis.statistics import bootstrap, estimates
from logreplay.analysis.statistics.estimates import Estimate, p_value, student

TOLERANCE: Final = 0.02
AT_ONCE_TOLERANCE: Final = 0.01
"""Changes of a duet up to this fraction are called none."""
FEWEST_PAIRS: Final = 100
QUANTILES: Final = (0.5, 0.9, 0.99)
NO_DIFFERENCE: Final = "no difference detected"
DIFFERENT: Final = ("slower", "faster")
"""All other verdicts begin with `NO_DIFFERENCE`."""
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
        low: lower end of its 95 % interval.
        high: upper end.
        count: requests (or pairs of them) it rests on.
        blocks: blocks of time it rests on; of several pairs of runs: pairs.
        freedom: degrees of freedom of the interval, which is that of Student's t.
    """

    ratio: float
    low: float
    high: float
    count: int
    blocks: int
    freedom: float

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
        return p_value(student(1 - _DOUBT, self.freedom) * distance / half, self.freedom)

    def verdict(self, tolerance: float = TOLERANCE) -> str:
        """The verdict on this change alone, as `verdicts` gives it."""
        return verdicts({"": self}, tolerance)[""]

    def detectable(self, tolerance: float = TOLERANCE) -> float:
        """The smallest change that would have been seen, as a fraction."""
        return max(tolerance, math.sqrt(self.high / max(self.low, 1e-300)) - 1)

    def may_exceed(self, limit: float) -> bool:
        """Whether it may be slower by more than a limit, and a change of that size could not have been detected."""
        return self.high - 1 > limit and max(self.ratio - 1, self.detectable(0)) > limit

    def sentence(self, tolerance: float = TOLERANCE, verdict: str = "") -> str:
        """The verdict with its figures; another verdict than that of `verdict` where it was judged with others."""
        verdict, detectable = verdict or self.verdict(tolerance), self.detectable(tolerance)
        if verdict in DIFFERENT:
            low, high = sorted(abs(end - 1) for end in (self.low, self.high))
            return f"{verdict} by {abs(self.ratio - 1):.1%} ({low:.1%} to {high:.1%})"
        if detectable > 1:
            return f"{NO_DIFFERENCE}: too short, or too unsteady, to detect even a doubling"
        return f"{verdict} ({self.low - 1:+.1%} to {self.high - 1:+.1%}; smallest detectable ~{detectable:.1%})"


def verdicts(changes: Mapping[Key, Change], tolerance: float = TOLERANCE, doubt: float = _DOUBT) -> dict[Key, str]:
    """Judge changes together, by the method of Holm: ``slower``, ``faster``, or ``no difference detected`` for each.

    The interval of a change does not allow for the others. Where it excludes no change, yet the change does not count,
    the verdict says why: ``no difference detected above 2%``, or ``no difference detected: not significant among 9
    rows``.

    Args:
        changes: by name.
        tolerance: changes up to this fraction are called none.
        doubt: share of the cases in which one of equal versions may be called different.
    """
    found, certain = dict.fromkeys(changes, NO_DIFFERENCE), True
    for place, name in enumerate(sorted(changes, key=lambda name: changes[name].p)):
        change = changes[name]
        certain = certain and change.p <= doubt / (len(changes) - place)
        large = abs(change.ratio - 1) > tolerance
        if certain and large:
            found[name] = DIFFERENT[change.ratio < 1]
        elif not change.low <= 1 <= change.high:
            several = f" among {len(changes)} rows" if len(changes) > 1 else ""
            found[name] += f": not significant{several}" if large else f" above {100 * tolerance:g}%"
    return found


def duet_verdicts(change: Change, others: Mapping[Key, Change], tolerance: float) -> dict[Key | str, str]:
    """Judge a duet: half of the doubt is for the change of all pairs, `ALL`, half for all others."""
    return verdicts({ALL: change}, tolerance, _DOUBT / 2) | verdicts(others, tolerance, _DOUBT / 2)


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
    errors = [math.log1p(half.detectable(0)) / student(1 - _DOUBT, half.freedom) for half in halves if half]
    error, moved = math.hypot(*errors), math.log(halves[1].ratio / halves[0].ratio)
    doubt = p_value(moved / error, halves[0].freedom + halves[1].freedom) if error else 0.0
    if abs(moved) > tolerance and doubt < _DRIFT_DOUBT:
        yield (
            f"the change drifted: {halves[0].ratio - 1:+.1%} in the first half, {halves[1].ratio - 1:+.1%} in the "
            "second; warm both targets up, and run longer"
        )
