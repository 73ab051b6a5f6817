"""Pools the steps of several runs of one sweep, and refuses runs of different sweeps."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from logreplay.analysis.analyze import Analysis, timed
from logreplay.analysis.format_time import show, spoken
from logreplay.analysis.input import sources
from logreplay.analysis.input.json_values import JsonValue
from logreplay.analysis.input.sources import Source
from logreplay.analysis.statistics.quantiles import PERCENTILES, SMALLEST_SAMPLE
from logreplay.analysis.tables.group_times import GroupTimes
from logreplay.analysis.verdict.capacity import Capacity, ConfirmedRate, capacity
from logreplay.analysis.verdict.stability import CUT
from logreplay.core.errors import LogreplayError, UsageError
from logreplay.core.files import check_named_once
from logreplay.core.quantities import in_ms_instead

_SAME: Final = ("target", "log", "rates", "arrivals", "for")
"""Keys of a summary whose values runs of one sweep share, where both have them."""

_LEAST: Final = 1e-6
"""The smallest rate of a search, requests/s."""
_WEAKENING: Final = ("warning", "void")
"""Severities of findings that weaken a measurement."""
_HARMLESS: Final = (
    *("disk", "ports", "ceiling"),  # before the first request; the effects have findings of their own
    *("slow_disk", "watch", "stop_refused"),  # about recording and refused stop conditions, not about requests
    *("in_flight_limit", "streams_limit", "retries"),  # response times include these waits
)
"""Codes of findings that leave the supply unchanged."""


def pooled(runs: Sequence[Source]) -> list[Analysis]:
    """Analyse runs of the same sweep."""
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
            verb = "are" if isinstance(theirs, list) else "is"
            raise UsageError(f"{names}: its {word} {verb} {_short(theirs)}, not {_short(ours)}; name runs of one sweep")
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
    alike = first.steps.select(columns).equals(other.steps.select(columns))
    return alike and first.summary["started"] == other.summary["started"]  # without an answer, times do not differ


def _short(value: object) -> str:
    text = ",".join(str(item).removesuffix(".0") for item in value) if isinstance(value, list) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def unmeasured(found: Sequence[Analysis]) -> set[float]:
    """The rates that the runs were to measure and that no step measured to its end."""
    asked = {rate for each in found for rate in each.asked}
    whole = pl.col("verdict") != CUT
    return asked - {rate for each in found for rate in each.steps.filter(whole)["rate"].to_list()}


def steps_of(found: Sequence[Analysis]) -> pl.DataFrame:
    """The steps of all runs, one below the other."""
    return pl.concat([each.steps for each in found], how="diagonal_relaxed")


def _with_lag(run: Analysis) -> pl.DataFrame:
    """The steps of a run; if requests were sent late, with figures of the answered as measured: ``with_lag_p90``."""
    requests = run.requests
    if requests is None or not requests.has_late:
        return run.steps
    times = GroupTimes.by(requests, "step", len(requests.labels)).judged
    measured = {name: times.quantile(p, SMALLEST_SAMPLE[p], answered=True) for name, p in PERCENTILES.items()}
    measured["mean"] = times.answered()[1]
    table = pl.DataFrame({"step": requests.labels} | {f"with_lag_{name}": each for name, each in measured.items()})
    return run.steps.join(table.fill_nan(None), on="step", how="left", maintain_order="left")


def capacity_of(found: Sequence[Analysis], *, percentile: str, **asked: Any) -> Capacity:
    """The capacity of one machine from the analyses of `pooled`; ``asked``: load and bound, as of `capacity`."""
    summary = found[0].earlier  # a search is the only run: `pooled` refuses more
    searched = summary if summary and summary["slo"]["unit"].value == "requests/s" else None
    unfit = _unfit(searched, percentile, asked["within"]) if searched else ""
    answer = capacity(
        pl.concat([_with_lag(each) for each in found], how="diagonal_relaxed"),
        percentile=percentile,
        saturation=[each.verdict.saturation.rate for each in found if each.verdict.saturation.rate],
        users=found[0].users.verdict if found[0].users else None,
        runs=len(found),
        lacks=lacking(found),
        unmeasured=unmeasured(found),
        confirmed=confirmed_rate(searched["slo"]) if searched and not unfit else None,
        **asked,
    )
    sentence = answer.sentence + unfit * (answer.machines is None)
    return replace(answer, sentence=sentence, notes=(*_notes(found), *_never_exceeded(found, asked["within"])))


def _unfit(summary: JsonValue, figure: str, within: float) -> str:
    """Why a search does not tell what keeps a bound, and what to do, in words; empty if it does."""
    slo = summary["slo"]
    if not slo["found"].value:
        return "; the search confirmed no rate: search again with a longer --budget, or sweep"
    if summary["verdict"].value != "VALID":
        return "; the search is not valid: search again, or sweep"
    bounds = {each["statistic"].text(): each["limit"].number() for each in slo["bounds"].each()}
    if bounds.get(figure, math.inf) <= within:
        return ""
    kept = " and ".join(f"{spoken(name)} within {show(limit)}" for name, limit in bounds.items() if name != "errors")
    return f"; the search was for {kept}: search for {spoken(figure)} within {show(within)}, or sweep"


def confirmed_rate(slo: JsonValue) -> ConfirmedRate:
    """Read the rate that a search confirmed, from its ``slo``, with the range of the highest rate."""
    rate = slo["rate"].number(_LEAST)
    low, high = _ends(slo)
    return ConfirmedRate(rate, min(low or rate, rate), max(high, rate) if high else None, _number(slo["held_s"]))


def _ends(slo: JsonValue) -> tuple[float | None, float | None]:
    """The ends of the range of a rate; None where there is none."""
    if not slo["range"].value:
        return None, _number(slo["high"])
    ends = [end.number(_LEAST) for end in slo["range"].each()]
    if len(ends) != 2:
        raise slo["range"].wrong("two rates")
    return ends[0], ends[1]


def _number(told: JsonValue) -> float | None:
    return None if told.value is None else told.number()


def weak_findings(summary: JsonValue) -> tuple[str, ...]:
    """The findings of a summary that weaken its measurement, in words."""
    told = summary["findings"].each() if summary["findings"].value else ()
    weak = [each for each in told if each["severity"].value in _WEAKENING and each["code"].value not in _HARMLESS]
    return tuple("invalid: " * (each["severity"].value == "void") + each["text"].text() for each in weak)


def _notes(found: Sequence[Analysis]) -> Iterator[str]:
    """The findings that weaken the runs; of several each with the number of its run."""
    for number, run in enumerate(found, 1):
        made_now = JsonValue(Path(), run.summary, "")
        for text in weak_findings(run.earlier if run.earlier and run.earlier["findings"].value else made_now):
            yield f"run {number}: " * (len(found) > 1) + text


def _never_exceeded(found: Sequence[Analysis], within: float) -> Iterator[str]:
    """That no request of the runs, once sent, can exceed a bound, seconds, as their time-outs are shorter."""
    timeouts = [_told(each).get("timeout") for each in found]
    known = [each for each in timeouts if isinstance(each, int | float)]
    if known and within > (timeout := max(known)):
        yield (
            f"the bound of {within:g} s is longer than --timeout {timeout:g} s of the run, which ends a request that "
            f"takes so long once it is sent; {in_ms_instead(within)}"
        )


def lacking(found: Sequence[Analysis]) -> str:
    """What runs of a sweep lack for a saturation, in words; empty if they lack nothing."""
    return "" if any(each.verdict.answered for each in found) else min(each.verdict.lacks for each in found)
