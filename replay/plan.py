"""What to send and when: rows of a normalized CSV, each given an instant by a schedule; streamed.

`Requests` reads the rows, leaves out (counts and names) what must not or cannot be sent, and goes round when the
log is shorter than asked. `Plan` joins them with a schedule. Neither knows the clock, nor how a request is sent.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from logreplay.parsers import record
from logreplay.replay.schedule import Instants, Schedule

SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
CHUNK_ROWS: Final = 2048
"""Small enough that handing a chunk's strings to Python holds the interpreter for a tenth of a millisecond."""

_KEPT_ROWS: Final = 65_536
"""A log up to this long stays in memory when it is looped."""

_COLUMNS: Final = ("date", "time", "url", "op", "rc", "bytes", "latency", "xfertime", "thinktime", "client")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some consecutive requests of a plan.

    Attributes:
        frame: a row for each, with ``row``, ``url``, ``op``, ``expected_rc``, ``expected_bytes``,
            ``expected_latency`` and ``client``.
        due: ``(n,)`` when each is due, nanoseconds since the start of the plan, increasing.
    """

    frame: pl.DataFrame
    due: Instants


@dataclass(slots=True)
class Requests:
    """The requests of a log that may be sent.

    A hostile line must not end a run, move a request to another host, or become a second request; so only an
    origin-form target of printable ASCII (or ``*`` for OPTIONS) is ever sent, with a method that was allowed.

    Attributes:
        path: a normalized CSV, or a result log.
        methods: what may be sent.
        loop: begin again at the end of the log.
        left_out: rows of the first pass that are not sent, by reason; complete once a pass is.
        usable: rows of the first pass that are.
    """

    path: Path
    methods: Collection[str] = SAFE_METHODS
    loop: bool = True
    left_out: Counter[str] = field(default_factory=Counter)
    usable: int = 0

    def frames(self, rows: int = CHUNK_ROWS) -> Iterator[pl.DataFrame]:
        """Yield the requests in log order, about ``rows`` at a time, for ever if looping.

        Columns as in `Chunk`, and ``start`` (`Datetime[us]`, null where unknown).

        Raises:
            LogreplayError: the log cannot be read, is empty, or holds nothing that may be sent.
        """
        self.left_out.clear()
        self.usable = 0
        kept: list[pl.DataFrame] = []
        for frame in self._pass():
            self.left_out.update(dict(frame["reason"].drop_nulls().value_counts().iter_rows()))
            good = frame.filter(pl.col("reason").is_null()).drop("reason")
            self.usable += good.height
            if self.usable <= _KEPT_ROWS:
                kept.append(good)
            yield from good.iter_slices(rows)
        if not self.usable:
            raise record.LogreplayError(f"{self.path}: nothing to replay: {self._why_nothing()}")
        if not self.loop:
            return
        if self.usable <= _KEPT_ROWS:
            yield from _rounds(pl.concat(kept), rows)
        while True:
            for frame in self._pass():
                yield from frame.filter(pl.col("reason").is_null()).drop("reason").iter_slices(rows)

    def _pass(self) -> Iterator[pl.DataFrame]:
        first = 0
        for frame in record.read_batches(self.path, _COLUMNS):
            yield frame.select(
                pl.int_range(first, first + pl.len(), dtype=pl.Int64).alias("row"),
                "url",
                pl.col("op"),
                pl.col("rc").fill_null(0).alias("expected_rc"),
                pl.col("bytes").alias("expected_bytes"),
                (pl.col("latency") + pl.col("xfertime").fill_null(0)).alias("expected_latency"),
                pl.col("client"),
                record.start_time(),
                self._reason(),
            )
            first += frame.height

    def _reason(self) -> pl.Expr:
        """Why a row is not sent; null if it is. Names no value: values of the log are not to be trusted."""
        url, op = pl.col("url").fill_null(""), pl.col("op").fill_null("")
        method = pl.when(op.str.contains(r"^[A-Z]{1,20}$")).then(pl.lit("method ") + op).otherwise(pl.lit("bad method"))
        return (
            pl.when(op == "")
            .then(pl.lit("no method"))
            .when(op == "CONNECT")
            .then(pl.lit("method CONNECT"))
            .when(~op.is_in(list(self.methods)) | ~op.str.contains(r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"))
            .then(method)
            .when(url == "")
            .then(pl.lit("no url"))
            .when(~url.str.contains(r"^[\x21-\x7e]+$"))
            .then(pl.lit("control byte or blank in url"))
            .when((url == "*") & (op == "OPTIONS"))
            .then(None)
            .when(~url.str.starts_with("/"))
            .then(pl.lit("url does not begin with /"))
            .otherwise(None)
            .alias("reason")
        )

    def _why_nothing(self) -> str:
        if not self.left_out:
            return "it holds no requests"
        return "all requests are left out: " + ", ".join(f"{n} x {why}" for why, n in self.left_out.most_common(5))


@dataclass(slots=True)
class Plan:
    """The requests of a log on a schedule: an iterable of `Chunk`.

    Attributes:
        requests: what to send.
        schedule: when.
        step: index of the step in a sweep; goes into the result log.
    """

    requests: Requests
    schedule: Schedule
    step: int = 0

    def __iter__(self) -> Iterator[Chunk]:
        pace = self.schedule.pacer()
        for frame in self.requests.frames():
            starts = frame["start"].cast(pl.Int64).fill_null(0).to_numpy()
            due = pace(starts)
            if len(due):
                yield Chunk(frame.head(len(due)).drop("start"), due)
            if len(due) < frame.height:
                return


def _rounds(frame: pl.DataFrame, rows: int) -> Iterator[pl.DataFrame]:
    """Go round a short log for ever, in pieces of full length however short it is."""
    at = 0
    while True:
        yield frame[np.arange(at, at + rows) % frame.height]
        at = (at + rows) % frame.height
