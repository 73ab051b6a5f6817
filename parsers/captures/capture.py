"""A captured request, and what every reader of captures shares: HTTP messages, addresses, times, bounds.

A reader yields `Record`s: the bytes of each record of its file, for the reject file, and the request in it or the
reason why there is none. `row` brings a request to the form of the normalized record.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from json import JSONDecodeError
from typing import Any, BinaryIO, Final
from urllib.parse import urlsplit

import polars as pl

from logreplay.core.headers import HeadersTooLong, header_text
from logreplay.core.quantities import microseconds
from logreplay.core.record import SCHEMA
from logreplay.parsers.fields.other_protocols import GRPC, SWITCHING_PROTOCOLS, WEBSOCKET, is_grpc_type
from logreplay.parsers.fields.values import LONGEST_S, MOST_BYTES, Rejected, Unreplayable, address, free_text, parts

LARGEST: Final = 128 << 20
"""Bytes of a record; longer ones are rejected."""

LONGEST_HEAD: Final = 1 << 20
"""Bytes of a target, or of the header of a record; longer ones are rejected."""

PAYLOAD: Final = "payload"
"""The column of bodies, as bytes, until they are in their file."""

COLUMNS: Final[dict[str, type[pl.DataType]]] = {
    "start": pl.Int64,
    **{name: SCHEMA[name] for name in ("latency", "xfertime", "bytes", "url", "rc", "op")},
    **{name: SCHEMA[name] for name in ("client", "host", "referer", "agent", "protocol", "request_bytes")},
    **{name: SCHEMA[name] for name in ("scheme", "headers")},
    PAYLOAD: pl.Binary,
}
"""The columns of rows of captures. ``start``: microseconds since 1970, UTC."""

Header = tuple[str, str]

_FIRST_US, _LAST_US = -30_610_224_000_000_000, 253_370_764_800_000_000  # the years 1000 to 9998
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_STATUS_LINE: Final = re.compile(rb"HTTP/[0-9](?:\.[0-9])? ([0-9]{3})(?: |\r?\n|$)")
_REQUEST_LINE: Final = re.compile(rb"([^ \r\n]{1,64}) ([^\r\n]*?)(?: (HTTP/[0-9](?:\.[0-9])?))?\r?\n")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


@dataclass(slots=True)
class Capture:
    """One captured request.

    Attributes:
        op: method.
        target: path and query as sent, or a whole URL; bytes that are not UTF-8 as surrogates.
        start: microseconds since 1970, UTC; 0 where unknown.
        headers: as sent, in their order.
        body: as sent, without transfer coding.
        scheme: ``http`` or ``https``; empty where unknown.
        host: authority; by default that of the URL or the header Host.
        client: by default the first of X-Forwarded-For, or X-Real-IP.
        protocol: ``HTTP/1.1``.
        rc: status of the response; 0 where there is none.
        size: bytes of the body of the response.
        latency, xfertime: seconds.
    """

    op: str
    target: str
    start: int = 0
    headers: Sequence[Header] = ()
    body: bytes | None = None
    scheme: str = ""
    host: str = ""
    client: str = ""
    protocol: str = ""
    rc: int = 0
    size: int = 0
    latency: float = 0.0
    xfertime: float = 0.0


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a file.

    Attributes:
        raw: its bytes, for the reject file; of a long record the beginning.
        capture: the request; None if there is none.
        kind: ``rejected`` or ``unreplayable``, if there is none; empty for a record that is not meant as a request.
        reason: why there is none.
        number: number of the record in its file, from 1; 0 if the records come in their order.
    """

    raw: bytes
    capture: Capture | None = None
    kind: str = ""
    reason: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class CaptureFormat:
    """A format of captures.

    Attributes:
        name: as ``-f`` takes it.
        fits: True if a file that begins with these bytes has this format.
        read: yields the records of an open file.
        record: name of a record, in the plural.
    """

    name: str
    fits: Callable[[bytes], bool]
    read: Callable[[BinaryIO, str], Iterator[Record]]
    record: str = "requests"


def record_of(raw: bytes, make: Callable[[], Capture | None], number: int = 0) -> Record:
    """The record that some code makes of bytes; an error of these bytes is the reason why there is none."""
    try:
        return Record(raw, make(), number=number)
    except Unreplayable as error:
        return Record(raw, None, "unreplayable", str(error), number)
    except (Rejected, ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        return Record(raw, None, "rejected", _reason(error), number)


def _reason(error: Exception) -> str:
    """The reason that an error of a reader stands for; the key of a `KeyError` is one that the format demands."""
    match error:
        case Rejected():
            return str(error)
        case KeyError():
            return f"no {error.args[0]}"
        case JSONDecodeError() | UnicodeDecodeError() | RecursionError():
            return "damaged: not JSON"
        case TypeError() | AttributeError():
            return "damaged: a value of the wrong type"
        case _:
            return "damaged: a value that cannot be read"


def text_at(values: Mapping[str, Any], key: str) -> str:
    """The text that a record must have under this key."""
    if not isinstance(text := values.get(key), str):
        raise Rejected(f"no {key}")
    return text


def base64_bytes(text: str, name: str = "body") -> bytes:
    """The bytes that a text in base64 stands for."""
    try:
        return b64decode(text, validate=True)
    except (ValueError, TypeError):
        raise Rejected(f"the {name} is not base64") from None


def row(capture: Capture) -> dict[str, Any]:
    """A request in the form of the normalized record: the columns `COLUMNS`.

    Raises:
        Unreplayable: it cannot be sent again.
        Rejected: a value is impossible.
    """
    scheme = None if capture.target.startswith("/") else _SCHEME.match(capture.target)
    if capture.rc == SWITCHING_PROTOCOLS or (scheme and scheme[1].lower() in ("ws", "wss")):
        raise Unreplayable(WEBSOCKET)
    if scheme and scheme[1].lower() not in ("http", "https"):
        raise Unreplayable("not HTTP: another scheme")
    if len(capture.target) > LONGEST_HEAD:
        raise Rejected(f"a target longer than {LONGEST_HEAD >> 20} MB")
    request = parts(capture.op, latin(capture.target), capture.protocol)
    headers = [(name, _readable(value)) for name, value in capture.headers if not name.startswith(":")]
    known = {name.lower(): value for name, value in reversed(headers)}
    if not _FIRST_US <= capture.start < _LAST_US:
        raise Rejected("time stamp")
    for duration in (capture.latency, capture.xfertime):
        if not 0 <= duration < LONGEST_S:
            raise Rejected("duration")
    if not 0 <= capture.rc < 1000:
        raise Rejected("status")
    if not 0 <= capture.size < MOST_BYTES:
        raise Rejected("bytes")
    body = capture.body or None
    if body is not None and len(body) > LARGEST:
        raise Rejected(f"a body longer than {LARGEST >> 20} MB")
    if body is None and request.op == "POST" and is_grpc_type(known.get("content-type", "")):
        raise Unreplayable(GRPC)
    forwarded = known.get("x-forwarded-for") or known.get("x-real-ip") or ""
    authority = capture.host or request.host or known.get("host", "")
    try:
        text = header_text(_one_cookie(headers))
    except HeadersTooLong as error:
        raise Rejected(str(error)) from None
    return {
        "start": capture.start,
        "latency": capture.latency,
        "xfertime": capture.xfertime,
        "bytes": capture.size,
        "url": request.url,
        "rc": capture.rc,
        "op": request.op,
        "client": address(latin(capture.client or forwarded)) or None,
        "host": free_text(latin(authority)) or None,
        "referer": free_text(latin(known.get("referer", ""))) or None,
        "agent": free_text(latin(known.get("user-agent", ""))) or None,
        "protocol": free_text(request.protocol) or None,
        "request_bytes": len(body) if body else 0,
        "scheme": (latin(capture.scheme) or (scheme[1].lower() if scheme else "")) or None,
        "headers": text,
        PAYLOAD: body,
    }


def value_of(headers: Iterable[Header], name: str) -> str:
    """The value of a header, of several the first; empty where there is none. ``name`` is in lower case."""
    return next((value for key, value in headers if key.lower() == name), "")


def _one_cookie(headers: Sequence[Header]) -> Sequence[Header]:
    """Headers with one Cookie; HTTP/2 may split it (RFC 9113, 8.2.3)."""
    cookies = [value for name, value in headers if name.lower() == "cookie"]
    if len(cookies) < 2:
        return headers
    joined = ("Cookie", "; ".join(cookies))
    return [*(header for header in headers if header[0].lower() != "cookie"), joined]


def latin(text: str) -> str:
    """A text with one character for each of its bytes, as the values of logs are.

    Raises:
        Rejected: it holds a surrogate (``"\\ud800"`` in JSON), which no byte stands for.
    """
    try:
        return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")
    except UnicodeEncodeError:
        raise Rejected("a character that UTF-8 cannot hold") from None


def _readable(value: str) -> str:
    """The value of a header; bytes that are not UTF-8 are read as Latin-1."""
    return value if value.isascii() else text_of(latin(value).encode("latin-1"))


def text_of(data: bytes) -> str:
    """The text of bytes of a header: UTF-8, or else Latin-1."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def request_message(data: bytes) -> Capture:
    """Read an HTTP/1.x request; a chunked body comes out as one.

    Raises:
        Unreplayable: it is not an HTTP request.
        Rejected: its headers or its body are cut off, or its chunks are damaged.
    """
    if not (line := _REQUEST_LINE.match(data)):
        raise Unreplayable("not HTTP: no request line")
    headers, rest = _headers(data, line.end())
    if rest is None:
        raise Rejected("the headers are cut off: no empty line ends them")
    return Capture(
        line[1].decode("latin-1"),
        line[2].decode("utf-8", "surrogateescape"),
        headers=headers,
        body=_body(headers, rest) or None,
        protocol=(line[3] or b"").decode(),
    )


def response_message(data: bytes) -> tuple[int, int]:
    """The status of an HTTP/1.x response and the bytes of its body; 0 and 0 if it is not one."""
    if not (line := _STATUS_LINE.match(data)):
        return 0, 0
    end = data.find(b"\n") + 1
    headers, rest = _headers(data, end or len(data))
    try:
        return int(line[1]), len(_body(headers, rest or b""))
    except Rejected:
        return int(line[1]), len(rest or b"")


def _headers(data: bytes, begin: int) -> tuple[list[Header], bytes | None]:
    """The headers that begin here, and what follows them; None if no empty line ends them."""
    found: list[Header] = []
    while (end := data.find(b"\n", begin)) >= 0:
        line = data[begin:end].rstrip(b"\r")
        begin = end + 1
        if not line:
            return found, data[begin:]
        name, colon, value = line.partition(b":")
        if colon and len(found) < _MOST_HEADERS:
            found.append((name.decode("latin-1").strip(), text_of(value.strip(b" \t"))))
    return found, None


_MOST_HEADERS: Final = 1000


def _body(headers: Sequence[Header], rest: bytes) -> bytes:
    known = {name.lower(): value for name, value in headers}
    if "chunked" in known.get("transfer-encoding", "").lower():
        return _unchunked(rest)
    length = known.get("content-length", "").strip()
    if length.isascii() and length.isdigit() and len(length) < 16:
        if len(rest) < int(length):
            raise Rejected("the body is cut off")
        return rest[: int(length)]
    return rest


def _unchunked(data: bytes) -> bytes:
    """The content of chunks (RFC 9112, 7.1)."""
    pieces: list[bytes] = []
    at = 0
    while size := _CHUNK.match(data, at):
        length = int(size[1], 16)
        if not length:
            return b"".join(pieces)
        piece = data[size.end() : size.end() + length]
        if len(piece) < length:
            raise Rejected("the body is cut off")
        pieces.append(piece)
        at = size.end() + length
        at += 2 if data[at : at + 2] == b"\r\n" else 1
    raise Rejected("the chunks of the body are damaged")


def instant(text: str) -> int:
    """An ISO 8601 time → microseconds since 1970, UTC; it is in UTC where it has no offset."""
    try:
        return microseconds(text.strip(), UTC)
    except (ValueError, OverflowError):
        raise Rejected("time stamp") from None


def url_parts(url: str) -> tuple[str, str]:
    """Scheme and authority of a whole URL; empty where it has none."""
    try:
        split = urlsplit(url)
    except ValueError:
        raise Rejected("url") from None
    return split.scheme.lower(), split.netloc.rpartition("@")[2]


@dataclass(slots=True)
class Unanswered:
    """Requests that wait for their responses, by a key that both have; the oldest leave when there are too many.

    Attributes:
        most: requests that wait at most.
        bytes_held: bytes of the records that wait.
    """

    most: int = 1000
    most_bytes: int = 64 << 20
    bytes_held: int = 0
    records: dict[bytes, Record] = field(default_factory=dict)

    def add(self, key: bytes, record: Record) -> Iterator[Record]:
        """Let a request wait; yield those that have waited too long."""
        if (double := self.take(key)) is not None:
            yield double
        self.records[key] = record
        self.bytes_held += len(record.raw)
        while len(self.records) > self.most or self.bytes_held > self.most_bytes:
            oldest = self.take(next(iter(self.records)))
            assert oldest is not None
            yield oldest

    def take(self, key: bytes) -> Record | None:
        """The request that waits for this key, which then waits no longer."""
        record = self.records.pop(key, None)
        if record is not None:
            self.bytes_held -= len(record.raw)
        return record

    def rest(self) -> Iterator[Record]:
        """All that still wait."""
        yield from self.records.values()
        self.records.clear()
