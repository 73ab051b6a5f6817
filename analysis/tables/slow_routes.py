"""Finds routes that fall behind or fail alone, as a route with a pool of its own does.

Source: the rules of `logreplay.analysis.verdict.stability` for the requests of one route, at two rates in a row.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from logreplay.analysis.statistics.failures import Flags, more_errors
from logreplay.analysis.statistics.quantiles import Floats
from logreplay.analysis.statistics.trends import DRIFT, TREND_Z

GROWTH: Final = 0.03
FEWEST: Final = 40
"""Fewest requests of a route in a step for its trend to count."""
MORE: Final = 2.0
"""Growth of a route's backlog over that of the others, above which the route falls behind alone."""
LEAST: Final = 2
"""Fewest rates in a row at which it does."""


@dataclass(frozen=True)
class SlowRoute:
    """A route that saturates before the others.

    Attributes:
        name: name of the route.
        share: share of the requests that take this route.
        first: the lowest rate at which it falls behind or fails, all requests together; requests/s.
        completed: its answers/s there and above; NaN if it fails instead.
    """

    name: str
    share: float
    first: float
    completed: float


def slow_routes(balance: pl.DataFrame, rates: Floats) -> list[SlowRoute]:
    """Return the routes that saturate alone, the first of them and those that do at the same rate.

    Args:
        balance: table of `logreplay.analysis.tables.route_balance`.
        rates: (n,) ascending, of the steps that count.
    """
    if balance.is_empty() or len(rates) < LEAST:
        return []
    found = sorted(_alone(balance.filter(pl.col("rate").is_in(rates.tolist())), rates), key=lambda each: each.first)
    return [each for each in found if each.first == found[0].first]


def _alone(balance: pl.DataFrame, rates: Floats) -> Iterator[SlowRoute]:
    groups = {str(name): part.sort("step") for (name, *_), part in balance.group_by("route", maintain_order=True)}
    over = {name: _by_rate(part, _falls_behind(part), rates) for name, part in groups.items()}
    fails = {name: _by_rate(part, _fails(part), rates) for name, part in groups.items()}
    growth = {name: _by_rate(part, part["growth"].to_numpy(), rates) for name, part in groups.items()}
    share = {name: float(np.max(part["share"].to_numpy())) for name, part in groups.items()}
    for name, part in groups.items():
        others = [other for other in groups if other != name]
        if name.startswith("(") or not others:
            continue
        weight = np.array([share[other] for other in others])
        weight /= weight.sum()
        calm = sum(w * ((over[other] < 0.5) & (fails[other] < 0.5)) for w, other in zip(weight, others, strict=True))
        drag = sum(w * np.maximum(growth[other], 0) for w, other in zip(weight, others, strict=True))
        behind = (over[name] >= 0.5) & (growth[name] > MORE * drag)
        bad = (behind | (fails[name] >= 0.5)) & (calm > 0.5)
        if first := _lasting(bad):  # a route that is bad at the lowest rate shows no limit
            later = np.isin(part["rate"].to_numpy(), rates[first:][behind[first:]])
            completed = float(np.median(part["completed"].to_numpy()[later])) if behind[first] else float("nan")
            yield SlowRoute(name, share[name], float(rates[first]), completed)


def _falls_behind(part: pl.DataFrame) -> Floats:
    rising = (pl.col("trend_z") > TREND_Z) & (pl.col("drift") > DRIFT) & (pl.col("growth") > GROWTH)
    return part.select((rising & (pl.col("scheduled") >= FEWEST)).fill_null(False)).to_series().cast(float).to_numpy()


def _fails(part: pl.DataFrame) -> Floats:
    rate, errors, scheduled = (part[name].to_numpy() for name in ("rate", "errors", "scheduled"))
    failing, *_ = more_errors(rate, errors, scheduled, np.ones(len(rate), np.bool_))
    return failing.astype(np.float64)


def _by_rate(part: pl.DataFrame, values: Floats, rates: Floats) -> Floats:
    """(rates,) means of the values of the steps at each rate; 0 where there is none."""
    place = np.searchsorted(rates, part["rate"].to_numpy())
    count = np.bincount(place, minlength=len(rates))
    return np.asarray(np.bincount(place, np.nan_to_num(values), len(rates)) / np.maximum(count, 1))


def _lasting(bad: Flags) -> int | None:
    """The first bad rate of at least `LEAST` in a row, above which half of the rates or more are bad."""
    for index in np.flatnonzero(bad[:-1] & bad[1:]):
        if bad[index:].mean() >= 0.5:
            return int(index)
    return None
