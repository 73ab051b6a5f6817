"""Rates of a log, from the number of requests in each second: peaks, bursts, rises, gaps, hours of the week.

Seconds are whole ones since 1970, UTC, ascending, and only those in which a request began.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from logreplay.analysis.statistics.quantiles import Ints

MINUTE: Final = 60
HOUR: Final = 3600
_QUARTER: Final = 900
WINDOWS: Final = {"second": 1, "minute": MINUTE, "hour": HOUR}
"""The windows whose busiest one is looked for, by name: seconds."""
DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_GAPS: Final = 5
_LONG_S: Final = 26 * HOUR
"""Empty times from this length on may lie between two logs. Those of a log with an hour a day are shorter."""
_FEWEST: Final = 10
"""Least mean number of seconds with requests in these logs. Rare independent requests have fewer between pauses."""
_LEAST_GAP_S: Final = 60
_EXPECTED: Final = 20.0
"""A gap is named if so many requests are expected in it. Independent requests leave one with a probability of e⁻²⁰."""
_CHANCE: Final = 3.0
"""Standard deviations of the difference of two counts; a rise within it is not told."""


@dataclass(frozen=True, slots=True)
class Peak:
    """The window with the most requests.

    Attributes:
        seconds: length of the window.
        at: its first second, since 1970, UTC.
        requests: in it.
    """

    seconds: int
    at: int
    requests: int

    @property
    def rate(self) -> float:
        """Requests/s in it."""
        return self.requests / self.seconds


@dataclass(frozen=True, slots=True)
class Rise:
    """The steepest rise: two neighbouring windows.

    Attributes:
        seconds: length of each.
        at: first second of the second one.
        before, after: requests/s in each.
    """

    seconds: int
    at: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Gap:
    """A time without a request, in which many are expected.

    Attributes:
        at: its first second.
        seconds: its length.
        expected: requests at the lower rate of the hours before and after it, of its first hour at most.
    """

    at: int
    seconds: int
    expected: float


def busiest(seconds: Ints, counts: Ints, window: int) -> Peak | None:
    """The busiest window of ``window`` seconds, whenever it begins; None if the log is shorter."""
    if seconds[-1] - seconds[0] + 1 < window:
        return None
    inside = _in_window(seconds, counts, window)
    at = int(np.argmax(inside))
    return Peak(window, int(seconds[at]), int(inside[at]))


def busiest_within(seconds: Ints, counts: Ints, window: int) -> int:
    """Requests in the busiest window of a part of a log; 0 if it is empty."""
    return int(_in_window(seconds, counts, window).max(initial=0))


def in_steps(seconds: Ints, counts: Ints, step: int, begin: int) -> tuple[Ints, Ints]:
    """Numbers, ascending, and requests of the steps with a request, (n,) each; step 0 begins at ``begin``."""
    numbers = (seconds - begin) // step
    firsts = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1))
    return numbers[firsts], np.add.reduceat(counts, firsts)


def steepest(seconds: Ints, counts: Ints, window: int) -> Rise | None:
    """The two neighbouring windows with the largest rise of the rate; None if it may be chance, or there are none.

    The beginning of a log after an empty time (see `idle`) does not count.
    """
    if seconds[-1] - seconds[0] + 1 < 2 * window:
        return None
    begins = seconds[(seconds >= seconds[0] + window) & (seconds <= seconds[-1] - window + 1)]
    empty = idle(seconds)
    begins = begins[idle_before(begins, *empty) == idle_before(begins - window, *empty)]
    if not len(begins):
        return None
    total = np.concatenate(([0], np.cumsum(counts)))
    here = np.searchsorted(seconds, begins)
    after = total[np.searchsorted(seconds, begins + window)] - total[here]
    before = total[here] - total[np.searchsorted(seconds, begins - window)]
    at = int(np.argmax(after - before))
    if after[at] - before[at] <= _CHANCE * math.sqrt(after[at] + before[at]):
        return None
    return Rise(window, int(begins[at]), float(before[at] / window), float(after[at] / window))


def dispersion(seconds: Ints, counts: Ints, unit: int) -> float:
    """Index of dispersion: variance over mean of the requests in a unit of time, within windows of 60 units.

    1 for arrivals that do not know of each other (Poisson); more for bursts. Within windows, so that the course of a
    day does not count; the first one begins with the first request. NaN without a whole window.
    """
    window = 60 * unit
    passed = seconds - seconds[0]
    whole = passed < (int(passed[-1]) + 1) // window * window
    if not whole.any():
        return math.nan
    windows, at = np.unique(passed[whole] // window, return_inverse=True)  # the empty ones add nothing to either sum
    in_unit = np.bincount(60 * at + passed[whole] // unit % 60, counts[whole], 60 * len(windows)).reshape(-1, 60)
    return float(in_unit.var(axis=1, ddof=1).sum() / in_unit.mean(axis=1).sum())


def gaps(seconds: Ints, counts: Ints) -> tuple[Gap, ...]:
    """The longest times without a request in which the hours around them expect many, longest first."""
    empty = np.diff(seconds) - 1
    total = np.concatenate(([0], np.cumsum(counts)))
    begins, ends = seconds[:-1] + 1, seconds[1:]
    before = total[np.searchsorted(seconds, begins)] - total[np.searchsorted(seconds, begins - HOUR)]
    after = total[np.searchsorted(seconds, ends + HOUR)] - total[np.searchsorted(seconds, ends)]
    expected = np.minimum(before, after) * np.minimum(empty, HOUR) / HOUR
    named = np.flatnonzero((empty >= _LEAST_GAP_S) & (expected >= _EXPECTED))
    longest = named[np.argsort(-empty[named], kind="stable")][:_GAPS]
    return tuple(Gap(int(begins[at]), int(empty[at]), float(expected[at])) for at in longest)


def idle(seconds: Ints) -> tuple[Ints, Ints]:
    """The empty times that make up most of a log, as between logs of different years.

    Returns:
        First second and length of each; none unless all together are longer than the rest of the log.
    """
    empty = np.diff(seconds) - 1
    long = np.flatnonzero(empty >= _LONG_S)
    if 2 * empty[long].sum() <= seconds[-1] - seconds[0] + 1 or len(seconds) < _FEWEST * (len(long) + 1):
        long = long[:0]
    return seconds[long] + 1, empty[long]


def idle_before(instants: Ints, begins: Ints, lengths: Ints) -> Ints:
    """Seconds of the empty times (see `idle`) before each instant, (n,)."""
    total = np.concatenate(([0], np.cumsum(lengths)))
    count = np.searchsorted(begins, instants)  # of those that began before
    begun = np.concatenate(([0], begins + lengths))[count]
    return np.asarray(total[count] - np.maximum(begun - instants, 0) * (count > 0))


def without_idle(table: pl.DataFrame, begins: Ints, lengths: Ints) -> pl.DataFrame:
    """The hours of a log, see `hours`, without the empty times (see `idle`)."""
    begin, covered = table["hour"].dt.epoch("s").to_numpy(), table["covered"].to_numpy()
    low = np.maximum(begin, begin[-1] - covered[:-1].sum())
    empty = idle_before(low + covered, begins, lengths) - idle_before(low, begins, lengths)
    return table.with_columns(covered=pl.col("covered") - pl.Series(empty)).filter(pl.col("covered") > 0)


def longest_pause(seconds: Ints) -> int:
    """Longest time from one request to the next, of those too short for `idle`, seconds; a minute at least."""
    apart = np.diff(seconds)
    return int(apart[apart <= _LONG_S].max(initial=MINUTE))


def hours(seconds: Ints, counts: Ints, zone: str) -> pl.DataFrame:
    """One row for each hour of a time zone, also for those without a request.

    Returns:
        ``hour`` (its start, in the zone), ``covered`` (seconds of it between the first and the last request),
        ``requests``, ``rate``, ``busiest_minute`` and ``busiest_second`` (requests/s; minutes of the clock).
    """
    begins = _hours(int(seconds[0]), int(seconds[-1]), zone)
    frame = pl.DataFrame({"place": begins.searchsorted(seconds, "right") - 1, "second": seconds, "requests": counts})
    minutes = frame.group_by("place", pl.col("second") // MINUTE).agg(pl.col("requests").sum(), top=pl.max("requests"))
    found = minutes.group_by("place").agg(
        pl.col("requests").sum(),
        busiest_minute=pl.max("requests") / MINUTE,
        busiest_second=pl.max("top").cast(pl.Float64),
    )
    covered = np.diff(np.maximum(begins, seconds[0]), append=seconds[-1] + 1)
    every = pl.DataFrame({"place": np.arange(len(begins)), "hour": _clock(begins, zone), "covered": covered})
    return (
        every.join(found, on="place", how="left", maintain_order="left")
        .with_columns(pl.col("requests", "busiest_minute", "busiest_second").fill_null(0))
        .with_columns(rate=pl.col("requests") / pl.col("covered"))
        .select("hour", "covered", "requests", "rate", "busiest_minute", "busiest_second")
    )


def week(table: pl.DataFrame) -> pl.DataFrame:
    """The hours of the week, from `hours`: those that the log covers, Monday 0 first.

    Returns:
        ``day`` (0: Monday), ``hour``, ``covered`` (seconds), ``requests``, ``rate`` (mean), ``busiest_hour``,
        ``busiest_minute`` and ``busiest_second`` (requests/s, the most of all weeks).
    """
    named = table.with_columns(day=pl.col("hour").dt.weekday() - 1, hour=pl.col("hour").dt.hour())
    return (
        named.group_by("day", "hour")
        .agg(
            pl.col("covered", "requests").sum(),
            busiest_hour=pl.max("requests") / HOUR,
            busiest_minute=pl.max("busiest_minute"),
            busiest_second=pl.max("busiest_second"),
        )
        .with_columns(rate=pl.col("requests") / pl.col("covered"))
        .select("day", "hour", "covered", "requests", "rate", "busiest_hour", "busiest_minute", "busiest_second")
        .sort("day", "hour")
    )


def _clock(seconds: Ints, zone: str) -> pl.Series:
    return (
        pl.from_epoch(pl.Series(seconds), "s")
        .dt.cast_time_unit("us")
        .dt.replace_time_zone("UTC")
        .dt.convert_time_zone(zone)
    )


def _hours(first: int, last: int, zone: str) -> Ints:
    """The starts of the hours of a clock, from the hour of the first second to that of the last.

    A change of the clock starts another hour. Changes, and offsets from UTC, are multiples of a quarter of an hour.
    """
    quarters = np.arange(first // _QUARTER - 5, last // _QUARTER + 1) * _QUARTER
    clock = _clock(quarters, zone).dt.replace_time_zone(None).dt.epoch("s").to_numpy()
    begins = quarters[1:][(np.diff(clock // HOUR) != 0) | (np.diff(clock - quarters) != 0)]
    return np.asarray(begins[begins.searchsorted(first, "right") - 1 :])


def _in_window(seconds: Ints, counts: Ints, window: int) -> Ints:
    """Requests in the window that begins with each second, (n,)."""
    total = np.concatenate(([0], np.cumsum(counts)))
    return np.asarray(total[np.searchsorted(seconds, seconds + window)] - total[:-1])
