"""Compares runs: slower, faster, or no difference detected.

Runs of the same log are compared request by request: the same row at the same rate, in both runs. That finds a
change of 3 % where the percentiles of a run, taken alone, differ by more from one minute to the next. Runs of
different logs can only be compared by their percentiles. One pair of runs says nothing of how much runs differ by
themselves. Several pairs, run in turn, A B A B, are judged by the spread between the pairs. Runs that were made at
once, as a duet, are compared pair by pair, over the same short blocks of time: what disturbed one disturbed the other.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from logreplay.analysis.input import arrays, sources
from logreplay.analysis.input.closed_loop import limited_steps
from logreplay.analysis.input.compact import CANCELLED, FIRST_ERROR, compact
from logreplay.analysis.input.routes import route
from logreplay.analysis.input.sources import Source
from logreplay.analysis.statistics import bootstrap, estimates
from logreplay.analysis.statistics.intervals import newcombe, wilson
from logreplay.analysis.tables.windows import SETTLE
from logreplay.analysis.verdict import stability
from logreplay.analysis.verdict.change import (
    ALL,
    AT_ONCE_TOLERANCE,
    DIFFERENT,
    FEWEST_PAIRS,
    NO_DIFFERENCE,
    TOLERANCE,
    Change,
    answered,
    combined,
    drift,
    duet_verdicts,
    median_change,
    quantile_changes,
    ratio_changes,
    shared_change,
    verdicts,
)

SHARES: Final = ("status_changed", "bytes_changed", "failed", "failed_more")
Share: TypeAlias = tuple[float, float, float] | None
"""A share, and its 95 % interval; None: of nothing."""
_GROUPS: Final = 30
_SAME_LOG: Final = 0.9

_DUET_GAIN: Final = 1.5
"""How much smaller the change must be that a duet would detect to be worth a note."""
_SAME_INSTANT: Final = timedelta(milliseconds=1)
_KEYS: Final = {"pair": pl.Int64, "rate": pl.Float64, "route": pl.String}

_BATCH: Final = 1 << 14
_ANSWERS: Final = ("kind", "kind_new", "bytes", "bytes_new")
_TIMED: Final = ("scheduled", "response", "response_new", "route", "rate")
_OF_BOTH: Final = ("what", "kind", "good", "bytes", "response")
_OF_BASELINE: Final = ("scheduled", "route", "rate")
"""Columns that a pair has of both runs, and of its baseline."""

Sides = tuple[pl.DataFrame, pl.DataFrame]
"""Both runs of a duet: ``scheduled``, ``response``, ``route``, ``rate``."""

_ONE_PAIR: Final = (
    "one pair of runs does not show how much runs differ by themselves: run both in turn, three times or more, and "
    "compare all of them: BASELINE CANDIDATE BASELINE CANDIDATE ..."
)
_SHORT: Final = (
    "in a duet below 4 s, a delay of half a second at one target can look like a change; repeat it with --for 10s or "
    "longer"
)
_NOT_IN_TURN: Final = (
    "the runs of a pair did not follow each other: a change of the machine between them counts as one of the target; "
    "run in turn, and name the runs in turn: BASELINE CANDIDATE BASELINE CANDIDATE ..."
)


@dataclass(frozen=True)
class Comparison:
    """What differs between two runs, or between several pairs of runs.

    Attributes:
        sentence: the answer in words.
        paired: whether requests were compared one by one.
        at_once: the runs were made at the same time, as a duet.
        change: of the response time: median of the ratios of pairs (of a duet their trimmed mean), or ratio of the
            medians; of several pairs of runs the geometric mean of theirs; None where too few.
        slower_share: share of the pairs in which the candidate was slower (ties half); None if not paired.
        quantiles: name → ratio of that percentile of the runs.
        verdicts: name → verdict on the change (``all``), a percentile or a route. Those of percentiles, and those of
            routes, allow for their number; in a duet for that of both.
        by_pair: change per pair of runs; ``pair`` (from 1), ``ratio``, ``low``, ``high``, ``count``, ``verdict``.
        by_step: the same per step; ``rate`` instead of ``pair``.
        by_route: the same per route, for the most frequent ones. The verdicts allow for the number of rows.
        transitions: ``baseline`` and ``candidate`` status, ``requests``, the most frequent first.
        status_changed: share of the pairs whose status class differs, with its 95 % interval; None without pairs.
        bytes_changed: share of the answered pairs whose bodies differ by more than 1 % and 64 bytes, likewise.
        failed: share of requests that failed: of the baseline, of the candidate; all steps of a sweep.
        failed_more: difference of these shares, candidate minus baseline, with its 95 % interval.
        notes: omissions, and why.
    """

    sentence: str
    paired: bool
    change: Change | None
    slower_share: float | None
    quantiles: dict[str, Change]
    by_pair: pl.DataFrame
    by_step: pl.DataFrame
    by_route: pl.DataFrame
    transitions: pl.DataFrame
    status_changed: Share
    bytes_changed: Share
    failed: tuple[float, float]
    failed_more: tuple[float, float, float]
    at_once: bool = False
    verdicts: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def routes(self) -> dict[str, Change]:
        """The change of each route."""
        return {row["route"]: _change_of(row) for row in self.by_route.iter_rows(named=True)}

    def slower(self, limit: float) -> list[str]:
        """``all`` if requests are slower by more than a limit, and such percentiles, routes and rates of a duet."""
        if not self.change:
            return []
        others = self._judged_beside
        judged = duet_verdicts(self.change, others, limit) if self.at_once else verdicts({ALL: self.change}, limit)
        return [name for name, verdict in judged.items() if verdict == "slower"]

    def uncertain(self, limit: float) -> list[str]:
        """The names of `slower` that may be slower by more: a change of that size could not have been detected."""
        judged = {ALL: self.change, **self._judged_beside} if self.change else {}
        return [name for name, change in judged.items() if change.may_exceed(limit)]

    @property
    def _judged_beside(self) -> dict[str, Change]:
        """What a limit judges beside all requests; nothing of runs made apart."""
        if not self.at_once:
            return {}
        steps = self.by_step.rows(named=True) if self.by_step.height > 1 else []
        return {**self.quantiles, **self.routes, **{f"{row['rate']:g}/s": _change_of(row) for row in steps}}

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        value = {name: getattr(self, name) for name in ("sentence", "paired", "slower_share", "notes")}
        value["change"] = asdict(self.change) if self.change else None
        value["quantiles"] = {
            name: asdict(change) | {"verdict": self.verdicts[name]} for name, change in self.quantiles.items()
        }
        for name in ("by_pair", "by_step", "by_route", "transitions"):
            value[name] = getattr(self, name).to_dicts()
        return value | shares(self)


def _change_of(row: Mapping[str, Any]) -> Change:
    """The change in a row of `_table`."""
    return Change(**{field.name: row[field.name] for field in fields(Change)})


def shares(found: object) -> dict[str, list[float] | None]:
    """The shares of a comparison for JSON; None: unknown."""
    return {name: list(value) if (value := getattr(found, name)) else None for name in SHARES}


def compare(baseline: Source, candidate: Source, *more: Source, tolerance: float | None = None) -> Comparison:
    """Compare two runs, request by request where both replayed the same log; or several pairs of runs.

    The result logs of a duet, read from files, are compared as `compare_duet` does.

    Args:
        baseline: result log.
        candidate: result log.
        more: further result logs, in turn: baseline, candidate, baseline, candidate.
        tolerance: changes up to this fraction are called none, however certain; None: `usual_tolerance`.

    Raises:
        LogreplayError: a result log cannot be read.
        ValueError: a baseline has no candidate.
    """
    runs = (baseline, candidate, *more)
    if tolerance is None:
        tolerance = usual_tolerance(*runs)
    if not more and _of_a_duet(baseline, candidate):
        return compare_duet(baseline, candidate, tolerance)
    found = [_pair_of_runs(old, new, at_once=_of_a_duet(old, new)) for old, new in _pairs(runs)]
    change = combined([each.change for each in found])
    quantiles = {
        name: ratio
        for name in dict.fromkeys(name for each in found for name in each.quantiles)
        if (ratio := combined([each.quantiles.get(name) for each in found]))
    }
    notes = list(dict.fromkeys(note for each in found for note in each.notes))
    if len(found) > 1:
        notes += _left_out(runs, found)
    if len(found) == 1:
        notes += [_ONE_PAIR, *_in_a_duet(found[0], tolerance)]
    elif not _in_turn(runs):
        notes.append(_NOT_IN_TURN)
    text = change.sentence(tolerance) if change else _unknown(found)
    by_route, by_step = (_grouped(found, by) for by in ("route", "rate"))
    of_routes, of_all = verdicts(by_route, tolerance), verdicts({ALL: change} if change else {}, tolerance)
    return _comparison(found, text, change, quantiles, tolerance)(
        by_step=_table("rate", by_step, verdicts(by_step, tolerance)).sort("rate"),
        by_route=_table("route", by_route, of_routes),
        verdicts=of_routes | verdicts(quantiles, tolerance) | of_all,
        notes=notes,
    )


def usual_tolerance(*runs: Source) -> float:
    """Up to which fraction changes are called none: less between the result logs of duets."""
    return AT_ONCE_TOLERANCE if all(_of_a_duet(old, new) for old, new in _pairs(runs)) else TOLERANCE


def compare_duet(baseline: Source, candidate: Source, tolerance: float = AT_ONCE_TOLERANCE) -> Comparison:
    """Compare two runs that were made at once.

    Args:
        baseline: result log.
        candidate: result log.
        tolerance: changes up to this fraction are called none, however certain.

    Raises:
        LogreplayError: a result log cannot be read.
    """
    found = _pair_of_runs(baseline, candidate, at_once=True)
    routes, steps = (_grouped([found], by) for by in ("route", "rate"))
    judged: dict[Any, str] = {}
    if found.change:
        several = steps if len(steps) > 1 else {}
        judged = duet_verdicts(found.change, {**found.quantiles, **routes, **several}, tolerance)
        judged |= dict.fromkeys(steps.keys() - several.keys(), judged[ALL])
    text = _of_duet(found, routes, judged, tolerance) if found.change else _unknown([found])
    notes = [*found.notes, *(drift(found.sides, tolerance, paired=found.paired) if found.sides else ())]
    if judged.get(ALL) in DIFFERENT and found.span < bootstrap.FEWEST_MEANS * bootstrap.HALF_S:
        notes.append(_SHORT)
    return _comparison([found], text, found.change, found.quantiles, tolerance)(
        by_step=_table("rate", steps if judged else {}, judged).sort("rate"),
        by_route=_table("route", routes if judged else {}, judged),
        at_once=True,
        verdicts={name: judged.get(name, NO_DIFFERENCE) for name in (ALL, *found.quantiles, *routes)},
        notes=notes,
    )


def _comparison(
    found: "Sequence[_PairOfRuns]", text: str, change: Change | None, quantiles: dict[str, Change], tolerance: float
) -> Callable[..., Comparison]:
    """What all comparisons have; the others are arguments."""
    pairs, timed = (pl.concat(getattr(each, name) for each in found) for name in ("pairs", "timed"))
    bad = [pl.concat(each.failed[side] for each in found) for side in (0, 1)]
    failed = share_of(bad[0]), share_of(bad[1])
    answered = pairs.filter(pl.col("kind") == pl.col("kind_new"), pl.col("kind") < FIRST_ERROR)
    by_pair = {index: each.change for index, each in enumerate(found, 1) if each.change}
    return partial(
        Comparison,
        sentence=_sentence(text, failed),
        paired=all(each.paired for each in found),
        change=change,
        slower_share=_slower(timed) if timed.height else None,
        quantiles=quantiles,
        by_pair=_table("pair", by_pair, verdicts(by_pair, tolerance)),
        transitions=transitions(pairs),
        status_changed=share(pairs, pl.col("kind") // 100 != pl.col("kind_new") // 100),
        bytes_changed=share(answered, other_size()),
        failed=failed,
        failed_more=rise(*bad),
    )


@dataclass(frozen=True, slots=True)
class _PairOfRuns:
    """One baseline, one candidate: their requests in pairs, and what differs; ``sides`` where they ran at once.

    ``count`` requests of each, over ``span`` seconds, can be compared.
    """

    paired: bool
    pairs: pl.DataFrame
    timed: pl.DataFrame
    count: int
    span: float
    change: Change | None
    quantiles: dict[str, Change]
    failed: tuple[pl.Series, pl.Series]
    notes: list[str]
    sides: Sides | None = None

    def of_group(self, by: str, name: object) -> Change | None:
        """The change of a group of requests."""
        if self.sides:
            return shared_change([side.filter(pl.col(by) == name) for side in self.sides], paired=self.paired)
        return median_change(self.timed.filter(pl.col(by) == name))

    @property
    def too_few(self) -> str:
        """Why the change of the times is unknown."""
        if self.count < FEWEST_PAIRS:
            few = f"fewer than {FEWEST_PAIRS} requests were answered as expected, with a time above 0, in both runs"
            return f"{few}: run longer, or at a higher rate"
        shortest, fewest = float(estimates.FEWEST_BLOCKS), estimates.FEWEST_BLOCKS
        if self.sides and self.paired:
            shortest, fewest = bootstrap.SHORTEST_MEAN_S, bootstrap.FEWEST_MEANS
        if self.span < shortest:
            return f"less than {shortest:g} s of requests: run longer"
        return f"the requests fall into fewer than {fewest} blocks of time: run longer, or at an even rate (--tps)"


def _pair_of_runs(baseline: Source, candidate: Source, *, at_once: bool = False) -> _PairOfRuns:
    notes: list[str] = []
    key = ["seq"] if at_once else ["rate", "row", "turn"]
    whole = rows(baseline, at_once=at_once), rows(candidate, at_once=at_once)
    failed = whole[0]["failed"], whole[1]["failed"]
    old, new = _comparable((baseline, candidate), whole, notes)
    del whole
    if at_once:
        old = old.sort("seq")
    pairs = old.select(*dict.fromkeys((*key, *_OF_BOTH, *_OF_BASELINE))).join(
        new.select(*key, *_OF_BOTH), on=key, suffix="_new", maintain_order="left"
    )
    alike = pl.col("what") == pl.col("what_new")
    number = int(pairs.select(alike.sum()).item())
    paired = number >= max(_SAME_LOG * pairs.height, 0.5 * min(old.height, new.height), 1)
    pairs = pairs.filter(alike) if paired else pairs.head(0)
    if not paired and not at_once:
        notes.append("the runs do not replay the same requests: compared by percentiles, which sees far less")
    if paired and at_once:
        old = new = old.clear()  # frees a hundred bytes for each pair
    timed = pairs.filter("good", "good_new", pl.col("response") > 0, pl.col("response_new") > 0)
    timed = timed.select(*_TIMED, log=(pl.col("response_new") / pl.col("response")).log())
    pairs = pairs.select(*_ANSWERS)
    sides = None
    if at_once:
        sides = _sides_of(timed) if paired else (answered(old), answered(new))
        quantiles = ratio_changes(sides)
    else:
        quantiles = quantile_changes(old, new)
    apart = median_change(timed) if paired else quantiles.get("p50")
    change = shared_change(sides, paired=paired) if sides else apart
    times = [run["scheduled"] for run in ([timed] if paired else [answered(old), answered(new)])]
    count = min(map(len, times))
    span = min(float(np.ptp(each.to_numpy())) for each in times) if count else 0.0
    return _PairOfRuns(paired, pairs, timed, count, span, change, quantiles, failed, notes, sides)


def _sides_of(timed: pl.DataFrame) -> Sides:
    """Both runs of a duet, each with the requests that were answered as expected in both."""
    names = ("scheduled", "response", "route", "rate")
    new = timed.select("scheduled", "route", "rate", response="response_new")
    return timed.select(names), new.select(names)


def _pairs(runs: Sequence[Source]) -> Iterator[tuple[Source, Source]]:
    """Each baseline with its candidate."""
    return zip(runs[::2], runs[1::2], strict=True)


def _of_a_duet(baseline: Source, candidate: Source) -> bool:
    """Whether two files are result logs of one duet: both clocks began at the same instant."""
    if not (isinstance(baseline, str | Path) and isinstance(candidate, str | Path)):
        return False
    starts = [sources.started(run) for run in (baseline, candidate)]
    apart = starts[1] - starts[0] if starts[0] and starts[1] else None
    same_file = sources.locate(baseline).resolve() == sources.locate(candidate).resolve()
    return apart is not None and abs(apart) < _SAME_INSTANT and not same_file


def _in_turn(runs: Sequence[Source]) -> bool:
    """Whether the runs of each pair followed each other in time; True where a time is unknown."""
    starts = [sources.started(run) for run in runs]
    known = [start for start in starts if start is not None]
    order = {start: place for place, start in enumerate(sorted(known))}
    places = [order[start] // 2 for start in known]
    return len(known) < len(runs) or places[::2] == places[1::2]


def share_of(flags: pl.Series) -> float:
    """Return the share that is true; 0 for none."""
    return float(flags.to_numpy().mean()) if len(flags) else 0.0


def rise(old: pl.Series, new: pl.Series) -> tuple[float, float, float]:
    """Return by how much the share that is true rises from one run to the other, and its 95 % interval."""
    if not len(old) or not len(new):
        return 0.0, -1.0, 1.0
    low, high = newcombe((int(old.sum()), int(new.sum())), (len(old), len(new)), 1.96)
    return share_of(new) - share_of(old), float(low), float(high)


def rows(source: Source, *, at_once: bool = False) -> pl.DataFrame:
    """Load what a comparison needs of each request.

    Returns:
        The key of a pair: of a duet (``at_once``) ``seq``; of runs made apart ``rate`` (asked of the step), ``row`` of
        the log, and ``turn`` (how often the row came before in the step), in the order of ``seq``. ``step``; ``route``;
        ``what``: hash of method and URL; ``scheduled``, ``response``: seconds; ``good``, ``failed``, ``kind``,
        ``bytes`` as in `intake.Requests`.
    """
    columns = {
        "route": route(pl.col("url")).cast(pl.Categorical),
        "rate": pl.col("offered").fill_nan(0.0),
        "seq": pl.coalesce("seq", "position"),
    }
    found = readable(source, "step", **columns)
    if at_once:
        return found.drop("row")
    return found.sort("seq").with_columns(turn=pl.int_range(pl.len()).over("rate", "row"))


def readable(source: Source, *names: str, **columns: pl.Expr) -> pl.DataFrame:
    """Load the requests that have times: ``row``, ``what``, times, outcome, and further columns."""
    needed = pl.col("scheduled").is_not_null(), pl.col("response").is_not_null()
    kept: dict[str, pl.Expr] = {
        **{name: pl.col(name) for name in ("good", "kind", "bytes", *names)},
        "failed": ~pl.col("good") & (pl.col("kind") != CANCELLED),
        "row": pl.coalesce("row", "position"),
        "what": pl.concat_str("op", "url", ignore_nulls=True).hash(),
        "scheduled": pl.col("scheduled") / 1e6,
        "response": pl.col("response") / 1e6,
        **columns,
    }
    parts, position = [sources.rows(source).head(0).pipe(_reduced, 0).filter(*needed).select(**kept).collect()], 0
    for batch in sources.batches(source, "row", "seq", size=_BATCH):
        parts.append(batch.lazy().pipe(_reduced, position).filter(*needed).select(**kept).collect())
        position += batch.height
    return pl.concat(parts)


def _reduced(rows: pl.LazyFrame, position: int) -> pl.LazyFrame:
    return compact(rows).with_row_index("position", position)


def _comparable(
    runs: tuple[Source, Source], whole: tuple[pl.DataFrame, pl.DataFrame], notes: list[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of both runs; of sweeps only the settled part of the steps that both runs carried."""
    old, new = whole
    if all(run["step"].n_unique() <= 1 for run in whole):
        return old, new
    tables = [stability.judged_steps(arrays.read(source), _limited(source)) for source in runs]
    stable = (pl.col("verdict") == "stable").all()  # of several trials, all
    carried = [set(table.filter(stable.over("rate"))["rate"].to_list()) for table in tables]
    offered = [set(run["rate"].to_list()) for run in (old, new)]
    both = {rate for rate in offered[0] & offered[1] if all(any(abs(rate - r) < 1e-6 * r for r in c) for c in carried)}
    left_out = sorted((offered[0] | offered[1]) - both)
    if left_out:
        rates = ", ".join(f"{rate:g}" for rate in left_out)
        notes.append(f"left out: rates that one of the runs does not have, or did not carry: {rates}/s")
    return _settled(old, both), _settled(new, both)


def _limited(source: Source) -> Collection[int]:
    return limited_steps(sources.locate(source)) if isinstance(source, str | Path) else ()


def _settled(run: pl.DataFrame, rates: set[float]) -> pl.DataFrame:
    start, end = (pl.col("scheduled").min().over("step"), pl.col("scheduled").max().over("step"))
    late = pl.col("scheduled") >= start + SETTLE * (end - start)
    return run.filter(pl.col("rate").is_in(list(rates)), late)


def _sentence(text: str, failed: tuple[float, float]) -> str:
    if abs(failed[1] - failed[0]) > 0.001:
        text += f"; {failed[1]:.2%} of the requests failed, {failed[0]:.2%} in the baseline"
    return text


def _of_duet(found: _PairOfRuns, routes: Mapping[str, Change], judged: Mapping[str, str], tolerance: float) -> str:
    """The verdict on a duet: the percentiles that differ, and how many routes."""
    assert found.change
    headline, others = judged[ALL], [name for name in (*found.quantiles, *routes) if judged[name] in DIFFERENT]
    parts = [found.change.sentence(tolerance, headline)] if headline in DIFFERENT or not others else []
    for name, change in found.quantiles.items():
        if judged[name] in DIFFERENT:
            low, high = sorted(abs(end - 1) for end in (change.low, change.high))
            parts.append(f"{name} {judged[name]} by {abs(change.ratio - 1):.1%} ({low:.1%} to {high:.1%})")
    for verdict in DIFFERENT:
        if count := sum(judged[name] == verdict for name in routes):
            parts.append(f"{count} of {len(routes)} routes {verdict}")
    return "; ".join(parts)


def _in_a_duet(found: _PairOfRuns, tolerance: float) -> Iterator[str]:
    """Say how small a change a duet of the same length would detect, if that is much smaller."""
    if not (found.paired and found.change):
        return
    change = shared_change(_sides_of(found.timed), paired=True)
    if change and _DUET_GAIN * change.detectable(0) < found.change.detectable(tolerance):
        yield (
            f"the smallest detectable change is {found.change.detectable(tolerance):.1%}; a duet of the same length, "
            f"which runs both at once, would detect about {max(change.detectable(0), AT_ONCE_TOLERANCE):.1%}: "
            "logreplay duet LOG BASELINE CANDIDATE"
        )


def _unknown(found: Sequence[_PairOfRuns]) -> str:
    """Why no change of the times is known."""
    if len(found) == 1:
        return f"nothing to compare: {found[0].too_few}"
    known = sum(each.change is not None for each in found)
    return f"nothing to compare: {known} of {len(found)} pairs of runs can be judged, two are needed"


def _left_out(runs: Sequence[Source], found: Sequence[_PairOfRuns]) -> Iterator[str]:
    """Name the pairs that the change of the times leaves out, and why."""
    for at, each in enumerate(found):
        if each.change is None:
            files = [str(run) for run in runs[2 * at : 2 * at + 2] if isinstance(run, (str, Path))]
            name = f"pair {at + 1} ({' → '.join(files)})" if files else f"pair {at + 1}"
            yield f"{name} is left out: {each.too_few}"


def _slower(timed: pl.DataFrame) -> float:
    """The share of pairs that got slower, ties half."""
    logs = timed["log"].to_numpy()
    return float(np.mean(logs > 0) + np.mean(logs == 0) / 2)


def _grouped(found: Sequence[_PairOfRuns], by: str) -> dict[Any, Change]:
    """The change of each of the most frequent groups."""
    keys = pl.concat([(each.sides[0] if each.sides else each.timed).select(by) for each in found])
    counts = keys.group_by(by, maintain_order=True).len().sort("len", descending=True, maintain_order=True)
    names = counts[by].head(_GROUPS).to_list()
    changes = {name: combined([each.of_group(by, name) for each in found]) for name in names}
    return {name: change for name, change in changes.items() if change}


def _table(by: str, changes: Mapping[Any, Change], judged: Mapping[Any, str]) -> pl.DataFrame:
    """Changes as rows, with their verdicts."""
    rows = [{by: name, **asdict(change), "verdict": judged[name]} for name, change in changes.items()]
    floats = dict.fromkeys(("ratio", "low", "high"), pl.Float64)
    ints = dict.fromkeys(("count", "blocks"), pl.Int64)
    return pl.DataFrame(rows, {by: _KEYS[by]} | floats | ints | {"freedom": pl.Float64, "verdict": pl.String})


def transitions(pairs: pl.DataFrame) -> pl.DataFrame:
    """Count which status or error became which, from ``kind`` and ``kind_new``; the most frequent first."""
    counts = pairs.group_by("kind", "kind_new").len().sort("len", "kind", "kind_new", descending=[True, False, False])
    return counts.select(
        baseline=pl.Series([arrays.kind_name(kind) for kind in counts["kind"]], dtype=pl.String),
        candidate=pl.Series([arrays.kind_name(kind) for kind in counts["kind_new"]], dtype=pl.String),
        requests="len",
    )


def share(pairs: pl.DataFrame, of: pl.Expr) -> Share:
    """Return a share of the pairs, and its 95 % interval; None without pairs."""
    if pairs.is_empty():
        return None
    found = int(pairs.select(of.sum()).item() or 0) / pairs.height
    low, high = wilson(found, pairs.height, 1.96)
    return found, float(low), float(high)


def other_size() -> pl.Expr:
    """Whether ``bytes`` and ``bytes_new`` differ by more than 1 % and by more than 64."""
    difference = (pl.col("bytes") - pl.col("bytes_new")).abs()
    return (difference > 64) & (difference > 0.01 * pl.col("bytes"))
