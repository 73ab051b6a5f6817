"""GoReplay's files: captured messages with a header line each, separated by three monkeys.

::

    1 f45590522cd1838b4a0d5c5aab80b77929dea3b3 1231000000000000000 0
    POST /cart HTTP/1.1
    ...
    (an empty line, the body, a line end)
    🐵🙈🙉

The header has the kind (1: request, 2: its response, 3: the replayed response), an id, the time in nanoseconds since
1970 and a duration.

Source: https://github.com/buger/goreplay (protocol.go, output_file.go)
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from typing import BinaryIO, Final

from logreplay.parsers.captures.capture import (
    LARGEST,
    Capture,
    CaptureFormat,
    Record,
    Unanswered,
    record_of,
    request_message,
    response_message,
)
from logreplay.parsers.captures.export import message
from logreplay.parsers.fields.values import Rejected

_SEPARATOR: Final = "\n🐵🙈🙉\n".encode()
_META: Final = re.compile(rb"\s*([123]) ([0-9A-Za-z_-]{1,64}) ([0-9]{1,19})(?: (-?[0-9]{1,19}))?\r?\n")
_PIECE: Final = 1 << 20
_SHOWN: Final = 1 << 16


def _read(file: BinaryIO, name: str) -> Iterator[Record]:
    waiting = Unanswered()
    for number, (data, whole) in enumerate(_records(file), 1):
        meta = _META.match(data)
        if not whole:
            yield Record(data, None, "rejected", f"longer than {LARGEST >> 20} MB", number)
        elif not meta:
            yield Record(data, None, "rejected", "layout", number)
        elif meta[1] == b"1":
            record = record_of(data, partial(_capture, data, meta), number)
            yield from waiting.add(meta[2], record) if record.capture else [record]
        else:
            yield Record(b"")
            request = waiting.take(meta[2]) if meta[1] == b"2" else None
            if request and request.capture:
                rc, size = response_message(data[meta.end() :])
                seconds = max(int(meta[3]) - int(_META.match(request.raw)[3]), 0) / 1e9  # type: ignore[index]
                seconds = seconds if seconds < 1e6 else 0.0
                yield replace(request, capture=replace(request.capture, rc=rc, size=size, latency=seconds))
    yield from waiting.rest()


def _records(file: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """The records, and whether each is whole."""
    held, searched, dropped = bytearray(), 0, False
    while piece := file.read(_PIECE):
        held += piece
        begin = 0
        while (end := held.find(_SEPARATOR, max(begin, searched))) >= 0:
            yield bytes(held[begin:end]), not dropped
            begin, searched, dropped = end + len(_SEPARATOR), 0, False
        del held[:begin]
        searched = max(len(held) - len(_SEPARATOR), 0)
        if len(held) > LARGEST:
            if not dropped:
                first = bytes(held[:_SHOWN])
            dropped = True
            held = bytearray(first) + held[-len(_SEPARATOR) :]
            searched = max(len(held) - len(_SEPARATOR), 0)
    if held.strip():
        yield bytes(held), not dropped


def _capture(data: bytes, meta: re.Match[bytes]) -> Capture:
    if len(meta[3]) < 16 and int(meta[3]):
        raise Rejected("time stamp")
    return replace(request_message(data[meta.end() :]), start=int(meta[3]) // 1000)


GOR: Final = CaptureFormat("gor", lambda head: bool(_META.match(head)), _read, "messages")


def write_gor(requests: Iterable[Capture], out: BinaryIO) -> None:
    """Write requests, each with its response's status if the log has one, as GoReplay does."""
    for number, one in enumerate(requests):
        key = blake2b(f"{number} {one.start}".encode(), digest_size=12).hexdigest().encode()
        out.write(b"1 %s %d 0\n" % (key, one.start * 1000) + message(one) + _SEPARATOR)
        if one.rc:
            taken = round((one.latency + one.xfertime) * 1e9)
            head = b"HTTP/1.1 %03d -\r\nContent-Length: 0\r\n\r\n" % one.rc
            out.write(b"2 %s %d %d\n" % (key, one.start * 1000 + taken, taken) + head + _SEPARATOR)
