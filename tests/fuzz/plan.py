"""From a CSV of strangers to bytes on the wire: as many requests as planned, with the planned headers, and no other."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO

import polars as pl

from fuzz.memory import ended, file
from logreplay.core.errors import LogreplayError
from logreplay.core.record import CORE_COLUMNS
from logreplay.core.rows import read_csv
from logreplay.replay.requests.bodies import LoggedBody
from logreplay.replay.requests.header_columns import BODILESS
from logreplay.replay.requests.headers import FixedHeader, LoggedHeader, LoggedHost
from logreplay.replay.requests.plan import Requests
from logreplay.replay.senders.encode import default_headers, render

HEADER = ",".join((*CORE_COLUMNS, "client", "host", "referer", "agent", "body")) + "\n"
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "G\r\nT", "CONNECT")
SHAPES = (
    LoggedHost(),
    LoggedHeader("User-Agent", "agent"),
    LoggedHeader("Referer", "referer"),
    FixedHeader("X-Run", "1"),
)
NAMES = {b"host", b"user-agent", b"referer", b"x-run", b"accept"}

_FILE = file("plan.csv")
_BY_FILE = 0xF0
_DEFAULTS = default_headers("target:80", keep_alive=True)
_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) (/[\x21-\x7e]*|\*) HTTP/1\.1")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([^\x00-\x08\x0a-\x1f\x7f]*)")


def seeds() -> list[bytes]:
    """Rows as converted, and rows that want to be more."""
    row = "2026-11-20,18:58:56.000000,0.010,0,0,17,{},200,{},10.0.0.7,{},{},{},{}\n"
    return [
        b"\xf0" + row.format("/a?b=1", "GET", "example.org", "-", "-", "").encode(),
        b"\x00" + row.format("/a?b=1", "GET", "example.org", "http://example.org/", "Mozilla/5.0 (x)", "").encode(),
        b"\x01" + row.format("//other.host/", "POST", "a:80", '"a\r\nX: y"', '"é""\x1b"', '"a=b&c"').encode() * 2,
        b"\x01" + row.format('"/a\r\n\r\nGET /b"', "PUT", "x@y", "-", "", "\x00\xff").encode("latin-1"),
    ]


@dataclass(frozen=True, slots=True)
class _Memory:
    """A CSV that is read as `LogFile` reads it, without a file."""

    text: bytes

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        return read_csv(BytesIO(self.text), columns)


def one_input(data: bytes) -> None:
    """The first byte chooses whether bodies are sent, what ends the rows, and whether they are read from a file."""
    if len(data) < 2:
        return
    text = HEADER.encode() + ended(data)
    if by_file := data[0] >= _BY_FILE:
        _FILE.write_bytes(text)
    bodies = data[0] & 1
    shapes = (*SHAPES, LoggedBody()) if bodies else SHAPES
    requests = Requests(_FILE if by_file else _Memory(text), METHODS, loop=False, shapes=shapes)
    try:
        frames = list(requests.frames())
    except LogreplayError:
        return
    for frame in frames:
        rendered = render(frame, _DEFAULTS)
        assert len(rendered) == frame.height
        for request, row in zip(rendered, frame.iter_rows(named=True), strict=True):
            _check(request, row["op"], row["url"], (row.get("payload") or b"") if bodies else b"")
    assert sum(frame.height for frame in frames) == requests.usable


def _check(request: bytes, op: str, url: str, body: bytes) -> None:
    """Read a request as strictly as can be."""
    head, end, rest = request.partition(b"\r\n\r\n")
    first, *fields = head.split(b"\r\n")
    line = _LINE.fullmatch(first)
    assert end
    assert line, first
    assert (line[1], line[2]) == (op.encode(), url.encode())
    found = [match for field in fields if (match := _FIELD.fullmatch(field))]
    assert len(found) == len(fields), fields
    names = [match[1].lower() for match in found]
    assert len(set(names)) == len(names), names
    assert set(names) - {b"content-length"} <= NAMES, names
    announced = next((int(match[2]) for match in found if match[1].lower() == b"content-length"), None)
    assert announced == (None if op in BODILESS and not body else len(body))
    assert rest == body
    assert b"host" in names
