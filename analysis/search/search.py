"""The search for the highest rate that keeps a bound: a state machine without a clock.

It says which trial comes next; told its observations, it says the next one, and at the end the answer. Whoever
drives it sends the requests (or simulates them).

Theory of operation. 1. A short trial at the lowest rate: is the bound kept at all? 2. Short trials, each 1.6 times
faster, until one fails. 3. Bisection, on a logarithmic scale, until the highest rate that passed and the lowest that
failed are close. Where requests piled up in the trial that failed, the target was busy all the time, so its
completions show its capacity: the next trial is made just below them. 4. One long, fresh trial confirms a rate that
is lower than the one that passed by a margin; it has the rest of the budget. If it fails, one at the next lower rate
follows, and so on: a part of the budget is kept for that.

The budget decides how long trials are, and their length decides how close the ends come and how wide the margin is.
A short trial begins with empty queues and misses rare events, so the rate it passes is optimistic, by about 40 %
divided by the square root of its seconds. Near its capacity a target is late in rare long bunches, minutes apart: a
minute between two of them looks perfect, a few per cent above what holds, and no test within that minute can tell.
The margin covers that, and the promise rests on the longest trial.

Failures have a budget of their own. A trial misses it if it fails more, and that is sure, or it surely fails more often
than the trials at far lower rates, the base. Where a trial surely fails too often, and the base fails as often, no
lower rate would help: the search ends, and says so.

A trial may end early only as a failure, since an early pass is exactly the optimistic answer. A trial in which the
replaying machine was the bottleneck does not measure the target: it is neither passed nor failed. But a rate above
what the target completed while requests piled up cannot be kept, whoever was the bottleneck.
"""

import math
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from logreplay.analysis.search.bounds import BoundEvidence, BoundFinding, findings
from logreplay.analysis.search.trials import (
    BACKLOG_S,
    CALIBRATION_SETTLES_S,
    Answer,
    Goal,
    Judged,
    Phase,
    Trial,
    TrialOutcome,
    Verdict,
    Why,
)
from logreplay.analysis.statistics.failures import Series, fails_above, fails_at_any_rate, fails_more, share_failed
from logreplay.analysis.statistics.quantiles import Ints

__all__ = ["Answer", "Goal", "Judged", "Search", "Trial", "TrialOutcome"]

RAMP_FACTOR: Final = 1.6
BELOW_COMPLETIONS: Final = 0.95
"""Share of its completions under overload at which a target is tried next."""
COLLAPSED: Final = 0.8
"""Share of a rate that passed; completions under overload below it are a collapse."""
ENOUGH: Final = 100
"""Requests of a short trial without which its completion rate shows no collapse: it is not known to 10 %."""
IN_DOUBT: Final = 1 / 3
"""Part of the margin by which the promise is lowered where a confirmation passed, but not surely."""
LONGER: Final = 1.15
"""After a confirmation that failed, the search may take so many times its budget."""
LEAST_EARLY_S: Final = 10
"""Judged seconds before the interval may end a trial: one pause of the target must not look like its habit."""
LONG_S: Final = 30.0
"""Judged seconds from which on a trial can contradict another: a shorter one misses what happens rarely."""
GROWTH: Final = 0.05
CHANCE: Final = 3.0
"""Growth of the requests in flight that may be chance, in standard deviations of the number of arrivals."""


class _Ended(Exception):
    """No trial fits any more into the number or the time allowed, or none would help."""


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
    completed: float = math.inf
    """Most requests/s that the target completed in a trial in which requests piled up: an estimate of its capacity."""
    fails_anyway: float | None = None
    """Share of the requests that fail at every rate, where that is more than the bound on failures allows."""
    _high_void: bool = False
    _bracket: tuple[float, float] | None = None
    _confirmed: bool = False
    _provable: bool = True
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
        self.judged[-1] = replace(self.judged[-1], low=self._highest_passed(), high=self.high)
        return self.next

    def hopeless(self, evidence: BoundEvidence) -> str:
        """Say why the trial under way can be ended as failed; empty if it must go on.

        To be asked about once a second, with the observations so far.
        """
        trial = self.next
        assert isinstance(trial, Trial), "there is no trial under way"
        if self._backlog_grows(evidence.in_flight, trial):
            return "requests in flight grow"
        expected = trial.rate * trial.judged_s
        expected = math.inf if self.goal.users else expected + 3 * math.sqrt(expected)  # arrivals may be random
        for finding in findings(self.goal.bounds, evidence):
            enough = trial.phase == "confirm" or expected >= finding.bound.needs
            hopeless = finding.cost * finding.requests > finding.bound.allowance * expected
            if enough and hopeless and finding.bound.statistic != "errors":
                return f"{finding.bound} cannot be kept any more"
            if len(evidence.counts) >= LEAST_EARLY_S and finding.surely_missed:
                return f"{finding.bound} is not kept"
        return ""

    def keeps(self, evidence: BoundEvidence) -> bool:
        """Whether the trial under way keeps the bounds by this evidence."""
        trial = self.next
        assert isinstance(trial, Trial), "there is no trial under way"
        return self._kept(evidence, trial) and not self._backlog_grows(evidence.in_flight, trial)

    def fails(self, evidence: BoundEvidence) -> bool:
        """Whether the trial under way misses the bound on failures by this evidence."""
        trial = self.next
        assert isinstance(trial, Trial), "there is no trial under way"
        return any(self._missed(each, evidence, trial) for each in self._of_errors(evidence))

    @property
    def elapsed(self) -> float:
        """Seconds used by trials so far."""
        return sum(judged.outcome.seconds for judged in self.judged)

    @property
    def trials(self) -> int:
        """Trials that count so far."""
        return sum(judged.verdict != "void" for judged in self.judged)

    @property
    def collapses(self) -> bool:
        """Whether the target completed less under overload than it kept before: it may stay overloaded."""
        kept = max((each.trial.rate for each in self.judged if each.verdict == "pass"), default=0.0)
        known = kept * self.goal.short_s >= ENOUGH
        return known and self.completed < COLLAPSED * kept and not self._passed_shortly(kept)

    @property
    def unconfirmed_rate(self) -> float | None:
        """The lowest rate whose confirmations were all invalid; None: no such rate."""
        confirming = [each for each in self.judged if each.trial.phase == "confirm"]
        valid = {each.trial.rate for each in confirming if each.verdict != "void"}
        return min((each.trial.rate for each in confirming if each.trial.rate not in valid), default=None)

    def margin(self, rate: float) -> float:
        """How much lower than a rate that passed the promise is, by the service times at the lowest rates."""
        light = [each for each in self.judged if each.verdict == "pass" and each.trial.phase in ("calibrate", "ramp")]
        requests = sum(each.outcome.evidence.requests for each in light)
        spread = sum(each.outcome.evidence.variability * each.outcome.evidence.requests for each in light)
        return self.goal.margin(rate, max(spread / requests if requests else 1.0, 1.0))

    # The course of a search. Each yield hands out a trial and takes in its outcome.

    def _run(self) -> Generator[Trial, TrialOutcome, Answer]:
        with suppress(_Ended):
            yield from self._find()
        return self._answer()

    def _find(self) -> Generator[Trial, TrialOutcome, None]:
        goal = self.goal
        highest = goal.rounded(goal.highest) if goal.highest else math.inf
        yield from self._place("calibrate", goal.start)
        while self.low is not None and self.high is None and self.low < highest:
            faster = max(self.low * RAMP_FACTOR, self.low + 1 if goal.users else 0)
            yield from self._place("ramp", min(faster, highest))
        while (rate := self._to_bisect()) is not None and self._room_to_bisect():
            yield from self._place("bisect", rate)
        if self.low is not None:
            yield from self._confirm(self.low)

    def _to_bisect(self) -> float | None:
        """The rate to try next between the ends of the bracket; None if they are close enough."""
        low, high, width = self.low, self.high, 1 + self.goal.width
        if not low or not high:
            return None
        if self.completed < low and self._passed_shortly(low):
            return low
        if high <= low * width:
            return None
        likely = BELOW_COMPLETIONS * self.completed
        if low * math.sqrt(width) < likely < high / math.sqrt(width):
            return likely
        middle = math.sqrt(low * high)
        middle = max(math.floor(middle), low + 1) if self.goal.users else middle
        return middle if middle < high else None

    def _passed_shortly(self, rate: float) -> bool:
        """Whether only short trials passed a rate."""
        return all(each.trial.phase in ("calibrate", "ramp") for each in self.judged if each.trial.rate == rate)

    def _place(self, phase: Phase, rate: float) -> Generator[Trial, TrialOutcome, None]:
        """Try a rate; move an end of the bracket to it."""
        rate = self.goal.rounded(rate)
        verdict = yield from self._try(phase, rate)
        if phase in ("calibrate", "ramp") and self._in_doubt(verdict):
            verdict = yield from self._try("bisect", rate)  # too few requests to believe it
        if verdict == "pass":
            self.low = rate
        else:
            self.high, self._high_void = rate, verdict == "void"
            if self.low == rate:
                self.low = self._highest_passed()

    def _confirm(self, passed: float) -> Generator[Trial, TrialOutcome, None]:
        """Confirm a rate that is lower than the one that passed by the margin; if it fails, go down and on."""
        goal, rate, descents = self.goal, passed, 0
        if self.high is not None:
            self._bracket = (passed, self.high)
            margin = self.margin(passed) * (2 if self.collapses else 1)
            rate = max(goal.rounded(passed / (1 + margin)), goal.start)
        while True:
            self.low = rate
            if not descents and not self._fits(0 if goal.users else goal.needs / rate, 1):
                self._provable = False
                return
            verdict = yield from self._try("confirm", rate)
            if verdict == "pass":
                self._confirmed = True
                if not goal.users and not self._surely_kept(self.judged[-1]):
                    self.low = max(goal.rounded(rate / (1 + self.margin(rate) * IN_DOUBT)), goal.start)
                return
            if verdict == "fail":
                self.high, self._high_void = rate, False
            descents += 1
            lower = rate / (1 + max(self.margin(rate), goal.precision)) ** descents
            lower = goal.rounded(max(min(lower, rate - 1) if goal.users else lower, goal.start))
            if lower >= rate:
                self.low = None
                return
            rate = lower

    def _try(self, phase: Phase, rate: float) -> Generator[Trial, TrialOutcome, Verdict]:
        """Make a trial; once more if it was invalid."""
        verdict: Verdict = "void"
        for _ in range(2):
            trial = self._trial(phase, rate)
            if not self._fits(trial.seconds, 1):
                raise _Ended
            outcome = yield trial
            verdict = self._judge(trial, outcome)
            if self.fails_anyway is not None:
                raise _Ended
            if verdict != "void":
                break
        return verdict

    def _trial(self, phase: Phase, rate: float) -> Trial:
        goal = self.goal
        judged = {
            "calibrate": goal.short_s, "ramp": goal.short_s, "bisect": goal.full_s(rate),
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

    def _room_to_bisect(self) -> bool:
        """Whether there is room for one more trial and a confirmation: a wider bracket that is confirmed is worth
        more than a narrow one that is not."""
        assert self.low
        bisecting = self._trial("bisect", self.low).seconds
        least, _ = self.goal.confirming_s(self.low / (1 + self.margin(self.low)))
        return self._fits(bisecting + least + self.goal.settle_s(least), 2)

    # Judging

    def _judge(self, trial: Trial, outcome: TrialOutcome) -> Verdict:
        own = findings(self.goal.bounds, outcome.evidence)
        grows = self._backlog_grows(outcome.evidence.in_flight, trial)
        verdict: Verdict = "pass"
        if outcome.void:
            verdict = "fail" if trial.rate > self.completed else "void"
        elif outcome.cut or grows or not self._kept(outcome.evidence, trial) or self._fails_together(outcome, trial):
            verdict = "fail"
        if grows and (verdict == "fail" or outcome.contended):
            completed = outcome.evidence.completed(trial.settle_s)
            self.completed = completed if self.completed == math.inf else max(self.completed, completed)
        self.judged.append(Judged(trial, outcome, verdict, own, self.elapsed, self.low, self.high))
        self._look_for_constant_failures()
        return verdict

    def _kept(self, evidence: BoundEvidence, trial: Trial) -> bool:
        """Whether a trial keeps the bounds."""
        return not any(self._missed(each, evidence, trial) for each in findings(self.goal.bounds, evidence))

    def _missed(self, finding: BoundFinding, evidence: BoundEvidence, trial: Trial) -> bool:
        """Whether a trial misses a bound: one of too few requests must surely miss it, and one of failures always."""
        if finding.bound.statistic == "errors":
            more = not finding.kept and fails_more([evidence.failures], self._base(trial.rate))
            return more or finding.surely_missed
        return not finding.kept if finding.enough or trial.phase == "confirm" else finding.surely_missed

    def _fails_together(self, outcome: TrialOutcome, trial: Trial) -> bool:
        """Whether a confirmation and the trials up to its rate together fail more than may fail.

        In bursts, failures are few events, and one trial alone hardly ever surely has too many of them.
        """
        valid = [e.outcome for e in self.judged if e.verdict != "void" and e.trial.rate <= trial.rate]
        trials = [each.evidence.failures for each in (*valid, outcome)]
        allowed = [each.allowance for each in self.goal.bounds if each.statistic == "errors"]
        return trial.phase == "confirm" and any(fails_above(trials, each) for each in allowed)

    def _base(self, rate: float) -> list[Series]:
        """The requests and failures of the trials at up to half of a rate."""
        return [
            each.outcome.evidence.failures
            for each in self.judged
            if each.verdict != "void" and each.trial.rate <= rate / 2
        ]

    def _of_errors(self, evidence: BoundEvidence) -> list[BoundFinding]:
        return [each for each in findings(self.goal.bounds, evidence) if each.bound.statistic == "errors"]

    def _look_for_constant_failures(self) -> None:
        """See whether too many requests fail at every rate, once a trial surely failed too many."""
        valid = [each for each in self.judged if each.verdict != "void"]
        if any(finding.surely_missed for each in valid for finding in self._of_errors(each.outcome.evidence)):
            allowed = min(each.allowance for each in self.goal.bounds if each.statistic == "errors")
            rates, trials = np.array([e.trial.rate for e in valid]), [e.outcome.evidence.failures for e in valid]
            if fails_at_any_rate(rates, trials, allowed):
                self.fails_anyway = share_failed(trials)

    def _surely_kept(self, judged: Judged) -> bool:
        """Whether a trial surely kept the bounds; failures as frequent as at far lower rates do not count."""
        evidence, base = judged.outcome.evidence, self._base(judged.trial.rate)
        return all(
            finding.surely_kept or (finding.bound.statistic == "errors" and not fails_more([evidence.failures], base))
            for finding in judged.findings
        )

    def _in_doubt(self, verdict: Verdict) -> bool:
        """Whether a short trial failed, but not surely; or passed at the lowest rate although its mean was too long."""
        last = self.judged[-1]
        if verdict == "pass":
            means = [finding for finding in last.findings if not finding.bound.is_share]
            return last.trial.phase == "calibrate" and not all(finding.kept for finding in means)
        grows = self._backlog_grows(last.outcome.evidence.in_flight, last.trial)
        return verdict == "fail" and not (grows or any(finding.surely_missed for finding in last.findings))

    def _backlog_grows(self, in_flight: Ints, trial: Trial) -> bool:
        """Whether ever more requests wait: at least one in twenty of those that came since half-time, and more than
        chance brings."""
        now = len(in_flight)
        if now <= trial.settle_s or self.goal.users:
            return False
        half = now // 2
        grown, came = in_flight[-1] - in_flight[half - 1], trial.rate * (now - half)
        return bool(
            grown > max(GROWTH * came, CHANCE * math.sqrt(came))
            and in_flight[-1] > trial.rate * (BACKLOG_S + self._floor_s())
        )

    def _floor_s(self) -> float:
        """Response time at the lowest rate, by Little's law: requests in flight there are not a backlog."""
        if not self.judged or not len(in_flight := self.judged[0].outcome.evidence.in_flight):
            return 0.0
        return float(in_flight.mean()) / self.judged[0].trial.rate

    def _answer(self) -> Answer:
        if self.fails_anyway is not None:
            self.low, self.high, self._high_void = None, self.goal.start, False
        low = self.low if self._confirmed or not self._provable else self._highest_passed()
        passed = [
            each for each in self.judged if each.verdict == "pass" and (self._confirmed or each.trial.rate == low)
        ]
        proof = passed[-1] if passed and self._provable else None
        evidence = proof.outcome.evidence if proof else BoundEvidence.none(len(self.goal.bounds))
        return Answer(
            why=self._why(low, evidence.requests),
            low=low,
            high=self.high,
            high_void=self._high_void,
            capacity=self._capacity(low),
            confirmations=int(self._confirmed),
            proof=proof,
            requests=evidence.requests,
            findings=findings(self.goal.bounds, evidence),
        )

    def _capacity(self, low: float | None) -> float | None:
        """The middle of the bracket that trials left; after a confirmation that failed, of what confirmations left."""
        if low is None or self.high is None or self._high_void:
            return None
        if self._bracket and self._bracket[1] == self.high:
            return self._bracket[0]
        return self.goal.rounded(math.sqrt(low * self.high))

    def _why(self, low: float | None, requests: int) -> Why:
        if low is None:
            if self.high is None:
                return "open"
            return "generator" if self._high_void else "not-met"
        if not self._provable or (self._confirmed and requests < self.goal.needs):
            return "unproven"
        if not self._confirmed:
            return "open"
        if self.contradiction():
            return "drifted"
        return "at-least" if self.high is None or self._high_void else "found"

    def _highest_passed(self) -> float | None:
        below = self.high or math.inf
        return max(
            (each.trial.rate for each in self.judged if each.verdict == "pass" and each.trial.rate < below),
            default=None,
        )

    @property
    def budget_needed_s(self) -> float:
        """The budget with which there is time for as many requests as the bounds need, roughly: whole minutes."""
        assert self.low
        return 60.0 * math.ceil((self.elapsed + 1.5 * self.goal.needs / self.low) / 60)

    def contradiction(self) -> tuple[Judged, Judged] | None:
        """Two long trials that cannot both be true of one target: one surely passed, one no faster surely failed."""
        long = [each for each in self.judged if each.verdict != "void" and each.trial.judged_s >= LONG_S]
        passed = [each for each in long if all(finding.surely_kept for finding in each.findings)]
        failed = [each for each in long if any(finding.surely_missed for finding in each.findings)]
        return next(
            (
                (p, f)
                for p in passed
                for f in failed
                if f.trial.rate * (1 + self.goal.precision) <= p.trial.rate * 1.001
            ),
            None,
        )
