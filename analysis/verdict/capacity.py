"""Computes how many machines carry a load within a bound, from a sweep of one machine."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import polars as pl

from logreplay.analysis.format_time import show
from logreplay.analysis.statistics.failures import ERROR_SHARE
from logreplay.analysis.statistics.quantiles import PERCENTILES, SMALLEST_SAMPLE
from logreplay.analysis.tables.users import UsersVerdict
from logreplay.analysis.verdict.checks import Check, CheckedAnswer
from logreplay.analysis.verdict.saturation import NEAR
from logreplay.analysis.verdict.stability import CUT, late_from
from logreplay.core.plural import number_of

FIGURES: Final = ("mean", *PERCENTILES)
"""Response times of a step that a bound may be set for. The mean is that of the requests answered as expected."""
LONG_STEP_S: Final = 60
"""Steps shorter than this give optimistic estimates, marked with ~: queues have not filled yet."""


@dataclass(frozen=True)
class RateLeftOut:
    """A rate of which a step is not counted.

    Attributes:
        rate: requests/s.
        why: in words.
    """

    rate: float
    why: str


@dataclass(frozen=True, repr=False)
class Capacity(CheckedAnswer):
    """The number of machines that carry a load, and the bracket of one machine.

    Attributes:
        sentence: the answer in words.
        machines: as many as are surely needed; None if one machine never kept the bound with room to saturation, or
            nothing was tested.
        machines_at_best: if one machine carries nearly the upper end of the bracket, but not the rate at which it
            missed the bound; None if no rate failed.
        low: highest rate that one machine carried within the bound and clearly below saturation, as did all below;
            requests/s.
        high: lowest rate above at which it did not; without ``machines``, the lowest that counts, None if none does.
        saturation: estimate of the rate at which one machine saturates, requests/s; None if no rate overloaded it.
        mean: mean response time at ``low``, seconds; of several steps at that rate the mean of their means.
        approximate: whether the rates are read off steps too short to be trusted to a few percent.
        error_base: share of the requests that failed at the lowest rates as well, and has no part in the percentile.
        not_counted: rates of which a step is left out, and why.
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

    @property
    def verdict(self) -> str:
        """``VALID``, or ``NO_ANSWER``: `machines` is None."""
        return "NO_ANSWER" if self.machines is None else "VALID"

    @property
    def checks(self) -> tuple[Check, ...]:
        """Whether one machine keeps the bound; unjudged: nothing that was tested counts."""
        if self.machines is not None:
            return (Check("a rate keeps the bound", text=self.sentence),)
        return (Check("a rate keeps the bound", "unjudged" if self.high is None else "failed", self.sentence),)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def capacity(
    steps: pl.DataFrame,
    *,
    tps: float,
    within: float,
    percentile: str = "p90",
    headroom: float = 0.0,
    saturation: float | None = None,
    users: UsersVerdict | None = None,
) -> Capacity:
    """Read off a sweep how many such machines carry a load.

    One machine is taken to carry the highest rate up to which all steps that count kept the bound without a growing
    backlog or errors, and which is below saturation by `NEAR` at least. Closer to it, a step may look stable by chance,
    and machines that carry their share of the load would run full. As in a search, the bound is on the requests
    answered as expected; failures that took longer than the bound are late, and the others have a budget of their own:
    a step in which more fail than at the lowest rates (`more_errors`) does not keep it. Steps whose requests were sent
    late do not count, nor do those whose bounded figure the generator's lag reaches. Load is taken to be split evenly,
    without a shared resource behind the machines: measure two machines once to know.

    Args:
        steps: step table with evidence, as `logreplay.analysis.verdict.stability.judged_steps` returns it.
        tps: load to carry, requests/s.
        within: bound of the response time, seconds.
        percentile: which figure is bounded: p50, p90, p95, p99, p999 or mean.
        headroom: share of each machine that is to stay free, 0 to below 1.
        saturation: the estimate of the sweep, requests/s; None: the most that it answered when overloaded.
        users: of a sweep over users: its verdict; see `of_plateau`.

    Raises:
        ValueError: nonsense arguments.
    """
    if percentile not in FIGURES:
        raise ValueError(f"percentile must be one of {', '.join(FIGURES)}, got {percentile!r}")
    if not (tps > 0 and within > 0 and 0 <= headroom < 1):
        raise ValueError(
            f"tps and within must be above 0, headroom from 0 to below 1; got {tps!r}, {within!r}, {headroom!r}"
        )
    if users:
        return of_plateau(users, tps=tps, headroom=headroom)
    steps = _bounded(steps, percentile, within)
    left_out = _left_out(steps)
    base = float(steps["error_base"].fill_null(0.0).to_numpy().max(initial=0.0))
    remarks = f"; {100 * base:.2g} % of the requests failed at every rate" * (base > ERROR_SHARE / 2)
    remarks += "; not counted: " * bool(left_out) + _by_reason(left_out)
    valid = steps.filter(pl.col("why_not").is_null())
    bound = f"{percentile} within {show(within)}"
    if valid.is_empty():
        text = f"no step counts for {bound}: {_by_reason(left_out)}; use longer steps, or repeat the sweep"
        return Capacity(text, not_counted=left_out)
    told = Capacity("", saturation=saturation, error_base=base, not_counted=left_out)
    by_rate = valid.group_by("rate").agg(kept=pl.col("kept").all()).sort("rate")  # of several trials, all must keep it
    rates, kept = by_rate["rate"].to_list(), by_rate["kept"].to_list()
    if not kept[0]:
        text = f"{bound} is not kept even at {rates[0]:g}/s, {_missed(valid, rates[0], percentile)}: sweep lower"
        return replace(told, sentence=text + remarks, high=rates[0])
    if saturation is None and not all(kept):
        saturation = _most_answered(valid, rates[kept.index(False) - 1])
        told = replace(told, saturation=saturation)
    room = math.inf if saturation is None else (1 - NEAR) * saturation
    near = f"but one machine saturates at about {_rate(saturation)}" if saturation else ""
    if rates[0] > room:
        text = f"{bound} is kept at {rates[0]:g}/s, {near}, which leaves too little room: sweep lower{remarks}"
        return replace(told, sentence=text, high=rates[0])
    carried = [held and rate <= room for rate, held in zip(rates, kept, strict=True)]
    failed = carried.index(False) if not all(carried) else None
    low = rates[(failed or len(rates)) - 1]
    high = rates[failed] if failed is not None else None
    mean = valid.filter(pl.col("rate") == low)["mean"].mean()
    short = bool((valid["duration"] < 0.9 * LONG_STEP_S).any())
    machines = _machines(tps, low, headroom)
    at_best = _machines_at_best(tps, high, room, headroom) if high is not None else None
    about = "~" if short else ""
    spare = f", {headroom:.0%} of each kept free" if headroom else ", no headroom"
    sentence = (
        f"{about}{number_of(machines, 'machine')} for {tps:g}/s with {bound}{spare}: one carries {about}{low:g}/s"
    )
    if isinstance(mean, float):
        sentence += f" (mean {show(mean)})"
    if high is None or failed is None:
        sentence += f"; it kept the bound at every rate that counts, up to {low:g}/s: sweep higher"
        sentence += ", it may be fewer" if machines > 1 else ""
    elif kept[failed]:
        sentence += f"; {high:g}/s kept the bound, too, {near}, which leaves too little room"
    else:
        sentence += f", not {high:g}/s ({_missed(valid, high, percentile)})"
    if high is not None and at_best != machines:
        sentence += f"; {at_best} if one carries nearly {_rate(min(high, room))} within the bound"
    return replace(
        told,
        sentence=sentence + remarks,
        machines=machines,
        machines_at_best=at_best,
        low=low,
        high=high,
        approximate=short,
        mean=mean if isinstance(mean, float) else None,
    )


def _bounded(steps: pl.DataFrame, figure: str, within: float) -> pl.DataFrame:
    """Add the figure that a bound is on (``bounded``), whether it is ``kept``, and why a step does not count.

    Failures that took longer than the bound are late; of a step it is known how long half of its failures took.
    """
    answered = pl.col("scheduled") - pl.col("errors")
    needed = SMALLEST_SAMPLE[PERCENTILES[figure]] if figure in PERCENTILES else 1
    if figure in PERCENTILES:
        waited = (pl.col("failed_p50") > within).fill_null(False)
        bounded = pl.when(waited).then(figure).otherwise(f"ok_{figure}")
        judged = pl.when(waited).then("scheduled").otherwise(answered)
    else:
        bounded, judged = pl.col(figure), answered
    table = steps.with_columns(bounded=bounded.cast(pl.Float64), judged=judged)
    stable = pl.col("verdict") == "stable"
    late = pl.col("lag_p95").fill_null(0.0) > late_from(pl.col("service_p50"))  # the bound is that of the target
    few, unknown = stable & (pl.col("judged") < needed), stable & pl.col("bounded").is_null()
    reached = unknown & (pl.col("valid_up_to").fill_null(1.0) < 1)
    return table.with_columns(
        kept=stable & (pl.col("bounded") <= within),
        why_not=pl.when(pl.col("verdict") == "generator-limited").then(pl.lit("this machine was the limit"))
        .when(late).then(pl.lit("sent late"))
        .when(pl.col("verdict") == "outage").then(pl.lit("outage"))
        .when(pl.col("verdict") == CUT).then(pl.lit("cut short"))
        .when(few).then(pl.format(f"{{}} requests, {figure} needs {needed:,}", pl.col("judged")))
        .when(reached).then(pl.lit("sent late"))
        .when(unknown).then(pl.lit(f"{figure} is unknown")),
    )  # fmt: skip


def _left_out(steps: pl.DataFrame) -> tuple[RateLeftOut, ...]:
    """The rates of which a step does not count, ascending."""
    rows = steps.filter(pl.col("why_not").is_not_null()).select("rate", "why_not").unique().sort("rate", "why_not")
    return tuple(RateLeftOut(rate, why) for rate, why in rows.iter_rows())


def _by_reason(left_out: Sequence[RateLeftOut]) -> str:
    """Words for rates and why they do not count: ``20/s, 40/s (sent late), 80/s (outage)``."""
    reasons = dict.fromkeys(each.why for each in left_out)
    return ", ".join(f"{', '.join(f'{e.rate:g}/s' for e in left_out if e.why == why)} ({why})" for why in reasons)


def _missed(steps: pl.DataFrame, rate: float, figure: str) -> str:
    """Words for how a rate missed the bound."""
    step = steps.filter((pl.col("rate") == rate) & ~pl.col("kept").fill_null(False)).row(0, named=True)
    if step["verdict"] == "overloaded":
        return "the backlog grows"
    if step["verdict"] == "errors":
        return f"{100 * step['errors'] / step['scheduled']:.2g} % of the requests failed (see run --crash)"
    return f"{figure} {show(step['bounded'], failed=True)}"


def _rate(rate: float) -> str:
    """A rate of three digits, or of all before the point."""
    return f"{rate:.3g}/s" if rate < 1000 else f"{rate:.0f}/s"


def _most_answered(steps: pl.DataFrame, carried: float) -> float | None:
    """The most that a machine answered, for sweeps of too few rates; None where an overloaded one answered far less."""
    over = steps.filter((pl.col("verdict") == "overloaded") & (pl.col("rate") > carried))
    answered = [rate for rate in over["settled_completed"].to_list() if rate is not None]
    most = max(answered, default=0.0)
    return max(carried, most) if most > (1 - NEAR) * carried else None


def of_plateau(users: UsersVerdict, *, tps: float, headroom: float = 0.0) -> Capacity:
    """Say how many machines at least carry a load, from a sweep of one of them over users.

    Users who wait for responses send less to a slow target, so a closed loop does not tell the response times at a
    rate. But no target carries more than the throughput at which more users only wait.

    Args:
        users: the verdict of the sweep.
        tps: the load to carry, requests/s.
        headroom: share of each machine to keep free.
    """
    loop = (
        "These requests came from users who wait for responses, so the response time at a given rate is unknown. "
        "Sweep rates"
    )
    if users.plateau is None or not users.throughput_low > 0:
        return Capacity(f"the highest throughput of a machine is unknown: {users.sentence}. {loop} instead")
    low, high = users.throughput_low, users.throughput_high
    machines = _machines(tps, low, headroom)
    spare = f", {headroom:.0%} of each kept free" if headroom else ""
    text = (
        f"at least {number_of(machines, 'machine')} for {tps:g}/s{spare}: one carries {users.throughput:.4g}/s "
        f"({low:.4g}–{high:.4g}) when it is saturated. {loop}, such as "
        f"{users.throughput / 4:.3g}..{users.throughput * 1.2:.3g}"
    )
    return Capacity(text, machines, _machines(tps, high, headroom), low, high)


def _machines(tps: float, rate: float, headroom: float) -> int:
    return math.ceil(tps / (rate * (1 - headroom)) - 1e-9)


def _machines_at_best(tps: float, high: float, room: float, headroom: float) -> int:
    """Machines if each carries nearly the rate that failed, or the highest that leaves room where that is lower."""
    below = math.floor(tps / (high * (1 - headroom)) + 1e-9) + 1
    return max(below, _machines(tps, room, headroom))
