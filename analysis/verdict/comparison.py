"""Compares runs: slower, faster, or no difference detected.

Runs of the same log are compared request by request: the same row at the same rate, in both runs. That finds a
change of 3 % where the percentiles of a run, taken alone, differ by more from one minute to the next. Runs of
different logs can only be compared by their percentiles. One pair of runs says nothing of how much runs differ by
themselves. Several pairs, run in turn, A B A B, are judged by the spread between the pairs.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from logreplay.analysis.input import arrays, sources
from logreplay.analysis.input.closed_loop import limited_steps
from logreplay.analysis.input.compact import CANCELLED, FIRST_ERROR, compact_rows
from logreplay.analysis.input.routes import route
from logreplay.analysis.input.sources import Source
from logreplay.analysis.statistics import estimates
from logreplay.analysis.statistics.estimates import Estimate, student
from logreplay.analysis.statistics.intervals import newcombe, wilson
from logreplay.analysis.tables.windows import SETTLE
from logreplay.analysis.verdict import stability

TOLERANCE: Final = 0.02
FEWEST_PAIRS: Final = 100
QUANTILES: Final = (0.5, 0.9, 0.99)
SHARES: Final = ("status_changed", "bytes_changed", "failed", "failed_more")
_GROUPS: Final = 30
_SAME_LOG: Final = 0.9
_DOUBT: Final = 0.05
_DIGITS: Final = 9
"""Equal ratios of times, such as 0.004/0.002 and 0.006/0.003, differ in digits behind these."""

_ONE_PAIR: Final = (
    "one pair of runs does not show how much runs differ by themselves: run both in turn, three times or more, and "
    "compare all of them: BASELINE CANDIDATE BASELINE CANDIDATE ..."
)
_NOT_IN_TURN: Final = (
    "the runs of a pair did not follow each other: a change of the machine between them counts as one of the target; "
    "run in turn, and name the runs in turn: BASELINE CANDIDATE BASELINE CANDIDATE ..."
)


@dataclass(frozen=True)
class Change:
    """By what factor times differ.

    Attributes:
        ratio: candidate / baseline; 1.03 is 3 % slower.
        low: lower end of its 95 % interval.
        high: upper end.
        count: requests (or pairs of them) it rests on.
        blocks: blocks of time, of a second or longer, it rests on; of several pairs of runs: pairs.
        freedom: degrees of freedom of the interval, which is that of Student's t.
    """

    ratio: float
    low: float
    high: float
    count: int
    blocks: int
    freedom: float

    @classmethod
    def of(cls, estimate: Estimate, count: int) -> "Change":
        """Return the change that an estimate of the logarithm of the ratio stands for."""
        low, high = (math.exp(min(end, 700)) for end in estimate.ends(1 - _DOUBT))
        return cls(math.exp(estimate.value), low, high, count, estimate.blocks, estimate.freedom)

    def verdict(self, tolerance: float = TOLERANCE, among: int = 1) -> str:
        """``slower``, ``faster``, or ``no difference detected``.

        Args:
            tolerance: changes up to this fraction are called none.
            among: changes judged together: the interval is so wide that in 95 % of the cases none is judged wrongly.
        """
        wider = student(1 - _DOUBT / among, self.freedom) / student(1 - _DOUBT, self.freedom)
        if math.log(self.ratio) > wider * math.log(self.ratio / self.low) and self.ratio > 1 + tolerance:
            return "slower"
        if -math.log(self.ratio) > wider * math.log(self.high / self.ratio) and self.ratio < 1 - tolerance:
            return "faster"
        return "no difference detected"

    def detectable(self, tolerance: float = TOLERANCE) -> float:
        """The smallest change that would have been seen, as a fraction."""
        return max(tolerance, math.sqrt(self.high / max(self.low, 1e-300)) - 1)

    def sentence(self, tolerance: float = TOLERANCE) -> str:
        """The verdict with its figures."""
        verdict, detectable = self.verdict(tolerance), self.detectable(tolerance)
        if verdict != "no difference detected":
            low, high = sorted(abs(end - 1) for end in (self.low, self.high))
            return f"{verdict} by {abs(self.ratio - 1):.1%} ({low:.1%} to {high:.1%})"
        if detectable > 1:
            return f"{verdict}: too short, or too unsteady, to detect even a doubling"
        return f"{verdict} ({self.low - 1:+.1%} to {self.high - 1:+.1%}; smallest detectable ~{detectable:.1%})"


@dataclass(frozen=True)
class Comparison:
    """What differs between two runs, or between several pairs of runs.

    Attributes:
        sentence: the answer in words.
        paired: whether requests were compared one by one.
        change: of the response time: median of the ratios of pairs, or ratio of the medians; of several pairs of
            runs the geometric mean of theirs; None where too few.
        slower_share: share of the pairs in which the candidate was slower (ties half); None if not paired.
        quantiles: name → ratio of that percentile of the runs.
        by_pair: change per pair of runs; ``pair`` (from 1), ``ratio``, ``low``, ``high``, ``count``, ``verdict``.
        by_step: the same per step; ``rate`` instead of ``pair``.
        by_route: the same per route, for the most frequent ones. The verdicts allow for the number of rows.
        transitions: ``baseline`` and ``candidate`` status, ``requests``, the most frequent first.
        status_changed: share of the pairs whose status class differs, with its 95 % interval.
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
    status_changed: tuple[float, float, float]
    bytes_changed: tuple[float, float, float]
    failed: tuple[float, float]
    failed_more: tuple[float, float, float]
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        value = {name: getattr(self, name) for name in ("sentence", "paired", "slower_share", "notes")}
        value["change"] = asdict(self.change) if self.change else None
        value["quantiles"] = {name: asdict(change) for name, change in self.quantiles.items()}
        for name in ("by_pair", "by_step", "by_route", "transitions"):
            value[name] = getattr(self, name).to_dicts()
        return value | {name: list(getattr(self, name)) for name in SHARES}


def compare(baseline: Source, candidate: Source, *more: Source, tolerance: float = TOLERANCE) -> Comparison:
    """Compare two runs, request by request where both replayed the same log; or several pairs of runs.

    Args:
        baseline: result log.
        candidate: result log.
        more: further result logs, in turn: baseline, candidate, baseline, candidate.
        tolerance: changes up to this fraction are called none, however certain.

    Raises:
        LogreplayError: a result log cannot be read.
        ValueError: a baseline has no candidate.
    """
    runs = (baseline, candidate, *more)
    found = [_pair_of_runs(old, new) for old, new in zip(runs[::2], runs[1::2], strict=True)]
    pairs, timed = (pl.concat(getattr(each, name) for each in found) for name in ("pairs", "timed"))
    change = combined([each.change for each in found])
    bad = [pl.concat(each.failed[side] for each in found) for side in (0, 1)]
    failed = share_of(bad[0]), share_of(bad[1])
    answered = pairs.filter(pl.col("kind") == pl.col("kind_new"), pl.col("kind") < FIRST_ERROR)
    names = dict.fromkeys(name for each in found for name in each.quantiles)
    quantiles = {name: combined([each.quantiles.get(name) for each in found]) for name in names}
    notes = list(dict.fromkeys(note for each in found for note in each.notes))
    if len(found) > 1:
        notes += _left_out(runs, found)
    if len(found) == 1:
        notes.append(_ONE_PAIR)
    elif not _in_turn(runs):
        notes.append(_NOT_IN_TURN)
    return Comparison(
        sentence=_sentence(change.sentence(tolerance) if change else _unknown(found), failed),
        paired=all(each.paired for each in found),
        change=change,
        slower_share=_slower(timed) if timed.height else None,
        quantiles={name: ratio for name, ratio in quantiles.items() if ratio},
        by_pair=_table(
            "pair", pl.Int64, {index: each.change for index, each in enumerate(found, 1) if each.change}, tolerance
        ),
        by_step=_grouped(found, "rate", tolerance).sort("rate"),
        by_route=_grouped(found, "route", tolerance),
        transitions=transitions(pairs),
        status_changed=share(pairs, pl.col("kind") // 100 != pl.col("kind_new") // 100),
        bytes_changed=share(answered, other_size()),
        failed=failed,
        failed_more=rise(*bad),
        notes=notes,
    )


@dataclass(frozen=True, slots=True)
class _PairOfRuns:
    """One baseline, one candidate: their requests in pairs, and what differs."""

    paired: bool
    pairs: pl.DataFrame
    timed: pl.DataFrame
    count: int
    change: Change | None
    quantiles: dict[str, Change]
    failed: tuple[pl.Series, pl.Series]
    notes: list[str]

    @property
    def too_few(self) -> str:
        """Why the change of the times is unknown."""
        if self.count < FEWEST_PAIRS:
            return f"fewer than {FEWEST_PAIRS} requests were answered as expected, with a time above 0, in both runs"
        return f"less than {estimates.FEWEST_BLOCKS} s of requests: run longer"


def _pair_of_runs(baseline: Source, candidate: Source) -> _PairOfRuns:
    notes: list[str] = []
    whole = rows(baseline), rows(candidate)
    old, new = _comparable((baseline, candidate), whole, notes)
    pairs = old.join(new, on=["rate", "row", "turn"], suffix="_new", maintain_order="left")
    alike = pairs.filter(pl.col("what") == pl.col("what_new"))
    paired = alike.height >= max(_SAME_LOG * pairs.height, 0.5 * min(old.height, new.height), 1)
    pairs = alike if paired else alike.head(0)
    if not paired:
        notes.append("the runs do not replay the same requests: compared by percentiles, which sees far less")
    timed = pairs.filter("good", "good_new", pl.col("response") > 0, pl.col("response_new") > 0)
    timed = timed.with_columns(log=(pl.col("response_new") / pl.col("response")).log(), route=route(pl.col("url")))
    quantiles = quantile_changes(old, new)
    change = median_change(timed) if paired else quantiles.get("p50")
    count = timed.height if paired else min(_answered(run).height for run in (old, new))
    return _PairOfRuns(paired, pairs, timed, count, change, quantiles, (whole[0]["failed"], whole[1]["failed"]), notes)


def _in_turn(runs: Sequence[Source]) -> bool:
    """Whether the runs of each pair followed each other in time; True where a time is unknown."""
    starts = [sources.started(run) for run in runs]
    known = [start for start in starts if start is not None]
    order = {start: place for place, start in enumerate(sorted(known))}
    places = [order[start] // 2 for start in known]
    return len(known) < len(runs) or places[::2] == places[1::2]


def combined(changes: Sequence[Change | None]) -> Change | None:
    """Return the change of several pairs of runs, from the spread between them; None where fewer than two have one."""
    if len(changes) == 1:
        return changes[0]
    known = [change for change in changes if change]
    if len(known) < 2:
        return None
    logs = np.log([change.ratio for change in known])
    return Change.of(estimates.mean(logs), sum(change.count for change in known))


def share_of(flags: pl.Series) -> float:
    """Return the share that is true; 0 for none."""
    return float(flags.to_numpy().mean()) if len(flags) else 0.0


def rise(old: pl.Series, new: pl.Series) -> tuple[float, float, float]:
    """Return by how much the share that is true rises from one run to the other, and its 95 % interval."""
    if not len(old) or not len(new):
        return 0.0, -1.0, 1.0
    low, high = newcombe((int(old.sum()), int(new.sum())), (len(old), len(new)), 1.96)
    return share_of(new) - share_of(old), float(low), float(high)


def rows(source: Source) -> pl.DataFrame:
    """Load what a comparison needs of each request.

    Returns:
        The key of a pair: ``rate`` (asked of the step), ``row`` of the log, ``turn`` (how often the row came before in
        the step). ``seq``, ``step``, ``url``; ``what``: hash of method and URL; ``scheduled``, ``response``: seconds;
        ``good``, ``failed``, ``kind``, ``bytes`` as in `intake.Requests`.
    """
    found = readable(source, "step", rate=pl.col("offered").fill_nan(0.0), seq=pl.coalesce("seq", "position"))
    return found.sort("seq").with_columns(turn=pl.int_range(pl.len()).over("rate", "row"))


def readable(source: Source, *names: str, **columns: pl.Expr) -> pl.DataFrame:
    """Load the requests that have times: ``row``, ``what``, ``url``, times, outcome, and further columns."""
    frame = compact_rows(source).with_row_index("position").collect()
    return frame.filter(pl.col("scheduled").is_not_null(), pl.col("response").is_not_null()).select(
        "url",
        "good",
        "kind",
        "bytes",
        *names,
        failed=~pl.col("good") & (pl.col("kind") != CANCELLED),
        row=pl.coalesce("row", "position"),
        what=pl.concat_str("op", "url", ignore_nulls=True).hash(),
        scheduled=pl.col("scheduled") / 1e6,
        response=pl.col("response") / 1e6,
        **columns,
    )


def median_change(pairs: pl.DataFrame) -> Change | None:
    """Return the median ratio of pairs; None for fewer than `FEWEST_PAIRS`, or less than five seconds with any.

    Args:
        pairs: ``scheduled`` (seconds) and ``log`` (logarithm of the ratio).
    """
    if pairs.height < FEWEST_PAIRS:
        return None
    logs = pairs["log"].round(_DIGITS).to_numpy()
    found = estimates.quantile(pairs["scheduled"].to_numpy(), logs, 0.5)
    return Change.of(found, pairs.height) if found else None


def quantile_changes(old: pl.DataFrame, new: pl.DataFrame) -> dict[str, Change]:
    """Return the ratios of the percentiles of two runs, of the requests answered as expected, with intervals."""
    sides = [_answered(run) for run in (old, new)]
    fewest = min(side.height for side in sides)
    if fewest < FEWEST_PAIRS:
        return {}
    logs = [(side["scheduled"].to_numpy(), np.log(side["response"].to_numpy())) for side in sides]
    changes = {}
    for p in QUANTILES:
        before, after = (estimates.quantile(*side, p) for side in logs)
        if before and after:
            changes[f"p{100 * p:g}"] = Change.of(after.minus(before), fewest)
    return changes


def _answered(run: pl.DataFrame) -> pl.DataFrame:
    return run.filter(pl.col("good"), pl.col("response") > 0)


def _comparable(
    runs: tuple[Source, Source], whole: tuple[pl.DataFrame, pl.DataFrame], notes: list[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of both runs; of sweeps only the settled part of the steps that both runs carried."""
    old, new = whole
    if old["step"].n_unique() == new["step"].n_unique() == 1:
        return old, new
    tables = [stability.judged_steps(arrays.read(source), _limited(source)) for source in runs]
    stable = (pl.col("verdict") == "stable").all()  # of several trials, all
    carried = [set(table.filter(stable.over("rate"))["rate"].to_list()) for table in tables]
    offered = [set(run["rate"].to_list()) for run in (old, new)]
    both = {rate for rate in offered[0] & offered[1] if all(any(abs(rate - r) < 1e-6 * r for r in c) for c in carried)}
    left_out = sorted((offered[0] | offered[1]) - both)
    if left_out:
        rates = ", ".join(f"{rate:g}" for rate in left_out)
        notes.append(f"left out, since not both runs carried them: steps at {rates}/s")
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


def _grouped(found: Sequence[_PairOfRuns], by: str, tolerance: float) -> pl.DataFrame:
    """The change of each of the most frequent groups."""
    keys = pl.concat([each.timed.select(by) for each in found])
    counts = keys.group_by(by, maintain_order=True).len().sort("len", descending=True, maintain_order=True)
    changes = {
        name: combined([median_change(each.timed.filter(pl.col(by) == name)) for each in found])
        for name in counts[by].head(_GROUPS).to_list()
    }
    return _table(by, keys.schema[by], {name: change for name, change in changes.items() if change}, tolerance)


def _table(
    by: str, kind: pl.DataType | type[pl.DataType], changes: Mapping[Any, Change], tolerance: float
) -> pl.DataFrame:
    """Changes as rows, judged together."""
    rows = [
        {by: name, **asdict(change), "verdict": change.verdict(tolerance, among=len(changes))}
        for name, change in changes.items()
    ]
    floats = dict.fromkeys(("ratio", "low", "high"), pl.Float64)
    ints = dict.fromkeys(("count", "blocks"), pl.Int64)
    return pl.DataFrame(rows, {by: kind} | floats | ints | {"freedom": pl.Float64, "verdict": pl.String})


def transitions(pairs: pl.DataFrame) -> pl.DataFrame:
    """Count which status or error became which, from ``kind`` and ``kind_new``; the most frequent first."""
    counts = pairs.group_by("kind", "kind_new").len().sort("len", "kind", "kind_new", descending=[True, False, False])
    return counts.select(
        baseline=pl.Series([arrays.kind_name(kind) for kind in counts["kind"]], dtype=pl.String),
        candidate=pl.Series([arrays.kind_name(kind) for kind in counts["kind_new"]], dtype=pl.String),
        requests="len",
    )


def share(pairs: pl.DataFrame, of: pl.Expr) -> tuple[float, float, float]:
    """Return a share of the pairs, and its 95 % interval."""
    hits = int(pairs.select(of.sum()).item() or 0)
    found = hits / max(pairs.height, 1)
    low, high = wilson(found, max(pairs.height, 1), 1.96)
    return found, float(low), float(high)


def other_size() -> pl.Expr:
    """Whether ``bytes`` and ``bytes_new`` differ by more than 1 % and by more than 64."""
    difference = (pl.col("bytes") - pl.col("bytes_new")).abs()
    return (difference > 64) & (difference > 0.01 * pl.col("bytes"))
