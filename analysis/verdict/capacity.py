"""Computes how many machines carry a load within a bound, from a sweep of one machine."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import takewhile
from typing import Any, Final

import numpy as np
import polars as pl

from logreplay.analysis.format_time import HOUR_S, show, show_range, show_rate, show_share
from logreplay.analysis.json_text import finite
from logreplay.analysis.machine_count import machines_for, spare_words
from logreplay.analysis.statistics.failures import ERROR_SHARE, SURE_Z
from logreplay.analysis.statistics.quantiles import PERCENTILES, SMALLEST_SAMPLE
from logreplay.analysis.tables.users import UsersVerdict
from logreplay.analysis.untested import another_mix, not_tested
from logreplay.analysis.verdict.carried_rate import (
    CarriedRate,
    base_of,
    carried_rate,
    failures_allowed,
    first_not_carried,
    for_each_rate,
)
from logreplay.analysis.verdict.checks import Check, CheckedAnswer
from logreplay.analysis.verdict.saturation import NEAR
from logreplay.analysis.verdict.saturation_sentences import FEWEST_STEPS, longer_steps
from logreplay.analysis.verdict.stability import CUT, MIX, VOID, dropped_too_many, late_from
from logreplay.core.errors import UsageError
from logreplay.core.plural import number_of

FIGURES: Final = ("mean", *PERCENTILES)
"""Response times of a step that a bound may be set for. The mean is that of the requests answered as expected."""
BELOW: Final = 2
"""A lower end this many times below all rates that count is not measured; of fewer than `FEWEST_STEPS` any below."""
LONG_STEP_S: Final = 60
"""Steps shorter than this give optimistic estimates, marked with ~: queues have not filled yet."""
_AMPLE: Final = 1.2
"""Factor by which an advised step is longer than one that would just be enough."""
_LIMIT: Final = "this machine was the limit"
_LATE: Final = "sent late"
_DROPPED: Final = "requests dropped"
_OUTAGE: Final = "outage"
_CUT: Final = "cut short"
_INVALID: Final = "invalid trial"
_MIX: Final = "routes left out"
_IDLE: Final = "stop other programs, add --workers, or send from another machine, and repeat the measurement"
_SEND_ALL: Final = "repeat the measurement without --late drop"


@dataclass(frozen=True)
class RateLeftOut:
    """A rate of which a step is not counted.

    Attributes:
        rate: requests/s.
        why: in words.
        steps: that are left out of those at this rate.
        of: number of steps at this rate.
        needs_s: length of a step, seconds, in which requests would be enough; None: they are not too few.
    """

    rate: float
    why: str
    steps: int = 1
    of: int = 1
    needs_s: float | None = None


@dataclass(frozen=True)
class ConfirmedRate:
    """The rate that a valid search confirmed.

    Attributes:
        rate: the promise, requests/s.
        low: lower end of its range, requests/s; at most ``rate``.
        high: upper end; None if no rate failed.
        held_s: length of the confirming trial, seconds; None: unknown.
    """

    rate: float
    low: float
    high: float | None
    held_s: float | None


@dataclass(frozen=True, repr=False)
class Capacity(CheckedAnswer):
    """The number of machines that carry a load, and the bracket of one machine.

    Attributes:
        sentence: the answer in words.
        machines: number needed if one carries the lower end of the bracket and `survive` of them are lost;
            None if one machine never kept the bound with room to saturation, nothing was tested, or the lower end is
            below all rates that count and no search confirmed a rate.
        machines_likely: number needed if one carries the likely rate, likewise.
        machines_at_best: if one carries nearly the upper end of the bracket, but not the rate at which it missed the
            bound, likewise; None if no rate failed.
        low: lower end of the bracket of the rate that one machine carries within the bound, requests/s.
        likely: the likely rate, requests/s, at most `NEAR` below saturation, as is ``low``.
        high: upper end; without ``machines``, the lowest rate that counts; None if no rate failed.
        saturation: estimate of the rate at which one machine saturates, requests/s; None if no rate overloaded it.
        mean: mean response time at the highest rate that was tested and kept the bound, seconds.
        approximate: True if the rates are read off steps too short to be trusted to a few percent.
        error_base: share of the requests that failed at the lowest rates as well, and has no part in the percentile.
        not_counted: rates of which a step is left out, and why.
        survive: number of machines that may be lost.
        runs: number of runs of the sweep that were pooled.
        not_covered: the sentence that names untested conditions; empty without an answer.
        notes: findings of the runs that weaken their measurement, in words.
    """

    sentence: str
    machines: int | None = None
    machines_at_best: int | None = None
    low: float | None = None
    high: float | None = None
    approximate: bool = True
    mean: float | None = None
    saturation: float | None = None
    error_base: float = 0.0
    not_counted: tuple[RateLeftOut, ...] = ()
    machines_likely: int | None = None
    likely: float | None = None
    survive: int = 0
    runs: int = 1
    not_covered: str = ""
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """``VALID``, or ``NO_ANSWER``: `machines` is None."""
        return "NO_ANSWER" if self.machines is None else "VALID"

    @property
    def checks(self) -> tuple[Check, ...]:
        """Whether one machine keeps the bound; unjudged: nothing that was tested counts."""
        if self.machines is not None:
            return (Check("a rate keeps the bound", text=self.sentence),)
        unknown = self.high is None or self.likely is not None
        return (Check("a rate keeps the bound", "unjudged" if unknown else "failed", self.sentence),)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return finite(asdict(self))


def capacity(
    steps: pl.DataFrame,
    *,
    tps: float,
    within: float,
    percentile: str = "p90",
    headroom: float = 0.0,
    survive: int = 0,
    saturation: float | Sequence[float] | None = None,
    users: UsersVerdict | None = None,
    runs: int = 1,
    lacks: str = "",
    unmeasured: Collection[float] = (),
    confirmed: ConfirmedRate | None = None,
) -> Capacity:
    """Read off a sweep how many such machines carry a load.

    The rate that one machine carries within the bound comes from all steps that count (`carried_rate`), with the
    bracket that holds it, and is below saturation by `NEAR` at least: closer to it, a step may look stable by chance,
    and machines that carry their share of the load would run full. As in a search, the bound is on the requests
    answered as expected; failures that took longer than the bound are late, and the others have a budget of their own:
    a step in which more fail than at the lowest rates (`more_errors`) does not keep it. Where such a step ends the
    rates that are carried, the shares of failures at all rates set the bracket. Steps whose requests were sent
    late, or whose bounded figure the generator's lag reaches, count only if they keep the bound with that lag: a target
    that gets the same requests on time answers none of them later, so such a step never lowers the answer. A percentile
    is never carried at a higher rate than a lower one within the same bound, though its steps show it less exactly.
    Steps without a backlog of whose requests more than 2 % were dropped do not count: they did not reach their rate.
    Load is taken to be split evenly, without a shared resource behind the machines: measure two machines once to know.

    Args:
        steps: step table with evidence, as `logreplay.analysis.analyze.analyse` makes it; of several runs of the same
            sweep one below the other. Where known, ``with_lag_p90`` and the like are the figures of the requests
            answered as expected, with the generator's lag.
        tps: load to carry, requests/s.
        within: bound of the response time, seconds.
        percentile: which figure is bounded: p50, p90, p95, p99, p999 or mean.
        headroom: share of each machine that is to stay free, 0 to below 1.
        survive: machines that may be lost while the others carry the load.
        saturation: the estimate of the sweep, requests/s, or of each run; None: the most that it answered when
            overloaded.
        users: verdict of a sweep over users; see `of_plateau`.
        runs: number of runs that the steps come from.
        lacks: reason why the sweep has no saturation, in words; empty if it has one.
        unmeasured: rates of the sweep that were not measured.
        confirmed: the rate of a search for this bound, if its trials are the steps; it counts where their lower end
            is below all rates that count.

    Raises:
        UsageError: a value is wrong.
    """
    if percentile not in FIGURES:
        raise UsageError(f"percentile={percentile!r}: expected one of {', '.join(FIGURES)}", ("percentile",))
    if not (tps > 0 and within > 0 and 0 <= headroom < 1 and survive >= 0):
        raise UsageError(
            f"tps and within must be above 0, headroom from 0 to below 1, survive 0 or more; got {tps!r}, {within!r}, "
            f"{headroom!r}, {survive!r}"
        )
    if users:
        return of_plateau(users, tps=tps, headroom=headroom, survive=survive)
    estimates = [saturation] if isinstance(saturation, int | float) else list(saturation or ())
    limit = float(np.median(estimates)) if estimates else None
    below = _of_lower_percentiles(steps, percentile, within, limit, len(estimates))
    steps = _bounded(steps, percentile, within, limit)
    left_out = _left_out(steps)
    base = base_of(steps)
    remarks = f"; {show_share(base)} of the requests failed at every rate" * (base > ERROR_SHARE / 2)
    remarks += f"; {runs} runs pooled" * (runs > 1)
    if late := steps.filter(pl.col("late") & pl.col("why_not").is_null())["rate"].unique().sort().to_list():
        remarks += f"; sent late, and counted with the generator's lag: {', '.join(f'{rate:g}/s' for rate in late)}"
    remarks += "; not counted: " * bool(left_out) + _by_reason(left_out)
    unjudged = f"; saturation unknown, {lacks}" * bool(lacks)
    valid = steps.filter(pl.col("why_not").is_null())
    bound = f"{percentile} within {show(within)}"
    if valid.is_empty():
        text = f"no step counts for {bound}: {_by_reason(left_out)}; {_remedy(left_out)}"
        return Capacity(text, not_counted=left_out, survive=survive, runs=runs)
    limit = limit or _most_answered(valid)
    told = Capacity("", saturation=limit, error_base=base, not_counted=left_out, survive=survive, runs=runs)
    found = _carried(valid, percentile, within, limit, len(estimates))
    for other in below:
        found = found.bounded_by(other, min)
    lower = [each for each in left_out if each.rate < found.lowest]
    if found.likely is None:
        missed = _missed(valid, found.lowest, percentile)
        text = f"{bound} is not kept {'' if lower else 'even '}at {found.lowest:g}/s, {missed}: "
        text += f"{_lower(lower)}{remarks}"
        return replace(told, sentence=text, high=None if lower else found.lowest)
    room = math.inf if limit is None else (1 - NEAR) * limit
    near = "an overloaded machine answered about" if lacks else "one machine saturates at about"
    near = f"{near} {show_rate(limit)}/s" if limit else ""
    if found.lowest > room:
        text = f"{bound} is kept at {found.lowest:g}/s, but {near}, which leaves too little room: "
        return replace(told, sentence=f"{text}{_lower(lower)}{remarks}", high=None if lower else found.lowest)
    low, likely = min(found.low, room), min(found.likely, room)
    unsure = low < found.lowest / (1 if valid["rate"].n_unique() < FEWEST_STEPS else BELOW)
    if unsure and not confirmed:
        step = _step_at(valid, found.lowest)
        remedy = _remedy(lower) if lower else "sweep lower" + _or_longer(step, within, found.low)
        figure = show(step["bounded"], failed=True)
        text = (
            f"{bound} is kept at {found.lowest:g}/s, the lowest rate that counts, but not surely ({percentile} {figure}"
            f" of {number_of(step['judged'], 'request')}), and no lower rate shows what one machine carries: "
            f"{remedy}{unjudged}{remarks}"
        )
        return replace(told, sentence=text, likely=likely, high=found.high)
    mean = valid.filter(pl.col("rate") == found.kept)["mean"].mean()
    lengths, held, seen = valid["duration"].to_list(), "each rate that counts was held for", ""
    if unsure and confirmed:
        found = replace(found, low=confirmed.low, likely=confirmed.rate, high=confirmed.high)
        low, likely = min(confirmed.low, room), min(confirmed.rate, room)
        lengths, held = [confirmed.held_s or min(lengths)], "the rate was held for"
        seen = f"; rate and range are those of the search, since no trial below {found.lowest:g}/s counts"
    answer = replace(
        told,
        machines=machines_for(tps, low, headroom) + survive,
        machines_likely=machines_for(tps, likely, headroom) + survive,
        machines_at_best=None if found.high is None else _machines_at_best(tps, found.high, room, headroom) + survive,
        low=low,
        likely=likely,
        high=found.high,
        approximate=min(lengths) < 0.9 * LONG_STEP_S,
        mean=mean if isinstance(mean, float) else None,
        not_covered=not_tested(held, lengths, "number", another_mix(), "what the machines share"),
    )
    spare = spare_words(headroom, survive, none=", no headroom")
    seen += _seen(valid, found, percentile, unmeasured, left_out)
    if (found.likely or 0.0) > room:
        seen += f"; {near}, and {100 * (1 - NEAR):g} % of that is the most that counts as carried"
        if found.high and limit and found.high > limit:
            seen += f" (both are estimates: the range ends at {show_rate(found.high)}/s)"
    return replace(answer, sentence=_numbers(answer, f"{tps:g}/s with {bound}{spare}") + seen + unjudged + remarks)


def _of_lower_percentiles(
    steps: pl.DataFrame, figure: str, within: float, limit: float | None, estimates: int
) -> Iterator[CarriedRate]:
    """The rate at which each percentile below a figure keeps the bound; that of the figure is at most as high."""
    for lower in takewhile(lambda name: name != figure, PERCENTILES if figure in PERCENTILES else ()):
        valid = _bounded(steps, lower, within, limit).filter(pl.col("why_not").is_null())
        if valid.height:
            yield _carried(valid, lower, within, limit or _most_answered(valid), estimates)


def _carried(steps: pl.DataFrame, figure: str, within: float, limit: float | None, estimates: int) -> CarriedRate:
    """`carried_rate` from steps that count: those sent late show that a rate is carried, never that it is not."""
    on_time = steps.filter(~pl.col("late"))
    each_of = [steps, on_time] if 0 < on_time.height < steps.height else [steps]
    rates = [carried_rate(each, figure, within, limit, max(estimates, 1), steps["may_fail"][0]) for each in each_of]
    return rates[0].bounded_by(rates[-1], max)


def _numbers(answer: Capacity, what: str) -> str:
    """The number of machines at the likely and at the lower end, and what one carries."""
    assert answer.machines is not None
    assert answer.machines_likely is not None
    assert answer.low is not None
    assert answer.likely is not None
    about = "~" if answer.approximate else ""
    text = f"{about}{number_of(answer.machines_likely, 'machine')} for {what}"
    if answer.machines != answer.machines_likely:
        text += f"; {answer.machines} at the lower end"
    ends = f"{show_rate(answer.low)}/s at least" if answer.high is None else f"{show_range(answer.low, answer.high)}/s"
    return f"{text}: one carries about {show_rate(answer.likely)}/s ({ends})"


def _seen(
    steps: pl.DataFrame,
    found: CarriedRate,
    figure: str,
    unmeasured: Collection[float],
    left_out: Sequence[RateLeftOut],
) -> str:
    """Words for the highest rate that kept the bound, the rates below that missed it, and the lowest above."""
    kept = _step_at(steps, found.kept)
    text = f"; {figure} {show(kept['bounded'], failed=True)} at {found.kept:g}/s"
    if isinstance(kept["mean"], float) and figure != "mean":
        text += f" (mean {show(kept['mean'])})"
    if kept["failed"] > (kept["error_base"] or 0.0) + ERROR_SHARE:
        text += f", {show_share(kept['failed'])} of the requests failed"
    if (several := steps.filter(pl.col("rate") == found.kept).height) > 1:
        text += f" in the slowest of {several} steps"
    for rate in found.passed:
        text += f"; not kept at {rate:g}/s ({_missed(steps, rate, figure)}), but at higher rates"
    if found.missed is not None:
        text += f"{';' if found.passed else ','} not kept at {found.missed:g}/s"
        return f"{text} ({_missed(steps, found.missed, figure)})"
    if found.high is not None:
        return text
    text += f"; the bound was kept at every {'other ' * bool(found.passed)}rate that counts"
    if higher := sorted(rate for rate in unmeasured if rate > found.kept):
        return f"{text}: measure the other rates of the sweep, {higher[0]:g} to {higher[-1]:g}/s"
    unknown = [each for each in left_out if each.rate > found.kept]
    return f"{text}; higher rates do not count, so {_remedy(unknown)}" if unknown else f"{text}: sweep higher"


def _or_longer(step: Mapping[str, Any], within: float, low: float) -> str:
    """Advise, beside another remedy, steps so long that the lowest rate keeps the bound surely; empty if none do.

    At ``low``, the lower end, it is surely kept with the error of the step, which is as 1 over the root of its length.
    """
    if low <= 0 or step["bounded"] is None or step["bounded"] >= within:
        return ""
    spare = math.log(within / step["bounded"]) if step["bounded"] > 0 else math.inf
    seconds = _AMPLE * step["duration"] * (1 + math.log(step["rate"] / low) / spare) ** 2
    return f", or {longer_steps(seconds)}" if seconds <= HOUR_S else ""


def _step_at(steps: pl.DataFrame, rate: float) -> dict[str, Any]:
    """The step at a rate whose bounded figure is the longest."""
    return steps.filter(pl.col("rate") == rate).sort("bounded", "mean").row(-1, named=True)


def _bounded(steps: pl.DataFrame, figure: str, within: float, limit: float | None) -> pl.DataFrame:
    """Add the figure that a bound is on (``bounded``), whether it is ``kept``, and why a step does not count.

    Failures that took longer than the bound are late; of a step it is known how long half of its failures took.
    ``failed``: share of the requests that failed. ``may_fail``: where failures set the limit, how large it may be, else
    null. ``many``: it is larger.
    ``late``: requests were sent late, or the lag reaches the figure, which then has the lag in it, if that is known.
    """
    answered = pl.col("scheduled") - pl.col("errors")
    needed = SMALLEST_SAMPLE[PERCENTILES[figure]] if figure in PERCENTILES else 1
    with_lag = pl.col(f"with_lag_{figure}") if f"with_lag_{figure}" in steps.columns else pl.lit(None, pl.Float64)
    waited = pl.lit(figure in PERCENTILES) & (pl.col("failed_p50") > within).fill_null(False)
    own = pl.when(waited).then(figure).otherwise(f"ok_{figure}" if figure in PERCENTILES else figure)
    judged = pl.when(waited).then("scheduled").otherwise(answered)
    stable = pl.col("verdict") == "stable"
    few = stable & (judged < needed)
    reached = stable & ~few & own.is_null() & (pl.col("valid_up_to").fill_null(1.0) < 1)
    why_not = (
        pl.when(pl.col("verdict") == "generator-limited").then(pl.lit(_LIMIT))
        .when(pl.col("verdict") == VOID).then(pl.lit(_INVALID))
        .when(pl.col("verdict") == MIX).then(pl.lit(_MIX))
        .when(pl.col("late") & ~pl.col("kept")).then(pl.lit(_LATE))
        .when(dropped_too_many()).then(pl.lit(_DROPPED))
        .when(pl.col("verdict") == "outage").then(pl.lit(_OUTAGE))
        .when(pl.col("verdict") == CUT).then(pl.lit(_CUT))
        .when(few).then(pl.format(f"{{}} requests, {figure} needs {needed:,}", pl.col("judged")))
        .when(stable & pl.col("bounded").is_null()).then(pl.lit(f"{figure} is unknown"))
    )  # fmt: skip
    enough = needed + SURE_Z * math.sqrt(needed)  # of requests that come at random
    table = steps.with_columns(
        needs_s=pl.when(few).then(pl.col("duration") * enough / judged.clip(1)),
        bounded=pl.coalesce(own, pl.when(~waited).then(with_lag)).cast(pl.Float64),
        judged=judged,
        late=reached | (pl.col("lag_p95").fill_null(0.0) > late_from(pl.col("service_p50"))),
        failed=(pl.col("errors") - pl.col("dropped")) / (pl.col("scheduled") - pl.col("dropped")).clip(1),
    )
    table = table.with_columns(kept=stable & (pl.col("bounded") <= within).fill_null(False))
    counted = table.filter(why_not.is_null())
    table = table.with_columns(may_fail=pl.lit(failures_allowed(counted, limit), pl.Float64))
    table = table.with_columns(many=(pl.col("failed") > pl.col("may_fail")).fill_null(False))
    table = table.with_columns(kept=pl.col("kept") & ~pl.col("many")).with_columns(why_not=why_not)
    return table.sort("rate", "scheduled", "bounded", "mean")  # in whatever order the steps came


def _left_out(steps: pl.DataFrame) -> tuple[RateLeftOut, ...]:
    """The rates of which a step does not count, ascending."""
    rows = steps.with_columns(of=pl.len().over("rate")).filter(pl.col("why_not").is_not_null())
    counted = rows.group_by("rate", "why_not").agg(steps=pl.len(), of=pl.col("of").first(), needs=pl.max("needs_s"))
    counted = counted.sort("rate", "why_not")
    return tuple(RateLeftOut(*row) for row in counted.iter_rows())


def _by_reason(left_out: Sequence[RateLeftOut]) -> str:
    """Words for rates and why they do not count: ``20/s, 40/s in 1 of 3 steps (sent late), 80/s (outage)``."""
    reasons = dict.fromkeys(each.why for each in left_out)
    return ", ".join(f"{', '.join(_named(e) for e in left_out if e.why == why)} ({why})" for why in reasons)


def _remedy(left_out: Sequence[RateLeftOut]) -> str:
    """The change that makes steps count that did not, by the reasons: longer steps if requests were too few."""
    whys, needed = {each.why for each in left_out}, max((each.needs_s or 0.0 for each in left_out), default=0.0)
    remedies = [longer_steps(needed)] * bool(needed) + [_IDLE] * bool(whys & {_LIMIT, _LATE})
    remedies += [_SEND_ALL] * (_DROPPED in whys)
    return "; ".join(remedies) or "repeat the measurement"


def _lower(left_out: Sequence[RateLeftOut]) -> str:
    """The way to a lower rate that counts: a sweep of lower rates, or the change that makes those count."""
    return f"lower rates do not count, so {_remedy(left_out)}" if left_out else "sweep lower"


def _named(each: RateLeftOut) -> str:
    return f"{each.rate:g}/s" + f" in {each.steps} of {each.of} steps" * (each.steps < each.of)


def _missed(steps: pl.DataFrame, rate: float, figure: str) -> str:
    """Words for how a rate missed the bound, by the worst of its steps."""
    missed = steps.filter((pl.col("rate") == rate) & ~pl.col("kept").fill_null(False))
    failing = (pl.col("verdict") == "errors") | pl.col("many")
    gravest = missed.sort(pl.col("verdict") == "overloaded", failing, "bounded", "errors")
    step = gravest.row(-1, named=True)
    if step["verdict"] == "overloaded":
        return "the backlog grows"
    if step["verdict"] == "errors" or step["many"]:
        return f"{show_share(step['failed'])} of the requests failed (see run --crash)"
    return f"{figure} {show(step['bounded'], failed=True)}"


def _most_answered(steps: pl.DataFrame) -> float | None:
    """The most that a machine answered in overload, for sweeps without a saturation.

    None where an overloaded one answered far less, or where each overload passed.
    """
    if first_not_carried(for_each_rate(steps), base_of(steps), None) is None:
        return None
    kept = steps.filter(pl.col("kept").all().over("rate"))["rate"]
    missed = steps.filter(~pl.col("kept").fill_null(False))["rate"].to_numpy()
    carried = kept.filter(kept < missed.min(initial=math.inf)).to_numpy().max(initial=0.0)
    if not carried or not len(missed):
        return None
    over = steps.filter((pl.col("verdict") == "overloaded") & (pl.col("rate") > carried))
    answered = [rate for rate in over["settled_completed"].to_list() if rate is not None]
    most = max(answered, default=0.0)
    return float(max(carried, most)) if most > (1 - NEAR) * carried else None


def of_plateau(users: UsersVerdict, *, tps: float, headroom: float = 0.0, survive: int = 0) -> Capacity:
    """Say how many machines at least carry a load, from a sweep of one of them over users.

    Users who wait for responses send less to a slow target, so a closed loop does not tell the response times at a
    rate. But no target carries more than the throughput at which more users only wait.
    """
    loop = (
        "These requests came from users who wait for responses, so the response time at a given rate is unknown. "
        "Sweep rates"
    )
    if users.plateau is None or not users.throughput_low > 0:
        return Capacity(f"the highest throughput of a machine is unknown: {users.sentence}. {loop} instead")
    low, high = users.throughput_low, users.throughput_high
    machines, likely, best = (machines_for(tps, rate, headroom) + survive for rate in (low, users.throughput, high))
    spare = spare_words(headroom, survive)
    text = (
        f"at least {number_of(machines, 'machine')} for {tps:g}/s{spare}: one carries "
        f"{show_rate(users.throughput, 4)}/s ({show_rate(low, 4)}–{show_rate(high, 4)}) when it is saturated. {loop}, "
        f"such as {show_rate(users.throughput / 4)}..{show_rate(users.throughput * 1.2)}"
    )
    return Capacity(text, machines, best, low, high, machines_likely=likely, likely=users.throughput, survive=survive)


def _machines_at_best(tps: float, high: float, room: float, headroom: float) -> int:
    """Machines if each carries nearly the rate that failed, or a lower one if that is too close to saturation."""
    below = math.floor(tps / (high * (1 - headroom)) + 1e-9) + 1
    return max(below, machines_for(tps, room, headroom))
