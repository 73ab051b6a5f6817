"""Proof by replay: the requests of a log's busiest minute that fall to one machine, and whether it kept the bound."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Final

import numpy as np
import polars as pl

from logreplay.analysis.demand.rates import MINUTE
from logreplay.analysis.format_time import show, show_rate, show_share
from logreplay.analysis.search.bounds import Bound
from logreplay.analysis.statistics.quantiles import Floats
from logreplay.core.record import start_time

LEAD_S: Final = 10
"""Seconds before the minute that are sent, too, so that it does not begin with an idle machine."""
MOST_PASSES: Final = 5
"""Times that the minute is sent at most, each time with other requests of it, to have enough of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The replay of one machine's share of the busiest minute.

    Attributes:
        machines: that share the minute; 0: as many pods as the autoscaler has in each second of the steepest hour.
        rate: rate of the judged requests, requests/s.
        requests: judged.
        kept: True if the bounds were kept; None: it cannot be said.
        text: the finding, in words.
    """

    machines: int
    rate: float
    requests: int
    kept: bool | None
    text: str

    @property
    def sentence(self) -> str:
        """The proof in words."""
        shared = f"{self.machines} machines share" if self.machines > 1 else "1 machine has"
        what = (
            f"{shared} the log's busiest minute" if self.machines else "the autoscaler's pods share the steepest hour"
        )
        said = {True: "kept", False: "NOT kept", None: "not judged"}[self.kept]
        at = f", {show_rate(self.rate)}/s{' each' if self.machines != 1 else ''}" if self.requests else ""
        return f"{what}{at}: bounds {said} ({self.text})"


def unjudged(machines: int, text: str) -> Proof:
    """A replay that does not test the bounds."""
    return Proof(machines=machines, rate=0.0, requests=0, kept=None, text=text)


def passes(requests: int, share: float, bounds: Sequence[Bound]) -> int:
    """Return how often to send a minute of ``requests`` requests, so that each bound can be judged."""
    return min(max(math.ceil(needed(bounds) / max(requests * share, 1)), 1), MOST_PASSES)


def needed(bounds: Sequence[Bound]) -> int:
    """Requests without which not every bound can be judged."""
    return max(bound.needs for bound in bounds)


def between(log: pl.LazyFrame, begin: int, end: int) -> pl.DataFrame:
    """The rows of a normalized CSV that start in these seconds since 1970, UTC, in order of start, with ``start``."""
    bounds = pl.from_epoch(pl.lit(begin), "s"), pl.from_epoch(pl.lit(end), "s")
    kept = log.with_columns(start_time()).filter(pl.col("start").is_between(*bounds, closed="left"))
    return kept.collect().sort("start", maintain_order=True)


def share_of(rows: pl.DataFrame, begin: int, shares: Floats, times: int, seed: int) -> pl.DataFrame:
    """The rows that one machine gets, drawn at random, for several passes one after the other.

    A share above 1 repeats requests at random instants of their second.

    Args:
        shares: (seconds,) of the requests that one machine gets in each second of the time.
    """
    rng = np.random.default_rng(seed)
    origin = pl.from_epoch(pl.lit(begin), "s")
    micros = rows.select((pl.col("start") - origin).dt.total_microseconds()).to_series().to_numpy()
    parts, length = [], len(shares) * 1_000_000
    share = shares[micros // 1_000_000]
    for number in range(times):
        copies = np.floor(share).astype(np.int64) + (rng.random(len(micros)) < share % 1)
        at = np.repeat(np.arange(len(micros)), copies)
        due = micros[at]
        again = np.flatnonzero(np.diff(at, prepend=-1) == 0)
        due[again] = due[again] // 1_000_000 * 1_000_000 + rng.integers(0, 1_000_000, len(again))
        parts.append(rows[at].with_columns(due=pl.Series(due + number * length)))
    drawn = pl.concat(parts).sort("due", maintain_order=True)
    start = origin + pl.duration(microseconds="due")
    texts = {"date": start.dt.strftime("%Y-%m-%d"), "time": start.dt.strftime("%H:%M:%S%.6f")}
    return drawn.with_columns(**texts).drop("start", "due")


def seconds_into(rows: pl.DataFrame, begin: int) -> float:
    """Seconds from the begin of the lead to the first of the drawn rows; 0 without rows."""
    if rows.is_empty():
        return 0.0
    first = rows.head(1).select(start_time()).item()
    return float(first.replace(tzinfo=UTC).timestamp()) - begin


def judged(
    rows: pl.DataFrame, bounds: Sequence[Bound], *, machines: int, first: float, length: int = LEAD_S + MINUTE
) -> Proof:
    """Judge the replay of a share of the busiest minute, or of a longer time.

    Args:
        rows: ``scheduled``, ``response`` (seconds), ``good``.
        first: seconds from the start of the lead to the first row.
        length: seconds of a pass, with its lead.
    """
    due = rows["scheduled"].to_numpy() + first
    inside = rows.filter(pl.Series(due % length >= LEAD_S))
    made = max(math.ceil(due.max(initial=0.0) / length), 1)
    rate, least = inside.height / ((length - LEAD_S) * made), needed(bounds)
    if inside.height < least:
        text = f"{inside.height:,} requests, and {least:,} are needed"
        return replace(unjudged(machines, text), rate=rate, requests=inside.height)
    response, failed = inside["response"].fill_null(math.inf).to_numpy(), ~inside["good"].to_numpy()
    kept, seen = True, []
    for bound in bounds:
        cost, counted = bound.costs(response, failed)
        mean = float(cost[counted].mean()) if counted.any() else math.inf
        kept = kept and bound.kept_by(mean)
        seen.append(_seen(bound, mean))
    text = f"{', '.join(seen)}, {inside.height:,} requests"
    return Proof(machines=machines, rate=rate, requests=inside.height, kept=kept, text=text)


def _seen(bound: Bound, mean: float) -> str:
    if bound.statistic == "mean":
        return f"mean {show(mean)}"
    what = "failed" if bound.statistic == "errors" else f"over {show(bound.limit)}"
    return f"{show_share(mean)} {what}" if math.isfinite(mean) else f"no requests {what}"
