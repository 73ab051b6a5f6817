"""The search for the highest rate that keeps a bound: a state machine without a clock.

It names the next trial, takes its observations, and at the end gives the answer. The caller sends the requests, or
simulates them.

Theory of operation. 1. A short trial at the lowest rate: is the bound kept at all? 2. Short trials, each 1.6 times
faster, until one fails. 3. Trials at the rate that is likeliest by all trials so far (module ``posterior``). 4. One
long, fresh trial confirms a rate that is probably kept: it has nearly half of the budget, in one piece, since no
number of short trials shows what builds up slowly. 5. The promise is not above that rate: by all trials it is probably
kept, and at it all trials together kept the bounds.

A trial may end early only as a failure, since an early pass is exactly the optimistic answer. The most users who are
served in time are searched by bisection, as their number is whole and their waiting times hardly vary.
"""

import math
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from logreplay.analysis.search.bounds import BoundEvidence, findings
from logreplay.analysis.search.judging import BEYOND_HOPE, Judging
from logreplay.analysis.search.pooled import believed, doubted, ends_of_range, promised
from logreplay.analysis.search.trials import (
    CALIBRATION_SETTLES_S,
    CONFIRMING,
    Answer,
    Goal,
    Judged,
    Phase,
    Trial,
    TrialOutcome,
    Verdict,
    Why,
)

__all__ = ["Answer", "Goal", "Judged", "Search", "Trial", "TrialOutcome"]

RAMP_FACTOR: Final = 1.6
CONFIRM_AT: Final = 0.3
"""Probability that the rate of the confirmation is too high, by the trials before it."""
AGAIN_AT: Final = 0.12
"""The same after a confirmation that failed."""
SENDABLE: Final = 1.1
"""Largest factor between a rate that cannot be sent and one that passed, at which the search stops to narrow."""
AGAIN_LOWER: Final = 0.85
"""Lowest rate of the next confirmation, as a share of the rate of the one that failed."""
AGAIN: Final = 0.3
"""Smallest part of the budget for the confirmation after one that failed."""
LONGER: Final = 1.15
"""After a confirmation that failed, the search may take this many times its budget."""
LEAST_EARLY_S: Final = 10
"""Judged seconds before an interval may end a trial: one pause of the target must not decide."""


class _Ended(Exception):
    """No further trial fits into the allowed number or time, or none would help."""


@dataclass(slots=True)
class Search:
    """A search under way: `next` is the trial to make, until it is the answer.

    Attributes:
        goal: bounds and time of the search.
        next: the trial to make, or the answer.
        low: the highest rate that passed, and that no longer trial contradicts.
        high: the lowest rate above it that failed, or that could not be sent.

    Example:
        >>> search = Search(Goal((Bound("p99", 0.3),), start=50))
        >>> while isinstance(search.next, Trial):
        ...     search.tell(make(search.next))
    """

    goal: Goal
    next: Trial | Answer = field(init=False)
    low: float | None = None
    high: float | None = None
    judging: Judging = field(init=False)
    _unsendable: float = math.inf
    _confirmed: bool = False
    _provable: bool = True
    _course: Generator[Trial, TrialOutcome, Answer] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.judging = Judging(self.goal)
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

    @property
    def judged(self) -> list[Judged]:
        """All trials made, in order."""
        return self.judging.judged

    @property
    def elapsed(self) -> float:
        """Seconds used by trials so far."""
        return self.judging.elapsed

    @property
    def trials(self) -> int:
        """Trials that count so far."""
        return len(self.judging.valid)

    @property
    def measured(self) -> bool:
        """Whether a trial was valid; a rate above the completions of an invalid one has failed without one."""
        return any(not each.outcome.void for each in self.judged)

    @property
    def high_void(self) -> bool:
        """Whether `high` could not be sent."""
        return self.high is not None and self.high == self._unsendable

    def hopeless(self, evidence: BoundEvidence) -> str:
        """Say why the trial under way can be ended as failed; empty if it must go on.

        The caller asks about once a second, with the observations so far.
        """
        trial = self._under_way()
        if self.judging.backlog_grows(evidence.in_flight, trial):
            return "requests in flight grow"
        expected = trial.rate * trial.judged_s
        expected = math.inf if self.goal.users else expected + 3 * math.sqrt(expected)  # arrivals may be random
        for finding in findings(self.goal.bounds, evidence):
            enough = trial.phase == "confirm"
            hopeless = finding.cost * finding.requests > BEYOND_HOPE * finding.bound.allowance * expected
            if enough and hopeless and finding.bound.statistic != "errors":
                return f"{finding.bound} cannot be kept any more"
            if len(evidence.counts) >= LEAST_EARLY_S and finding.surely_missed:
                return f"{finding.bound} is not kept"
        return ""

    def keeps(self, evidence: BoundEvidence) -> bool:
        """Whether the trial under way keeps the bounds by this evidence."""
        trial = self._under_way()
        return self.judging.kept(evidence, trial) and not self.judging.backlog_grows(evidence.in_flight, trial)

    def fails(self, evidence: BoundEvidence) -> bool:
        """Whether the trial under way misses the bound on failures by this evidence."""
        return self.judging.fails(evidence, self._under_way())

    def _under_way(self) -> Trial:
        assert isinstance(self.next, Trial), "there is no trial under way"
        return self.next

    @property
    def unconfirmed_rate(self) -> float | None:
        """The lowest rate whose confirmations were all invalid; None: no such rate."""
        confirming = [each for each in self.judged if each.trial.phase == "confirm"]
        valid = {each.trial.rate for each in confirming if each.verdict != "void"}
        return min((each.trial.rate for each in confirming if each.trial.rate not in valid), default=None)

    # The course of a search. Each yield hands out a trial and takes in its outcome.

    def _run(self) -> Generator[Trial, TrialOutcome, Answer]:
        with suppress(_Ended):
            yield from self._find()
        return self._answer()

    def _find(self) -> Generator[Trial, TrialOutcome, None]:
        goal = self.goal
        highest = goal.rounded(goal.highest) if goal.highest else math.inf
        verdict = yield from self._try("calibrate", goal.start)
        if self.judging.in_doubt(verdict):
            yield from self._try("narrow", goal.start)  # too few requests to believe it
        while self.low is not None and self.high is None and self.low < highest:
            faster = max(self.low * RAMP_FACTOR, self.low + 1 if goal.users else 0)
            yield from self._try("ramp", min(faster, highest))
        phase: Phase = "bisect" if goal.users else "narrow"
        while (rate := self._to_narrow()) is not None and self._room_to_narrow(phase, rate):
            yield from self._try(phase, rate)
        if self.low is not None:
            yield from self._confirm()

    def _to_narrow(self) -> float | None:
        """The rate to try before the confirmation; None if the range is narrow enough."""
        low, high, precision = self.low, self.high, 1 + self.goal.precision
        if not low or not high:
            return None
        if self.goal.users:
            middle = max(math.floor(math.sqrt(low * high)), low + 1)
            return middle if high > low * precision and middle < high else None
        belief = believed(self.judging, self._unsendable)
        narrow = belief.quantile(0.95) <= belief.quantile(0.05) * precision
        if narrow or (self.high_void and high <= low * SENDABLE):
            return None
        return max(belief.quantile(0.5), self.goal.start)

    def _confirm(self) -> Generator[Trial, TrialOutcome, None]:
        """Hold one rate for the rest of the budget; a lower one if that surely failed and there is time."""
        goal, tried = self.goal, math.inf
        while (rate := self._to_confirm(tried)) is not None:
            if tried == math.inf and not self._fits(0 if goal.users else goal.needs / rate, 1):
                self._provable, self.low = False, rate
                return
            verdict = yield from self._try("confirm", rate)
            if verdict == "void":
                return
            if verdict == "pass" or not (goal.users or self.judging.far_off(self.judged[-1])):
                self._confirmed = True
                return
            tried = rate

    def _to_confirm(self, tried: float) -> float | None:
        """The rate to confirm, below the one that was tried; None if there is none."""
        goal, low = self.goal, self.low or 0.0
        if goal.users or (self.high is None and tried == math.inf):
            rate = low if tried == math.inf else min(low, tried - 1)
        else:
            again = tried < math.inf
            rate = doubted(self.judging, self._unsendable).quantile(AGAIN_AT if again else CONFIRM_AT)
            rate = max(rate, AGAIN_LOWER * tried) if again else rate
            rate = max(min(rate, tried / (1 + goal.precision), low if self.high_void else math.inf), goal.start)
        rate = goal.rounded(rate)
        return rate if goal.start <= rate < tried else None

    def _try(self, phase: Phase, rate: float) -> Generator[Trial, TrialOutcome, Verdict]:
        """Make a trial, once more if it was invalid; move an end of the bracket to it."""
        verdict: Verdict = "void"
        for _ in range(2):
            trial = self._trial(phase, self.goal.rounded(rate))
            if not self._fits(trial.seconds, 1):
                raise _Ended
            outcome = yield trial
            verdict = self.judging.judge(trial, outcome)
            self._move(trial, verdict)
            if self.judging.fails_anyway is not None:
                raise _Ended
            if verdict != "void":
                return verdict
        if phase != "confirm" and trial.rate > (self.low or 0.0):
            self._unsendable = trial.rate
            self.high = trial.rate
        return verdict

    def _move(self, trial: Trial, verdict: Verdict) -> None:
        """Move the ends of the bracket after a trial."""
        if trial.phase == "calibrate" and verdict == "fail" and self.judging.in_doubt(verdict):
            return
        if verdict == "pass" and trial.rate >= self._unsendable:
            self._unsendable = math.inf
        if verdict != "void":
            self.low = self.judging.highest_passed
            failed = self.judging.lowest_failed(self.low or 0.0)
            ends = [each for each in (failed, self._unsendable) if each is not None and each != math.inf]
            self.high = min(ends, default=None)

    def _trial(self, phase: Phase, rate: float) -> Trial:
        goal = self.goal
        judged = {
            "calibrate": goal.short_s, "ramp": goal.short_s, "bisect": goal.full_s(rate), "narrow": goal.full_s(rate),
            "confirm": self._confirming_s(rate),
        }[phase]  # fmt: skip
        settle = CALIBRATION_SETTLES_S if phase == "calibrate" else goal.settle_s(judged)
        return Trial(len(self.judged) + 1, phase, rate, settle, judged)

    def _confirming_s(self, rate: float) -> float:
        """Judged seconds of a confirmation: the rest of the budget."""
        goal = self.goal
        least, most = goal.confirming_s(rate)
        if goal.budget_s is None:
            return most
        if self.judging.failed_confirmation:
            least = max(least, AGAIN * goal.budget_s)
        left = self._budget_s - self.elapsed
        return max(min(math.floor(left - goal.settle_s(left)), most), least)

    def _fits(self, seconds: float, trials: int) -> bool:
        return self.trials + trials <= self.goal.trials and self.elapsed + seconds <= self._budget_s

    @property
    def _budget_s(self) -> float:
        """Seconds that the search may take; longer after a confirmation that failed, for one more."""
        if self.goal.budget_s is None:
            return math.inf
        return self.goal.budget_s * (LONGER if any(each.trial.phase == "confirm" for each in self.judged) else 1)

    def _room_to_narrow(self, phase: Phase, rate: float) -> bool:
        """Whether there is room for one more trial besides the confirmation, which has a fixed part of the budget."""
        goal = self.goal
        least, _ = goal.confirming_s(rate)
        confirming = least + goal.settle_s(least)
        if goal.budget_s is not None and goal.trial_s is None:
            confirming = max(confirming, CONFIRMING * goal.budget_s)
        return self._fits(self._trial(phase, rate).seconds + confirming, 2)

    def _answer(self) -> Answer:
        if self.judging.fails_anyway is not None:
            self.low, self.high = None, self.goal.start
        low, high, capacity, between = self.low, self.high, None, None
        confirming = [each for each in self.judging.valid if each.trial.phase == "confirm"]
        proof = confirming[-1] if self._confirmed else None
        if high is not None and not self.goal.users and (proof or low is not None):
            belief = doubted(self.judging, self._unsendable)
            if low is not None:
                capacity = belief.quantile(0.5)
                between = None if self._refuted else ends_of_range(self.judging, belief)
            if proof:
                low = max(self.goal.rounded(min(promised(self.judging, belief), proof.trial.rate)), self.goal.start)
                above = self.judging.lowest_failed(max(low, capacity or 0)) or self.judging.lowest_failed(low)
                high = min(above or math.inf, self._unsendable)
        elif proof:
            low = proof.trial.rate
        if capacity and high:
            capacity = self.goal.rounded(min(capacity, high))
        evidence = proof.outcome.evidence if proof else BoundEvidence.none(len(self.goal.bounds))
        return Answer(
            why=self._why(low, high, evidence.requests),
            low=low,
            high=high,
            high_void=high is not None and high == self._unsendable,
            capacity=capacity,
            between=between,
            proof=proof,
            requests=evidence.requests,
            findings=findings(self.goal.bounds, evidence),
        )

    def _why(self, low: float | None, high: float | None, requests: int) -> Why:
        void = high is not None and high == self._unsendable
        if low is None:
            if high is None:
                return "open"
            return "generator" if void else "not-met"
        if not self._provable or (self._confirmed and requests < self.goal.needs):
            return "unproven"
        if not self._confirmed:
            return "open"
        if self.judging.contradiction():
            return "drifted"
        if self.judging.fails_too_often or self._refuted:
            return "unproven"
        return "at-least" if high is None or void else "found"

    @property
    def _refuted(self) -> bool:
        """Whether the last confirmation shows that the target is not like the model of the posterior.

        Something builds up, or one before it was far off, and it kept the bounds on time, but not surely.
        """
        last = self.judged[-1]
        in_doubt = self.judging.failed_confirmation and not all(each.surely_kept for each in last.on_times)
        return in_doubt or self.judging.builds_up(last) is not None

    @property
    def budget_needed_s(self) -> float:
        """The budget with which there is time for as many requests as the bounds need, roughly: whole minutes."""
        assert self.low
        return 60.0 * math.ceil((self.elapsed + 1.5 * self.goal.needs / self.low) / 60)
