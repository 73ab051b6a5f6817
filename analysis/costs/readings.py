"""The readings of a watched resource beside the requests of each route, second by second, of each step of a sweep."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from logreplay.analysis.input.arrays import RequestArrays
from logreplay.analysis.input.chunks import SECOND
from logreplay.analysis.input.external_metrics import PREFIX
from logreplay.analysis.statistics.quantiles import Floats

REST: Final = "(other routes)"
"""The routes that are left out together."""
_IN_PERCENT: Final = re.compile("percent|pct", re.IGNORECASE)
_EDGE_S: Final = 1
"""Seconds at each end of a step that do not count: a reading is the mean of the second before it."""


@dataclass(frozen=True, slots=True)
class StepReadings:
    """One step.

    Attributes:
        label: label of the step.
        used: (seconds,) readings of the resource.
        sent: (seconds, routes) requests/s of each route.
        without: the route that it leaves out; empty: it has all.
    """

    label: int
    used: Floats
    sent: Floats
    without: str = ""


def watched_resource(names: Collection[str]) -> str | None:
    """The watched series of busy cores: ``cpu``, or the only one with this in its name that is not in percent."""
    among = [name for name in names if "cpu" in name.lower() and not _IN_PERCENT.search(name)]
    return "cpu" if "cpu" in names else among[0] if len(among) == 1 else None


def step_readings(
    requests: RequestArrays, seconds: pl.DataFrame, resource: str, left_out: Mapping[int, str], usable: Collection[int]
) -> tuple[tuple[str, ...], Sequence[StepReadings]]:
    """Return the names of the routes that are told apart, the rest last, and the readings of each usable step.

    A reading is the mean of about the second before it, so it is compared with the requests of this second and of
    the one before, half of each; readings at the ends of a step are left out.

    Args:
        left_out: by label of step the route that it leaves out.
        usable: labels of the steps that count.
    """
    named = list(dict.fromkeys(name for name in left_out.values() if name != REST))
    places = {name: place for place, name in enumerate(named)}
    column = np.array([places.get(name, len(named)) for name in requests.routes])
    rest = bool(np.isin(requests.route, np.flatnonzero(column == len(named))).any())
    names = (*named, *(REST,) * rest)
    readings = dict(seconds.select("second", PREFIX + resource).drop_nulls().iter_rows())
    second = (requests.scheduled // SECOND).astype(np.int64)
    found = []
    for index, label in enumerate(requests.labels):
        mine = (requests.step == index) & requests.sent
        if label not in usable or not mine.any():
            continue
        at, route = second[mine], column[requests.route[mine]]
        first, last = int(at.min()) + _EDGE_S, int(at.max()) - _EDGE_S
        kept = [number for number in range(first + 1, last + 1) if number in readings]
        if not kept:
            continue
        counts = np.zeros((last - first + 1, len(names)))
        inside = (at >= first) & (at <= last)
        np.add.at(counts, (at[inside] - first, route[inside]), 1)
        rows = np.array(kept) - first
        used = np.array([readings[number] for number in kept], np.float64)
        found.append(StepReadings(label, used, (counts[rows] + counts[rows - 1]) / 2, left_out.get(label, "")))
    return names, found
