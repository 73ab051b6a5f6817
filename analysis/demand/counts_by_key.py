"""Counts rows by key, part by part, in bounded memory."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import polars as pl

MOST: Final = 2_000_000
"""Keys told apart; beyond them the rarer half is counted together, so that hostile values cannot fill the memory."""
_PENDING: Final = 500_000
"""Rows of parts that wait to be added up."""


class CountsByKey:
    """Counts of rows, and sums of values, for each key.

    Args:
        keys: columns that make the key.
        sums: values to add up, by name.
        most: keys told apart; None: all.

    Attributes:
        others: requests of keys that are not told apart.
    """

    def __init__(self, *keys: str, sums: Mapping[str, pl.Expr] = MappingProxyType({}), most: int | None = MOST) -> None:
        self._keys, self._sums, self._most = list(keys), dict(sums), most
        self._parts: list[pl.DataFrame] = []
        self._height = 0
        self.others = 0

    def add(self, rows: pl.DataFrame) -> None:
        """Count some rows."""
        sums = [value.sum().alias(name) for name, value in self._sums.items()]
        part = rows.group_by(self._keys).agg(pl.len().cast(pl.Int64).alias("requests"), *sums)
        self._parts.append(part)
        self._height += part.height
        if self._height > _PENDING + 2 * self._parts[0].height:
            self._add_up()

    def table(self) -> pl.DataFrame:
        """The keys, ``requests`` and the sums, most requests first; equal counts in order of the keys."""
        if not self._parts:
            return pl.DataFrame(schema=[*self._keys, "requests", *self._sums])
        self._add_up()
        return self._parts[0].sort("requests", *self._keys, descending=[True, *(False for _ in self._keys)])

    def _add_up(self) -> None:
        total = pl.concat(self._parts).group_by(self._keys).agg(pl.col("requests", *self._sums).sum())
        if self._most and total.height > self._most:
            total = total.sort("requests", descending=True)
            self.others += int(total["requests"][self._most // 2 :].sum())
            total = total.head(self._most // 2)
        self._parts, self._height = [total], total.height
