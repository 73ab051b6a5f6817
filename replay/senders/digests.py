"""Digests of answers: a fast hash of each decoded body and of chosen headers; whole answers for those who compare them.

Theory of operation. A connection gives each piece of a body to a `BodyReader`, and at the end of a response its head
and the reader to `Digests.take`, directly before it reports the end of the exchange. That report passes through
`Digests`, which adds the digest to it. A body in one piece, not compressed, is hashed where it lies: nothing is copied.

The digest is an integer of 64 bits: 40 of the body, 24 of the headers. Two different bodies have equal digests once in
10^12 comparisons. A body is hashed as it is decoded, in pieces: a body of any length needs little memory. A body that
cannot be decoded, or grows more than `MOST_GROWTH` times, is hashed as it was sent.
"""

import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, Protocol, cast

import brotli
import numpy as np
import polars as pl
import xxhash
import zstandard
from numpy.typing import NDArray

from logreplay.parsers.record import ERRORS
from logreplay.replay.senders.contract import FIRST_LOGIN, Done

CHOSEN: Final = (b"cache-control", b"content-disposition", b"content-language", b"content-type", b"location")
"""Headers that are part of the digest, in the order of their hash."""
HEADER_BITS: Final = 24
LONGEST_KEPT: Final = 1 << 20
"""Bytes of a decoded body that is kept; of a longer one only the digest is known."""
MOST_GROWTH: Final = 300
"""Decoded bytes for each byte that was sent, beyond `_PIECE`; more is taken for an attack."""
MOST_KNOWN: Final = 1024
"""Heads that are recognised by their bytes; with one more all are forgotten."""
MOST_MEMBERS: Final = 1000
"""Members of gzip in one body; more are taken for an attack."""
_LONGEST_KNOWN: Final = 2048
"""Bytes of a head that is kept to be recognised."""
_PIECE: Final = 1 << 20
_SLICE: Final = 1 << 14
"""Bytes that zlib is given at once: it copies what it leaves."""
_CODING: Final = b"content-encoding"
_READ: Final = (*CHOSEN, _CODING)
_LINES: Final = tuple((b"\r\n" + name + b":", name) for name in _READ)
_OF_HEADERS: Final = (1 << HEADER_BITS) - 1
_OF_BODY: Final = ~_OF_HEADERS
_HALF: Final = 1 << 63
_WORDS: Final = ("", *ERRORS)
_DIGITS: Final = np.frombuffer(b"0123456789abcdef", np.uint8)
_hash: Final = xxhash.xxh3_64_intdigest

Head = bytes | tuple[tuple[bytes, bytes], ...]
"""The head of a response: as it was received by HTTP/1.1, or its names and values."""


class ReceivedAnswer(NamedTuple):
    """An answer for those who compare it.

    Attributes:
        status: 0: none came.
        head: of the response; empty: none came.
        body: decoded; None: not kept.
        size: bytes of the decoded body.
        digest: of the decoded body, 40 bits.
        error: word of the result log; empty: success.
    """

    status: int
    head: Head
    body: bytes | None
    size: int
    digest: int
    error: str


class Listener(Protocol):
    """Takes the answers of a sender."""

    def hold(self, size: int) -> bool:
        """Reserve room for bytes of a body; False: there is none."""

    def free(self, size: int) -> None:
        """Give up room that was reserved."""

    def answered(self, seq: int, answer: ReceivedAnswer, /) -> None:
        """Take an answer, or the failure of a request. The room for its body stays reserved."""


class Digests:
    """Adds digests to the records of one sender.

    Args:
        listener: takes the answers; None: only digests are wanted.
    """

    def __init__(self, listener: Listener | None = None) -> None:
        self._listener = listener
        self._known: dict[Head, tuple[bytes, int]] = {}
        self._taken: tuple[Head, bytes | BodyReader] | None = None

    def before(self, done: Done) -> Done:
        """What a sender reports to, instead of ``done``."""
        self._done = done
        return self._ended

    def reader(self, first: bytes = b"") -> "BodyReader":
        """A reader for one body, of which the first piece is there."""
        return BodyReader(self._listener, first)

    def take(self, head: Head, body: "bytes | BodyReader") -> None:
        """Note a whole response; its exchange is reported next.

        Args:
            head: of the response.
            body: as it was sent, if it came in one piece; otherwise its reader.
        """
        self._taken = head, body

    def _ended(
        self,
        seq: int,
        start: int,
        queued: int,
        connect: int,
        latency: int,
        xfertime: int,
        size: int,
        status: int,
        error: int,
        connection: int = 0,
        _: int = 0,
        /,
    ) -> None:
        taken, digest, listener = self._taken, 0, self._listener
        self._taken = None
        if taken is not None and not error:
            head, body = taken
            if (known := self._known.get(head)) is None:
                known = self._remember(head)
            coding, headers = known
            if listener is None and not coding and type(body) is bytes:
                hashed = _hash(body)
            else:
                reader = self.reader(body) if isinstance(body, bytes) else body
                hashed, decoded, length = reader.end(coding)
                if listener and seq < FIRST_LOGIN:
                    listener.answered(seq, ReceivedAnswer(status, head, decoded, length, hashed >> HEADER_BITS, ""))
                elif listener:
                    listener.free(len(decoded or b""))
            digest = ((hashed & _OF_BODY | headers & _OF_HEADERS) - _HALF) or 1
        else:
            if taken is not None and isinstance(taken[1], BodyReader):
                taken[1].drop()
            if listener and seq < FIRST_LOGIN:
                listener.answered(seq, ReceivedAnswer(status, b"", None, 0, 0, _WORDS[error]))
        self._done(seq, start, queued, connect, latency, xfertime, size, status, error, connection, digest)

    def _remember(self, head: Head) -> tuple[bytes, int]:
        """Read a head; the same one often comes again within a second, while its date is the same."""
        read = read_head(head)
        size = len(head) if isinstance(head, bytes) else sum(len(name) + len(value) for name, value in head)
        if size <= _LONGEST_KNOWN:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[head] = read
        return read


class BodyReader:
    """Reads one body as it arrives.

    Args:
        listener: keeps bodies; None: only the digest is wanted.
        first: first piece; empty: none yet.
    """

    __slots__ = ("_coded", "_decoder", "_first", "_hash", "_kept", "_listener", "_received", "_size")

    def __init__(self, listener: Listener | None, first: bytes = b"") -> None:
        self._listener, self._first = listener, first
        self._hash: Any = None
        self._coded: Any = None
        self._decoder: _Decoder | None = None
        self._kept: list[bytes] | None = None if listener is None else []
        self._size = self._received = 0

    def feed(self, data: bytes, head: Callable[[], Head]) -> None:
        """Take the next piece.

        Args:
            data: as it was received, without the framing of the transfer.
            head: returns the head of the response, from the second piece on.
        """
        if self._hash is None:
            if not self._first:
                self._first = data
                return
            self._start(read_head(head())[0])
        self._take(data)

    def end(self, coding: bytes) -> tuple[int, bytes | None, int]:
        """Return hash, body (None: not kept) and size of the body, decoded. The response is whole."""
        if self._hash is None:
            first = self._first
            if not coding or not first:
                return _hash(first), self._keep_all(first), len(first)
            self._start(coding)
        if self._decoder:
            self._attempt(self._decoder.end)
        if self._coded is not None and self._decoder is None:  # not decodable: the bytes as they were sent
            return self._coded.intdigest(), None, self._received
        return self._hash.intdigest(), None if self._kept is None else b"".join(self._kept), self._size

    def drop(self) -> None:
        """Free the kept bytes: the exchange failed."""
        if self._kept and self._listener:
            self._listener.free(sum(map(len, self._kept)))
        self._kept = None

    def _keep_all(self, data: bytes) -> bytes | None:
        listener = self._listener
        if listener is None or len(data) > LONGEST_KEPT or not listener.hold(len(data)):
            return None
        return data

    def _start(self, coding: bytes) -> None:
        self._hash = xxhash.xxh3_64()
        if coding:
            self._coded = xxhash.xxh3_64()
            self._decoder = _decoder(coding)
        self._take(self._first)
        self._first = b""

    def _take(self, data: bytes) -> None:
        if self._coded is None:
            self._decoded(data)
            return
        self._received += len(data)
        self._coded.update(data)
        if self._decoder:
            decoder = self._decoder
            self._attempt(lambda: decoder.feed(data, self._decoded))

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
            if self._size > LONGEST_KEPT or not listener.hold(len(data)):
                self.drop()
            else:
                kept.append(data)


def digest_texts(digests: NDArray[np.int64]) -> pl.Series:
    """Digests of records as ``0123456789-abcdef``: body, headers; null where there is none."""
    if not digests.any():
        return pl.Series(values=[None] * len(digests), dtype=pl.String)
    octets = (np.ascontiguousarray(digests).view(np.uint64) ^ np.uint64(_HALF)).astype(">u8").view(np.uint8)
    digits = _DIGITS[np.stack([octets >> 4, octets & 15], axis=1).reshape(len(digests), 16)]
    cut = 16 - HEADER_BITS // 4
    lines = np.full((len(digests), 18), ord("\n"), np.uint8)
    lines[:, :cut], lines[:, cut], lines[:, cut + 1 : 17] = digits[:, :cut], ord("-"), digits[:, cut:]
    texts = pl.Series([lines.tobytes().decode().rstrip("\n")]).str.split("\n").explode()
    if digests.all():
        return texts
    return pl.DataFrame({"text": texts, "is": digests != 0}).select(pl.when("is").then("text")).to_series()


def read_head(head: Head) -> tuple[bytes, int]:
    """Return the content coding of a response (in lower case; empty: none), and the hash of the headers `CHOSEN`."""
    found = _values(head) if isinstance(head, bytes) else _values_of_pairs(head)
    coding = found.pop(_CODING, b"").lower()
    return b"" if coding == b"identity" else coding, _hash(b"\n".join([name + value for name, value in found.items()]))


def _values(head: bytes) -> dict[bytes, bytes]:
    """The first value of each header that is read, in the order of `_READ`."""
    lower, found = head.lower(), {}
    for line, name in _LINES:
        at = lower.find(line)
        if at >= 0:
            start = at + len(line)
            found[name] = head[start : head.find(b"\r", start)].strip()
    return found


def _values_of_pairs(head: tuple[tuple[bytes, bytes], ...]) -> dict[bytes, bytes]:
    found = {name.lower(): value.strip() for name, value in reversed(head)}
    return {name: found[name] for name in _READ if name in found}


def pairs_of(head: Head) -> Sequence[tuple[bytes, bytes]]:
    """The names and values of a head."""
    if not isinstance(head, bytes):
        return head
    lines = (line.partition(b":") for line in head.split(b"\r\n")[1:])
    return [(name, value.strip()) for name, colon, value in lines if colon]


def head_of(data: bytes) -> bytes:
    """The head at the beginning of received bytes, interim answers left out."""
    while data.startswith(b"HTTP/1.1 1"):
        data = data[data.index(b"\r\n\r\n") + 4 :]
    return data[: data.find(b"\r\n\r\n") + 2]


def decoded_beginning(body: bytes, head: Sequence[tuple[bytes, bytes]], most: int) -> bytes:
    """The beginning of a body without its content coding, as far as it can be decoded.

    Args:
        body: as it was received, or the beginning of that.
        head: names and values of its headers.
        most: bytes that are wanted.
    """
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
    """As much is decoded as was wanted."""


class _UndecodableError(Exception):
    """A body that is not what its coding says, or too large for it."""


_DAMAGED: Final = (zlib.error, zstandard.ZstdError, brotli.error, _UndecodableError)


class _Decoder(Protocol):
    def feed(self, data: bytes, out: Callable[[bytes], None]) -> None:
        """Decode a piece; pass what it holds to ``out``, in pieces."""

    def end(self) -> None:
        """The body is whole."""


class _ZlibDecoder:
    def __init__(self, bits: int) -> None:
        self._bits, self._members = bits, 1
        self._stream = zlib.decompressobj(bits)

    def feed(self, data: bytes, out: Callable[[bytes], None]) -> None:
        for at in range(0, len(data), _SLICE):
            self._feed(data[at : at + _SLICE], out)

    def _feed(self, data: bytes, out: Callable[[bytes], None]) -> None:
        while data:
            if self._stream.eof:  # members of gzip may follow each other; each copies the data behind it
                self._members += 1
                if self._members > MOST_MEMBERS:
                    raise _UndecodableError
                self._stream = zlib.decompressobj(self._bits)
            out(self._stream.decompress(data, _PIECE))
            data = self._stream.unconsumed_tail or self._stream.unused_data

    def end(self) -> None:
        if not self._stream.eof:
            raise _UndecodableError


class _DeflateDecoder:
    """Some servers send deflate without the header of zlib (RFC 1950, 2.2); two bytes tell."""

    def __init__(self) -> None:
        self._start, self._zlib = b"", _ZlibDecoder(zlib.MAX_WBITS)

    def feed(self, data: bytes, out: Callable[[bytes], None]) -> None:
        if len(self._start) < 2:
            data = self._start + data
            self._start = data[:2]
            if len(data) < 2:
                return
            if data[0] & 15 != 8 or int.from_bytes(data[:2]) % 31:
                self._zlib = _ZlibDecoder(-zlib.MAX_WBITS)
        self._zlib.feed(data, out)

    def end(self) -> None:
        self._zlib.end()


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


class _ZstdDecoder:
    def __init__(self) -> None:
        self._out: Callable[[bytes], None] | None = None
        self._stream = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_writer(
            cast(Any, self), write_size=_PIECE
        )

    def write(self, data: bytes) -> int:
        """Called with decoded pieces."""
        assert self._out
        self._out(bytes(data))
        return len(data)

    def feed(self, data: bytes, out: Callable[[bytes], None]) -> None:
        self._out = out
        self._stream.write(data)

    def end(self) -> None:
        """Whether the last frame is whole is not known."""


_DECODERS: Final[dict[bytes, Callable[[], _Decoder]]] = {
    b"gzip": lambda: _ZlibDecoder(16 + zlib.MAX_WBITS),
    b"x-gzip": lambda: _ZlibDecoder(16 + zlib.MAX_WBITS),
    b"deflate": _DeflateDecoder,
    b"br": _BrotliDecoder,
    b"zstd": _ZstdDecoder,
}


def _decoder(coding: bytes) -> _Decoder | None:
    make = _DECODERS.get(coding)
    return make() if make else None
