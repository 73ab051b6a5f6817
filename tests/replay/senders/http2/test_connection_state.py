"""The state of a connection, told by a table: what a server may send, and what becomes of the request."""

from collections.abc import Callable
from typing import Any, Final

import h2.config
import h2.connection
import h2.events
import pytest
from hpack import Decoder
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.replay.senders.digests import Digests
from logreplay.replay.senders.http2 import frames
from logreplay.replay.senders.http2.client_state import MAX_RESETS
from logreplay.replay.senders.http2.connection_state import ConnectionState
from logreplay.replay.senders.http2.header_blocks import ResponseFields
from logreplay.replay.senders.http2.stream import Stream
from support import http2_frames as peer
from support.hostile_target import Seen
from support.http2_frames import answer, coded, data, greeted, head, parsed, raw, rst
from support.http2_ways import LOST, OK, WAYS, Way, request, seen

PREFACE: Final = len(frames.PREFACE)
KNOWN: Final[dict[bytes, ResponseFields]] = {}


class Side:
    """A connection with some requests on it.

    Attributes:
        ended: streams, in the order of their end.
    """

    def __init__(self, *requests: bytes, first: bytes = b"", state: ConnectionState | None = None) -> None:
        self.state = state or ConnectionState({})
        self.streams = [Stream(seq, rendered, 0) for seq, rendered in enumerate(requests)]
        self.ended: list[Stream] = []
        self.written()
        self.tell(first)
        for stream in self.streams:
            self.state.begin(stream)

    def tell(self, stream: bytes, now: int = 1, cut: int = 0) -> None:
        """Let the server's bytes arrive, in pieces of ``cut`` bytes."""
        for at in range(0, len(stream), cut or len(stream) or 1):
            self.ended += self.state.receive(stream[at : at + (cut or len(stream))], now)

    def written(self) -> list[Any]:
        """The frames that were written since the last look."""
        out = b"".join(self.state.out)
        self.state.out.clear()
        return parsed(out.removeprefix(frames.PREFACE))

    def resets(self) -> list[tuple[int, int]]:
        return [(one.stream_id, one.error_code) for one in self.written() if isinstance(one, RstStreamFrame)]


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("way", WAYS, ids=[way.name for way in WAYS])
def test_each_way_of_answering_ends_the_request_as_it_should(way: Way, is_known: bool) -> None:
    """And the next request on the connection comes through unharmed, if there may be one.

    All the same if another connection has received the same header.
    """
    if is_known:
        Side(request(way.method), first=greeted(), state=ConnectionState(KNOWN)).tell(way.answer)
    side = Side(request(way.method), first=greeted(), state=ConnectionState(KNOWN if is_known else {}))
    side.written()
    side.tell(way.answer)
    assert [seen(stream) for stream in side.ended] == [way.seen]
    written = side.written()
    assert [one.error_code for one in written if isinstance(one, GoAwayFrame)] == ([way.broken] if way.broken else [])
    assert [one.error_code for one in written if isinstance(one, RstStreamFrame)] == ([way.reset] if way.reset else [])
    assert side.state.dead == (way.broken is not None)
    assert not side.state.streams
    if not side.state.dead:
        side.state.begin(Stream(1, request(), 0))
        side.tell(answer(3))
        assert seen(side.ended[-1]) == OK
    assert (way.seen.error == "") == (side.ended[0].detail == "")


@pytest.mark.parametrize("way", [way for way in WAYS if len(way.answer) < 500], ids=lambda way: way.name)
@pytest.mark.parametrize("cut", [1, 2, 7, 10])
def test_the_bytes_may_be_cut_anywhere(way: Way, cut: int) -> None:
    side = Side(request(way.method), first=greeted())
    side.tell(way.answer, cut=cut)
    assert [seen(stream)[:2] for stream in side.ended] == [way.seen[:2]]
    assert side.state.dead == (way.broken is not None)


class ReadsEachFrame(ConnectionState):
    """A connection on which no response is read at once."""

    def _read_known_responses(self, data: bytes, at: int) -> int:
        return 0


ANSWERS: Final[list[Callable[[int], bytes]]] = [
    answer,
    lambda number: answer(number, b"longer", [("content-encoding", "identity")]),
    lambda number: head(number) + data(number),
    lambda number: head(number, 200, [("content-length", "5")]) + data(number, b"hel", end=False) + data(number, b"lo"),
    lambda number: head(number, 200, [("content-length", "9")]) + data(number),
    lambda number: head(number, 204, end=True),
    lambda number: head(number, 204, [("content-length", "5")]) + data(number),
    lambda number: head(number, 302, [("content-length", "5")], end=True),
    lambda number: head(number, 304, [("content-length", "5")], end=True),
    lambda number: head(number, 103) + answer(number),
    lambda number: head(number) + data(number, padding=3),
    lambda number: head(number) + data(number, end=False) + head(number, None, [("a", "b")], end=True),
    lambda number: rst(number, 8) + peer.ping(),
]


@given(
    st.lists(st.tuples(st.sampled_from(ANSWERS), st.sampled_from(["GET", "POST", "HEAD", "PUT"])), max_size=12),
    st.integers(0, 60),
)
@settings(max_examples=300)
def test_responses_that_are_read_at_once_are_those_that_are_read_by_frame(
    exchanges: list[tuple[Callable[[int], bytes], str]], cut: int
) -> None:
    read = []
    for kind in (ConnectionState, ReadsEachFrame):
        digests = Digests()
        side = Side(*(request(method) for _, method in exchanges), first=greeted(), state=kind(KNOWN, digests=digests))
        side.tell(b"".join(make(2 * place + 1) for place, (make, _) in enumerate(exchanges)), cut=cut)
        hashes = [digests.of(one.seq, one.status, one.head(), one.body) for one in side.ended]
        ends = [(one.seq, seen(one), one.first, one.last) for one in side.ended]
        read.append((ends, hashes, [str(frame) for frame in side.written()], side.state._taken))
    assert read[0] == read[1]


def test_an_error_of_one_stream_harms_no_other() -> None:
    side = Side(request(), request(), first=greeted())
    side.tell(head(1, 200, [("Upper", "x")]) + data(1) + answer(3))
    assert [seen(stream) for stream in side.ended] == [Seen("protocol", 200, 0), OK]


def test_an_error_of_the_connection_ends_all_streams() -> None:
    side = Side(request(), request(), first=greeted())
    side.tell(head(1) + raw(6, 0, 0))
    assert [seen(stream) for stream in side.ended] == [Seen("protocol", 200, 0), LOST]
    side.tell(answer(3))
    assert len(side.ended) == 2


@pytest.mark.parametrize(
    ("first", "text"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "answers with HTTP/1"),
        (b"220 smtp.example.com ready\r\n", "begin with a SETTINGS frame"),
        (peer.ping(), "begin with a SETTINGS frame"),
        (peer.settings_ack(), "begin with a SETTINGS frame"),
    ],
)
def test_a_target_that_speaks_something_else_is_told_apart(first: bytes, text: str) -> None:
    side = Side(request())
    side.tell(first)
    assert seen(side.ended[0]) == LOST
    assert text in side.ended[0].detail
    assert not side.state.greeted


def test_the_first_bytes_offer_no_table_and_no_push_and_a_large_window() -> None:
    state = ConnectionState({})
    first, second = parsed(state.out[0].removeprefix(frames.PREFACE))
    assert state.out[0].startswith(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    assert isinstance(first, SettingsFrame)
    assert first.settings == {1: 0, 2: 0, 4: 2**31 - 1}
    assert isinstance(second, WindowUpdateFrame)
    assert second.window_increment == 2**31 - 1 - 65535


def test_settings_and_pings_are_acknowledged_at_once() -> None:
    side = Side()
    side.tell(greeted() + peer.ping(b"abcdefgh") + raw(6, 1, 0, bytes(8)))
    settings_ack, pong = side.written()
    assert isinstance(settings_ack, SettingsFrame)
    assert "ACK" in settings_ack.flags
    assert isinstance(pong, PingFrame)
    assert ("ACK" in pong.flags, pong.opaque_data) == (True, b"abcdefgh")


# flow control


def bodies(written: list[Any]) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for one in written:
        if isinstance(one, DataFrame):
            found[one.stream_id] = found.get(one.stream_id, b"") + one.data
    return found


def test_a_body_waits_for_the_window_of_its_stream() -> None:
    body = bytes(range(100))
    side = Side(first=greeted(initial_window_size=30))
    side.written()
    stream = Stream(0, request("POST", body), 0)
    side.state.begin(stream)
    assert bodies(side.written()) == {1: body[:30]}
    side.tell(peer.window(1, 40))
    assert bodies(side.written()) == {1: body[30:70]}
    side.tell(peer.settings(initial_window_size=29))  # one less than before, on all streams
    side.tell(peer.window(1, 1))
    assert bodies(side.written()) == {}
    side.tell(peer.settings(initial_window_size=1000))
    *_, last = side.written()
    assert (last.data, "END_STREAM" in last.flags) == (body[70:], True)
    side.tell(answer(1))
    assert seen(side.ended[0]) == OK


def test_bodies_wait_for_the_window_of_the_connection() -> None:
    side = Side(request("POST", b"a" * 60_000), request("POST", b"b" * 60_000), first=greeted())
    assert {number: len(body) for number, body in bodies(side.written()).items()} == {1: 60_000, 3: 5_535}
    side.tell(peer.window(0, 100_000))
    assert {number: len(body) for number, body in bodies(side.written()).items()} == {3: 54_465}


@given(st.lists(st.integers(1, 20_000), min_size=1, max_size=8), st.integers(16_384, 40_000), st.data())
@settings(max_examples=40)
def test_bodies_arrive_whole_and_no_window_is_overdrawn(sizes: list[int], largest: int, drawn: st.DataObject) -> None:
    """The h2 package checks each byte against the windows that it gave."""
    server = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding=None))
    server.initiate_connection()
    server.update_settings({4: drawn.draw(st.integers(0, 70_000)), 5: largest})
    state = ConnectionState({})
    streams = [Stream(seq, request("POST", bytes([seq]) * size), 0) for seq, size in enumerate(sizes)]
    state.receive(server.data_to_send(), 0)
    server.receive_data(b"".join(state.out))  # it heeds an acknowledgement from the next bytes on
    state.out.clear()
    for stream in streams:
        state.begin(stream)
    got: dict[int, bytes] = {}
    for _ in range(200):
        events = server.receive_data(b"".join(state.out))
        state.out.clear()
        for event in events:
            if isinstance(event, h2.events.DataReceived):
                got[event.stream_id] = got.get(event.stream_id, b"") + event.data
        for number in range(1, 2 * len(sizes), 2):
            if len(got.get(number, b"")) < sizes[number // 2]:
                server.increment_flow_control_window(30_000)
                server.increment_flow_control_window(30_000, number)
        if not any(stream.unsent for stream in streams):
            break
        state.receive(server.data_to_send(), 0)
    assert [got.get(2 * seq + 1) for seq in range(len(sizes))] == [bytes([s]) * size for s, size in enumerate(sizes)]


def test_windows_for_responses_are_opened_in_large_steps() -> None:
    side = Side(request(), first=greeted())
    side.tell(head(1))
    side.written()
    piece = data(1, bytes(16384), end=False)
    for _ in range(2**30 // 16384 - 1):
        side.state.receive(piece, 1)
    assert side.written() == []
    side.tell(piece)
    opened = [(one.stream_id, one.window_increment) for one in side.written()]
    assert opened == [(0, 2**30), (1, 2**30)]


def test_an_answer_before_the_whole_request_was_sent_counts() -> None:
    side = Side(request("POST", bytes(100_000)), first=greeted())
    side.written()
    side.tell(answer(1))
    assert seen(side.ended[0]) == OK
    assert side.resets() == [(1, frames.CANCEL)]
    side.tell(peer.rst(1, 0) + peer.window(1, 9))
    assert not side.state.dead


# ends


def test_what_goaway_leaves_out_was_not_processed_and_the_rest_is_answered() -> None:
    side = Side(request(), request("POST"), request(), first=greeted())
    side.tell(peer.goaway(1))
    assert [(stream.seq, stream.unprocessed) for stream in side.ended] == [(1, True), (2, True)]
    assert side.state.retired
    side.tell(answer(1))
    assert seen(side.ended[-1]) == OK


def test_goaway_may_come_twice() -> None:
    side = Side(request(), request(), first=greeted())
    side.tell(peer.goaway(2**31 - 1))
    assert not side.ended
    side.tell(peer.goaway(1))
    assert [stream.seq for stream in side.ended] == [1]


def test_the_reason_of_a_goaway_is_told_with_what_ends_by_it() -> None:
    side = Side(request(), first=greeted())
    side.tell(peer.goaway(1, 11, b"slow\x1b down"))
    ended = side.state.lost(None)
    assert [(one.error, one.detail) for one in ended] == [("closed", "GOAWAY: ENHANCE_YOUR_CALM slow\x1b down")]


def test_a_refused_stream_was_not_processed() -> None:
    side = Side(request(), first=greeted())
    side.tell(peer.rst(1, 7))
    assert [(stream.error, stream.unprocessed) for stream in side.ended] == [("reset", True)]


@pytest.mark.parametrize(
    ("sent", "error", "seen_then"),
    [
        (b"", None, Seen("closed", 0, 0)),
        (head(1) + data(1, end=False), None, Seen("short_body", 200, 5)),
        (b"", ConnectionResetError(104, "reset"), Seen("reset", 0, 0)),
        (head(1) + data(1, b"hello you", end=True)[:-4], None, Seen("short_body", 200, 5)),
    ],
)
def test_the_end_of_the_connection_ends_its_streams(sent: bytes, error: OSError | None, seen_then: Seen) -> None:
    side = Side(request(), first=greeted())
    side.tell(sent)
    assert [seen(stream) for stream in side.state.lost(error)] == [seen_then]
    assert side.state.dead


def test_what_still_comes_of_a_cancelled_stream_is_ignored() -> None:
    side = Side(request(), request(), first=greeted())
    side.written()
    side.state.cancel(side.streams[0])
    assert side.resets() == [(1, frames.CANCEL)]
    side.tell(answer(1) + peer.rst(1, 8) + answer(3))
    assert [stream.seq for stream in side.ended] == [1]


def test_what_comes_of_a_stream_that_ended_is_an_error() -> None:
    side = Side(request(), first=greeted())
    side.tell(answer(1) + data(1))
    assert side.state.dead
    assert "STREAM_CLOSED" in side.state.why


def test_a_connection_with_many_resets_is_retired_and_resets_no_more() -> None:
    side = Side(*[request()] * (MAX_RESETS + 10), first=greeted())
    side.written()
    for stream in side.streams:
        assert side.state.retired == (stream.seq >= MAX_RESETS)
        side.state.cancel(stream)
    assert len(side.resets()) == MAX_RESETS
    side.tell(answer(2 * MAX_RESETS + 1))
    assert not side.state.dead


def test_the_peers_limit_of_streams_is_its_last_word() -> None:
    side = Side(request(), first=greeted(max_concurrent_streams=3))
    assert side.state.limit == 3
    side.tell(peer.settings(max_concurrent_streams=0))
    assert side.state.limit == 0


def test_a_long_header_is_split_as_the_peer_allows() -> None:
    side = Side(request(fields=[(b"cookie", b"x" * 40_000)]), first=greeted())
    written = [one for one in side.written() if isinstance(one, HeadersFrame | ContinuationFrame)]
    assert [type(one) for one in written] == [HeadersFrame, ContinuationFrame, ContinuationFrame]
    assert "END_STREAM" in written[0].flags


def test_the_beginning_of_a_body_is_kept_where_it_is_shown() -> None:
    state = ConnectionState({}, kept_body=8192)
    stream = Stream(0, request(), 0)
    state.receive(greeted(), 0)
    state.begin(stream)
    state.receive(head(1) + data(1, b"a" * 8000, end=False) + data(1, b"b" * 8000), 0)
    assert stream.kept == b"a" * 8000 + b"b" * 192


def test_the_first_byte_is_that_of_the_final_answer() -> None:
    side = Side(request(), first=greeted())
    side.tell(head(1, 103), now=10)
    side.tell(peer.headers(1, coded()[:1]), now=20)
    side.tell(peer.continuation(1, coded()[1:], "END_HEADERS"), now=30)
    side.tell(data(1), now=40)
    assert (side.ended[0].first, side.ended[0].last) == (20, 40)


@given(st.lists(st.sampled_from(WAYS), min_size=1, max_size=4), st.integers(1, 40), st.binary(max_size=30))
@settings(max_examples=200)
def test_whatever_comes_each_stream_ends_once(ways: list[Way], cut: int, noise: bytes) -> None:
    side = Side(*[request()] * 3, first=greeted())
    for way in ways:
        side.tell(way.answer[:400] + noise, cut=cut)
    side.ended += side.state.lost(None)
    assert sorted(stream.seq for stream in side.ended) == [0, 1, 2]
    assert not side.state.streams
    assert all(stream.error or stream.status >= 200 for stream in side.ended)


def test_a_server_that_allows_no_header_table_is_told_that_there_is_none() -> None:
    """Or its decoder refuses the next request (RFC 7541, 4.2): those of nghttp2 and of the h2 package do."""
    side, decoder = Side(request(), first=peer.settings(header_table_size=0)), Decoder()
    decoder.max_allowed_table_size = 0
    side.state.begin(Stream(1, request("POST", b"hello"), 0))
    written = [one for one in side.written() if isinstance(one, HeadersFrame)]
    assert [dict(decoder.decode(one.data, raw=True))[b":path"] for one in written] == [b"/", b"/"]


def test_a_window_is_not_too_large_for_a_request_without_a_body() -> None:
    side = Side(request(), first=peer.settings(initial_window_size=10))
    side.tell(peer.settings(initial_window_size=2**31 - 1) + answer(1))
    assert [seen(one) for one in side.ended] == [OK]


def test_the_windows_of_a_long_body_are_no_flood() -> None:
    """A server may open them by little at a time, and responds only when it has the whole body."""
    body = bytes(30_000)
    side = Side(request("POST", body), first=greeted(initial_window_size=0))
    for _ in body:
        side.tell(peer.window(1, 1))
    side.tell(answer(1))
    assert [seen(one) for one in side.ended] == [OK]
