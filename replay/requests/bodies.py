"""Bodies of the requests: shapes that add them, for methods that have one.

In a plan, bodies of a file beside the log are addresses, and filler is its size: both become bytes shortly before they
are sent, some megabytes at a time. Those of a plan ahead of time would fill the memory.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, ClassVar, Final

import polars as pl

from logreplay.core.bodies import REF, StoredBodies, length, pieces
from logreplay.core.errors import LogreplayError
from logreplay.core.headers import HEADERS, header_value
from logreplay.core.rows import read_table
from logreplay.replay.requests.header_columns import BODILESS, FILLER, PAYLOAD, STORED, header_column
from logreplay.replay.requests.plan import Chunk

LARGEST: Final = 16 << 20
"""Largest filler body, bytes, whatever size the log has."""

_DESCRIBE: Final = ("Content-Type", "Content-Encoding")

_HAS_BODY: Final = ~pl.col("op").is_in(BODILESS)

_SIZES: Final = {STORED: length(STORED), FILLER: pl.col(FILLER), PAYLOAD: pl.col(PAYLOAD).bin.size().cast(pl.Int64)}
"""Bytes of the bodies by the column that has them."""


@dataclass(frozen=True, slots=True)
class LoggedBody:
    """The body from the file beside the log, or its column ``body``; otherwise that of a list of urls or a raw request.

    What says how to read a logged body, its type and its coding, comes with it.
    """

    columns: ClassVar[Sequence[str]] = ("body", REF, HEADERS)

    def __str__(self) -> str:
        return "log"

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        if frame["body"].null_count() == frame[REF].null_count() == frame.height:
            return frame
        own = [PAYLOAD] if PAYLOAD in frame.columns else []
        body = pl.when(_HAS_BODY).then(pl.coalesce(pl.col("body").cast(pl.Binary), *own)).alias(PAYLOAD)
        stored = [pl.when(_HAS_BODY).then(REF).alias(STORED)] if frame[REF].is_not_null().any() else []
        has = _HAS_BODY & pl.any_horizontal(pl.col("body", REF).is_not_null())
        described = [
            pl.when(has).then(header_value(name)).alias(header_column(name, frame.columns))
            for name in _DESCRIBE
            if frame[HEADERS].str.contains(rf"(?i)(?:^|\t){name}:").any()
        ]
        return frame.with_columns(body, *stored, *described)


@dataclass(frozen=True, slots=True)
class SizedBody:
    """Filler of the size that the log has in ``request_bytes``, up to `LARGEST`.

    Where a server logs the whole request's length (nginx ``$request_length``) the head is counted in it.
    """

    columns: ClassVar[Sequence[str]] = ("request_bytes",)

    def __str__(self) -> str:
        return "size"

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        size = pl.when(_HAS_BODY).then(pl.col("request_bytes").clip(0, LARGEST)).alias(FILLER)
        return frame.drop(PAYLOAD, strict=False).with_columns(size)


@dataclass(frozen=True, slots=True)
class BodyFrom:
    """Bodies from a table, by a column that it shares with the log.

    Attributes:
        table: a CSV with a header line, the columns ``key`` and ``body``; where a key comes twice, the first counts.
        key: ``url``, ``client``, …. Requests whose key is not in the table have no body.
    """

    table: Path
    key: str
    _bodies: pl.DataFrame = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_bodies", _read(self.table, self.key))

    def __str__(self) -> str:
        return f"{self.table}:{self.key}"

    @property
    def columns(self) -> Sequence[str]:
        return (self.key,)

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        keys = frame.select(pl.col(self.key).cast(pl.String))
        found = keys.join(self._bodies, on=self.key, how="left", maintain_order="left")["body"]
        return frame.with_columns(pl.when(_HAS_BODY).then(pl.lit(found).cast(pl.Binary)).alias(PAYLOAD))


def _read(path: Path, key: str) -> pl.DataFrame:
    if key == "body":
        text = f"{path}:{key}: expected a column that the table shares with the log, such as {path}:url"
        raise LogreplayError(f"{text}; the bodies are always those of the column body")
    return read_table(path, {key: pl.String, "body": pl.String}).unique(key, keep="first")


def with_bodies(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Yield chunks with their bodies, in parts if the bodies are large."""
    with StoredBodies(_opened) as reader:
        for chunk in chunks:
            at = 0
            for frame in _in_parts(chunk.frame, reader):
                yield Chunk(frame, chunk.due[at : at + frame.height])
                at += frame.height


def loaded(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Like `with_bodies`, for frames without a schedule."""
    with StoredBodies(_opened) as reader:
        for frame in frames:
            yield from _in_parts(frame, reader)


def _in_parts(frame: pl.DataFrame, reader: StoredBodies) -> Iterator[pl.DataFrame]:
    columns = [name for name in _SIZES if name in frame.columns]
    if not columns or not frame.height:  # none, as long as a log that is followed does not grow
        yield frame
        return
    made = {STORED: reader.load, FILLER: _filler}
    for piece in pieces(frame, pl.sum_horizontal(_SIZES[name] for name in columns)):
        bodies = [made[name](piece[name]) if name in made else piece[name] for name in columns]
        yield piece.with_columns(pl.coalesce(*map(pl.lit, bodies)).alias(PAYLOAD)).drop(made, strict=False)


def _filler(sizes: pl.Series) -> pl.Series:
    return pl.Series([None if size is None else b"x" * size for size in sizes.to_list()], dtype=pl.Binary)


def _opened(name: str) -> BinaryIO:
    from logreplay.core.stores import is_address, open_seekable

    return open_seekable(name) if is_address(name) else open(name, "rb")
