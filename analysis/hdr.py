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
from typing import BinaryIO, Final

import numpy as np

from logreplay.analysis.intake import Requests, those
from logreplay.analysis.parts import SECOND, by_second
from logreplay.analysis.quantiles import Ints
from logreplay.analysis.whole import whole

LOWEST: Final = 1
HIGHEST: Final = 3_600_000_000
DIGITS: Final = 3

_HALF: Final = 1024  # sub-buckets per power of two: 3 digits need 2048, of which the lower half is in the one below
_HALF_BITS: Final = 10
_PAYLOAD_COOKIE: Final = 0x1C849303 | 0x10
_COMPRESSED_COOKIE: Final = 0x1C849304 | 0x10
_INDEX_BITS: Final = 16
_VALUE_BITS: Final = 32
_EXPONENT_AT: Final = 52  # in the bits of a double; 1022 more than what frexp says
_SEVEN_BITS: Final = np.uint64(0x7F)


def write_hlog(path: str | Path, requests: Requests) -> None:
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
        for _, _, part in by_second(requests):
            groups = part.scheduled // SECOND * len(part.labels) + part.step
            response = np.clip(part.response, LOWEST, HIGHEST).astype(np.int64)
            _write_intervals(file, part.labels, those(groups, part.good), those(response, part.good))


def _write_intervals(file: BinaryIO, labels: tuple[int, ...], groups: Ints, response: Ints) -> None:
    """Write a line for each group (second x step) of values."""
    if not len(response):
        return
    keys = (groups << _VALUE_BITS) | response
    keys.sort()
    values, owner = keys & ((1 << _VALUE_BITS) - 1), keys >> _VALUE_BITS
    index = counts_index(values)
    first = np.flatnonzero(np.diff((owner << _INDEX_BITS) | index, prepend=-1))
    counts = np.diff(first, append=len(keys))
    interval = owner[first]
    begins = np.flatnonzero(np.diff(interval, prepend=-1))
    payload, ends = _encoded(index[first], counts, begins)
    longest = values[np.append(first[begins[1:]], len(keys)) - 1]
    start = 0
    for number, end, most in zip(interval[begins].tolist(), ends.tolist(), longest.tolist(), strict=True):
        second, step = divmod(number, len(labels))
        text = b64encode(_wrapped(payload[start:end])).decode()
        file.write(f"Tag={labels[step]},{second}.000,1.000,{most / 1000:.3f},{text}\n".encode())
        start = end


def counts_index(micros: Ints) -> Ints:
    """Return the cell of the counts array in which each value is counted."""
    wide = (micros | (2 * _HALF - 1)).astype(np.float64)  # exact: far below 2**53
    bucket = (wide.view(np.int64) >> _EXPONENT_AT) - (1022 + _HALF_BITS + 1)
    result: Ints = ((bucket + 1) << _HALF_BITS) + (micros >> bucket) - _HALF
    return result


def _encoded(index: Ints, counts: Ints, begins: Ints) -> tuple[bytes, Ints]:
    """Encode all intervals; return the bytes, and where those of each interval end."""
    before = np.empty_like(index)
    before[1:] = index[:-1]
    before[begins] = -1
    gap = index - before - 1
    numbers = np.column_stack([np.where(gap > 1, -gap, 0), counts]).ravel()
    present = np.column_stack([gap > 0, np.ones(len(gap), np.bool_)]).ravel()
    owner_ends = np.append(begins[1:], len(index))
    written, lengths = _leb128(numbers[present])
    upto = np.concatenate(([0], np.cumsum(lengths)))
    cells_written = np.concatenate(([0], np.cumsum(present.reshape(-1, 2).sum(axis=1))))
    return written, upto[cells_written[owner_ends]]


def _leb128(numbers: Ints) -> tuple[bytes, Ints]:
    """Encode signed numbers as ZigZag LEB128; return the bytes and how many each one took."""
    rest = ((numbers << 1) ^ (numbers >> 63)).astype(np.uint64)
    lengths = np.ones(len(rest), np.int64)
    longer = np.flatnonzero(rest > _SEVEN_BITS)
    for octet in range(1, 5):  # no count and no gap is above 2**34
        lengths[longer] += 1
        longer = longer[rest[longer] >> np.uint64(7 * octet) > _SEVEN_BITS]
    at = np.cumsum(lengths) - lengths
    octets = np.zeros(int(lengths.sum()), np.uint8)
    octets[at] = rest & _SEVEN_BITS
    for octet in range(1, 5):
        longer = np.flatnonzero(lengths > octet)
        octets[at[longer] + octet - 1] |= 0x80
        octets[at[longer] + octet] = rest[longer] >> np.uint64(7 * octet) & _SEVEN_BITS
    return octets.tobytes(), lengths


def _wrapped(counts: bytes) -> bytes:
    """The counts with the header of a histogram, compressed, with the header of a compressed one."""
    header = struct.pack(">IIIIQQd", _PAYLOAD_COOKIE, len(counts), 0, DIGITS, LOWEST, HIGHEST, 1.0)
    packed = zlib.compress(header + counts, 1)
    return struct.pack(">II", _COMPRESSED_COOKIE, len(packed)) + packed
