"""Shares of requests that fail or differ, and which status became which: of runs in pairs of requests."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import polars as pl

from logreplay.analysis.input import arrays
from logreplay.analysis.statistics.intervals import share_of
from logreplay.analysis.statistics.quantiles import Ints
from logreplay.core.frames import to_pandas
from logreplay.core.validity import cluster_size, newcombe, wilson

if TYPE_CHECKING:
    import pandas as pd

SHARES: Final = ("status_changed", "bytes_changed", "failed", "failed_more")
"""Attributes of a comparison that are shares."""
Share: TypeAlias = tuple[float, float, float] | None
"""A share, and its 95 % interval; None: of nothing."""
Hits: TypeAlias = tuple[Ints, Ints]
"""(seconds,) requests, and those of them that failed or differ."""
FAILS_MORE: Final = "fails more"
FEW: Final = 0.001
"""Difference of the shares of failed requests up to which an answer does not mention it."""
_STATUSES: Final = {"baseline": pl.String, "candidate": pl.String, "requests": pl.Int64}


def hits(rows: pl.DataFrame, of: pl.Expr) -> Hits:
    """Count the rows of each second, and those of which an expression is true; a pause is one empty second.

    Args:
        rows: with ``scheduled``, or ``second`` in its place.
        of: such as ``failed``.
    """
    second = pl.col("second") if "second" in rows.columns else pl.col("scheduled").cast(pl.Int64)
    at, hit = rows.select(second.alias("at"), of.alias("hit")).sort("at").get_columns()
    place = np.minimum(np.diff(at.to_numpy(), prepend=at[:1].to_numpy()), 2).cumsum()
    return np.bincount(place), np.bincount(place, hit.to_numpy()).astype(np.int64)


def rise(old: Sequence[Hits], new: Sequence[Hits]) -> tuple[float, float, float]:
    """Return by how much the share of hits rises from one run to the other, and its 95 % interval.

    Hits that come together count as one: the failures of a blip say little about the next minute.
    """
    numbers = [sum(int(counts.sum()) for counts, _ in parts) for parts in (old, new)]
    if not all(numbers):
        return 0.0, -1.0, 1.0
    size = cluster_size(*old, *new)
    found = [sum(int(hit.sum()) for _, hit in parts) / size for parts in (old, new)]
    low, high = newcombe((found[0], found[1]), (numbers[0] / size, numbers[1] / size), 1.96)
    return share_of(new) - share_of(old), float(low), float(high)


def transitions(pairs: pl.DataFrame) -> list[tuple[str, str, int]]:
    """Count which status or error became which, from ``kind`` and ``kind_new``; the most frequent first."""
    counts = pairs.group_by("kind", "kind_new").len().sort("len", "kind", "kind_new", descending=[True, False, False])
    return [(arrays.kind_name(old), arrays.kind_name(new), number) for old, new, number in counts.iter_rows()]


def share(pairs: pl.DataFrame, of: pl.Expr) -> Share:
    """Return a share of the pairs, and its 95 % interval; None without pairs."""
    if pairs.is_empty():
        return None
    counted = hits(pairs, of)
    found = share_of([counted])
    low, high = wilson(found, pairs.height / cluster_size(counted), 1.96)
    return found, float(low), float(high)


def other_size() -> pl.Expr:
    """Whether ``bytes`` and ``bytes_new`` differ by more than 1 % and by more than 64."""
    difference = (pl.col("bytes").cast(pl.Int64) - pl.col("bytes_new")).abs()
    return (difference > 64) & (difference > 0.01 * pl.col("bytes"))


def verdict_of(failed_more: tuple[float, float, float], times: str | None) -> str | None:
    """Return the verdict on a candidate: failures count before times; None: its times cannot be compared."""
    return FAILS_MORE if fails_more(failed_more) else times


def fails_more(failed_more: tuple[float, float, float]) -> bool:
    """Whether surely more requests fail in the candidate, and enough to be mentioned."""
    return failed_more[1] > 0 and failed_more[0] > FEW


def table_of(statuses: Sequence[tuple[str, str, int]]) -> "pd.DataFrame":
    """The transitions of statuses as a table of pandas."""
    return to_pandas(pl.DataFrame(statuses, _STATUSES, orient="row"))


def as_rows(statuses: Sequence[tuple[str, str, int]]) -> list[dict[str, Any]]:
    """The transitions of statuses for JSON."""
    return [dict(zip(_STATUSES, each, strict=True)) for each in statuses]


def shares(found: object) -> dict[str, list[float] | None]:
    """The shares of a comparison for JSON; None: unknown."""
    return {name: list(value) if (value := getattr(found, name)) else None for name in SHARES}
