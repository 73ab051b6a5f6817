"""Response times during a run: a search reads them each second, besides the result log."""

from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from logreplay.core.record import RESPONSE_PARTS, SCHEMA, failed
from logreplay.replay.results.counters import ERROR_CODE
from logreplay.replay.results.result_log import Results

Floats = NDArray[np.float64]

_RESPONSE: Final = pl.when(pl.col("error") == "cancelled").then(inf).otherwise(pl.sum_horizontal(RESPONSE_PARTS))
_KEPT: Final = (
    pl.col("seq", "scheduled"),
    _RESPONSE.alias("response"),
    pl.col("lag"),
    failed(ERROR_CODE, pl.col("rc"), pl.col("expected_rc").fill_null(0)).alias("failed"),
    (pl.col("error").fill_null("") != "dropped").alias("sent"),
)
"""The figures of `EndedRequests`."""


class RecentRequests:
    """Results that keep rows in memory until `forget`, and hand them on to the result log.

    Written by the recorder's thread, read by any other.
    """

    def __init__(self, results: Results) -> None:
        self._results = results
        self.forget()

    def write(self, rows: pl.DataFrame) -> None:
        """Append rows (see `logreplay.replay.results.result_log.Results`)."""
        self._results.write(rows)
        self._parts.append(rows.select(_KEPT))

    def close(self) -> None:
        """Finish the result log."""
        self._results.close()

    def forget(self) -> None:
        self._parts = [pl.DataFrame(schema=SCHEMA).select(_KEPT)]

    @property
    def ended(self) -> "EndedRequests":
        """All requests that have ended, in any order."""
        return EndedRequests(*(column.to_numpy() for column in pl.concat(list(self._parts))))


@dataclass(frozen=True, slots=True, eq=False)
class EndedRequests:
    """Figures of requests that have ended.

    Attributes:
        seq: (n,) their numbers.
        scheduled: (n,) when each was due, seconds since the start of the run.
        response: (n,) seconds from the scheduled instant to the end; inf if it was cancelled.
        lag: (n,) of these, generator lag.
        failed: (n,) whether it failed (`logreplay.core.record.failed`).
        sent: (n,) False if it was dropped: it does not measure the target.
    """

    seq: NDArray[np.int64]
    scheduled: Floats
    response: Floats
    lag: Floats
    failed: NDArray[np.bool_]
    sent: NDArray[np.bool_]
