"""The way of an answer through the wire sender, without sockets: any bytes, cut anywhere, end each exchange once."""

from typing import Final

from logreplay.replay.senders.contract import Exchange
from logreplay.replay.senders.endpoint import Endpoint, Target
from logreplay.replay.senders.http1.connection import Connection, TracedConnection
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.senders.trace import describe
from support.null_transport import Nowhere

_ENDPOINT: Final = Endpoint(Target("http", "127.0.0.1", 80), ("127.0.0.1",))
_METHODS: Final = ("GET", "HEAD", "POST", "OPTIONS")
_TIMEOUT_NS: Final = 10_000


def seeds() -> list[bytes]:
    """Answers, whole and broken, behind three bytes: what is asked, how the bytes are cut, how the connection ends."""
    answers = (
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: z\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\nuntil the end",
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n" * 2,
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\nPRI",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\nA: \x1b[31m\n b\n\n",
    )
    ways = (b"\x00\x00\x00", b"\x09\x01\x01", b"\x02\x07\x02")
    return [way + answer for answer in answers for way in ways]


class _Sender(WireSender):
    """Collects the results and opens no connection, also for a retry."""

    def __init__(self) -> None:
        super().__init__(_ENDPOINT, timeout=_TIMEOUT_NS / 1e9)
        self.now = 0
        self.ends: list[tuple[int, ...]] = []
        self.dialled: set[int] = set()
        self.shown: list[Exchange] = []
        self.clock = self._tick
        self.done = self.failed = self._done
        self.trace = self.shown.append

    def _tick(self) -> int:
        self.now += 1
        return self.now

    def _done(self, seq: int, start: int, queued: int, *rest: int) -> None:
        assert queued == 0 or seq in self.dialled
        assert queued >= 0
        self.ends.append((seq, start, *rest))

    def dial(self, seq: int, request: bytes, start: int, client: str | None = None) -> None:
        self.dialled.add(seq)
        self.busy[seq] = Connection(self, seq, request, start)


def one_input(data: bytes) -> None:
    """See `seeds`."""
    if len(data) < 4:
        return
    asked, cut, end, answer = data[0], data[1] or len(data), data[2], data[3:]
    sender = _Sender()
    kind = TracedConnection if asked & 8 else Connection
    connection, transport = kind(sender, 0, _request(asked), sender.clock()), Nowhere()
    sender.busy[0] = connection
    connection.connection_made(transport)
    asked_for = 1
    for at in range(0, len(answer), cut):
        if transport.closed:
            break
        connection.data_received(answer[at : at + cut])
        if connection in sender.idle and asked_for < 3:
            del sender.idle[connection]
            assert connection.usable()
            sender.busy[asked_for] = connection
            connection.begin(asked_for, _request(asked >> 4), sender.clock())
            asked_for += 1
    connection.connection_lost((None, ConnectionResetError(104, "reset"), None)[end % 3])
    sender.cancel()
    _check(sender, asked_for, len(answer))


def _request(choice: int) -> bytes:
    return f"{_METHODS[choice & 3]} /a HTTP/1.1\r\nHost: target\r\n\r\n".encode()


def _check(sender: _Sender, asked_for: int, received: int) -> None:
    assert [end[0] for end in sender.ends] == list(range(asked_for))
    assert not sender.busy
    assert not sender.idle
    for _, start, connect, latency, xfertime, size, status, error, *_ in sender.ends:
        assert min(start, connect, latency, xfertime) >= 0
        assert 0 <= size <= received
        assert 0 <= status <= 999
        assert error or status >= 200
    for exchange in sender.shown:
        shown = describe(exchange)
        assert shown.isascii()
        assert shown.replace("\n", "").isprintable()
