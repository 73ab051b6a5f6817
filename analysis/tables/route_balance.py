"""Computes the balance of each large route in each step: a route with a pool of its own may fall behind alone.

A route of a tenth of the requests that is answered at 90 % of its rate adds a backlog of 1 % to all requests, which is
within chance. Among its own requests it is 10 %.
"""

from typing import Final

import numpy as np
import polars as pl

from logreplay.analysis.input.arrays import RequestArrays
from logreplay.analysis.input.chunks import SECOND
from logreplay.analysis.statistics.quantiles import Floats, Grouped, Ints
from logreplay.analysis.statistics.trends import mann_kendall, relative_rise
from logreplay.analysis.tables.aggregate import BLOCKS, SETTLE, Windows, step_windows

LEAST: Final = 0.05
"""Smallest share of the requests for a route to be judged by itself; the others are one group."""
SAMPLE: Final = 500_000
"""Requests that are sampled, about, of a log at least twice as large, so that it takes no longer."""
_OTHERS: Final = "(other routes)"

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

    Returns:
        ``share`` of the requests of all steps; ``scheduled`` and ``errors`` in the step, of a sample of a large log;
        ``completed``: answers/s after the first fifth of the step; ``growth``, ``trend_z``, ``drift``: as of a step.
        No rows where one route has nearly all requests, or all routes are small.
    """
    sample = _sampled(requests)
    share = np.bincount(sample.route, minlength=len(requests.routes)) / len(sample)
    large = np.flatnonzero((share >= LEAST) & (share <= 1 - LEAST))
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
