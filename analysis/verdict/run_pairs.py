"""Reads two runs and finds the pairs of their requests: the same row at the same rate, or the same pair of a duet."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from logreplay.analysis.format_time import show
from logreplay.analysis.input import arrays, sources
from logreplay.analysis.input.downcast import CANCELLED, DROPPED_KIND, compact, is_readable, unreadable
from logreplay.analysis.input.routes import route
from logreplay.analysis.input.run_metadata import limited_steps, summary_of, void_trials
from logreplay.analysis.input.sources import Source
from logreplay.analysis.statistics import swapped, typical_value
from logreplay.analysis.statistics.failures import Series
from logreplay.analysis.statistics.quantiles import PERCENTILES, lag_in, valid_rank
from logreplay.analysis.tables.aggregate import SETTLE
from logreplay.analysis.verdict import stability
from logreplay.analysis.verdict.ratio_interval import (
    FEWEST_PAIRS,
    QUANTILES,
    SECOND_PAIR,
    SHORTEST_S,
    SWAPPED_SERIES,
    Measurement,
    answered,
    deviations,
    median_deviations,
    ratio_changes,
    span_of,
    typical_change,
)
from logreplay.analysis.verdict.shares import hits
from logreplay.core.errors import LogreplayError
from logreplay.core.masking import safe_to_show
from logreplay.core.plural import first_of, listed, number_of
from logreplay.core.record import SCHEMA, SWAP_TURN, TARGET
from logreplay.core.rows import left_out
from logreplay.core.validity import LAG_US, holds_lag, sent_late

_SAME_LOG: Final = 0.9
MOST_LATE: Final = 0.1
"""Largest share of requests whose own response time holds too much lag: a tenth of the pairs hardly moves a median."""
_SAME_INSTANT: Final = timedelta(milliseconds=1)
_BATCH: Final = 1 << 14
_ANSWERS: Final = ("second", "kind", "kind_new", "bytes", "bytes_new")
_TIMED: Final = ("scheduled", "response", "response_new", "route", "rate")
_OF_BOTH: Final = ("what", "kind", "good", "bytes", "response")
_OF_BASELINE: Final = ("scheduled", "route", "rate")
"""Columns that a pair has of both runs, and of its baseline."""

_NAMED: Final = 3
"""Requests that are named of those without a pair."""
_PAIRS_APART: Final = 0.03
"""Smallest difference of two pairs of targets that is reported, as a logarithm."""
_NOISE_KNOWN: Final = 0.9
"""Smallest share of the pairs that the control must have answered to be used."""


@dataclass(frozen=True, slots=True)
class _Lag:
    """The share of requests whose own time holds too much lag; the lag in percentiles, and the largest; seconds."""

    share: float
    added: dict[float, float]
    longest: float


Sides = tuple[pl.DataFrame, pl.DataFrame]
"""Both runs: ``scheduled``, ``response``, ``route``, ``rate`` of the requests that were answered as expected."""


@dataclass(frozen=True, slots=True)
class PairOfRuns:
    """One baseline, one candidate: their requests in pairs (``timed``: those with times of both), and what differs.

    ``change`` is the typical ratio of the pairs; of runs without pairs, the ratio of their medians. It is None if it
    cannot be judged (``unfit`` says why), or if there are too few requests, or less than ``shortest`` seconds of them.
    """

    paired: bool
    pairs: pl.DataFrame
    timed: pl.DataFrame
    sides: Sides
    change: Measurement | None
    quantiles: dict[str, Measurement]
    failed: tuple[Series, Series]
    notes: list[str]
    unfit: str
    shortest: float

    def part(self, of: pl.Expr) -> Measurement | None:
        """The change of the requests of which an expression is true, such as those at one rate."""
        if self.change is None:
            return None
        if self.paired:
            return typical_change(self.timed.filter(of))
        return ratio_changes([side.filter(of) for side in self.sides], (0.5,)).get("p50")

    def deviations(self, routes: Sequence[str]) -> dict[str, Measurement]:
        """How much each route deviates from all requests."""
        if self.change is None:
            return {}
        return deviations(self.timed, routes) if self.paired else median_deviations(self.sides, routes)

    @property
    def span(self) -> float:
        """Seconds of the shorter run."""
        return span_of(self.sides)

    @property
    def too_few(self) -> str:
        """Why the change of the times is unknown."""
        if self.unfit:
            return self.unfit
        if min(side.height for side in self.sides) < FEWEST_PAIRS:
            few = f"fewer than {FEWEST_PAIRS} requests were answered as expected, with a time above 0, in both runs"
            return f"{few}: run longer, or at a higher rate"
        if self.span < self.shortest:
            return f"less than {self.shortest:g} s of requests: run longer"
        if SWAP_TURN in self.timed.columns:
            few = f"both pairs of targets had their turns fewer than {swapped.FEWEST} times"
            return f"{few}: run longer, or with a shorter --swap-every"
        fewest = typical_value.FEWEST_BLOCKS
        return f"the requests fall into fewer than {fewest} blocks of time: run longer, or at an even rate (--tps)"


def pair_of_runs(
    baseline: Source, candidate: Source, *, at_once: bool = False, noise: "Source | None" = None
) -> PairOfRuns:
    """Read both runs, and pair their requests; ``at_once``: as those of a duet, with its second baseline."""
    notes: list[str] = []
    key = ["seq"] if at_once else ["rate", "row", "turn"]
    whole = rows(baseline, notes, at_once=at_once), rows(candidate, notes, at_once=at_once)
    failed = hits(whole[0], pl.col("failed")), hits(whole[1], pl.col("failed"))
    old, new, unfit = _comparable((baseline, candidate), whole, notes)
    del whole
    lags = _lag_of(old), _lag_of(new)
    notes += _sent_late(lags)
    if at_once:
        old = old.sort("seq")
    turns = [name for name in (SWAP_TURN, SECOND_PAIR, TARGET) if name in old.columns and name in new.columns]
    pairs = old.select(*dict.fromkeys((*key, *_OF_BOTH, *_OF_BASELINE, *turns))).join(
        new.select(*key, *_OF_BOTH), on=key, suffix="_new", maintain_order="left"
    )
    alike = pl.col("what") == pl.col("what_new")
    number = int(pairs.select(alike.sum()).item())
    paired = number >= max(_SAME_LOG * pairs.height, 0.5 * min(old.height, new.height), 1)
    pairs = pairs.filter(alike) if paired else pairs.head(0)
    notes += _without_pair((old, new), pairs, key) if paired else ()
    if not (paired or at_once or unfit):
        notes.append(f"{_why_unpaired(old, new)}: compared by percentiles, which sees far less")
    timed = pairs.filter("good", "good_new", pl.col("response") > 0, pl.col("response_new") > 0)
    if left := pairs.height - timed.height:
        were = number_of(left, "pair is", "pairs are")
        notes.append(f"{were} left out of the times: not answered as expected, with a time above 0, in both runs")
    if paired and noise is not None and not turns:
        timed = _with_noise(timed, noise, notes)
    timed = timed.select(*_TIMED, *turns, pl.col("^noise$"), log=(pl.col("response_new") / pl.col("response")).log())
    sides = _sides_of(timed) if paired else (answered(old), answered(new))
    notes += (*_without_turns(timed), *_between_pairs(timed)) if turns else ()
    pairs = pairs.with_columns(second=pl.col("scheduled").cast(pl.Int32)).select(*_ANSWERS)
    del old, new  # a hundred bytes for each request
    quantiles = ratio_changes((*sides, *_second_baseline(timed)))
    change = typical_change(timed) if paired else quantiles.get("p50")
    reached = {p for lag in lags for p in lag.added}
    notes += _in_few_bursts(quantiles, reached) if change and span_of(sides) >= SHORTEST_S else ()
    quantiles = {name: each for name, each in quantiles.items() if PERCENTILES[name] not in reached}
    if max(lag.share for lag in lags) > MOST_LATE:
        unfit = "requests were sent late, so that the response times hold the generator's lag"
    shortest = typical_value.SHORTEST_S if paired and at_once else SHORTEST_S
    if unfit or span_of(sides) < shortest:
        change = None
    return PairOfRuns(paired, pairs, timed, sides, change, quantiles, failed, notes, unfit, shortest)


def _why_unpaired(old: pl.DataFrame, new: pl.DataFrame) -> str:
    """Why the requests of runs that were made apart are not pairs."""
    rates = [run["rate"].unique().sort().to_list() for run in (old, new)]
    if {*rates[0]}.isdisjoint(rates[1]):
        shown = (first_of([f"{rate:g}/s" for rate in each if rate]) or "none" for each in rates)
        return "the runs have no rate in common (baseline: {}; candidate: {})".format(*shown)
    return "the runs do not replay the same requests"


def _without_pair(runs: Sequence[pl.DataFrame], pairs: pl.DataFrame, key: Sequence[str]) -> Iterator[str]:
    """Count and name the requests of both runs that have no partner in the other."""
    at = "row" if "row" in key else "seq"
    for name, run in zip(("baseline", "candidate"), runs, strict=True):
        if left := run.height - pairs.height:
            first = run.join(pairs, on=key, how="anti")[at].sort().head(_NAMED).to_list()
            of = f"{left:,} of {number_of(run.height, 'request')} of the {name}"
            one = "row" if at == "row" else "request"
            such = f"{one}{'s' * (len(first) > 1)} {listed([f'{each:,}' for each in first])}"
            yield f"not compared: {of}, which the other run does not have ({such}{' and more' * (left > len(first))})"


def _with_noise(timed: pl.DataFrame, noise: Source, notes: list[str]) -> pl.DataFrame:
    """The pairs that a second instance of the baseline answered too, with the logarithm of its ratio."""
    second = rows(noise, [], at_once=True).filter("good", pl.col("response") > 0)
    known = timed.join(second.select("seq", second="response"), on="seq", maintain_order="left")
    if known.height < _NOISE_KNOWN * timed.height:
        notes.append("the second baseline answered too few of the requests to show how much equal targets differ")
        return timed
    if left := timed.height - known.height:
        was = number_of(left, "pair is", "pairs are")
        notes.append(f"{was} left out of the times: the second baseline did not answer as expected")
    return known.with_columns(noise=(pl.col("second") / pl.col("response")).log())


def _without_turns(timed: pl.DataFrame) -> Iterator[str]:
    """Count the pairs of requests whose turn has no other beside it, such as those at the end of a run."""
    (times,) = swapped.times_of([timed[SWAP_TURN].to_numpy()])
    if count := int((times < 0).sum()):
        left = number_of(count, "pair is", "pairs are")
        yield f"{left} left out of the times: only one of both pairs of targets had its turn"


def _between_pairs(timed: pl.DataFrame) -> Iterator[str]:
    """Say if the pairs of targets differ: the machines do, or the targets of the second pair are in the wrong order."""
    found = swapped.estimate(*(timed[name].to_numpy() for name in SWAPPED_SERIES))
    if found is None:
        return
    change, apart = found
    low, high = apart.ends()
    if abs(apart.value) > _PAIRS_APART and not low <= 0 <= high:
        first, second = (math.expm1(change.value + sign * apart.value) for sign in (1, -1))
        one, other = (
            safe_to_show(timed.filter(pl.col(SECOND_PAIR) == is_second)[TARGET].cast(pl.String)[0])
            for is_second in (False, True)
        )
        yield (
            f"candidate against baseline: {first:+.1%} where {one} is the baseline, {second:+.1%} where {other} is: "
            "the machines differ by that, or the two addresses of --swap are in the wrong order"
        )


def _in_few_bursts(found: Collection[str], reached: Collection[float]) -> Iterator[str]:
    """Name the percentiles that are not compared, because too few requests are above them; not those sent late."""
    if names := [name for p in QUANTILES if (name := f"p{100 * p:g}") not in found and p not in reached]:
        yield (f"{listed(names)}: not compared, since the requests above came in too few bursts of time; run longer")


def _lag_of(run: pl.DataFrame) -> _Lag:
    """The generator's lag in the response times of a run."""
    good = run.filter("good")
    response, lag = good["response"].to_numpy() * 1e6, good["lag"].to_numpy()
    if (longest := int(lag.max(initial=0))) <= LAG_US:
        return _Lag(0.0, {}, longest / 1e6)
    ordered, free, lags = (np.sort(times) for times in (response, response - lag, lag))
    valid = valid_rank([(ordered, free)])
    added = {p: micros / 1e6 for p in QUANTILES if (micros := lag_in(p, ordered, free, lags, valid)) is not None}
    return _Lag(float(holds_lag(response, response - lag).mean()), added, longest / 1e6)


def _sent_late(lags: tuple[_Lag, _Lag]) -> Iterator[str]:
    """Name the percentiles that are not compared, because requests were sent late."""
    for run, lag in zip(("baseline", "candidate"), lags, strict=True):
        if lag.added:
            late = sent_late(lag.added, lag.longest, show, of=f" of the {run}", fate="not compared")
            yield f"{late}; stop other processes, and repeat the run"


def _sides_of(timed: pl.DataFrame) -> Sides:
    """Both runs, each with the requests that were answered as expected in both."""
    names = ["scheduled", "route", "rate", *[SWAP_TURN] * (SWAP_TURN in timed.columns)]
    return timed.select(*names, "response"), timed.select(*names, response="response_new")


def _second_baseline(timed: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The second instance of the baseline of a duet, with the requests of both sides, if there is one."""
    if "noise" in timed.columns:
        yield timed.select("scheduled", response=pl.col("response") * pl.col("noise").exp())


def of_a_duet(baseline: Source, candidate: Source) -> bool:
    """Whether two files are result logs of one duet: its clock began at one instant, and its requests are other ones.

    A copy of a run begins at the same instant, too, and sent each request at the same microsecond.
    """
    if not (isinstance(baseline, str | Path) and isinstance(candidate, str | Path)):
        return False
    starts = [sources.started(run) for run in (baseline, candidate)]
    apart = starts[1] - starts[0] if starts[0] and starts[1] else None
    if apart is None or abs(apart) >= _SAME_INSTANT:
        return False
    return not sources.first_sends(baseline).equals(sources.first_sends(candidate))


def rows(source: Source, notes: list[str], *, at_once: bool = False) -> pl.DataFrame:
    """Load what a comparison needs of each request; note which rows cannot be read.

    Returns:
        The key of a pair: of a duet (``at_once``) ``seq``; of runs made apart ``rate`` (asked of the step), ``row`` of
        the log, and ``turn`` (how often the row came before in the step), in the order of ``seq``. ``step``; ``lag``:
        microseconds; ``route``; ``what``: hash of method and URL; ``scheduled``, ``response``: seconds; ``good``,
        ``failed``, ``kind``, ``bytes`` as in `logreplay.analysis.input.arrays.RequestArrays`. Of a duet in which two
        pairs of targets took turns also `SWAP_TURN`, `TARGET`, and `SECOND_PAIR`: whether the turn was that of another
        pair than in the first row.
    """
    columns = {
        "route": route(pl.col("url")).cast(pl.Categorical),
        "rate": pl.col("offered").fill_nan(0.0),
        "seq": pl.coalesce("seq", "position"),
    }
    turns = (SWAP_TURN, TARGET) if at_once and SWAP_TURN in sources.columns_of(source) else ()
    columns |= {TARGET: pl.col(TARGET).cast(pl.Categorical), SWAP_TURN: pl.col(SWAP_TURN)} if turns else {}
    found = readable(source, notes, "step", "lag", empty=at_once, needs=turns, **columns)
    if turns:
        second = (pl.col(TARGET) != pl.col(TARGET).first()).alias(SECOND_PAIR)
        found = found.filter(pl.col(SWAP_TURN).is_not_null()).with_columns(second)
    if at_once:
        _check_once(found["seq"], source)
        return found.drop("row")
    return found.sort("seq").with_columns(turn=pl.int_range(pl.len()).over("rate", "row"))


def _check_once(numbers: pl.Series, source: Source) -> None:
    """Check that each request has one row: others would be paired with each of its rows."""
    if numbers.n_unique() < len(numbers):
        twice = numbers.filter(numbers.is_duplicated())[0]
        raise LogreplayError(
            f"{sources.name_of(source)}: {numbers.name} {twice} stands in several rows: the requests cannot be paired; "
            "name a file in which each has a row of its own"
        )


def readable(
    source: Source, notes: list[str], *names: str, empty: bool = False, needs: Sequence[str] = (), **columns: pl.Expr
) -> pl.DataFrame:
    """Load the requests that were sent: ``row``, ``what``, times, outcome, and further columns; note the others.

    Args:
        names: further columns, unchanged.
        empty: accept a result log without requests, as a short duet may leave.
        needs: further columns of the file that ``columns`` are computed of.
    """
    kept: dict[str, pl.Expr] = {
        **{name: pl.col(name) for name in ("good", "kind", "bytes", *names)},
        "failed": ~pl.col("good") & (pl.col("kind") != CANCELLED),
        "row": pl.coalesce("row", "position"),
        "what": pl.concat_str("op", "url", ignore_nulls=True).hash(),
        "scheduled": pl.col("scheduled") / 1e6,
        "response": pl.col("response") / 1e6,
        **columns,
    }
    none = pl.DataFrame(schema={name: SCHEMA[name] for name in (*sources.COLUMNS, "row", "seq", *needs)})
    parts, position, refused, dropped = list[pl.DataFrame](), 0, Counter[str](), 0
    for batch in chain((none,), sources.batches(source, "row", "seq", *needs, size=_BATCH)):
        reduced = compact(batch.lazy()).with_row_index("position", position).collect()
        refused += unreadable(reduced)
        read, sent = reduced.filter(is_readable()), pl.col("kind") != DROPPED_KIND
        dropped += read.select((~sent).sum()).item()
        parts.append(read.filter(sent).select(**kept))
        position += batch.height
    if refused:
        notes.append(f"{sources.name_of(source)}: {left_out(refused)}")
    if dropped:
        was = number_of(dropped, "request was", "requests were")
        notes.append(
            f"{sources.name_of(source)}: {was} not sent (dropped), and {'is' if dropped == 1 else 'are'} left out"
        )
    found = pl.concat(parts)
    if found.is_empty() and not empty:
        raise LogreplayError(f"{sources.name_of(source)}: no request in it was sent: nothing to compare")
    return found


def _comparable(
    runs: tuple[Source, Source], whole: tuple[pl.DataFrame, pl.DataFrame], notes: list[str]
) -> tuple[pl.DataFrame, pl.DataFrame, str]:
    """The rows of both runs; of sweeps the settled part of the steps that both carried, or why there is none."""
    told = [summary_of(sources.path_of(source)) for source in runs]
    void = [void_trials(summary) for summary in told]
    counts = (~pl.col("step").is_in(list(each)).fill_null(False) for each in void)
    old, new = (run.filter(each) for run, each in zip(whole, counts, strict=True))
    for source, each in zip(runs, void, strict=True):
        if each:
            was = number_of(len(each), "invalid trial is", "invalid trials are")
            notes.append(f"{sources.name_of(source)}: {was} left out")
    if all(run["step"].n_unique() <= 1 for run in whole):
        return old, new, ""
    for source, run in zip(runs, whole, strict=True):
        if run["step"].n_unique() > 1 and not (run["rate"] > 0).any():
            raise LogreplayError(
                f"{sources.name_of(source)}: its steps have no rates, as those of a sweep over users, so it is unknown "
                "which of them to compare; compare runs with one number of users: logreplay run --vusers N"
            )
    tables = [
        stability.judged_steps(arrays.read(source), limited_steps(summary)).filter(~pl.col("step").is_in(list(each)))
        for source, summary, each in zip(runs, told, void, strict=True)
    ]
    stable = (pl.col("verdict") == "stable").all()  # of several trials, all
    carried = [set(table.filter(stable.over("rate"))["rate"].to_list()) for table in tables]
    offered = [set(run["rate"].unique().to_list()) for run in (old, new)]
    both = {rate for rate in offered[0] & offered[1] if all(any(abs(rate - r) < 1e-6 * r for r in c) for c in carried)}
    missing = sorted((offered[0] | offered[1]) - both)
    if missing:
        rates = first_of([f"{rate:g}/s" for rate in missing])
        count = number_of(sum(run.filter(pl.col("rate").is_in(missing)).height for run in (old, new)), "request")
        notes.append(f"left out: rates that one of the runs does not have, or did not carry: {rates}, {count}")
    settled = _settled(old, both), _settled(new, both)
    if left := sum(run.filter(pl.col("rate").is_in([*both])).height for run in (old, new)) - sum(
        r.height for r in settled
    ):
        notes.append(
            f"left out: the first {SETTLE:.0%} of each step, in which queues fill: {number_of(left, 'request')}"
        )
    if both:
        return *settled, ""
    kept = [first_of([f"{rate:g}/s" for rate in sorted(each)]) or "none" for each in carried]
    why = f"no rate was carried by both runs (baseline: {kept[0]}; candidate: {kept[1]}): run both at a rate they carry"
    return *settled, why


def _settled(run: pl.DataFrame, rates: set[float]) -> pl.DataFrame:
    start, end = (pl.col("scheduled").min().over("step"), pl.col("scheduled").max().over("step"))
    late = pl.col("scheduled") >= start + SETTLE * (end - start)
    return run.filter(pl.col("rate").is_in(list(rates)), late)
