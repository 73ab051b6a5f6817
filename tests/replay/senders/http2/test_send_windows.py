"""Bodies are sent as the windows allow; a window that is opened wrongly is named."""

import pytest
from hyperframe.frame import DataFrame

from logreplay.replay.senders.http2 import frames
from logreplay.replay.senders.http2.frames import ConnectionFault
from logreplay.replay.senders.http2.send_windows import SendWindows
from logreplay.replay.senders.http2.stream import Stream
from support.http2_frames import parsed


def begun(windows: SendWindows, number: int, body: bytes) -> Stream:
    stream = Stream(0, b"", 0)
    stream.number = number
    windows.begin(stream, memoryview(body))
    return stream


def sent(out: list[bytes]) -> list[tuple[int, int, bool]]:
    """Stream, bytes and whether it ends, of each frame."""
    found = [one for one in parsed(b"".join(out)) if isinstance(one, DataFrame)]
    out.clear()
    return [(one.stream_id, len(one.data), "END_STREAM" in one.flags) for one in found]


def test_streams_share_the_window_of_the_connection_in_their_order() -> None:
    out: list[bytes] = []
    windows = SendWindows(out)
    begun(windows, 1, bytes(65_000))
    begun(windows, 3, bytes(1_000))
    begun(windows, 5, b"")
    assert sent(out)[-2:] == [(1, 65_000 - 3 * 16_384, True), (3, 535, False)]
    windows.open(100)
    assert sent(out) == [(3, 100, False)]
    windows.forget(3)
    windows.open(10_000)
    assert sent(out) == []


def test_a_stream_sends_no_more_than_its_own_window() -> None:
    out: list[bytes] = []
    windows = SendWindows(out)
    windows.resize(10, [])
    stream = begun(windows, 1, bytes(50))
    assert windows.open_stream(stream, 15) is None
    windows.resize(25, [stream])
    assert sent(out) == [(1, 10, False), (1, 15, False), (1, 15, False)]
    windows.resize(0, [stream])
    assert windows.open_stream(stream, 25) is None
    assert sent(out) == []


def test_frames_are_as_long_as_the_peer_accepts() -> None:
    out: list[bytes] = []
    windows = SendWindows(out)
    windows.largest = 60_000
    begun(windows, 1, bytes(60_001))
    assert sent(out) == [(1, 60_000, False), (1, 1, True)]


@pytest.mark.parametrize(("increment", "code"), [(0, frames.PROTOCOL_ERROR), (2**31 - 1, frames.FLOW_CONTROL_ERROR)])
def test_a_window_that_is_opened_wrongly_is_a_fault(increment: int, code: int) -> None:
    windows = SendWindows([])
    with pytest.raises(ConnectionFault) as raised:
        windows.open(increment)
    assert raised.value.code == code
    fault = windows.open_stream(begun(windows, 1, bytes(10)), increment)
    assert fault
    assert fault.code == code
