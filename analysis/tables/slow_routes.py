"""Finds routes that fall behind or fail alone, as a route with a pool of its own does, by the balance of each route.

A route of a tenth of the requests that is answered at 90 % of its rate adds a backlog of 1 % to all requests, which is
within chance. Among its own requests it is 10 %.

Source: the rules of `logreplay.analysis.verdict.stability` for the requests of one route, at two rates in a row.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from logreplay.analysis.input.arrays import RequestArrays
from logreplay.analysis.input.chunks import SECOND
from logreplay.analysis.statistics.failures import more_errors
from logreplay.analysis.statistics.quantiles import Bools, Floats, Grouped, Ints
from logreplay.analysis.statistics.trends import DRIFT, TREND_Z, mann_kendall, relative_rise
from logreplay.analysis.tables.aggregate import BLOCKS, SETTLE, Windows, step_windows

_LEAST_SHARE: Final = 0.05
"""Smallest share of the requests for a route to be judged by itself; the others are one group."""
SAMPLE: Final = 500_000
"""Requests that are sampled, about, of a log at least twice as large, so that it takes no longer."""
_OTHERS: Final = "(other routes)"
GROWTH: Final = 0.03
FEWEST: Final = 40
"""Fewest requests of a route in a step for its trend to count."""
MORE: Final = 2.0
"""Growth of a route's backlog over that of the others, above which the route falls behind alone."""
_LEAST_RATES: Final = 2
"""Fewest rates in a row at which it does."""

SCHEMA: Final = {
    "step": pl.Int64,
    "rate": pl.Float64,
    "route": pl.String,
    "share": pl.Float64,
    "scheduled": pl.Int64,
    "errors": pl.Int64,
    "completed": pl.Float64,
    "growth": pl.Float64,
    "trend_z": pl.Float64,
    "drift": pl.Float64,
}


def route_balance(requests: RequestArrays) -> pl.DataFrame:
    """Return one row per step and route of 5 to 95 % of the requests, and one per step for all others.

    ``share`` of the requests of all steps; ``scheduled`` and ``errors`` in the step, of a sample of a large log;
    ``completed``: answers/s after the first fifth of the step; ``growth``, ``trend_z``, ``drift``: as of a step.
    No rows where one route has nearly all requests, or all routes are small.
    """
    sample = _sampled(requests)
    share = np.bincount(sample.route, minlength=len(requests.routes)) / len(sample)
    large = np.flatnonzero((share >= _LEAST_SHARE) & (share <= 1 - _LEAST_SHARE))
    if not len(large) or len(requests.labels) < 2:
        return pl.DataFrame(schema=SCHEMA)
    number, names = len(large) + 1, [requests.routes[index] for index in large] + [_OTHERS]
    place = np.full(len(requests.routes), len(large))
    place[large] = np.arange(len(large))
    windows, group = step_windows(requests), place[sample.route]
    scale, groups = len(requests) / len(sample), number * len(requests.labels)
    came, ended = _moved(sample, windows, group, number)
    own = sample.step * number + group
    scheduled = np.bincount(own, minlength=groups)
    judged_s = np.repeat((windows.stop - windows.settled) / SECOND, number)
    medians = _medians(sample, windows, own, groups)
    shares = np.bincount(group, minlength=number) / len(sample)
    return pl.DataFrame(
        {
            "step": np.repeat(requests.labels, number),
            "rate": np.repeat(requests.rates, number),
            "route": names * len(requests.labels),
            "share": np.tile(shares, len(requests.labels)),
            "scheduled": scheduled,
            "errors": np.bincount(own[sample.failed & sample.sent], minlength=groups),
            "completed": scale * ended / judged_s,
            "growth": (came - ended) / np.maximum(scheduled * (1 - SETTLE), 1),
            "trend_z": mann_kendall(medians),
            "drift": relative_rise(medians),
        },
        schema_overrides=SCHEMA,
    ).filter(pl.col("scheduled") > 0)


def _sampled(requests: RequestArrays) -> RequestArrays:
    """Take about `SAMPLE` requests: a random one of each block of rows, as a log may have a period."""
    stride = len(requests) // SAMPLE
    if stride < 2:
        return requests
    first = np.arange(0, len(requests) - stride, stride)
    return requests.take(first + np.random.default_rng(0).integers(0, stride, len(first)))


def _moved(sample: RequestArrays, windows: Windows, group: Ints, number: int) -> tuple[Ints, Ints]:
    """(steps * routes,) requests that were sent, and that ended, in the judged part of each step."""
    order = np.argsort(windows.start, kind="stable")
    starts, length = windows.start[order], number * len(order)

    def count(instants: Ints) -> Ints:
        step = order[np.maximum(np.searchsorted(starts, instants, side="right") - 1, 0)]
        inside = (instants >= windows.settled[step]) & (instants < windows.stop[step]) & sample.taken_up
        return np.bincount((step * number + group)[inside], minlength=length)

    return count(sample.scheduled + sample.lag), count(sample.scheduled + sample.response)


def _medians(sample: RequestArrays, windows: Windows, own: Ints, groups: int) -> Floats:
    """(steps * routes, `BLOCKS`) medians of the response time after the first fifth of each step, seconds."""
    block = windows.block(sample.step, sample.scheduled)
    inside = (block >= 0) & sample.taken_up
    keys = own[inside] * BLOCKS + block[inside]
    return Grouped(keys, sample.response[inside], groups * BLOCKS).quantile(0.5).reshape(groups, BLOCKS)


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

    ``balance``: of `route_balance`; ``rates``: those of the steps that count, ascending.
    """
    if balance.is_empty() or len(rates) < _LEAST_RATES:
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


def _lasting(bad: Bools) -> int | None:
    """The first bad rate of at least `_LEAST_RATES` in a row, above which half of the rates or more are bad."""
    for index in np.flatnonzero(bad[:-1] & bad[1:]):
        if bad[index:].mean() >= 0.5:
            return int(index)
    return None
