"""Selection, order and changes of the requests of a log."""

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from logreplay.core.errors import UsageError
from logreplay.core.quantities import fraction_of

if TYPE_CHECKING:
    from logreplay.replay.requests.auth.schemes import Scheme
    from logreplay.replay.requests.headers import FixedHeader, HeaderFromLog, LoggedHeaders
    from logreplay.replay.requests.hook import Hook
    from logreplay.replay.requests.plan import Requests, RequestStream, Shape
    from logreplay.replay.schedules.rates import Schedule
    from logreplay.replay.sessions.client_key import ClientKey


def param(text: str) -> "Shape":
    from logreplay.replay.requests.filters import Param

    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{text!r}: expected a parameter such as name=value")
    return Param(name, value)


def status(text: str) -> "Shape":
    from logreplay.parsers.conversion.filters import status_ranges
    from logreplay.replay.requests.filters import StatusIn

    return StatusIn(tuple(status_ranges(text)))


def pattern(text: str) -> str:
    from logreplay.replay.requests.filters import Matching

    Matching((text,))
    return text


def host(text: str) -> str:
    """Read the value of a Host header: a name and a port, or ``log``."""
    if not re.fullmatch(r"[^\s\0-\x20/?#@\\]+", text):
        raise ValueError(f"{text!r}: expected a host, such as example.org or example.org:8080, or log")
    return text


def since(text: str) -> "Shape":
    from datetime import datetime

    from logreplay.replay.requests.filters import FromRow, FromTime

    if text.isdigit():
        return FromRow(int(text))
    try:
        return FromTime(datetime.fromisoformat(text))
    except ValueError:
        raise ValueError(f"{text!r}: expected a row such as 10000, or a time such as 2026-01-01T12:00:00") from None


def injection(text: str) -> tuple[Path, float]:
    path, _, share = text.rpartition(":")
    if not path:
        raise ValueError(f"{text!r}: expected a file and a share, such as other.csv:3%")
    fraction = fraction_of(share)
    if not 0 < fraction < 1:
        raise ValueError(f"{text!r}: expected a share above 0% and below 100%, such as other.csv:3%")
    return Path(path), fraction


def mix_change(text: str) -> tuple[str, float]:
    name, _, share = text.rpartition("=")
    try:
        change = float(share.strip().removesuffix("%")) / 100
    except ValueError:
        change = -2.0
    if not (name and share.strip().endswith("%") and -1 <= change <= 100):
        raise ValueError(
            f"{text!r}: expected a route and its change from -100% to +10000%, such as checkout=+50% or search=-20%"
        )
    return name.strip(), change


def body(text: str) -> "Shape":
    from logreplay.replay.requests.bodies import BodyFrom, LoggedBody, SizedBody

    if text == "log":
        return LoggedBody()
    if text == "size":
        return SizedBody()
    path, _, column = text.rpartition(":")
    if not path or not column:
        raise ValueError(f"{text!r}: expected log, size or FILE:COLUMN")
    return BodyFrom(Path(path), column)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRules:
    """How to shape a log, as the user asked for it."""

    match: Sequence[str] = ()
    exclude: Sequence[str] = ()
    status: "Shape | None" = None
    sample: float | None = None
    client_key: "ClientKey | None" = None
    since: "Shape | None" = None
    request_order: str | None = None
    shuffle: bool = False
    random: bool = False
    seed: int = 0
    rewrite: "Sequence[Shape]" = ()
    param: "Sequence[Shape]" = ()
    header: "Sequence[FixedHeader | HeaderFromLog | LoggedHeaders]" = ()
    host: str | None = None
    agent: str | None = None
    referer: str | None = None
    no_cache: bool = False
    body: "Shape | None" = None
    inject: Sequence[tuple[Path, float]] = ()
    hook: "str | Hook | None" = None
    auth: "Scheme | None" = None

    @property
    def files(self) -> list[tuple[str, Path]]:
        """The files that requests and bodies come from, other than the log, each after the option that names it."""
        from logreplay.replay.requests.bodies import BodyFrom

        body = [("--body", self.body.table)] if isinstance(self.body, BodyFrom) else []
        return [*(("--inject", path) for path, _ in self.inject), *body]

    @property
    def order(self) -> str:
        """The order of the requests: ``log``, ``shuffle`` or ``random``."""
        return self.request_order or ("shuffle" if self.shuffle else "random" if self.random else "log")

    def as_summary(self) -> dict[str, Any]:
        """The options as given, for the summary: never the value of a header or a parameter, which may be a secret."""
        given = {name: getattr(self, name) for name in sorted(_NAMES) if getattr(self, name) != getattr(_NONE, name)}
        given.pop("request_order", None)
        given |= {self.order: True} if self.order != "log" else {}
        return {
            name: [shape.name for shape in value] if name in ("header", "param") else _plain(value)
            for name, value in given.items()
        }

    def filters(self) -> "Iterator[Shape]":
        from logreplay.replay.requests.filters import Excluding, Matching, Sampled

        if self.client_key:
            yield self.client_key
        if self.since:
            yield self.since
        if self.match:
            yield Matching(self.match)
        if self.exclude:
            yield Excluding(self.exclude)
        if self.status:
            yield self.status
        if self.sample is not None and self.sample < 100:
            yield Sampled(self.sample, self.seed)

    def changes(
        self, *, rewriting: bool = True, unlogged: frozenset[str] = frozenset(), bodies: bool = False
    ) -> "tuple[Shape, ...]":
        """The changes of requests.

        Args:
            rewriting: with those of URLs.
            unlogged: headers, in lower case, that ``--header log`` leaves out.
            bodies: with the bodies of the log, unless others are named.
        """
        from logreplay.replay.requests.bodies import LoggedBody
        from logreplay.replay.requests.headers import NO_CACHE, FixedHeader, LoggedHeader, LoggedHeaders, LoggedHost

        def logged(name: str, column: str, value: str | None) -> "Iterator[Shape]":
            if value == "log":
                yield LoggedHost() if column == "host" else LoggedHeader(name, column)
            elif value is not None:
                try:
                    yield FixedHeader(name, value)
                except ValueError as error:
                    raise UsageError(f"--{column} {value!r}: {error}") from None

        single = [header for header in self.header if not isinstance(header, LoggedHeaders)]
        said = frozenset(header.name.lower() for header in (*single, *(NO_CACHE if self.no_cache else ())))
        body = self.body or (LoggedBody() if bodies else None)
        return (
            *(self.rewrite if rewriting else ()),
            *self.param,
            *([LoggedHeaders(said | unlogged)] if len(single) < len(self.header) else []),
            *logged("Host", "host", self.host),
            *logged("User-Agent", "agent", self.agent),
            *logged("Referer", "referer", self.referer),
            *(NO_CACHE if self.no_cache else ()),
            *((body,) if body else ()),
            *single,
        )


_NONE = RequestRules()
_NAMES = frozenset(RequestRules.__dataclass_fields__)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    if inspect.isroutine(value):
        return f"{value.__module__}:{value.__qualname__}"
    return value if isinstance(value, str | int | float) else str(value)


WRITE_HEADERS: Final[Mapping[str, Collection[str]]] = {
    **{"host": ("host",), "agent": ("user-agent",), "referer": ("referer",), "trace": ("traceparent",)},
    "auth": (),
}
"""Options that write headers, and which, in lower case; ``auth``: those of its scheme."""


def written_by(name: str, value: Any) -> Collection[str]:
    """The names of the headers that one of the options `WRITE_HEADERS` writes, in lower case."""
    if value is None:
        return ()
    return value.written if name == "auth" else WRITE_HEADERS[name]


INDEPENDENT: Final = "poisson"
"""The arrivals of a rate if the user names none: those of independent visitors."""


def arriving(
    arrivals: str, stream: "RequestStream", request_rules: RequestRules
) -> "Callable[[float, float | None, int], Schedule]":
    """What makes a schedule of a rate, a length, and the index of a step: random arrivals differ from step to step."""
    from logreplay.replay.schedules.arrivals import LogTimes, independent
    from logreplay.replay.schedules.rates import Constant, Limited

    if arrivals == "poisson":
        return lambda rate, seconds, index: independent(Constant(rate, seconds), request_rules.seed + index + 1)
    if arrivals == "log":
        log = base(stream).survey()
        own = 1 - sum(share for _, share in request_rules.inject)  # injected requests are sent besides the log's
        return lambda rate, seconds, _: Limited(LogTimes.at_rate(rate * own, log.mean, offered=rate), seconds=seconds)
    return lambda rate, seconds, _: Constant(rate, seconds)


def base(stream: "RequestStream") -> "Requests":
    """The log's own requests, without the streams wrapped around them."""
    from logreplay.replay.requests.plan import Requests

    inner: Any = stream
    while not isinstance(inner, Requests):
        inner = inner.requests
    return inner
