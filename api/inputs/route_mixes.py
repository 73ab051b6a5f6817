"""Designs the steps of ``sweep --routes``: the largest routes are left out one by one, the others together."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import polars as pl

from logreplay.analysis.costs.readings import REST
from logreplay.analysis.input.routes import OTHER, Routes
from logreplay.core.errors import LogreplayError
from logreplay.options.request_rules import base
from logreplay.replay.requests.filters import leave_out
from logreplay.replay.requests.plan import RequestStream, Shape
from logreplay.replay.sweeps.steps import Mix

ALONE: Final = 4
"""Routes that are left out alone; of one more, all are."""


@dataclass(frozen=True, slots=True)
class WithoutRoutes:
    """A shape that leaves out routes.

    Attributes:
        known: the routes of the log.
        routes: names.
        others: leave out all routes but these.
    """

    known: Routes
    routes: frozenset[str]
    others: bool = False
    columns: ClassVar[Sequence[str]] = ()

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        named = pl.Series(_names_in(frame["url"], self.known)).is_in(list(self.routes))
        return leave_out(frame, pl.lit(~named if self.others else named), "route left out")


def route_mixes(stream: RequestStream, without: Callable[[Shape], RequestStream]) -> tuple[Mix, ...]:
    """Return the mixes of a log: each lacks one of its largest routes, the last one all others."""
    counts, known = Counter[str](), Routes()
    for frame in base(stream).anew().one_pass():
        counts.update(_names_in(frame["url"], known))
    if len(counts) < 2:
        raise LogreplayError(f"--routes needs two routes at least, and all requests have one: {next(iter(counts))}")
    ranked = [name for name, _ in counts.most_common() if name != OTHER]
    alone = ranked if len(counts) <= ALONE + 1 and OTHER not in counts else ranked[:ALONE]
    total, told = counts.total(), sum(counts[name] for name in alone)
    mixes = [Mix(without(WithoutRoutes(known, frozenset({name}))), 1 - counts[name] / total, name) for name in alone]
    if told < total:
        mixes.append(Mix(without(WithoutRoutes(known, frozenset(alone), others=True)), told / total, REST))
    return tuple(mixes)


def _names_in(urls: pl.Series, known: Routes) -> Collection[str]:
    """The route of each URL."""
    return [known.names[number] for number in known.of(urls).tolist()]
