"""Compares two runs: slower, faster, or no difference detected.

Runs of the same log are compared request by request: the same row at the same rate, in both runs. That finds a
change of 3 % where the percentiles of a run, taken alone, differ by more from one minute to the next. Runs of
different logs can only be compared by their percentiles. One pair of runs says nothing of how much runs differ by
themselves: repeat them in turn, A B A B.
"""

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from logreplay.analysis.input import arrays
from logreplay.analysis.input.compact import FIRST_ERROR, compact_rows
from logreplay.analysis.input.routes import route
from logreplay.analysis.input.sources import Source
from logreplay.analysis.statistics import bootstrap
from logreplay.analysis.statistics.intervals import wilson
from logreplay.analysis.statistics.quantiles import rank
from logreplay.analysis.tables.windows import SETTLE
from logreplay.analysis.verdict import stability

TOLERANCE: Final = 0.02
FEWEST_PAIRS: Final = 100
QUANTILES: Final = (0.5, 0.9, 0.99)
_GROUPS: Final = 30
_SAME_LOG: Final = 0.9


@dataclass(frozen=True)
class Change:
    """By what factor times differ.

    Attributes:
        ratio: candidate / baseline; 1.03 is 3 % slower.
        low: lower end of its 95 % interval.
        high: upper end.
        count: requests (or pairs of them) it rests on.
        blocks: blocks of time it rests on; under 30 the interval is not to be trusted.
    """

    ratio: float
    low: float
    high: float
    count: int
    blocks: int

    def verdict(self, tolerance: float = TOLERANCE) -> str:
        """``slower``, ``faster``, or ``no difference detected``."""
        if self.low > 1 and self.ratio > 1 + tolerance:
            return "slower"
        if self.high < 1 and self.ratio < 1 - tolerance:
            return "faster"
        return "no difference detected"

    def detectable(self, tolerance: float = TOLERANCE) -> float:
        """The smallest change that would have been seen, as a fraction."""
        return max(tolerance, math.sqrt(self.high / self.low) - 1)

    def sentence(self, tolerance: float = TOLERANCE) -> str:
        """The verdict with its figures."""
        verdict = self.verdict(tolerance)
        if verdict == "no difference detected":
            return f"no difference detected (smallest detectable ~{self.detectable(tolerance):.1%})"
        low, high = sorted(abs(end - 1) for end in (self.low, self.high))
        text = f"{verdict} by {abs(self.ratio - 1):.1%} ({low:.1%} to {high:.1%})"
        return text if self.blocks >= bootstrap.FEWEST_BLOCKS else f"{text}, on {self.blocks} blocks of 2 s only"


@dataclass(frozen=True)
class Comparison:
    """What differs between two runs.

    Attributes:
        sentence: the answer in words.
        paired: whether requests were compared one by one.
        change: of the response time: median of the ratios of pairs, or ratio of the medians; None where too few.
        slower_share: share of the pairs in which the candidate was slower (ties half); None if not paired.
        quantiles: name → ratio of that percentile of the runs.
        by_step: change per step; ``rate``, ``ratio``, ``low``, ``high``, ``pairs``, ``verdict``.
        by_route: the same per route, for the most frequent ones.
        transitions: ``baseline`` and ``candidate`` status, ``requests``, the most frequent first.
        status_changed: share of the pairs whose status class differs, with its 95 % interval.
        bytes_changed: share of the answered pairs whose bodies differ by more than 1 % and 64 bytes, likewise.
        failed: share of requests not answered as expected, in each run.
        notes: omissions, and why.
    """

    sentence: str
    paired: bool
    change: Change | None
    slower_share: float | None
    quantiles: dict[str, Change]
    by_step: pl.DataFrame
    by_route: pl.DataFrame
    transitions: pl.DataFrame
    status_changed: tuple[float, float, float]
    bytes_changed: tuple[float, float, float]
    failed: tuple[float, float]
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        value = {name: getattr(self, name) for name in ("sentence", "paired", "slower_share", "notes")}
        value["change"] = asdict(self.change) if self.change else None
        value["quantiles"] = {name: asdict(change) for name, change in self.quantiles.items()}
        for name in ("by_step", "by_route", "transitions"):
            value[name] = getattr(self, name).to_dicts()
        return value | {name: list(getattr(self, name)) for name in ("status_changed", "bytes_changed", "failed")}


def compare(baseline: Source, candidate: Source, *, tolerance: float = TOLERANCE) -> Comparison:
    """Compare two runs, request by request where both replayed the same log.

    Args:
        baseline: result log.
        candidate: result log.
        tolerance: changes up to this fraction are called none, however certain.

    Raises:
        LogreplayError: a result log cannot be read.
    """
    notes: list[str] = []
    old, new = _comparable(baseline, candidate, notes)
    pairs = old.join(new, on=["rate", "row", "turn"], suffix="_new", maintain_order="left")
    alike = pairs.filter(pl.col("what") == pl.col("what_new"))
    paired = alike.height >= max(_SAME_LOG * pairs.height, 0.5 * min(old.height, new.height), 1)
    pairs = alike if paired else alike.head(0)
    if not paired:
        notes.append("the runs do not replay the same requests: compared by percentiles, which sees far less")
    quantiles = quantile_changes(old, new)
    timed = pairs.filter("good", "good_new", pl.col("response") > 0, pl.col("response_new") > 0)
    timed = timed.with_columns(log=(pl.col("response_new") / pl.col("response")).log(), route=route(pl.col("url")))
    change = median_change(timed) if paired else quantiles.get("p50")
    failed = (1 - _mean(old["good"]), 1 - _mean(new["good"]))
    answered = pairs.filter(pl.col("kind") == pl.col("kind_new"), pl.col("kind") < FIRST_ERROR)
    return Comparison(
        sentence=_sentence(change, failed, tolerance),
        paired=paired,
        change=change,
        slower_share=_slower(timed) if timed.height else None,
        quantiles=quantiles,
        by_step=_grouped(timed, "rate", tolerance).sort("rate"),
        by_route=_grouped(timed, "route", tolerance),
        transitions=transitions(pairs),
        status_changed=share(pairs, pl.col("kind") // 100 != pl.col("kind_new") // 100),
        bytes_changed=share(answered, other_size()),
        failed=failed,
        notes=notes,
    )


def _mean(flags: pl.Series) -> float:
    return float(flags.to_numpy().mean()) if len(flags) else 1.0


def rows(source: Source) -> pl.DataFrame:
    """Load what a comparison needs of each request.

    Returns:
        The key of a pair: ``rate`` (asked of the step), ``row`` of the log, ``turn`` (how often the row came before in
        the step). ``seq``, ``step``, ``url``; ``what``: hash of method and URL; ``scheduled``, ``response``: seconds;
        ``good``, ``kind``, ``bytes`` as in `intake.Requests`.
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
        row=pl.coalesce("row", "position"),
        what=pl.concat_str("op", "url", ignore_nulls=True).hash(),
        scheduled=pl.col("scheduled") / 1e6,
        response=pl.col("response") / 1e6,
        **columns,
    )


def median_change(pairs: pl.DataFrame, bins: int = 2000) -> Change | None:
    """Return the median ratio of pairs, with an interval by blocks of time; None under `FEWEST_PAIRS`.

    Args:
        pairs: ``scheduled`` (seconds) and ``log`` (logarithm of the ratio).
        bins: ranks told apart; fewer are faster.
    """
    if pairs.height < FEWEST_PAIRS:
        return None
    at, logs = pairs["scheduled"].to_numpy(), pairs["log"].to_numpy()
    ends = bootstrap.edges(logs, bins)
    sorted_in = bootstrap.blocks(at, logs, ends)
    low, high = np.quantile(bootstrap.resampled(sorted_in, ends, [0.5])[:, 0], [0.025, 0.975])
    return Change(math.exp(np.median(logs)), math.exp(low), math.exp(high), len(logs), sorted_in.number)


def quantile_changes(old: pl.DataFrame, new: pl.DataFrame) -> dict[str, Change]:
    """Return the ratios of the percentiles of two runs, of the requests answered as expected, with intervals."""
    sides = [run.filter(pl.col("good"), pl.col("response") > 0) for run in (old, new)]
    if min(side.height for side in sides) < FEWEST_PAIRS:
        return {}
    drawn, exact, numbers = [], [], []
    for seed, side in enumerate(sides):
        at, values = side["scheduled"].to_numpy(), side["response"].to_numpy()
        bins = bootstrap.edges(values)
        sorted_in = bootstrap.blocks(at, values, bins)
        drawn.append(bootstrap.resampled(sorted_in, bins, list(QUANTILES), seed))
        ordered = np.sort(values)
        exact.append([ordered[rank(len(ordered), share) - 1] for share in QUANTILES])
        numbers.append(sorted_in.number)
    low, high = np.quantile(drawn[1] / drawn[0], [0.025, 0.975], axis=0)
    return {
        f"p{100 * share:g}": Change(
            float(exact[1][index] / exact[0][index]),
            float(low[index]),
            float(high[index]),
            min(side.height for side in sides),
            min(numbers),
        )
        for index, share in enumerate(QUANTILES)
    }


def _comparable(baseline: Source, candidate: Source, notes: list[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of both runs; of sweeps only the settled part of the steps that both runs carried."""
    old, new = rows(baseline), rows(candidate)
    if old["step"].n_unique() == new["step"].n_unique() == 1:
        return old, new
    tables = [stability.judged_steps(arrays.read(source)) for source in (baseline, candidate)]
    stable = (pl.col("verdict") == "stable").all()  # of several trials, all
    carried = [set(table.filter(stable.over("rate"))["rate"].to_list()) for table in tables]
    offered = [set(run["rate"].to_list()) for run in (old, new)]
    both = {rate for rate in offered[0] & offered[1] if all(any(abs(rate - r) < 1e-6 * r for r in c) for c in carried)}
    left_out = sorted((offered[0] | offered[1]) - both)
    if left_out:
        rates = ", ".join(f"{rate:g}" for rate in left_out)
        notes.append(f"left out, since not both runs carried them: steps at {rates}/s")
    return _settled(old, both), _settled(new, both)


def _settled(run: pl.DataFrame, rates: set[float]) -> pl.DataFrame:
    start, end = (pl.col("scheduled").min().over("step"), pl.col("scheduled").max().over("step"))
    late = pl.col("scheduled") >= start + SETTLE * (end - start)
    return run.filter(pl.col("rate").is_in(list(rates)), late)


def _sentence(change: Change | None, failed: tuple[float, float], tolerance: float) -> str:
    text = change.sentence(tolerance) if change else f"nothing to compare: fewer than {FEWEST_PAIRS} answered requests"
    if abs(failed[1] - failed[0]) > 0.001:
        text += f"; {failed[1]:.2%} of the requests failed, {failed[0]:.2%} in the baseline"
    return text


def _slower(timed: pl.DataFrame) -> float:
    """The share of pairs that got slower, ties half."""
    logs = timed["log"].to_numpy()
    return float(np.mean(logs > 0) + np.mean(logs == 0) / 2)


def _grouped(timed: pl.DataFrame, by: str, tolerance: float) -> pl.DataFrame:
    """The change of each of the most frequent groups."""
    counts = (
        timed.group_by(by, maintain_order=True).len().sort("len", descending=True, maintain_order=True).head(_GROUPS)
    )
    found = []
    for name in counts[by].to_list():
        if change := median_change(timed.filter(pl.col(by) == name), bins=400):
            found.append({by: name, **asdict(change), "verdict": change.verdict(tolerance)})
    floats = dict.fromkeys(("ratio", "low", "high"), pl.Float64)
    ints = dict.fromkeys(("count", "blocks"), pl.Int64)
    return pl.DataFrame(found, {by: timed.schema[by]} | floats | ints | {"verdict": pl.String})


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
