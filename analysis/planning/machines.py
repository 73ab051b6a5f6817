"""The number of machines for a demand, n times one or by a scalability law that was measured before; and their cost."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from logreplay.analysis.input.json_values import JsonValue
from logreplay.analysis.machine_count import machines_for
from logreplay.analysis.planning.demand_range import DemandRange
from logreplay.analysis.planning.supply import NoAnswer, Supply
from logreplay.analysis.scaling.law import fewest, throughput
from logreplay.analysis.scaling.scale_out import FARTHEST, share_range
from logreplay.analysis.statistics.quantiles import Floats
from logreplay.core.errors import LogreplayError
from logreplay.core.quantities import percent

WEEK_HOURS: Final = 168
_NAMES: Final = ("contention", "coherency")
_ENDS: Final = (0, -1, 1)
_ENDLESS: Final = 1e6
"""An upper end from this value on is unknown: older files hold such numbers in place of null."""
_MOST: Final = 1_000_000
"""Most machines that a file may name: the law is computed for each number up to `FARTHEST` times it."""


@dataclass(frozen=True, slots=True)
class Machines:
    """A number of machines, with its range.

    Attributes:
        number: at the likely demand and the rate that one machine is planned to carry.
        low: where the lower end of demand meets the upper end of supply.
        high: where the upper end of demand meets the lower end of supply.
    """

    number: int
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve:
    """The machines and shares of machines that are kept in reserve, and the price of a machine.

    Attributes:
        headroom: share of each machine that stays free.
        survive: machines that may be lost.
        price: price of a machine for an hour; None: unknown.
    """

    headroom: float = 0.0
    survive: int = 0
    price: float | None = None


@dataclass(frozen=True, slots=True)
class MachineLaw:
    """The universal scalability law of some machines.

    Attributes:
        contention, coherency: values of the law with their ranges: likely, low, high; high is infinite if unknown.
        largest: the largest number of machines that was measured.
        not_covered: weaknesses of its measurements, in words; empty if they have none.
    """

    contention: tuple[float, float, float]
    coherency: tuple[float, float, float]
    largest: int
    not_covered: str = ""

    def times(self, numbers: Sequence[float] | Floats, end: int = 0) -> Floats:
        """The rate that each number of machines carries, over that of one machine; ``end``: see `number`."""
        place = _ENDS.index(end)
        values = np.array([[1.0, *(min(each[place], _ENDLESS) for each in (self.contention, self.coherency))]])
        return np.asarray(throughput(values, np.asarray(numbers, np.float64))[0])

    def number(self, times: float, end: int = 0, survive: int = 0) -> int:
        """The fewest machines that carry this many times what one does; ``end`` -1, 1: of a better and a worse law."""
        most = FARTHEST * self.largest
        found = fewest(self.times(range(1, most + 1), end)[None], times, survive)[0]
        if found is None:
            raise NoAnswer(
                f"{times:.3g} times what one machine carries is needed, and by the scalability law no number up to "
                f"{most}, {FARTHEST} times the most measured, is sure to carry it: measure more machines"
            )
        return found

    @property
    def sentence(self) -> str:
        """The law in words."""
        parts = (
            f"{name} {percent(likely)} ({share_range(low, high)})"
            for name, (likely, low, high) in zip(_NAMES, (self.contention, self.coherency), strict=True)
        )
        return f"{', '.join(parts)}, measured up to {self.largest} machines, in place of n times one"


def machines(wanted: DemandRange, supply: Supply, reserve: Reserve, law: MachineLaw | None = None) -> Machines:
    """The number of machines for one demand: n times one, or by a law, if it reaches as far."""

    def number(rate: float, one: float, end: int) -> int:
        if law:
            return law.number(rate / (one * (1 - reserve.headroom)), end, reserve.survive)
        return machines_for(rate, one, reserve.headroom) + reserve.survive

    likely = number(wanted.rate, supply.rate, 0)
    low = min(number(wanted.low, supply.high or supply.rate, -1), likely)
    return Machines(likely, low, max(number(wanted.high, supply.low, 1), likely))


def of_week(hours: pl.DataFrame, supply: Supply, reserve: Reserve, law: MachineLaw | None = None) -> pl.DataFrame:
    """Add ``machines``, ``machines_low`` and ``machines_high`` to the demand of the hours of the week."""
    found = [
        machines(DemandRange(rate, low, high), supply, reserve, law)
        for rate, low, high in hours.select("rate", "low", "high").iter_rows()
    ]
    columns: Mapping[str, Sequence[int]] = {
        "machines": [each.number for each in found],
        "machines_low": [each.low for each in found],
        "machines_high": [each.high for each in found],
    }
    return hours.with_columns(pl.Series(name, values, pl.Int64) for name, values in columns.items())


def cost(number: int, week: pl.DataFrame, reserve: Reserve) -> dict[str, Any] | None:
    """The cost of a week: of a constant number of machines, and of the number of each hour; None without a price.

    The second is None unless the log covers every hour of the week.
    """
    if reserve.price is None:
        return None
    whole = week.height == WEEK_HOURS
    by_hour = int(week["machines"].sum()) * reserve.price if whole else None
    return {"price": reserve.price, "week": number * WEEK_HOURS * reserve.price, "week_by_hour": by_hour}


def read_law(path: Path) -> MachineLaw:
    """Read what ``capacity --machines --json`` printed."""
    told = JsonValue.read(path, "make the file with: logreplay capacity … --machines 1,2,4 --json")
    if told["kind"].text() != "bent":
        raise LogreplayError(f"{path}: holds no scalability law: {told['sentence'].text()}")
    contention, coherency = (_range(told, name) for name in _NAMES)
    numbers = [int(point["number"].number(1, _MOST)) for point in told["points"].each()]
    if not numbers:
        raise told["points"].wrong("a number of machines or more")
    unknown = told["not_covered"].text() if told["not_covered"].value is not None else ""
    return MachineLaw(contention, coherency, max(numbers), unknown.removeprefix("not covered: "))


def _range(told: JsonValue, name: str) -> tuple[float, float, float]:
    """The likely value of a parameter, its low and its high end."""
    low = told[f"{name}_low"].number()
    likely = told[name].number(low)
    high = told[f"{name}_high"]
    end = math.inf if high.value is None else high.number(likely, math.inf)
    return likely, low, end if end < _ENDLESS else math.inf
