"""The search for the highest rate that keeps a bound: a state machine without a clock.

It says which trial comes next; told its observations, it says the next one, and at the end the answer. Whoever
drives it sends the requests (or simulates them).

Theory of operation. 1. A trial at the lowest rate: is the bound kept at all? 2. Short trials, each 1.6 times faster,
until one fails. 3. Bisection, on a logarithmic scale, with long trials, until the highest rate that passed and the
lowest that failed are as close as asked. 4. Two fresh trials of twice that length at the rate that passed, and up to
two more while it is in doubt: all requests ever judged at it decide together, and the fresh ones by themselves too,
since the trial before them was chosen for having passed. If they fail it, the same for the next lower rate, and so on.

Near its capacity a target is late in rare long bunches, minutes apart: a minute between two of them looks perfect, a
few per cent above what holds, and no test within that minute can tell. Only a longer look can, so the trials on which
the promise rests are the longest.

A trial may end early only as a failure. A short trial begins with empty queues and misses rare events, so an early
pass is exactly the optimistic answer. A trial in which the replaying machine was the bottleneck says nothing of
the target: it is neither passed nor failed.
"""

import math
from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from logreplay.analysis.search.slo import BoundEvidence, BoundFinding, findings
from logreplay.analysis.search.trials import Answer, Goal, Judged, Phase, Trial, TrialOutcome, Verdict, Why
from logreplay.analysis.statistics.quantiles import Ints

__all__ = ["Answer", "Goal", "Judged", "Search", "Trial", "TrialOutcome"]

RAMP_FACTOR: Final = 1.6
CONFIRMATIONS: Final = 2
CONFIRMING: Final = 2
"""A confirmation is so many times as long as another full trial."""
MOST_CONFIRMATIONS: Final = 4
PATIENCE: Final = 11
"""Trials after which a doubt gives no reason for one more."""
HURRY: Final = 13
"""Trials after which steps down grow twice as fast: the end is nearer than the limit."""
LEAST_EARLY_S: Final = 10
"""Judged seconds before the interval may end a trial: one pause of the target must not look like its habit."""
GROWTH: Final = 0.05
BACKLOG_S: Final = 0.5
_FULL: Final = ("bisect", "confirm")


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
    _course: Generator[Trial, TrialOutcome, Answer] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._course = self._run()
        self.next = next(self._course)

    def tell(self, outcome: TrialOutcome) -> Trial | Answer:
        """Take the observations of the trial `next`; return what comes next."""
        try:
            self.next = self._course.send(outcome)
        except StopIteration as end:
            self.next = end.value
        self.judged[-1] = replace(self.judged[-1], low=self.low, high=self.high)
        return self.next

    def hopeless(self, evidence: BoundEvidence) -> str:
        """Say why the trial under way can be ended as failed; empty if it must go on.

        To be asked about once a second, with the observations so far.
        """
        trial = self.next
        assert isinstance(trial, Trial), "there is no trial under way"
        if self._backlog_grows(evidence.in_flight, trial):
            return "requests in flight grow"
        pool = self._pool(trial) + evidence
        expected = pool.requests - evidence.requests + trial.rate * trial.judged_s * max(self._fresh, 1)
        expected = math.inf if self.goal.users else expected + 3 * math.sqrt(expected)  # arrivals may be random
        for finding in findings(self.goal.bounds, pool):
            if finding.cost * pool.requests > finding.bound.allowance * expected:
                return f"{finding.bound} cannot be kept any more"
            if len(evidence.counts) >= LEAST_EARLY_S and finding.surely_missed:
                return f"{finding.bound} is not kept"
        return ""

    def keeps(self, evidence: BoundEvidence) -> bool:
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

    def _run(self) -> Generator[Trial, TrialOutcome, Answer]:
        with suppress(_UsedUp):
            yield from self._find()
        return self._answer()

    def _find(self) -> Generator[Trial, TrialOutcome, None]:
        goal = self.goal
        highest = goal.rounded(goal.highest) if goal.highest else math.inf
        yield from self._place("calibrate", goal.start)
        while self.low is not None and self.high is None and self.low < highest:
            faster = max(self.low * RAMP_FACTOR, self.low + 1 if goal.users else 0)
            yield from self._place("ramp", min(faster, highest))
        while self.low and self.high and self.high > self.low * (1 + goal.precision) and self._room_to_bisect():
            middle = math.sqrt(self.low * self.high)
            if goal.users:
                middle = max(math.floor(middle), self.low + 1)
            if middle >= self.high:
                break
            yield from self._place("bisect", middle)
        while self.low is not None and not self._confirmed:
            yield from self._confirm(self.low)

    def _place(self, phase: Phase, rate: float) -> Generator[Trial, TrialOutcome, None]:
        """Try a rate; move an end of the bracket to it."""
        rate = self.goal.rounded(rate)
        verdict = yield from self._try(phase, rate)
        if verdict == "fail" and phase in ("calibrate", "ramp") and not self._surely_failed():
            verdict = yield from self._try("bisect", rate)  # too few requests to believe it
        if verdict == "pass":
            self.low = rate
        else:
            self.high, self._high_void = rate, verdict == "void"

    def _confirm(self, rate: float) -> Generator[Trial, TrialOutcome, None]:
        """Repeat the rate that passed; if it fails, go down one step."""
        verdict: Verdict = "pass"
        fresh, made = CONFIRMATIONS if self.trials < PATIENCE else 1, 0
        while made < fresh or self._another_would_tell(rate, made):
            self._fresh = max(fresh - made, 1)
            verdict = yield from self._try("confirm", rate)
            made += 1
            if verdict == "void" or (verdict == "fail" and self._surely_failed()):
                break
        self._fresh = 0
        if verdict == "pass" and all(finding.kept for finding in self._findings_at(rate, "confirm")):
            self._confirmed = True
            return
        width = self.high / rate if self.high else math.inf
        self.high, self._high_void = rate, verdict == "void"
        self._descents += 1 if self.trials < HURRY else 2  # ever longer steps: it may be far down
        lower = rate / min(width, 1 + self.goal.precision) ** self._descents
        if self.goal.users:
            lower = min(lower, rate - 1)
        lower = self.goal.rounded(max(lower, self.goal.start))
        self.low = lower if lower < rate else None

    def _another_would_tell(self, rate: float, made: int) -> bool:
        """Whether it is in doubt that a rate keeps the bounds, and one more trial could settle it."""
        if made >= MOST_CONFIRMATIONS or self.trials >= PATIENCE:
            return False
        found = self._findings_at(rate)
        if all(each.surely_kept for each in found) or any(each.surely_missed for each in found):
            return False
        judged = sum(each.outcome.evidence.requests for each in self._full_trials(rate))
        in_time = judged + rate * CONFIRMING * self.goal.full_s(rate)  # if none of its requests costs anything
        return self.goal.users or all(each.cost * judged <= each.bound.allowance * in_time for each in found)

    def _findings_at(self, rate: float, *phases: Phase) -> tuple[BoundFinding, ...]:
        """How the bounds stand by all full trials at a rate, or by those of some phases."""
        trials = [each for each in self._full_trials(rate) if not phases or each.trial.phase in phases]
        return findings(self.goal.bounds, self._pooled(trials))

    def _pooled(self, trials: Iterable[Judged]) -> BoundEvidence:
        return sum((each.outcome.evidence for each in trials), BoundEvidence.none(len(self.goal.bounds)))

    def _try(self, phase: Phase, rate: float) -> Generator[Trial, TrialOutcome, Verdict]:
        """Make a trial; once more if it was invalid."""
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
        full = self.goal.full_s(rate)
        settle, judged = {
            "calibrate": (2.0, min(13.0, full)), "ramp": (2.0, min(8.0, full)),
            "bisect": (5.0, full), "confirm": (5.0, CONFIRMING * full),
        }[phase]  # fmt: skip
        return Trial(len(self.judged) + 1, phase, rate, settle, judged)

    def _fits(self, seconds: float, trials: int) -> bool:
        budget = math.inf if self.goal.budget_s is None else self.goal.budget_s
        return self.trials + trials <= self.goal.trials and self.elapsed + seconds <= budget

    def _room_to_bisect(self) -> bool:
        """Whether there is room for one more trial and the confirmations: a wider bracket that is confirmed is worth
        more than a narrow one that is not."""
        assert self.low
        bisecting, confirming = self._trial("bisect", self.low).seconds, self._trial("confirm", self.low).seconds
        return self._fits(bisecting + CONFIRMATIONS * confirming, 1 + CONFIRMATIONS)

    # Judging

    def _judge(self, trial: Trial, outcome: TrialOutcome) -> Verdict:
        pool = self._pool(trial) + outcome.evidence
        verdict: Verdict = "void"
        if not outcome.void:
            kept = all(finding.kept for finding in findings(self.goal.bounds, pool))
            failed = outcome.cut or not kept or self._backlog_grows(outcome.evidence.in_flight, trial)
            verdict = "fail" if failed else "pass"
        own = findings(self.goal.bounds, outcome.evidence)
        self.judged.append(Judged(trial, outcome, verdict, own, self.elapsed, self.low, self.high))
        return verdict

    def _pool(self, trial: Trial) -> BoundEvidence:
        """The observations of earlier full trials at the same rate."""
        return self._pooled(self._full_trials(trial.rate) if trial.phase in _FULL else ())

    def _full_trials(self, rate: float | None = None) -> list[Judged]:
        """Those that were valid, at a rate or at all."""
        full = [each for each in self.judged if each.verdict != "void" and each.trial.phase in _FULL]
        return [each for each in full if rate is None or each.trial.rate == rate]

    def _surely_failed(self) -> bool:
        last = self.judged[-1]
        grows = self._backlog_grows(last.outcome.evidence.in_flight, last.trial)
        return grows or any(finding.surely_missed for finding in last.findings)

    def _backlog_grows(self, in_flight: Ints, trial: Trial) -> bool:
        """Whether ever more requests wait: at least one in twenty of those that came since half-time."""
        now = len(in_flight)
        if now <= trial.settle_s or self.goal.users:
            return False
        half = now // 2
        grown = in_flight[-1] - in_flight[half - 1]
        return bool(
            grown > GROWTH * trial.rate * (now - half) and in_flight[-1] > trial.rate * (BACKLOG_S + self._floor_s())
        )

    def _floor_s(self) -> float:
        """Response time at the lowest rate, by Little's law: requests in flight there are not a backlog."""
        if not self.judged or not len(in_flight := self.judged[0].outcome.evidence.in_flight):
            return 0.0
        return float(in_flight.mean()) / self.judged[0].trial.rate

    def _answer(self) -> Answer:
        low = self.low if self._confirmed else self._highest_passed()
        full = self._full_trials(low or 0)
        pool = self._pooled(full)
        return Answer(
            why=self._why(low, pool.requests),
            low=low,
            high=self.high,
            high_void=self._high_void,
            confirmations=sum(each.trial.phase == "confirm" for each in full),
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
        full = self._full_trials()
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
