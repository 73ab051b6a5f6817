"""Compares a replay with the log it was made from: answers, sizes, relative speed of routes, rhythm.

Times are not compared in milliseconds: a server's log says how long the server was busy, with the network to the
clients of that day, in whole milliseconds and often not at all. What can be compared is the shape: which routes are
slow relative to the others, which answers have another status or size.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from logreplay.analysis.input import sources
from logreplay.analysis.input.routes import route
from logreplay.analysis.input.sources import Source
from logreplay.analysis.statistics.quantiles import Floats
from logreplay.analysis.verdict import comparison

FEWEST: Final = 20
FACTOR: Final = 1.5
"""A route this much slower or faster than the others, compared with the log, is named."""

_ROUTES: Final = 30
_EXPECTED: Final = {
    ("304", "200"): "304 → 200: the replay sends no validators (If-Modified-Since)",
    ("206", "200"): "206 → 200: the replay sends no ranges",
    ("200", "401"): "200 → 401: the replay has no cookies or passwords",
    ("200", "403"): "200 → 403: the replay has no cookies or passwords",
    ("499", "200"): "499 → 200: in the log the client went away",
}


@dataclass(frozen=True)
class Fidelity:
    """What differs between a log and its replay.

    Attributes:
        sentence: the answer in words.
        by_route: ``route``, ``requests``, ``p50_log``, ``p50`` (service time, seconds), ``relative``: how much slower
            than the other routes it got; null where the log has no times or there are too few requests.
        transitions: ``baseline`` (log) and ``candidate`` (replay) status, ``requests``.
        status_changed: share of the requests whose status class differs, with its 95 % interval.
        bytes_changed: share of those with the same status whose bodies differ by more than 1 % and 64 bytes.
        gap_distance: largest distance between the distributions of the gaps between requests, each in units of its
            mean (Kolmogorov-Smirnov), 0 to 1: 0 is the log's own rhythm.
        notes: what explains the most frequent changes.
    """

    sentence: str
    by_route: pl.DataFrame
    transitions: pl.DataFrame
    status_changed: tuple[float, float, float]
    bytes_changed: tuple[float, float, float]
    gap_distance: float
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        value = {name: getattr(self, name) for name in ("sentence", "gap_distance", "notes")}
        value |= {name: getattr(self, name).to_dicts() for name in ("by_route", "transitions")}
        return value | {name: list(getattr(self, name)) for name in ("status_changed", "bytes_changed")}


def is_log(source: Source) -> bool:
    """Whether this is a log and no replay: it has no column ``scheduled``."""
    return not sources.has_schedule(source)


def against_log(log: Source, run: Source) -> Fidelity:
    """Compare a replay with the normalized log it was made from, by row of the log.

    Raises:
        LogreplayError: one of them cannot be read.
    """
    service = (pl.col("response") - pl.col("lag")) / 1e6
    logged, replayed = (comparison.readable(source, service=service) for source in (log, run))
    pairs = logged.join(replayed, on="row", suffix="_new", maintain_order="right")
    pairs = pairs.filter(pl.col("what") == pl.col("what_new"))
    changes = comparison.transitions(pairs)
    same_status = pairs.filter(pl.col("kind") == pl.col("kind_new"))
    status = comparison.share(pairs, pl.col("kind") // 100 != pl.col("kind_new") // 100)
    size = comparison.share(same_status, comparison.other_size())
    table = _by_route(pairs)
    return Fidelity(
        sentence=_sentence(pairs.height, status[0], size[0], table),
        by_route=table,
        transitions=changes,
        status_changed=status,
        bytes_changed=size,
        gap_distance=_distance(_gaps(logged), _gaps(replayed)),
        notes=[
            _EXPECTED[key] for key in zip(changes["baseline"], changes["candidate"], strict=True) if key in _EXPECTED
        ],
    )


def _by_route(pairs: pl.DataFrame) -> pl.DataFrame:
    """Median service times by route in the log and in the replay, and how they moved relative to each other."""
    timed = pairs.filter("good_new").with_columns(route=route(pl.col("url")))
    middle = {name: pl.col(name).sort().get((pl.len() - 1) // 2) for name in ("service", "service_new")}
    table = (
        timed.group_by("route", maintain_order=True)
        .agg(requests=pl.len(), p50_log=middle["service"], p50=middle["service_new"])
        .sort("requests", descending=True, maintain_order=True)
        .head(_ROUTES)
    )
    known = (pl.col("requests") >= FEWEST) & (pl.col("p50_log") > 0) & (pl.col("p50") > 0)
    ratio = pl.when(known).then((pl.col("p50") / pl.col("p50_log")).log())
    return table.with_columns(relative=(ratio - ratio.median()).exp())


def _sentence(pairs: int, status: float, size: float, table: pl.DataFrame) -> str:
    if not pairs:
        return "nothing to compare: no request of the replay is in the log"
    text = f"{pairs:,} requests: status class as in the log for {1 - status:.1%}, size for {1 - size:.1%} of those"
    known = table.drop_nulls("relative")
    if known.is_empty():
        return f"{text}; the log holds no times to compare"
    moved = known.filter((pl.col("relative") > FACTOR) | (pl.col("relative") < 1 / FACTOR))
    text += f"; {known.height - moved.height} of {known.height} routes as slow, relative to the others, as in the log"
    if moved.height:
        most = moved.sort(pl.col("relative").log().abs(), descending=True).row(0, named=True)
        factor, word = (most["relative"], "slower") if most["relative"] > 1 else (1 / most["relative"], "faster")
        text += f"; {most['route']} is {factor:.1f}x {word}"
    return text


def _gaps(rows: pl.DataFrame) -> Floats:
    """Sorted gaps between requests in units of their mean."""
    gaps = np.sort(np.diff(np.sort(rows["scheduled"].to_numpy())))
    result: Floats = gaps / gaps.mean() if len(gaps) and gaps.mean() > 0 else gaps
    return result


def _distance(one: Floats, other: Floats) -> float:
    """Largest distance of two empirical distributions."""
    if not len(one) or not len(other):
        return 0.0
    at = np.concatenate((one, other))
    shares = [np.searchsorted(values, at, side="right") / len(values) for values in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max())
