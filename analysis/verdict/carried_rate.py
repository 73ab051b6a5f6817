"""Estimates the rate that a target carries within a bound on its response time, and the bracket that holds it.

A step shows its percentile with an error that the length of the step and the utilisation decide (`step_intervals`):
near saturation a step may look fast, or slow, by chance. So the rate at which the percentile reaches the bound is
looked for in many curves, each of which differs from the measured figures by as much as these errors allow. Where
failures set the limit, as those of a rate limiter, the rate at which too many fail is looked for in the same way.

Source: a parametric bootstrap. Between two rates the percentile grows as that of a queue: its inverse is a straight
line, and 0 at saturation.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from logreplay.analysis.statistics.failing_rate import CURVES, bracket, failing_rates, last_below, share_that_may_fail
from logreplay.analysis.statistics.failures import ERROR_SHARE
from logreplay.analysis.statistics.isotonic import isotonic
from logreplay.analysis.statistics.quantiles import PERCENTILES, Floats
from logreplay.analysis.tables.step_intervals import OF_MEAN, SCALES, of_queue
from logreplay.analysis.verdict.saturation import CARRIED, NEAR
from logreplay.analysis.verdict.saturation_sentences import FEWEST_STEPS

_SEED: Final = 1
SATURATION_ERROR: Final = 0.04
"""Relative standard error of the saturation of a sweep."""
_LUCK: Final = 1.0
"""Variances that are added to the logarithm: steps near saturation look fast more often than slow."""
_ERROR: Final = 0.85
"""Standard error over that by the design effect of a queue with one worker, which is larger than that of others."""
_MOST: Final = 1.0
"""Standard error of a logarithm above which a figure is unknown."""
_SHORT: Final = 0.01
"""Times below this share of the bound count as this share: a log in whole seconds has times of 0."""
_FAILED: Final = (pl.col("errors") - pl.col("dropped")).sum().alias("failed")
_SENT: Final = (pl.col("scheduled") - pl.col("dropped")).sum().alias("sent")
_BAD: Final = pl.col("verdict").is_in(["overloaded", "errors"]) | ~pl.col("bounded").is_finite()
_HIGHER: Final = 2
"""Number of higher rates that the target must carry before a bad rate is ignored: a single one could be luck."""
_BEYOND: Final = 1.1
"""A target that no rate overloaded is assumed to saturate at this many times the highest one, for the errors only."""


@dataclass(frozen=True)
class CarriedRate:
    """The rate that a target carries within a bound, requests/s.

    Attributes:
        lowest: the lowest rate that counts.
        low: lower end of the bracket.
        likely: the rate; None if not even ``lowest`` is carried.
        high: upper end; None if every rate was carried.
        kept: highest rate that was tested and kept the bound, below ``missed``.
        missed: lowest rate above ``likely`` that was tested and did not keep the bound; None if there is none.
        passed: rates below ``kept`` at which the target was overloaded or failed, and which `first_not_carried` lets
            pass.
    """

    lowest: float
    low: float = 0.0
    likely: float | None = None
    high: float | None = None
    kept: float = 0.0
    missed: float | None = None
    passed: tuple[float, ...] = ()

    def bounded_by(self, other: "CarriedRate", choose: Callable[[float, float], float]) -> "CarriedRate":
        """The same with the lower of both rates and ends (``choose`` is min), or the higher (max), if both have one."""
        if self.likely is None or other.likely is None:
            return self
        high = choose(self.high or math.inf, other.high or math.inf)
        return replace(
            self,
            low=choose(self.low, other.low),
            likely=choose(self.likely, other.likely),
            high=None if math.isinf(high) else high,
        )


def failures_allowed(steps: pl.DataFrame, limit: float | None) -> float | None:
    """The share of failures up to which a rate is carried, where failures set the limit; otherwise None.

    They do where too many requests failed at the rate from which on the target did not carry the load. ``steps`` are
    those that count; ``limit`` is the saturation, if it is known.
    """
    failing, over = ((pl.col("verdict") == word).mean() for word in ("errors", "overloaded"))
    table, base = for_each_rate(steps, failing=failing, over=over), base_of(steps)
    first = first_not_carried(table, base, limit)
    if first is None or table["failing"][first] <= table["over"][first]:
        return None
    failed, number = (table[name].to_numpy()[: first + 1] for name in ("failed", "sent"))
    return share_that_may_fail(failed, number, base)


def for_each_rate(steps: pl.DataFrame, **more: pl.Expr) -> pl.DataFrame:
    """A row for each rate, ascending, with its evidence.

    Requests ``sent`` and ``failed``, responses/s ``answered``, infinite if unknown; ``bad``: overloaded or failing in
    half of the steps; ``kept``: all of them keep the bound.
    """
    bad, answered = _BAD.mean() >= 0.5, pl.col("settled_completed").mean().fill_null(math.inf)
    kept = pl.col("kept").fill_null(False).all()
    return steps.group_by("rate").agg(_FAILED, _SENT, kept, bad=bad, answered=answered, **more).sort("rate")


def first_not_carried(table: pl.DataFrame, base: float, limit: float | None) -> int | None:
    """Index of the first bad rate that did not pass; None if there is none.

    A bad rate passed if the target carried higher ones: it was slow for a moment. These must be at least `_HIGHER`
    rates, clearly higher and below saturation, with `_HIGHER` times the requests of the bad rates between them. Of
    fewer than `FEWEST_STEPS` rates none passes.
    """
    rate, bad, sent, answered = (table[name].to_numpy() for name in ("rate", "bad", "sent", "answered"))
    whole = (answered >= CARRIED * rate) & (table["failed"].to_numpy() <= (base + ERROR_SHARE) * sent)
    carried = table["kept"].to_numpy() & whole & (rate < (limit or math.inf))
    last = int(np.flatnonzero(carried).max(initial=0))
    for first in np.flatnonzero(bad).tolist():
        higher = carried & (rate > (1 + NEAR) * rate[first])
        slow = sent[first:last][bad[first:last]].sum()
        if table.height < FEWEST_STEPS or higher.sum() < _HIGHER or sent[higher].sum() < _HIGHER * slow:
            return int(first)
    return None


def base_of(steps: pl.DataFrame) -> float:
    """The share of the requests that fail at every rate."""
    return float(steps["error_base"].fill_null(0.0).to_numpy().max(initial=0.0))


def carried_rate(
    steps: pl.DataFrame, figure: str, within: float, limit: float | None, runs: int = 1, may_fail: float | None = None
) -> CarriedRate:
    """Estimate the rate from steps that count.

    Args:
        steps: with ``bounded``, the figure that a bound is on, ``judged``, of how many requests, and ``kept``.
        limit: the saturation, median of so many ``runs``; None if no rate overloaded the target.
        may_fail: share of failures up to which a rate is carried, where failures set the limit.
    """
    counted = pl.col("bounded").clip(_SHORT * within)
    steps = steps.with_columns(bad=_BAD, error=_errors(steps, figure, limit), log=counted.log())
    weight = (1 / pl.col("error") ** 2).filter(~pl.col("bad")).sum()
    weighted = (pl.col("log") / pl.col("error") ** 2).filter(~pl.col("bad")).sum() / weight
    table = for_each_rate(steps, log=weighted, error=weight**-0.5)
    first = first_not_carried(table, base_of(steps), limit)
    if first == 0:
        return CarriedRate(float(table["rate"][0]))
    stop = math.inf if first is None else float(table["rate"][first])
    bad = table.filter("bad")["rate"].to_numpy()
    table = table[int(table["bad"].to_numpy().argmin()) :]  # the lowest rates may be those at which the target warms up
    rates, fails = table["rate"].to_numpy(), table["bad"].to_numpy()
    good = ~fails & (rates < min(stop, limit or math.inf))
    if not good.any():  # even the lowest rate is at saturation or above, and did not fail
        lowest = float(rates[0])
        return CarriedRate(lowest, lowest, lowest, None if math.isinf(stop) else stop, lowest, None)
    rate, log, error = rates[good], table["log"].to_numpy()[good], table["error"].to_numpy()[good]
    error = error * _disagreement(steps)
    if may_fail is not None:
        slow = _crossings(rate, log, error, math.log(within), None, math.inf, runs)
        tell = (rates == stop) | (~fails & (rates < stop))  # a burst of failures that passed does not
        told, failed, sent = (table[name].to_numpy()[tell] for name in ("rate", "failed", "sent"))
        start = last_below(failed[:-1], sent[:-1], may_fail)
        found = np.minimum(slow, failing_rates(told[start:], failed[start:], sent[start:], may_fail))
    else:
        found = np.tile(_crossings(rate, log, error, math.log(within), limit, stop, runs), (3, 1))
    low, likely, high = bracket(*found)
    if likely < rates[0] and not table["kept"][0]:
        return CarriedRate(float(rates[0]))
    likely, high = max(likely, rates[0]), max(high, rates[0])
    highest = float(rate[-1])
    missed = rates[(rates > min(likely, highest)) & ~table["kept"].to_numpy()].min(initial=math.inf)
    held = rates[table["kept"].to_numpy() & (rates < missed)]
    kept = float(held[-1] if len(held) else rates[0])
    return CarriedRate(
        float(rates[0]),
        min(low, highest) if math.isinf(low) else low,
        min(likely, highest) if math.isinf(likely) else likely,
        None if math.isinf(high) else high,
        kept,
        None if math.isinf(missed) else float(missed),
        tuple(bad[bad < min(kept, stop)].tolist()),
    )


def _errors(steps: pl.DataFrame, figure: str, limit: float | None) -> pl.Series:
    """The standard error of the logarithm of the bounded figure of each step."""
    rates = steps["rate"].to_numpy()
    effect = of_queue(rates / (limit or _BEYOND * rates.max()), 1.0)
    if "design_effect" in steps.columns:
        seen = steps["design_effect"].cast(pl.Float64).fill_null(math.nan).to_numpy()
        effect = np.where(np.isnan(seen), effect, seen)
    p = PERCENTILES.get(figure)
    scale = OF_MEAN if p is None else SCALES.get(figure, 1.0)
    independent = np.maximum(steps["judged"].to_numpy() / (scale * effect), 1e-9)
    spread = 1.0 if p is None else math.sqrt(p / (1 - p)) / math.log(1 / (1 - p))  # of an exponential distribution
    return pl.Series(np.clip(_ERROR * spread / np.sqrt(independent), 1e-6, _MOST))


def _disagreement(steps: pl.DataFrame) -> float:
    """Spread of the steps of a rate over the spread that their errors explain: 1 or more."""
    good = steps.filter("kept")
    apart = ((pl.col("log") - pl.col("log").mean()) / pl.col("error")).over("rate") ** 2
    freedom = good.height - good["rate"].n_unique()
    return math.sqrt(max(1.0, float(good.select(apart.sum()).item()) / freedom)) if freedom else 1.0


def _crossings(
    rate: Floats, log: Floats, error: Floats, bound: float, limit: float | None, stop: float, runs: int
) -> Floats:
    """(curves,) the rate at which each reaches the bound; infinite where none of its rates does."""
    rng = np.random.default_rng(_SEED)
    curves = log + error * rng.standard_normal((CURVES, len(rate))) + _LUCK * error**2
    ends = np.full(CURVES, stop)
    if limit is not None:
        ends = np.minimum(limit * np.exp(SATURATION_ERROR / math.sqrt(runs) * rng.standard_normal(CURVES)), stop)
    return np.array([_crossing(rate, isotonic(c, error**-2), bound, end) for c, end in zip(curves, ends, strict=True)])


def _crossing(rate: Floats, log: Floats, bound: float, end: float) -> float:
    """The rate below ``end`` at which a rising curve reaches the bound."""
    above = int(np.searchsorted(log, bound, "right"))
    if above == 0:
        return float(rate[0] * math.exp(max(bound - log[0], -700.0)))
    if above == len(rate):
        if end <= rate[-1] or math.isinf(end):
            return end
        return float(rate[-1] + _way(log[-1], math.inf, bound) * (end - rate[-1]))
    crossed = rate[above - 1] + _way(log[above - 1], log[above], bound) * (rate[above] - rate[above - 1])
    return float(min(crossed, end))


def _way(low: float, high: float, bound: float) -> float:
    """Share of the way from one time to a longer one at which the bound lies, if their inverse is a straight line."""
    return (1 - math.exp(low - bound)) / (1 - math.exp(low - high))
