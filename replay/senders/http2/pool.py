"""A pool of HTTP/2 connections, and the requests that wait for a stream on one of them."""

from collections import deque
from collections.abc import Callable

from logreplay.replay.senders.http2.connection import Http2Connection
from logreplay.replay.senders.http2.stream import Stream

Dial = Callable[["Pool", int], Http2Connection]


class Pool:
    """Some connections that share the requests.

    Attributes:
        live: connections that take more streams, now or later.
        queue: requests that wait, and the instant after which each is dropped.

    Args:
        dial: opens one more connection of a pool.
        least: connections that are opened before one is used for a second request.
        most: connections.
        streams: at once on each connection.
        client: whose requests they are; None: of all.
    """

    __slots__ = ("_dial", "_free", "_least", "_most", "_streams", "client", "live", "queue")

    def __init__(self, dial: Dial, *, least: float, most: float, streams: float, client: str | None = None) -> None:
        self.client = client
        self._dial, self._least, self._most, self._streams = dial, least, most, streams
        self.live: set[Http2Connection] = set()
        self._free: dict[Http2Connection, None] = {}
        self.queue: deque[tuple[Stream, float]] = deque()

    def open(self, now: int) -> Http2Connection:
        """Open one more connection."""
        connection = self._dial(self, now)
        self.live.add(connection)
        if self._streams > 1:
            self._free[connection] = None
        return connection

    def take(self, now: int, *, new: bool = False) -> Http2Connection | None:
        """The next connection for a request, in turn; None if no stream is free and no connection may be opened.

        Args:
            now: nanoseconds of the clock.
            new: one that has answered nothing yet, if possible.
        """
        live, free = self.live, self._free
        if len(live) < self._least:
            return self.open(now)
        while free:
            connection = next(reversed(free) if new else iter(free))
            if new and connection.answered and len(live) < self._most:
                break
            room = connection.room(self._streams)
            del free[connection]
            if room > 0:
                if room > 1:
                    free[connection] = None
                return connection
        return self.open(now) if len(live) < self._most else None

    def note(self, connection: Http2Connection) -> None:
        """A stream of a connection has ended, or it may have more of them."""
        if connection not in self._free and connection in self.live and connection.room(self._streams) > 0:
            self._free[connection] = None

    def retire(self, connection: Http2Connection) -> bool:
        """Give a connection no more requests; returns whether it should be replaced at once."""
        if connection not in self.live:
            return False
        self.live.remove(connection)
        self._free.pop(connection, None)
        return connection.answered > 0 and len(self.live) < self._least
