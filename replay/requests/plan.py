"""Plans: rows of a log, shaped, each with its instant from a schedule; streamed.

Theory of operation. A source yields rows (`logreplay.replay.requests.sources`). `Requests` applies the shapes to each
block of them, leaves out (counts and names) requests that must not or cannot be sent, and begins again when the log is
too short. Other streams wrap this one: another order (`ordering`), others mixed in (`combine`), a hook (`hook`). `Plan`
joins a stream with a schedule. None knows the clock or the sender; unused features cost nothing.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final, Protocol, TypeVar, cast

import numpy as np
import polars as pl

from logreplay.core import record
from logreplay.core.errors import LogreplayError
from logreplay.replay.requests.header_columns import BODILESS, header_column, is_sent
from logreplay.replay.requests.headers import HeaderFromLog
from logreplay.replay.requests.log_stats import LogFigures
from logreplay.replay.requests.sources import LogFile, RequestSource
from logreplay.replay.schedules.rates import Instants, Schedule, most_requests

SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
CHUNK_ROWS: Final = 2048
"""Small enough that handing a chunk's strings to Python holds the interpreter for a tenth of a millisecond."""

KEPT_ROWS: Final = 65_536
KEPT_BYTES: Final = 128 << 20
"""A log up to this long, with its bodies, stays in memory when it is gone through more than once."""

_COUNTED: Final = 1_000_000
"""Rows of a log that are counted in about a second, beyond those that are sent."""
_COUNTED_BYTES: Final = 256 << 20
"""Bytes of the longest file that is counted: bodies make lines long."""

_COLUMNS: Final = ("date", "time", "url", "op", "rc", "bytes", "latency", "xfertime", "client")
PLANNED: Final = ("row", "url", "op", "expected_rc", "expected_bytes", "expected_latency", "client")
"""Columns of every planned frame."""
MADE: Final = ("row", "expected_rc", "expected_bytes", "expected_latency")
"""Those of them that are made here, whatever columns a log has."""

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some consecutive requests of a plan.

    Attributes:
        frame: a row for each, with the columns `PLANNED`, those that are rendered into requests
            (`logreplay.replay.requests.header_columns`), and those that `Requests.keep` names.
        due: ``(n,)`` when each is due, nanoseconds since the start of the plan, increasing.
    """

    frame: pl.DataFrame
    due: Instants


class Shape(Protocol):
    """One change to the requests of a log: a filter, another url, a header.

    A function with the names of the columns that it needs. It is given the columns `PLANNED`, ``start`` and those
    named, and returns the same rows in the same order. To leave rows out it gives them a reason
    (`logreplay.replay.requests.filters.leave_out`); what it writes to ``url`` and ``op`` is checked after it.
    """

    @property
    def columns(self) -> Collection[str]:
        """Columns of the log that it needs."""

    def __call__(self, frame: pl.DataFrame, /) -> pl.DataFrame:
        """Shape some rows."""


class RequestStream(Protocol):
    """Requests in the order in which they are to be sent."""

    def frames(self, rows: int = CHUNK_ROWS, begin: int = 0) -> Iterator[pl.DataFrame]:
        """Begin: yield them, about ``rows`` at a time, and none where there are none yet; without the first ``begin``.

        Columns as in `Chunk`, and ``start`` (`Datetime[us]`, null where unknown).

        Raises:
            LogreplayError: the log cannot be read, is empty, or holds nothing that may be sent.
        """

    @property
    def left_out(self) -> Counter[str]:
        """Rows left out, by reason: each row of the log once, and what a hook left out of each plan."""

    @property
    def usable(self) -> int:
        """Rows of the log that can be sent, so far, in its first pass."""

    @property
    def unfilled(self) -> Counter[HeaderFromLog]:
        """For each header from a column of the log the rows of its first pass, so far, that have no value for it."""

    @property
    def figures(self) -> LogFigures:
        """Statistics of the log from the first pass."""


class SigningStream(RequestStream, Protocol):
    """Requests of which each is finished, as by a signature, within the second before it is due.

    Attributes:
        signing: True if requests are signed.
        together: requests that are finished in one go: few, so that the first can be sent meanwhile.
    """

    @property
    def signing(self) -> bool: ...

    @property
    def together(self) -> int: ...

    def sign(self, chunk: Chunk) -> Chunk:
        """Finish the requests of a chunk; it may lose some."""


def part_of(stream: object, kind: type[Part]) -> Part | None:
    """The part of this kind of a stream that may be wrapped in others; None if it has none."""
    while stream is not None and not isinstance(stream, kind):
        stream = getattr(stream, "requests", None)
    return stream


def signing_part(stream: RequestStream | None) -> SigningStream | None:
    """The stream, if its requests are finished when they are due; None if they are when they are read."""
    return cast(SigningStream, stream) if getattr(stream, "signing", False) else None


def signer(plan: Iterable[Chunk]) -> SigningStream | None:
    """What must finish the requests of a plan when they are due; None if nothing must."""
    return signing_part(getattr(plan, "requests", None))


class Made:
    """Part of a stream that wraps another one: it reports the wrapped one's figures of the log."""

    __slots__ = ()
    requests: RequestStream

    @property
    def left_out(self) -> Counter[str]:
        return self.requests.left_out

    @property
    def usable(self) -> int:
        return self.requests.usable

    @property
    def unfilled(self) -> Counter[HeaderFromLog]:
        return self.requests.unfilled

    @property
    def figures(self) -> LogFigures:
        return self.requests.figures


@dataclass(slots=True)
class Requests:
    """The requests of a log that may be sent, in its order.

    A hostile line must not end a run, move a request to another host, or become a second request; so only an
    origin-form target of printable ASCII (or ``*`` for OPTIONS) is ever sent, with a method that was allowed.

    Attributes:
        source: a normalized CSV or result log, or another source of rows.
        methods: that may be sent.
        loop: begin again at the end of the log. The times go on, as if the log were followed by itself.
        shapes: applied one after the other.
        keep: further columns of the log to carry along.
        skip_idle: seconds; longer gaps between requests are shortened to this. None: they stay.
        sorted_within: rows within which the log is put in order of start. 0: its order stays.
        in_time: its times count: a log out of order ends the pass with an error.
        left_out: rows of the first pass that are not sent, by reason; complete once a pass is.
        usable: rows of the first pass that are.
        unfilled: rows of the first pass, so far, without a value, by header from a column.
        figures: counts and times from the first pass.
        skipped_s: seconds of idle time left out in the first pass.
        whole: True if the first pass is complete.
    """

    source: Path | RequestSource
    methods: Collection[str] = SAFE_METHODS
    loop: bool = True
    shapes: Sequence[Shape] = ()
    keep: Sequence[str] = ()
    skip_idle: float | None = None
    sorted_within: int = 0
    in_time: bool = False
    left_out: Counter[str] = field(default_factory=Counter)
    usable: int = 0
    unfilled: Counter[HeaderFromLog] = field(default_factory=Counter)
    figures: LogFigures = field(default_factory=LogFigures)
    skipped_s: float = 0.0
    whole: bool = False

    def frames(self, rows: int = CHUNK_ROWS, begin: int = 0) -> Iterator[pl.DataFrame]:
        kept, size = list[pl.DataFrame](), 0.0
        for frame in self.one_pass():
            size += frame.estimated_size()
            if self.loop and self.usable <= KEPT_ROWS and size <= KEPT_BYTES:
                kept.append(frame)
            else:
                kept.clear()
            rest = frame.slice(max(0, begin - (self.usable - frame.height)))
            yield from rest.iter_slices(rows) if rest.height else (rest,)
        if not self.loop:
            return
        period, at = self.figures.period, max(begin, self.usable)
        if kept:
            yield from _rounds(pl.concat(kept, how="diagonal"), rows, period, at)
        passes, before = divmod(at, self.usable)
        while True:
            later = pl.col("start") + pl.duration(microseconds=passes * period)
            for frame, _ in self._good():
                yield from frame.slice(before).with_columns(later).iter_slices(rows)
                before = max(0, before - frame.height)
            passes += 1

    def anew(self) -> "Requests":
        """The same requests, with counts of their own."""
        return replace(self, left_out=Counter(), unfilled=Counter(), figures=LogFigures())

    @property
    def rows(self) -> int:
        """Rows of the first pass, so far."""
        return self.usable + self.left_out.total()

    def count_on(self) -> None:
        """Count the rest of the log, too, unless it is too long or cannot be read again."""
        if self.whole or self.rows > _COUNTED:
            return
        once = self.anew()
        with suppress(LogreplayError, OSError):  # the run read all that it sent: the counts stay those of the rows read
            if isinstance(self.source, Path) and self.source.stat().st_size > _COUNTED_BYTES:
                return
            for _ in once.one_pass():
                if once.rows > _COUNTED:
                    return
            self.left_out, self.unfilled, self.figures = once.left_out, once.unfilled, once.figures
            self.usable, self.skipped_s, self.whole = once.usable, once.skipped_s, True

    def survey(self) -> LogFigures:
        """Go through the log once, to learn its rates. Changes nothing here.

        Raises:
            LogreplayError: it cannot be read, or has no times.
        """
        once = self.anew()
        for _ in once.one_pass():
            pass
        if not once.figures.mean:
            raise LogreplayError(
                f"{self.source}: --arrivals log needs requests at two different times; use --arrivals poisson or even"
            )
        return once.figures

    def one_pass(self) -> Iterator[pl.DataFrame]:
        """Yield the good requests once, and count.

        Raises:
            LogreplayError: as `frames`; or the log is out of order (`in_time`).
        """
        self.left_out.clear()
        self.unfilled.clear()
        headers = [shape for shape in self.shapes if isinstance(shape, HeaderFromLog)]
        self.usable, self.figures, self.skipped_s, self.whole = 0, LogFigures(), 0.0, False
        for frame, reasons in self._good():
            self.left_out.update(reasons)
            self.usable += frame.height
            self.figures.add(instants(frame))
            if self.in_time:
                self.figures.expect_order(self.source)
            for header in headers:
                self.unfilled[header] += frame[header_column(header.name, ())].null_count()
            yield frame
        if not self.usable:
            raise LogreplayError(f"{self.source}: nothing to replay: {self._why_nothing()}")
        self.whole = True

    def _good(self) -> Iterator[tuple[pl.DataFrame, dict[str, int]]]:
        """One pass: the rows that may be sent, and the numbers of the others by reason."""
        shaped = self._shaped()
        ordered = _in_order(shaped, self.sorted_within) if self.sorted_within else shaped
        last = removed = 0
        for frame in ordered:
            reasons = dict(frame[record.REASON].drop_nulls().value_counts(sort=True).iter_rows())
            good = (frame.filter(pl.col(record.REASON).is_null()) if reasons else frame).drop(record.REASON)
            if self.skip_idle is not None:
                good, last, removed = _without_idle(good, int(self.skip_idle * 1e6), last, removed)
                self.skipped_s = removed / 1e6
            yield good, reasons

    def _shaped(self) -> Iterator[pl.DataFrame]:
        source = LogFile(self.source) if isinstance(self.source, Path) else self.source
        wanted = [*self.keep, *(name for shape in self.shapes for name in shape.columns)]
        columns = list(dict.fromkeys((*_COLUMNS, *wanted)))
        extra = [name for name in dict.fromkeys(wanted) if name not in PLANNED and not is_sent(name)]
        first = 0
        for frame in source.batches(columns):
            planned = frame.select(
                pl.int_range(first, first + pl.len(), dtype=pl.Int64).alias("row"),
                "url",
                "op",
                pl.col("rc").fill_null(0).alias("expected_rc"),
                pl.col("bytes").alias("expected_bytes"),
                (pl.col("latency") + pl.col("xfertime").fill_null(0)).alias("expected_latency"),
                "client",
                record.start_time(),
                *extra,
                *(name for name in frame.columns if is_sent(name) or name == record.REASON),
            )
            for shape in self.shapes:
                planned = shape(planned)
            sent = [name for name in planned.columns if is_sent(name)]
            known = [pl.col(record.REASON)] if record.REASON in planned.columns else []
            reason = pl.coalesce(*known, _reason(frozenset(self.methods))).alias(record.REASON)
            yield planned.select(*PLANNED, "start", *self.keep, *sent, reason)
            first += frame.height

    def _why_nothing(self) -> str:
        if not self.left_out:
            return "it holds no requests"
        why = ", ".join(f"{n} x {why}" for why, n in self.left_out.most_common(5))
        return f"all requests are left out: {why}{self.methods_remedy(self.left_out)}"

    def methods_remedy(self, left_out: Collection[str]) -> str:
        """The option that sends requests left out for their method, and their danger; empty if there are none.

        Args:
            left_out: the reasons that are told before.
        """
        prefix = "method "
        methods = {why.removeprefix(prefix) for why in left_out if why.startswith(prefix)}
        others = {method for method in methods if method.upper() != "CONNECT"}
        if not others:
            return ""
        them = "them" if len(others) == len(left_out) else ", ".join(sorted(others))
        warning = "; these may change data on the target" if others - {*BODILESS} else ""
        return f"; send {them} with --methods {','.join(sorted({*self.methods, *others}))}{warning}"


class ScheduledRequests(Protocol):
    """What an engine runs: a `Plan`, or the part of one that a worker sends."""

    @property
    def requests(self) -> RequestStream:
        """The requests to send."""

    @property
    def schedule(self) -> Schedule:
        """When."""

    @property
    def step(self) -> int:
        """Index of the step in a sweep."""

    @property
    def together(self) -> int:
        """Number of consecutive requests that are one of the log."""

    def __iter__(self) -> Iterator[Chunk]:
        """Begin."""


@dataclass(slots=True)
class Plan:
    """A stream of requests on a schedule: an iterable of `Chunk`.

    Attributes:
        requests: to send.
        schedule: their instants.
        step: index of the step in a sweep; goes into the result log.
        begin: number of requests of the stream that an earlier plan sent, and that are passed over.
        together: number of consecutive requests that one worker sends.
    """

    requests: RequestStream
    schedule: Schedule
    step: int = 0
    begin: int = 0
    together: int = 1

    def __iter__(self) -> Iterator[Chunk]:
        pace, left = self.schedule.pacer(), most_requests(self.schedule)
        for frame in self.requests.frames(begin=self.begin):
            due = pace(instants(frame))
            yield Chunk(frame.head(len(due)).drop("start"), due)
            left = left and left - len(due)
            if len(due) < frame.height or left == 0:  # the next request of a log that is followed may never come
                return


@cache
def _reason(methods: frozenset[str]) -> pl.Expr:
    """The reason why a row is not sent; null if it is. Names no values, as those of the log are not trusted."""
    url, op = pl.col("url").fill_null(""), pl.col("op").fill_null("")
    method = pl.when(op.str.contains(r"^[A-Za-z-]{1,20}$")).then(pl.lit("method ") + op).otherwise(pl.lit("bad method"))
    return (
        pl.when(op == "")
        .then(pl.lit("no method"))
        .when(op == "CONNECT")
        .then(pl.lit("method CONNECT"))
        .when(~op.is_in(sorted(methods)) | ~op.str.contains(r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"))
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
    )


def instants(frame: pl.DataFrame) -> Instants:
    """When the requests started in the log: microseconds since 1970, 0 where unknown."""
    return frame["start"].cast(pl.Int64).fill_null(0).to_numpy()


def _rounds(frame: pl.DataFrame, rows: int, period: int, at: int) -> Iterator[pl.DataFrame]:
    """Repeat a short log without end, in pieces of full length; from request ``at`` on."""
    while True:
        index = np.arange(at, at + rows)
        shift = pl.Series((index // frame.height) * period).cast(pl.Duration("us"))
        yield frame[index % frame.height].with_columns(pl.col("start") + shift)
        at += rows


def _in_order(frames: Iterator[pl.DataFrame], within: int) -> Iterator[pl.DataFrame]:
    """Sort rows by start that are out of place by ``within`` at most; one without a start follows the one before."""
    by_start = pl.col("start").forward_fill()
    waiting: list[pl.DataFrame] = []
    for frame in frames:
        waiting.append(frame)
        if sum(part.height for part in waiting) >= 2 * within:
            ordered = pl.concat(waiting, how="diagonal").sort(by_start, maintain_order=True)
            yield ordered.head(-within)
            waiting = [ordered.tail(within)]
    if waiting:
        yield pl.concat(waiting, how="diagonal").sort(by_start, maintain_order=True)


def _without_idle(frame: pl.DataFrame, longest: int, last: int, removed: int) -> tuple[pl.DataFrame, int, int]:
    """Shorten gaps. ``last`` and ``removed``: instant of the row before, and the time removed before it (us)."""
    starts = instants(frame)
    if not len(starts):
        return frame, last, removed
    known = np.maximum.accumulate(np.concatenate(([last], starts)))
    too_long = np.where(known[:-1] > 0, np.maximum(np.diff(known) - longest, 0), 0)
    taken = removed + np.cumsum(too_long)
    start = pl.col("start") - pl.Series(taken).cast(pl.Duration("us"))
    return frame.with_columns(start), int(known[-1]), int(taken[-1])
