"""Observations on the result rows that bear on a verdict, as sentences."""

import math
from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl

from logreplay.analysis.format_time import HOUR_S, rounded_up, show, show_share
from logreplay.analysis.input import pias
from logreplay.analysis.input.arrays import RequestArrays
from logreplay.analysis.input.chunks import SECOND
from logreplay.analysis.input.downcast import CANCELLED, DROPPED
from logreplay.analysis.statistics.failures import ERROR_SHARE
from logreplay.analysis.tables import warmup
from logreplay.analysis.tables.aggregate import step_windows
from logreplay.analysis.tables.group_times import GroupTimes
from logreplay.analysis.tables.step_intervals import TRIALS
from logreplay.analysis.verdict import saturation_sentences as sentences
from logreplay.analysis.verdict.saturation import SaturationVerdict
from logreplay.core.plural import first_of, number_of
from logreplay.core.rows import left_out
from logreplay.core.validity import given, sent_late

NO_TIMES: Final = "the log has no response times"
LOG_TIMES: Final = "log $request_time (nginx) or %D (Apache)"
UNTIMED: Final = f"{NO_TIMES}: saturation is not judged and nothing is drawn; {LOG_TIMES}"


def findings_of(requests: RequestArrays, verdict: SaturationVerdict) -> list[dict[str, str]]:
    """Return the observations that bear on a verdict: ``code``, ``severity``, ``text`` each."""
    found = []
    dropped = requests.count(DROPPED)
    if dropped + np.count_nonzero(requests.kind == CANCELLED) == len(requests):
        some, when = "or dropped " * bool(dropped), "when the run stopped"
        text = f"no response came before the end: all requests ({len(requests):,}) were cancelled {some}{when}"
        if dropped == len(requests):
            text = f"nothing was measured: all requests ({dropped:,}) were dropped, none was sent"
        found.append({"code": "rate_missed", "severity": "void", "text": text})
    if requests.unreadable:
        lost = pias.lost(requests.unreadable)
        text = "the result log is not read whole: " * bool(lost) + left_out(requests.unreadable)
        found.append({"code": "unreadable_rows", "severity": "warning" if lost else "note", "text": text})
    if requests.found_steps:
        found_steps = number_of(verdict.steps.height, "step was", "steps were")
        text = f"the result log names no steps: {found_steps} found in the number of requests per second"
        found.append({"code": "found_steps", "severity": "note", "text": text})
    if requests.window_s:
        text = f"the result log has no steps: each {requests.window_s:,} seconds count as one"
        found.append({"code": "windows", "severity": "note", "text": text})
    if requests.has_times and not requests.has_schedule:
        text = "the result log has no scheduled times: generator lag is unknown, response time is service time"
        found.append({"code": "no_schedule", "severity": "warning", "text": text})
    if not requests.has_times:
        return [*found, {"code": "no_times", "severity": "warning", "text": UNTIMED}]
    warm_up = warmup.of_first_step(requests, step_windows(requests))
    if warm_up and (text := warm_up.sentence()):
        found.append({"code": "warm_up", "severity": "warning", "text": text})
    untested = list(_not_covered(requests, verdict))
    undecided = any(each["code"] == "undecided" for each in untested)  # advises another length of a step
    if (short := too_short(verdict.steps)) and not undecided:
        found.append({"code": "short_steps", "severity": "note", "text": short})
    return [*found, *_of_the_target(requests, verdict), *untested]


def _not_covered(requests: RequestArrays, verdict: SaturationVerdict) -> Iterator[dict[str, str]]:
    """Finding on the limits of the evidence of a sweep that has an answer."""
    steps = verdict.steps.filter(pl.col("verdict").is_in(("stable", "overloaded", "errors")))
    if requests.several_rates and verdict.answered and steps.height:
        held, by = ("number of users", "users") if "users" in steps.columns else ("rate", "rate")
        fewest = int(steps.group_by(by).len()["len"].to_numpy().min())
        routes, all_count = max(len(requests.routes) - 1, 1), steps.height == verdict.steps.height
        text = sentences.not_covered(held, steps["duration"], fewest, routes, all_count=all_count)
        yield {"code": "not_covered", "severity": "note", "text": text}
        yield from _undecided(verdict)


def _undecided(verdict: SaturationVerdict) -> Iterator[dict[str, str]]:
    """Finding on the highest stable rate where a step so long does not tell it from a rate above the capacity."""
    stable = verdict.steps.filter((pl.col("verdict") == "stable") & pl.col("p50").is_finite()).sort("rate")
    if "users" in stable.columns or not stable.height:
        return
    top, capacity = stable.row(-1, named=True), verdict.saturation.rate
    risen = top["p50"] >= sentences.RISE * stable["p50"][0]
    if (capacity is not None or risen) and (text := sentences.undecided(top["rate"], top["duration"], capacity)):
        yield {"code": "undecided", "severity": "note", "text": text}


def _of_the_target(requests: RequestArrays, verdict: SaturationVerdict) -> Iterator[dict[str, str]]:
    """Findings on failures, outages and passing overloads, and on requests that were sent late all the same."""
    steps = verdict.steps
    if verdict.target_failing:
        text = "more than half of the requests failed at every rate: look at one of them with run --crash"
        yield {"code": "target_failing", "severity": "void", "text": text}
        return
    base = steps["error_base"].to_numpy().max(initial=0.0)
    if base > ERROR_SHARE / 2:
        text = f"{show_share(base)} of the requests failed at the lowest rates; the verdict does not count this share "
        yield {"code": "constant_errors", "severity": "warning", "text": text + "as overload; see run --crash"}
    if outages := steps["outage"].drop_nulls().unique(maintain_order=True).to_list():
        text = f"the target had an outage: {', '.join(outages)}; look at its log at that time"
        yield {"code": "outage", "severity": "warning", "text": text}
    carried = steps.filter(pl.col("verdict") == "stable")["rate"].to_numpy().max(initial=0.0)
    passed = pl.col("verdict").is_in(("overloaded", "errors")) & (pl.col("rate") < carried)
    passing = steps.filter(passed & (pl.col("rate") < (verdict.saturation.low or math.inf)))
    if "users" not in steps.columns and (rates := _rates(passing)):  # users set no rate: the target does
        text = f"the target fell behind or failed at {rates}, and carried higher rates: a pause, other load, a cold "
        text += f"cache or late scaling; repeat each rate: sweep --repeat {TRIALS}"
        yield {"code": "passing_overload", "severity": "warning", "text": text}
    yield from _late(requests, verdict)


def _late(requests: RequestArrays, verdict: SaturationVerdict) -> Iterator[dict[str, str]]:
    """Finding on steps of which a percentile is not given, because requests were sent late."""
    added: dict[float, float] = {}
    late = []
    steps = verdict.steps.filter(~pl.col("generator"), pl.col("valid_up_to") < 1).select(
        "step", "scheduled", "valid_up_to"
    )
    for label, count, valid in steps.iter_rows():
        if valid >= given(count)[-1]:  # the lag reaches none of these
            continue
        step = requests.of_step(requests.labels.index(label))
        times = GroupTimes.by(step, "step", 1)
        reached = {p: lag for p in given(count) if not math.isnan(lag := times.added(p).item())}
        added |= {p: max(lag, added.get(p, 0.0)) for p, lag in reached.items()}
        late += [(label, int(step.lag.max()))] if reached else []
    if late:
        labels, lags = zip(*late, strict=True)
        at = f"at {_rates(verdict.steps.filter(pl.col('step').is_in(labels)))}, " if len(verdict.steps) > 1 else ""
        text = sent_late(dict(sorted(added.items())), max(lags) / SECOND, show)
        text = f"{at}{text}; stop other processes, and repeat the run"
        yield {"code": "lag", "severity": "warning", "text": text}


def _rates(steps: pl.DataFrame) -> str:
    return first_of([f"{rate:g}/s" for rate in steps["rate"].unique().sort()])


def too_short(steps: pl.DataFrame) -> str:
    """Words for the steps that are too short for a range of p99; none for a run of one step."""
    if steps.height < 2 or (short := steps.filter(pl.col("p99_needs_s").is_not_null())).is_empty():
        return ""
    why = "because requests in one queue are late together"
    text = f"steps are too short for a range of p99 at {_rates(short)}, {why}"
    usable = short.filter(pl.col("p99_needs_s") <= HOUR_S).sort("p99_needs_s")
    if usable.height:
        needed = usable.row(-1, named=True)
        text += f": at {needed['rate']:g}/s a step has to be {rounded_up(needed['p99_needs_s'])} long"
    if usable.height < short.height:
        text += f"; at {_rates(short.filter(pl.col('p99_needs_s') > HOUR_S))} it would take hours, so near saturation"
    return text
