"""Keeps second, method and route of each request of a log, and counts those of any part of it at the end."""

from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile, gettempdir
from typing import Final

import polars as pl

from logreplay.core.files import Closing, unwritable

_IN_MEMORY: Final = 32 << 20
"""Bytes kept in memory; a request takes about two. More go to a temporary file."""


class RouteSpool(Closing):
    """Second, method and route of requests, in compressed blocks: memory does not grow with the log."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  # closed by close()
        self._blocks: list[tuple[int, int, int]] = []
        """First second, last second and length of each."""

    def close(self) -> None:
        """Remove the temporary file."""
        self._file.close()

    def add(self, rows: pl.DataFrame) -> None:
        """Keep some rows: ``second`` (since 1970), ``op``, ``route``.

        Raises:
            LogreplayError: the temporary file cannot be written.
        """
        block = BytesIO()
        rows.select("second", "op", "route").write_ipc(block, compression="zstd")
        try:
            length = self._file.write(block.getvalue())
        except OSError as error:
            raise unwritable(Path(gettempdir()), error, "TMPDIR") from None
        self._blocks.append((rows["second"].min(), rows["second"].max(), length))  # type: ignore[arg-type]

    def between(self, begin: int, end: int) -> pl.DataFrame:
        """Count the requests of these seconds: ``op``, ``route``, ``requests``, most requests first."""
        found, at = [pl.DataFrame(schema={"op": pl.String, "route": pl.UInt16, "requests": pl.Int64})], 0
        for first, last, length in self._blocks:
            if first < end and last >= begin:
                self._file.seek(at)
                data = self._file.read(length)
                rows = pl.read_ipc(data).filter(pl.col("second").is_between(begin, end, "left"))
                found.append(rows.group_by("op", "route").agg(pl.len().cast(pl.Int64).alias("requests")))
            at += length
        total = pl.concat(found).group_by("op", "route").agg(pl.col("requests").sum())
        return total.sort("requests", "op", "route", descending=[True, False, False])
