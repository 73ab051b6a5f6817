"""A search as its caller asked for it: one frozen value."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from secrets import randbelow
from typing import Any, Final, Self

from logreplay.analysis.search.bounds import Bound
from logreplay.analysis.search.search import Goal
from logreplay.calls.sending_call import CallOfOneTarget
from logreplay.core.errors import UsageError
from logreplay.options.kinds import BOUNDS
from logreplay.options.load import Pauses, said
from logreplay.options.request_rules import INDEPENDENT

_MOST_SEEDS: Final = 1_000_000
"""The seed of a search is drawn from this many, unless one is given."""


def seed_of(given: int | None) -> int:
    """The seed of a search: the given one, or a drawn one."""
    return randbelow(_MOST_SEEDS) if given is None else given


def taken_bounds(values: dict[str, Any]) -> dict[str, float]:
    """Take the bounds out of the values of a call: those of ``p99`` and the like, and those of ``bound``."""
    taken = {name: limit for name in BOUNDS if (limit := values.pop(name)) is not None}
    for name, limit in values.pop("bound"):
        if name in taken:
            raise UsageError(f"--bound: {BOUNDS[name]} has two bounds; give one")
        taken[name] = limit
    return taken


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCall(CallOfOneTarget):
    """A search. Times in seconds.

    Attributes:
        bounds: bounds of the response time, by statistic: ``p50`` and so on, ``mean``, ``max``.
        max_errors: share of the requests that may fail.
        demand: say how many such machines carry this rate.
        start, max_tps, precision, trial, trials, budget: see `logreplay.analysis.search.search.Goal`.
        vusers: search a number of users.
        arrivals: spacing of requests at a rate; None: random, as of independent visitors.
        think: pause of a user after each response.
        restart: begin each trial at the start of the log.
        plots: draw the pictures and write the report.
    """

    bounds: Mapping[str, float] = field(default_factory=dict)
    max_errors: float = 0.01
    demand: float | None = None
    start: float = 10.0
    max_tps: float | None = None
    precision: float = 0.05
    trial: float | None = None
    trials: int = 25
    budget: float = 120.0
    vusers: bool = False
    arrivals: str | None = None
    think: Pauses | None = None
    restart: bool = False
    plots: bool = True

    def checked(self) -> Self:
        """Refuse values that exclude each other; return the same, with one worker where others of them need that."""
        goal = self.goal  # of a rate, too: it refuses missing bounds before the log is read
        fewest = {"--start": int(goal.start)} if self.vusers else {}
        return replace(self, sender_rules=self.reconciled(users=fewest, numbered="find"))

    @property
    def goal(self) -> Goal:
        """The searched quantity; refuses figures that do not go together."""
        if not self.bounds:
            raise UsageError("a bound is missing: give one, such as --p99 300ms")
        try:
            bounds = [*(Bound(name, limit) for name, limit in self.bounds.items()), Bound("errors", self.max_errors)]
            start = max(round(self.start), 1) if self.vusers else self.start
            return Goal(
                tuple(bounds), start, self.max_tps, self.precision, self.trial, self.trials, self.budget, self.vusers
            )
        except ValueError as error:
            raise UsageError(str(error)) from None

    def as_summary(self) -> dict[str, Any]:
        """The options as given, for the summary."""
        goal = self.goal
        return {
            **{str(bound.statistic): bound.limit for bound in goal.bounds},
            "start": goal.start, "max_tps": self.max_tps, "precision": self.precision, "trial": self.trial,
            "trials": self.trials, "budget": self.budget,
            "arrivals": None if self.vusers else self.arrivals or INDEPENDENT, "vusers": self.vusers,
            "restart": self.restart, "seed": self.request_rules.seed,
            "think": said(self.think, self.request_rules.seed),
            **self.sender_rules.as_summary(), **self.request_rules.as_summary(),
        }  # fmt: skip
