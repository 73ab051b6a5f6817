"""A second opinion on HTTP/2 for tests: the sender with frames, header compression and flow control of the h2 package.

Some ten times slower than `Http2Sender`, whose pool, time-outs and retries it shares. What that treats as an error of a
stream ends the whole connection here, and so do bytes for a stream that was just given up.
"""

from collections.abc import Callable
from typing import Any, Final

from h2.config import H2Configuration
from h2.connection import ConnectionState, H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RemoteSettingsChanged,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings
from hpack import Decoder
from hyperframe.frame import Frame, HeadersFrame, SettingsFrame

from logreplay.replay.senders.digests import Digests
from logreplay.replay.senders.http2.client_state import MAX_RESETS, MOST_SETTINGS, MOST_STREAMS, ClientState
from logreplay.replay.senders.http2.frames import (
    COMPRESSION_ERROR,
    DEFAULT_WINDOW,
    ENHANCE_YOUR_CALM,
    HEADER_BYTES,
    LARGEST_WINDOW,
    ConnectionFault,
    code_name,
)
from logreplay.replay.senders.http2.header_blocks import BlockError, check_block, checked
from logreplay.replay.senders.http2.sender import Http2Sender
from logreplay.replay.senders.http2.stream import Stream

_OFFERED: Final = {SettingCodes.ENABLE_PUSH: 0, SettingCodes.INITIAL_WINDOW_SIZE: LARGEST_WINDOW}
_SHOWN: Final = 200


class H2Sender(Http2Sender):
    """Sends HTTP/2 through the h2 package."""

    def new_state(self, kept_body: int) -> ClientState:
        return H2State(kept_body=kept_body, digests=self.digests)


class _Connection(H2Connection):
    """The package's connection, which goes on after GOAWAY: streams that the peer has accepted are answered.

    Args:
        take: called with each frame and its events. `receive_data` does not return the events before a fault.
    """

    def __init__(self, take: Callable[[Frame, list[Event]], None]) -> None:
        super().__init__(H2Configuration(client_side=True, header_encoding=None))
        self._take = take

    def _receive_frame(self, frame: Any) -> Any:
        if isinstance(frame, HeadersFrame):
            try:
                check_block(frame.data)
            except BlockError as error:
                raise ConnectionFault(COMPRESSION_ERROR, str(error)) from None
        elif isinstance(frame, SettingsFrame) and frame.body_len > 6 * MOST_SETTINGS:
            raise ConnectionFault(ENHANCE_YOUR_CALM, f"a SETTINGS frame of more than {MOST_SETTINGS} values")
        events = super()._receive_frame(frame)
        self._take(frame, events)
        return events

    def _receive_goaway_frame(self, frame: Any) -> Any:
        frames, events = super()._receive_goaway_frame(frame)
        self.state_machine.state = ConnectionState.CLIENT_OPEN
        return frames, events


class H2State(ClientState):
    """One connection of a client, kept by the h2 package.

    Args:
        kept_body: bytes of each body that are kept.
        digests: read bodies for them; None: none are wanted.
    """

    def __init__(self, *, kept_body: int = 0, digests: Digests | None = None) -> None:
        super().__init__()
        self._kept_body, self._digests = kept_body, digests
        self._http = _Connection(self._take)
        self._http.local_settings = Settings(client=True, initial_values=_OFFERED)
        self._http.initiate_connection()
        self._http.increment_flow_control_window(LARGEST_WINDOW - DEFAULT_WINDOW)
        self._ended: list[Stream] = []
        self._now = 0
        self._write()

    def _write(self) -> None:
        if data := self._http.data_to_send():
            self.out.append(data)

    # what the client does

    def begin(self, stream: Stream) -> None:
        http, request = self._http, stream.request
        end = HEADER_BYTES + int.from_bytes(request[:3])
        stream.number = http.get_next_available_stream_id()
        stream.attempts += 1
        self.began += 1
        self.streams[stream.number] = stream
        stream.unsent = memoryview(request)[end:]
        fields = Decoder(1 << 24).decode(request[HEADER_BYTES:end], raw=True)
        http.send_headers(stream.number, fields, end_stream=not stream.unsent)
        self._send_body(stream)
        self._write()

    def _send_body(self, stream: Stream) -> None:
        http, number = self._http, stream.number
        while stream.unsent:
            size = min(len(stream.unsent), http.local_flow_control_window(number), http.max_outbound_frame_size)
            if size <= 0:
                return
            http.send_data(number, bytes(stream.unsent[:size]), end_stream=size == len(stream.unsent))
            self._count_progress()
            stream.unsent = stream.unsent[size:]

    def cancel(self, stream: Stream) -> None:
        del self.streams[stream.number]
        self.resets += 1
        if self.resets <= MAX_RESETS:
            self._http.reset_stream(stream.number, ErrorCodes.CANCEL)
            self._write()

    # what the peer sends

    def receive(self, data: bytes, now: int) -> list[Stream]:
        if self.dead:
            return []
        self._now = now
        try:
            if not self.greeted and data.startswith(b"HTTP/"):
                raise ProtocolError("the target answers with HTTP/1")
            self._http.receive_data(data)
        except ProtocolError as error:
            self._break(f"{code_name(error.error_code)}: {error}")
        except ConnectionFault as fault:
            self._http.close_connection(fault.code)
            self._break(str(fault))
        self._write()
        ended, self._ended = self._ended, []
        return ended

    def _take(self, frame: Frame, events: list[Event]) -> None:
        """Take a frame and its events."""
        stream = self.streams.get(frame.stream_id)
        if stream and any(isinstance(event, ResponseReceived | StreamEnded) for event in events):
            self._control = 0
        elif stream and any(isinstance(event, DataReceived) and event.data for event in events):
            self._count_progress()
        elif stream and isinstance(frame, HeadersFrame):
            self._count_interim(stream, len(frame.data))
        else:
            self._count_control()
        for event in events:
            if take := _TAKES.get(type(event)):
                take(self, event)

    def _break(self, why: str) -> None:
        """End all streams by an error of the connection."""
        self.dead, self.why = True, why
        for stream in self.streams.values():
            stream.error, stream.detail = "protocol", why
        self._ended += self.streams.values()
        self.streams.clear()

    def _end(self, stream: Stream, error: str = "", detail: str = "") -> None:
        del self.streams[stream.number]
        stream.error, stream.detail = error, detail
        self._ended.append(stream)

    def _settings(self, event: RemoteSettingsChanged) -> None:
        self.greeted = True
        if limit := event.changed_settings.get(SettingCodes.MAX_CONCURRENT_STREAMS):
            self.limit = min(limit.new_value, MOST_STREAMS)
        self._go_on()

    def _window(self, event: WindowUpdated) -> None:
        self._go_on()

    def _go_on(self) -> None:
        for stream in self.streams.values():
            self._send_body(stream)

    def _response(self, event: ResponseReceived) -> None:
        if stream := self.streams.get(event.stream_id):
            stream.first = self._now
            stream.fields = checked((bytes(name), bytes(value)) for name, value in event.headers)
            if stream.fields.fault:
                self.cancel(stream)
                stream.error, stream.detail = "protocol", stream.fields.fault
                self._ended.append(stream)

    def _data(self, event: DataReceived) -> None:
        if stream := self.streams.get(event.stream_id):
            if self._digests and event.data:
                stream.body = self._digests.add(stream.body, event.data, stream.head)
            stream.size += len(event.data)
            if room := self._kept_body - len(stream.kept):
                stream.kept += event.data[:room]
        if event.flow_controlled_length:
            self._http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)

    def _stream_ended(self, event: StreamEnded) -> None:
        if stream := self.streams.get(event.stream_id):
            stream.last = self._now
            assert stream.fields
            self._end(stream, *stream.length_fault())

    def _reset(self, event: StreamReset) -> None:
        if stream := self.streams.get(event.stream_id):
            self.calm += event.error_code == ErrorCodes.ENHANCE_YOUR_CALM
            stream.unprocessed = event.error_code == ErrorCodes.REFUSED_STREAM
            self._end(stream, "reset", f"RST_STREAM: {code_name(event.error_code or 0)}")

    def _goaway(self, event: ConnectionTerminated) -> None:
        self.goaway = int(event.error_code or 0)
        self.calm += self.goaway == ErrorCodes.ENHANCE_YOUR_CALM
        if self.goaway:
            text = (event.additional_data or b"")[:_SHOWN].decode("latin-1")
            self.why = f"GOAWAY: {code_name(self.goaway)} {text}".rstrip()
        for stream in [*self.streams.values()]:
            if stream.number > (event.last_stream_id or 0):
                stream.unprocessed = True
                self._end(stream, "closed", self.why or "GOAWAY before the request was looked at")


_TAKES: Final[dict[type[Event], Callable[[H2State, Any], None]]] = {
    RemoteSettingsChanged: H2State._settings,
    WindowUpdated: H2State._window,
    ResponseReceived: H2State._response,
    DataReceived: H2State._data,
    StreamEnded: H2State._stream_ended,
    StreamReset: H2State._reset,
    ConnectionTerminated: H2State._goaway,
}
