"""A forecast of the demand as a table of times and rates, and the growth that it means for a log."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from logreplay.analysis.demand import rates
from logreplay.analysis.demand.log_profile import LogProfile
from logreplay.analysis.demand.rates import HOUR
from logreplay.analysis.statistics.quantiles import Floats, Ints
from logreplay.core.errors import LogreplayError, UsageError
from logreplay.core.files import reason

_COLUMNS: Final = ["time", "rate"]
_MOST: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Forecast:
    """Rates of times to come.

    Attributes:
        at: (n,) first second of each, since 1970, UTC, ascending.
        rates: (n,) mean requests/s until the next one.
        step: seconds from one to the next.
    """

    at: Ints
    rates: Floats
    step: int

    def growth(self, profile: LogProfile) -> float:
        """By what factor the highest rate of the forecast is above that of the busiest such step of the log."""
        if profile.span < self.step:
            raise UsageError(
                f"--forecast has a rate for each {self.step:,} s, and the log is {profile.span:,} s long: give a log "
                f"of {self.step:,} s at least, times that are {profile.span:,} s apart at most, or --growth instead"
            )
        return float(self.rates.max()) / self.busiest(profile)

    def busiest(self, profile: LogProfile) -> float:
        """The highest rate of the log in steps that begin at the instants at which those of the forecast begin.

        The busiest window with any begin may be far above them, if two steps share an event. It counts only where the
        log does not cover a whole step.
        """
        seconds, counts = profile.per_second
        phase = int(self.at[0]) % self.step
        first, last = (int(each) for each in seconds[[0, -1]] - phase)
        if -(-first // self.step) < (last + 1) // self.step:
            _, requests = rates.in_steps(seconds, counts, self.step, phase)
            return int(requests.max()) / self.step
        return rates.busiest_within(seconds, counts, self.step) / self.step

    def by_hour(self, zone: str, times: float) -> pl.DataFrame:
        """The demand of each hour of the week: the highest rate of the steps, of an hour at most, that overlap it.

        Args:
            times: rate of the busiest minute over the highest rate of the forecast.

        Returns:
            ``day`` (0: Monday), ``hour``, ``rate``, ``low``, ``high`` (requests/s, equal).
        """
        ends = pl.Series(np.concatenate((self.at, self.at + self.step - 1)))  # a step may end in the hour after
        local = pl.from_epoch(ends, "s").dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        rate = np.tile(self.rates * times, 2)
        table = pl.DataFrame({"day": local.dt.weekday() - 1, "hour": local.dt.hour(), "rate": rate})
        found = table.group_by("day", "hour").agg(pl.max("rate")).sort("day", "hour")
        return found.with_columns(low=pl.col("rate"), high=pl.col("rate"))

    @property
    def hourly(self) -> bool:
        """Whether each hour has a rate of its own."""
        return self.step <= HOUR


def read_forecast(path: Path, zone: str) -> Forecast:
    """Read a CSV with the columns ``time`` (ISO 8601; in a zone, if without offset) and ``rate`` (requests/s)."""
    if path.is_dir():
        raise LogreplayError(f"--forecast {path}: is a folder; name a CSV of time,rate")
    try:
        with path.open("rb") as file:
            table = pl.read_csv(file, infer_schema=False, n_rows=_MOST + 1)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise LogreplayError(f"--forecast {path}: cannot be read: {reason(error)}; name a CSV of time,rate") from None
    if [name for name in _COLUMNS if name not in table.columns]:
        raise LogreplayError(f"--forecast {path}: its columns are {', '.join(table.columns)}; expected time,rate")
    table = table.select(_COLUMNS).with_row_index("line", 2).filter(pl.any_horizontal(pl.col(_COLUMNS).is_not_null()))
    if not 2 <= table.height <= _MOST:
        raise LogreplayError(f"--forecast {path}: has {table.height:,} rates; expected 2 to {_MOST:,}")
    rows = [_row(path, *values) for values in table.iter_rows()]
    times = [_time(path, line, text) for line, text, _ in rows]
    clock = np.array([int(time.replace(tzinfo=time.tzinfo or UTC).timestamp()) for time in times], np.int64)
    steps = np.diff(clock)  # of the wall clock, where the times have no offset: it may be changed between them
    if len(wrong := np.flatnonzero((steps != steps[0]) | (steps <= 0))):
        line, text, _ = rows[wrong[0] + 1]
        raise LogreplayError(
            f"--forecast {path}, line {line}: {text} is {int(steps[wrong[0]]):,} s after the line before, "
            f"and the second time {int(steps[0]):,} s after the first: times must rise in equal steps"
        )
    at = np.array([int((t if t.tzinfo else t.replace(tzinfo=ZoneInfo(zone))).timestamp()) for t in times], np.int64)
    found = np.array([rate for *_, rate in rows])
    if not found.any():
        raise LogreplayError(f"--forecast {path}: all rates are 0")
    return Forecast(at, found, int(steps[0]))


def _row(path: Path, line: int, time: str | None, rate: str | None) -> tuple[int, str, float]:
    try:
        value = float(rate or "")
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise LogreplayError(f"--forecast {path}, line {line}: rate {rate or ''!r}: expected requests/s, 0 or more")
    return line, time or "", value


def _time(path: Path, line: int, text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise LogreplayError(
            f"--forecast {path}, line {line}: time {text!r}: expected ISO 8601, such as 2026-12-01T18:00:00"
        ) from None
