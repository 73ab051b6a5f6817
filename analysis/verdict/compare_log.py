"""Compares a replay with the log it was made from: answers, sizes, relative speed of routes, rhythm.

Times are not compared in milliseconds: a server's log says how long the server was busy, with the network to the
clients of that day, in whole milliseconds and often not at all. What can be compared is the shape: which routes are
slow relative to the others, which answers have another status or size. A server that counts in milliseconds, or in
seconds, may have cut off or added nearly one of them: what this can make of a time counts as no difference.
"""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import polars as pl

from logreplay.analysis.format_time import show
from logreplay.analysis.input import sources
from logreplay.analysis.input.downcast import FIRST_ERROR
from logreplay.analysis.input.routes import route
from logreplay.analysis.input.sources import Source
from logreplay.analysis.statistics.failures import share_of
from logreplay.analysis.statistics.quantiles import Floats
from logreplay.analysis.verdict.ratio_interval import TOLERANCE, WANTED, Change, typical_change
from logreplay.analysis.verdict.run_pairs import readable
from logreplay.analysis.verdict.shares import Compared, Share, hits, other_size, rise, share, transitions
from logreplay.analysis.verdict.status_changes import explained
from logreplay.core.frames import to_pandas
from logreplay.core.masking import safe_to_show
from logreplay.core.plural import number_of

if TYPE_CHECKING:
    import pandas as pd

FEWEST: Final = 20
FACTOR: Final = 1.5
"""A route this much slower or faster than the others, compared with the log, is named."""

_RESOLUTIONS: Final = (1.0, 0.001)
"""Units in which servers count times, seconds."""
_ROUTES: Final = 30
_SERVER_ERROR: Final = 500


@dataclass(frozen=True, repr=False)
class Fidelity(Compared):
    """What differs between a log and its replay.

    Attributes:
        sentence: the answer in words.
        routes: ``route``, ``requests``, ``p50_log``, ``p50`` (service time, seconds), ``relative``: how
            many times slower (above 1) or faster (below 1) than the other routes it got, at least, as the resolution
            of the log's times may be a part of the difference; 1 where it may be all of it; null where the log has no
            times or there are too few requests.
        statuses: status in the log and in the replay, and requests, the most frequent first.
        status_changed: share of the requests whose status class differs, of those that have a status in the log, with
            its 95 % interval; None without any.
        bytes_changed: share of those with the same status whose bodies differ by more than 1 % and 64 bytes, likewise.
        change: change of the service time, request by request, with an interval that allows for the resolution of the
            log's times; None where this may be the difference, or the log has no times for most requests.
        failed: share of requests with a status of 500 and above in the log; that failed in the replay, or have a status
            of 500 and above in both.
        failed_more: difference of these shares, replay minus log, with its 95 % interval.
        rows_unmatched: rows of the log that no request of the replay matches: not sent, or sent with another URL.
        requests_unmatched: requests of the replay that match no row of the log: injected, or sent with another URL.
        gap_distance: largest distance between the distributions of the gaps between requests, each in units of its
            mean (Kolmogorov-Smirnov), 0 to 1: 0 is the log's own rhythm.
        notes: explanations of the most frequent changes.
        checks: the validity of the run, and the limits that were asked for.
    """

    routes: pl.DataFrame
    rows_unmatched: int
    requests_unmatched: int
    gap_distance: float
    _plain: ClassVar = ("sentence", "verdict", "rows_unmatched", "requests_unmatched", "gap_distance", "notes")

    @property
    def quantiles(self) -> dict[str, Change]:
        """Percentiles of a log and of a replay are not compared: none."""
        return {}

    @property
    def by_route(self) -> "pd.DataFrame":
        """The `routes`."""
        return to_pandas(self.routes)

    def _tables(self) -> dict[str, Any]:
        return {"by_route": self.routes.to_dicts()}


def is_log(source: Source) -> bool:
    """Whether this is a log and no replay: it has no column ``scheduled``."""
    return "scheduled" not in sources.columns_of(source)


def against_log(log: Source, run: Source, *, tolerance: float = TOLERANCE) -> Fidelity:
    """Compare a replay, a result log, with the normalized log it was made from, by row of the log."""
    service = (pl.col("response") - pl.col("lag") - pl.col("queued")) / 1e6
    notes: list[str] = []
    logged = readable(log, notes, "url", service=service, row=pl.col("position").cast(pl.Int64))
    replayed = readable(run, notes, "url", service=service)
    pairs = logged.join(replayed, on="row", suffix="_new", maintain_order="right")
    pairs = pairs.filter(pl.col("what") == pl.col("what_new"))
    pairs = pairs.with_columns(second=pl.col("scheduled_new").cast(pl.Int64))
    changes = transitions(pairs)
    with_status = pairs.filter(pl.col("kind") < FIRST_ERROR)
    same_status = with_status.filter(pl.col("kind") == pl.col("kind_new"))
    status = share(with_status, pl.col("kind") // 100 != pl.col("kind_new") // 100)
    size = share(same_status, other_size())
    resolution = _resolution(logged)
    routes = _by_route(pairs, resolution)
    table = routes.head(_ROUTES)
    change, uncertain = _change(pairs, resolution)
    failed = pl.col("kind").is_between(_SERVER_ERROR, FIRST_ERROR - 1)
    both_bad = pl.col("failed_new") | (failed & pl.col("kind_new").is_between(_SERVER_ERROR, FIRST_ERROR - 1))
    bad = [hits(pairs, failed)], [hits(pairs, both_bad)]
    rows_unmatched = logged.height - pairs["row"].n_unique()
    requests_unmatched = replayed.height - pairs.height
    notes += explained((old, new) for old, new, _ in changes)
    if rows_unmatched:
        notes.append(
            f"no request of the replay matches {rows_unmatched:,} of {number_of(logged.height, 'row')} of the log"
        )
    if without := pairs.height - with_status.height:
        notes.append(
            f"the log has no status, or an error in its place, for {without:,} of "
            f"{number_of(pairs.height, 'request')}: left out of the share of status classes, counted as not failed in "
            "the log"
        )
    if requests_unmatched:
        notes.append(
            f"no row of the log matches {requests_unmatched:,} of {number_of(replayed.height, 'request')} of the "
            "replay: injected, or sent with another method or URL"
        )
    if left := pairs.height - pairs.filter("good_new").height:
        was = number_of(left, "request was", "requests were")
        notes.append(f"{was} not answered as expected in the replay: left out of the times of routes")
    if rest := routes.tail(-_ROUTES)["requests"].to_list():
        has = number_of(len(rest), "route has", "routes have")
        notes.append(f"{has} no row in the table: the {_ROUTES} most frequent have; {number_of(sum(rest), 'request')}")
    if resolution:
        notes.append(
            f"the resolution of the log's times is {show(resolution)}: what that may change counts as no difference"
        )
    if uncertain and change is None:
        notes.append(
            "service time against the log: unknown, since the resolution of the log's times alone may change it by "
            f"{uncertain:.0%}"
        )
    if change:
        notes.append(
            f"service time against the log: {change.sentence(tolerance)}; a server's log leaves out the network"
        )
    return Fidelity(
        sentence=_sentence(pairs, status, size, table),
        routes=table,
        statuses=changes,
        status_changed=status,
        bytes_changed=size,
        change=change,
        failed=(share_of(bad[0]), share_of(bad[1])),
        failed_more=rise(*bad),
        rows_unmatched=rows_unmatched,
        requests_unmatched=requests_unmatched,
        gap_distance=_distance(_gaps(logged), _gaps(replayed)),
        tolerance=tolerance,
        notes=notes,
    )


def _resolution(logged: pl.DataFrame) -> float:
    """The resolution of the log's times, seconds; 0: finer than all of `_RESOLUTIONS`."""
    micros = (logged.filter(pl.col("service") > 0)["service"] * 1e6).round().cast(pl.Int64)
    return next((each for each in _RESOLUTIONS if len(micros) and (micros % round(each * 1e6) == 0).all()), 0.0)


def _change(pairs: pl.DataFrame, resolution: float) -> tuple[Change | None, float]:
    """The typical ratio of service times, and by what share the resolution of the log's times may change it.

    It is None where the resolution alone leaves it undecided, or most requests have no time in the log, such as 0 of
    whole seconds. A 0 among coarse times is a short time, or none: the interval allows for both. The logarithm of a
    time that was rounded up to one unit is too high by 1 on average.
    """
    answered = pairs.filter("good_new", pl.col("service_new") > 0).sort("scheduled_new")
    timed = answered.filter(pl.col("service") > 0)
    change = _typical(timed) if timed.height >= answered.height / 2 else None
    if change is None or not resolution:
        return change, 0.0
    both = [(timed, change)]
    if timed.height < answered.height:
        with_zeros = answered.with_columns(pl.col("service").replace(0.0, resolution / 2))
        both += [(with_zeros, found)] if (found := _typical(with_zeros)) else []
    part = resolution / pl.col("service")
    cut_off, rounded_up = part.log1p(), -(1 - part.clip(0, 1 - math.exp(-1))).log()
    moved = [rows.select(cut_off.mean(), rounded_up.mean().alias("up")).row(0) for rows, _ in both]
    low = min(found.low * math.exp(-by) for (_, found), (by, _) in zip(both, moved, strict=True))
    high = max(found.high * math.exp(by) for (_, found), (_, by) in zip(both, moved, strict=True))
    widest = max(moved, key=sum)
    undecided = low <= 1 <= high and sum(widest) > math.log1p(WANTED)
    return None if undecided else replace(change, low=low, high=high), math.expm1(max(widest))


def _typical(timed: pl.DataFrame) -> Change | None:
    ratio = pl.col("service_new") / pl.col("service")
    found = typical_change(timed.select(scheduled="scheduled_new", log=ratio.log()))
    return found.change() if found else None


def _by_route(pairs: pl.DataFrame, resolution: float) -> pl.DataFrame:
    """Median service times by route in the log and in the replay, and how they moved relative to each other."""
    timed = pairs.filter("good_new").with_columns(route=route(pl.col("url")))
    middle = {name: pl.col(name).sort().get((pl.len() - 1) // 2) for name in ("service", "service_new")}
    table = (
        timed.group_by("route", maintain_order=True)
        .agg(requests=pl.len(), p50_log=middle["service"].replace(0.0, None), p50=middle["service_new"])
        .sort("requests", descending=True, maintain_order=True)
    )
    known = (pl.col("requests") >= FEWEST) & (pl.col("p50_log") > 0) & (pl.col("p50") > 0)
    longest, shortest = pl.col("p50_log") + resolution, (pl.col("p50_log") - resolution).clip(0)
    low, high = (pl.when(known).then((pl.col("p50") / logged).log()) for logged in (longest, shortest))
    slower, faster = low - high.median(), high - low.median()
    return table.with_columns(relative=pl.when(slower > 0).then(slower).when(known).then(faster.clip(None, 0)).exp())


def _sentence(pairs: pl.DataFrame, status: Share, size: Share, table: pl.DataFrame) -> str:
    if pairs.is_empty():
        return "nothing to compare: no request of the replay is in the log"
    told = f"status class as in the log for {1 - status[0]:.1%}" if status else "the log holds no status to compare"
    text = f"{number_of(pairs.height, 'request')}: {told}"
    if size:
        text += f", size for {1 - size[0]:.1%} of those"
    known = table.drop_nulls("relative")
    if known.is_empty():
        if not pairs.select((pl.col("service") > 0).any()).item():
            return f"{text}; the log holds no times to compare"
        return f"{text}; no route has {FEWEST} requests with times to compare"
    moved = known.filter((pl.col("relative") > FACTOR) | (pl.col("relative") < 1 / FACTOR))
    text += f"; {known.height - moved.height} of {known.height} routes as slow, relative to the others, as in the log"
    if moved.height:
        most = moved.sort(pl.col("relative").log().abs(), descending=True).row(0, named=True)
        factor, word = (most["relative"], "slower") if most["relative"] > 1 else (1 / most["relative"], "faster")
        text += f"; {safe_to_show(most['route'])} is {factor:.1f}x {word}"
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
