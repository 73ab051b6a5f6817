"""Response times as an HdrHistogram interval log: one line a second, for the tools that read it.

Written here, all intervals at once: recording value by value takes microseconds each in Python, and the log writer of
the package hdrhistogram drops the tag, floors the maximum and cannot write a start time.

Source: the format of HdrHistogram (interval log 1.3; V2 encoding: ZigZag LEB128 counts, runs of zeros as one negative
number, zlib, base64) for a histogram of 1 µs to 1 h with 3 significant digits.
"""

import struct
import zlib
from base64 import b64encode
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from logreplay.analysis.input.arrays import RequestArrays, those
from logreplay.analysis.input.chunks import SECOND, by_second, changes
from logreplay.analysis.statistics.quantiles import Ints
from logreplay.parsers.files import whole

LOWEST: Final = 1
HIGHEST: Final = 3_600_000_000
DIGITS: Final = 3

_HALF: Final = 1024  # sub-buckets per power of two: 3 digits need 2048, of which the lower half is in the one below
_HALF_BITS: Final = 10
_PAYLOAD_COOKIE: Final = 0x1C849303 | 0x10
_COMPRESSED_COOKIE: Final = 0x1C849304 | 0x10
_VALUE_BITS: Final = 32
_EXPONENT_AT: Final = 52  # in the bits of a double; 1022 more than what frexp says
_SEVEN_BITS: Final = np.uint32(0x7F)

Micros32: TypeAlias = npt.NDArray[np.uint32]


def write_hlog(path: str | Path, requests: RequestArrays) -> None:
    """Write the response times of the requests answered as expected, by scheduled second, tagged with the step.

    Times of more than an hour count as one hour. How many requests failed, and so are in no histogram, is said in a
    comment. The column Interval_Max is in milliseconds.
    """
    failed = len(requests) - int(requests.good.sum())
    started = requests.started.timestamp() if requests.started else 0.0
    with whole(Path(path)) as fresh, fresh.open("wb") as file:
        file.write(
            "#[Histogram log format version 1.3]\n"
            f"#[StartTime: {started:.3f} (seconds since epoch), {requests.started or 'unknown'}]\n"
            f"#[{failed} requests failed and are in no histogram; values are microseconds]\n"
            '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'.encode()
        )
        for _, _, rows in by_second(requests):
            rows = those(rows, requests.good[rows])
            groups = requests.scheduled[rows] // SECOND * len(requests.labels) + requests.step[rows]
            _write_intervals(file, requests.labels, groups, np.clip(requests.response[rows], LOWEST, HIGHEST))


def _write_intervals(file: BinaryIO, labels: tuple[int, ...], groups: Ints, response: Micros32) -> None:
    """Write a line for each group (second x step) of values."""
    if not len(response):
        return
    keys = (groups << _VALUE_BITS) | response
    keys.sort()
    values, owner = keys.astype(np.uint32), keys >> _VALUE_BITS  # the value is in the lower bits
    index = counts_index(values)
    begins = np.flatnonzero(changes(owner))
    new = changes(index)
    new[begins] = True
    first = np.flatnonzero(new)
    counts = np.diff(first, append=len(keys)).astype(np.int32)
    payload, ends = _encoded(index[first], counts, np.searchsorted(first, begins))
    longest = values[np.append(begins[1:], len(keys)) - 1]
    start = 0
    for number, end, most in zip(owner[begins].tolist(), ends.tolist(), longest.tolist(), strict=True):
        second, step = divmod(number, len(labels))
        text = b64encode(_wrapped(payload[start:end])).decode()
        file.write(f"Tag={labels[step]},{second}.000,1.000,{most / 1000:.3f},{text}\n".encode())
        start = end


def counts_index(micros: Micros32) -> npt.NDArray[np.int32]:
    """Return the cell of the counts array in which each value is counted."""
    wide = (micros | np.uint32(2 * _HALF - 1)).astype(np.float64)  # exact: far below 2**53
    bucket = (wide.view(np.int64) >> _EXPONENT_AT).astype(np.int32) - np.int32(1022 + _HALF_BITS + 1)
    return ((bucket + 1) << _HALF_BITS) + (micros >> bucket.view(np.uint32)).view(np.int32) - np.int32(_HALF)


def _encoded(index: npt.NDArray[np.int32], counts: npt.NDArray[np.int32], begins: Ints) -> tuple[bytes, Ints]:
    """Encode all intervals; return the bytes, and where those of each interval end."""
    gap = np.diff(index, prepend=np.int32(-1)) - np.int32(1)
    gap[begins] = index[begins]
    numbers = np.empty((len(gap), 2), np.int32)
    numbers[:, 0] = np.where(gap > 1, -gap, 0)
    numbers[:, 1] = counts
    present = np.empty((len(gap), 2), np.bool_)
    np.greater(gap, 0, out=present[:, 0])
    present[:, 1] = True
    written, lengths = _leb128(numbers[present])
    ends = np.append(begins[1:], len(index))
    numbers_upto = np.cumsum(present[:, 0])[ends - 1] + ends
    return written, np.cumsum(lengths, dtype=np.int64)[numbers_upto - 1]


def _leb128(numbers: npt.NDArray[np.int32]) -> tuple[bytes, npt.NDArray[np.uint8]]:
    """Encode signed numbers as ZigZag LEB128; return the bytes and how many each one took."""
    rest = ((numbers << 1) ^ (numbers >> 31)).view(np.uint32)
    lengths = np.ones(len(rest), np.uint8)
    longer = np.flatnonzero(rest > _SEVEN_BITS)
    for octet in range(1, 5):
        lengths[longer] += 1
        longer = longer[rest[longer] >> np.uint32(7 * octet) > _SEVEN_BITS]
    at = np.cumsum(lengths, dtype=np.int64)
    octets = np.zeros(int(at[-1]), np.uint8)
    at -= lengths
    octets[at] = rest & _SEVEN_BITS
    for octet in range(1, 5):
        longer = np.flatnonzero(lengths > octet)
        octets[at[longer] + octet - 1] |= 0x80
        octets[at[longer] + octet] = rest[longer] >> np.uint32(7 * octet) & _SEVEN_BITS
    return octets.tobytes(), lengths


def _wrapped(counts: bytes) -> bytes:
    """The counts with the header of a histogram, compressed, with the header of a compressed one.

    Counts repeat no strings: to code each by itself packs them better than to look for any, in a third of the time.
    """
    header = struct.pack(">IIIIQQd", _PAYLOAD_COOKIE, len(counts), 0, DIGITS, LOWEST, HIGHEST, 1.0)
    packer = zlib.compressobj(1, zlib.DEFLATED, 12, 5, zlib.Z_HUFFMAN_ONLY)
    packed = packer.compress(header + counts) + packer.flush()
    return struct.pack(">II", _COMPRESSED_COOKIE, len(packed)) + packed
