"""Writes the sorted CSV as CSV (plain or compressed), Parquet, or the input of another tool."""

import gzip
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, Literal

import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.core.record import CORE_COLUMNS
from logreplay.core.rows import read_batches, scan, whole
from logreplay.core.zstd import zstd
from logreplay.parsers.captures.capture import Capture
from logreplay.parsers.captures.export import NO_HOST, exported
from logreplay.parsers.captures.formats import WRITERS

Kind = Literal["csv", "csv.gz", "csv.zst", "parquet", "pias", "vegeta", "k6", "gor", "har"]

EXPORTS: Final = frozenset(WRITERS)
"""Kinds that hold headers and bodies themselves."""

_WHOLE_URLS: Final = frozenset({"vegeta", "har"})
"""Kinds with whole URLs: the tools that replay them send the requests to the hosts in these."""

SHOWN: Final = 5
"""Hosts that are named."""

ENDINGS: Final = {"vegeta": "targets.jsonl", "k6": "js"}
"""Endings of names without ``-o``, of kinds whose files do not end in their names."""

_KINDS: Final[tuple[Kind, ...]] = ("csv.gz", "csv.zst", "parquet", "pias", "gor", "har", "csv")

_PIAS_HEADER: Final = b"#yyy-mm-dd hh:mm:ss latency xfertime sleeptime bytes url rc op\n"


def kind_of(output: str | Path, wanted: str = "") -> Kind:
    """The form to write: the user's choice, or by the ending of the name; CSV for a name without an ending."""
    name = Path(output).name.lower()
    kind = next((kind for kind in _KINDS if name.endswith("." + kind)), None)
    if kind is None and Path(name).suffix and not wanted:
        raise LogreplayError(
            f"{output}: unknown ending; choose one of .csv, .csv.gz, .csv.zst, .parquet, .pias, .gor and .har, or "
            "give the form with --to"
        )
    if kind and wanted and kind.partition(".")[0] != wanted:
        raise LogreplayError(
            f"--to {wanted} and -o {output} contradict each other: the name says {kind}; leave out --to, or name the "
            f"output .{ENDINGS.get(wanted, wanted)}"
        )
    return kind or wanted or "csv"  # type: ignore[return-value]  # the words of --to are kinds


def write(sorted_csv: Path, out: BinaryIO, kind: Kind, bodies: str = "") -> list[str]:
    """Write a normalized CSV in another form, in flat memory; ``bodies`` is the file with them, for `EXPORTS`.

    Returns:
        Hosts of the log to which other tools send the requests of this kind: the first, at most one more than `SHOWN`.
    """
    hosts: dict[str, None] = {}
    if kind in EXPORTS:
        requests = exported(sorted_csv, bodies)
        WRITERS[kind](_noted(requests, hosts) if kind in _WHOLE_URLS else requests, out)
        return [*hosts]
    match kind:
        case "csv":
            with open(sorted_csv, "rb") as done:
                shutil.copyfileobj(done, out, 1 << 20)
        case "csv.gz":
            with open(sorted_csv, "rb") as done, gzip.GzipFile(fileobj=out, mode="wb", compresslevel=6) as packed:
                shutil.copyfileobj(done, packed, 1 << 20)
        case "csv.zst":
            with open(sorted_csv, "rb") as done, zstd.ZstdFile(out, "wb") as packed:
                shutil.copyfileobj(done, packed, 1 << 20)
        case "parquet":
            scan(sorted_csv).sink_parquet(out, row_group_size=100_000, maintain_order=True)
        case "pias":
            out.write(_PIAS_HEADER)
            for rows in whole(read_batches(sorted_csv, CORE_COLUMNS), sorted_csv):
                out.write(_pias_lines(rows))
    return []


def _noted(requests: Iterable[Capture], hosts: dict[str, None]) -> Iterator[Capture]:
    """Pass requests on, and note the first hosts that the log names."""
    for one in requests:
        if len(hosts) <= SHOWN and one.host != NO_HOST:
            hosts[one.host] = None
        yield one


def _pias_lines(rows: pl.DataFrame) -> bytes:
    """Source: https://github.com/davecb/Play-it-Again-Sam; the target has no leading slash of its own there."""
    return (
        rows.with_columns(pl.col("latency", "xfertime").round(6))
        .write_csv(include_header=False, separator=" ", quote_style="never", float_scientific=False)
        .encode()
    )
