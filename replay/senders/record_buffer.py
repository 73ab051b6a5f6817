"""Collects the ends of exchanges as packed integers: nothing else is done in the loop."""

import struct
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logreplay.replay.senders.contract import FIELDS, RECORD

_PACK: Final = struct.Struct(f"{len(FIELDS)}q").pack_into
_LENGTH: Final = RECORD.itemsize
_SIZE: Final = 16_384 * _LENGTH
"""Bytes of one piece of memory."""


class RecordBuffer:
    """Takes records one by one, gives them as an array.

    Attributes:
        tell: called with the number of each request that ended.
    """

    __slots__ = ("_at", "_before", "_buffer", "_full", "tell")

    def __init__(self) -> None:
        self.tell: Callable[[int], object] | None = None
        self._full: list[bytes] = []
        self._buffer, self._at, self._before = bytearray(_SIZE), 0, 0

    @property
    def count(self) -> int:
        """All records so far."""
        return self._before + self._at // _LENGTH

    def add(
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
        digest: int = 0,
    ) -> None:
        """Note the end of one exchange (see `logreplay.replay.senders.contract.Done`)."""
        at = self._at
        _PACK(self._buffer, at, seq, start, queued, connect, latency, xfertime, size, status, error, connection, digest)
        self._at = at + _LENGTH
        if self._at == _SIZE:
            self._set_aside()
        if self.tell is not None:
            self.tell(seq)

    def take(self) -> NDArray[np.void]:
        """The records since the last call, ``(n,)`` of `logreplay.replay.senders.contract.RECORD`."""
        if self._at:
            self._set_aside()
        pieces, self._full = self._full, []
        return np.frombuffer(b"".join(pieces), RECORD)

    def _set_aside(self) -> None:
        self._full.append(bytes(memoryview(self._buffer)[: self._at]))
        self._before += self._at // _LENGTH
        self._at = 0
