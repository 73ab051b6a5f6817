"""Runs the steps of a sweep into one result log, with a pause between them in which all responses arrive.

A step reads on in the log where the one before it ended, and wraps around at its end: a target with a cache gets
each URL as often as its visitors ask, not again in each step.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf, sqrt
from typing import Final, Literal

import numpy as np

from logreplay.core.validity import newcombe, size_at_low_rates
from logreplay.replay.engine.engine import Replayer
from logreplay.replay.requests.plan import Plan, RequestStream
from logreplay.replay.results.outcome import Outcome, Progress
from logreplay.replay.results.verdict import FAILING, Finding, RunVerdict, Severity, Waits
from logreplay.replay.schedules.rates import Schedule
from logreplay.replay.sweeps.step_log import StepLog

At = Callable[[float, float, int], Schedule]
"""Makes the schedule of a step from its rate, its length in seconds, and its index."""

BySecond = tuple[tuple[int, int], ...]
"""Requests that ended in each second, and those of them that failed."""

Order = Literal["given", "up", "down", "shuffle"]
_BLOCK: Final = 65_536
MIDWAY: Final = 0.6
"""Share of a step after which the requests in flight are counted, to compare them with those at its end."""
MORE_FAILED: Final = 0.01
"""Share of failures beyond that at lower rates, from which the target does not carry a step."""
_Z99: Final = 2.5758
_COUNTED: Final = "capacity counts this step only if it keeps the bound with the lag"

WARM_UP: int = -1
"""Index of the warm-up, which belongs to no step."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its index in the result log, its rate, and how long it is judged, in seconds.

    ``mix`` is the index of its `Mix`, from 1; 0: it has all requests.
    """

    index: int
    rate: float
    seconds: float
    mix: int = 0


@dataclass(frozen=True, slots=True)
class Mix:
    """The requests of a log without some routes.

    Attributes:
        requests: the others.
        kept: their share of all, above 0. A step of this mix has this share of the rate: the other routes keep theirs.
        left_out: the routes, in words.
    """

    requests: RequestStream
    kept: float
    left_out: str


@dataclass(frozen=True, slots=True)
class FinishedStep:
    """What a sweep remembers of a step that was made.

    Attributes:
        step: the step.
        carried: True if the target kept up; judged at once, to decide if the sweep continues. The verdict of a step,
            such as ``overloaded``, is that of the analysis, which sees all rows and may be stricter.
        failed: requests that were sent and failed.
        sent: requests that were sent.
        by_second: requests that ended in each second, and those of them that failed; empty where none failed.
        limit: the limit of this machine that the step met (`logreplay.replay.results.verdict.Judgement.limit`): then it
            does not measure the target.
        warnings: findings on this machine that spoil the step; shown again when the sweep is resumed.
        waits: counts of delayed requests; shown again when the sweep is resumed.
    """

    step: Step
    carried: bool
    failed: int = 0
    sent: int = 0
    limit: str = ""
    warnings: tuple[Finding, ...] = ()
    waits: Waits = field(default_factory=Waits)
    by_second: BySecond = ()


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """The settings of a sweep.

    Attributes:
        rates: requests/s; of a closed loop, users.
        seconds: length of each step.
        warm_up: seconds at the lowest rate before the first step, not judged.
        settle: seconds before each step at its rate, not judged.
        repeat: number of passes through all rates.
        order: order of the rates; ``shuffle`` mixes them again each time.
        seed: seed of shuffling.
        keep_going: make all steps, whether the target carries them or not.
        restart: begin each step at the start of the log.
        kept: share of the requests that each `Mix` has; each rate is made with all requests, with each mix, and with
            all again.
    """

    rates: Sequence[float]
    seconds: float
    warm_up: float = 0.0
    settle: float = 0.0
    repeat: int = 1
    order: Order = "given"
    seed: int = 0
    keep_going: bool = False
    restart: bool = False
    kept: Sequence[float] = ()

    def __post_init__(self) -> None:
        if not self.rates:
            raise ValueError("a sweep needs at least one rate")
        if self.repeat < 1:
            raise ValueError(f"a sweep is made at least once, got {self.repeat!r}")

    def steps(self) -> tuple[Step, ...]:
        """All steps, in their order."""
        planned = [
            (rate * share, mix)
            for rate in self._ordered()
            for mix, share in enumerate((1.0, *self.kept, *(1.0,) * bool(self.kept)))
        ]
        mixes = len(self.kept) + 1
        return tuple(Step(index, rate, self.seconds, mix % mixes) for index, (rate, mix) in enumerate(planned))

    def _ordered(self) -> Iterator[float]:
        chance = random.Random(self.seed)
        for _ in range(self.repeat):
            rates = list(self.rates)
            if self.order == "shuffle":
                chance.shuffle(rates)
            elif self.order != "given":
                rates.sort(reverse=self.order == "down")
            yield from rates


def known_overloaded(rate: float, done: Sequence[FinishedStep]) -> bool:
    """Whether a rate is known to overload the target: both of the two highest rates below or at it did.

    In ascending order that means: after two steps in a row that were not carried, none higher is made.
    """
    below = sorted((each.step.rate, each.carried) for each in done if each.step.rate <= rate)
    carried_once = {each: any(carried for other, carried in below if other == each) for each, _ in below}
    return len(carried_once) >= 2 and not any(list(carried_once.values())[-2:])


def finished(
    step: Step, outcome: Outcome, midway: int, done: Sequence[FinishedStep], by_second: BySecond = ()
) -> FinishedStep:
    """Judge at once whether the target kept up with a step.

    It did not if more than a second's worth of requests waited at the end (at least two: a single one may have come
    just before it), and more than `MIDWAY` through the step, beyond chance. A slow target that keeps up has as many in
    flight at both times. Nor did it if more than half of the requests failed, or surely 1 % more than at the lower
    rates that were carried. As in the verdict, failures that come together at the lower rates count as one.
    """
    counters, backlog = outcome.counters, outcome.backlog
    failed, sent = counters.failed, counters.sent
    lower = [each for each in done if each.carried and each.step.rate < step.rate]
    base_failed, base = sum(each.failed for each in lower), sum(each.sent for each in lower)
    size = _failing_together(lower, step.rate)
    hits, numbers = (base_failed / size, failed / size), (base / size, sent / size)
    more = newcombe(hits, numbers, _Z99)[0] if sent and base else 0.0
    grew = backlog > max(outcome.offered, 1) and (backlog - midway > 3 * sqrt(backlog) or outcome.evidence.limited > 0)
    carried = not grew and failed <= FAILING * sent and bool(more <= MORE_FAILED)
    warnings, waits = tuple(generator_findings([outcome])), outcome.evidence.waits
    return FinishedStep(step, carried, failed, sent, outcome.health.limit, warnings, waits, by_second if failed else ())


def _failing_together(lower: Sequence[FinishedStep], rate: float) -> float:
    """How many failures come together at the lowest third of the rates, where few fail; 1 where none does."""
    rates = np.array([*(each.step.rate for each in lower), rate], np.float64)
    failed = np.array([*(each.failed * bool(each.by_second) for each in lower), 0])
    sent = np.array([*(each.sent for each in lower), 0])
    seconds = (np.array(each.by_second, np.int64).reshape(-1, 2) for each in lower)
    series = [(each[:, 0], each[:, 1]) for each in seconds]
    return size_at_low_rates(rates, failed, sent, np.full(len(rates), True), series)


def _by_second(looks: Sequence[tuple[int, int]]) -> BySecond:
    """The seconds in which requests ended, from looks at the counts of a step, about a second apart."""
    between = pairwise([(0, 0), *looks])
    return tuple((ended - before, failed - others) for (before, others), (ended, failed) in between if ended > before)


def generator_findings(outcomes: Sequence[Outcome]) -> Iterator[Finding]:
    """Findings on single steps that the generator spoiled: it was too slow, or lost a worker.

    The verdict of a sweep rests on the other steps, so such a finding is a warning.
    """
    for outcome in outcomes:
        if outcome.health.verdict is RunVerdict.GENERATOR_BOUND:
            for finding in outcome.health.findings:
                if finding.severity is Severity.VOID:
                    text = f"at {outcome.offered:g}/s: {finding.text}"
                    text += f"; {_COUNTED if finding.code == 'lag' else 'the verdict does not count this step'}"
                    yield replace(finding, severity=Severity.WARNING, text=text)


def due_before(schedule: Schedule, seconds: float) -> int:
    """How many requests a schedule that does not look at the log has in its first seconds."""
    pace, count, end = schedule.pacer(), 0, round(seconds * 1e9)
    while seconds:
        early = int(np.searchsorted(pace(np.zeros(_BLOCK, np.int64)), end))
        count += early
        if early < _BLOCK:
            break
    return count


async def sweep(
    engine: Replayer,
    results: StepLog,
    requests: RequestStream,
    course: SweepPlan,
    *,
    at: At,
    mixes: Sequence[Mix] = (),
    steps: Sequence[Step] | None = None,
    done: Sequence[FinishedStep] = (),
    on_begin: Callable[[Step], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_end: Callable[[FinishedStep, Outcome], None] | None = None,
    on_other: Callable[[Outcome], None] | None = None,
) -> tuple[Outcome, ...]:
    """Run the steps in order, until a worker is lost; leave out rates that are known to overload the target.

    Args:
        engine: an open one, that writes into ``results``.
        results: takes the rows of all steps.
        requests: requests of each step.
        course: the settings.
        at: spacing of requests at a rate. With a ``settle`` of the course not the log's own times.
        mixes: mixes of the steps that leave out routes.
        steps: those to be made; None: all of the course.
        done: steps made before, when a sweep goes on.
        on_begin, on_progress: called before each step, and about once a second.
        on_end: called after each step, when nothing of it is in flight and its rows are on disk.
        on_other: called after the warm-up, and after a step that did not come to its end.

    Returns:
        The outcome of each step that was begun; of the warm-up, if that was stopped or lost a worker.
    """
    made, outcomes = list(done), list[Outcome]()
    midway, looks = 0, list[tuple[int, int]]()

    async def run(schedule: Schedule, step: int, look_at: float = 0.0, mix: Mix | None = None) -> Outcome:
        def progress(now: Progress) -> None:
            nonlocal midway
            looks.append((now.counters.sent, now.counters.failed))
            midway = now.in_flight if now.elapsed <= look_at else midway
            if on_progress:
                on_progress(now)

        kept = mix.kept if mix else 1.0
        begin = 0 if course.restart else round(kept * results.position)
        outcome = await engine.run(Plan(mix.requests if mix else requests, schedule, step, begin), progress)
        results.next_seq += outcome.next_seq - outcome.first_seq
        results.position += round(outcome.used / kept)
        return outcome

    if course.warm_up:
        results.set_aside(inf)
        warm = await run(at(min(course.rates), course.warm_up, WARM_UP), WARM_UP)
        if on_other:
            on_other(warm)
        if warm.stopped or warm.lost:
            return (warm,)
    for step in course.steps() if steps is None else steps:
        if not course.keep_going and known_overloaded(step.rate, made):
            continue
        if on_begin:
            on_begin(step)
        schedule = at(step.rate, course.settle + step.seconds, step.index)
        results.set_aside(due_before(schedule, course.settle))
        midway = 0
        looks.clear()
        mix = mixes[step.mix - 1] if step.mix else None
        outcome = await run(schedule, step.index, course.settle + MIDWAY * step.seconds, mix)
        outcomes.append(outcome)
        if outcome.stopped or outcome.lost:
            if on_other:
                on_other(outcome)
            break
        looks.append((outcome.counters.sent, outcome.counters.failed))
        made.append(finished(step, outcome, midway, made, _by_second(looks)))
        if on_end:
            on_end(made[-1], outcome)
    return tuple(outcomes)
