"""Collects the ends of exchanges as packed integers: nothing else is done in the loop."""

import struct
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logreplay.replay.senders.contract import FIELDS, RECORD

_PACK: Final = struct.Struct(f"{len(FIELDS)}q").pack_into
_LENGTH: Final = RECORD.itemsize
_RECORDS: Final = 16_384
"""Records of one piece of memory."""


class RecordBuffer:
    """Takes records one by one, gives them as an array.

    Attributes:
        count: of all records so far.
    """

    def __init__(self) -> None:
        self.count = 0
        self._full: list[bytes] = []
        self._buffer, self._at = bytearray(_RECORDS * _LENGTH), 0

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
        times = start, queued, connect, latency, xfertime
        _PACK(self._buffer, self._at, seq, *times, size, status, error, connection, digest)
        self._at += _LENGTH
        self.count += 1
        if self._at == _RECORDS * _LENGTH:
            self._set_aside()

    def take(self) -> NDArray[np.void]:
        """The records since the last call, ``(n,)`` of `logreplay.replay.senders.contract.RECORD`."""
        if self._at:
            self._set_aside()
        pieces, self._full = self._full, []
        return np.frombuffer(b"".join(pieces), RECORD)

    def _set_aside(self) -> None:
        self._full.append(bytes(memoryview(self._buffer)[: self._at]))
        self._at = 0
