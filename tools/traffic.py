"""Simulates weeks of traffic: the requests in each second, from a mean rate that is known for each minute."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from logreplay.analysis.demand.log_profile import LogProfile
from logreplay.analysis.demand.rates import MINUTE
from logreplay.analysis.statistics.quantiles import Floats, Ints

BEGIN: Final = 1_767_571_200
"""Monday, 2026-01-05, 00:00 UTC."""
DAY_MINUTES: Final = 24 * 60
WEEK_MINUTES: Final = 7 * DAY_MINUTES
_KEEP_HOURS: Final = 6.0
"""The level of an hour is like that of the hours around it, for about so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The process of which a log shows some weeks.

    Attributes:
        peak: mean requests/s in the busiest hour of an average week.
        differ: standard deviation of the logarithm of the level of a week; that of an hour has half of it beside.
        dispersion: index of dispersion of the requests in a minute; 1 is Poisson.
        burst_s: seconds for which a burst lasts.
        events: a week, on average, each of which multiplies the rate by 1.3 to 2.5 for 10 to 60 minutes.
    """

    peak: float = 100.0
    differ: float = 0.05
    dispersion: float = 3.0
    burst_s: int = 10
    events: float = 0.0


def mean_rates(traffic: Traffic, weeks: int, rng: np.random.Generator) -> Floats:
    """The mean rate in each minute of some weeks, which begin in any hour of the week; requests/s."""
    hours = weeks * 7 * 24
    clock = np.arange(7 * 24)
    noon, evening = rng.uniform(9, 13), rng.uniform(17, 22)
    bumps = _bump(clock % 24, noon, rng.uniform(2, 4)) + rng.uniform(0.3, 1.2) * _bump(clock % 24, evening, 2.0)
    shape = (0.05 + bumps) * np.where(clock // 24 >= 5, rng.uniform(0.3, 1.1), 1.0)
    shape = np.roll(np.tile(shape / shape.max(), weeks), int(rng.integers(7 * 24)))
    level = np.repeat(rng.normal(0.0, traffic.differ, weeks), 7 * 24) + _wander(hours, traffic.differ / 2, rng)
    by_hour = traffic.peak * shape * np.exp(level)
    rates = np.interp(np.arange(hours * 60) / 60, np.arange(hours), by_hour)
    busy = np.flatnonzero(rates > 0.5 * traffic.peak)
    for at in rng.choice(busy, rng.poisson(traffic.events * weeks)) if len(busy) else ():
        rates[at : at + rng.integers(10, 61)] *= rng.uniform(1.3, 2.5)
    return rates


def requests(
    rates: Floats, traffic: Traffic, rng: np.random.Generator, *, share: float = 1.0, cell: int = 10
) -> tuple[Ints, Ints]:
    """Draw the requests of these minutes: the seconds since `BEGIN` with a request, and how many.

    Args:
        rates: mean requests/s in each minute.
        traffic: its bursts.
        rng: random generator.
        share: front ends, each with this traffic: of which the sum is drawn.
        cell: seconds whose requests are all in the first of them, for the sake of speed.
    """
    means = np.repeat(rates * share * cell, MINUTE // cell)
    if traffic.dispersion > 1:
        held = max(traffic.burst_s // cell, 1)
        size = np.maximum(means.reshape(-1, held).sum(axis=1), 1e-9) / (traffic.dispersion - 1)
        means *= np.repeat(rng.standard_gamma(size) / size, held)
    counts = rng.poisson(means)
    seconds = np.arange(len(means)) * cell
    return seconds[counts > 0], counts[counts > 0]


def profile(seconds: Ints, counts: Ints, minutes: int) -> LogProfile:
    """The contents of a log of these requests to one route, that begins and ends with a request."""
    first, last = [0] * int(seconds[0] > 0), [minutes * 60 - 1] * int(seconds[-1] < minutes * 60 - 1)
    every = np.concatenate((first, seconds, last)).astype(np.int64)
    full = np.concatenate(([1] * len(first), counts, [1] * len(last))).astype(np.int64)
    table = pl.DataFrame({"second": every + BEGIN, "requests": full})
    routes = pl.DataFrame({"method": ["GET"], "route": ["/"], "requests": [int(full.sum())]})
    none = pl.DataFrame()
    return LogProfile(
        zone="UTC", seconds=table, routes=routes, peak_routes=routes, statuses=none, methods=none,
        protocols=none, agents=none, clients=none, without_body=0, headers=False, cut=(),
    )  # fmt: skip


def _bump(hour: Floats | Ints, at: float, width: float) -> Floats:
    apart = (hour - at + 12) % 24 - 12
    return np.asarray(np.exp(-0.5 * np.square(apart / width)))


def _wander(hours: int, differ: float, rng: np.random.Generator) -> Floats:
    keep = math.exp(-1 / _KEEP_HOURS)
    steps = rng.normal(0.0, differ * math.sqrt(1 - keep * keep), hours)
    level, levels = rng.normal(0.0, differ), np.empty(hours)
    for hour, step in enumerate(steps.tolist()):
        level = keep * level + step
        levels[hour] = level
    return levels
