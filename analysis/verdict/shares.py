"""The common part of comparisons by pairs of requests: shares that fail or differ, and which status became which."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

import numpy as np
import polars as pl

from logreplay.analysis.input import arrays
from logreplay.analysis.json_text import finite
from logreplay.analysis.statistics.failures import Series, share_of
from logreplay.analysis.verdict.checks import Check, CheckedAnswer
from logreplay.analysis.verdict.ratio_interval import ALL, DIFFERENT, TOLERANCE, Change
from logreplay.core.frames import to_pandas
from logreplay.core.validity import cluster_size, newcombe, wilson

if TYPE_CHECKING:
    import pandas as pd

_SHARES: Final = ("status_changed", "bytes_changed", "failed", "failed_more")
"""Attributes of a comparison that are shares."""
Share: TypeAlias = tuple[float, float, float] | None
"""A share, and its 95 % interval; None: of nothing."""
FAILS_MORE: Final = "fails more"
FEW: Final = 0.001
"""Difference of the shares of failed requests up to which an answer does not mention it."""
_STATUSES: Final = {"baseline": pl.String, "candidate": pl.String, "requests": pl.Int64}


@dataclass(frozen=True, repr=False, kw_only=True)
class Compared(CheckedAnswer):
    """What the comparison of runs and that of a run with its log have in common; the attributes are explained there."""

    sentence: str
    change: Change | None
    statuses: list[tuple[str, str, int]]
    status_changed: Share
    bytes_changed: Share
    failed: tuple[float, float]
    failed_more: tuple[float, float, float]
    tolerance: float = TOLERANCE
    notes: list[str] = field(default_factory=list)
    checks: tuple[Check, ...] = ()
    _plain: ClassVar[tuple[str, ...]]

    @property
    def verdict(self) -> str | None:
        """``fails more``, ``slower``, ``faster``, ``no difference detected``, ``undecided``; None: cannot be compared.

        Failures count before times. In a duet the word of a percentile or a route stands where all requests together
        do not differ.
        """
        if fails_more(self.failed_more):
            return FAILS_MORE
        words = [change.verdict(self.tolerance) for change in self._judged.values()]
        return next((word for word in words if word in DIFFERENT), words[0] if words else None)

    @property
    def transitions(self) -> "pd.DataFrame":
        """The `statuses`: ``baseline`` (or log), ``candidate`` (or replay), ``requests``."""
        return to_pandas(pl.DataFrame(self.statuses, _STATUSES, orient="row"))

    def slower(self, limit: float) -> list[str]:
        """``all`` if requests are slower by more than a limit, and such percentiles, routes and rates of a duet."""
        return [name for name, change in self._judged.items() if change.verdict(limit) == "slower"]

    def uncertain(self, limit: float) -> list[str]:
        """The names of `slower` that may be slower by more: the runs are too short to detect a change of that size."""
        return [name for name, change in self._judged.items() if change.may_exceed(limit)]

    @property
    def _judged(self) -> dict[str, Change]:
        """The changes that a limit judges: of all requests; of a duet all others as well."""
        return {ALL: self.change} if self.change else {}

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        value = {name: getattr(self, name) for name in self._plain}
        value["change"] = self.change.as_dict() if self.change else None
        value |= self._tables()
        value["transitions"] = [dict(zip(_STATUSES, each, strict=True)) for each in self.statuses]
        return finite(value | {name: list(known) if (known := getattr(self, name)) else None for name in _SHARES})

    def _tables(self) -> dict[str, Any]:
        raise NotImplementedError


def hits(rows: pl.DataFrame, of: pl.Expr) -> Series:
    """Count the rows of each second, and those of which an expression is true; a pause is one empty second.

    The rows have ``scheduled``, or ``second`` in its place.
    """
    second = pl.col("second") if "second" in rows.columns else pl.col("scheduled").cast(pl.Int64)
    at, hit = rows.select(second.alias("at"), of.alias("hit")).sort("at").get_columns()
    place = np.minimum(np.diff(at.to_numpy(), prepend=at[:1].to_numpy()), 2).cumsum()
    return np.bincount(place), np.bincount(place, hit.to_numpy()).astype(np.int64)


def rise(old: Sequence[Series], new: Sequence[Series]) -> tuple[float, float, float]:
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


def fails_more(failed_more: tuple[float, float, float]) -> bool:
    """Whether surely more requests fail in the candidate, and enough to be mentioned."""
    return failed_more[1] > 0 and failed_more[0] > FEW
