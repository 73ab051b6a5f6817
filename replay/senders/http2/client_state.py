"""The part of a connection's state that the sender looks at, whatever implements the protocol."""

from abc import ABC, abstractmethod
from typing import Final

from logreplay.replay.senders.errors import loss_fault
from logreplay.replay.senders.http2.frames import ENHANCE_YOUR_CALM, ConnectionFault
from logreplay.replay.senders.http2.header_blocks import MAX_HEAD
from logreplay.replay.senders.http2.stream import Stream

UNKNOWN_LIMIT: Final = 100
"""Streams that a peer allows, until its SETTINGS say so."""
MAX_RESETS: Final = 100
"""Streams that are reset on one connection. Then it is retired: peers defend themselves against many resets."""
MOST_CONTROL: Final = 20_000
"""Frames that bring no response further and no body of a request, in excess of those that do; more is a flood."""
MOST_SETTINGS: Final = 100
"""Values of a SETTINGS frame."""
_CREDIT: Final = 100
"""Such frames for which one with bytes of a body makes up."""
MOST_STREAMS: Final = 1 << 29
"""Streams of one connection: their numbers end at 2^31."""


def too_long(what: str) -> ConnectionFault:
    """The fault of header blocks of more than `MAX_HEAD` bytes."""
    return ConnectionFault(ENHANCE_YOUR_CALM, f"the {what} are longer than {MAX_HEAD} bytes")


class ClientState(ABC):
    """One connection of a client, without input and output.

    Attributes:
        streams: those that have not ended, by number.
        limit: streams that the peer allows at once.
        most: streams that may be opened.
        began: number of streams opened.
        greeted: the peer's SETTINGS have arrived: it speaks HTTP/2.
        goaway: the code with which the peer ends the connection; None: it does not.
        dead: the connection broke, and must be closed when `out` is written.
        resets: streams that were reset here.
        calm: times that the peer said ENHANCE_YOUR_CALM.
        why: text of what ended the connection.
        out: bytes for the peer.
    """

    def __init__(self) -> None:
        self.streams: dict[int, Stream] = {}
        self.limit, self.began, self.resets, self.calm = UNKNOWN_LIMIT, 0, 0, 0
        self.most = MOST_STREAMS
        self.greeted = self.dead = False
        self.goaway: int | None = None
        self.why = ""
        self.out: list[bytes] = []
        self._control = 0

    @property
    def retired(self) -> bool:
        """Whether no more streams may be opened."""
        return self.dead or self.goaway is not None or self.resets >= MAX_RESETS or self.began >= self.most

    @abstractmethod
    def begin(self, stream: Stream) -> None:
        """Open a stream; there is room for it."""

    @abstractmethod
    def cancel(self, stream: Stream) -> None:
        """Give up a stream: what still comes of it is ignored."""

    @abstractmethod
    def receive(self, data: bytes, now: int) -> list[Stream]:
        """Take bytes that arrived from the peer at ``now``; returns the streams that have ended."""

    def _count_control(self) -> None:
        """Take note of a frame that brings nothing further; ConnectionFault if there were too many."""
        self._control += 1
        if self._control > MOST_CONTROL:
            raise ConnectionFault(ENHANCE_YOUR_CALM, f"{MOST_CONTROL} frames that bring no response further")

    def _count_interim(self, stream: Stream, size: int) -> None:
        """Count an interim response (1xx) with a header block of ``size`` bytes; ConnectionFault if it is too much."""
        self._count_control()
        stream.interim += size
        if stream.interim > MAX_HEAD:
            raise too_long("interim answers before the response")

    def _count_progress(self) -> None:
        """Take note of a frame with bytes of a body. A response that begins or ends makes up for all before it."""
        if self._control:
            self._control = max(0, self._control - _CREDIT)

    def lost(self, error: BaseException | None) -> list[Stream]:
        """The connection is closed; returns the streams that ended by it. None: it was closed in order."""
        self.dead = True
        for stream in self.streams.values():
            stream.error = loss_fault(error, in_body=stream.fields is not None)
            stream.detail = self.why or ("" if error is None else str(error))
        ended = [*self.streams.values()]
        self.streams.clear()
        return ended
