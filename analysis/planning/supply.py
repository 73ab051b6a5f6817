"""The rate that one machine carries within a bound: read from a search or a sweep that was made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from logreplay.analysis.format_time import show, show_range, show_rate, spoken
from logreplay.analysis.input import sources
from logreplay.analysis.input.json_values import JsonValue
from logreplay.analysis.input.run_metadata import UNFINISHED, checked_summary, left_out_routes
from logreplay.analysis.pooled_sweeps import capacity_of, confirmed_rate, lacking, pooled, steps_of, weak_findings
from logreplay.analysis.scaling.scale_out import ScalingPoint
from logreplay.analysis.search.bounds import Bound
from logreplay.analysis.verdict.capacity import FIGURES
from logreplay.core.csv_blocks import Types
from logreplay.core.errors import LogreplayError, UsageError
from logreplay.core.plural import number_of
from logreplay.core.rows import read_table

_GET_HEAD: Final = ("GET", "HEAD")
_CHANGES: Final = ("rewrite", "param", "inject", "hook")
"""Options that change URLs or mix in others: the routes that were sent have other names than those of the log."""


class NoAnswer(LogreplayError):
    """The measurements do not support a plan; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """What one machine carries. Rates in requests/s, times in seconds.

    Attributes:
        source: ``search`` or ``sweep``.
        rate: to plan with: the promise of a search, the likely rate of a sweep.
        low, high: ends of its range; ``high`` is None if every rate was carried.
        bounds: that it keeps, in words: ``p99 within 300 ms``.
        limits: the bounds on the response time as values, by statistic.
        max_errors: share of the requests that might fail; None: not bounded.
        held_s: the longest time for which it was sent in one piece; None: unknown.
        mean: mean response time near it; None: unknown.
        methods: that were sent.
        sent: ``route``, ``requests``: the requests that were sent.
        weak: findings that weaken its measurement, in words.
        lacks: reason why a sweep has no saturation, in words; empty if it has one.
        changed: options that gave them other URLs than those of the log.
    """

    source: str
    rate: float
    low: float
    high: float | None
    bounds: str
    limits: Mapping[str, float]
    held_s: float | None
    mean: float | None
    methods: tuple[str, ...]
    sent: pl.DataFrame
    changed: tuple[str, ...] = ()
    max_errors: float | None = None
    lacks: str = ""
    weak: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The rate and its range, in words."""
        ends = f"{show_rate(self.low)}/s at least" if self.high is None else f"{show_range(self.low, self.high)}/s"
        held = f", held for {self.held_s:.0f} s in one piece" if self.held_s else ""
        return f"one machine carries {show_rate(self.rate)}/s with {self.bounds} ({ends}{held}; by a {self.source})"

    @property
    def not_covered(self) -> tuple[str, ...]:
        """Weaknesses and gaps of its measurement, in words."""
        found = [f"weakness of the measurement: {text}" for text in self.weak]
        if self.lacks:
            found.append(f"the saturation of a machine: {self.lacks}")
        if self.high is None:
            found.append("the highest rate of a machine: it kept the bound at every rate of the sweep")
        if self.changed:
            options = ", ".join(f"--{name}" for name in self.changed)
            found.append(f"the mix of routes: {options} changed those that were sent")
        return tuple(found)


def supply_of(results: Path, limits: Mapping[str, float]) -> Supply:
    """Read the supply from the folder of a search or a sweep.

    Args:
        limits: bounds on the response time by statistic, seconds; none: those of the search.
    """
    rows = sources.locate(results)
    if not rows.exists():
        raise LogreplayError(f"{results}: no such file or folder; name the folder of a search or a sweep")
    summary = checked_summary(rows, "search again")
    if "slo" in summary.value:
        if summary[UNFINISHED].value:
            raise NoAnswer(f"{results}: the search was not finished, since its process was ended; search again")
        return _of_search(results, rows, summary, limits)
    if summary[UNFINISHED].value and summary["options"]["precision"].value is not None:
        raise NoAnswer(f"{results}: is a search that was interrupted, and has no answer: search again")
    if summary["requests"].value and "steps" not in summary.value:
        raise LogreplayError(f"{results}: is a run at one load; name the folder of a search or a sweep")
    return _of_sweep(results, rows, summary, limits)


def scaling_points(
    results: Sequence[Path], numbers: Sequence[int], limits: Mapping[str, float]
) -> tuple[list[ScalingPoint], str]:
    """What each number of machines carries, by searches or sweeps of them; and the gaps of these, in words."""
    if len(results) != len(numbers):
        named = ",".join(map(str, numbers))
        raise UsageError(
            f"--machines {named}: {number_of(len(numbers), 'number')} for {number_of(len(results), 'result')}: give "
            "the number of machines behind each result, in their order"
        )
    points, unknown = [], []
    for path, number in zip(results, numbers, strict=True):
        supply = supply_of(path, limits)
        if supply.high is None:
            most = f"the most that {number_of(number, 'machine')} can carry"
            raise NoAnswer(f"{path}: every rate was carried, so {most} is unknown: sweep higher")
        middle = (supply.low * supply.high) ** 0.5 if supply.source == "search" else supply.rate
        points.append(ScalingPoint(number, middle, supply.low, supply.high))
        unknown += [f"{path}: {text}" for text in supply.not_covered]
    return points, f"not covered: {'; '.join(unknown)}" if unknown else ""


def _of_search(results: Path, rows: Path, summary: JsonValue, limits: Mapping[str, float]) -> Supply:
    slo = summary["slo"]
    if slo["unit"].text() != "requests/s":
        raise NoAnswer(f"{results} searched a number of users: search a rate, without --vusers")
    if not slo["found"].value or not slo["rate"].value:
        raise NoAnswer(f"{results} has no answer to plan with: {slo['sentence'].text()}")
    held = dict(map(_bound, slo["bounds"].each()))
    errors = held.pop("errors", None)
    if limits and limits != held:
        raise UsageError(
            f"{_words(limits)} was asked for, and {results} is a search for {_words(held)}: leave the bound out, or "
            "search again"
        )
    found = confirmed_rate(slo)
    return Supply(
        source="search",
        rate=found.rate,
        low=found.low,
        high=found.high,
        bounds=_words(held),
        limits=held,
        max_errors=errors,
        held_s=found.held_s,
        mean=_mean_at(
            _table(rows, "steps", {"rate": pl.Float64, "mean": pl.Float64, "verdict": pl.String}), found.rate
        ),
        methods=_methods(summary),
        sent=sent_routes(rows, summary.value),
        changed=_changed(summary),
        weak=weak_findings(summary),
    )


def _bound(told: JsonValue) -> tuple[str, float]:
    """The statistic and the limit of a bound."""
    statistic, limit = told["statistic"].text(), told["limit"].number()
    try:
        Bound(statistic, limit)
    except ValueError:
        raise told.wrong("a bound of a search") from None
    return statistic, limit


def _of_sweep(results: Path, rows: Path, summary: JsonValue, limits: Mapping[str, float]) -> Supply:
    if len(limits) != 1 or not set(limits) <= set(FIGURES):
        raise UsageError(
            f"{results} is a sweep: give the one bound that a machine has to keep, such as --p99 300ms; one of "
            f"{', '.join(f'--{name}' for name in FIGURES)}"
        )
    ((figure, within),) = limits.items()
    found = pooled([rows])
    if found[0].users:
        raise NoAnswer(f"{results} is a sweep over users, whose rate follows the target: sweep rates")
    steps, answer = steps_of(found), capacity_of(found, tps=1.0, within=within, percentile=figure)
    if answer.likely is None or answer.low is None:
        raise NoAnswer(f"{results} has no answer to plan with: {answer.sentence}")
    longest = steps.filter(pl.col("rate") <= answer.likely)["duration"].max()
    return Supply(
        source="sweep",
        rate=answer.likely,
        low=answer.low,
        high=answer.high,
        bounds=_words(limits),
        limits=dict(limits),
        held_s=float(longest) if isinstance(longest, int | float) else None,
        mean=_mean_at(steps, answer.likely),
        methods=_methods(summary),
        sent=sent_routes(rows, summary.value),
        changed=_changed(summary),
        weak=weak_findings(summary),
        lacks=lacking(found),
    )


def _words(limits: Mapping[str, float]) -> str:
    return " and ".join(f"{spoken(name)} within {show(limit)}" for name, limit in limits.items()) or "no bound"


def _table(rows: Path, name: str, types: Types) -> pl.DataFrame:
    """Columns of a table beside the result log."""
    try:
        return read_table(rows.parent / f"{name}.csv", types)
    except LogreplayError as error:
        raise LogreplayError(f"{error}; make it with: logreplay analyze {rows.parent}") from None


def sent_routes(rows: Path, summary: Mapping[str, Any]) -> pl.DataFrame:
    """The requests of each route, without the steps that leave out routes."""
    counts: Types = {"route": pl.String, "requests": pl.Int64}
    if without := left_out_routes(summary):
        table = _table(rows, "routes", {"step": pl.Int64, **counts}).filter(~pl.col("step").is_in(list(without)))
    else:  # with one rate, there may be no column ``step``
        table = _table(rows, "routes", counts)
    return table.group_by("route").agg(pl.col("requests").sum())


def _mean_at(steps: pl.DataFrame, rate: float) -> float | None:
    """The mean response time of the highest rate up to one; None without it."""
    stable = pl.col("verdict") == "stable"
    below = steps.filter((pl.col("rate") <= rate * 1.001) & pl.col("mean").is_not_null() & stable)
    nearest = below.filter(pl.col("rate") == pl.col("rate").max())
    return float(nearest["mean"].median()) if nearest.height else None  # type: ignore[arg-type]


def _changed(summary: JsonValue) -> tuple[str, ...]:
    return tuple(name for name in _CHANGES if summary["options"][name].value)


def _methods(summary: JsonValue) -> tuple[str, ...]:
    said = summary["options"]["methods"]
    if isinstance(said.value, str):
        return tuple(said.value.split(","))
    return _GET_HEAD if said.value is None else tuple(each.text() for each in said.each())
