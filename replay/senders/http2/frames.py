"""Frames of HTTP/2 as bytes: their types, flags and error codes, and how they are written (RFC 9113, 4 to 7)."""

import struct
from collections.abc import Mapping
from typing import Final

DATA: Final = 0
HEADERS: Final = 1
PRIORITY: Final = 2
RST_STREAM: Final = 3
SETTINGS: Final = 4
PUSH_PROMISE: Final = 5
PING: Final = 6
GOAWAY: Final = 7
WINDOW_UPDATE: Final = 8
CONTINUATION: Final = 9

ACK: Final = 0x01
END_STREAM: Final = 0x01
END_HEADERS: Final = 0x04
PADDED: Final = 0x08
PRIORITIZED: Final = 0x20

HEADER_TABLE_SIZE: Final = 1
ENABLE_PUSH: Final = 2
MAX_CONCURRENT_STREAMS: Final = 3
INITIAL_WINDOW_SIZE: Final = 4
MAX_FRAME_SIZE: Final = 5

NO_ERROR: Final = 0
PROTOCOL_ERROR: Final = 1
INTERNAL_ERROR: Final = 2
FLOW_CONTROL_ERROR: Final = 3
STREAM_CLOSED: Final = 5
FRAME_SIZE_ERROR: Final = 6
REFUSED_STREAM: Final = 7
CANCEL: Final = 8
COMPRESSION_ERROR: Final = 9
ENHANCE_YOUR_CALM: Final = 11

_CODES: Final = (
    "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
    "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
)  # fmt: skip

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADER_BYTES: Final = 9
DEFAULT_WINDOW: Final = 65_535
LARGEST_WINDOW: Final = 2**31 - 1
SMALLEST_FRAME: Final = 16_384
"""The largest payload that every peer accepts, and the one that it may send here: MAX_FRAME_SIZE is not raised."""
LARGEST_FRAME: Final = 2**24 - 1

read_header: Final = struct.Struct(">HBBBL").unpack_from
"""The header of a frame: two high bytes and one low byte of its length, type, flags, number of its stream."""
read_settings: Final = struct.Struct(">HL").iter_unpack


class ConnectionFault(Exception):
    """The peer broke a rule; the code says which. All streams of the connection end by it, or the one concerned."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code_name(code)}: {text}")
        self.code = code


def code_name(code: int) -> str:
    """An error code in words."""
    return _CODES[code] if code < len(_CODES) else f"error {code}"


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """A frame of a stream, or of the connection if ``stream`` is 0; its payload fits into `LARGEST_FRAME`."""
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload


def settings(values: Mapping[int, int]) -> bytes:
    """A SETTINGS frame."""
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HL", key, value) for key, value in values.items()))


def window_update(stream: int, increment: int) -> bytes:
    """A WINDOW_UPDATE frame."""
    return frame(WINDOW_UPDATE, 0, stream, increment.to_bytes(4))


def rst_stream(stream: int, code: int) -> bytes:
    """A RST_STREAM frame."""
    return frame(RST_STREAM, 0, stream, code.to_bytes(4))


def goaway(code: int, text: str = "") -> bytes:
    """A GOAWAY frame of a client: no stream of the peer was processed, for it opens none."""
    return frame(GOAWAY, 0, 0, bytes(4) + code.to_bytes(4) + text.encode())


def beginning(request: bytes, prefix: bytes) -> bytes:
    """A rendered request (see `header_frames`) whose header block begins with some more bytes."""
    size = int.from_bytes(request[:3]) + len(prefix)
    return size.to_bytes(3) + request[3:HEADER_BYTES] + prefix + request[HEADER_BYTES:]


def header_frames(request: bytes, stream: int, largest: int) -> bytes:
    """The frames that open a stream, made of a HEADERS frame of any length that lacks the number of the stream.

    A block longer than ``largest``, the payload that the peer accepts, goes on in CONTINUATION frames.
    """
    if len(request) - HEADER_BYTES <= largest:
        return request[:5] + stream.to_bytes(4) + request[HEADER_BYTES:]
    block, end_stream = request[HEADER_BYTES:], request[4] & END_STREAM
    pieces = [block[at : at + largest] for at in range(0, len(block), largest)]
    last = len(pieces) - 1
    return b"".join(
        frame(
            CONTINUATION if number else HEADERS,
            (0 if number else end_stream) | (END_HEADERS if number == last else 0),
            stream,
            piece,
        )
        for number, piece in enumerate(pieces)
    )
