"""Writes a plan in sentences and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from logreplay.analysis.demand.rates import DAYS, HOUR, WINDOWS
from logreplay.analysis.demand.wording import iso, rate, span, when
from logreplay.analysis.format_time import show_rate, show_share
from logreplay.analysis.planning.autoscaling import SYNC_S, TOLERANCE, WINDOW_S, ScalingTarget
from logreplay.analysis.planning.demand_range import MOST_CHANGE, WEEK_S, WEEKS, DemandRange, lacking, medians, weeks
from logreplay.analysis.planning.machines import Machines, cost
from logreplay.analysis.planning.plan import MachinePlan
from logreplay.analysis.planning.proof import Proof
from logreplay.analysis.planning.route_mix import NAMED
from logreplay.core.plural import number_of

_WEEKS_FOR_RANGE: Final = 2
_HOLDS_A_DAY_S: Final = 25 * HOUR
"""Length of a gap from which on it holds a day of whole hours, and is named by these."""
_LOST: Final = 0.01
"""A plan names the lines that became no request if their share is at least this."""
_LARGE, _SMALL = 10, 1000  # times, requests
"""Above so much growth, a log is small if its busiest window has fewer requests: they vary by an eighth or more."""
_MOST_OF_PEAK: Final = 0.7
"""Share of the busiest minute that the hours of the week reach at most, if an event is told that they leave out."""


def answer(plan: MachinePlan, proofs: Sequence[Proof] = ()) -> str:
    """The answer in one sentence."""
    found, wanted = plan.number, plan.demand[plan.window]
    spare = ", ".join(_reserve(plan))
    text = f"{number_of(found.number, 'machine')} for the busiest {plan.window}, {rate(wanted.rate, wanted.high)}"
    text += f", with {plan.supply.bounds}" + (f", {spare}" if spare else "")
    text += _if_worse(found, wanted, plan)
    return text + _proved(proofs)


def sentences(plan: MachinePlan) -> Iterator[tuple[str, str]]:
    """Name and text of each fact except `not_covered`."""
    zone, most = plan.profile.zone, max(each.high for each in plan.demand.values())
    windows = [f"busiest {name} {_ranged(each, most)}" for name, each in plan.demand.items()]
    yield "demand", f"{'; '.join(windows)}{_grown(plan)}"
    minute = plan.profile.peaks[plan.window]
    yield "at", f"busiest {plan.window} of the log: {rate(minute.rate)} at {when(minute.at, zone)} {zone}"
    if plan.changed:
        yield "mix", plan.changed.sentence
    yield "supply", plan.supply.sentence
    if plan.law:
        yield "scaling", plan.law.sentence
    for name, found in plan.machines.items():
        lasting = plan.supply.held_s is not None and WINDOWS[name] < plan.supply.held_s
        note = (
            f", if the busiest {name} lasted for {plan.supply.held_s:.0f} s" if lasting and name != plan.window else ""
        )
        yield f"machines, {name}", f"{found.number:,} ({_range(found)}){note}"
    for name, why in plan.unreached.items():
        yield f"machines, {name}", f"not known: {why}"
    yield from _week(plan)
    if plan.scaling:
        yield "autoscaling", scaling_sentence(plan.scaling, plan)
    elif plan.no_scaling:
        yield "autoscaling", f"no target: {plan.no_scaling}"


def not_covered(plan: MachinePlan) -> tuple[str, ...]:
    """What the plan does not hold for, in words, each once."""
    return tuple(dict.fromkeys(_not_covered(plan)))


def scaling_sentence(target: ScalingTarget, plan: MachinePlan) -> str:
    """The settings of an autoscaler in words."""
    in_flight = f", or {target.concurrency:.3g} requests in flight per pod" if target.concurrency else ""
    text = (
        f"target {show_rate(target.rate)}/s per pod{in_flight}, {target.least} to {number_of(target.most, 'pod')}, "
        f"{target.mean:.3g} on average"
    ) + f", {plan.reserve.survive} of which may be lost" * bool(plan.reserve.survive)
    if target.at is None and target.beyond:
        return f"{text}: all pods run at all times, because bursts exceed what all of them carry"
    if target.at is None:
        return f"{text}: {number_of(target.least, 'pod carries', 'pods carry')} the whole log"
    return (
        f"{text}: the load rises to {target.rise:.3g} times within {target.reaction:g} s, at "
        f"{when(target.at, plan.profile.zone)}, and an autoscaler acts only when the mean of {WINDOW_S} s is "
        f"{100 * TOLERANCE:.0f} % off its target"
    )


def as_dict(plan: MachinePlan, proofs: Sequence[Proof] = ()) -> dict[str, Any]:
    """The plan except for its answer, as JSON: rates in requests/s, instants ISO 8601 UTC, day 0 is Monday."""
    found, supply, scaling = plan.number, plan.supply, plan.scaling
    demand = {name: plan.demand[name].rate if name in plan.demand else None for name in WINDOWS}
    ranges = {name: [each.low, each.high] for name, each in plan.demand.items()}
    numbers = {name: plan.machines[name].number if name in plan.machines else None for name in WINDOWS}
    return {
        "demand": {
            **demand,
            "ranges": ranges,
            "at": {name: iso(peak.at) for name, peak in plan.profile.peaks.items()},
            "growth": None if plan.growth.forecast else plan.growth.share,
            "factor": plan.factor,
            "weeks": weeks(plan.profile),
        },
        "supply": {
            "rate": supply.rate, "low": supply.low, "high": supply.high, "held_s": supply.held_s,
            "mean": supply.mean, "bounds": dict(supply.limits), "source": supply.source,
        },
        "machines": {
            **numbers,
            "range": [found.low, found.high],
            "ranges": {name: [each.low, each.high] for name, each in plan.machines.items()},
            "window": plan.window,
            "unreached": dict(plan.unreached),
        },
        "mix": plan.changed and {
            "changes": dict(plan.changed.changes), "requests": plan.changed.requests, "work": plan.changed.work,
            "range": [plan.changed.low, plan.changed.high],
        },
        "scaling": plan.law and {
            "contention": list(plan.law.contention), "coherency": list(plan.law.coherency), "largest": plan.law.largest,
        },
        "reserve": {"headroom": plan.reserve.headroom, "survive": plan.reserve.survive},
        "week": plan.week.to_dicts(),
        "no_week": plan.no_week or None,
        "cost": cost(found.number, plan.week, plan.reserve),
        "autoscaling": scaling and {
            "rate": scaling.rate, "concurrency": scaling.concurrency, "least": scaling.least, "most": scaling.most,
            "mean": scaling.mean, "rise": scaling.rise, "reaction_s": scaling.reaction,
            "at": None if scaling.at is None else iso(scaling.at), "beyond": scaling.beyond,
        },
        "no_autoscaling": plan.no_scaling or None,
        "proofs": [asdict(each) for each in proofs],
        "not_covered": list(not_covered(plan)),
    }  # fmt: skip


def _if_worse(found: Machines, wanted: DemandRange, plan: MachinePlan) -> str:
    if found.high <= found.number:
        return ""
    cut = f" (cut at about {MOST_CHANGE:g} times the busiest {plan.window}, since the weeks differ too much)" * bool(
        wanted.unlike
    )
    return (
        f"; {found.high:,} if the upper end of demand, {rate(wanted.high)}{cut}, meets the lower end of supply, "
        f"{show_rate(plan.supply.low)}/s"
    )


def _proved(proofs: Sequence[Proof]) -> str:
    """Words for the replays of the planned number of machines, of one fewer, and of the pods of an autoscaler."""
    of_machines = [each for each in proofs if each.machines]
    text = _proved_minute(*of_machines) if of_machines else ""
    for pods in [each for each in proofs if not each.machines and not each.kept]:
        ended = f"was not judged: {pods.text}" if pods.kept is None else "did NOT keep the bounds"
        text += f"; a replay of the steepest hour, with the pods of the autoscaler, {ended}"
    return text


def _proved_minute(planned: Proof, *fewer: Proof) -> str:
    if planned.kept is None:
        return f"; NOT proved by a replay: {planned.text}"
    if not planned.kept:
        return "; a replay of it did NOT keep the bounds"
    ended = {each.kept for each in fewer}
    text = "; proved by a replay of it" + "; one machine fewer kept the bounds, too" * (True in ended)
    return text + ", and one machine fewer did not keep the bounds" * (False in ended)


def _week(plan: MachinePlan) -> Iterator[tuple[str, str]]:
    week = plan.week
    if plan.no_week:
        yield "week", f"no plan by the hour: {plan.no_week}"
    else:
        yield "week", _by_hour(plan)
    if found := cost(plan.number.number, week, plan.reserve):
        by_hour = found["week_by_hour"]
        cheaper = f"; {by_hour:,.2f} with the machines of each hour" if by_hour is not None else ""
        yield "cost", f"{found['week']:,.2f} a week for {number_of(plan.number.number, 'machine')}{cheaper}"


def _by_hour(plan: MachinePlan) -> str:
    week = plan.week
    top = week.sort("rate", descending=True).row(0, named=True)
    numbers = week["machines"].to_numpy()
    least, most = int(numbers.min()), int(numbers.max())
    text = f"{least} to {most} machines by the hour" if least < most else f"{number_of(most, 'machine')} at every hour"
    text += f"; the most on {DAYS[top['day']]} at {top['hour']:02d}:00, {rate(top['rate'])}{_hour_by(plan)}"
    text += _left_out(plan, float(top["rate"]))
    missing, lacks = 7 * 24 - week.height, "forecast" if plan.growth.hourly else "log"
    return text + (f"; the {lacks} lacks {number_of(missing, 'hour')} of the week" if missing else "")


def _left_out(plan: MachinePlan, most: float) -> str:
    """The busiest minute of the log, if the hours of the week have less.

    The reason: these are medians, or only whole hours count, or two minutes of the clock share the burst.
    """
    peak, wanted = plan.profile.peaks.get("minute"), plan.demand.get("minute")
    if plan.growth.hourly or not peak or not wanted or most > _MOST_OF_PEAK * wanted.rate:
        return ""
    return (
        f"; these hours leave out the busiest minute, {rate(wanted.rate)} on {when(peak.at, plan.profile.zone)}: such "
        "an event needs the machines of that minute"
    )


def _hour_by(plan: MachinePlan) -> str:
    """How the demand of an hour was found."""
    if plan.growth.hourly:
        return " in its busiest minute, by the forecast and the busiest minute of the log"
    if found := medians(plan.profile):
        some = f"for {found} of {plan.week.height} hours the " * (found < plan.week.height)
        return (
            f" in its busiest minute of the clock ({some}median of the last {WEEKS} weeks; the range from the "
            f"least to the most of them holds the next week in about {WEEKS - 1} of {WEEKS + 1})"
        )
    return " in its busiest minute of the clock"


def _not_covered(plan: MachinePlan) -> Iterator[str]:
    supply = plan.supply
    if weeks(plan.profile) < _WEEKS_FOR_RANGE:
        differ, length = (
            ("weeks", "two weeks") if plan.profile.span >= WEEK_S
            else ("days and weeks", "a week") if plan.profile.span >= 24 * HOUR
            else ("hours, days and weeks", "a day")
        )  # fmt: skip
        yield f"how {differ} differ: the log is shorter than {length}, and the range of demand is that of chance only"
    else:
        yield "further growth of the demand, and events that the log does not show, such as a sale"
    if unlike := [(name, each.unlike) for name, each in plan.demand.items() if each.unlike]:
        differ = ", ".join(f"the busiest {name} {times:.3g} times" for name, times in unlike)
        yield (
            f"how much busier the next weeks may be: {weeks(plan.profile)} weeks of log differ too much ({differ}), so "
            f"the range goes from the quietest week to about {MOST_CHANGE:g} times the busiest"
        )
    if missing := lacking(plan.profile):
        yield f"{number_of(missing, 'hour')} in gaps of a day or longer, in which the log has no request"
    if gap := next((each for each in plan.profile.gaps if each.seconds < _HOLDS_A_DAY_S), None):
        yield (
            f"the demand in gaps, such as {span(gap.seconds)} without a request from "
            f"{when(gap.at, plan.profile.zone)} on, in which {gap.expected:,.0f} or more are expected: the plan counts "
            "none there"
        )
    if plan.lost >= _LOST:
        yield f"the lines that became no request: up to {show_share(plan.lost)} of the requests"
    if supply.held_s:
        yield f"what a machine does after more than {supply.held_s:.0f} s at its rate"
    if not plan.law:
        yield "anything that the machines share, such as a database: measure two machines once"
    if plan.changed:
        yield "whether the processor limits a machine: the costs of routes are those of the processor"
        if plan.law:
            yield "how the machines share the new mix: their scalability was measured with another"
    yield from supply.not_covered
    if plan.law and plan.law.not_covered:
        yield f"how the machines scale: {plan.law.not_covered}"
    if plan.scaling and plan.scaling.beyond:
        lost, most = plan.reserve.survive, plan.scaling.most
        left = number_of(most - lost, "pod does", "pods do") + " not carry" + f" ({lost} of {most} lost)" * bool(lost)
        burst = f"bursts of {SYNC_S} s up to {rate(plan.scaling.beyond)}"
        yield f"{burst}, which {left}: the target asks for all pods before each"
    if plan.mix.share + plan.mix.unsent > NAMED:
        other = [f"{show_share(plan.mix.unsent)} {','.join(plan.mix.methods)}, not sent"] * (plan.mix.unsent > 0)
        yield f"another mix at the peak: {', '.join([*other, *filter(None, [plan.mix.routes])])}"


def _grown(plan: MachinePlan) -> str:
    growth = plan.growth
    parts = []
    if growth.forecast:
        top, step = float(growth.forecast.rates.max()), span(growth.forecast.step)
        more = plan.changed.requests if plan.changed else 1.0  # named with the mix
        times = plan.demand[plan.window].rate / more / top
        parts.append(
            f"the forecast: its highest rate, {rate(top)} for {step}, is {show_rate(plan.factor / more)} times the "
            f"highest of the log for {step}, and the busiest {plan.window} has {times:.3g} times this rate"
        )
    elif growth.share:
        parts.append(f"growth of {_percent(growth.share)}")
    if growth.front_ends > 1 and not growth.forecast:
        parts.append(f"the log of one of {growth.front_ends} front ends")
    text = f"; with {' and '.join(parts)}" if parts else ""
    if plan.factor > _LARGE and (seen := plan.profile.peaks[plan.window].requests) < _SMALL:
        text += (
            f"; the log is small for {show_rate(plan.factor)} times its rate: its busiest {plan.window} has "
            f"{number_of(seen, 'request')}, which hardly show how far a {plan.window} differs from its hour"
        )
    return text


def _reserve(plan: MachinePlan) -> Iterator[str]:
    if plan.reserve.headroom:
        yield f"{_percent(plan.reserve.headroom)} of each kept free"
    if plan.reserve.survive:
        yield f"{plan.reserve.survive} of which may be lost"


def _percent(share: float) -> str:
    return f"{round(100 * share, 1):,g} %" if share < 10 else f"{100 * share:,.0f} %"


def _ranged(wanted: DemandRange, most: float) -> str:
    """A rate with its range, in the unit of the highest rate of a list."""
    low, middle, high = (rate(each, most) for each in (wanted.low, wanted.rate, wanted.high))
    return f"{middle} ({low.replace(high[high.index('/') :], '')}–{high})"


def _range(found: Machines) -> str:
    return f"{found.low:,}–{found.high:,}" if found.low < found.high else "also at both ends of the ranges"
