"""Compares runs: slower, faster, or no difference detected.

Runs of the same log are compared request by request: the same row at the same rate, in both runs. That finds a
change of 3 % where the percentiles of a run, taken alone, differ by more from one minute to the next. Runs of
different logs can only be compared by their percentiles. One pair of runs does not show how much runs differ by
themselves. Several pairs, run in turn, A B A B, are judged by the spread between the pairs. Runs that were made at
once, as a duet, are compared pair by pair, over the same short blocks of time: what disturbed one disturbed the other.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeVar

import numpy as np
import polars as pl

from logreplay.analysis.format_time import WIDEST, interval
from logreplay.analysis.input import sources
from logreplay.analysis.input.downcast import FIRST_ERROR
from logreplay.analysis.input.sources import Source
from logreplay.analysis.statistics.failures import share_of
from logreplay.analysis.untested import another_mix, not_tested
from logreplay.analysis.verdict.ratio_interval import (
    ALL,
    AT_ONCE_TOLERANCE,
    DIFFERENT,
    FEWEST_PAIRS,
    QUANTILES,
    SHORTEST_S,
    TOLERANCE,
    UNDECIDED,
    Change,
    Measurement,
    combined,
    drift,
    of_routes,
    together,
)
from logreplay.analysis.verdict.run_pairs import PairOfRuns, of_a_duet, pair_of_runs
from logreplay.analysis.verdict.shares import (
    FAILS_MORE,
    FEW,
    Compared,
    fails_more,
    other_size,
    rise,
    share,
    transitions,
)
from logreplay.core.frames import to_pandas
from logreplay.core.masking import safe_to_show
from logreplay.core.plural import first_of, listed, number_of

if TYPE_CHECKING:
    import pandas as pd

Key = TypeVar("Key", bound=Hashable)

_GROUPS: Final = 30
_NAMED: Final = 3
"""Routes or rates that are named of those without a row."""
_HEADLINE: Final = {True: "typical ratio", False: "p50"}
"""Name of the first change of runs with pairs, and of runs without."""
_KEYS: Final = {"pair": pl.Int64, "rate": pl.Float64, "route": pl.String}

_ONE_PAIR: Final = (
    "one pair of runs does not show how much runs differ by themselves: run both in turn, three times or more, and "
    "compare all of them: BASELINE CANDIDATE BASELINE CANDIDATE ..."
)
_SHORT: Final = (
    f"in a duet below {SHORTEST_S:g} s, a delay of half a second at one target can look like a change; repeat "
    "it with --for 10s or longer"
)
_IN_A_DUET: Final = (
    "both runs at once, as a duet, would see less of what disturbs this machine: logreplay duet LOG BASELINE CANDIDATE"
)
_PAIRS_TOGETHER: Final = (
    "the interval of each pair of runs allows for the number of pairs, by the method of Holm: a pair that is compared "
    "alone can have a narrower one"
)
_NOT_IN_TURN: Final = (
    "the runs of a pair did not follow each other: a change of the machine between them counts as one of the target; "
    "run in turn, and name the runs in turn: BASELINE CANDIDATE BASELINE CANDIDATE ..."
)


@dataclass(frozen=True, repr=False)
class Comparison(Compared):
    """What differs between two runs, or between several pairs of runs.

    Attributes:
        sentence: the answer in words.
        paired: True if requests were compared one by one.
        at_once: the runs were made at the same time, as a duet.
        tolerance: changes up to this fraction do not count.
        change: change of the response time: typical ratio of the pairs, or ratio of the medians; of several pairs of
            runs the geometric mean of theirs; None where too few.
        slower_share: share of the pairs in which the candidate was slower (ties half); None if not paired.
        quantiles: name → ratio of that percentile of the runs.
        pairs: number of the pair of runs, from 1 → its change.
        steps: rate → change of the requests at that rate.
        routes: route → its change, for the most frequent ones. The intervals of percentiles, pairs, rates and routes
            allow for their number; in a duet for that of all of them.
        statuses: status of the baseline and of the candidate, and requests, the most frequent first.
        status_changed: share of the pairs whose status class differs, with its 95 % interval; None without pairs.
        bytes_changed: share of the answered pairs whose bodies differ by more than 1 % and 64 bytes, likewise.
        failed: share of requests that failed: of the baseline, of the candidate; all steps of a sweep.
        failed_more: difference of these shares, candidate minus baseline, with its 95 % interval.
        notes: omissions, and why.
        checks: the validity of the runs, and the limits that were asked for.
        not_covered: the sentence that names untested conditions; empty where the times are not compared.
    """

    paired: bool
    slower_share: float | None
    quantiles: dict[str, Change]
    pairs: dict[int, Change]
    steps: dict[float, Change]
    routes: dict[str, Change]
    at_once: bool = False
    not_covered: str = ""
    _plain: ClassVar = ("sentence", "verdict", "paired", "headline", "slower_share", "notes", "not_covered")

    @property
    def headline(self) -> str:
        """What `change` is: the ``typical ratio`` of pairs of requests, or ``p50`` of runs without pairs."""
        return _HEADLINE[self.paired]

    @property
    def verdicts(self) -> dict[str, str]:
        """Name → verdict on the change of all requests (``all``), of a percentile or of a route."""
        changes = {**({ALL: self.change} if self.change else {}), **self.quantiles, **self.routes}
        return {name: change.verdict(self.tolerance) for name, change in changes.items()}

    @property
    def by_pair(self) -> "pd.DataFrame":
        """The changes of the pairs of runs: ``pair`` (from 1), the attributes of `Change`, ``verdict``."""
        return _table(self, "pair")

    @property
    def by_step(self) -> "pd.DataFrame":
        """The changes by ``rate``, likewise."""
        return _table(self, "rate")

    @property
    def by_route(self) -> "pd.DataFrame":
        """The changes by ``route``, likewise."""
        return _table(self, "route")

    def rows(self, by: str) -> list[dict[str, Any]]:
        """The changes by ``pair``, ``rate``, ``route`` or ``percentile`` as rows with their verdicts."""
        tables: dict[str, Mapping[Any, Change]] = {
            "pair": self.pairs, "rate": self.steps, "route": self.routes, "percentile": self.quantiles,
        }  # fmt: skip
        judged = tables[by].items()
        return [{by: name, **each.as_dict(), "verdict": each.verdict(self.tolerance)} for name, each in judged]

    @property
    def _judged(self) -> dict[str, Change]:
        whole = super()._judged
        if not (whole and self.at_once):
            return whole
        steps = self.steps if len(self.steps) > 1 else {}
        rates = {f"{rate:g}/s": change for rate, change in steps.items()}
        return {**whole, **self.quantiles, **self.routes, **rates}

    def _tables(self) -> dict[str, Any]:
        quantiles = {
            name: change.as_dict() | {"verdict": change.verdict(self.tolerance)}
            for name, change in self.quantiles.items()
        }
        rows = {f"by_{name}": self.rows(by) for name, by in (("pair", "pair"), ("step", "rate"), ("route", "route"))}
        return {"quantiles": quantiles, **rows}


def _table(found: Comparison, by: str) -> "pd.DataFrame":
    figures = {each.name: pl.Int64 if each.type is int else pl.Float64 for each in fields(Change)}
    return to_pandas(pl.DataFrame(found.rows(by), {by: _KEYS[by], **figures, "verdict": pl.String}))


def compare(baseline: Source, candidate: Source, *more: Source, tolerance: float | None = None) -> Comparison:
    """Compare the result logs of two runs, request by request where both replayed the same log; or of several pairs.

    The result logs of a duet, read from files, are compared as `compare_duet` does. Changes up to the tolerance (None:
    `usual_tolerance`) do not count, however certain.
    """
    runs = (baseline, candidate, *more)
    duets = [of_a_duet(old, new) for old, new in _pairs(runs)]
    if tolerance is None:
        tolerance = AT_ONCE_TOLERANCE if all(duets) else TOLERANCE
    if duets == [True]:
        return compare_duet(baseline, candidate, tolerance, second_baseline(baseline, candidate))
    found = [pair_of_runs(old, new, at_once=duet) for (old, new), duet in zip(_pairs(runs), duets, strict=True)]
    judged = _judged(found)
    notes = [*_of_pairs([each.notes for each in found])]
    notes += _without_row(found, judged)
    if len(found) == 1:
        notes.append(_ONE_PAIR)
        if found[0].paired and judged.change and judged.change.verdict(tolerance) == UNDECIDED:
            notes.append(_IN_A_DUET)
    else:
        notes += [*_left_out(runs, found), *[_PAIRS_TOGETHER] * (len(judged.pairs) > 1)]
        if not _in_turn(runs):
            notes.append(_NOT_IN_TURN)
    return _comparison(found, judged, tolerance, notes)


def second_baseline(baseline: Source, candidate: Source) -> Path | None:
    """The result log of the second baseline of a duet, if these are its other two in their own roles."""
    old, new = (sources.locate(Path(str(run))) for run in (baseline, candidate))
    if [path.name.partition(".")[0] for path in (old, new)] != ["baseline", "candidate"] or old.parent != new.parent:
        return None
    noise = sources.results_in(old.parent, "noise")
    return noise if noise and of_a_duet(old, noise) else None


def usual_tolerance(*runs: Source) -> float:
    """The fraction up to which changes do not count; smaller between the result logs of duets."""
    return AT_ONCE_TOLERANCE if all(of_a_duet(old, new) for old, new in _pairs(runs)) else TOLERANCE


def compare_duet(
    baseline: Source, candidate: Source, tolerance: float = AT_ONCE_TOLERANCE, noise: "Source | None" = None
) -> Comparison:
    """Compare the result logs of two runs that were made at once.

    ``noise`` is that of a second instance of the baseline: it shows how much equal targets differ.

    Raises:
        LogreplayError: a result log cannot be read.
    """
    found = pair_of_runs(baseline, candidate, at_once=True, noise=noise)
    judged = _judged([found])
    notes = [*found.notes, *_without_row([found], judged)]
    if judged.change:
        rates, times = (pl.concat([side[name] for side in found.sides]) for name in ("rate", "scheduled"))
        if rates.n_unique() == 1:  # or the halves differ by their rates
            late = pl.col("scheduled") >= float(np.median(times.to_numpy()))
            notes += drift([found.part(~late), found.part(late)], tolerance)
        if judged.change.verdict(tolerance) in DIFFERENT and found.span < SHORTEST_S:
            notes.append(_SHORT)
    return _comparison([found], judged, tolerance, notes, at_once=True)


class _Judged(NamedTuple):
    """The changes that one answer gives."""

    change: Change | None
    quantiles: dict[str, Change]
    steps: dict[float, Change]
    routes: dict[str, Change]
    pairs: dict[int, Change]


def _judged(found: Sequence[PairOfRuns]) -> _Judged:
    """The changes of one pair of runs, or of several by the spread between them, with their intervals."""
    routes, rates = (_most_frequent(found, by) for by in ("route", "rate"))
    wholes = [each.change.change() if each.change else None for each in found]
    by_route = [
        of_routes(whole, each.deviations(routes)) if whole else {} for each, whole in zip(found, wholes, strict=True)
    ]
    several_rates = [rate for rate in rates if rate] if len(rates) > 1 else []  # 0: none was asked for
    by_rate = [{rate: part for rate in several_rates if (part := each.part(pl.col("rate") == rate))} for each in found]
    whole = combined(wholes)
    change = wholes[0] if len(found) == 1 else whole.change() if whole else None
    headline = {"p50": change} if change and not any(each.paired for each in found if each.change) else {}
    quantiles = [{name: each for name, each in pair.quantiles.items() if name not in headline} for pair in found]
    if len(found) == 1:
        beside: dict[Any, Change] = together({**quantiles[0], **by_rate[0]})
        quantiles_found = {name: beside[name] for name in quantiles[0]}
        steps, changed_routes = {rate: beside[rate] for rate in by_rate[0]}, by_route[0]
    else:
        quantiles_found = _over_pairs([_alone(each) for each in quantiles])
        steps, changed_routes = _over_pairs([_alone(each) for each in by_rate]), _over_pairs(by_route)
    if change and _one(found, "rate") and rates[0]:
        steps = {rates[0]: change}
    if change and _one(found, "route"):
        changed_routes = {routes[0]: change}
    pairs = together({index: each.change for index, each in enumerate(found, 1) if each.change})
    return _Judged(change, headline | quantiles_found, dict(sorted(steps.items())), changed_routes, pairs)


def _alone(found: Mapping[Key, Measurement]) -> dict[Key, Change]:
    return {name: each.change() for name, each in found.items()}


def _comparison(
    found: Sequence[PairOfRuns], judged: _Judged, tolerance: float, notes: list[str], *, at_once: bool = False
) -> Comparison:
    pairs = pl.concat(each.pairs for each in found)
    logs = np.concatenate([each.timed["log"].to_numpy() for each in found])
    bad = tuple([each.failed[side] for each in found] for side in (0, 1))
    failed, more = (share_of(bad[0]), share_of(bad[1])), rise(*bad)
    answered = pairs.filter(pl.col("kind") == pl.col("kind_new"), pl.col("kind") < FIRST_ERROR)
    paired = all(each.paired for each in found)
    headline = " in the typical ratio" if paired else " at p50"
    if not judged.change:
        text = _unknown(found, judged, tolerance)
    elif at_once:
        text = _of_duet(judged, tolerance, headline, paired=paired)
    else:
        text = judged.change.sentence(tolerance, headline)
    return Comparison(
        sentence=_sentence(text, failed, more),
        paired=paired,
        tolerance=tolerance,
        at_once=at_once,
        **judged._asdict(),
        slower_share=float((logs > 0).mean() + (logs == 0).mean() / 2) if len(logs) else None,
        statuses=transitions(pairs),
        status_changed=share(pairs, pl.col("kind") // 100 != pl.col("kind_new") // 100),
        bytes_changed=share(answered, other_size()),
        failed=failed,
        failed_more=more,
        notes=notes,
        not_covered=_not_covered(found, judged, headline),
    )


def _not_covered(found: Sequence[PairOfRuns], judged: _Judged, of: str) -> str:
    """The sentence on the conditions that a verdict does not cover; empty without one."""
    if not judged.change:
        return ""
    compared = [each for each in found if each.change]
    routes = pl.concat([each.sides[0].select("route") for each in compared])["route"].n_unique()
    rows = {of.removeprefix(" in ").removeprefix(" at "): judged.change, **judged.quantiles, **judged.routes}
    known = {name: each for name, each in rows.items() if each.high <= WIDEST * each.low}
    name = max(known, key=lambda name: known[name].high / known[name].low, default="")
    range_of = f"that of {safe_to_show(name)} ({interval(known[name].low, known[name].high)})" if name else ""
    span = min(each.span for each in compared)
    text = not_tested("both were compared over", [span], "verdict", "another load", another_mix(routes))
    return text + f"; the widest interval is {range_of}" * bool(range_of)


def _pairs(runs: Sequence[Source]) -> Iterator[tuple[Source, Source]]:
    """Each baseline with its candidate."""
    return zip(runs[::2], runs[1::2], strict=True)


def _in_turn(runs: Sequence[Source]) -> bool:
    """Whether the runs of each pair followed each other in time; True where a time is unknown."""
    starts = [sources.started(run) for run in runs]
    known = [start for start in starts if start is not None]
    order = {start: place for place, start in enumerate(sorted(known))}
    places = [order[start] // 2 for start in known]
    return len(known) < len(runs) or places[::2] == places[1::2]


def _sentence(text: str, failed: tuple[float, float], more: tuple[float, float, float]) -> str:
    """The answer: first the failures, where surely more requests fail."""
    figures = f"{failed[1]:.2%} of the requests failed, {failed[0]:.2%} in the baseline"
    if fails_more(more):
        return f"{FAILS_MORE}: {figures} ({more[1]:+.2%} to {more[2]:+.2%}); response times of the others: {text}"
    chance = " (may be chance)" if more[1] <= 0 <= more[2] else ""
    return f"{text}; {figures}{chance}" if abs(more[0]) > FEW else text


def _of_duet(judged: _Judged, tolerance: float, of: str, *, paired: bool) -> str:
    """The verdict on a duet: the percentiles and rates that differ, and how many routes."""
    change, routes = judged.change, judged.routes
    quantiles = {name: each for name, each in judged.quantiles.items() if paired or name != "p50"}
    rates = {f"{rate:g}/s": each for rate, each in judged.steps.items()} if len(judged.steps) > 1 else {}
    assert change
    others = [name for name, each in {**quantiles, **routes, **rates}.items() if each.verdict(tolerance) in DIFFERENT]
    parts = [change.sentence(tolerance, of)] if change.verdict(tolerance) in DIFFERENT or not others else []
    parts += [f"{name} {quantiles[name].sentence(tolerance)}" for name in others if name in quantiles]
    for verdict in DIFFERENT:
        if such := [rate for rate, each in rates.items() if each.verdict(tolerance) == verdict]:
            parts.append(f"{verdict} at {first_of(such, _NAMED)}")
        if count := sum(each.verdict(tolerance) == verdict for each in routes.values()):
            parts.append(f"{count} of {len(routes)} routes {verdict}")
    return "; ".join(parts)


def _unknown(found: Sequence[PairOfRuns], judged: _Judged, tolerance: float) -> str:
    """Words for a comparison without the change of all requests: the figures it has, those it lacks, and the reason."""
    known = sum(each.change is not None for each in found)
    several = f"{known} of {len(found)} pairs of runs can be judged, two are needed"
    why = found[0].too_few if len(found) == 1 else several
    if not judged.quantiles:
        return f"nothing to compare: {why}"
    compared = [f"{name} {each.sentence(tolerance)}" for name, each in judged.quantiles.items()]
    missing = [name for p in QUANTILES if (name := f"p{100 * p:g}") not in judged.quantiles]
    missing = ["the typical ratio", *missing] if all(each.paired for each in found) else missing
    return f"compared: {', '.join(compared)}; not compared: {listed(missing)}: {why}"


def _left_out(runs: Sequence[Source], found: Sequence[PairOfRuns]) -> Iterator[str]:
    """Name the pairs that the change of the times leaves out, and why."""
    for at, each in enumerate(found):
        if each.change is None:
            files = [str(run) for run in runs[2 * at : 2 * at + 2] if isinstance(run, (str, Path))]
            name = f"pair {at + 1} ({' → '.join(files)})" if files else f"pair {at + 1}"
            yield f"{name} is left out: {each.too_few}"


def _of_pairs(notes: Sequence[Sequence[str]]) -> Iterator[str]:
    """The notes of all pairs of runs, each once; a note of some pairs names them."""
    for note in dict.fromkeys(chain.from_iterable(notes)):
        own = [f"{at}" for at, each in enumerate(notes, 1) if note in each]
        yield note if len(own) == len(notes) else f"pair {listed(own)}: {note}"


def _without_row(found: Sequence[PairOfRuns], judged: _Judged) -> Iterator[str]:
    """Count and name the routes and rates of which the tables have no row."""
    for by, rows in (("route", judged.routes), ("rate", judged.steps)):
        keys = pl.concat([each.sides[0].select(pl.col(by).cast(_KEYS[by])) for each in found])[by]
        counts = keys.filter(~keys.is_in([*rows]) & (keys.cast(pl.String) != "0.0")).value_counts(sort=True)
        if rows and counts.height:
            names = [safe_to_show(name) for name in counts[by].head(_NAMED).cast(pl.String)]
            more = " and more" * (counts.height > _NAMED)
            yield (
                f"{number_of(counts.height, by)} without a row in the table, "
                f"{number_of(int(counts['count'].sum()), 'request')} of the baseline ({', '.join(names)}{more}): fewer "
                f"than {FEWEST_PAIRS} each, or not among the {_GROUPS} most frequent"
            )


def _most_frequent(found: Sequence[PairOfRuns], by: str) -> list[Any]:
    """The most frequent routes, or rates."""
    keys = pl.concat([each.sides[0].select(by) for each in found])
    counts = keys.group_by(by, maintain_order=True).len().sort("len", descending=True, maintain_order=True)
    return counts[by].head(_GROUPS).to_list()


def _one(found: Sequence[PairOfRuns], by: str) -> bool:
    """Whether all runs have the same one route, or rate."""
    return pl.concat([side.select(by) for each in found for side in each.sides])[by].n_unique() == 1


def _over_pairs(found: Sequence[Mapping[Key, Change]]) -> dict[Key, Change]:
    """The changes of rows over several pairs of runs."""
    names = dict.fromkeys(name for each in found for name in each)
    known = {name: combined([each.get(name) for each in found]) for name in names}
    return together({name: each for name, each in known.items() if each})
