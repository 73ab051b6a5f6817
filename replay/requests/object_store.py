"""Logs in a store that all machines reach: a source of rows like a file. See `logreplay.core.stores`.

Every worker reads the store for itself; only the address is sent to it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

import polars as pl

from logreplay.core import stores
from logreplay.core.bodies import REF
from logreplay.core.rows import column_names, is_parquet, read_csv, read_parquet
from logreplay.replay.requests.sources import with_file


@dataclass(frozen=True, slots=True)
class Stored:
    """A normalized CSV (also ``.gz``, ``.zst``) or a ``.parquet`` of logreplay in a store.

    Attributes:
        address: ``scheme://…`` with one of `logreplay.core.stores.SCHEMES`.
    """

    address: str

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """See `logreplay.replay.requests.sources.RequestSource`."""
        with self._open() as file:
            frames = read_parquet(file, columns) if self._is_parquet else read_csv(file, columns)
            yield from with_file(frames, self.address) if REF in columns else frames

    def names(self) -> list[str]:
        """Its columns.

        Raises:
            LogreplayError: it cannot be read, or is not a normalized CSV.
        """
        with self._open() as file:
            return column_names(file, parquet=self._is_parquet)

    def fingerprint(self) -> str:
        """The store's identity of this content (S3: the ETag).

        Raises:
            LogreplayError: the store cannot be asked.
        """
        return stores.identity(self.address)

    @property
    def _is_parquet(self) -> bool:
        return is_parquet(self.address)

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        with stores.said(self.address), stores.open_seekable(self.address) as file:
            yield file

    def __str__(self) -> str:
        return self.address
