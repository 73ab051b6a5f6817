"""A change of the mix of routes: how many more requests it means, and how much more processor time, by route costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from logreplay.analysis.costs.readings import REST
from logreplay.analysis.input import sources
from logreplay.analysis.input.run_metadata import summary_of
from logreplay.analysis.planning.supply import NoAnswer, Supply
from logreplay.core.errors import LogreplayError

_SWEEP: Final = "measure it with: logreplay sweep RATE LOG TARGET --routes --watch pid:PID"


@dataclass(frozen=True, slots=True)
class ChangedMix:
    """A change of the mix.

    Attributes:
        changes: growth of each route, by name; 0.5 is 50 %.
        requests: requests of the new mix over those of the log.
        work: processor time of the new mix over that of the log, and ``low`` to ``high``.
    """

    changes: Mapping[str, float]
    requests: float
    work: float
    low: float
    high: float

    def supply(self, supply: Supply) -> Supply:
        """What one machine carries of the new mix, if the processor limits it."""
        high = None if supply.high is None else supply.high * self.requests / self.low
        rate, low = supply.rate * self.requests / self.work, supply.low * self.requests / self.high
        return replace(supply, rate=rate, low=low, high=high)

    @property
    def sentence(self) -> str:
        """The change in words."""
        named = ", ".join(f"{route} {100 * share:+g} %" for route, share in self.changes.items())
        return (
            f"{named}: {self.requests:.3g} times the requests and {self.work:.3g} times ({self.low:.3g}–"
            f"{self.high:.3g}) the processor time; the supply is that of the new mix if the processor limits a machine"
        )


def changed_mix(changes: Sequence[tuple[str, float]], results: Path, peak: pl.DataFrame) -> ChangedMix:
    """Work out a change of the mix.

    Args:
        changes: route, or a part of its name that no other has, and its growth.
        results: folder of a sweep that measured the costs of routes.
        peak: ``route``, ``requests`` of the busiest hour.

    Raises:
        LogreplayError: there is no such result.
        NoAnswer: it has no costs, or not that of a route that changes.
    """
    rows = sources.locate(results)
    if not rows.exists():
        raise LogreplayError(f"{results}: no result log is in it; name the folder of a sweep with --routes")
    costs = summary_of(rows).get("costs")
    if not isinstance(costs, Mapping) or not costs.get("routes"):
        why = costs.get("sentence") if isinstance(costs, Mapping) else "no step of it leaves out routes"
        raise NoAnswer(f"{results}: the cost of each route is not known: {why}; {_SWEEP}")
    known = {str(row["route"]): row for row in costs["routes"]}
    requests = dict(peak.group_by("route").agg(pl.col("requests").sum()).iter_rows())
    total = sum(requests.values())
    parts = {name: requests.get(name, 0) / total for name in known if name != REST}
    parts |= {REST: 1 - sum(parts.values())} if REST in known else {}
    if 1 - sum(parts.values()) > 1e-9:
        raise NoAnswer(f"{results}: the busiest hour has routes whose cost was not measured; {_SWEEP}")
    work = {name: float(known[name]["seconds"]) * part for name, part in parts.items()}
    by_route = [(_named(text, known, results), share) for text, share in changes]
    found = [1.0, 1.0, 1.0]
    for name, share in by_route:
        row, own = known[name], work[name] / sum(work.values())
        ends = [own * float(row[end]) / float(row["share"]) for end in ("share_low", "share_high")]
        found[0] += share * own
        found[1] += min(share * end for end in ends)
        found[2] += max(share * end for end in ends)
    if found[1] <= 0:
        raise NoAnswer("--mix leaves no work: the routes that change less are all that costs processor time")
    return ChangedMix(dict(by_route), 1 + sum(share * parts[name] for name, share in by_route), *found)


def _named(text: str, known: Mapping[str, Mapping[str, Any]], results: Path) -> str:
    """The route that a text means.

    Raises:
        NoAnswer: none or several, or its cost is not known.
    """
    among = [name for name in known if name.strip("/") == text.strip("/")] or [name for name in known if text in name]
    if len(among) != 1:
        found = "no route" if not among else f"{len(among)} routes"
        raise NoAnswer(f"--mix {text}: {found} of this name in {results}; it has {', '.join(known)}")
    if why := known[among[0]]["why_not"]:
        raise NoAnswer(f"--mix {text}: the cost of {among[0]} is not known: {why}; use longer steps with --for")
    return among[0]
