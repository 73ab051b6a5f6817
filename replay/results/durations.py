"""Service times by method and outcome, as the semantic conventions of OpenTelemetry group them.

Source: https://opentelemetry.io/docs/specs/semconv/http/http-metrics/ (`http.client.request.duration`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from logreplay.replay.senders.contract import ERROR_CODES, WORDS

DURATION_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
"""Upper bounds of the buckets, seconds."""
OTHER: Final = "_OTHER"
"""Stands for any method that the conventions do not know."""
_METHODS: Final = ("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE")
_MOST: Final = 100
"""Groups kept apart; the requests of further ones are counted together."""
_DROPPED: Final = ERROR_CODES["dropped"]
_CANCELLED: Final = ERROR_CODES["cancelled"]

Group = tuple[str, int, str]
"""Method, status (0: none came), error word (empty: none)."""
OVERFLOW: Final[Group] = ("", 0, "")


@dataclass(slots=True)
class Durations:
    """Counts of service times by bucket, for each group of requests.

    Attributes:
        counts: for each group the requests in each bucket, one more than there are bounds.
        seconds: for each group the sum of the service times.
    """

    counts: dict[Group, tuple[int, ...]] = field(default_factory=dict)
    seconds: dict[Group, float] = field(default_factory=dict)

    def add(self, records: NDArray[np.void], methods: pl.Series) -> None:
        """Count the requests among some records (`logreplay.replay.senders.contract.RECORD`) that were sent."""
        service = (records["connect"] + records["latency"] + records["xfertime"]) / 1e9
        held_back = (records["error"] == _CANCELLED) & (service == 0)
        sent = (records["error"] != _DROPPED) & ~held_back
        outcome = records["status"].astype(np.int64) << 8 | records["error"]
        names = methods.unique().to_list()
        for name in names:  # NumPy, since a frame of Polars costs more than a small batch of requests
            chosen = sent if len(names) == 1 else sent & (methods == name).to_numpy()
            of_method, times = outcome[chosen], service[chosen]
            for code in np.unique(of_method).tolist():
                own = times[of_method == code]
                buckets = np.bincount(np.searchsorted(DURATION_BOUNDS, own), minlength=len(_NONE)).tolist()
                group = name if name in _METHODS else OTHER, code >> 8, WORDS[code & 255]
                self._count(group, buckets, float(own.sum()))

    def copy(self) -> "Durations":
        """A copy of the present state; another thread may be counting."""
        return Durations(self.counts.copy(), self.seconds.copy())

    def __add__(self, other: "Durations") -> "Durations":
        made = self.copy()
        for group, buckets in other.counts.items():
            made._count(group, buckets, other.seconds[group])
        return made

    def _count(self, group: Group, buckets: Iterable[int], seconds: float) -> None:
        if group not in self.counts and len(self.counts) >= _MOST:
            group = OVERFLOW
        self.seconds[group] = self.seconds.get(group, 0.0) + seconds  # first: a copy has it for all of its counts
        self.counts[group] = tuple(map(sum, zip(self.counts.get(group, _NONE), buckets, strict=True)))


_NONE: Final = (0,) * (len(DURATION_BOUNDS) + 1)
