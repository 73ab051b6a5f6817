"""A sender on aiohttp's client, to check the wire sender's measurements.

Features of aiohttp that would change the measurement or the requests are off: pool limit, redirects, cookies,
proxies, decoding, name resolution. Clock points are taken in the connection's ``data_received``, where the bytes
arrive, not where the waiting task is resumed.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial
from itertools import cycle
from math import inf
from types import SimpleNamespace
from typing import Any, Final, Literal, cast

import aiohttp
import polars as pl
from aiohttp.abc import AbstractResolver, AbstractStreamWriter, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.helpers import set_exception
from aiohttp.http_exceptions import HttpProcessingError, PayloadEncodingError
from yarl import URL

from logreplay.replay.clock import Clock
from logreplay.replay.requests.header_columns import PAYLOAD
from logreplay.replay.senders.contract import ERROR_CODES, KEPT_BODY, Done, Exchange, SenderCounts, Trace
from logreplay.replay.senders.digests import BodyReader, Digests, Read
from logreplay.replay.senders.encode import default_headers, header_rows
from logreplay.replay.senders.endpoint import HANDSHAKE_MARGIN_S, Endpoint
from logreplay.replay.senders.errors import connect_fault, is_race, local_fault, loss_fault
from logreplay.replay.senders.http1.connection import IDEMPOTENT, MAX_HEAD, TLS_UNSEEN, persists

_END_OF_HEAD: Final = b"\r\n\r\n"
_LINE_ENDS: Final = b"\r\n"
_SKIP: Final = ("Accept-Encoding", "Content-Type", "User-Agent", "Accept")

_Request = tuple[str, str, list[tuple[str, str]], bytes | None]
"""Method, request target, headers, body."""


class _Points:
    """Clock points of one exchange."""

    __slots__ = ("begun", "connect", "connected", "first", "handler", "idle", "last", "lost", "sends")

    def __init__(self, begun: int) -> None:
        self.begun = begun
        self.connect = self.connected = self.first = self.idle = self.last = self.sends = 0
        self.lost: BaseException | Literal[True] | None = None
        """Error by which the connection ended; None while it is open."""
        self.handler: _TimedHandler | None = None


_points: ContextVar[_Points] = ContextVar("points")
_target: ContextVar[str] = ContextVar("target")


class AiohttpSender:
    """Sends with aiohttp's client; the arguments are those of `WireSender`."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        timeout: float,
        keep_alive: bool = True,
        tls: ssl.SSLContext | None = None,
        digests: Digests | None = None,
    ) -> None:
        self.counts = SenderCounts()
        self._endpoint, self._timeout, self._keep_alive = endpoint, timeout, keep_alive
        self._tls, self._digests = tls, digests
        self._tasks: set[asyncio.Task[None]] = set()

    def prepare(self, frame: pl.DataFrame) -> Sequence[_Request]:
        headers = header_rows(frame, default_headers(self._endpoint.target.authority, keep_alive=self._keep_alive))
        bodies = frame[PAYLOAD].to_list() if PAYLOAD in frame.columns else [None] * frame.height
        return list(zip(frame["op"].to_list(), frame["url"].to_list(), headers, bodies, strict=True))

    async def open(self, done: Done, clock: Clock, trace: Trace | None = None) -> None:
        self._done, self._failed = done, self._digests.failures_to(done) if self._digests else done
        self.counts.keep_timings(self._digests.timings if self._digests else None)
        self._clock, self._trace = clock, trace
        self._loop = asyncio.get_running_loop()
        target = self._endpoint.target
        # the path is replaced by the request target, byte for byte, when the request is written
        self._url = URL.build(scheme=target.scheme, host=target.host, port=target.port or None, path="/")
        reuse: dict[str, Any] = {"keepalive_timeout": 3600} if self._keep_alive else {"force_close": True}
        connector: _UnixConnector | _TcpConnector
        if target.path:
            connector = _UnixConnector(target.path, limit=0, **reuse)
        else:
            resolver = _Resolved(self._endpoint.addresses)
            connector = _TcpConnector(limit=0, use_dns_cache=False, resolver=resolver, ssl=self._tls or True, **reuse)
            connector.handshake_s = self._timeout + HANDSHAKE_MARGIN_S
        self._connector, connector.clock = connector, clock
        connector._factory = partial(_TimedHandler, self._clock, self.counts, loop=self._loop)  # type: ignore[assignment]
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            skip_auto_headers=_SKIP,
            timeout=aiohttp.ClientTimeout(total=self._timeout, ceil_threshold=1e9),
            request_class=_RawTargetRequest,
            max_line_size=MAX_HEAD,
            max_field_size=MAX_HEAD,
            max_headers=MAX_HEAD,
        )
        self._session._retry_connection = False  # it would send again what a new connection did not carry

    def send(self, seq: int, request: _Request, start: int, latest: float = inf) -> None:
        task = self._loop.create_task(self._exchange(seq, request, start))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._session.close()

    async def _exchange(self, seq: int, request: _Request, start: int) -> None:
        op, target, sent, body = request
        points = _Points(start)
        _points.set(points)
        _target.set(target)
        status = size = 0
        error, detail = "", ""
        reason, kept, headers = b"", b"", list[tuple[bytes, bytes]]()
        read: Read = b""
        try:
            async with await self._answered(request, points) as response:
                status = response.status
                if status < 200:
                    what = "an unrequested upgrade" if status == 101 else f"an answer with the status {status}"
                    raise aiohttp.ClientPayloadError(what)
                reason, headers = (response.reason or "").encode("latin-1", "replace"), [*response.raw_headers]
                while data := await response.content.readany():
                    if self._trace and len(kept) < KEPT_BODY:
                        kept += data[: KEPT_BODY - len(kept)]
                    if self._digests:
                        read = self._digests.add(read, data, lambda: tuple(headers))
                    size += len(data)
            end = points.last or self._clock()  # an answer may have come before the request was sent
        except asyncio.CancelledError:
            error, end = "cancelled", self._clock()
        except Exception as raised:
            end = self._clock()
            error = _word(raised, points)
            detail = f"{type(raised).__name__}: {raised}"
            if local := local_fault(raised):
                self.counts.local[local] += 1
            self.counts.details.setdefault(error, detail)
            _forget(raised)
        if points.handler is not None:
            points.handler.rest(usable=not error)
        if end - start > self._timeout * 1e9 or error in ("timeout", "connect_timeout"):
            error, end = error or "timeout", start + int(self._timeout * 1e9)
        self.counts.connections += points.connect > 0
        self.counts.reused += bool(points.sends and not points.connect)
        digest = 0
        if error and isinstance(read, BodyReader):
            read.drop()
        elif self._digests and not error:
            digest = self._digests.of(seq, status, tuple(headers), read)
        begun = min(points.begun, end)
        connect, latency, xfertime = _split(points, begun, end)
        report = self._failed if error else self._done
        report(seq, start, begun - start, connect, latency, xfertime, size, status, ERROR_CODES[error], 0, digest)
        if self._trace:
            head = "\r\n".join((f"{op} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in sent), "", ""))
            sent_bytes, times = head.encode() + (body or b""), (connect / 1e9, latency / 1e9, xfertime / 1e9)
            self._trace(Exchange(seq, sent_bytes, status, reason, headers, size, *times, error, detail, body=kept))

    async def _answered(self, request: _Request, points: _Points) -> aiohttp.ClientResponse:
        """Send a request; once more if an idle connection turns out to be closed, as `WireSender` does."""
        op, _, sent, body = request
        data = _Body(body) if body else body
        try:
            return await self._session.request(op, self._url, headers=sent, data=data, allow_redirects=False)
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError):
            lost = self._clock()
            again = points.sends and not points.connect and not points.last
            race = is_race(lost - points.begun, self._connector.quickest, points.idle)
            if not again or not race or op.encode() not in IDEMPOTENT:
                raise
        self.counts.retried += 1
        points.begun = lost
        return await self._session.request(op, self._url, headers=sent, data=data, allow_redirects=False)


def _split(points: _Points, start: int, end: int) -> tuple[int, int, int]:
    """Nanoseconds of connecting, waiting, and reading. Together they are ``end - start``."""
    if not points.sends:
        return end - start, 0, 0
    connected = min(points.connected or start, end)
    first = min(max(points.first, connected), end) if points.first else end
    return connected - start, first - connected, end - first


def _word(error: Exception, points: _Points) -> str:
    """The error word of the result log for an exception of aiohttp."""
    match error:
        case TimeoutError():
            return "timeout" if points.sends else "connect_timeout"
        case aiohttp.ClientSSLError():
            return "tls"
        case aiohttp.ClientConnectorError():
            return connect_fault(error.os_error)
        case aiohttp.ServerDisconnectedError():
            return "closed"
        case aiohttp.ClientPayloadError():
            cut = isinstance(error.__cause__, PayloadEncodingError) or error.__cause__ is points.lost
            if not points.lost or not cut:
                return "protocol"
            return loss_fault(None if points.lost is True else points.lost, in_body=True)
        case aiohttp.ClientResponseError():
            return "protocol"
        case OSError():
            return loss_fault(error, in_body=False) if points.sends else connect_fault(error)
    return "protocol"


def _forget(error: BaseException) -> None:
    """Break the cycles of an error, its causes and the frames it came through: the collector is off during a run."""
    chain, seen = [error], set[int]()
    while chain:
        one = chain.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        one.__traceback__ = None
        chain += [other for other in (one.__cause__, one.__context__) if other]


class _TimedHandler(ResponseHandler):
    """aiohttp's connection, which notes when bytes arrive."""

    def __init__(self, clock: Clock, counts: SenderCounts, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._counts = counts
        self._points: _Points | None = None
        self._now, self._rests, self._ended = clock, False, clock()
        self._heads = self._idling = 0
        self._end = b""
        self._line: asyncio.Transport | None = None
        self._upload: asyncio.Task[None] | None = None

    @property
    def should_close(self) -> bool:
        """Whether no other request may follow: the next one would stand in the body of one that is not sent yet."""
        return super().should_close or self._is_sending()

    def _is_sending(self) -> bool:
        upload, line = self._upload, self._line
        cut_short = upload is not None and (not upload.done() or upload.cancelled())
        return cut_short or (line is not None and line.get_write_buffer_size() > 0)

    def uploads(self, task: "asyncio.Task[None] | None") -> None:
        """Take note of the task that sends a body; None: it is sent."""
        self._upload = task

    def serve(self, points: _Points) -> None:
        """Note the times of an exchange."""
        self._points, self._rests, self._heads, self._idling, self._end = points, False, 0, 0, b""
        points.handler, points.idle = self, self._now() - self._ended

    def rest(self, *, usable: bool) -> None:
        """The exchange is over: drop further bytes, which aiohttp would take for the next response."""
        self._points, self._rests, self._ended = None, True, self._now()
        # aiohttp would wait for the other side to close TLS in order, or to read the rest of a body
        if self._line is not None and (not usable or self._is_sending()):
            self._line.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._line = cast(asyncio.Transport, transport)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._points is not None:
            self._points.lost = exc or True
        if exc is not None and self._payload is not None and not self._payload.is_eof():  # aiohttp ends it in order
            set_exception(self._payload, aiohttp.ClientPayloadError(str(exc)), exc)
        super().connection_lost(exc)
        self._line = None

    def data_received(self, data: bytes) -> None:
        if self._rests:
            self.abort()
            return
        self._counts.received += len(data)
        points = self._points
        if points is not None:
            points.last = self._now()
            points.first = points.first or (points.last if data.strip(_LINE_ENDS) else 0)
        before, seen = self._progress(), data if self._heads else self._end + data
        self._end = seen[-3:]
        super().data_received(data)
        if points is not None and not points.first and seen.rpartition(_END_OF_HEAD)[2].strip(_LINE_ENDS):
            points.first = points.last  # the head of the answer began behind the end of an interim one
        self._idling = self._idling + len(data) if self._progress() == before else 0
        if self._idling > MAX_HEAD:  # aiohttp would keep endless heads and interim answers, and endless trailers
            what = "trailer or the frame of a chunk" if self._heads else "head, with the interim answers before it,"
            self.set_exception(HttpProcessingError(message=f"the {what} is longer than {MAX_HEAD} bytes"))
            self.close()

    def _progress(self) -> tuple[int, int]:
        """Heads, without those of interim answers, and bytes of the body so far."""
        return self._heads, self._payload.total_bytes if self._payload is not None else 0

    def feed_data(self, item: Any, size: int = 0) -> None:
        """Take a head: the first byte that counts is that of the answer, not of an interim one before it."""
        message = item[0]
        interim = 100 <= message.code < 200
        self._heads += not interim
        if (points := self._points) is not None:
            points.first = 0 if interim else points.first or points.last
        if self._skip_payload:  # aiohttp takes an answer to a HEAD without a length for one that ends the connection
            options = ",".join(message.headers.getall("Connection", ()))
            self._should_close = not persists("{}.{}".format(*message.version), options.encode())
        super().feed_data(item, size)

    def set_exception(self, exc: Any, *cause: BaseException) -> None:
        """Tell the reader of a body too that the rest of it cannot be read; aiohttp lets it wait."""
        payload = self._payload
        super().set_exception(exc, *cause)
        if isinstance(exc, HttpProcessingError) and payload is not None and payload.exception() is None:
            set_exception(payload, aiohttp.ClientPayloadError(exc.message), exc)


class _RawTargetRequest(aiohttp.ClientRequest):
    """A request whose target is sent exactly as in the log, without yarl's normalization."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        points = _points.get()
        points.sends += 1
        points.first = 0
        points.connected = points.connected if points.connect else 0
        assert isinstance(conn.protocol, _TimedHandler)
        conn.protocol.serve(points)
        # the part of a URL that the request line needs
        self.url = SimpleNamespace(raw_path_qs=_target.get())  # type: ignore[assignment]
        handler = conn.protocol
        response = await super().send(conn)
        handler.uploads(response._writer)
        return response


class _Body(aiohttp.Payload):
    """A body. Of a long one the last byte goes alone: a TLS layer that has not sent the others holds it back."""

    _value: bytes
    _autoclose = True

    def __init__(self, value: bytes) -> None:
        super().__init__(value, content_type="application/octet-stream")
        self._size = len(value)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return self._value.decode(encoding, errors)

    async def as_bytes(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return self._value

    async def write(self, writer: AbstractStreamWriter) -> None:
        cut = len(self._value) - (len(self._value) > TLS_UNSEEN)
        await writer.write(self._value[:cut])
        if cut < len(self._value):
            await writer.write(self._value[cut:])

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        await self.write(writer)


class _Dialing(aiohttp.BaseConnector):
    """Notes how long opening a connection took."""

    clock: Callable[[], int]
    quickest: float = inf

    async def _get(self, *asked: Any) -> Connection | None:
        """Take an idle connection, but not for a second attempt: the target may have closed all of them."""
        return None if _points.get().sends else await super()._get(*asked)

    async def _create_connection(self, *request: Any) -> ResponseHandler:
        points = _points.get()
        begin = self.clock()
        protocol = await super()._create_connection(*request)
        points.connected = self.clock()
        points.connect = points.connected - begin
        self.quickest = min(self.quickest, points.connect)
        return protocol


class _TcpConnector(_Dialing, aiohttp.TCPConnector):
    """Limits the TLS handshake.

    Attributes:
        handshake_s: seconds that a TLS handshake may take.
    """

    handshake_s: float

    async def _wrap_create_connection(self, *given: Any, **options: Any) -> tuple[asyncio.Transport, ResponseHandler]:
        if options.get("ssl"):
            options["ssl_handshake_timeout"] = self.handshake_s
        return await super()._wrap_create_connection(*given, **options)


class _UnixConnector(_Dialing, aiohttp.UnixConnector): ...


class _Resolved(AbstractResolver):
    """The addresses that were looked up and checked before the run, in turn."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._turns = cycle([(*addresses[i:], *addresses[:i]) for i in range(len(addresses))] or [()])

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in next(self._turns)
        ]

    async def close(self) -> None: ...
