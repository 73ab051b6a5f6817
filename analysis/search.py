"""The search for the highest rate that keeps a bound: a state machine without a clock.

It says which trial comes next; told what was seen in it, it says the next one, and at the end the answer. Whoever
drives it sends the requests (or simulates them).

Theory of operation. 1. A trial at the lowest rate: is the bound kept at all? 2. Short trials, each 1.6 times faster,
until one fails. 3. Bisection, on a logarithmic scale, with long trials, until the highest rate that passed and the
lowest that failed are as close as asked. 4. Two fresh trials at the rate that passed; all requests ever judged at
it decide together. If they fail it, the same for the next lower rate, and so on.

A trial may end early only as a failure. A short trial begins with empty queues and misses what is rare, so an early
pass is exactly the answer that flatters. A trial in which the replaying machine was the bottleneck says nothing of
the target: it is neither passed nor failed.
"""

import math
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from logreplay.analysis.bounds import Bound, Evidence, Finding, findings
from logreplay.analysis.quantiles import Ints

RAMP_FACTOR: Final = 1.6
CONFIRMATIONS: Final = 2
PLANNING: Final = 1.03
"""The confirmed rate is divided by this for planning: machines vary by some per cent from trial to trial."""
LEAST_EARLY_S: Final = 10
"""Judged seconds before the interval may end a trial: one pause of the target must not look like its habit."""
GROWTH: Final = 0.05
BACKLOG_S: Final = 0.5

Phase = Literal["calibrate", "ramp", "bisect", "confirm"]
Verdict = Literal["pass", "fail", "void"]
Why = Literal["found", "at-least", "not-met", "generator", "unproven", "drifted", "open"]


@dataclass(frozen=True, slots=True)
class Goal:
    """What is asked of a search.

    Attributes:
        bounds: all of them must hold.
        start: the lowest rate, requests/s; the first trial.
        highest: never tried above it; None: no limit.
        precision: how close the failed rate is to the confirmed one in the end: 0.05 is 5 %.
        trial_s: judged seconds of a full trial; None: 60, or as many as the bound needs requests.
        trials: no more than these; void ones do not count.
        budget_s: no trial is begun that would end after this many seconds; None: no limit.

    Raises:
        ValueError: no bound, or a number that makes no sense.
    """

    bounds: tuple[Bound, ...]
    start: float = 50.0
    highest: float | None = None
    precision: float = 0.05
    trial_s: float | None = None
    trials: int = 25
    budget_s: float | None = None

    def __post_init__(self) -> None:
        if not self.bounds:
            raise ValueError("a search needs a bound, such as p99 <= 300 ms")
        if not 0 < self.start < math.inf:
            raise ValueError(f"the lowest rate must be above 0 requests/s, got {self.start!r}")
        if self.highest is not None and self.highest < self.start:
            raise ValueError(f"the highest rate, {self.highest:g}/s, is below the lowest, {self.start:g}/s")
        if not 0.005 <= self.precision <= 0.5:
            raise ValueError(f"precision must be from 0.5 % to 50 %, got {self.precision * 100:g} %")
        if self.trial_s is not None and not self.trial_s >= 1:
            raise ValueError(f"a trial must last at least 1 s, got {self.trial_s:g}")
        if self.trials < 1:
            raise ValueError(f"a search needs at least 1 trial, got {self.trials!r}")

    @property
    def needs(self) -> int:
        """Requests without which the bounds cannot be proven."""
        return max(bound.needs for bound in self.bounds)

    def full_s(self, rate: float) -> float:
        """Judged seconds of a full trial at this rate."""
        return self.trial_s if self.trial_s is not None else max(60.0, math.ceil(self.needs / rate))


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial to be made.

    Attributes:
        number: from 1; void ones are numbered too.
        phase: why it is made.
        rate: requests/s to offer.
        settle_s: seconds at its start in which queues fill: not judged.
        judged_s: seconds after that.
    """

    number: int
    phase: Phase
    rate: float
    settle_s: float
    judged_s: float

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return self.settle_s + self.judged_s


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was seen in a trial.

    Attributes:
        evidence: of its judged part.
        seconds: it took, drain included.
        void: why it says nothing of the target; empty if it does.
        cut: why it was ended early (see `Search.hopeless`); empty if it was not.
    """

    evidence: Evidence
    seconds: float
    void: str = ""
    cut: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """A trial that was made.

    Attributes:
        trial, outcome: it.
        verdict: pass, fail or void.
        findings: for each bound, from this trial alone.
        began: seconds since the start of the search.
        low, high: the bracket after it; None where there is no end yet.
    """

    trial: Trial
    outcome: Outcome
    verdict: Verdict
    findings: tuple[Finding, ...]
    began: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Answer:
    """How a search ended.

    Attributes:
        why: ``found``: `low` is confirmed, `high` failed. ``at-least``: `low` is confirmed, and higher rates were not
            allowed, or could not be sent. ``not-met``: the bound does not hold at the lowest rate. ``generator``: the
            replaying machine could not even send the lowest rate. ``unproven``: too few requests were judged to prove
            this bound of anything. ``drifted``: the target changed meanwhile, trials contradict each other.
            ``open``: trials or time were used up before `low` was confirmed.
        low: highest rate that keeps the bounds; None if there is none.
        high: lowest rate that does not, or that could not be sent; None if there is none.
        high_void: `high` could not be sent.
        confirmations: trials at `low`, made after the bracket was closed, that are part of its proof.
        requests: judged at `low`.
        findings: at `low`, of all these requests.
    """

    why: Why
    low: float | None
    high: float | None
    high_void: bool
    confirmations: int
    requests: int
    findings: tuple[Finding, ...]

    @property
    def planning(self) -> float | None:
        """The rate to plan with: a little less than what was confirmed."""
        return None if self.low is None else self.low / PLANNING

    @property
    def holds(self) -> bool:
        """Whether `low` may be promised."""
        return self.why in ("found", "at-least")


class _UsedUp(Exception):
    """No trial fits any more into the number or the time allowed."""


@dataclass(slots=True)
class Search:
    """A search under way: `next` is the trial to make, until it is the answer.

    Example:
        >>> search = Search(Goal((Bound("p99", 0.3),), start=50))
        >>> while isinstance(search.next, Trial):
        ...     search.tell(make(search.next))
    """

    goal: Goal
    next: Trial | Answer = field(init=False)
    judged: list[Judged] = field(default_factory=list)
    """All trials made, in order."""
    low: float | None = None
    high: float | None = None
    _high_void: bool = False
    _confirmed: bool = False
    _fresh: int = 0
    _descents: int = 0
    _course: Generator[Trial, Outcome, Answer] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._course = self._run()
        self.next = next(self._course)

    def tell(self, outcome: Outcome) -> Trial | Answer:
        """Say what was seen in the trial `next`; return what comes next."""
        try:
            self.next = self._course.send(outcome)
        except StopIteration as end:
            self.next = end.value
        self.judged[-1] = replace(self.judged[-1], low=self.low, high=self.high)
        return self.next

    def hopeless(self, evidence: Evidence) -> str:
        """Say why the trial under way can be ended as failed; empty if it must go on.

        To be asked about once a second, with what was seen so far.
        """
        trial = self.next
        assert isinstance(trial, Trial), "there is no trial under way"
        if self._backlog_grows(evidence.in_flight, trial):
            return "requests in flight grow"
        pool = self._pool(trial) + evidence
        expected = pool.requests - evidence.requests + trial.rate * trial.judged_s * max(self._fresh, 1)
        expected += 3 * math.sqrt(expected)  # arrivals may be random
        for finding in findings(self.goal.bounds, pool):
            if finding.cost * pool.requests > finding.bound.allowance * expected:
                return f"{finding.bound} cannot be kept any more"
            if len(evidence.counts) >= LEAST_EARLY_S and finding.surely_missed:
                return f"{finding.bound} is not kept"
        return ""

    def keeps(self, evidence: Evidence) -> bool:
        """Whether the trial under way keeps the bounds by this evidence alone."""
        trial = self.next
        assert isinstance(trial, Trial), "there is no trial under way"
        kept = all(finding.kept for finding in findings(self.goal.bounds, evidence))
        return kept and not self._backlog_grows(evidence.in_flight, trial)

    @property
    def elapsed(self) -> float:
        """Seconds used by trials so far."""
        return sum(judged.outcome.seconds for judged in self.judged)

    @property
    def trials(self) -> int:
        """Trials that count so far."""
        return sum(judged.verdict != "void" for judged in self.judged)

    # The course of a search. Each yield hands out a trial and takes in its outcome.

    def _run(self) -> Generator[Trial, Outcome, Answer]:
        with suppress(_UsedUp):
            yield from self._find()
        return self._answer()

    def _find(self) -> Generator[Trial, Outcome, None]:
        goal = self.goal
        yield from self._place("calibrate", goal.start)
        while self.low is not None and self.high is None and self.low != goal.highest:
            yield from self._place("ramp", min(self.low * RAMP_FACTOR, goal.highest or math.inf))
        while self.low and self.high and self.high > self.low * (1 + goal.precision) and self._room_to_bisect():
            yield from self._place("bisect", math.sqrt(self.low * self.high))
        fresh = CONFIRMATIONS
        while self.low is not None and not self._confirmed:
            yield from self._confirm(self.low, fresh)
            fresh = 1

    def _place(self, phase: Phase, rate: float) -> Generator[Trial, Outcome, None]:
        """Try a rate; move an end of the bracket to it."""
        rate = _rounded(rate)
        verdict = yield from self._try(phase, rate)
        if verdict == "fail" and phase in ("calibrate", "ramp") and not self._surely_failed():
            verdict = yield from self._try("bisect", rate)  # too few requests to believe it
        if verdict == "pass":
            self.low = rate
        else:
            self.high, self._high_void = rate, verdict == "void"

    def _confirm(self, rate: float, fresh: int) -> Generator[Trial, Outcome, None]:
        """Repeat the rate that passed; if it fails, go down one step."""
        verdict: Verdict = "pass"
        for self._fresh in range(fresh, 0, -1):
            verdict = yield from self._try("confirm", rate)
            if verdict == "void" or (verdict == "fail" and self._surely_failed()):
                break
        self._fresh = 0
        if verdict == "pass":
            self._confirmed = True
            return
        self.high, self._high_void = rate, verdict == "void"
        self._descents += 1  # ever longer steps: it may be far down
        lower = max(_rounded(rate / (1 + self.goal.precision) ** self._descents), self.goal.start)
        self.low = lower if lower < rate else None

    def _try(self, phase: Phase, rate: float) -> Generator[Trial, Outcome, Verdict]:
        """Make a trial; once more if it was void."""
        verdict: Verdict = "void"
        for _ in range(2):
            trial = self._trial(phase, rate)
            if not self._fits(trial.seconds, 1):
                raise _UsedUp
            outcome = yield trial
            verdict = self._judge(trial, outcome)
            if verdict != "void":
                break
        return verdict

    def _trial(self, phase: Phase, rate: float) -> Trial:
        settle, judged = {"calibrate": (2.0, 13.0), "ramp": (2.0, 8.0)}.get(phase, (5.0, self.goal.full_s(rate)))
        return Trial(len(self.judged) + 1, phase, rate, settle, min(judged, self.goal.full_s(rate)))

    def _fits(self, seconds: float, trials: int) -> bool:
        budget = math.inf if self.goal.budget_s is None else self.goal.budget_s
        return self.trials + trials <= self.goal.trials and self.elapsed + seconds <= budget

    def _room_to_bisect(self) -> bool:
        """Whether there is room for one more trial and the confirmations: a wider bracket that is confirmed is worth
        more than a narrow one that is not."""
        assert self.low
        full = self._trial("bisect", self.low).seconds
        return self._fits((1 + CONFIRMATIONS) * full, 1 + CONFIRMATIONS)

    # Judging

    def _judge(self, trial: Trial, outcome: Outcome) -> Verdict:
        pool = self._pool(trial) + outcome.evidence
        verdict: Verdict = "void"
        if not outcome.void:
            kept = all(finding.kept for finding in findings(self.goal.bounds, pool))
            failed = outcome.cut or not kept or self._backlog_grows(outcome.evidence.in_flight, trial)
            verdict = "fail" if failed else "pass"
        own = findings(self.goal.bounds, outcome.evidence)
        self.judged.append(Judged(trial, outcome, verdict, own, self.elapsed, self.low, self.high))
        return verdict

    def _pool(self, trial: Trial) -> Evidence:
        """What was seen in earlier full trials at the same rate."""
        pool = Evidence.none(len(self.goal.bounds))
        if trial.phase in ("bisect", "confirm"):
            for judged in self._full_trials(trial.rate):
                pool += judged.outcome.evidence
        return pool

    def _full_trials(self, rate: float) -> list[Judged]:
        return [
            judged
            for judged in self.judged
            if judged.trial.rate == rate and judged.verdict != "void" and judged.trial.phase in ("bisect", "confirm")
        ]

    def _surely_failed(self) -> bool:
        last = self.judged[-1]
        grows = self._backlog_grows(last.outcome.evidence.in_flight, last.trial)
        return grows or any(finding.surely_missed for finding in last.findings)

    def _backlog_grows(self, in_flight: Ints, trial: Trial) -> bool:
        """Whether ever more requests wait: at least one in twenty of those that came since half-time."""
        now = len(in_flight)
        if now <= trial.settle_s:
            return False
        half = now // 2
        grown = in_flight[-1] - in_flight[half - 1]
        return bool(
            grown > GROWTH * trial.rate * (now - half) and in_flight[-1] > trial.rate * (BACKLOG_S + self._floor_s())
        )

    def _floor_s(self) -> float:
        """Response time at the lowest rate, by Little's law: what is in flight there is no backlog."""
        if not self.judged or not len(in_flight := self.judged[0].outcome.evidence.in_flight):
            return 0.0
        return float(in_flight.mean()) / self.judged[0].trial.rate

    def _answer(self) -> Answer:
        low = self.low if self._confirmed else self._highest_passed()
        pool = sum(
            (each.outcome.evidence for each in self._full_trials(low or 0)), Evidence.none(len(self.goal.bounds))
        )
        return Answer(
            why=self._why(low, pool.requests),
            low=low,
            high=self.high,
            high_void=self._high_void,
            confirmations=sum(each.trial.phase == "confirm" for each in self._full_trials(low or 0)),
            requests=pool.requests,
            findings=findings(self.goal.bounds, pool),
        )

    def _why(self, low: float | None, requests: int) -> Why:
        if low is None:
            if self.high is None:
                return "open"
            return "generator" if self._high_void else "not-met"
        if not self._confirmed:
            return "open"
        if requests < self.goal.needs:
            return "unproven"
        if self.contradiction():
            return "drifted"
        return "at-least" if self.high is None or self._high_void else "found"

    def _highest_passed(self) -> float | None:
        below = self.high or math.inf
        return max(
            (each.trial.rate for each in self.judged if each.verdict == "pass" and each.trial.rate < below),
            default=None,
        )

    def contradiction(self) -> tuple[Judged, Judged] | None:
        """Two full trials that cannot both be true of one target: one surely passed, one no faster surely failed."""
        full = [each for each in self.judged if each.trial.phase in ("bisect", "confirm") and each.verdict != "void"]
        passed = [each for each in full if all(finding.surely_kept for finding in each.findings)]
        failed = [each for each in full if any(finding.surely_missed for finding in each.findings)]
        return next(
            (
                (p, f)
                for p in passed
                for f in failed
                if f.trial.rate * (1 + self.goal.precision) <= p.trial.rate * 1.001
            ),
            None,
        )


def _rounded(rate: float) -> float:
    """Four digits, never more than the rate."""
    unit = 10.0 ** (math.floor(math.log10(rate)) - 3)
    return float(f"{math.floor(rate / unit + 1e-9) * unit:.4g}")
