"""Frames are written as the hyperframe package reads them, and read as it writes them."""

from typing import Any

from hyperframe.frame import ContinuationFrame, GoAwayFrame, HeadersFrame, RstStreamFrame, SettingsFrame
from hypothesis import given
from hypothesis import strategies as st

from logreplay.replay.senders.http2 import frames
from support.http2_frames import made, parsed, window

STREAMS = st.integers(1, 2**31 - 1)
CODES = st.integers(0, 2**32 - 1)


@given(STREAMS, CODES)
def test_a_reset_is_written_as_by_hyperframe(stream: int, code: int) -> None:
    assert frames.rst_stream(stream, code) == made(RstStreamFrame(stream, code))


@given(st.dictionaries(st.integers(1, 6), st.integers(0, 2**32 - 1)))
def test_settings_are_written_as_by_hyperframe(values: dict[int, int]) -> None:
    assert frames.settings(values) == made(SettingsFrame(0, settings=values))


@given(st.integers(0, 2**31 - 1), st.integers(1, 2**31 - 1))
def test_a_window_is_opened_as_by_hyperframe(stream: int, increment: int) -> None:
    assert frames.window_update(stream, increment) == window(stream, increment)


@given(CODES, st.text())
def test_the_end_of_a_connection_is_written_as_by_hyperframe(code: int, text: str) -> None:
    assert frames.goaway(code, text) == made(GoAwayFrame(0, 0, code, text.encode()))


@given(STREAMS, st.binary(max_size=200), st.booleans(), st.integers(1, 50))
def test_a_long_header_block_goes_on_in_more_frames(stream: int, block: bytes, body: bool, largest: int) -> None:
    flags = frames.END_HEADERS | (0 if body else frames.END_STREAM)
    first, *others = parsed(frames.header_frames(frames.frame(frames.HEADERS, flags, 0, block), stream, largest))
    assert isinstance(first, HeadersFrame)
    assert all(isinstance(frame, ContinuationFrame) for frame in others)
    whole: list[Any] = [first, *others]
    assert {frame.stream_id for frame in whole} == {stream}
    assert b"".join(frame.data for frame in whole) == block
    assert max(len(frame.data) for frame in whole) <= largest
    assert [("END_HEADERS" in frame.flags) for frame in whole] == [False] * len(others) + [True]
    assert ("END_STREAM" in first.flags) == (not body)


def test_an_unknown_code_is_named_by_its_number() -> None:
    assert (frames.code_name(11), frames.code_name(99)) == ("ENHANCE_YOUR_CALM", "error 99")
