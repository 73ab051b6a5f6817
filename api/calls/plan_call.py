"""A plan as its caller asked for it: one frozen value."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from logreplay.analysis.planning.machines import Reserve
from logreplay.analysis.planning.supply import Supply
from logreplay.analysis.search.bounds import Bound
from logreplay.calls.find_call import FindCall
from logreplay.core.errors import UsageError
from logreplay.options.kinds import BOUNDS
from logreplay.options.table import OF_SEARCH, PLAN, WRITING, options_of

_OWN: Final = {option.name for _, among in PLAN for option in among}
OF_SENDING: Final = frozenset(option.name for option in options_of("plan")) - _OWN - WRITING - {*BOUNDS, "bound"}
"""Options of a plan that select requests and configure the sender."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCall:
    """A plan.

    Attributes:
        logs: paths or addresses of the logs of the demand.
        reading: options for reading the logs and for selecting requests, as text, by option.
        find: the search, its target and its bounds; its ``log`` is made of ``logs``.
        results: a search or a sweep that was made before; None: search now.
        mix: growth of single routes, by name or a part of it.
        costs: a sweep that measured what a request of each route costs; None: ``results``.
        scaling: output of ``capacity --machines --json``; None: n times one.
        growth: share by which the rate of the busiest hour grows; what chance adds in its busiest minute grows less.
        forecast: a CSV of the demand to come; None: ``growth``.
        per_machine_of: number of front ends with equal shares, of which the log is from one.
        headroom, survive, price: see `logreplay.analysis.planning.machines.Reserve`.
        reaction: seconds until new pods of an autoscaler serve; None: no autoscaler.
        prove: replay the busiest minute.
        asked: options that the caller gave, by name.
    """

    logs: tuple[str, ...]
    reading: Mapping[str, Any]
    find: FindCall
    results: Path | None = None
    mix: Sequence[tuple[str, float]] = ()
    costs: Path | None = None
    scaling: Path | None = None
    growth: float | None = None
    forecast: Path | None = None
    per_machine_of: int | None = None
    headroom: float = 0.0
    survive: int = 0
    price: float | None = None
    reaction: float | None = None
    prove: bool = False
    asked: frozenset[str] = frozenset()

    def checked(self) -> Self:
        """Refuse values that exclude each other, and a log in the output; return the same, with the checked search."""
        if not self.logs:
            raise UsageError("LOG is missing: name the log whose demand is planned for")
        target = self.find.choice.named or self.find.choice.demo
        if self.sends and not target:
            lacking = (
                "--prove needs TARGET, to which it sends"
                if self.results
                else "TARGET is missing: name the server to search, or a search made before with --from DIR"
            )
            if re.fullmatch(r"[\w.-]+:\d+(/.*)?", self.logs[-1]) and not Path(self.logs[-1]).exists():
                lacking += f"; if {self.logs[-1]} is the server, write http://{self.logs[-1]}"
            raise UsageError(lacking)
        if target and not self.sends:
            raise UsageError(
                f"--from {self.results} and TARGET exclude each other: the search was made; leave out TARGET, or add "
                "--prove"
            )
        if self.mix and not (self.costs or self.results):
            raise UsageError("--mix needs --costs DIR, the folder of a sweep with --routes")
        if self.results is not None:
            self._check_used()
        if self.find.output:
            inside = self.find.output.absolute()
            named = [Path(log) for log in self.logs if "://" not in log and log != "-"]
            for path in [*named, *([self.forecast] if self.forecast else [])]:
                if inside in path.absolute().parents:
                    raise UsageError(f"{path} lies in -o {self.find.output}: choose another folder")
        return replace(self, find=self.find.checked()) if self.results is None else self

    def _check_used(self) -> None:
        """Refuse options of a search that is not made."""
        unused = OF_SEARCH if self.prove else OF_SEARCH | OF_SENDING
        for name in sorted(self.asked & unused):
            what = "no search is made" if self.prove else "nothing is sent"
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"--from {self.results} and {option} exclude each other: {what}; leave out one of them")

    @property
    def reserve(self) -> Reserve:
        """The machines to spare, and their price."""
        return Reserve(headroom=self.headroom, survive=self.survive, price=self.price)

    @property
    def sends(self) -> bool:
        """Whether requests are sent."""
        return self.results is None or self.prove

    def bounds(self, supply: Supply) -> list[Bound]:
        """The bounds that a proof judges: those of the supply; that on failures by the call, if the supply has none."""
        errors = self.find.max_errors if supply.max_errors is None else supply.max_errors
        return [*(Bound(name, limit) for name, limit in supply.limits.items()), Bound("errors", errors)]
