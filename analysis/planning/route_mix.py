"""The mix of routes: the sent one beside that of the busiest hour, and a change of it by the costs of routes."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

import numpy as np
import polars as pl

from logreplay.analysis.costs.readings import REST
from logreplay.analysis.costs.route_costs import TOO_CHEAP
from logreplay.analysis.format_time import show_share
from logreplay.analysis.input import sources
from logreplay.analysis.input.json_values import JsonValue
from logreplay.analysis.input.routes import OTHER
from logreplay.analysis.input.run_metadata import checked_summary
from logreplay.analysis.planning.supply import NoAnswer, Supply, sent_routes
from logreplay.core.errors import LogreplayError, UsageError

LIMIT: Final = 0.1
"""Share of the peak's requests, beyond chance, that may be others than those sent; a plan is refused above it."""
NAMED: Final = 0.03
"""The share above which it is told."""
_CHANCE: Final = 3.0
"""Standard deviations of the difference of two shares that may be chance."""
_ROUTES: Final = 3
_SWEEP: Final = "measure it with: logreplay sweep RATE LOG TARGET --routes --watch pid:PID"


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


@dataclass(frozen=True, slots=True)
class ChangedMix:
    """A change of the mix.

    Attributes:
        changes: growth of each route, by name; 0.5 is 50 %.
        requests: requests of the new mix over those of the log.
        work: processor time of the new mix, for each request of the log, over that of a request with which the supply
            was measured, and ``low`` to ``high``.
    """

    changes: Mapping[str, float]
    requests: float
    work: float
    low: float
    high: float

    def supply(self, supply: Supply) -> Supply:
        """What one machine carries of the new mix, if the processor limits it."""
        high = None if supply.high is None else supply.high * self.requests / self.low
        rate, low = supply.rate * self.requests / self.work, supply.low * self.requests / self.high
        return replace(supply, rate=rate, low=low, high=high, mean=None)

    @property
    def sentence(self) -> str:
        """The change in words."""
        named = ", ".join(f"{route} {100 * share:+g} %" for route, share in self.changes.items())
        return (
            f"{named}: {self.requests:.3g} times the requests and {self.work:.3g} times ({self.low:.3g}–"
            f"{self.high:.3g}) the processor time; the supply is that of the new mix if the processor limits a machine"
        )


@dataclass(frozen=True, slots=True)
class _Cost:
    """The cost of a request of a route with its range, seconds; ``why_not``: why it is unknown."""

    seconds: float
    low: float
    high: float
    why_not: str

    @classmethod
    def of(cls, row: JsonValue) -> Self:
        return cls(row["seconds"].number(), row["low"].number(), row["high"].number(), row["why_not"].text())


def changed_mix(
    changes: Sequence[tuple[str, float]], results: Path, peak: pl.DataFrame, sent: pl.DataFrame
) -> ChangedMix:
    """Work out a change of the mix.

    Args:
        changes: route, or a part of its name that no other has, and its growth.
        results: folder of a sweep that measured the costs of routes.
        peak: ``route``, ``requests`` of the busiest hour that are sent.
        sent: ``route``, ``requests`` with which the supply was measured.
    """
    rows = sources.locate(results)
    if not rows.exists():
        raise LogreplayError(f"{results}: no result log is in it; name the folder of a sweep with --routes")
    summary = checked_summary(rows, _SWEEP)
    costs = summary["costs"]
    if not costs.value or not costs["routes"].value:
        why = costs["sentence"].text() if costs.value else "no step of it leaves out routes"
        raise NoAnswer(f"{results}: the cost of each route is not known: {why}; {_SWEEP}")
    known = {row["route"].text(): _Cost.of(row) for row in costs["routes"].each()}
    if together := next((name for name in known if " + " in name), ""):
        raise NoAnswer(f"{results}: {together} always came together, so the cost of each is not known; {_SWEEP}")
    by_route: dict[str, float] = {}
    for text, share in changes:
        name = _named(text, known, results)
        if name in by_route:
            raise UsageError(f"--mix {text}={100 * share:+g}%: {name} is changed twice; give it once")
        by_route[name] = share
    before, after = _parts(sent, known, results), _parts(peak, known, results)
    for name, row in known.items():
        if name in by_route and not after[name]:
            raise NoAnswer(f"--mix {name}: the busiest hour has no request of it that is sent")
        if row.why_not not in {"", TOO_CHEAP} and (before[name] or after[name]):
            raise NoAnswer(f"{results}: the cost of {name} is not known: {row.why_not}; {_SWEEP}")
    _check_rest(peak, sent_routes(rows, summary.value), known, results)
    after = {name: part * (1 + by_route.get(name, 0.0)) for name, part in after.items()}
    old, new = (sum(known[name].seconds * part for name, part in among.items()) for among in (before, after))
    if not (old > 0 and new > 0):
        raise NoAnswer("--mix leaves no work: the routes that remain cost no processor time that could be told")
    unsure = math.sqrt(
        sum(((row.high - row.low) / 2 * (after[name] / new - before[name] / old)) ** 2 for name, row in known.items())
    )
    work = new / old
    return ChangedMix(by_route, sum(after.values()), work, work * math.exp(-unsure), work * math.exp(unsure))


def _parts(mix: pl.DataFrame, known: Collection[str], results: Path) -> dict[str, float]:
    """The share of the requests of each route that has a cost."""
    requests = dict(mix.group_by("route").agg(pl.col("requests").sum()).iter_rows())
    total = max(sum(requests.values()), 1)
    parts = {name: requests.get(name, 0) / total for name in known if name != REST}
    rest = 1 - sum(parts.values())
    if REST not in known and rest > 1e-9:
        raise NoAnswer(
            f"{results}: {show_share(rest)} of the requests have routes whose cost was not measured; {_SWEEP}"
        )
    return parts | ({REST: rest} if REST in known else {})


def _check_rest(peak: pl.DataFrame, measured: pl.DataFrame, known: Collection[str], results: Path) -> None:
    """Check that the routes that share one cost are those whose cost was measured."""
    mine, theirs = (mix.filter(~pl.col("route").is_in(list(known))) for mix in (peak, measured))
    change = mix_change(mine.with_columns(method=pl.lit("")), theirs, [""])
    if change.share * int(mine["requests"].sum()) > LIMIT * int(peak["requests"].sum()):
        raise NoAnswer(
            f"{results}: {REST} of the busiest hour are not those whose cost was measured: {change.routes}; {_SWEEP}"
        )


def _named(text: str, known: Mapping[str, _Cost], results: Path) -> str:
    """The route that a text means."""
    among = [name for name in known if name.strip("/") == text.strip("/")] or [name for name in known if text in name]
    if len(among) != 1:
        found = "no route" if not among else f"{len(among)} routes"
        raise NoAnswer(f"--mix {text}: {found} of this name in {results}; it has {', '.join(known)}")
    if why := known[among[0]].why_not:
        raise NoAnswer(f"--mix {text}: the cost of {among[0]} is not known: {why}; use longer steps with --for")
    return among[0]
