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
_ONE_BYTE: Final = 127
_LENGTHS: Final = tuple(integer(length, 7) for length in range(_ONE_BYTE))


def render(frame: pl.DataFrame, target: Target, defaults: Mapping[str, str]) -> list[bytes]:
    """Write requests.

    Args:
        frame: planned requests; ``op`` and ``url`` are valid (see `logreplay.replay.requests.plan.Requests`).
        target: gives the scheme.
        defaults: headers of every request, unless a column gives another value; ``Host`` becomes ``:authority``.

    Returns:
        For each row a HEADERS frame without the number of its stream; if it has a body, the body follows.
    """
    scheme = field(b":scheme", target.scheme.encode())
    methods = {op: field(b":method", op.encode()) for op in frame["op"].unique()}
    pairs = header_rows(frame, defaults)
    bodies = frame[PAYLOAD].to_list() if PAYLOAD in frame.columns else [None] * frame.height
    split: dict[int, tuple[bytes, bytes]] = {}
    requests = []
    for op, url, row, body in zip(frame["op"].to_list(), frame["url"].to_list(), pairs, bodies, strict=True):
        if (constant := split.get(id(row))) is None:  # rows without columns of their own share one list
            constant = split[id(row)] = _split(row)
        authority, rest = constant
        path = url.encode()
        length = _LENGTHS[len(path)] if len(path) < _ONE_BYTE else integer(len(path), 7)
        coded = b"".join((methods[op], scheme, authority, _PATH, length, path, rest))
        if body or op not in BODILESS:
            coded += field(b"content-length", str(len(body or b"")).encode())
        if body:
            requests.append(b"".join((len(coded).to_bytes(3), _BEFORE_BODY, coded, body)))
        else:
            requests.append(len(coded).to_bytes(3) + _WHOLE + coded)
    return requests


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
