"""Renders the requests of a planned frame as HTTP/2: one HEADERS frame each, and the body behind it.

Requests are rendered ahead of time, before it is known on which stream they will be sent. The same rules hold as in
`logreplay.replay.senders.encode`: no value can add a header, or announce another body than its own.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from logreplay.replay.requests.header_columns import BODILESS, PAYLOAD
from logreplay.replay.senders.encode import header_rows
from logreplay.replay.senders.endpoint import Target
from logreplay.replay.senders.http2.frames import END_HEADERS, END_STREAM, HEADERS
from logreplay.replay.senders.http2.header_blocks import block, field, integer

_WHOLE: Final = bytes((HEADERS, END_HEADERS | END_STREAM)) + bytes(4)
_BEFORE_BODY: Final = bytes((HEADERS, END_HEADERS)) + bytes(4)
_PATH: Final = integer(4, 4)
"""A literal with the name ``:path`` that enters no table."""


def render(frame: pl.DataFrame, target: Target, defaults: Mapping[str, str]) -> list[bytes]:
    """Write each row of a planned frame as a HEADERS frame without the number of its stream, and its body behind it.

    The headers are the defaults that no column overrides; ``Host`` becomes ``:authority``. ``op`` and ``url`` are valid
    (see `logreplay.replay.requests.plan.Requests`).
    """
    scheme = field(b":scheme", target.scheme.encode())
    pairs = header_rows(frame, defaults)
    bodies = frame[PAYLOAD].to_list() if PAYLOAD in frame.columns else [None] * frame.height
    recent: object = None
    requests = []
    for op, url, row, body in zip(frame["op"].to_list(), frame["url"].to_list(), pairs, bodies, strict=True):
        if row is not recent:  # rows without columns of their own share one list
            recent, (authority, rest) = row, _split(row)
            heads: dict[tuple[str, int], bytes] = {}
        path = url.encode()
        if body or op not in BODILESS:
            length = field(b"content-length", str(len(body or b"")).encode())
            head = _head(op, scheme + authority, len(path), len(rest) + len(length), _BEFORE_BODY if body else _WHOLE)
            requests.append(b"".join((head, path, rest, length, body or b"")))
        else:
            if not (head := heads.get((op, len(path)), b"")):
                head = heads[op, len(path)] = _head(op, scheme + authority, len(path), len(rest), _WHOLE)
            requests.append(head + path + rest)
    return requests


def _head(op: str, constant: bytes, path_length: int, rest_length: int, kind: bytes) -> bytes:
    """The beginning of a HEADERS frame, up to the path."""
    coded = field(b":method", op.encode()) + constant + _PATH + integer(path_length, 7)
    return (len(coded) + path_length + rest_length).to_bytes(3) + kind + coded


def rendered_anew(request: bytes, scheme: str) -> bytes:
    """A request that was rendered for HTTP/1.1, as `render` does it."""
    head, _, body = request.partition(b"\r\n\r\n")
    line, *lines = head.split(b"\r\n")
    method, path, _ = line.split(b" ")
    pairs = [(name.lower(), value.strip()) for name, _, value in (each.partition(b":") for each in lines)]
    authority = next(value for name, value in pairs if name == b"host")
    pseudo = [(b":method", method), (b":scheme", scheme.encode()), (b":authority", authority), (b":path", path)]
    coded = block((*pseudo, *(pair for pair in pairs if pair[0] != b"host")))
    return len(coded).to_bytes(3) + (_BEFORE_BODY if body else _WHOLE) + coded + body


def _split(row: list[tuple[str, str]]) -> tuple[bytes, bytes]:
    """The field ``:authority`` and the block of the other headers."""
    pairs = [(name.lower().encode(), value.encode()) for name, value in row]
    authority = b"".join(field(b":authority", value) for name, value in pairs if name == b"host")
    return authority, block((name, value) for name, value in pairs if name != b"host")
