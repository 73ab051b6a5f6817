"""A sweep as its caller asked for it: one frozen value."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from logreplay.analysis.costs.readings import watched_resource
from logreplay.analysis.costs.route_costs import too_short
from logreplay.analysis.input.run_metadata import ClosedLoop
from logreplay.analysis.verdict.saturation_sentences import check_feasible
from logreplay.calls.sending_call import CallOfOneTarget
from logreplay.core.errors import UsageError
from logreplay.core.plural import number_of
from logreplay.options.load import Pauses, mean_of, said, thinking
from logreplay.options.request_rules import INDEPENDENT, arriving
from logreplay.replay.schedules.users import Users
from logreplay.replay.sweeps.steps import SweepPlan

if TYPE_CHECKING:
    from logreplay.replay.requests.plan import RequestStream
    from logreplay.replay.sweeps.steps import At, Mix, Order

_SHOWN_LEVELS: Final = 12
"""Most rates that a sentence names one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepCall(CallOfOneTarget):
    """A sweep. Times in seconds.

    Attributes:
        rates, vusers: rates of the steps, requests/s; or numbers of users who wait for their responses.
        duration: length of each step.
        arrivals: spacing of requests at a rate; None: random, as of independent visitors.
        think: pause of a user after each response.
        warmup, settle, repeat, order, keep_going, restart: see `logreplay.replay.sweeps.steps.SweepPlan`.
        routes: make each rate without some routes, too, and find what a request of each route costs.
        mixes: mixes of the steps without routes, made of the log.
        refine: make smaller steps around saturation afterwards, up to the highest rate.
        resume: the folder of an interrupted sweep, whose missing steps are made.
        plots: draw the pictures and write the report.
    """

    rates: Sequence[float] | None = None
    vusers: Sequence[int] | None = None
    duration: float = 10.0
    arrivals: str | None = None
    think: Pauses = 0.0
    warmup: float | None = None
    settle: float | None = None
    repeat: int = 1
    order: "Order" = "given"
    keep_going: bool = False
    restart: bool = False
    routes: bool = False
    mixes: "Sequence[Mix]" = ()
    refine: bool = False
    resume: Path | None = None
    plots: bool = True

    def checked(self) -> Self:
        """Refuse values that exclude each other; return the same with its arrivals named, and one worker if need be."""
        users = {"--vusers": min(self.vusers)} if self.vusers else {}
        sender_rules = self.reconciled(users=users, numbered="--settle" if self.settle else "")
        if not self.levels:
            raise UsageError("RATES are missing: give rates such as 50..400, or --vusers 1,10,50")
        if self.vusers and self.rates:
            raise UsageError("--vusers and RATES exclude each other: give LOG and TARGET only")
        names = [name for probe in self.telling.watch for name in probe.names]
        if self.routes and watched_resource(names) is None:
            raise UsageError(
                "--routes needs one watched series with cpu in its name, in cores and not in percent; --watch names "
                f"{', '.join(names)}: name one of them cpu, or watch the target with --watch pid:PID or --watch "
                "cgroup:NAME"
            )
        return replace(self, sender_rules=sender_rules, arrivals=None if self.vusers else self.arrivals or INDEPENDENT)

    @property
    def levels(self) -> Sequence[float]:
        """The rates or numbers of users of the steps."""
        return self.vusers or self.rates or ()

    @property
    def described(self) -> str:
        """Each step with its rate or users, the duration of all, and why they are too few, in words."""
        levels = [f"{level:g}" for level in self.levels]
        without = [mix.left_out for mix in self.mixes]
        shown = levels if len(levels) <= _SHOWN_LEVELS else [*levels[: _SHOWN_LEVELS - 2], "...", levels[-1]]
        unit = (" user" if levels == ["1"] else " users") if self.vusers else "/s"
        again = f", {self.repeat} times" if self.repeat > 1 else ""
        course = self.course
        lengths = [step.seconds + course.settle for step in course.steps()]
        seconds = course.warm_up + sum(lengths) + len(lengths) - 1  # a step begins a second after the last one
        count = number_of(len(levels), "step")
        if without:
            again = f"; each twice with all routes, and once without each of {', '.join(without)}{again}"
        judged = not (self.vusers or self.routes or self.refine or self.resume)
        why = check_feasible(self.levels, self.duration) if judged else too_short(self.duration) if self.routes else ""
        note = f"\nnote: {why}" if why else ""
        return f"{count}: {', '.join(shown)}{unit}, {self.duration:g} s each{again}; about {seconds:g} s{note}"

    @property
    def course(self) -> SweepPlan:
        """The steps, and the pauses between them."""
        going, restart = self.keep_going or bool(self.vusers), bool(self.restarts)
        warmup, settle = self.warmup or 0, self.settle or 0
        return SweepPlan(
            self.levels,
            self.duration,
            warmup,
            settle,
            self.repeat,
            self.order,
            self.request_rules.seed,
            going,
            restart,
            [mix.kept for mix in self.mixes],
        )

    @property
    def restarts(self) -> tuple[str, ...]:
        """The options for which each step begins at the start of the log; empty if steps read on.

        In the bursts of the log each step must have the same ones: the log is not equally busy everywhere.
        """
        return ("--restart",) * self.restart + ("--arrivals log",) * (self.arrivals == "log")

    def at(self, stream: "RequestStream") -> "At":
        """A function that makes the schedule of a step."""
        if not self.vusers:
            return arriving(self.arrivals or INDEPENDENT, stream, self.request_rules)
        think = thinking(self.think, self.request_rules.seed)
        return lambda count, seconds, _: Users(int(count), think, seconds)

    @property
    def closed_loop(self) -> ClosedLoop | None:
        """The users of the steps; None if requests are sent at a rate."""
        users = {step.index: int(step.rate) for step in self.course.steps()}
        return ClosedLoop(users, mean_of(self.think), self.duration) if self.vusers else None

    def resuming(self, folder: Path) -> str:
        """The settings that make the missing steps."""
        instead = "in place of -o " if self.output else ""
        return f"the same command with --resume {shlex.quote(str(folder))} {instead}makes the missing steps"

    def as_summary(self) -> dict[str, Any]:
        """The options as given, for the summary and for a resumed sweep."""
        levels = list(self.levels)
        return {
            **({"vusers": levels, "think": said(self.think, self.request_rules.seed)}
               if self.vusers else {"rates": levels, "arrivals": self.arrivals}),
            "for": self.duration, "warmup": self.warmup, "settle": self.settle, "repeat": self.repeat,
            "order": self.order, "restart": bool(self.restarts), **({"routes": True} if self.routes else {}),
            **self.request_rules.as_summary(), **self.sender_rules.as_summary(),
        }  # fmt: skip
