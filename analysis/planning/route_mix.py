"""Compares the requests that were sent with those of the busiest hour: the share of each route."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import polars as pl

from logreplay.analysis.format_time import show_share
from logreplay.analysis.input.routes import OTHER

LIMIT: Final = 0.1
"""Share of the peak's requests, beyond chance, that may be others than those sent; a plan is refused above it."""
NAMED: Final = 0.03
"""The share above which it is told."""
_CHANCE: Final = 3.0
"""Standard deviations of the difference of two shares that may be chance."""
_ROUTES: Final = 3


@dataclass(frozen=True, slots=True)
class MixChange:
    """The difference between the requests of the busiest hour and those that were sent.

    Attributes:
        share: share of the peak's requests above their share of the sent ones, beyond chance.
        unsent: share of the peak's requests whose method was not sent.
        methods: these methods, the most frequent first.
        routes: the routes with the largest differences, in words.
    """

    share: float
    unsent: float
    methods: tuple[str, ...]
    routes: str


def mix_change(peak: pl.DataFrame, sent: pl.DataFrame, methods: Collection[str]) -> MixChange:
    """Compare the routes of the busiest hour with those that were sent.

    Args:
        peak: ``method``, ``route``, ``requests``.
        sent: ``route``, ``requests``.
        methods: that were sent.
    """
    total = int(peak["requests"].sum())
    left_out = peak.filter(~pl.col("method").is_in(list(methods)))
    by_method = left_out.group_by("method").agg(pl.col("requests").sum()).sort("requests", "method", descending=True)
    wanted = peak.filter(pl.col("method").is_in(list(methods))).group_by("route").agg(pl.col("requests").sum())
    wanted, sent = _as_named_by(sent, wanted), _as_named_by(wanted, sent)
    both = wanted.join(sent, on="route", how="full", coalesce=True, suffix="_sent").fill_null(0)
    of_peak, of_sent = max(int(both["requests"].sum()), 1), max(int(both["requests_sent"].sum()), 1)
    mean = (pl.col("requests") + pl.col("requests_sent")) / (of_peak + of_sent)
    both = both.with_columns(share=pl.col("requests") / of_peak, share_sent=pl.col("requests_sent") / of_sent)
    chance = _CHANCE * (mean * (1 - mean)).sqrt() * math.sqrt(1 / of_peak + 1 / of_sent)
    both = both.with_columns(excess=(pl.col("share") - pl.col("share_sent")).abs() - chance)
    apart = both.filter(pl.col("excess") > 0).sort("excess", "route", descending=[True, False])
    more = apart.filter(pl.col("share") > pl.col("share_sent"))
    return MixChange(
        share=float(more["excess"].sum()),
        unsent=int(left_out["requests"].sum()) / max(total, 1),
        methods=tuple(by_method["method"].to_list()),
        routes=", ".join(
            f"{row['route']} {show_share(row['share'])} of the peak and {show_share(row['share_sent'])} of those sent"
            for row in apart.head(_ROUTES).iter_rows(named=True)
        ),
    )


def _as_named_by(other: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """Count the routes that the other table does not name as its rest, if it has one."""
    if OTHER not in other["route"]:
        return table
    named = pl.when(pl.col("route").is_in(other["route"].to_list())).then("route").otherwise(pl.lit(OTHER))
    return table.group_by(named.alias("route")).agg(pl.col("requests").sum())
