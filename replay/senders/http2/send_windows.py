"""The windows in which the peer accepts request bodies (RFC 9113, 5.2): kept to the byte, of each stream and of all."""

from collections.abc import Iterable
from typing import Final

from logreplay.replay.senders.http2.frames import (
    DATA,
    DEFAULT_WINDOW,
    END_STREAM,
    FLOW_CONTROL_ERROR,
    LARGEST_WINDOW,
    PROTOCOL_ERROR,
    SMALLEST_FRAME,
    ConnectionFault,
    frame,
)
from logreplay.replay.senders.http2.stream import Stream

NO_LIMIT: Final = 1 << 62


class SendWindows:
    """Sends bodies as the windows allow.

    Attributes:
        largest: payload of a frame that the peer accepts.
        initial: bytes of the window that each stream begins with.
        room: bytes that may still be sent, however large the windows are; who raises it calls `go_on`.
    """

    def __init__(self, out: list[bytes]) -> None:
        self.largest = SMALLEST_FRAME
        self._out = out
        self._all = self.initial = DEFAULT_WINDOW
        self.room = NO_LIMIT
        self._blocked: dict[int, Stream] = {}

    def begin(self, stream: Stream, body: memoryview) -> None:
        """Send the body of a stream that was just opened."""
        stream.window, stream.unsent = self.initial, body
        self._send(stream)

    def forget(self, number: int) -> None:
        """A stream has ended."""
        self._blocked.pop(number, None)

    def resize(self, size: int, streams: Iterable[Stream]) -> None:
        """The peer sets the window that each stream begins with; ConnectionFault if a window is too large then."""
        change, self.initial = size - self.initial, size
        for stream in streams:
            stream.window += change
            if max(size, stream.window) > LARGEST_WINDOW:
                raise ConnectionFault(FLOW_CONTROL_ERROR, "a window of more than 2^31-1 bytes")
        self.go_on()

    def open(self, increment: int) -> None:
        """The peer opens the window of the connection; ConnectionFault if by nothing, or too far."""
        self._all += increment
        if fault := window_fault(increment, self._all):
            raise fault
        self.go_on()

    def open_stream(self, stream: Stream, increment: int) -> ConnectionFault | None:
        """The peer opens the window of a stream; returns the fault, if it may not."""
        stream.window += increment
        if fault := window_fault(increment, stream.window):
            return fault
        if stream.unsent:
            self._send(stream)
        return None

    def go_on(self) -> None:
        """Send what the windows, and the room, allow by now."""
        for stream in [*self._blocked.values()]:
            self._send(stream)

    def _send(self, stream: Stream) -> None:
        unsent = stream.unsent
        while unsent:
            size = min(len(unsent), self._all, stream.window, self.largest, self.room)
            if size <= 0:
                break
            flags = END_STREAM if size == len(unsent) else 0
            self._out.append(frame(DATA, flags, stream.number, bytes(unsent[:size])))
            unsent = unsent[size:]
            stream.window -= size
            self._all -= size
            self.room -= size
        stream.unsent = unsent
        if unsent:
            self._blocked[stream.number] = stream
        else:
            self._blocked.pop(stream.number, None)


def window_fault(increment: int, window: int) -> ConnectionFault | None:
    """The fault of a window that may not be opened so."""
    if not increment:
        return ConnectionFault(PROTOCOL_ERROR, "a window is opened by 0 bytes")
    if window > LARGEST_WINDOW:
        return ConnectionFault(FLOW_CONTROL_ERROR, "a window of more than 2^31-1 bytes")
    return None
