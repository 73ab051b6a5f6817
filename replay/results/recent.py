"""Response times while a run goes on: what a search looks at each second, beside the result log."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from logreplay.replay.results.result_log import Results
from logreplay.replay.senders.answers import failed

Floats = NDArray[np.float64]


class RecentRequests:
    """Results that are kept in mind until they are forgotten, and handed on to the result log.

    Written by the recorder's thread, read by any other.
    """

    def __init__(self, results: Results) -> None:
        self._results = results
        self._parts: list[tuple[NDArray[np.int64], Floats, Floats, Floats, NDArray[np.bool_]]] = []

    def write(self, rows: pl.DataFrame) -> None:
        """Append rows (see `logreplay.replay.results.result_log.Results`)."""
        self._results.write(rows)
        kept = rows.select(
            "seq",
            "scheduled",
            pl.sum_horizontal("lag", "connect", "latency", "xfertime").alias("response"),
            "lag",
            "rc",
            pl.col("expected_rc").fill_null(0),
            pl.col("error").fill_null("") != "",
        )
        seq, scheduled, response, lag, status, expected, error = (column.to_numpy() for column in kept.get_columns())
        self._parts.append((seq, scheduled, response, lag, error | failed(status, expected)))

    def close(self) -> None:
        """Finish the result log."""
        self._results.close()

    def forget(self) -> None:
        """Begin anew: nothing has ended."""
        self._parts = []

    def since(self, first: int, count: int) -> "EndedRequests":
        """Return what is known of requests ``first .. first + count - 1``."""
        known = EndedRequests(
            np.full(count, np.nan), np.full(count, np.inf), np.zeros(count), np.zeros(count, np.bool_)
        )
        for seq, scheduled, response, lag, bad in list(self._parts):
            inside = seq < first + count
            at = seq[inside] - first
            known.scheduled[at] = scheduled[inside]
            known.response[at], known.lag[at], known.failed[at] = response[inside], lag[inside], bad[inside]
        return known


@dataclass(frozen=True, slots=True, eq=False)
class EndedRequests:
    """What is known of some requests.

    Attributes:
        scheduled: (n,) when it was due, seconds since the start of the run; NaN while a request is under way.
        response: (n,) seconds from the scheduled instant to the end; inf while a request is under way.
        lag: (n,) of these, our own; 0 while a request is under way.
        failed: (n,) no whole answer, or a failed one (`logreplay.replay.senders.answers`).
    """

    scheduled: Floats
    response: Floats
    lag: Floats
    failed: NDArray[np.bool_]
