"""Numbers of machines and costs are those that one computes by hand."""

import polars as pl
import pytest

from logreplay.analysis.planning.demand_range import DemandRange
from logreplay.analysis.planning.machines import Machines, Reserve, cost, machines, of_week
from logreplay.analysis.planning.supply import Supply, _mean_at


def supply(rate: float = 100.0, low: float = 90.0, high: float | None = 110.0, **more: object) -> Supply:
    given = {"source": "search", "bounds": "p99 within 300 ms", "limits": {"p99": 0.3}, "held_s": 50.0, "mean": 0.02}
    given |= {"methods": ("GET",), "sent": pl.DataFrame({"route": ["/a"], "requests": [10]}), **more}
    return Supply(rate=rate, low=low, high=high, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wanted", "reserve", "found"),
    [
        (DemandRange(250, 210, 280), Reserve(), Machines(3, 2, 4)),  # 250/100; 210/110; 280/90
        (DemandRange(200, 200, 200), Reserve(), Machines(2, 2, 3)),  # 200/90 is 2.2
        (DemandRange(200, 200, 200), Reserve(headroom=0.2), Machines(3, 3, 3)),  # 80, 72 and 88 each
        (DemandRange(200, 200, 200), Reserve(survive=2), Machines(4, 4, 5)),
        (DemandRange(200, 200, 200), Reserve(headroom=0.2, survive=1), Machines(4, 4, 4)),
        (DemandRange(0.1, 0.0, 0.2), Reserve(), Machines(1, 1, 1)),
        (DemandRange(260, 230, 300), Reserve(), Machines(3, 3, 4)),
    ],
)
def test_machines_are_demand_over_supply_rounded_up(wanted: DemandRange, reserve: Reserve, found: Machines) -> None:
    assert machines(wanted, supply(), reserve) == found


def test_growth_of_thirty_percent_needs_a_machine_more() -> None:
    exact = supply(100, 100, 100)
    assert machines(DemandRange(80, 80, 80), exact, Reserve()).number == 1
    assert machines(DemandRange(104, 104, 104), exact, Reserve()).number == 2


def test_an_unknown_upper_end_of_supply_is_no_hope_for_fewer() -> None:
    assert machines(DemandRange(250, 250, 250), supply(high=None), Reserve()) == Machines(3, 3, 3)


def test_the_week_has_the_machines_of_each_hour_and_its_cost() -> None:
    rows = [{"day": day, "hour": hour, "rate": 50.0 if hour < 12 else 150.0} for day in range(7) for hour in range(24)]
    hours = pl.DataFrame(rows).with_columns(low=pl.col("rate"), high=pl.col("rate"))
    week = of_week(hours, supply(100, 100, 100), Reserve())
    assert week["machines"].to_list() == ([1] * 12 + [2] * 12) * 7
    assert cost(2, week, Reserve(price=0.5)) == {"price": 0.5, "week": 2 * 168 * 0.5, "week_by_hour": 7 * 36 * 0.5}
    assert cost(2, week.head(167), Reserve(price=0.5)) == {"price": 0.5, "week": 168.0, "week_by_hour": None}
    assert cost(2, week, Reserve()) is None


@pytest.mark.parametrize(("rate", "mean"), [(100.0, 0.02), (99.95, 0.02), (99.0, 0.01), (400.0, 0.04), (49.0, None)])
def test_the_mean_of_a_machine_is_that_of_the_highest_stable_rate_up_to_the_one_that_it_carries(
    rate: float, mean: float | None
) -> None:
    rows = [(50.0, 0.01, "stable"), (100.0, 0.02, "stable"), (200.0, 0.04, "stable"), (300.0, 3.0, "overloaded")]
    steps = pl.DataFrame(rows, schema=["rate", "mean", "verdict"], orient="row")
    assert _mean_at(steps, rate) == mean
