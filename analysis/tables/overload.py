"""Measures how many requests a target carries while it falls behind, before an overload changes its speed."""

import math
from typing import Final

import numpy as np

from logreplay.analysis.input.arrays import RequestArrays
from logreplay.analysis.input.chunks import SECOND

BACKLOG: Final = 60
"""A backlog is at least this many requests in flight above the usual number, and `TIMES` that number above it."""
TIMES: Final = 4
SHORT: Final = 2.0
"""A queue is short while at most this many times the usual number is in flight."""
MOST: Final = 200_000
"""Number of requests of a step that are read, the first ones, so that a large log takes no longer."""


def completed_falling_behind(requests: RequestArrays, step: int, usual: float) -> float:
    """Return the answers/s from the last instant with a short queue until the backlog has grown; NaN without either.

    Some servers complete fewer requests once they are overloaded. This span shows the rate that they completed before.
    ``usual``: requests in flight at a lower rate that was carried.
    """
    rows = np.flatnonzero((requests.step == step) & requests.taken_up)
    if len(rows) > MOST:
        rows = rows[np.argpartition(requests.scheduled[rows], MOST)[:MOST]]
    sent = requests.scheduled[rows] + requests.lag[rows]
    ended = requests.scheduled[rows] + requests.response[rows]
    sent.sort()
    ended.sort()
    in_flight = np.arange(1, len(sent) + 1) - np.searchsorted(ended, sent, side="right")
    grown = np.flatnonzero(in_flight >= usual + max(BACKLOG, TIMES * usual))
    if not len(grown):
        return math.nan
    short = np.flatnonzero(in_flight[: grown[0]] <= max(SHORT * usual, 1))
    if not len(short):
        return math.nan
    begin, end = int(sent[short[-1]]), int(sent[grown[0]])
    answered = np.searchsorted(ended, end) - np.searchsorted(ended, begin)
    return float(answered) / (end - begin) * SECOND if end > begin else math.nan
