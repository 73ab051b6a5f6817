"""Result logs made or damaged elsewhere: all that can be read is counted, and the rest is said to be unreadable."""

from collections.abc import Iterator
from io import BytesIO

import polars as pl

from fuzz.memory import ended, file
from logreplay.analysis.input import arrays, downcast
from logreplay.analysis.input.sources import COLUMNS
from logreplay.core.errors import LogreplayError
from logreplay.core.record import RESULT_COLUMNS
from logreplay.core.rows import read_batches, read_csv

HEADER = ",".join(RESULT_COLUMNS) + "\n"
_FILE = file("results.csv")


def seeds() -> list[bytes]:
    """Rows as the recorder writes them, cut and quoted ones, and a file of Play-it-Again-Sam."""
    row = (
        b"2026-11-20,18:58:56.000000,0.010,0.001,0,17,/a?b=1,200,GET,%d,%d,0,10,0.1,0.0001,0,%s,200,17,0.02,10.0.0.7\n"
    )
    foreign = b"2017-03-01 12:00:00 0.004 0.001 0 612 /index.html 200 GET 10 expected=200\n"
    return [
        b"\x00" + row % (0, 0, b"") + row % (1, 1, b"timeout"),
        b"\x02" + (row % (0, 0, b"dropped")).replace(b"/a?b=1", b'"/a""\n,"')[:60],
        b"\x00" + (row % (7, 7, b"")).replace(b"0.010", b"nan").replace(b"0.1", b"1e300") * 2,
        b"\x01" + foreign * 3,
    ]


def one_input(data: bytes) -> None:
    """The first byte chooses whether there is a header line of ours, and what ends the file; the rest is the file."""
    if len(data) < 2:
        return
    try:
        for batch in _batches(data):
            _check(batch)
    except LogreplayError:
        assert data[0] & 1, "with our header line every file can be read"


def _batches(data: bytes) -> Iterator[pl.DataFrame]:
    """A header line of strangers is read from a file, as there it is read in two ways, which have to agree."""
    if not data[0] & 1:
        return read_csv(BytesIO(HEADER.encode() + ended(data)), COLUMNS)
    _FILE.write_bytes(ended(data))
    return read_batches(_FILE, COLUMNS)


def _check(batch: pl.DataFrame) -> None:
    rows = downcast.compact(batch.lazy()).collect()
    assert rows.height == batch.height
    for name in ("lag", "queued", "connect", "kind", "good", "step", "bytes"):
        assert rows[name].null_count() == 0, name
    assert arrays.name_kinds(rows["kind"].to_numpy()).total() == rows.height
    scheduled = rows["scheduled"].drop_nulls().to_numpy()
    assert ((scheduled >= 0) & (scheduled <= downcast.LONGEST_RUN_S * 1_000_000)).all()
