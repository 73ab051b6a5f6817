"""Header blocks (RFC 7541): encodes those of requests, decodes those of responses.

Theory of operation. Requests use the static table and literals only, so each block is a constant that can be
rendered ahead of time and sent on any connection. Responses: the client offers a dynamic table of size 0. As long as
the table is empty no block depends on an earlier one, and equal bytes mean equal headers: a block is decoded by the
`hpack` package once and recognised by its bytes afterwards. A peer that fills the table all the same is understood,
more slowly.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from hpack import Decoder, HPACKError
from hpack.table import HeaderTable

MAX_HEAD: Final = 1 << 18
"""Bytes of a response's header block, coded or decoded, as in Chromium; more is an error of the connection.

Decoding takes a time that grows with the square of the length, and holds up all other requests: at 1 MB for seconds.
"""
MOST_KNOWN: Final = 4096
"""Blocks that are recognised by their bytes; with one more all are forgotten."""
_LONGEST_KNOWN: Final = 4096
_MOST_FIELDS: Final = 100
"""Bytes and fields of a block that is worth recognising. One byte may stand for a field."""
_TOO_MANY_RESIZES: Final = re.compile(rb"(?:[\x20-\x3e]|\x3f[\x80-\xff]*[\x00-\x7f]){3}")
"""More updates of the size of the dynamic table than a block may begin with (RFC 7541, 4.2)."""

_STATIC: Final = HeaderTable.STATIC_TABLE
_PAIRS: Final = {pair: number for number, pair in reversed([*enumerate(_STATIC, 1)])}
_NAMES: Final = {name: number for number, (name, _) in reversed([*enumerate(_STATIC, 1)])}
_SECRET: Final = frozenset({b"authorization", b"proxy-authorization", b"cookie"})
NO_TABLE: Final = b"\x20"
"""The first byte of a block which says that the encoder uses no dynamic table (RFC 7541, 6.3)."""
USUAL_TABLE: Final = 4096
"""Bytes of the dynamic table of an encoder that has said nothing."""
INDEXED: Final = 0x80
"""Set in the first byte of a field that is in the static table as a whole, such as ``:method: GET``."""
_PLAIN: Final = 0x00
_NEVER_INDEXED: Final = 0x10

WITHOUT_BODY: Final = (204, 304)
"""Statuses of responses without a body, whatever length they announce."""
ANY: Final = -1
NONE: Final = -2

_NAME: Final = re.compile(rb"[\x21-\x39\x3b-\x40\x5b-\x7e]+")
"""Octets of a field name (RFC 9113, 8.2.1)."""
_BAD_VALUE: Final = re.compile(rb"[\x00\r\n]")
_OF_CONNECTION: Final = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"})


class BlockError(Exception):
    """A header block that cannot be decoded."""


def integer(value: int, prefix: int, pattern: int = 0) -> bytes:
    """An integer (RFC 7541, 5.1) that begins in the last ``prefix`` bits of a byte whose other bits are ``pattern``."""
    most = (1 << prefix) - 1
    if value < most:
        return bytes((pattern | value,))
    coded, value = [pattern | most], value - most
    while value >= 128:
        coded.append(value & 127 | 128)
        value >>= 7
    return bytes((*coded, value))


def text(value: bytes) -> bytes:
    """A string literal (RFC 7541, 5.2), without Huffman coding, which costs more time than its bytes."""
    return integer(len(value), 7) + value


def field(name: bytes, value: bytes) -> bytes:
    """A header with a name in lower case: its index in the static table, or a literal that enters no table."""
    if number := _PAIRS.get((name, value)):
        return integer(number, 7, INDEXED)
    kind = _NEVER_INDEXED if name in _SECRET else _PLAIN
    if number := _NAMES.get(name):
        return integer(number, 4, kind) + text(value)
    return bytes((kind,)) + text(name) + text(value)


def block(fields: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A whole header block."""
    return b"".join(field(name, value) for name, value in fields)


@dataclass(frozen=True, slots=True)
class ResponseFields:
    """A decoded block of a response.

    Attributes:
        status: 0 for trailers, which have none.
        length: announced bytes of the body; -1: not announced.
        headers: without the status.
        fault: why the block is malformed (RFC 9113, 8.1.1); empty if it is not.
        body: bytes of the body of a final response. `ANY`: not announced. `NONE`: not a final response, or malformed.
    """

    status: int
    length: int
    headers: tuple[tuple[bytes, bytes], ...]
    fault: str = ""
    body: int = NONE


class BlockReader:
    """Decodes the blocks of one connection; ``known`` are those that were decoded before, on this or another one."""

    def __init__(self, known: dict[bytes, ResponseFields]) -> None:
        self._known, self._none_offered = known, False
        self._decoder = Decoder(MAX_HEAD)
        self._table = self._decoder.header_table

    def known_now(self) -> dict[bytes, ResponseFields] | None:
        """The blocks that are recognised by their bytes; None while the dynamic table has entries."""
        return None if self._table.dynamic_entries else self._known

    def offer_no_table(self) -> None:
        """The peer has acknowledged that the dynamic table has no room."""
        self._none_offered = True

    def read(self, coded: bytes) -> ResponseFields:
        """Decode a block. Every block must be read, also of streams that nobody waits for.

        After a BlockError (it is not valid HPACK, or too large) the connection cannot be used any more.
        """
        empty = not self._table.dynamic_entries
        if empty and (found := self._known.get(coded)):
            return found
        resizes = coded[:1] > b"\x1f" and coded[:1] < b"\x40"
        if resizes and self._none_offered and coded[:1] != b"\x20":
            raise BlockError("a dynamic table that was not offered")
        check_block(coded)
        try:
            fields: Any = self._decoder.decode(coded, raw=True)
        except HPACKError as error:
            text, *_ = str(error).split(" from <memory")  # where the octets are in memory
            raise BlockError(text or type(error).__name__) from None
        read = checked([(bytes(name), bytes(value)) for name, value in fields])
        stateless = empty and not resizes and not self._table.dynamic_entries
        if stateless and len(coded) <= _LONGEST_KNOWN and len(fields) <= _MOST_FIELDS:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[coded] = read
        return read


def check_block(coded: bytes) -> None:
    """Raise BlockError for a block that would take long to decode."""
    if len(coded) > MAX_HEAD:
        raise BlockError(f"the header of the response is longer than {MAX_HEAD} bytes")
    if _TOO_MANY_RESIZES.match(coded):
        raise BlockError("more than two updates of the size of the dynamic table")


def checked(fields: Iterable[tuple[bytes, bytes]]) -> ResponseFields:
    """Check the fields of a response, or its trailers (RFC 9113, 8.2 and 8.3)."""
    status, length, fault = 0, -1, ""
    headers: list[tuple[bytes, bytes]] = []
    for name, value in fields:
        if name == b":status":
            if status or headers or not (len(value) == 3 and value.isdigit() and value >= b"100"):
                fault = fault or f"the field :status: {value[:20].decode('latin-1')!r} is invalid or misplaced"
            else:
                status = int(value)
            continue
        headers.append((name, value))
        fault = fault or _field_fault(name, value)
        if name == b"content-length" and not fault:
            if not (value.isdigit() and len(value) < 20) or length not in (-1, int(value)):
                fault = f"the content-length {value[:20].decode('latin-1')!r} is invalid or differs from another"
            else:
                length = int(value)
    body = NONE if status < 200 or fault else 0 if status in WITHOUT_BODY else length
    return ResponseFields(status, length, tuple(headers), fault, body)


def _field_fault(name: bytes, value: bytes) -> str:
    """Why a field makes a response malformed; empty if it does not."""
    shown = name[:40].decode("latin-1")
    if not _NAME.fullmatch(name):
        return f"the field name {shown!r} is invalid in HTTP/2"
    if name in _OF_CONNECTION:
        return f"the field {shown!r} is forbidden in HTTP/2"
    return f"the value of the field {shown!r} holds a control byte" if _BAD_VALUE.search(value) else ""
