"""Moves the bodies of rows into the file beside the CSV."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import polars as pl

from logreplay.core.bodies import ENDING, REF, BodyWriter, StoredBodies, beside, length, pieces
from logreplay.core.errors import LogreplayError
from logreplay.core.files import NewFile, fresh_file
from logreplay.core.rows import FORMS, names_in
from logreplay.parsers.captures.capture import PAYLOAD


def with_payload(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Give rows their bodies as bytes, in the column `PAYLOAD`.

    Rows of logs have them in ``body``, one character a byte; those of normalized CSVs have addresses, and come in
    pieces that fit in memory.
    """
    if PAYLOAD in rows.columns:
        yield rows
    elif REF in rows.columns:
        with StoredBodies() as reader:
            for piece in pieces(rows, length(REF)):
                yield piece.with_columns(reader.load(piece[REF]).alias(PAYLOAD))
    else:
        yield rows.with_columns(as_bytes(rows["body"]).alias(PAYLOAD)).drop("body")


def as_bytes(texts: pl.Series) -> pl.Series:
    """Texts with one character a byte as these bytes."""
    return pl.Series(texts.name, [text and text.encode("latin-1") for text in texts.to_list()], dtype=pl.Binary)


def other_user(result: Path) -> Path | None:
    """Another file whose bodies are in the file that stands beside a result; None if there is none."""
    bodies = beside(str(result))
    for ending in FORMS if os.path.lexists(bodies) else ():
        other = Path(bodies.removesuffix(ENDING) + ending)
        with suppress(LogreplayError):
            if other != result and REF in names_in(other):
                return other
    return None


class SideFile:
    """A file for the bodies of rows; ``new`` gives it its name when it is whole, without ``new`` it is temporary."""

    def __init__(self, path: Path, new: NewFile | None = None) -> None:
        self.path, self._new = path, new
        self._written = new.part if new else path
        self._file = open(self._written, "wb") if new else fresh_file(path)  # noqa: SIM115
        self._bodies = BodyWriter(self._file)

    def store(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Replace the bodies of rows by their addresses."""
        addresses = self._bodies.add(rows[PAYLOAD].to_list())
        return rows.drop(PAYLOAD).with_columns(pl.Series(REF, addresses, dtype=pl.String))

    def close(self) -> Path:
        """Write the rest; return the name of the file as it is now."""
        self._bodies.close()
        self._file.close()
        return self._written

    def keep(self) -> bool:
        """Give the file its name, if there is a body in it."""
        if not self._new or not self._written.stat().st_size:
            return False
        self._new.keep()
        return True

    def discard(self) -> None:
        """Close the file, and remove it if it is a temporary one."""
        self._file.close()
        if not self._new:
            self._written.unlink(missing_ok=True)
