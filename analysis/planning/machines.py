"""The number of machines for a demand, by the rate that one carries; and their cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from logreplay.analysis.machine_count import machines_for
from logreplay.analysis.planning.demand_range import DemandRange
from logreplay.analysis.planning.machine_law import MachineLaw
from logreplay.analysis.planning.supply import Supply

WEEK_HOURS: Final = 168


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


def machines(wanted: DemandRange, supply: Supply, reserve: Reserve, law: MachineLaw | None = None) -> Machines:
    """The number of machines for one demand: n times one, or by a law.

    Raises:
        NoAnswer: the law does not reach as far.
    """

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
