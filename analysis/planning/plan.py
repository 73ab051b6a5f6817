"""The plan: the demand of a log beside the supply of one machine; refused where the measurements do not support it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final

import polars as pl

from logreplay.analysis.demand.log_profile import LogProfile
from logreplay.analysis.demand.rates import HOUR
from logreplay.analysis.demand.wording import span
from logreplay.analysis.planning import demand_range
from logreplay.analysis.planning.autoscaling import ScalingTarget, newest, scaling_target, shortest
from logreplay.analysis.planning.demand_range import DemandRange
from logreplay.analysis.planning.forecast import Forecast
from logreplay.analysis.planning.machines import MachineLaw, Machines, Reserve, machines, of_week
from logreplay.analysis.planning.route_mix import LIMIT, ChangedMix, MixChange, mix_change
from logreplay.analysis.planning.supply import NoAnswer, Supply
from logreplay.core.plural import number_of
from logreplay.core.quantities import iso

_DAY_S: Final = 24 * HOUR


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandGrowth:
    """The growth of the log's demand.

    Attributes:
        share: by which it grows; 0.3 is 30 %.
        front_ends: number of front ends with equal shares, of which the log is from one.
        forecast: rates of times to come, in place of ``share``.
    """

    share: float = 0.0
    front_ends: int = 1
    forecast: Forecast | None = None

    @property
    def hourly(self) -> bool:
        """Whether a forecast has a rate for each hour."""
        return bool(self.forecast and self.forecast.hourly)

    def factor(self, profile: LogProfile) -> float:
        """The demand to come over that of the log."""
        own = self.forecast.growth(profile) if self.forecast else 1 + self.share
        return own * (1 if self.forecast else self.front_ends)


@dataclass(frozen=True, kw_only=True, repr=False)
class MachinePlan:
    """How many machines carry the demand of a log.

    Attributes:
        profile: the contents of the log.
        growth: growth of its demand, as given, and ``factor``: as a factor.
        demand: rate of the busiest ``second``, ``minute`` and ``hour``, grown, requests/s.
        supply: rate that one machine carries, with its range.
        reserve: shares and numbers of machines to spare.
        machines: for each of `demand` that the law reaches; ``unreached``: why not, for the others.
        week: ``day``, ``hour``, ``rate``, ``low``, ``high``, ``machines``, ``machines_low``, ``machines_high``: the
            hours of the week that the log covers; empty: see ``no_week``.
        no_week: why there is no plan by the hour; empty if there is one.
        mix: the difference between the peak's requests and those that were sent.
        scaling: the target of an autoscaler; None: not asked for, or see ``no_scaling``.
        changed: change of the mix that demand and supply hold; None: the log's own mix.
        law: scalability of the machines; None: n times one.
        lost: lines that became no request, as a share of these and of the requests that count; some of these lines may
            be of other times.
        no_scaling: why there is no target; empty if there is one, or none was asked for.
    """

    profile: LogProfile
    growth: DemandGrowth
    factor: float
    demand: Mapping[str, DemandRange]
    supply: Supply
    reserve: Reserve
    machines: Mapping[str, Machines]
    week: pl.DataFrame
    mix: MixChange
    no_week: str = ""
    scaling: ScalingTarget | None = None
    no_scaling: str = ""
    changed: ChangedMix | None = None
    law: MachineLaw | None = None
    lost: float = 0.0
    unreached: Mapping[str, str] = field(default_factory=dict)

    @property
    def window(self) -> str:
        """The window that the machines are ordered for: the minute; the second of a shorter log."""
        return _window(self.machines)

    @property
    def number(self) -> Machines:
        """The machines to order."""
        return self.machines[self.window]

    @property
    def grown(self) -> float:
        """The factor by which the busiest `window` grows, whose random part changes by less than ``factor``."""
        return self.demand[self.window].rate / self.profile.peaks[self.window].rate

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}: {found.number:,}" for name, found in self.machines.items())
        return f"<MachinePlan: machines by busiest window: {numbers}>"


def plan(
    profile: LogProfile,
    supply: Supply,
    growth: DemandGrowth,
    reserve: Reserve,
    reaction: float | None = None,
    changed: ChangedMix | None = None,
    law: MachineLaw | None = None,
) -> MachinePlan:
    """Join demand and supply; ``reaction``: seconds from a rise until new pods serve; None: no autoscaler."""
    check_timed(profile)
    mix = mix_change(profile.peak_routes, supply.sent, supply.methods)
    if supply.changed:  # the routes that were sent have other names than those of the log
        mix = replace(mix, share=0.0, routes="")
    check_mix(mix, f"the {supply.source}")
    more = changed.requests if changed else 1.0
    factor, supply = growth.factor(profile) * more, changed.supply(supply) if changed else supply
    steady = growth.forecast.busiest(profile) if growth.forecast else 0.0
    wanted = demand_range.demand(profile, factor, steady)
    found, unreached = _by_window(wanted, supply, reserve, law)
    hours, why = _hours(profile, growth, factor, steady, wanted)
    made = MachinePlan(
        profile=profile, growth=growth, factor=factor, demand=wanted, supply=supply, reserve=reserve, machines=found,
        week=of_week(hours, supply, reserve, law), no_week=why, mix=mix, changed=changed, law=law, unreached=unreached,
    )  # fmt: skip
    return made if reaction is None else _with_scaling(made, reaction)


def _with_scaling(made: MachinePlan, reaction: float) -> MachinePlan:
    """The plan with the target of an autoscaler, or with the reason why there is none."""
    profile, most = made.profile, made.number.high
    alone = float(made.law.times([most])[0]) / most if made.law else 1.0  # if fewer pods run, each carries no less
    carries = made.supply.rate * (1 - made.reserve.headroom) * alone
    target = scaling_target(
        *profile.per_second, factor=made.grown, carries=carries, mean=made.supply.mean, reaction=reaction, most=most,
        survive=made.reserve.survive,
    )  # fmt: skip
    if target:
        return replace(made, scaling=target)
    seconds, _ = newest(*profile.per_second)
    length = int(seconds[-1] - seconds[0]) + 1
    part = "the log" if length == profile.span else "the last year of the log"
    why = f"a target for a reaction within {reaction:g} s needs {shortest(reaction):,} s at least"
    return replace(made, no_scaling=f"{part} is {span(length)} long; {why}")


def _by_window(
    wanted: Mapping[str, DemandRange], supply: Supply, reserve: Reserve, law: MachineLaw | None
) -> tuple[dict[str, Machines], dict[str, str]]:
    """The machines of each window, and why a law does not reach the others."""
    found, unreached = {}, {}
    for name, each in wanted.items():
        try:
            found[name] = machines(each, supply, reserve, law)
        except NoAnswer as error:
            if name == _window(wanted):
                raise
            unreached[name] = str(error)
    return found, unreached


def _window(among: Mapping[str, object]) -> str:
    return "minute" if "minute" in among else "second"


def check_timed(profile: LogProfile) -> None:
    """Refuse a log whose rate is unknown."""
    if not profile.timed:
        raise NoAnswer(
            f"all {profile.requests:,} requests of the log are in one second: their rate is unknown, and so is the "
            "demand; use a log with times"
        )


def check_whole(damaged: Mapping[str, int], until: float = inf) -> None:
    """Refuse logs that were read only in part: the demand in the rest is unknown.

    Args:
        damaged: by name of such a log, the time before which no request is missing; 0: not known.
        until: the time before which requests count. Both in microseconds since 1970.
    """
    if cut := {name: whole for name, whole in damaged.items() if whole < until}:
        known = min(cut.values())
        before = f"time before, with --until {iso(known)[:19]}Z"
        part = before if known > 0 else "readable part, such as: gzip -dc LOG > part.log"
        raise NoAnswer(
            f"{', '.join(cut)}: the compressed data end too soon or are damaged, and the demand in the rest is "
            f"unknown; copy the log again, or plan for the {part}"
        )


def check_account(kept: int, others: int, lost: int, account: str, *, judged: bool) -> float:
    """Refuse a log of which too many lines became no request: they are demand, too.

    Args:
        kept: lines that became requests and passed the filters.
        others: requests that the filters left out.
        lost: lines that became no request, which no filter can judge.
        judged: True if a filter selects by something other than time. If none does, the lost lines are taken to be
            spread over time like the others.

    Returns:
        The lost lines, as a share of the kept and the lost ones.
    """
    beside_kept, remedy = lost / max(kept + lost, 1), "see logreplay inspect"
    if judged and others:
        share, remedy = beside_kept, f"{remedy}, or filter the log before, such as with grep"
        what = (
            f"{number_of(lost, 'line')} became no request, and no filter can tell whether they are of these requests: "
            f"{100 * share:.0f} % of both"
        )
    else:
        share = lost / max(kept + lost + others, 1)
        what = f"{100 * share:.0f} % of the lines of the log became no request"
    if share > LIMIT:
        raise NoAnswer(f"{what}, and the demand would be too low by as much: {account}; {remedy}")
    return beside_kept


def check_mix(mix: MixChange, sent: str) -> None:
    """Refuse other requests than those of the peak."""
    if mix.unsent > LIMIT:
        methods = ",".join(mix.methods)
        raise NoAnswer(
            f"{100 * mix.unsent:.0f} % of the requests of the busiest hour are {methods}, which {sent} leaves out: "
            f"their cost is unknown; search with --methods GET,HEAD,{methods}; these "
            "may change data on the target"
        )
    if mix.share > LIMIT:
        raise NoAnswer(
            f"the busiest hour has another mix of routes than {sent}: {mix.routes}; name TARGET in place of "
            "--from, and plan searches with the requests of that hour"
        )


def _hours(
    profile: LogProfile, growth: DemandGrowth, factor: float, steady: float, wanted: Mapping[str, DemandRange]
) -> tuple[pl.DataFrame, str]:
    """The demand of the hours of the week, or why there is none; ``steady`` as in `demand_range.demand`."""
    forecast = growth.forecast
    if forecast and forecast.hourly:
        most = steady * factor  # the highest rate of the forecast, with a changed mix
        minute = max(wanted["minute"].rate, most) if "minute" in wanted else most
        return forecast.by_hour(profile.zone, minute / float(forecast.rates.max())), ""
    hours = demand_range.by_hour(profile, factor)
    if profile.span < _DAY_S:
        return (hours.clear(), f"the log is {span(profile.span)} long; a plan by the hour needs a day at least")
    return hours, ""
