"""Bodies of the requests: shapes that add them, on request only and for methods that have one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

import polars as pl

from logreplay.parsers.record import LogreplayError, check_name
from logreplay.replay.requests.header_columns import BODILESS, PAYLOAD

LARGEST: Final = 16 << 20
"""Largest filler body, bytes: a logged size must not exhaust this machine's memory."""

_HAS_BODY: Final = ~pl.col("op").is_in(BODILESS)


@dataclass(frozen=True, slots=True)
class LoggedBody:
    """The body from the log's column ``body``; otherwise the one of a list of urls or a raw request."""

    columns: ClassVar[Sequence[str]] = ("body",)

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        own = [PAYLOAD] if PAYLOAD in frame.columns else []
        return frame.with_columns(
            pl.when(_HAS_BODY).then(pl.coalesce(pl.col("body").cast(pl.Binary), *own)).alias(PAYLOAD)
        )


@dataclass(frozen=True, slots=True)
class SizedBody:
    """Filler of the size that the log has in ``request_bytes``, up to `LARGEST`.

    Where a server logs the whole request's length (nginx ``$request_length``) the head is counted in it.
    """

    columns: ClassVar[Sequence[str]] = ("request_bytes",)

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        sizes = frame.select(pl.when(_HAS_BODY).then(pl.col("request_bytes").clip(0, LARGEST)).alias("size"))["size"]
        made = {size: bytes(b"x" * size) for size in sizes.unique().drop_nulls().to_list()}
        bodies = [None if size is None else made[size] for size in sizes.to_list()]
        return frame.with_columns(pl.Series(PAYLOAD, bodies, dtype=pl.Binary))


@dataclass(frozen=True, slots=True)
class BodyFrom:
    """Bodies from a table, by a column that it shares with the log.

    Attributes:
        table: a CSV with a header line, the columns ``key`` and ``body``; where a key comes twice, the first counts.
        key: ``url``, ``client``, …. Requests whose key is not in the table have no body.

    Raises:
        LogreplayError: the table cannot be read or lacks a column.
    """

    table: Path
    key: str
    _bodies: pl.DataFrame = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_bodies", _read(self.table, self.key))

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
    try:
        check_name(path)
        table = pl.read_csv(path, infer_schema=False)
    except FileNotFoundError:
        raise LogreplayError(f"{path}: no such file") from None
    except (OSError, pl.exceptions.PolarsError) as error:
        raise LogreplayError(f"{path}: cannot be read: {error}") from None
    missing = {key, "body"} - set(table.columns)
    if missing:
        raise LogreplayError(f"{path}: no column {', '.join(sorted(missing))}; it needs {key},body")
    return table.select(key, "body").unique(key, keep="first")
