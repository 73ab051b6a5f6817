"""The costs of routes as a result: rows, sentences and plain values; routes whose cost is not known say why."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

import numpy as np
import polars as pl

from logreplay.analysis.costs.demand import BLOCK_S, LEVEL_PERCENT, RouteDemand, fitted
from logreplay.analysis.costs.readings import StepReadings, step_readings, watched_resource
from logreplay.analysis.format_time import show, show_rate
from logreplay.analysis.input.arrays import RequestArrays
from logreplay.analysis.input.external_metrics import watched_in
from logreplay.analysis.statistics.quantiles import Floats
from logreplay.core.masking import masked, safe_to_show
from logreplay.core.plural import number_of

BUSIEST: Final = 0.7
"""Share of the maximum above which a step is left out: a request costs more there than at lower rates."""
FIFTH: Final = 0.2
TOO_CHEAP: Final = "too cheap to tell from nothing"
_MOST_ROUTES: Final = 6
"""Most routes in a fit, which tries every subset of them."""
_SHORTEST_S: Final = 2 * BLOCK_S + 4
"""Seconds of a step with two blocks: its ends do not count."""
_LONGER: Final = "use a lower rate, or longer steps with --for"
_REMEDIES: Final = {
    "over": "use a lower rate",
    "failing": "see why requests fail with run --crash",
    "generator": "stop other programs, or send from another machine",
}
"""By what the evidence of a step says against it."""


@dataclass(frozen=True, slots=True)
class RouteCost:
    """What a request of a route costs. Ranges are 95 %.

    Attributes:
        route: its name; of several that always came together, all of their names.
        seconds: processor time of a request, and ``low`` to ``high``, seconds.
        share: share of the processor time that all requests of the log take, and ``share_low`` to ``share_high``.
        fifth: machines, of 100 that serve all requests, for a fifth of the route; ``fifth_low`` to ``fifth_high``.
        why_not: why the cost is not known; empty if it is.
    """

    route: str
    seconds: float
    low: float
    high: float
    share: float
    share_low: float
    share_high: float
    fifth: float
    fifth_low: float
    fifth_high: float
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class RouteCosts:
    """What each route costs, the dearest share first.

    Attributes:
        sentence: in words.
        resource: the watched series; empty if there is none.
        maximum: maximum of the resource; None: not known, so that `BUSIEST` was not checked.
        idle: use of the resource without requests; None: no costs.
        routes: the rows; none: see the sentence.
        left_out: labels of the steps that do not count.
    """

    sentence: str
    resource: str = ""
    maximum: float | None = None
    idle: float | None = None
    routes: tuple[RouteCost, ...] = ()
    left_out: tuple[int, ...] = ()

    @property
    def table(self) -> pl.DataFrame:
        """A row for each route: the contents of costs.csv."""
        names = [each.name for each in fields(RouteCost)]
        return pl.DataFrame({name: [getattr(row, name) for row in self.routes] for name in names})

    def as_dict(self) -> dict[str, Any]:
        """The key ``costs`` of summary.json."""
        return {**asdict(self), "routes": self.table.to_dicts(), "left_out": list(self.left_out)}


def route_costs(
    requests: RequestArrays,
    seconds: pl.DataFrame,
    steps: pl.DataFrame,
    left_out: Mapping[int, str],
    maxima: Mapping[str, float],
    cut: Collection[int] = (),
) -> RouteCosts:
    """Fit the costs of the routes of a sweep whose steps leave out routes.

    Args:
        left_out: by label of step the route that it leaves out.
        maxima: known maxima of watched series.
        cut: labels of steps that ended before their time.
    """
    names = watched_in(seconds.columns)
    resource = watched_resource(names)
    if resource is None:
        why = (
            f"no single one of {', '.join(names)} has cpu in its name, in cores"
            if names
            else "no reading of --watch came"
        )
        return RouteCosts(f"route costs are not known: {why}")
    unsound = pl.col("over") | pl.col("failing") | pl.col("generator") | pl.col("outage").is_not_null()
    sound = steps.filter(~unsound)
    usable = set(sound["step"].to_list()) - set(cut)
    routes, readings = step_readings(requests, seconds, resource, left_out, usable)
    most = maxima.get(resource)
    calm = [each for each in readings if most is None or each.used.mean() <= BUSIEST * most]
    aside = tuple(sorted(set(requests.labels) - {each.label for each in calm}))
    return described(routes, calm, resource=resource, maximum=most, aside=aside, remedy=remedy_for(steps))


def too_short(seconds: float) -> str:
    """Say why steps so long cannot tell the costs of routes, before they are made; empty if they can."""
    if seconds >= _SHORTEST_S:
        return ""
    return f"route costs need steps of {_SHORTEST_S} s or more, and these last {seconds:g} s: use --for {_SHORTEST_S}s"


def remedy_for(steps: pl.DataFrame) -> str:
    """What makes steps count that did not, by what their evidence says against them."""
    found = [remedy for name, remedy in _REMEDIES.items() if steps[name].any()]
    return "; ".join(found) or _LONGER


def described(
    routes: Sequence[str],
    readings: Sequence[StepReadings],
    *,
    resource: str,
    maximum: float | None = None,
    aside: tuple[int, ...] = (),
    remedy: str = "",
) -> RouteCosts:
    """Fit the costs of routes, and put them into words.

    Args:
        aside: labels of the steps that do not count.
        remedy: advice that makes them count.
    """
    if len(routes) > _MOST_ROUTES:
        many = f"there are {len(routes)} routes, and a fit has {_MOST_ROUTES} at most; leave out fewer"
        return RouteCosts(f"route costs are not known: {many}", resource, maximum, left_out=aside)
    demand = fitted(readings)
    whole = [each.sent.mean(0) for each in readings if not each.without]
    if demand is None or not whole:
        counted = number_of(len(readings), "step counts", "steps count")
        lacking = "no step with all routes counts" if demand else f"only {counted}"
        lacking += f"; {remedy or _LONGER}"
        if demand is None and len(readings) > 1:
            most = max(len(each.used) for each in readings)
            lacking = f"the steps have {most} readings at most, too few for a range; use --for {_SHORTEST_S}s or longer"
        return RouteCosts(f"route costs are not known: {lacking}", resource, maximum, left_out=aside)
    usual = np.array([np.mean(whole, 0)[list(group)].sum() for group in demand.groups])
    rows = sorted(_rows(routes, demand, usual), key=lambda row: (bool(row.why_not), -row.share))
    return RouteCosts(
        _sentence(rows, readings, resource, maximum, aside), resource, maximum, demand.idle, tuple(rows), aside
    )


def cost_rows(costs: Sequence[RouteCost]) -> list[tuple[str, ...]]:
    """The rows as a terminal and a page show them, the heads first."""
    heads = ("route", "CPU/request", "95 %", "share of CPU", "95 %", "a fifth costs, of 100 machines", "")
    rows = [
        (masked(row.route), show(row.seconds), f"{show(row.low)}–{show(row.high)}", f"{100 * row.share:.0f} %",
         f"{100 * row.share_low:.0f}–{100 * row.share_high:.0f} %", f"{row.fifth:.1f}", "")
        if not row.why_not
        else (masked(row.route), "–", f"0–{show(row.high)}", "–", f"0–{100 * row.share_high:.0f} %", "–", row.why_not)
        for row in costs
    ]  # fmt: skip
    return [heads, *rows]


def _rows(routes: Sequence[str], demand: RouteDemand, usual: Floats) -> list[RouteCost]:
    shares, share = _shares(demand.draws * usual), _shares((demand.seconds * usual)[None])[0]
    lows, highs = np.percentile(shares, LEVEL_PERCENT, axis=0)
    cost_lows, cost_highs = demand.low, demand.high
    found = []
    for place, group in enumerate(demand.groups):
        names = [routes[each] for each in group]
        why = ""
        if not demand.separate[place]:
            shown = safe_to_show(", ".join(names))
            why = "no step that counts leaves it out" if len(names) == 1 else f"always together: {shown}"
        elif cost_lows[place] <= 0:
            why = TOO_CHEAP
        part, low, high = (float(figure[place]) for figure in (share, lows, highs))
        seconds, cheapest, dearest = (float(figure[place]) for figure in (demand.seconds, cost_lows, cost_highs))
        fifth = 100 * FIFTH
        found.append(
            RouteCost(
                " + ".join(names), seconds, cheapest, dearest, part, low, high, fifth * part, fifth * low, fifth * high,
                why,
            )
        )  # fmt: skip
    return found


def _shares(parts: Floats) -> Floats:
    """(n, routes) of each part its share of all."""
    return np.asarray(parts / np.maximum(parts.sum(-1, keepdims=True), 1e-12))


def _sentence(
    rows: Sequence[RouteCost],
    readings: Sequence[StepReadings],
    resource: str,
    maximum: float | None,
    aside: tuple[int, ...],
) -> str:
    known = [row for row in rows if not row.why_not]
    unknown = len(rows) - len(known)
    busiest = max(each.used.mean() for each in readings)
    if not known:
        text = f"route costs are not known: none of the routes can be told apart ({rows[0].why_not})"
        text += "; use longer steps with --for, or a higher rate"
    else:
        first = known[0]
        text = (
            f"{safe_to_show(first.route)} takes {100 * first.share:.0f} % "
            f"({100 * first.share_low:.0f}–{100 * first.share_high:.0f}) of the processor time of all requests: "
            f"{show(first.seconds)} ({show(first.low)}–{show(first.high)}) a request; a fifth of it costs "
            f"{first.fifth:.3g} of 100 machines"
        )
        text += f"; {number_of(unknown, 'route')} not told apart" * bool(unknown)
    if maximum is None:
        text += f"; the maximum of {resource} is unknown: not checked that it stays below {100 * BUSIEST:.0f} %"
    else:
        text += f"; {resource} up to {show_rate(busiest, 2)} of {maximum:g}"
    text += f"; {number_of(len(aside), 'step does', 'steps do')} not count" * bool(aside)
    return text
