"""Headers and HTTP versions of the requests: shapes that add them, from the user or from the log.

`logreplay.replay.senders.encode` renders their columns; control bytes of a log become blanks.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import polars as pl

from logreplay.core.headers import HEADERS, OF_CLIENT, OF_CONNECTION, header_pairs, header_values
from logreplay.replay.requests.filters import leave_out
from logreplay.replay.requests.header_columns import (
    HTTP1,
    HTTP2,
    PROTOCOL,
    SINGLE,
    check_header,
    cleaned,
    header_column,
)

_VERSION: Final = r"(?i)^(?:HTTP/|h)([12])(?:\.[0-9])?c?$"
_IPV4: Final = r"[0-9]{1,3}(\.[0-9]{1,3}){3}"
_IPV6: Final = "[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*"
_AUTHORITY: Final = r"^([A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$"


@dataclass(frozen=True, slots=True)
class FixedHeader:
    """The same header on every request; instead of the sender's own, where it writes one of this name.

    Attributes:
        name, value: as they are to be written.
    """

    name: str
    value: str
    columns: ClassVar[Sequence[str]] = ()

    def __post_init__(self) -> None:
        check_header(self.name, self.value)

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.with_columns(pl.lit(self.value).alias(header_column(self.name, frame.columns)))

    @classmethod
    def parse(cls, text: str) -> "FixedHeader":
        """Read ``Name: value``."""
        name, colon, value = text.partition(":")
        if not colon:
            # the rest may be a secret, such as a token without its name
            raise ValueError(f"{text.split(' ')[0][:40]!r}… is not a header; write 'Name: value', or log")
        return cls(name.strip(" \t"), value.strip(" \t"))


@dataclass(frozen=True, slots=True)
class LoggedHeader:
    """A header with the value from the log; where it has none, the sender's own value, if any.

    Attributes:
        name: name of the header.
        column: column of the log: ``agent``, ``referer``, ….
    """

    name: str
    column: str

    @property
    def columns(self) -> Sequence[str]:
        return (self.column,)

    @property
    def value(self) -> pl.Expr:
        """The value, null where there is none."""
        return pl.col(self.column)

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.with_columns(self.value.alias(header_column(self.name, frame.columns)))


@dataclass(frozen=True, slots=True)
class HeaderFromLog(LoggedHeader):
    """A header that the user asks for, with the value that a column of the log has; not sent where it has none.

    Of the column ``headers`` it is the header of the same name. In ``Forwarded`` an address stands as RFC 7239 wants
    it; other texts are not sent.
    """

    def __post_init__(self) -> None:
        check_header(self.name, self.column)

    @property
    def value(self) -> pl.Expr:
        if self.column == HEADERS:
            return header_values(self.name)
        logged = cleaned(pl.col(self.column).cast(pl.String))
        return _forwarded(logged) if self.name.lower() == "forwarded" else pl.when(logged != "").then(logged)


def _forwarded(value: pl.Expr) -> pl.Expr:
    """Addresses with commas between as a ``Forwarded`` header (RFC 7239, 4 and 6); such a header unchanged."""
    address = pl.element().str.strip_chars(" ")
    node = (
        pl.when(address.str.contains(f"^{_IPV4}$"))
        .then(pl.lit("for=") + address)
        .when(address.str.contains(f"^{_IPV4}:[0-9]{{1,5}}$"))
        .then(pl.lit('for="') + address + '"')
        .when(address.str.contains(rf"^(\[{_IPV6}\]|{_IPV6})$"))
        .then(pl.lit('for="[') + address.str.strip_chars("[]") + ']"')
    )
    nodes = value.str.split(",").list.eval(node).list.join(", ", ignore_nulls=False)
    return pl.when(value.str.contains("=", literal=True)).then(value).otherwise(nodes)


@dataclass(frozen=True, slots=True)
class LoggedHost:
    """The ``Host`` from the log, if it is a valid name. A name only: the request goes to the target."""

    columns: ClassVar[Sequence[str]] = ("host",)

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        host = pl.when(pl.col("host").str.contains(_AUTHORITY)).then("host")
        return frame.with_columns(host.alias(header_column("Host", frame.columns)))


@dataclass(frozen=True, slots=True)
class LoggedProtocol:
    """The version of HTTP that the log names, 1.x or 2; requests without one of these are left out."""

    columns: ClassVar[Sequence[str]] = (PROTOCOL,)

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        version = pl.col(PROTOCOL).str.extract(_VERSION)
        known = pl.when(version == "1").then(pl.lit(HTTP1)).when(version == "2").then(pl.lit(HTTP2))
        unnamed = pl.col(PROTOCOL).fill_null("").is_in(("", "-"))
        frame = leave_out(frame, unnamed, "no protocol")
        return leave_out(frame, ~unnamed & version.is_null(), "protocol other than HTTP/1 and HTTP/2").with_columns(
            known.alias(PROTOCOL)
        )


@dataclass(frozen=True, slots=True)
class LoggedHeaders:
    """All headers of the log's column ``headers``, except for Host and those of the connection, the body and traces.

    With the headers of traces the requests would join the traces of those that were logged.

    Attributes:
        without: names, in lower case, of further headers to leave out.
    """

    without: frozenset[str] = frozenset()
    name: ClassVar[str] = "log"
    columns: ClassVar[Sequence[str]] = (HEADERS,)

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        if not frame[HEADERS].is_not_null().any():
            return frame
        found: dict[str, list[str | None]] = {}
        odd = [False] * frame.height
        unwanted, names = _NOT_LOGGED | self.without, dict[str, bool]()
        for row, text in enumerate(frame[HEADERS].to_list()):
            own: set[str] = set()
            for name, value in header_pairs(text):
                lower = name.lower()
                if lower not in names:
                    names[lower] = lower not in unwanted and not is_of_trace(lower)
                if not names[lower] or (lower in SINGLE and header_column(lower, ()) in own):
                    continue
                column = header_column(lower, own)
                own.add(column)
                if column in found or len(found) < _MOST_NAMES:
                    found.setdefault(column, [None] * frame.height)[row] = value
                else:
                    odd[row] = True
        columns = [pl.Series(column, values, dtype=pl.String) for column, values in found.items()]
        shaped = frame.with_columns(columns)
        return leave_out(shaped, pl.lit(pl.Series(odd)), "headers of too many names") if any(odd) else shaped


_NOT_LOGGED: Final = OF_CONNECTION | {"host", "content-type", "content-encoding"}
_MOST_NAMES: Final = 300
"""Different headers of some thousand requests. A log has some dozens, an attack any number."""


_OF_TRACE: Final = re.compile(
    r"traceparent|tracestate|sentry-trace|uber-trace-id|x-(?:amzn-trace|request|correlation)-id|x-cloud-trace-context"
    r"|b3|(?:x-b3|x-datadog|ot-tracer)-.*"
)
"""Headers that name a request or its trace: W3C, B3, AWS, Google, Jaeger, OpenTracing, Datadog, Sentry.

Source: https://opentelemetry.io/docs/specs/otel/context/api-propagators/#propagators-distribution, and their pages.
"""


def is_of_trace(name: str) -> bool:
    """Whether a header, by its name in lower case, says which trace a request belongs to."""
    return _OF_TRACE.fullmatch(name) is not None


def parse_header(text: str) -> FixedHeader | HeaderFromLog | LoggedHeaders:
    """Read ``Name: value``, ``Name: log`` or ``Name: log:COLUMN``; or ``log`` for the headers of the log."""
    if text == "log":
        return LoggedHeaders()
    header = FixedHeader.parse(text)
    name, lower = header.name, header.name.lower()
    word, colon, column = header.value.partition(":")
    column = column.strip()
    if word != "log":
        return header
    if colon and not column:
        raise ValueError(f"'{name}: {header.value}' names no column; write '{name}: log:COLUMN'")
    if lower == "host" or (lower in _OPTIONS and not colon):
        raise ValueError(f"'{name}: {header.value}': expected a fixed value; write {_OPTIONS[lower]} log")
    return HeaderFromLog(name, column or ("client" if lower in _TELLS_CLIENT else HEADERS))


_TELLS_CLIENT: Final = OF_CLIENT | {"forwarded"}
_OPTIONS: Final = {"host": "--host", "user-agent": "--agent", "referer": "--referer"}
"""Options that send the value of the log."""


NO_CACHE: Final = (FixedHeader("Cache-Control", "no-cache"), FixedHeader("Pragma", "no-cache"))
"""Ask caches on the way to go to the origin (RFC 9111, 5.2.1.4)."""
