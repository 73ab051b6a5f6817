"""The bodies of requests: zstd blocks in a file beside the normalized CSV, addressed by its column ``body_ref``.

``access.csv`` has its bodies in ``access.bodies.zst``: zstd frames of some 256 KiB of bodies each, one after the other,
so ``zstd -dc`` prints all of them. An address is ``BLOCK-START-LENGTH-CRC``: the offset of a frame in the file, the
offset of the body in the unpacked frame, its length, and the CRC-32 of its bytes in hexadecimal. Equal bodies share an
address. The CRC tells damage, and a file that belongs to another CSV.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Final
from zlib import crc32

import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.core.files import Closing, reason
from logreplay.core.zstd import frame_compressor, zstd

REF: Final = "body_ref"
"""The column of addresses."""

ENDING: Final = ".bodies.zst"

ADDRESS: Final = r"^(?:[^\x00]*#)?[0-9]{1,15}-[0-9]{1,9}-[0-9]{1,9}-[0-9a-f]{8}$"
"""An address, or one after the name of its file and ``#`` (Rust and Python regex)."""

LARGEST: Final = 128 << 20
"""Most bytes of one body, and of the unpacked frame that holds it."""

_BLOCK: Final = 256 << 10
"""Bytes of bodies in a frame. A shuffled replay unpacks one frame for each body."""
_REMEMBERED: Final = 100_000
"""Bodies of which equal ones are found again; then the oldest are forgotten."""
_CACHED: Final = 16 << 20
"""Bytes of unpacked frames that a reader keeps."""
_TOGETHER: Final = 8 << 20
"""Bytes of bodies that `pieces` puts into one frame of rows."""
_READ: Final = 1 << 16
"""Bytes of a file read, or unpacked, at a time."""
_PARTS: Final = re.compile(r"([0-9]+)-([0-9]+)-([0-9]+)-([0-9a-f]{8})")
_ENDINGS: Final = (".gz", ".zst", ".csv", ".parquet")

Opener = Callable[[str], BinaryIO]
"""Opens a file by its name or address."""


def beside(csv: str) -> str:
    """The name of the file with the bodies of a CSV: ``access.csv.gz`` → ``access.bodies.zst``."""
    for ending in _ENDINGS:
        csv = csv.removesuffix(ending)
    return csv + ENDING


class BodyWriter:
    """Writes bodies into an empty file, and gives each its address."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._compress = frame_compressor()
        self._block = bytearray()
        self._at = 0
        self._known: OrderedDict[bytes, str] = OrderedDict()

    def add(self, bodies: Iterable[bytes | None]) -> list[str | None]:
        """Write bodies; return their addresses. No body, or an empty one, has no address."""
        return [self._place(body) if body else None for body in bodies]

    def close(self) -> None:
        """Write the bodies that are still in memory."""
        if self._block:
            frame = self._compress(bytes(self._block))
            self._out.write(frame)
            self._at += len(frame)
            self._block.clear()

    def _place(self, body: bytes) -> str:
        digest = blake2b(body, digest_size=16).digest()
        if digest in self._known:
            return self._known[digest]
        if self._block and len(self._block) + len(body) > _BLOCK:
            self.close()
        address = f"{self._at}-{len(self._block)}-{len(body)}-{crc32(body):08x}"
        self._block += body
        self._known[digest] = address
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return address


class StoredBodies(Closing):
    """Reads bodies by their addresses; at the end of its block the files are closed."""

    def __init__(self, open_file: Opener | None = None) -> None:
        self._open = open_file or _open
        self._files: dict[str, BinaryIO] = {}
        self._blocks: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._cached = 0

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def load(self, addresses: pl.Series) -> pl.Series:
        """The bodies at some addresses, each after the name of its file and ``#``; null where there is none."""
        wanted = addresses.unique().drop_nulls().to_list()
        found = {address: self._body(address) for address in sorted(wanted, key=_order)}
        values = [None if address is None else found[address] for address in addresses.to_list()]
        return pl.Series(addresses.name, values, dtype=pl.Binary)

    def _body(self, address: str) -> bytes:
        name, _, place = address.rpartition("#")
        if not (parts := _PARTS.fullmatch(place)):
            raise LogreplayError(f"{place[:60]!r} is not the address of a body in {name}; convert the log again")
        block, start, length = map(int, parts.groups()[:3])
        body = self._unpacked(name, block, start + length)[start : start + length]
        if len(body) != length or crc32(body) != int(parts[4], 16):
            raise LogreplayError(f"{name}: damaged, or with the bodies of another log: {_REMEDY}")
        return body

    def _unpacked(self, name: str, block: int, size: int) -> bytes:
        if (name, block) in self._blocks:
            self._blocks.move_to_end((name, block))
            return self._blocks[name, block]
        if size > LARGEST:
            raise LogreplayError(f"{name}: an address asks for more than {LARGEST >> 20} MB; {_REMEDY}")
        data = self._blocks[name, block] = self._read(name, block)
        self._cached += len(data)
        while self._cached > _CACHED and len(self._blocks) > 1:
            self._cached -= len(self._blocks.popitem(last=False)[1])
        return data

    def _read(self, name: str, block: int) -> bytes:
        try:
            if name not in self._files:
                self._files[name] = self._open(name)
            file = self._files[name]
            file.seek(block)
            frame = zstd.ZstdDecompressor()
            pieces: list[bytes] = []
            unpacked = 0
            while unpacked <= LARGEST and not frame.eof:
                packed = file.read(_READ) if frame.needs_input else b""
                if frame.needs_input and not packed:
                    break  # the file was cut: the CRC tells
                pieces.append(frame.decompress(packed, _READ))
                unpacked += len(pieces[-1])
        except FileNotFoundError:
            raise LogreplayError(f"{name}: no such file: {_REMEDY}") from None
        except (OSError, zstd.ZstdError) as error:
            raise LogreplayError(f"{name}: cannot be read: {reason(error)}: {_REMEDY}") from None
        return b"".join(pieces)


_REMEDY: Final = "it holds the bodies of the CSV of that name; copy both, or convert the log again"


def named(addresses: pl.Expr, csv: str) -> pl.Expr:
    """Addresses after the name of their file, which stands beside a CSV; null where they are not addresses."""
    valid = pl.when(addresses.str.contains(ADDRESS)).then(addresses)
    return pl.lit(beside(csv) + "#") + valid


def length(address: str) -> pl.Expr:
    """The bytes of the bodies at the addresses in a column; null where it has none."""
    return pl.col(address).str.extract(r"-([0-9]{1,9})-[0-9a-f]{8}$", 1).cast(pl.Int64)


def pieces(frame: pl.DataFrame, size: pl.Expr) -> Iterator[pl.DataFrame]:
    """Cut rows so that the bodies of a piece, of these sizes in bytes, are some megabytes together."""
    ends = frame.select(size.fill_null(0).alias("size"))["size"].cum_sum()
    first = before = 0
    while first < frame.height:
        end = max(int(ends.search_sorted(before + _TOGETHER, side="right")), first + 1)
        yield frame[first:end]
        before, first = ends[end - 1], end


def _order(address: str) -> tuple[str, int]:
    name, _, place = address.rpartition("#")
    block = place.partition("-")[0]
    return name, int(block) if block.isdecimal() else 0


def _open(name: str) -> BinaryIO:
    return Path(name).open("rb")
