"""When a connection may carry more streams, and what becomes of its streams when it is lost."""

from collections.abc import Callable

import pytest

from logreplay.replay.senders.http2.client_state import MAX_RESETS, MOST_STREAMS, ClientState
from logreplay.replay.senders.http2.header_blocks import ResponseFields
from logreplay.replay.senders.http2.stream import Stream


class State(ClientState):
    """A connection without a protocol."""

    def begin(self, stream: Stream) -> None:
        self.streams[2 * len(self.streams) + 1] = stream

    def cancel(self, stream: Stream) -> None: ...

    def receive(self, data: bytes, now: int) -> list[Stream]:
        return []


@pytest.mark.parametrize(
    "change",
    [
        lambda state: setattr(state, "dead", True),
        lambda state: setattr(state, "goaway", 0),
        lambda state: setattr(state, "resets", MAX_RESETS),
        lambda state: setattr(state, "began", MOST_STREAMS),
    ],
)
def test_a_connection_that_ends_carries_no_more_streams(change: Callable[[ClientState], None]) -> None:
    state = State()
    assert not state.retired
    change(state)
    assert state.retired


@pytest.mark.parametrize(
    ("error", "before", "within"),
    [(None, "closed", "short_body"), (ConnectionResetError(104, "reset by peer"), "reset", "reset")],
)
def test_the_streams_of_a_lost_connection_end_by_it(error: OSError | None, before: str, within: str) -> None:
    state, streams = State(), [Stream(seq, b"", 0) for seq in range(2)]
    streams[1].fields = ResponseFields(200, 5, ())
    for stream in streams:
        state.begin(stream)
    assert [stream.error for stream in state.lost(error)] == [before, within]
    assert state.dead
    assert not state.streams
