"""Response times during a run: a search reads them each second, besides the result log."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from logreplay.core.record import ERRORS, RESPONSE_PARTS, failed
from logreplay.replay.results.result_log import Results
from logreplay.replay.senders.contract import ERROR_CODES

Floats = NDArray[np.float64]

_WORDS: Final = pl.Enum(("", *ERRORS))


class RecentRequests:
    """Results that keep rows in memory until `forget`, and hand them on to the result log.

    Written by the recorder's thread, read by any other.
    """

    def __init__(self, results: Results) -> None:
        self._results = results
        self._parts: list[tuple[NDArray[np.int64], Floats, Floats, Floats, NDArray[np.bool_], NDArray[np.bool_]]] = []

    def write(self, rows: pl.DataFrame) -> None:
        """Append rows (see `logreplay.replay.results.result_log.Results`)."""
        self._results.write(rows)
        kept = rows.select(
            "seq",
            "scheduled",
            pl.sum_horizontal(RESPONSE_PARTS).alias("response"),
            "lag",
            "rc",
            pl.col("expected_rc").fill_null(0),
            pl.col("error").fill_null("").cast(_WORDS).to_physical().cast(pl.Int64),
        )
        seq, scheduled, response, lag, status, expected, error = (column.to_numpy() for column in kept.get_columns())
        response = np.where(error == ERROR_CODES["cancelled"], np.inf, response)
        sent = error != ERROR_CODES["dropped"]
        self._parts.append((seq, scheduled, response, lag, failed(error, status, expected), sent))

    def close(self) -> None:
        """Finish the result log."""
        self._results.close()

    def forget(self) -> None:
        self._parts = []

    @property
    def ended(self) -> "EndedRequests":
        """All requests that have ended, in any order."""
        parts = list(self._parts)
        return EndedRequests(*map(np.concatenate, zip(*parts, strict=True))) if parts else _NONE


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


_NONE: Final = EndedRequests(
    np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, np.bool_), np.zeros(0, np.bool_)
)
