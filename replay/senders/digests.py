"""Digests of answers: a fast hash of each decoded body and of chosen headers; whole answers for those who compare them.

Theory of operation. At the end of a response its head and body go to `Digests.of`, which returns the digest for the
report of the exchange. A body in one piece, not compressed, is hashed where it lies: nothing is copied. Pieces of
others go to a `BodyReader`. A head like the one before is recognised by its bytes, and of others the few headers that
are read: then a digest costs little more than the hash of the body.

The digest is an integer of 64 bits: 40 of the body, 24 of the headers. Two different bodies have equal digests once in
10^12 comparisons. A body is hashed as it is decoded, in pieces: a body of any length needs little memory. A body that
cannot be decoded, or grows more than `MOST_GROWTH` times, is hashed as it was sent.
"""

import re
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple

import brotli
import numpy as np
import polars as pl
import xxhash
from numpy.typing import NDArray

from logreplay.core.zstd import zstd
from logreplay.replay.senders.contract import FIELDS, FIRST_LOGIN, Done
from logreplay.replay.sessions.server_timing import ServerTimings

CHOSEN: Final = (b"cache-control", b"content-disposition", b"content-language", b"content-type", b"location")
"""Headers that are part of the digest, in the order of their hash."""
HEADER_BITS: Final = 24
LONGEST_KEPT: Final = 1 << 20
"""Bytes of a decoded body that is kept; of a longer one only the digest is known."""
MOST_GROWTH: Final = 300
"""Decoded bytes for each byte that was sent, beyond `_PIECE`; more is taken for an attack."""
MOST_KNOWN: Final = 1024
"""Combinations of headers that are recognised; with one more all are forgotten."""
MOST_MEMBERS: Final = 1000
"""Members of gzip, or frames of zstd, in one body; more are taken for an attack."""
BATCH: Final = 32
"""Answers handed over at once, which takes a third of the time of single ones."""
_LONGEST_KNOWN: Final = 2048
"""Bytes of such a combination."""
_PIECE: Final = 1 << 20
_SLICE: Final = 1 << 14
"""Bytes passed to zlib or zstd in one call; they copy those that they do not use."""
_ZSTD: Final[dict[int, int]] = {zstd.DecompressionParameter.window_log_max: 27}
"""Frames that need a window of more than 128 MB are taken for an attack."""
_CODING: Final = b"content-encoding"
_READ: Final = frozenset({*CHOSEN, _CODING})
_FIND_READ: Final = re.compile(
    rb"\r\n([Cc](?i:ache-control|ontent-(?:disposition|encoding|language|type))|[Ll](?i:ocation)):([^\r]*)"
).findall
"""Finds the headers of `_READ`."""
_OF_HEADERS: Final = (1 << HEADER_BITS) - 1
_OF_BODY: Final = (1 << 64) - 1 - _OF_HEADERS
_HALF: Final = 1 << 63
_STATUS: Final = FIELDS.index("status")
_ERROR: Final = FIELDS.index("error")
_END: Final = b"\r\n\r\n"
"""The end of a head."""
_NOTHING: Final = b"\0"
"""No response begins with it; with a blank line some do."""
_DIGITS: Final = np.frombuffer(bytes(range(256)).hex().encode(), np.uint16)
"""Both digits of each octet."""
_hash: Final = xxhash.xxh3_64_intdigest

Head = bytes | tuple[tuple[bytes, bytes], ...]
"""The head of a response: as it was received by HTTP/1.1, or its names and values."""


class ReceivedAnswer(NamedTuple):
    """An answer for those who compare it.

    Attributes:
        status: 0: none came.
        head: head of the response; empty: no response came.
        body: decoded; None: not kept.
        size: bytes of the decoded body.
        digest: digest of the decoded body, 40 bits.
        error: word of the result log; empty: success.
    """

    status: int
    head: Head
    body: bytes | None
    size: int
    digest: int
    error: str


HeardResponse = tuple[int, bytes | None, tuple[int, int, int, int, Head]]
"""Number of a request; body; status, size, digest, error and head of the answer: the fields that are compared, in a
tuple. They are those of `ReceivedAnswer`, but the error is its number in a record."""


class ByteBudget:
    """Bytes of bodies that may be held at once.

    Attributes:
        most: largest number of bytes.
        held, freed: bytes that were taken by the loop, and given back by another thread.
    """

    __slots__ = ("freed", "held", "most")

    def __init__(self, most: int) -> None:
        self.most, self.held, self.freed = most, 0, 0

    def hold(self, size: int) -> bool:
        """Take room, in the loop; False: there is none."""
        if self.held - self.freed + size > self.most:
            return False
        self.held += size
        return True

    def free(self, size: int) -> None:
        """Give room back, in the loop."""
        self.held -= size


class ResponseObserver:
    """Holds the answers of one sender until there are `BATCH`.

    Attributes:
        room: for their bodies.
        heard: answers and failures.
    """

    __slots__ = ("hand_over", "heard", "room")

    def __init__(self, room: ByteBudget, hand_over: Callable[[], object]) -> None:
        self.room, self.hand_over = room, hand_over
        self.heard: list[HeardResponse] = []

    def take(self, answer: HeardResponse) -> None:
        """Take an answer, for whose body room is held."""
        self.heard.append(answer)
        if len(self.heard) >= BATCH:
            self.hand_over()


class Digests:
    """Makes the digests of the responses of one sender.

    Attributes:
        timings: kept headers Server-Timing; None: none are wanted.
    """

    timings: ServerTimings | None = None

    def __init__(self, listener: ResponseObserver | None = None) -> None:
        self._listener = listener
        self._known: dict[tuple[tuple[bytes, bytes], ...], tuple[bytes, int]] = {}
        self._recent = _NOTHING
        self._last: Head | None = None
        self._last_read = b"", 0

    def failures_to(self, done: Done) -> Done:
        """Return a callback that reports failed requests to the listener, then calls ``done``."""
        listener = self._listener
        if listener is None:
            return done

        def failed(*record: int) -> None:
            if record[0] < FIRST_LOGIN:
                listener.take((record[0], None, (record[_STATUS], 0, 0, record[_ERROR], b"")))
            done(*record)

        return failed

    def head_of(self, data: bytes) -> bytes:
        """The head at the beginning of received bytes; the most recent one is recognised, and not copied again."""
        if data.startswith(self._recent):
            return self._recent
        head = head_of(data)
        if head.endswith(_END):
            self._recent = head
        return head

    def add(self, read: "Read", data: bytes, head: Callable[[], Head | None]) -> "Read":
        """Add a piece to the read part of a body, and return that.

        ``head`` returns the head of the response; None if it arrived with these pieces, which are few.
        """
        if isinstance(read, BodyReader):
            read.feed(data)
            return read
        if not read:
            return data
        if (known := head()) is None:
            read = read if isinstance(read, bytearray) else bytearray(read)
            read += data
            return read
        reader = BodyReader(self._listener, read_head(known)[0])
        reader.feed(bytes(read))
        reader.feed(data)
        return reader

    def of(self, seq: int, status: int, head: Head, body: "Read") -> int:
        """Return the digest of a whole response, and tell the listener of it.

        The body is as `add` returned it; a single piece as it was received.
        """
        listener = self._listener
        if head == self._last:
            head = self._last  # this one is kept, not a copy for each answer
        else:
            self._last, self._last_read = head, self._read(head)
        coding, headers = self._last_read
        if type(body) is bytes and not (coding and body):
            hashed = _hash(body)
            if listener and seq < FIRST_LOGIN:
                size, room = len(body), listener.room
                held = room.held + size
                if size <= LONGEST_KEPT and held - room.freed <= room.most:
                    room.held = held  # as `hold` and `take`, in half the time
                    listener.heard.append((seq, body, (status, size, hashed >> HEADER_BITS, 0, head)))
                    if len(listener.heard) >= BATCH:
                        listener.hand_over()
                else:
                    listener.take((seq, None, (status, size, hashed >> HEADER_BITS, 0, head)))
            return (hashed & _OF_BODY) + headers or 1
        if not isinstance(body, BodyReader):
            whole, body = bytes(body), BodyReader(listener, coding)
            body.feed(whole)
        hashed, kept, size = body.end()
        if listener and seq < FIRST_LOGIN:
            listener.take((seq, kept, (status, size, hashed >> HEADER_BITS, 0, head)))
        elif listener and kept:
            listener.room.free(len(kept))
        return (hashed & _OF_BODY) + headers or 1

    def _read(self, head: Head) -> tuple[bytes, int]:
        """Content coding and hash of the chosen headers, as it is added to the digest."""
        fields = _fields(head)
        if (read := self._known.get(fields)) is None:
            coding, hashed = _coding_and_hash(fields)
            read = coding, (hashed & _OF_HEADERS) - _HALF
            if sum(len(name) + len(value) for name, value in fields) <= _LONGEST_KNOWN:
                if len(self._known) >= MOST_KNOWN:
                    self._known.clear()
                self._known[fields] = read
        return read


class HeadReader(Digests):
    """Keeps the header Server-Timing of the responses of one sender, and makes digests where they are wanted."""

    def __init__(self, timings: ServerTimings, listener: ResponseObserver | None, *, digests: bool) -> None:
        super().__init__(listener)
        self.timings, self._keep, self._wanted = timings, timings.keep, digests

    def add(self, read: "Read", data: bytes, head: Callable[[], Head | None]) -> "Read":
        return super().add(read, data, head) if self._wanted else b""

    def of(self, seq: int, status: int, head: Head, body: "Read") -> int:
        if seq < FIRST_LOGIN:
            self._keep(seq, head)
        return super().of(seq, status, head, body) if self._wanted else 0


class BodyReader:
    """Reads one body as it arrives, without its coding; keeps it for a listener, if there is one."""

    __slots__ = ("_coded", "_decoder", "_hash", "_kept", "_listener", "_received", "_size")

    def __init__(self, listener: ResponseObserver | None, coding: bytes) -> None:
        self._listener = listener
        self._hash = xxhash.xxh3_64()
        self._coded = xxhash.xxh3_64() if coding else None
        self._decoder = _decoder(coding)
        self._kept: list[bytes] | None = None if listener is None else []
        self._size = self._received = 0

    def feed(self, data: bytes) -> None:
        """Take the next piece, without the framing of the transfer."""
        if self._coded is None:
            self._decoded(data)
            return
        self._received += len(data)
        self._coded.update(data)
        if self._decoder:
            decoder = self._decoder
            self._attempt(lambda: decoder.feed(data, self._decoded))

    def end(self) -> tuple[int, bytes | None, int]:
        """Return hash, body (None: not kept) and size of the body, decoded. The response is whole."""
        if self._decoder:
            self._attempt(self._decoder.end)
        if self._coded is not None and self._decoder is None:  # not decodable: the bytes as they were sent
            return self._coded.intdigest(), None, self._received
        return self._hash.intdigest(), None if self._kept is None else b"".join(self._kept), self._size

    def drop(self) -> None:
        """Free the kept bytes: the exchange failed."""
        if self._kept and self._listener:
            self._listener.room.free(sum(map(len, self._kept)))
        self._kept = None

    def _attempt(self, decode: Callable[[], None]) -> None:
        try:
            decode()
        except _DAMAGED:
            self._decoder = None
            self.drop()

    def _decoded(self, data: bytes) -> None:
        self._hash.update(data)
        self._size += len(data)
        if self._coded is not None and self._size > _PIECE + MOST_GROWTH * self._received:
            raise _UndecodableError
        kept, listener = self._kept, self._listener
        if kept is not None and listener is not None:
            if self._size > LONGEST_KEPT or not listener.room.hold(len(data)):
                self.drop()
            else:
                kept.append(data)


Read = bytes | bytearray | BodyReader
"""The read part of a body: its only piece, pieces that came with the head, or their reader."""


def digest_texts(digests: NDArray[np.int64]) -> pl.Series:
    """Digests of records as ``0123456789-abcdef``: body, headers; null where there is none."""
    if not digests.any():
        return pl.Series(values=[None] * len(digests), dtype=pl.String)
    octets = (np.ascontiguousarray(digests).view(np.uint64) ^ np.uint64(_HALF)).astype(">u8").view(np.uint8)
    digits = _DIGITS[octets].view(np.uint8).reshape(len(digests), 16)
    cut = 16 - HEADER_BITS // 4
    lines = np.full((len(digests), 18), ord("\n"), np.uint8)
    lines[:, :cut], lines[:, cut], lines[:, cut + 1 : 17] = digits[:, :cut], ord("-"), digits[:, cut:]
    texts: list[str | None] = [*lines.tobytes().decode().splitlines()]
    for at in np.flatnonzero(digests == 0).tolist():
        texts[at] = None
    return pl.Series(texts, dtype=pl.String)


def read_head(head: Head) -> tuple[bytes, int]:
    """Return the content coding of a response (in lower case; empty: none), and the hash of the headers `CHOSEN`."""
    return _coding_and_hash(_fields(head))


def _fields(head: Head) -> tuple[tuple[bytes, bytes], ...]:
    """The headers that are read, as they were received."""
    if isinstance(head, bytes):
        return (*_FIND_READ(head),)
    return tuple([pair for pair in head if pair[0].lower() in _READ])


def _coding_and_hash(fields: tuple[tuple[bytes, bytes], ...]) -> tuple[bytes, int]:
    found = {name.lower(): value.strip() for name, value in reversed(fields)}
    coding = found.get(_CODING, b"").lower()
    chosen = b"\n".join([name + found[name] for name in CHOSEN if name in found])
    return b"" if coding == b"identity" else coding, _hash(chosen)


def pairs_of(head: Head) -> Sequence[tuple[bytes, bytes]]:
    """The names and values of a head."""
    if not isinstance(head, bytes):
        return head
    lines = (line.partition(b":") for line in head.split(b"\r\n")[1:])
    return [(name, value.strip()) for name, colon, value in lines if colon]


def head_of(data: bytes) -> bytes:
    """The head at the beginning of received bytes with its blank line, interim answers left out."""
    while data.startswith(b"HTTP/1.1 1"):
        data = data[data.index(_END) + 4 :].lstrip(b"\r\n")
    return data[: data.find(_END) + 4]


def decoded_beginning(body: bytes, head: Sequence[tuple[bytes, bytes]], most: int) -> bytes:
    """The beginning of a body without its content coding, as far as it can be decoded; ``most`` bytes suffice."""
    coding = next((value.strip().lower() for name, value in head if name.lower() == _CODING), b"identity")
    if coding == b"identity" or (decoder := _decoder(coding)) is None:
        return body
    found = bytearray()

    def take(piece: bytes) -> None:
        found.extend(piece)
        if len(found) >= most:
            raise _EnoughError

    with suppress(_EnoughError, *_DAMAGED):
        decoder.feed(body, take)
    return bytes(found[:most])


class _EnoughError(Exception):
    """Raised when as many bytes are decoded as were wanted."""


class _UndecodableError(Exception):
    """A body that is not what its coding says, or too large for it."""


_DAMAGED: Final = (zlib.error, zstd.ZstdError, brotli.error, _UndecodableError)


class _ZlibDecoder:
    def __init__(self, bits: int = zlib.MAX_WBITS) -> None:
        self._begin_with(partial(zlib.decompressobj, bits))

    def _begin_with(self, begin: Callable[[], Any]) -> None:
        self._begin, self._stream, self._members = begin, begin(), 1

    def feed(self, data: bytes, out: Callable[[bytes], None]) -> None:
        """Decode a piece; pass the decoded bytes to ``out``, in pieces."""
        for at in range(0, len(data), _SLICE):
            self._feed(data[at : at + _SLICE], out)

    def _feed(self, data: bytes, out: Callable[[bytes], None]) -> None:
        while data:
            self._go_on()
            out(self._stream.decompress(data, _PIECE))
            data = self._stream.unconsumed_tail or self._stream.unused_data

    def _go_on(self) -> None:
        """Begin the next member of gzip or frame of zstd, if one has ended; each copies the data behind it."""
        if self._stream.eof:
            self._members += 1
            if self._members > MOST_MEMBERS:
                raise _UndecodableError
            self._stream = self._begin()

    def end(self) -> None:
        """The body is whole."""
        if not self._stream.eof:
            raise _UndecodableError


class _DeflateDecoder(_ZlibDecoder):
    """Some servers send deflate without the header of zlib (RFC 1950, 2.2); two bytes tell."""

    _start = b""

    def feed(self, data: bytes, out: Callable[[bytes], None]) -> None:
        if len(self._start) < 2:
            data = self._start + data
            self._start = data[:2]
            if len(data) < 2:
                return
            if data[0] & 15 != 8 or int.from_bytes(data[:2]) % 31:
                self._begin_with(partial(zlib.decompressobj, -zlib.MAX_WBITS))
        super().feed(data, out)


class _ZstdDecoder(_ZlibDecoder):
    def __init__(self) -> None:
        self._begin_with(partial(zstd.ZstdDecompressor, options=_ZSTD))

    def _feed(self, data: bytes, out: Callable[[bytes], None]) -> None:
        while data or not (self._stream.needs_input or self._stream.eof):
            self._go_on()
            out(self._stream.decompress(data, _PIECE))
            data = self._stream.unused_data

    def end(self) -> None:
        """A server that flushes its data may leave the last frame open."""


class _BrotliDecoder:
    def __init__(self) -> None:
        self._stream: Any = brotli.Decompressor()

    def feed(self, data: bytes, out: Callable[[bytes], None]) -> None:
        out(self._stream.process(data, output_buffer_limit=_PIECE))
        while not self._stream.can_accept_more_data():
            out(self._stream.process(b"", output_buffer_limit=_PIECE))

    def end(self) -> None:
        if not self._stream.is_finished():
            raise _UndecodableError


_Decoder = _ZlibDecoder | _BrotliDecoder
_DECODERS: Final[dict[bytes, Callable[[], _Decoder]]] = {
    b"gzip": partial(_ZlibDecoder, 16 + zlib.MAX_WBITS),
    b"x-gzip": partial(_ZlibDecoder, 16 + zlib.MAX_WBITS),
    b"deflate": _DeflateDecoder,
    b"br": _BrotliDecoder,
    b"zstd": _ZstdDecoder,
}


def _decoder(coding: bytes) -> _Decoder | None:
    make = _DECODERS.get(coding)
    return make() if make else None
