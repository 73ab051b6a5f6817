"""Pools the steps of several runs of one sweep, and refuses runs of different sweeps."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from logreplay.analysis.analyze import Analysis, timed
from logreplay.analysis.format_time import show, show_rate, spoken
from logreplay.analysis.input import sources
from logreplay.analysis.input.json_values import JsonValue
from logreplay.analysis.input.sources import Source
from logreplay.analysis.machine_count import machines_for, spare_words
from logreplay.analysis.statistics.quantiles import PERCENTILES, SMALLEST_SAMPLE
from logreplay.analysis.tables.group_times import GroupTimes
from logreplay.analysis.untested import another_mix, not_tested
from logreplay.analysis.verdict.capacity import LONG_STEP_S, Capacity, capacity
from logreplay.analysis.verdict.stability import CUT
from logreplay.core.errors import LogreplayError, UsageError
from logreplay.core.files import check_named_once
from logreplay.core.plural import number_of

_SAME: Final = ("target", "log", "rates", "arrivals", "for")
"""Keys of a summary whose values runs of one sweep share, where both have them."""

_WEAKENING: Final = ("warning", "void")
"""Severities of findings that weaken a measurement."""
_HARMLESS: Final = (
    *("disk", "ports", "ceiling"),  # before the first request; the effects have findings of their own
    *("slow_disk", "watch", "stop_refused"),  # about recording and refused stop conditions, not about requests
    *("in_flight_limit", "streams_limit", "retries"),  # response times include these waits
)
"""Codes of findings that leave the supply unchanged."""


def pooled(runs: Sequence[Source]) -> list[Analysis]:
    """Analyse runs of the same sweep.

    Raises:
        UsageError: no run is given, one is named twice, or they are not of the same sweep.
        LogreplayError: one cannot be read, has no response times, or is a copy of another.
    """
    if not runs:
        raise UsageError("no run is given: name the result log of a sweep, or its folder")
    paths = [sources.locate(run) for run in runs if isinstance(run, str | Path)]
    check_named_once(paths, "its steps would count twice; name each run once")
    found = [timed(run) for run in runs]
    for number, run in enumerate(runs):
        for before in range(number):
            if _one(found[before], found[number]):
                names = f"{sources.name_of(run)}: holds the same rows as {sources.name_of(runs[before])}"
                raise LogreplayError(f"{names}, and its steps would count twice; name each run once")
            _check(runs[before], run, (found[before], found[number]))
    return found


def _check(first: Source, other: Source, found: Sequence[Analysis]) -> None:
    """Refuse runs of different sweeps."""
    names = f"{sources.name_of(other)}: is not a run of the same sweep as {sources.name_of(first)}"
    if any(each.users for each in found):
        raise UsageError(f"{names}: sweeps over users are not pooled; name one")
    if any(each.earlier and "slo" in each.earlier.value for each in found):
        raise UsageError(f"{names}: searches are not pooled, since each has its own rates; name one")
    for key in _SAME:
        ours, theirs = (_told(each).get(key) for each in found)
        if ours is not None and theirs is not None and ours != theirs:
            word = {"for": "step length"}.get(key, key)
            raise UsageError(f"{names}: its {word} is {_short(theirs)}, not {_short(ours)}; name runs of one sweep")
    rates = [set(each.steps["rate"].to_list()) for each in found]
    upto = min(max(each, default=0.0) for each in rates)
    if apart := sorted(rate for rate in rates[0] ^ rates[1] if rate <= upto):
        raise UsageError(f"{names}: only one of them has {apart[0]:g}/s; name runs of one sweep")


def _told(run: Analysis) -> dict[str, Any]:
    """The options, the target and the log that the summary of a run names."""
    summary = run.earlier.value if run.earlier else {}
    options = summary.get("options")
    return {**(options if isinstance(options, Mapping) else {}), **{key: summary.get(key) for key in ("target", "log")}}


def _one(first: Analysis, other: Analysis) -> bool:
    """Whether two analyses are of the same requests."""
    columns = ["rate", "scheduled", "mean", "max"]
    return first.steps.select(columns).equals(other.steps.select(columns))


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def unmeasured(found: Sequence[Analysis]) -> set[float]:
    """The rates that the runs were to measure and that no step measured to its end."""
    asked = {rate for each in found for rate in each.asked}
    whole = pl.col("verdict") != CUT
    return asked - {rate for each in found for rate in each.steps.filter(whole)["rate"].to_list()}


def steps_of(found: Sequence[Analysis]) -> pl.DataFrame:
    """The steps of all runs, one below the other."""
    return pl.concat([each.steps for each in found], how="diagonal_relaxed")


def _with_lag(run: Analysis, figure: str) -> pl.DataFrame:
    """The steps of a run; if requests were sent late, with the figure of the answered as measured (``with_lag``)."""
    requests = run.requests
    if requests is None or not requests.has_late:
        return run.steps
    times = GroupTimes.by(requests, "step", len(requests.labels)).judged
    p = PERCENTILES.get(figure)
    measured = times.quantile(p, SMALLEST_SAMPLE[p], answered=True) if p else times.answered()[1]
    table = pl.DataFrame({"step": requests.labels, "with_lag": measured}).with_columns(
        pl.col("with_lag").fill_nan(None)
    )
    return run.steps.join(table, on="step", how="left", maintain_order="left")


def capacity_of(found: Sequence[Analysis], *, percentile: str, **asked: Any) -> Capacity:
    """The capacity of one machine, from the analyses of runs of one sweep.

    Args:
        found: their analyses, of `pooled`.
        percentile: the figure that is bounded.
        asked: the load and the bound, as of `logreplay.analysis.verdict.capacity.capacity`.
    """
    answer = capacity(
        pl.concat([_with_lag(each, percentile) for each in found], how="diagonal_relaxed"),
        percentile=percentile,
        saturation=[each.verdict.saturation.rate for each in found if each.verdict.saturation.rate],
        users=found[0].users.verdict if found[0].users else None,
        runs=len(found),
        lacks=lacking(found),
        unmeasured=unmeasured(found),
        **asked,
    )
    answer = replace(answer, notes=tuple(_notes(found)))
    slo = found[0].earlier["slo"] if len(found) == 1 and found[0].earlier else None
    unanswered = answer.machines is None and slo and slo.value and slo["unit"].text() == "requests/s"
    return _of_search(answer, slo, percentile, **asked) if slo and unanswered else answer


def _of_search(
    answer: Capacity,
    slo: JsonValue,
    figure: str,
    *,
    tps: float,
    within: float,
    headroom: float = 0.0,
    survive: int = 0,
) -> Capacity:
    """The number of machines by the rate that a search confirmed, as its trials alone give no ``answer``."""
    if not slo["found"].value:
        advice = "the search confirmed no rate: search again with a longer --budget, or sweep"
        return replace(answer, sentence=f"{answer.sentence}; {advice}")
    rate, held_s = slo["rate"].number(1e-6), slo["held_s"].number()
    bounds = {each["statistic"].text(): each["limit"].number() for each in slo["bounds"].each()}
    if bounds.get(figure, math.inf) > within:
        kept = " and ".join(
            f"{spoken(name)} within {show(limit)}" for name, limit in bounds.items() if name != "errors"
        )
        advice = f"the search confirmed {show_rate(rate, 4)}/s with {kept}: give that bound, search again, or sweep"
        return replace(answer, sentence=f"{answer.sentence}; {advice}")
    machines, short = machines_for(tps, rate, headroom) + survive, held_s < 0.9 * LONG_STEP_S
    text = f"{'~' * short}{number_of(machines, 'machine')} for {tps:g}/s with {figure} within {show(within)}"
    text += f"{spare_words(headroom, survive, none=', no headroom')}: one carries {show_rate(rate, 4)}/s at least, as "
    text += "the search confirmed; its trials alone show no more"
    unknown = not_tested("the rate was held for", [held_s], "number", another_mix(), "what the machines share")
    return Capacity(
        text, machines, None, rate, approximate=short, machines_likely=machines, likely=rate, survive=survive,
        not_counted=answer.not_counted, not_covered=unknown, notes=answer.notes,
    )  # fmt: skip


def weak_findings(summary: JsonValue) -> tuple[str, ...]:
    """The findings of a summary that weaken its measurement, in words."""
    told = summary["findings"].each() if summary["findings"].value else ()
    weak = [each for each in told if each["severity"].value in _WEAKENING and each["code"].value not in _HARMLESS]
    return tuple(each["text"].text() for each in weak)


def _notes(found: Sequence[Analysis]) -> Iterator[str]:
    """The findings that weaken the runs; of several each with the number of its run."""
    for number, run in enumerate(found, 1):
        made_now = JsonValue(Path(), run.summary, "")
        for text in weak_findings(run.earlier if run.earlier and run.earlier["findings"].value else made_now):
            yield f"run {number}: " * (len(found) > 1) + text


def lacking(found: Sequence[Analysis]) -> str:
    """What runs of a sweep lack for a saturation, in words; empty if they lack nothing."""
    return "" if any(each.verdict.answered for each in found) else min(each.verdict.lacks for each in found)
