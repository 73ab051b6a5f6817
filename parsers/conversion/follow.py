"""Turns the lines of a growing access log into rows as they are written."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.core.record import REASON
from logreplay.parsers.captures.bodies_file import as_bytes
from logreplay.parsers.conversion.detect import Detection, detect, says_format
from logreplay.parsers.conversion.job import ConvertOptions, find_readings, with_date_and_time
from logreplay.parsers.conversion.parse import ROW_SCHEMA
from logreplay.parsers.conversion.source import Block, BlockSource
from logreplay.parsers.conversion.subsecond import Spreader, start_times
from logreplay.parsers.formats.w3c import FieldsDirective, stretches

_QUIET_S: Final = 2.5
"""Rows of the newest seconds are held back to be spread over them, but no longer than this."""

_MOST: Final = 32 << 20
"""Bytes after which it must be known."""

_ENOUGH: Final = 200
"""Lines after which the format of a log must be known. Its first ones may be messages of another kind."""


class LineParser:
    """Parses lines of one log, whose present lines tell its format; rows come out as soon as their start is settled."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._spreader = Spreader()
        self._header = FieldsDirective()
        self._reading = self._known()
        self._unread = b""
        self._heard = time.monotonic()

    def __call__(self, data: bytes) -> pl.DataFrame:
        """Take lines; return the settled rows, in order of start, and one entry for each line that became no row."""
        if data:
            self._heard = time.monotonic()
            return self._read(data)
        return self._rows([self._spreader.close()] if time.monotonic() - self._heard > _QUIET_S else [])

    def close(self) -> pl.DataFrame:
        """Return the rows that were held back."""
        reasons = ["rejected: format unknown"] * self._unread.count(b"\n")
        self._unread = b""
        return self._rows([self._spreader.close()], reasons)

    def _read(self, data: bytes) -> pl.DataFrame:
        self._unread += data
        self._reading = self._reading or self._found(self._unread)
        if self._reading is None:
            return self._rows([])
        block, self._unread = Block(self._unread, 1, 0), b""
        frames, reasons = [], []
        for piece, formats in self._reading.pieces([block], self._header):
            parsed = self._reading.parse(piece.lines(), formats, "")
            reasons += [f"{refusal.kind}: {refusal.reason}" for refusal in parsed.refusals]
            frames.append(self._spreader.add(parsed.rows))
        return self._rows(frames, reasons)

    def _rows(self, frames: Sequence[pl.DataFrame], reasons: Sequence[str] = ()) -> pl.DataFrame:
        rows = pl.concat([start_times(pl.DataFrame(schema=ROW_SCHEMA)), *frames])
        refused = pl.DataFrame({REASON: reasons}, schema={REASON: pl.String})
        in_order = rows.sort("start", maintain_order=True)
        settled = with_date_and_time(in_order.with_columns(as_bytes(in_order["body"])))
        return pl.concat([settled, refused], how="diagonal")

    def _found(self, data: bytes) -> Detection | None:
        """The format of these lines; None as long as it cannot be known."""
        if not says_format(data):
            return None
        try:
            return detect([data], str(self._log))
        except LogreplayError:
            if data.count(b"\n") < _ENOUGH and len(data) < _MOST:
                return None
            raise

    def _known(self) -> Detection | None:
        """The format of the lines present already; None if they do not tell it."""
        if not self._log.exists() or not self._log.stat().st_size:
            return None
        source = BlockSource(self._log)
        try:
            if source.compression:
                raise LogreplayError(
                    f"--follow {self._log}: is compressed; name the uncompressed log that the server writes"
                )
            if not says_format(source.sample()):
                return None
            reading = find_readings([source], ConvertOptions())[0]
            for block in source.blocks() if not reading.formats else ():
                for _ in stretches(block.data, self._header):
                    pass  # takes in the directives, which say how the next line is laid out
            return reading
        finally:
            source.close()
