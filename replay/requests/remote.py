"""Logs in a store that all machines reach: a source of rows like a file. Needs fsspec and the store's own package.

Every worker reads the store for itself; only the address is sent to it.

Source: https://filesystem-spec.readthedocs.io (fsspec); credentials and endpoints are found as each store's package
finds them, for S3 in ``AWS_*`` variables and ``~/.aws``.
"""

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from typing import Any, BinaryIO, Final, cast

import polars as pl
import zstandard

from logreplay.parsers import record
from logreplay.parsers.installation import needs_extra

SCHEMES: Final = ("s3", "s3a", "gs", "gcs", "az", "abfs", "hdfs", "sftp", "smb")
"""Schemes of such addresses. http is not among them: it stands for a target."""

_BLOCK: Final = 8 << 20
"""Bytes that are fetched at a time: a worker holds two of these."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A normalized CSV (also ``.gz``, ``.zst``) or a ``.parquet`` of logreplay in a store.

    Attributes:
        address: ``scheme://…`` with one of `SCHEMES`.
    """

    address: str

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """See `logreplay.replay.requests.sources.RequestSource`."""
        with self._open() as file:
            if self._is_parquet:
                yield from record.read_parquet(file, columns)
            else:
                yield from record.read_csv(file, columns)

    def names(self) -> list[str]:
        """Its columns.

        Raises:
            LogreplayError: it cannot be read, or is not a normalized CSV.
        """
        with self._open() as file:
            return record.column_names(file, parquet=self._is_parquet)

    def fingerprint(self) -> str:
        """The store's identity of this content (S3: the ETag).

        Raises:
            LogreplayError: the store cannot be asked.
        """
        with self._told():
            filesystem, path = _filesystem(self.address)
            return str(filesystem.ukey(path))

    @property
    def _is_parquet(self) -> bool:
        return record.is_parquet(self.address)

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        with self._told():
            filesystem, path = _filesystem(self.address)
            file = filesystem.open(path, "rb", block_size=_BLOCK, cache_type="readahead")
            with BufferedReader(cast(Any, file)) as buffered:  # fsspec's readline takes no limit
                yield cast(BinaryIO, buffered)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise record.LogreplayError(f"{self.address}: no such object in the store") from None
        except ImportError as error:
            scheme = self.address.partition("://")[0]
            missing = needs_extra("s3") if scheme == "s3" else f"needs another package: {error}"
            raise record.LogreplayError(f"{self.address}: reading {scheme}:// {missing}") from None
        except record.LogreplayError as error:
            raise record.LogreplayError(f"{self.address}: {error}") from None
        except (OSError, EOFError, ValueError, zlib.error, zstandard.ZstdError, pl.exceptions.PolarsError) as error:
            raise record.LogreplayError(f"{self.address}: cannot be read from the store: {error}") from None

    def __str__(self) -> str:
        return self.address


def _filesystem(address: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise ImportError("fsspec is not installed") from None
    return cast("tuple[Any, str]", fsspec.core.url_to_fs(address))
