"""Computes how many machines carry a load within a bound, from a sweep of one machine."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Final

import polars as pl

from logreplay.analysis.statistics.quantiles import PERCENTILES, SMALLEST_SAMPLE
from logreplay.analysis.tables.users import UsersVerdict
from logreplay.analysis.verdict.saturation import NEAR
from logreplay.analysis.verdict.stability import CUT, late_from
from logreplay.analysis.wording import show
from logreplay.core.plural import number_of

FIGURES: Final = ("mean", *PERCENTILES)
"""Response times of a step that a bound may be set for. The mean is that of the requests answered as expected."""
LONG_STEP_S: Final = 60
"""Steps shorter than this give optimistic estimates, marked with ~: queues have not filled yet."""


@dataclass(frozen=True)
class Capacity:
    """The number of machines that carry a load, and the bracket of one machine.

    Attributes:
        sentence: the answer in words.
        machines: as many as are surely needed; None if one machine never kept the bound with room to saturation, or
            nothing was tested.
        machines_at_best: if one machine carries nearly the upper end of the bracket; None if no rate failed.
        low: highest rate that one machine carried within the bound and clearly below saturation, as did all below;
            requests/s.
        high: lowest rate above at which it did not; without ``machines``, the lowest that counts, None if none does.
        saturation: estimate of the rate at which one machine saturates, requests/s; None if no rate overloaded it.
        mean: mean response time at ``low``, seconds; of several steps at that rate the mean of their means.
        approximate: whether the rates are read off steps too short to be trusted to a few percent.
    """

    sentence: str
    machines: int | None = None
    machines_at_best: int | None = None
    low: float | None = None
    high: float | None = None
    approximate: bool = True
    mean: float | None = None
    saturation: float | None = None

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

    One machine is taken to carry the highest rate up to which all valid steps kept the bound without a growing
    backlog or errors, and which is below saturation by `NEAR` at least. Closer to it, a step may look stable by chance,
    and machines that carry their share of the load would run full. Steps whose requests were sent late are not valid,
    nor are those whose bounded figure the generator's lag reaches. Load is taken to be split evenly, without a shared
    resource behind the machines: measure two machines once to know.

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
    needed = SMALLEST_SAMPLE[PERCENTILES[percentile]] if percentile in PERCENTILES else 1
    late = pl.col("lag_p95").fill_null(0.0) > late_from(pl.col("service_p50"))  # the bound is that of the target
    late |= _reached(percentile)
    too_late = steps.filter(late)["rate"].unique().sort().to_list()
    not_counted = (
        f"; not counted, because sent late: {', '.join(f'{rate:g}/s' for rate in too_late)}" if too_late else ""
    )
    counted = ~late & ~pl.col("verdict").is_in(("generator-limited", "outage", CUT))
    valid = steps.filter(counted & (pl.col("scheduled") >= needed))
    valid = valid.with_columns(pl.col("mean").cast(pl.Float64))
    if percentile == "mean":  # none where nothing was answered as expected, and then no bound was kept
        valid = valid.with_columns(pl.col("mean").fill_null(math.inf))
    valid = valid.filter(pl.col(percentile).is_not_null())
    if valid.is_empty():
        return Capacity(
            f"no valid step with the {needed} requests that {percentile} needs: use longer steps{not_counted}"
        )
    stable = (pl.col(percentile) <= within) & (pl.col("verdict") == "stable")
    by_rate = valid.group_by("rate").agg(kept=stable.all()).sort("rate")  # of several trials, all must keep it
    rates, kept = by_rate["rate"].to_list(), by_rate["kept"].to_list()
    bound = f"{percentile} within {show(within)}"
    if not kept[0]:
        text = f"{bound} is not kept even at {rates[0]:g}/s: sweep lower{not_counted}"
        return Capacity(text, high=rates[0], saturation=saturation)
    if saturation is None and not all(kept):
        saturation = _most_answered(valid, rates[kept.index(False) - 1])
    room = math.inf if saturation is None else (1 - NEAR) * saturation
    near = f"but one machine saturates at about {_rate(saturation)}" if saturation else ""
    if rates[0] > room:
        text = f"{bound} is kept at {rates[0]:g}/s, {near}, which leaves too little room: sweep lower{not_counted}"
        return Capacity(text, high=rates[0], saturation=saturation)
    carried = [held and rate <= room for rate, held in zip(rates, kept, strict=True)]
    failed = carried.index(False) if not all(carried) else None
    low = rates[(failed or len(rates)) - 1]
    high = rates[failed] if failed is not None else None
    mean = valid.filter(pl.col("rate") == low)["mean"].mean()
    short = bool((valid["duration"] < 0.9 * LONG_STEP_S).any())
    machines = _machines(tps, low, headroom)
    at_best = _machines(tps, min(high, room), headroom) if high is not None else None
    about = "~" if short else ""
    spare = f", {headroom:.0%} of each kept free" if headroom else ", no headroom"
    sentence = (
        f"{about}{number_of(machines, 'machine')} for {tps:g}/s with {bound}{spare}: one carries {about}{low:g}/s"
    )
    if isinstance(mean, float):
        sentence += f" (mean {show(mean)})"
    if high is None or failed is None:
        sentence += f"; it kept the bound at every rate tried, up to {low:g}/s: sweep higher"
        sentence += ", it may be fewer" if machines > 1 else ""
    elif kept[failed]:
        sentence += f"; {high:g}/s kept the bound, too, {near}, which leaves too little room"
    else:
        sentence += f", not {high:g}/s"
    if high is not None and at_best != machines:
        sentence += f"; {at_best} if one carries nearly {_rate(min(high, room))} within the bound"
    return Capacity(
        sentence + not_counted,
        machines,
        at_best,
        low,
        high,
        short,
        mean if isinstance(mean, float) else None,
        saturation,
    )


def _reached(figure: str) -> pl.Expr:
    """Whether the generator's lag reaches a figure of a step, which is left out for that."""
    if figure == "mean":
        return pl.col("mean").is_null() & (pl.col("errors") < pl.col("scheduled"))
    return pl.col(figure).is_null() & (pl.col("valid_up_to").fill_null(1.0) < PERCENTILES[figure])


def _rate(rate: float) -> str:
    """A rate of three digits, or of all before the point."""
    return f"{rate:.3g}/s" if rate < 1000 else f"{rate:.0f}/s"


def _most_answered(steps: pl.DataFrame, carried: float) -> float | None:
    """The most that a machine answered, for sweeps of too few rates; None where an overloaded one answered far less."""
    over = steps.filter((pl.col("verdict") == "overloaded") & (pl.col("rate") > carried))
    answered = [rate for rate in over["completed"].to_list() if rate is not None]
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
