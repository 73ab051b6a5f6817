"""The h2 package sees what logreplay's own implementation sees, but for what it treats otherwise."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.replay.senders.http2.client_state import MAX_RESETS, ClientState
from logreplay.replay.senders.http2.connection_state import ConnectionState
from logreplay.replay.senders.http2.stream import Stream
from support import http2_frames as peer
from support.h2_sender import H2State
from support.hostile_target import Seen
from support.http2_frames import answer, data, goaway, greeted, head, parsed, rst
from support.http2_ways import GOOD, OF_CONNECTION, OF_STREAM, OK, Way, request, seen

OTHERWISE: Final = {
    "shorter than announced": "protocol",  # it ends the connection where a length is wrong
    "another protocol": None,  # an interim answer as any
    "a window opened too far": "reset",
    "a reset of a stream that was not opened": None,
    "a table that was not offered": None,  # it was: the package keeps one
    "a header of more than 256 kB": None,  # it waits for the end of the block, up to 64 pieces
}
"""The error word where the package sees it otherwise; None: the request goes on."""


def told(state: ClientState, stream: bytes, *requests: bytes) -> list[Stream]:
    """The streams that have ended, when a server has answered some requests."""
    state.receive(greeted(), 0)
    for seq, rendered in enumerate(requests or (request(),)):
        state.begin(Stream(seq, rendered, 0))
    return state.receive(stream, 1)


@pytest.mark.parametrize("way", GOOD, ids=[way.name for way in GOOD])
def test_good_answers_are_equal(way: Way) -> None:
    state = H2State()
    assert [seen(one) for one in told(state, way.answer, request(way.method))] == [way.seen]
    state.begin(Stream(1, request(), 0))
    assert [seen(one) for one in state.receive(answer(3), 2)] == [OK]


@pytest.mark.parametrize("way", [*OF_STREAM, *OF_CONNECTION], ids=lambda way: way.name)
def test_bad_answers_have_the_same_word(way: Way) -> None:
    state = H2State()
    ended = [one.error for one in told(state, way.answer, request(way.method))]
    word = OTHERWISE.get(way.name, way.seen.error)
    assert ended == ([] if word is None else [word])
    assert not state.dead or state.why


@given(st.binary(max_size=300_000), st.integers(0, 200_000), st.integers(16_384, 100_000))
@settings(max_examples=25, deadline=None)
def test_both_send_the_same_request(body: bytes, window: int, largest: int) -> None:
    """Headers, and as much of the body as the windows allow."""
    sent = []
    for state in (ConnectionState({}), H2State()):
        state.receive(peer.settings(initial_window_size=window, max_frame_size=largest) + peer.window(0, 10**6), 0)
        state.out.clear()
        state.begin(Stream(0, request("POST", body), 0))
        state.receive(peer.window(1, 1000), 0)
        written: list[Any] = parsed(b"".join(state.out))
        bodies = b"".join(one.data for one in written if type(one).__name__ == "DataFrame")
        largest_sent = max((len(one.data) for one in written[1:]), default=0)
        sent.append((bodies, "END_STREAM" in written[-1].flags, largest_sent))
    assert sent[0] == sent[1]


RESPONSES: Final = st.fixed_dictionaries(
    {
        "status": st.integers(200, 599),
        "hints": st.booleans(),
        "fields": st.lists(
            st.tuples(
                st.sampled_from(["server", "etag", "x-a", "set-cookie"]),
                st.text("abc /=;,", max_size=40).map(str.strip),
            ),
            max_size=5,
        ),
        "body": st.lists(st.binary(max_size=300), max_size=4),
        "padding": st.one_of(st.none(), st.integers(0, 200)),
        "trailers": st.booleans(),
        "announced": st.booleans(),
    }
)


def responded(responses: list[dict[str, Any]], order: list[int]) -> bytes:
    """What a server of the h2 package sends, part by part in some order, with a header table and Huffman coding."""
    server = H2Connection(H2Configuration(client_side=False))
    server.initiate_connection()
    client = ConnectionState({})
    for seq in range(len(responses)):
        client.begin(Stream(seq, request(), 0))
    server.receive_data(b"".join(client.out))
    parts = [_parts(server, 2 * seq + 1, response) for seq, response in enumerate(responses)]
    for which in (*order, *[*range(len(parts))] * 8):
        next(parts[which % len(parts)], None)
    return server.data_to_send()


def _parts(server: H2Connection, stream: int, response: dict[str, Any]) -> Iterator[None]:
    body, fields = response["body"], list(response["fields"])
    if response["hints"]:
        server.send_headers(stream, [(":status", "103"), ("link", "</a>")])
        yield
    if response["announced"]:
        fields.append(("content-length", str(sum(map(len, body)))))
    server.send_headers(stream, [(":status", str(response["status"])), *fields])
    yield
    for piece in body:
        server.send_data(stream, piece, pad_length=response["padding"])
        yield
    if response["trailers"]:
        server.send_headers(stream, [("x-sum", "1")], end_stream=True)
    else:
        server.end_stream(stream)


@given(st.lists(RESPONSES, min_size=1, max_size=3), st.lists(st.integers(0, 2), max_size=12), st.integers(1, 2000))
@settings(max_examples=60, deadline=None)
def test_whatever_a_server_responds_both_read_the_same(
    responses: list[dict[str, Any]], order: list[int], cut: int
) -> None:
    for response in responses:
        response["status"] = 200 if response["status"] in (204, 304) else response["status"]  # these have no body
    sent = responded(responses, order)
    found = []
    for state in (ConnectionState({}, kept_body=500), H2State(kept_body=500)):
        ended: list[Stream] = []
        for seq in range(len(responses)):
            state.begin(Stream(seq, request(), 0))
        for at in range(0, len(sent), cut):
            ended += state.receive(sent[at : at + cut], at)
        found.append([(one.seq, seen(one), one.kept, one.first, one.last, one.fields) for one in ended])
    assert found[0] == found[1]
    bodies = [b"".join(response["body"]) for response in responses]
    assert sorted(one[:3] for one in found[0]) == [
        (seq, Seen("", response["status"], len(body)), body[:500])
        for seq, (response, body) in enumerate(zip(responses, bodies, strict=True))
    ]


def test_streams_that_were_accepted_are_answered_after_goaway() -> None:
    state = H2State()
    ended = told(state, goaway(1, 0) + answer(1), request(), request())
    assert [(one.seq, one.error, one.unprocessed) for one in ended] == [(1, "closed", True), (0, "", False)]
    assert state.retired


def test_a_refused_stream_was_not_processed_and_calm_is_quoted() -> None:
    (one,) = told(H2State(), rst(1, 7))
    assert (one.error, one.unprocessed) == ("reset", True)
    state = H2State()
    told(state, goaway(0, 11, b"too_many"))
    assert state.why == "GOAWAY: ENHANCE_YOUR_CALM too_many"


def test_a_cancelled_stream_is_reset_within_a_budget() -> None:
    state, count = H2State(), MAX_RESETS + 5
    told(state, b"", *[request()] * count)
    state.out.clear()
    for stream in [*state.streams.values()]:
        state.cancel(stream)
    assert len(parsed(b"".join(state.out))) == MAX_RESETS
    assert state.retired


def test_a_target_that_speaks_something_else_is_told_apart() -> None:
    state = H2State()
    state.receive(b"HTTP/1.1 400 Bad Request\r\n\r\n", 0)
    assert state.dead
    assert not state.greeted


def test_the_beginning_of_a_body_is_kept_where_it_is_shown() -> None:
    (one,) = told(H2State(kept_body=8192), head(1) + data(1, b"a" * 8000, end=False) + data(1, b"b" * 8000))
    assert one.kept == b"a" * 8000 + b"b" * 192
    assert seen(one) == Seen("", 200, 16_000)
