"""The normalized record: one request of an access log, or of a replay of it.

This is the contract between the packages: names, order, types and units of the columns, and the functions that write
them; `logreplay.core.rows` reads them. Columns are found by name; unknown columns are kept as text.

A result log is a normalized CSV with more columns, so it can be replayed, too.
"""

import signal
from collections.abc import Collection
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, TypeVar

import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

signal.siginterrupt(signal.SIGINT, True)  # Polars sets it to False: a read that waits for a pipe ignored Ctrl-C

CORE_COLUMNS: Final = ("date", "time", "latency", "xfertime", "thinktime", "bytes", "url", "rc", "op")
"""The core columns: present in each file, first, in this order.

``date`` ``YYYY-MM-DD`` and ``time`` ``HH:MM:SS.ffffff``: start of the request, UTC. ``latency`` (written to
first byte), ``xfertime`` (first to last byte), ``thinktime``: seconds, 0 where unknown. ``bytes``: body of the
response. ``url``: the request target byte for byte, other bytes than printable ASCII percent-encoded. ``rc``:
status, 0 where no status line came. ``op``: method.
"""

LOGGED_COLUMNS: Final = (
    "client",
    "host",
    "referer",
    "agent",
    "protocol",
    "request_bytes",
    "scheme",
    "headers",
    "body",
    "body_ref",
)
"""Columns that follow the core where the log has them.

``headers``: see `logreplay.core.headers`. ``body``: a body that is text, in CSVs of other makers; ``body_ref``:
where one is in the file beside the CSV, see `logreplay.core.bodies`.
"""

RESULT_COLUMNS: Final = (
    *CORE_COLUMNS,
    "seq",
    "row",
    "step",
    "offered",
    "scheduled",
    "lag",
    "connect",
    "error",
    "expected_rc",
    "expected_bytes",
    "expected_latency",
    "client",
    "queued",
    "protocol",
    "connection",
    "digest",
)
"""Columns of a result log.

``seq``: number of the request in the run, from 0. ``row``: its row in the input, from 0; repeats when the log is
looped. ``step``: index of the step. ``offered``: its offered rate, requests/s. ``scheduled``: seconds since the start
of the run. ``lag`` (actual start - scheduled), ``queued`` (from the start until a limit let it go and a connection was
free) and ``connect``: seconds. ``protocol``: of the connection that the request was given to, empty if it was given to
none; ``connection``: its number in the run, from 1, with HTTP/2. ``digest``: hash of the decoded body and of chosen
headers, empty without ``--digest`` or an answer. ``error``: empty or one of `ERRORS`. A dropped request was
never sent: ``lag + queued`` is its delay when it was dropped, its other times are 0, its date and time the scheduled
instant. A failed request's times end at the failure; a timed-out one's ``connect + latency + xfertime`` is the
time-out.
"""

TARGET: Final = "target"
SWAP_TURN: Final = "swap_turn"
"""Further columns of the result logs of a duet with ``--swap``: the URL that got the request; the turn in which it was
due, from 0. Each pair of targets has one of turns 0 and 1, one of turns 2 and 3, and so on."""
TRACE_ID: Final = "trace_id"
"""Last column of the result log of a run with ``--trace``: the W3C trace id of the request, 32 hexadecimal digits."""
SAMPLED_FROM: Final = 18
"""Place of the digits of a trace id by which it is sampled: its last 56 bits.

Source: https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/.
"""

RESPONSE_PARTS: Final = ("lag", "queued", "connect", "latency", "xfertime")
"""The columns whose sum is the response time."""

ERRORS: Final = (
    "timeout",
    "refused",
    "reset",
    "closed",
    "connect_timeout",
    "tls",
    "protocol",
    "short_body",
    "dropped",
    "cancelled",
)

REASON: Final = "(reason)"
"""A column of tables in memory, never of a file: the reason why a row is refused or left out; null if it is kept.

A table without it has no such row.
"""

_CANCELLED: Final = 1 + ERRORS.index("cancelled")
_Values = TypeVar("_Values", pl.Expr, "NDArray[Any]")

SCHEMA: Final[dict[str, type[pl.DataType]]] = {
    **dict.fromkeys(("date", "time", "url", "op", "error"), pl.String),
    **dict.fromkeys(("client", "host", "referer", "agent", "protocol", "scheme"), pl.String),
    **dict.fromkeys(("headers", "body", "body_ref", "digest", TARGET, TRACE_ID), pl.String),
    **dict.fromkeys(("bytes", "rc", "seq", "row", "step", "connection", SWAP_TURN), pl.Int64),
    **dict.fromkeys(("request_bytes", "expected_rc", "expected_bytes"), pl.Int64),
    **dict.fromkeys(("latency", "xfertime", "thinktime", "offered", "scheduled"), pl.Float64),
    **dict.fromkeys(("lag", "queued", "connect", "expected_latency"), pl.Float64),
}
"""Type of each known column; any other is text."""

_NO_YEAR: Final = r"^\s*(?:[-+]|0+-|9999)"
"""Years that Polars reads and Python's `datetime` does not hold, if only by a leap second."""
_FORMS: Final = ("%Y-%m-%dT%H:%M:%S.%6f", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%.f")


CLIENT_LEFT: Final = 499
"""Status in a log of nginx: the client closed the connection, so the server sent no response."""


def failed(error: _Values, status: _Values, expected: _Values) -> _Values:
    """Whether each request failed: the one rule of all counts, percentiles and verdicts.

    It failed if it ended with an error or without a status, or with a status of 400 or above where the log has no
    status of that class (4xx, 5xx). So a response that the log expects did not fail; `CLIENT_LEFT` expects none. Nor
    did a request that the run cancelled as it stopped: how it would have ended is unknown. A dropped request failed,
    but not due to the target.

    Args:
        error: (n,) 0: none; else 1 + the place of the word in `ERRORS`, or any larger number.
        status: (n,) of the response; 0: none.
        expected: (n,) status in the log; 0: none.
    """
    other = (status // 100 != expected // 100) | (expected == CLIENT_LEFT)
    bad = (status < 1) | ((status >= 400) & other)
    found: _Values = (error != _CANCELLED) & ((error != 0) | bad)
    return found


def never_sent(service: _Values, response: _Values) -> _Values:
    """Whether each cancelled request was never sent: a limit or the generator held it back until the run was stopped.

    Those of a lost worker, which may have been sent, have no times at all, or the time from their due time on.

    Args:
        service: (n,) connect + latency + xfertime.
        response: (n,) lag + queued + service.
    """
    found: _Values = (service == 0) & (response > 0)
    return found


def least_sampled(share: float) -> int:
    """The least value of the last 56 bits of a trace id that is sampled, for a share from 0 to 1."""
    return round((1 - share) * (1 << 56))


def is_text(value: str) -> bool:
    """Whether UTF-8 can hold a value: JSON may hold half of a surrogate pair."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def start_time() -> pl.Expr:
    """``date`` and ``time`` as one instant: ``Datetime[us]``, UTC, null where they are not valid."""
    date = pl.when(~pl.col("date").str.contains(_NO_YEAR)).then("date")
    text = date + "T" + pl.col("time")
    return text.map_batches(_instants, return_dtype=pl.Datetime("us"), is_elementwise=True).alias("start")


def _instants(texts: pl.Series) -> pl.Series:
    """Texts as instants. Those as logreplay writes them are read by position, which takes a third of the time."""
    start, left = pl.repeat(None, len(texts), dtype=pl.Datetime("us"), eager=True), texts
    for form in _FORMS:
        read = left.str.to_datetime(form, time_unit="us", strict=False, cache=form == _FORMS[-1])
        start = start.zip_with(start.is_not_null(), read)
        if start.null_count() == texts.null_count():
            break
        left = texts.set(start.is_not_null(), None)
    return start


def to_csv(frame: pl.DataFrame, *, header: bool, exact: Collection[str] = ()) -> bytes:
    """Write rows as the text of a normalized CSV: RFC 4180, UTF-8, ``\\n``, seconds with up to 6 decimals.

    Args:
        exact: columns written with all their decimals, so that they are read back unchanged, such as rates.
    """
    return csv_text(frame, header=header, exact=exact).getvalue()


def csv_text(frame: pl.DataFrame, *, header: bool, exact: Collection[str] = ()) -> BytesIO:
    """`to_csv`, as a buffer."""
    floats = [name for name, dtype in frame.schema.items() if dtype == pl.Float64 and name not in exact]
    sink = BytesIO()
    frame.with_columns(pl.col(floats).round(6)).write_csv(
        sink, include_header=header, float_scientific=False, quote_style="necessary"
    )
    return sink
