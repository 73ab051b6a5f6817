"""Reduces result rows to whole microseconds, kinds and flags, in small types."""

from collections import Counter
from functools import cache
from typing import Final

import numpy as np
import polars as pl

from logreplay.analysis.input.routes import hashed
from logreplay.analysis.statistics.quantiles import LONGEST
from logreplay.core.record import ERRORS, REASON, SWAP_TURN, TARGET, TRACE_ID, failed

OK: Final = 0
HTTP_ERROR: Final = 1
NET_ERROR: Final = 2
DROPPED: Final = 3

LONGEST_RUN_S: Final = 100 * 86_400
"""Rows scheduled later than this are taken for damaged: a table has a row for every second."""

FIRST_ERROR: Final = 1000
ERROR_WORDS: Final = (*ERRORS, "no_status", "other")

CANCELLED: Final = FIRST_ERROR + ERROR_WORDS.index("cancelled")
"""The kind of requests that the run cancelled as it stopped: neither failed nor answered; their times are cut off."""

DROPPED_KIND: Final = FIRST_ERROR + ERROR_WORDS.index("dropped")
"""The kind of requests that the generator dropped: they count as failed, and not against the target."""

_KEPT: Final = ("row", "seq", TARGET, SWAP_TURN, TRACE_ID, REASON)
_NO_TIME: Final = "no time can be read"

OUTCOMES: Final = np.full(FIRST_ERROR + len(ERROR_WORDS), NET_ERROR, np.uint8)
OUTCOMES[1:400] = OK
OUTCOMES[400:FIRST_ERROR] = HTTP_ERROR
OUTCOMES[DROPPED_KIND] = DROPPED


def _micros(seconds: pl.Expr) -> pl.Expr:
    """Seconds, 0 or more, → whole microseconds; null where they are not a number, or none that 64 bits can hold."""
    return (seconds * 1e6 + 0.5).cast(pl.Int64, strict=False)


def _in_time() -> pl.Expr:
    return pl.col("scheduled").is_between(0, LONGEST_RUN_S)


def _compact(seconds: pl.Expr) -> pl.Expr:
    """Seconds → microseconds in 32 bits; null where there is no such time."""
    return _micros(seconds).clip(0, LONGEST).cast(pl.UInt32)


def compact(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Reduce rows of `sources.COLUMNS` to small types: whole microseconds, kinds, flags; keep `_KEPT`."""
    names = rows.collect_schema().names()
    return rows.select(*(name for name in _KEPT if name in names), **_reduced())


def is_readable() -> pl.Expr:
    """Whether a `compact` row has the times without which it is left out."""
    return pl.col("scheduled").is_not_null() & pl.col("response").is_not_null()


def unreadable(rows: pl.DataFrame) -> Counter[str]:
    """Count the `compact` rows that are left out, by reason."""
    bad = rows.filter(~is_readable())
    why = bad[REASON].fill_null(_NO_TIME) if REASON in rows.columns else [_NO_TIME] * bad.height
    return Counter(why)


@cache
def _reduced() -> dict[str, pl.Expr]:
    """The columns that are kept, by name; a run is read in hundreds of stretches, so they are made once."""
    error, rc = pl.col("error"), pl.col("rc").fill_null(0)
    known = error.cast(pl.Enum(ERROR_WORDS), strict=False).to_physical().cast(pl.UInt16)
    word = (error.is_not_null() & (error != "")).cast(pl.UInt16) * (1 + known.fill_null(ERROR_WORDS.index("other")))
    kind = (
        pl.when(word > 0)
        .then(FIRST_ERROR - 1 + word)
        .when(rc.is_between(1, 999))
        .then(rc.cast(pl.UInt16, strict=False))
        .otherwise(FIRST_ERROR + ERROR_WORDS.index("no_status"))
        .cast(pl.UInt16)
    )
    status = pl.when(rc.is_between(1, 999)).then(rc).otherwise(0)
    bad = failed(word, status, pl.col("expected_rc").fill_null(0))
    service = pl.sum_horizontal(
        pl.col("connect").fill_null(0.0), pl.col("latency"), pl.col("xfertime").fill_null(0.0), ignore_nulls=False
    ).clip(0)  # below 0, the unsigned microseconds without lag and queue would wrap around
    lag, queued = (pl.max_horizontal(pl.col(name).fill_nan(None).fill_null(0.0), 0.0) for name in ("lag", "queued"))
    return {
        "scheduled": pl.when(_in_time()).then(_micros(pl.col("scheduled"))),
        "lag": _compact(lag).fill_null(0),
        "queued": (_compact(lag + queued) - _compact(lag)).fill_null(0),
        "response": _compact(service + lag + queued),
        "connect": _compact(pl.col("connect")).fill_null(0),
        "latency": _compact(pl.col("latency")).fill_null(0),
        "kind": kind,
        "good": ~bad & (kind != CANCELLED),
        "step": pl.col("step").fill_null(0).cast(pl.Int32, strict=False).fill_null(-1),
        "offered": pl.col("offered").cast(pl.Float64).fill_null(float("nan")),
        "bytes": pl.col("bytes").fill_null(0).clip(0, 2**32 - 1).cast(pl.UInt32),
        "url": pl.col("url"),
        "url_hash": hashed(pl.col("url")),
        "op": pl.col("op"),
        "rc": rc,
    }
