"""Compares the requests that were sent with those of the busiest hour: the share of each route."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import numpy as np
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
    both = both.filter(pl.col("requests") + pl.col("requests_sent") > 0)
    of_peak, of_sent = max(int(both["requests"].sum()), 1), max(int(both["requests_sent"].sum()), 1)
    mean = (pl.col("requests") + pl.col("requests_sent")) / (of_peak + of_sent)
    both = both.with_columns(share=pl.col("requests") / of_peak, share_sent=pl.col("requests_sent") / of_sent)
    one = 1 / of_peak + 1 / of_sent  # shares of one request: with many rare routes, a few differ this much at random
    chance = _CHANCE * (mean * (1 - mean) * one).sqrt() + one
    both = both.with_columns(excess=(pl.col("share") - pl.col("share_sent")).abs() - chance)
    both = both.sort("excess", "route", descending=[True, False])
    apart = both.filter(pl.col("excess") > 0)
    more = apart.filter(pl.col("share") > pl.col("share_sent"))
    share = max(float(more["excess"].sum()), _beyond_chance(both))
    return MixChange(
        share=share,
        unsent=int(left_out["requests"].sum()) / max(total, 1),
        methods=tuple(by_method["method"].to_list()),
        routes=", ".join(
            f"{row['route']} {show_share(row['share'])} of the peak and {show_share(row['share_sent'])} of those sent"
            for row in (both if share and apart.is_empty() else apart).head(_ROUTES).iter_rows(named=True)
        ),
    )


def _beyond_chance(both: pl.DataFrame) -> float:
    """By how much the peak's shares of routes exceed those that were sent, in total, beyond that of two equal mixes.

    It finds a difference that many routes share, each with too few requests to show it alone. In two equal mixes, each
    request of a route is one of the peak with the same probability, so the number of these is binomial. De Moivre's
    formula gives its mean deviation; a further factor accounts for draws without replacement.

    Args:
        both: ``requests``, ``requests_sent``, ``share``, ``share_sent`` of each route.
    """
    peak, sent = (both[name].to_numpy().astype(np.float64) for name in ("requests", "requests_sent"))
    if not sent.sum() or not peak.sum():
        return float(peak.sum() > 0)
    whole, rate = peak + sent, peak.sum() / (peak.sum() + sent.sum())
    part, scale = whole / whole.sum(), float(1 / peak.sum() + 1 / sent.sum())
    least = np.floor(whole * rate) + 1
    terms = zip(whole, least, strict=True)
    chosen = np.array([math.lgamma(n + 1) - math.lgamma(k) - math.lgamma(n - k + 1) for n, k in terms])
    half = np.exp(chosen + least * math.log(rate) + (whole - least + 1) * math.log1p(-rate))
    expected = scale * float((half * np.sqrt(1 - part)).sum())
    deviation = math.sqrt((0.5 - 0.5 / math.pi) * scale * float((part * (1 - part)).sum()))
    above = float(np.maximum(both["share"].to_numpy() - both["share_sent"].to_numpy(), 0).sum())
    return max(above - expected - _CHANCE * deviation, 0.0)


def _as_named_by(other: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """Count the routes that the other table does not name as its rest, if it has one."""
    if OTHER not in other["route"]:
        return table
    named = pl.when(pl.col("route").is_in(other["route"].to_list())).then("route").otherwise(pl.lit(OTHER))
    return table.group_by(named.alias("route")).agg(pl.col("requests").sum())
