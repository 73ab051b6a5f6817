"""Changes of response times, from pairs of requests or from percentiles, and the verdicts on them.

A verdict follows from the interval: a change is slower or faster exactly if its interval does not contain 0 %.
Percentiles and rates that are judged together have wider intervals (by the method of Holm, A simple sequentially
rejective multiple test procedure, 1979). A route is judged by how it deviates from all requests of the same second,
added to the change of all requests: both intervals add up, and those of the deviations allow for their number. What
disturbs all routes alike is in the change of all requests only.
"""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
import polars as pl

from logreplay.analysis.format_time import WIDEST
from logreplay.analysis.statistics import estimates, swapped, typical_value
from logreplay.analysis.statistics.estimates import student
from logreplay.analysis.statistics.quantile_series import Placed, blocks_of, ratio_series
from logreplay.analysis.statistics.quantiles import Floats, Ints
from logreplay.core.plural import number_of
from logreplay.core.record import SWAP_TURN

TOLERANCE: Final = 0.02
AT_ONCE_TOLERANCE: Final = 0.01
"""Changes of a duet up to this fraction do not count."""
FEWEST_PAIRS: Final = 100
SHORTEST_S: Final = 5.0
"""Runs apart, and percentiles, are not compared in less time."""
QUANTILES: Final = (0.5, 0.9, 0.99)
NO_DIFFERENCE: Final = "no difference detected"
UNDECIDED: Final = "undecided"
"""Verdict of an interval that contains 0 % and is wider than `WANTED`."""
DIFFERENT: Final = ("slower", "faster")
WANTED: Final = 0.1
"""A comparison that cannot detect a change of this size is undecided."""
POWER: Final = 0.8
"""Share of the comparisons in which the smallest detectable change is found."""
_DOUBT: Final = 0.05
SWAPPED_DOUBT: Final = 0.005
"""Share of equal versions that is called different, if two pairs of targets take turns."""
_DRIFT_DOUBT: Final = 0.01
_FEWEST_BURSTS: Final = 8.0
"""Fewest seconds, of equal weight, with requests above a percentile for it to be compared."""
_BURSTS_PER_S: Final = 0.6
"""Fewest of them per second of a short run."""
_LEFT_OUT: Final = 0.2
"""Share of the seconds that the deviation of a route leaves out at each end."""
_ENDLESS: Final = 600.0
"""Logarithm of a ratio from which an end is infinite."""

ALL: Final = "all"
"""Name of the change of all requests together."""
SECOND_PAIR: Final = "second_pair"
"""Column beside `SWAP_TURN`: True in the turns of one pair of targets, False in those of the other."""
_SERIES: Final = ("scheduled", "log", "noise")
SWAPPED_SERIES: Final = ("scheduled", "log", SWAP_TURN, SECOND_PAIR)
"""Columns of pairs from which their typical ratio comes where two pairs of targets took turns."""

Key = TypeVar("Key", bound=Hashable)
Estimated: TypeAlias = estimates.Estimate | typical_value.TypicalValue


@dataclass(frozen=True)
class Change:
    """By what factor times differ.

    Attributes:
        ratio: candidate / baseline; 1.03 is 3 % slower.
        low: lower end of its interval; 0 where the measurement sets none.
        high: upper end; infinite where it sets none.
        count: requests (or pairs of them) it rests on.
        blocks: blocks of time it rests on; of several pairs of runs: pairs.
        freedom: degrees of freedom of Student's t, from which the interval comes.
        confidence: confidence of the interval; above 0.95 where others are judged beside it.
        seconds: length of the measurement; 0 for several pairs of runs.
    """

    ratio: float
    low: float
    high: float
    count: int
    blocks: int
    freedom: float
    confidence: float = 1 - _DOUBT
    seconds: float = 0.0

    @property
    def error(self) -> float:
        """Standard error of the logarithm of the ratio."""
        return self._half / student(self.confidence, self.freedom)

    @property
    def _half(self) -> float:
        """Half the interval, of the logarithm of the ratio."""
        return (_log(self.high) - _log(self.low)) / 2

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; an end that the measurement does not set is None."""
        return asdict(self) | {"low": self.low or None, "high": self.high if math.isfinite(self.high) else None}

    def verdict(self, tolerance: float = TOLERANCE) -> str:
        """``slower`` or ``faster`` if the interval does not contain 0 %; otherwise ``no difference detected``.

        Up to the tolerance the word is ``slower within 2%``: the change is certain, and too small to count. Where not
        even a change of 10 % could be detected, it is ``undecided``.
        """
        if self.low <= 1 <= self.high:
            return UNDECIDED if 2 * self._half > math.log1p(WANTED) else NO_DIFFERENCE
        word = DIFFERENT[self.ratio < 1]
        return word if abs(self.ratio - 1) > tolerance else f"{word} within {100 * tolerance:g}%"

    def detectable(self, tolerance: float = TOLERANCE) -> float:
        """The smallest change that is found in `POWER` of such comparisons, as a fraction.

        It is found if its estimate is beyond both half the interval and the tolerance. An estimate falls short of the
        truth in half of the comparisons, so a change of just that size is found in the other half only.
        """
        least = max(self._half, math.log1p(tolerance))
        return math.expm1(min(least + self.error * student(2 * POWER - 1, self.freedom), 700))

    def may_exceed(self, limit: float) -> bool:
        """Whether it may be slower by more than a limit, and the runs are too short to detect a change of that size."""
        return self.high - 1 > limit and max(self.ratio - 1, self.detectable(0)) > limit

    def remedy(self, size: float) -> str:
        """Say how long to measure to detect a change of this size: the interval narrows with the root of the time."""
        if self._half > _ENDLESS / 4:
            return "run longer, or use a quieter machine"
        size = math.log1p(max(size, 1e-3))
        if not self.seconds:
            scatter = 2 * self.error * math.sqrt(self.blocks)
            fewest = max(math.ceil(min((scatter * student(1 - _DOUBT, 1e6) / size) ** 2, 1e9)), self.blocks + 1)
            some = range(fewest, fewest + 9)  # with few pairs, Student's t needs up to four more
            enough = (each for each in some if scatter * student(1 - _DOUBT, each - 1) <= size * math.sqrt(each))
            return f"compare at least {number_of(next(enough, fewest), 'pair')} of runs"
        minutes = max((2 * self._half / size) ** 2, 1) * self.seconds / 60
        if minutes > 24 * 60:
            return "a day would be too short: use a quieter machine"
        if minutes > 120:
            return f"run at least {math.ceil(minutes / 60)} hours"
        return f"run at least {number_of(math.ceil(minutes), 'minute')}"

    def sentence(self, tolerance: float = TOLERANCE, of: str = "") -> str:
        """The verdict with its figures; ``of``: words behind them that name the figure."""
        verdict = self.verdict(tolerance)
        smallest, more = f"; smallest detectable ~{self.detectable(tolerance):.1%}", ""
        low, high = (f"{round(end - 1, 4) + 0.0:+.1%}" for end in (self.low, self.high))
        if verdict == UNDECIDED:
            smallest, more = "", f": to detect {WANTED:.0%}, {self.remedy(WANTED)}"
        elif verdict != NO_DIFFERENCE:
            verdict, _, within = verdict.partition(" ")
            verdict, smallest = f"{verdict} by {abs(self.ratio - 1):.1%}", ""
            low, high = (f"{end:.1%}" for end in sorted(abs(end - 1) for end in (self.low, self.high)))
            more = f", {within}: too small to count" if within else ""
        ends = "too wide" if self.high > WIDEST * self.low else f"{low} to {high}"
        return f"{verdict} ({ends}{smallest}){of}{more}"


@dataclass(frozen=True, slots=True)
class Measurement:
    """An estimate of the logarithm of a ratio and the number of requests: a change before its confidence is chosen.

    ``doubt`` is the share of equal versions that may be called different if this is judged alone.
    """

    estimate: Estimated
    count: int
    doubt: float = _DOUBT

    def change(self, confidence: float | None = None) -> Change:
        """The change with an interval of this confidence; None: of its own."""
        confidence = 1 - self.doubt if confidence is None else confidence
        return self._between(self.estimate.value, self.estimate.ends(confidence), confidence)

    def beside(self, whole: Change, confidence: float) -> Change:
        """The change of a route: that of all requests, and this deviation from them."""
        ends = zip((whole.low, whole.high), self.estimate.ends(confidence), strict=True)
        low, high = (_log(end) + own for end, own in ends)
        return self._between(math.log(whole.ratio) + self.estimate.value, (low, high), 1 - self.doubt)

    def _between(self, value: float, ends: tuple[float, float], confidence: float) -> Change:
        low, high = (math.exp(end) if abs(end) < _ENDLESS else 0.0 if end < 0 else math.inf for end in ends)
        of = self.estimate
        return Change(math.exp(value), low, high, self.count, of.blocks, of.freedom, confidence, of.seconds)


def together(found: Mapping[Key, Measurement]) -> dict[Key, Change]:
    """Return changes that are judged together, with intervals that allow for their number, by the method of Holm."""
    by_p = sorted((each.estimate.p, place, name) for place, (name, each) in enumerate(found.items()))
    changes, highest = {}, 0.0
    for rank, (p, _, name) in enumerate(by_p):
        left = len(by_p) - rank
        highest = max(highest, p * left)
        changes[name] = found[name].change(1 - found[name].doubt / (highest / p if p else left))
    return {name: changes[name] for name in found}


def combined(changes: Sequence[Change | None]) -> Measurement | None:
    """Return the change of several pairs of runs, from the spread between them; None where fewer than two have one."""
    known = [change for change in changes if change]
    if len(known) < 2:
        return None
    logs = np.log([change.ratio for change in known])
    return Measurement(estimates.mean(logs), sum(change.count for change in known))


def typical_change(pairs: pl.DataFrame) -> Measurement | None:
    """Return the typical ratio of pairs; None for fewer than `FEWEST_PAIRS`, or too few blocks of time with any.

    The pairs have ``scheduled`` (seconds), ``log`` (logarithm of the ratio) and, of a second instance of the baseline,
    ``noise`` (the same of both instances); where two pairs of targets took turns, `SWAP_TURN`, `SECOND_PAIR`.
    """
    if pairs.height < FEWEST_PAIRS:
        return None
    if SWAP_TURN in pairs.columns:
        of_turns = swapped.estimate(*(pairs[name].to_numpy() for name in SWAPPED_SERIES))
        return Measurement(of_turns[0], pairs.height, SWAPPED_DOUBT) if of_turns else None
    found = typical_value.estimate(*(pairs[name].to_numpy() for name in _SERIES if name in pairs.columns))
    return Measurement(found, pairs.height) if found else None


def ratio_changes(sides: Sequence[pl.DataFrame], shares: Sequence[float] = QUANTILES) -> dict[str, Measurement]:
    """Return the ratios of the percentiles of two runs, as far as there are enough requests above them.

    Of a duet with a second instance of the baseline the third side is that: it shows how much equal targets differ.
    """
    fewest, seconds = min(side.height for side in sides), span_of(sides)
    if fewest < FEWEST_PAIRS or seconds < SHORTEST_S:
        return {}
    blocks = int(seconds / typical_value.BLOCK_S)
    placed = [_placed(side, blocks) for side in sides]
    fewest_bursts = min(_FEWEST_BURSTS, _BURSTS_PER_S * seconds)
    known = [share for share in shares if all(_in_bursts(*side, share) >= fewest_bursts for side in placed)]
    names = [f"p{100 * share:g}" for share in known]
    if SWAP_TURN in sides[0].columns:
        return dict(zip(names, _over_turns(sides, known), strict=False))
    series = [ratio_series(placed[0], other, blocks, known) for other in placed[1:]]
    return {
        name: Measurement(typical_value.estimate_mean(each[0], seconds, *each[1:]), fewest)
        for name, *each in zip(names, *series, strict=True)
    }


def _over_turns(sides: Sequence[pl.DataFrame], shares: Sequence[float]) -> Iterator[Measurement]:
    """The ratios of percentiles where two pairs of targets took turns; none where these were too few."""
    times = swapped.times_of([side[SWAP_TURN].to_numpy() for side in sides])
    number = max(int(each.max()) for each in times) + 1
    placed = [(time, np.log(side["response"].to_numpy())) for time, side in zip(times, sides, strict=True)]
    old, new = ((time[time >= 0], logs[time >= 0]) for time, logs in placed)
    if number >= swapped.FEWEST:
        fewest, seconds = min(len(each[0]) for each in (old, new)), span_of(sides)
        for series in ratio_series(old, new, number, shares):
            yield Measurement(estimates.mean(series, seconds), fewest, SWAPPED_DOUBT)


def deviations(pairs: pl.DataFrame, names: Sequence[str]) -> dict[str, Measurement]:
    """Return how much the ratios of each of these routes deviate from those of all pairs in the same seconds."""
    if pairs.is_empty():
        return {}
    if SWAP_TURN in pairs.columns:
        others = pl.col("log").mean().over(SWAP_TURN, pl.col("scheduled").floor())
        away = pairs.with_columns(pl.col("log") - others)
        each = {name: typical_change(away.filter(pl.col("route").cast(pl.String) == name)) for name in names}
        return {name: deviates for name, deviates in each.items() if deviates}
    codes = pl.Series([*range(len(names))], dtype=pl.Int64)
    group = pairs["route"].cast(pl.String).replace_strict(pl.Series(names), codes, default=len(names)).to_numpy()
    at = pairs["scheduled"].to_numpy()
    block, blocks = typical_value.numbered(at, min(1.0, float(np.ptp(at)) / typical_value.FEWEST_BLOCKS))
    cell, shape = block * (len(names) + 1) + group, (blocks, len(names) + 1)
    counts, sums = (
        np.bincount(cell, weights, blocks * shape[1]).reshape(shape) for weights in (None, pairs["log"].to_numpy())
    )
    means, found = sums.sum(axis=1) / counts.sum(axis=1), {}
    for code, name in enumerate(names):
        own = counts[:, code]
        some = own > 0
        if own.sum() >= FEWEST_PAIRS and some.sum() >= typical_value.FEWEST_BLOCKS:
            away = sums[some, code] / own[some] - means[some]
            found[name] = Measurement(estimates.trimmed_mean(away, _LEFT_OUT, float(np.ptp(at))), int(own.sum()))
    return found


def median_deviations(sides: Sequence[pl.DataFrame], names: Sequence[str]) -> dict[str, Measurement]:
    """Return how much the change of the median of each route deviates from that of all; as `deviations`."""
    seconds = span_of(sides)
    if seconds < SHORTEST_S:
        return {}
    found, blocks = {}, int(seconds)
    placed = [_placed(side, blocks) for side in sides]
    (whole,) = ratio_series(placed[0], placed[1], blocks, (0.5,))
    for name in names:
        own = [(side["route"] == name).to_numpy() for side in sides]
        fewest = min(int(rows.sum()) for rows in own)
        if fewest >= FEWEST_PAIRS:
            old, new = ((block[rows], logs[rows]) for (block, logs), rows in zip(placed, own, strict=True))
            (series,) = ratio_series(old, new, blocks, (0.5,))
            found[name] = Measurement(estimates.mean(series - whole, seconds), fewest)
    return found


def of_routes(whole: Change, deviating: Mapping[Key, Measurement]) -> dict[Key, Change]:
    """Return the changes of routes from their deviations, with intervals that allow for their number (Bonferroni)."""
    return {name: each.beside(whole, 1 - each.doubt / len(deviating)) for name, each in deviating.items()}


def answered(run: pl.DataFrame) -> pl.DataFrame:
    """The requests that were answered as expected, with a time above 0."""
    return run.filter(pl.col("good"), pl.col("response") > 0)


def drift(halves: Sequence[Measurement | None], tolerance: float) -> Iterator[str]:
    """Say if the change was another in the second half of a duet."""
    first, second = (each and each.change(1 - _DRIFT_DOUBT) for each in halves)
    if not (first and second):
        return
    moved = math.log(second.ratio / first.ratio)
    certain = math.hypot(first._half, second._half)
    if abs(moved) > max(tolerance, certain):
        yield (
            f"the change drifted: {first.ratio - 1:+.1%} in the first half, {second.ratio - 1:+.1%} in the "
            "second; warm both targets up, and run longer"
        )


def span_of(sides: Sequence[pl.DataFrame]) -> float:
    """Seconds of the shorter run."""
    return min(float(np.ptp(side["scheduled"].to_numpy())) if side.height else 0.0 for side in sides)


def _log(end: float) -> float:
    """The logarithm of an end of an interval, which may be 0 or infinite."""
    return math.log(end) if end else -math.inf


def _placed(side: pl.DataFrame, blocks: int) -> Placed:
    return blocks_of(side["scheduled"].to_numpy(), blocks), np.log(side["response"].to_numpy())


def _in_bursts(block: Ints, values: Floats, share: float) -> float:
    """Effective number of seconds that hold the values above a quantile (Kish)."""
    above = np.bincount(block // 2, values >= np.quantile(values, share))
    return float(above.sum() ** 2 / max(above @ above, 1))
