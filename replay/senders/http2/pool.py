"""A pool of HTTP/2 connections, and the requests that wait for a stream on one of them."""

from collections import deque
from collections.abc import Callable
from math import inf

from logreplay.replay.senders.http2.connection import Http2Connection
from logreplay.replay.senders.http2.stream import Stream

Dial = Callable[["Pool", int], Http2Connection]


class Pool:
    """Some connections that share the requests.

    Attributes:
        live: connections that take more streams, now or later.
        queue: requests that wait.

    Args:
        dial: opens one more connection of a pool.
        least: connections that are opened before one is used for a second request.
        most: connections that take requests.
        most_open: most connections at once, including those that only finish their requests.
        streams: at once on each connection.
        client: whose requests they are; None: of all.
    """

    __slots__ = ("_dial", "_draining", "_free", "_least", "_most", "_most_open", "_streams", "client", "live", "queue")

    def __init__(
        self,
        dial: Dial,
        *,
        least: float,
        most: float,
        streams: float,
        most_open: float = inf,
        client: str | None = None,
    ) -> None:
        self.client, self._most_open = client, most_open
        self._draining: set[Http2Connection] = set()
        self._dial, self._least, self._most, self._streams = dial, least, most, streams
        self.live: set[Http2Connection] = set()
        self._free: dict[Http2Connection, None] = {}
        self.queue: deque[Stream] = deque()

    def open(self, now: int) -> Http2Connection:
        """Open one more connection."""
        connection = self._dial(self, now)
        self.live.add(connection)
        if self._streams > 1:
            self._free[connection] = None
        return connection

    def take(self, now: int, *, new: bool = False) -> Http2Connection | None:
        """The next connection for a request, in turn; None if no stream is free and no connection may be opened.

        If ``new``, one that has answered nothing yet, if possible.
        """
        live, free = self.live, self._free
        if len(live) < self._least and self._may_open:
            return self.open(now)
        while free:
            connection = next(reversed(free) if new else iter(free))
            if new and connection.answered and len(live) < self._most and self._may_open:
                break
            room = connection.room(self._streams)
            del free[connection]
            if room > 0:
                if room > 1:
                    free[connection] = None
                return connection
        return self.open(now) if len(live) < self._most and self._may_open else None

    @property
    def used(self) -> bool:
        """Whether it has a connection or a request."""
        return bool(self.live or self._draining or self.queue)

    @property
    def _may_open(self) -> bool:
        return len(self.live) + len(self._draining) < self._most_open

    def note(self, connection: Http2Connection) -> None:
        """A stream of a connection has ended, or it may have more of them."""
        if connection not in self._free and connection in self.live and connection.room(self._streams) > 0:
            self._free[connection] = None

    def retire(self, connection: Http2Connection) -> bool:
        """Give a connection no more requests; returns whether it should be replaced at once.

        To be called again when it carries no more.
        """
        if connection.unused:
            self._draining.discard(connection)
        else:
            self._draining.add(connection)
        if connection not in self.live:
            return False
        self.live.remove(connection)
        self._free.pop(connection, None)
        return connection.answered > 0 and len(self.live) < self._least and self._may_open
