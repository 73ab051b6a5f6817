"""The demand to plan for: the busiest windows of a log, and how far those of the next weeks may be from them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeVar

import numpy as np
import polars as pl

from logreplay.analysis.demand import rates
from logreplay.analysis.demand.log_profile import LogProfile
from logreplay.analysis.demand.rates import HOUR, MINUTE, WINDOWS
from logreplay.analysis.statistics.estimates import student
from logreplay.analysis.statistics.quantiles import Floats, Ints

WEEK_S: Final = 7 * 24 * HOUR
WEEKS: Final = 4
"""Number of last weeks whose median is the forecast of an hour of the week, and whose extremes are its range."""
Figure = TypeVar("Figure", float, pl.Expr, Floats)
_DAY_HOURS: Final = 24
_CONFIDENCE: Final = 0.9
_CHOSEN: Final = 4.0
"""Standard deviations from the mean of ten thousand equal windows to the busiest of them."""
_NEXT: Final = 1.0
"""Standard deviations by which the busiest of as many other windows may be above it."""
MOST_CHANGE: Final = 4.0
"""Times by which the next weeks may differ at most. If the logarithm of the level of a week has a standard deviation
up to 0.5, ranges hold within 1 % as often as without this bound, in simulations of two weeks and more."""
_REACH: Final = 5.0
"""Standard deviations that chance explains at most; a larger deviation is an event."""
_LEAST_WINDOWS: Final = 10
"""Fewer windows do not show how they differ."""


@dataclass(frozen=True, slots=True)
class DemandRange:
    """A rate that machines have to carry, requests/s.

    Attributes:
        rate: the busiest window of the log, with growth.
        low, high: ends of the range of the busiest window of as long a time to come.
        unlike: factor between the busiest windows of the weeks, if these do not show how far the next weeks may be
            from them; 0: they do.
    """

    rate: float
    low: float
    high: float
    unlike: float = 0.0


def demand(profile: LogProfile, factor: float = 1.0, steady: float = 0.0) -> Mapping[str, DemandRange]:
    """The demand in the busiest second, minute and hour; windows longer than the log are left out.

    The range has two parts. Chance: even at a constant rate, windows of equal length differ, by their index of
    dispersion, and the busiest is the one that chance favours most. Change: the busiest windows of whole weeks differ
    by more; two weeks or more show by how much (the range of a prediction, by the distribution of Student). Weeks of
    which one holds an event do not: the range ends at the quietest week, and at `MOST_CHANGE` times the busiest.

    Growth multiplies the busiest hour. The difference of a minute from its hour, and of a second from its minute, grows
    by less, as far as it is random: see `_grown`.

    Args:
        profile: the contents of the log.
        factor: factor of growth, times that of front ends whose logs are not at hand.
        steady: rate of the log's busiest step of a forecast, requests/s, which grows by the whole factor; 0: none.
    """
    seconds, counts = profile.per_second
    hour = profile.peaks.get("hour", rates.Peak(profile.span, profile.first, profile.requests))
    of_weeks = {name: weekly_peaks(seconds, counts, WINDOWS[name]) for name in profile.peaks}
    hours = of_weeks.get("hour", np.zeros(0, np.int64))
    here = hours > 0  # a week without a request is one that the log lacks
    means = np.maximum(np.concatenate(([hour.rate], hours[here] / HOUR)), steady)  # of all, then of each week
    later, found = means * factor, {}
    for name, peak in reversed(list(profile.peaks.items())):  # the longest first
        length = WINDOWS[name]
        bursts = burstiness(seconds, counts, min(length, MINUTE))
        busiest = np.concatenate(([peak.requests], of_weeks[name][here]))
        grown = _grown(busiest, means * length, later * length, bursts, factor)
        vague = _vague(hour.requests, bursts, factor)
        means, later = np.maximum(means, busiest / length), np.maximum(later, grown / length)
        found[name] = _range(grown, length, _bursts_of(bursts, factor), vague)
    return {name: found[name] for name in profile.peaks}


def _range(peaks: Floats, length: int, bursts: float, vague: tuple[float, float]) -> DemandRange:
    """The rate of the busiest window, with its range; ``peaks``: requests in that of the log, then of each week."""
    busiest, weekly = float(peaks[0]), peaks[1:]
    told = spread(weekly)
    change = min(told, MOST_CHANGE)
    low, unlike = min(_mean_of(busiest, bursts), busiest / told), 0.0
    if told > change:
        least, unlike = float(weekly.min()), float(weekly.max() / weekly.min())
        low = max(low, min(_mean_of(least, bursts), busiest / change))
    high = busiest * change + _NEXT * math.sqrt(busiest * bursts)
    low, high = low * (1 - vague[0]), high + busiest * vague[1]
    return DemandRange(busiest / length, low / length, high / length, unlike)


def _grown(busiest: Ints, mean: Floats, later: Floats, bursts: float, factor: float) -> Floats:
    """Requests in the busiest window with growth: z standard deviations above the mean, like those of the log.

    Of the variance of a count relative to its mean µ, 1/µ is chance (Poisson) and (D - 1)/µ is real and stays. So
    deviations shrink by √((D - 1 + 1/factor)/D). Counts are skewed: the busiest is µ + z√(Dµ) + Dz²/6
    (Cornish-Fisher).

    Args:
        busiest: requests in the busiest window of the log.
        mean, later: requests of such windows around it, without growth and with it.
        bursts: index of dispersion D of the log, 1 at least.
        factor: growth.
    """
    if factor == 1:
        return busiest.astype(np.float64)
    event = _mean_of(np.maximum(busiest - bursts * _REACH**2 / 6, 0.0), bursts, _REACH)
    middle = np.minimum(np.maximum(mean, event), busiest)
    root = np.sqrt(bursts * middle)
    z = (np.sqrt(root**2 + bursts * (busiest - middle) * 2 / 3) - root) * 3 / bursts
    around, then = later + factor * (middle - mean), _bursts_of(bursts, factor)
    return np.asarray(around + z * np.sqrt(then * around) + then * z**2 / 6)


def _bursts_of(bursts: float, factor: float) -> float:
    """The index of dispersion with growth: its real part grows with the rate."""
    return bursts + (factor - 1) * (bursts - 1)


def _vague(hour: int, bursts: float, factor: float) -> tuple[float, float]:
    """Shares by which the low and the high end move out, since growth multiplies the error of the ``hour``'s count."""
    multiplied = math.sqrt(max(1 - _bursts_of(bursts, factor) / factor / bursts, 0.0))  # 0 without growth
    return multiplied * (1 - _mean_of(hour, bursts) / hour), multiplied * _NEXT * math.sqrt(bursts / hour)


def _mean_of(busiest: Figure, bursts: float, reach: float = _CHOSEN) -> Figure:
    """The mean of windows of which the busiest has ``busiest`` requests, if it is not an event.

    It is the solution of busiest = mean + ``reach`` √(bursts · mean), so above 0 where a few requests are counted.
    """
    half = reach * math.sqrt(bursts) / 2
    root: Figure = (busiest + half * half) ** 0.5
    return (root - half) ** 2


def burstiness(seconds: Ints, counts: Ints, unit: int) -> float:
    """Half the mean square of the difference of neighbouring windows, over the mean of a window; 1 at least.

    This is the index of dispersion without the daily course: neighbouring windows have nearly the same expected number
    of requests; the rest of their difference is random.
    """
    whole = int(seconds[-1] - seconds[0] + 1) // unit
    if whole < _LEAST_WINDOWS:
        return 1.0
    inner = seconds < seconds[0] + whole * unit
    at, requests = rates.in_steps(seconds[inner], counts[inner], unit, int(seconds[0]))
    inside, near = requests.astype(np.float64), np.diff(at) == 1
    apart = ~near  # a window beside empty ones differs from these by all of it
    squares = (
        np.square(np.diff(inside))[near].sum()
        + np.square(inside[:-1])[apart].sum()
        + np.square(inside[1:])[apart].sum()
    )
    return max(float(squares / 2 / inside.sum()), 1.0)


def weeks(profile: LogProfile) -> int:
    """Whole weeks in a log that have a request."""
    return int(np.count_nonzero(weekly_peaks(*profile.per_second, 1)))


def weekly_peaks(seconds: Ints, counts: Ints, window: int) -> Ints:
    """Requests in the busiest window of each whole week, counted from the end of the log, (weeks,).

    The first may lack an hour: the files of 14 days seldom begin and end with a request at midnight.
    """
    whole = int(seconds[-1] - seconds[0] + 1 + HOUR) // WEEK_S
    edges = np.searchsorted(seconds, seconds[-1] + 1 - WEEK_S * np.arange(whole, -1, -1))
    found = [rates.busiest_within(seconds[low:high], counts[low:high], window) for low, high in pairwise(edges)]
    return np.array(found, np.int64)


def spread(peaks: Floats | Ints) -> float:
    """The factor by which the busiest of some other weeks may differ from the busiest of these; 1: unknown."""
    peaks = peaks[peaks > 0]
    if len(peaks) < 2:
        return 1.0
    return math.exp(student(_CONFIDENCE, len(peaks) - 1) * float(np.log(peaks).std(ddof=1)))


def _covered(hours: pl.DataFrame) -> pl.DataFrame:
    """The hours without those of a day or longer in which the log has no request: it lacks them."""
    empty = pl.col("requests") == 0
    run = empty.rle_id()
    return hours.filter(~(empty & (pl.len().over(run) >= _DAY_HOURS)))


def lacking(profile: LogProfile) -> int:
    """Hours, within a day or longer without a request, that the log lacks."""
    return profile.hours.height - _covered(profile.hours).height


def _by_clock(profile: LogProfile) -> pl.DataFrame:
    """The covered hours with ``day`` and ``clock``.

    Hours that the log covers in part count only where it has no whole hour of the same day and clock.
    """
    table = _covered(profile.hours).with_columns(
        day=pl.col("hour").dt.weekday() - 1, clock=pl.col("hour").dt.hour(), whole=pl.col("covered") >= HOUR
    )
    return table.filter(pl.col("whole") | ~pl.col("whole").any().over("day", "clock"))


def medians(profile: LogProfile) -> int:
    """Hours of the week whose demand is a median of weeks in `by_hour`."""
    return _by_clock(profile).group_by("day", "clock").len().filter(pl.col("len") >= WEEKS).height


def by_hour(profile: LogProfile, factor: float = 1.0) -> pl.DataFrame:
    """The demand of each hour of the week that the log covers, by the busiest minute of the clock.

    From four same hours on the seasonal-naive forecast: the median of the last four same hours, from the least to the
    most of them. With fewer the most of all, with the chance of a count as its range.

    Returns:
        ``day`` (0: Monday), ``hour``, ``rate``, ``low``, ``high`` (requests/s).
    """
    table, bursts = _by_clock(profile), burstiness(*profile.per_second, MINUTE)
    minutes, mean = table["busiest_minute"].to_numpy() * MINUTE, table["rate"].to_numpy() * MINUTE
    grown = _grown(minutes, mean, mean * factor, bursts, factor)
    table = table.with_columns(busiest_minute=grown / MINUTE)
    bursts = _bursts_of(bursts, factor) / MINUTE
    past = pl.col("busiest_minute").sort_by("hour")
    last = past.tail(WEEKS)
    least = _mean_of(past.max(), bursts)
    enough = pl.len() >= WEEKS
    found = {
        "rate": pl.when(enough).then(last.median()).otherwise(past.max()),
        "low": pl.when(enough).then(last.min()).otherwise(least),
        "high": pl.when(enough).then(last.max()).otherwise(past.max() + _NEXT * (bursts * past.max()).sqrt()),
    }
    return table.group_by("day", "clock").agg(**found).sort("day", "clock").rename({"clock": "hour"})
