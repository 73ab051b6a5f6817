"""Compares runs: slower, faster, or no difference detected.

Runs of the same log are compared request by request: the same row at the same rate, in both runs. That finds a
change of 3 % where the percentiles of a run, taken alone, differ by more from one minute to the next. Runs of
different logs can only be compared by their percentiles. One pair of runs says nothing of how much runs differ by
themselves. Several pairs, run in turn, A B A B, are judged by the spread between the pairs. Runs that were made at
once, as a duet, are compared pair by pair, over the same short blocks of time: what disturbed one disturbed the other.
"""

import filecmp
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from logreplay.analysis.input import sources
from logreplay.analysis.input.downcast import FIRST_ERROR
from logreplay.analysis.input.sources import Source
from logreplay.analysis.statistics import bootstrap
from logreplay.analysis.verdict.checks import Check, CheckedAnswer
from logreplay.analysis.verdict.ratio_interval import (
    ALL,
    AT_ONCE_TOLERANCE,
    DIFFERENT,
    TOLERANCE,
    Change,
    combined,
    drift,
    shared_change,
    together,
    together_in_duet,
)
from logreplay.analysis.verdict.run_pairs import PairOfRuns, of_a_duet, pair_of_runs, sides_of
from logreplay.analysis.verdict.shares import (
    FAILS_MORE,
    FEW,
    Share,
    as_rows,
    fails_more,
    other_size,
    rise,
    share,
    share_of,
    shares,
    table_of,
    transitions,
    verdict_of,
)
from logreplay.core.errors import LogreplayError
from logreplay.core.frames import to_pandas

if TYPE_CHECKING:
    import pandas as pd

_GROUPS: Final = 30
_DUET_GAIN: Final = 1.5
"""How much smaller the change must be that a duet would detect to be worth a note."""
_KEYS: Final = {"pair": pl.Int64, "rate": pl.Float64, "route": pl.String}
_COUNTS: Final = dict.fromkeys(("count", "blocks"), pl.Int64)

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


@dataclass(frozen=True, repr=False)
class Comparison(CheckedAnswer):
    """What differs between two runs, or between several pairs of runs.

    Attributes:
        sentence: the answer in words.
        paired: whether requests were compared one by one.
        at_once: the runs were made at the same time, as a duet.
        tolerance: changes up to this fraction do not count.
        change: of the response time: median of the ratios of pairs (of a duet their trimmed mean), or ratio of the
            medians; of several pairs of runs the geometric mean of theirs; None where too few.
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
    """

    sentence: str
    paired: bool
    change: Change | None
    slower_share: float | None
    quantiles: dict[str, Change]
    pairs: dict[int, Change]
    steps: dict[float, Change]
    routes: dict[str, Change]
    statuses: list[tuple[str, str, int]]
    status_changed: Share
    bytes_changed: Share
    failed: tuple[float, float]
    failed_more: tuple[float, float, float]
    tolerance: float = TOLERANCE
    at_once: bool = False
    notes: list[str] = field(default_factory=list)
    checks: tuple[Check, ...] = ()

    @property
    def verdict(self) -> str | None:
        """``fails more``, ``slower``, ``faster`` or ``no difference detected``; None where nothing can be compared.

        In a duet the word of a percentile or a route stands where all requests together do not differ.
        """
        return verdict_of(self.failed_more, _headline(self._judged, self.tolerance))

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

    @property
    def transitions(self) -> "pd.DataFrame":
        """The `statuses`: ``baseline``, ``candidate``, ``requests``."""
        return table_of(self.statuses)

    def rows(self, by: str) -> list[dict[str, Any]]:
        """The changes by ``pair``, ``rate`` or ``route`` as rows with their verdicts."""
        tables: dict[str, Mapping[Any, Change]] = {"pair": self.pairs, "rate": self.steps, "route": self.routes}
        judged = tables[by].items()
        return [{by: name, **asdict(each), "verdict": each.verdict(self.tolerance)} for name, each in judged]

    def slower(self, limit: float) -> list[str]:
        """``all`` if requests are slower by more than a limit, and such percentiles, routes and rates of a duet."""
        return [name for name, change in self._judged.items() if change.verdict(limit) == "slower"]

    def uncertain(self, limit: float) -> list[str]:
        """The names of `slower` that may be slower by more: a change of that size could not have been detected."""
        return [name for name, change in self._judged.items() if change.may_exceed(limit)]

    @property
    def _judged(self) -> dict[str, Change]:
        """The changes that a limit judges: of all requests; of a duet all others as well."""
        if not self.change:
            return {}
        if not self.at_once:
            return {ALL: self.change}
        steps = self.steps if len(self.steps) > 1 else {}
        return {
            **{ALL: self.change, **self.quantiles, **self.routes},
            **{f"{rate:g}/s": change for rate, change in steps.items()},
        }

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        value = {name: getattr(self, name) for name in ("sentence", "verdict", "paired", "slower_share", "notes")}
        value["change"] = asdict(self.change) if self.change else None
        value["quantiles"] = {
            name: asdict(change) | {"verdict": change.verdict(self.tolerance)}
            for name, change in self.quantiles.items()
        }
        value |= {"by_pair": self.rows("pair"), "by_step": self.rows("rate"), "by_route": self.rows("route")}
        return value | {"transitions": as_rows(self.statuses)} | shares(self)


def _headline(judged: Mapping[str, Change], tolerance: float) -> str | None:
    """The verdict on all requests; on the first row that differs, where these do not."""
    words = [change.verdict(tolerance) for change in judged.values()]
    return next((word for word in words if word in DIFFERENT), words[0] if words else None)


def _table(found: Comparison, by: str) -> "pd.DataFrame":
    floats = dict.fromkeys(("ratio", "low", "high"), pl.Float64)
    more = {"freedom": pl.Float64, "confidence": pl.Float64, "verdict": pl.String}
    return to_pandas(pl.DataFrame(found.rows(by), {by: _KEYS[by], **floats, **_COUNTS, **more}))


def compare(baseline: Source, candidate: Source, *more: Source, tolerance: float | None = None) -> Comparison:
    """Compare two runs, request by request where both replayed the same log; or several pairs of runs.

    The result logs of a duet, read from files, are compared as `compare_duet` does.

    Args:
        baseline: result log.
        candidate: result log.
        more: further result logs, in turn: baseline, candidate, baseline, candidate.
        tolerance: changes up to this fraction do not count, however certain; None: `usual_tolerance`.

    Raises:
        LogreplayError: a result log cannot be read, or is a copy of another.
        ValueError: a baseline has no candidate.
    """
    runs = (baseline, candidate, *more)
    check_no_copies(runs)
    if tolerance is None:
        tolerance = usual_tolerance(*runs)
    if not more and of_a_duet(baseline, candidate):
        return compare_duet(baseline, candidate, tolerance)
    found = [pair_of_runs(old, new, at_once=of_a_duet(old, new)) for old, new in _pairs(runs)]
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
    return _comparison(found, text, tolerance)(
        change=change,
        quantiles=together(quantiles),
        steps=dict(sorted(together(_grouped(found, "rate")).items())),
        routes=together(_grouped(found, "route")),
        notes=notes,
    )


def check_no_copies(runs: Sequence[Source]) -> None:
    """Check that no two of the files are copies of one: two runs never agree in every microsecond.

    Raises:
        LogreplayError: two of them are.
    """
    paths = [sources.locate(run) for run in runs if isinstance(run, str | Path)]
    for at, path in enumerate(paths):
        for other in paths[:at]:
            if path.is_file() and other.is_file() and filecmp.cmp(other, path, shallow=False):
                raise LogreplayError(
                    f"{other} and {path} hold the same rows: a run does not differ from its copy; name two runs"
                )


def usual_tolerance(*runs: Source) -> float:
    """Up to which fraction changes do not count: less between the result logs of duets."""
    return AT_ONCE_TOLERANCE if all(of_a_duet(old, new) for old, new in _pairs(runs)) else TOLERANCE


def compare_duet(baseline: Source, candidate: Source, tolerance: float = AT_ONCE_TOLERANCE) -> Comparison:
    """Compare two runs that were made at once.

    Args:
        baseline: result log.
        candidate: result log.
        tolerance: changes up to this fraction do not count, however certain.

    Raises:
        LogreplayError: a result log cannot be read.
    """
    found = pair_of_runs(baseline, candidate, at_once=True)
    if found.change is None:
        return _comparison([found], _unknown([found]), tolerance)(
            change=None, quantiles=found.quantiles, steps={}, routes={}, at_once=True, notes=found.notes
        )
    routes, steps = (_grouped([found], by) for by in ("route", "rate"))
    several = steps if len(steps) > 1 else {}
    judged = together_in_duet(found.change, {**found.quantiles, **routes, **several})
    quantiles, routes = ({name: judged[name] for name in changes} for changes in (found.quantiles, routes))
    text = _of_duet(judged[ALL], quantiles, routes, tolerance)
    notes = [*found.notes, *(drift(found.sides, tolerance, paired=found.paired) if found.sides else ())]
    if judged[ALL].verdict(tolerance) in DIFFERENT and found.span < bootstrap.FEWEST_MEANS * bootstrap.HALF_S:
        notes.append(_SHORT)
    return _comparison([found], text, tolerance)(
        change=judged[ALL],
        quantiles=quantiles,
        steps={rate: judged.get(rate, judged[ALL]) for rate in sorted(steps)},
        routes=routes,
        at_once=True,
        notes=notes,
    )


def _comparison(found: Sequence[PairOfRuns], text: str, tolerance: float) -> Callable[..., Comparison]:
    """What all comparisons have; the others are arguments."""
    pairs, timed = (pl.concat(getattr(each, name) for each in found) for name in ("pairs", "timed"))
    bad = tuple([each.failed[side] for each in found] for side in (0, 1))
    failed, more = (share_of(bad[0]), share_of(bad[1])), rise(*bad)
    answered = pairs.filter(pl.col("kind") == pl.col("kind_new"), pl.col("kind") < FIRST_ERROR)
    return partial(
        Comparison,
        sentence=_sentence(text, failed, more),
        paired=all(each.paired for each in found),
        tolerance=tolerance,
        slower_share=_slower(timed) if timed.height else None,
        pairs=together({index: each.change for index, each in enumerate(found, 1) if each.change}),
        statuses=transitions(pairs),
        status_changed=share(pairs, pl.col("kind") // 100 != pl.col("kind_new") // 100),
        bytes_changed=share(answered, other_size()),
        failed=failed,
        failed_more=more,
    )


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


def _of_duet(change: Change, quantiles: Mapping[str, Change], routes: Mapping[str, Change], tolerance: float) -> str:
    """The verdict on a duet: the percentiles that differ, and how many routes."""
    others = [name for name, each in {**quantiles, **routes}.items() if each.verdict(tolerance) in DIFFERENT]
    parts = [change.sentence(tolerance)] if change.verdict(tolerance) in DIFFERENT or not others else []
    parts += [f"{name} {quantiles[name].sentence(tolerance)}" for name in others if name in quantiles]
    for verdict in DIFFERENT:
        if count := sum(each.verdict(tolerance) == verdict for each in routes.values()):
            parts.append(f"{count} of {len(routes)} routes {verdict}")
    return "; ".join(parts)


def _in_a_duet(found: PairOfRuns, tolerance: float) -> Iterator[str]:
    """Say how small a change a duet of the same length would detect, if that is much smaller."""
    if not (found.paired and found.change):
        return
    change = shared_change(sides_of(found.timed), paired=True)
    if change and _DUET_GAIN * change.detectable(0) < found.change.detectable(tolerance):
        yield (
            f"the smallest detectable change is {found.change.detectable(tolerance):.1%}; a duet of the same length, "
            f"which runs both at once, would detect about {max(change.detectable(0), AT_ONCE_TOLERANCE):.1%}: "
            "logreplay duet LOG BASELINE CANDIDATE"
        )


def _unknown(found: Sequence[PairOfRuns]) -> str:
    """Why no change of the times is known."""
    if len(found) == 1:
        return f"nothing to compare: {found[0].too_few}"
    known = sum(each.change is not None for each in found)
    return f"nothing to compare: {known} of {len(found)} pairs of runs can be judged, two are needed"


def _left_out(runs: Sequence[Source], found: Sequence[PairOfRuns]) -> Iterator[str]:
    """Name the pairs that the change of the times leaves out, and why."""
    for at, each in enumerate(found):
        if each.change is None:
            files = [str(run) for run in runs[2 * at : 2 * at + 2] if isinstance(run, (str, Path))]
            name = f"pair {at + 1} ({' → '.join(files)})" if files else f"pair {at + 1}"
            yield f"{name} is left out: {each.too_few}"


def _slower(timed: pl.DataFrame) -> float:
    """The share of pairs that got slower, ties half."""
    logs = timed["log"].to_numpy()
    return float((logs > 0).mean() + (logs == 0).mean() / 2)


def _grouped(found: Sequence[PairOfRuns], by: str) -> dict[Any, Change]:
    """The change of each of the most frequent groups."""
    keys = pl.concat([(each.sides[0] if each.sides else each.timed).select(by) for each in found])
    counts = keys.group_by(by, maintain_order=True).len().sort("len", descending=True, maintain_order=True)
    names = counts[by].head(_GROUPS).to_list()
    changes = {name: combined([each.of_group(by, name) for each in found]) for name in names}
    return {name: change for name, change in changes.items() if change}
