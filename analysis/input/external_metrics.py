"""Adds metrics that were read during a run (``X.watch.csv`` beside ``X.csv``) to its seconds and steps."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import polars as pl

from logreplay.core.rows import read_table

PREFIX: Final = "watch_"
_SCHEMA: Final = {"second": pl.Int64, "name": pl.String, "value": pl.Float64}
_MAXIMA: Final = {"name": pl.String, "maximum": pl.Float64}
_LONGEST_HEAD: Final = 1000


def watch_beside(results: Path) -> Path:
    """Where the readings of a result log lie."""
    name = stem(results)
    return name.with_name(f"{name.name}.watch.csv")


def _readings(results: Path | None) -> Path | None:
    """The file beside a result log that holds readings; None if there is none, or it is empty: the disk was full."""
    path = results and watch_beside(results)
    return path if path and path.exists() and path.stat().st_size else None


def stem(results: Path) -> Path:
    """The name of a result log without its endings."""
    while results.suffix in (".gz", ".zst", ".csv", ".parquet"):
        results = results.with_suffix("")
    return results


def watched_in(columns: Iterable[str]) -> list[str]:
    """Return the names of the figures in the columns ``watch_NAME`` of a table, in their order."""
    return [name.removeprefix(PREFIX) for name in columns if name.startswith(PREFIX)]


def by_step(steps: pl.DataFrame, seconds: pl.DataFrame) -> pl.DataFrame:
    """Add to a step table the mean of each figure that was watched, over the seconds in which the step sent."""
    names = [PREFIX + name for name in watched_in(seconds.columns)]
    if not names:
        return steps
    means = seconds.group_by("step").agg(pl.col(names).mean()).with_columns(pl.col("step").cast(steps["step"].dtype))
    return steps.join(means, on="step", how="left", maintain_order="left")


def with_watched(seconds: pl.DataFrame, results: Path | None) -> pl.DataFrame:
    """Add a column ``watch_NAME`` to a per-second table for each watched figure; empty where no reading worked."""
    if not (path := _readings(results)):
        return seconds
    readings = read_table(path, _SCHEMA)
    for name in sorted(readings["name"].drop_nulls().unique()):
        read = (
            readings.filter(pl.col("name") == name).group_by("second").agg(pl.col("value").mean().alias(PREFIX + name))
        )
        seconds = seconds.join(read, on="second", how="left", maintain_order="left")
    return seconds


def maxima(results: Path | None) -> dict[str, float]:
    """Return the maximum of each watched figure whose maximum stayed the same.

    The open files are those of the process that is nearest to its limit. Where another process became the nearest, the
    limit changed: readings of one process cannot be compared with the limit of another.
    """
    if not (path := _readings(results)):
        return {}
    with path.open(encoding="utf-8", errors="replace") as file:
        if "maximum" not in file.readline(_LONGEST_HEAD).strip().split(","):
            return {}  # of an earlier version
    known = read_table(path, _MAXIMA).filter(pl.col("name").is_not_null() & (pl.col("maximum") > 0))
    same = known.group_by("name").agg(pl.col("maximum").first(), pl.col("maximum").n_unique().alias("number"))
    return dict(same.filter(pl.col("number") == 1).select("name", "maximum").iter_rows())
