"""Judges trials: each by itself, and the failures and the capacity by those before it.

Failures have a budget of their own. A trial misses it if more requests surely fail than may; or if more fail than may,
and surely more than in the base, the trials at up to half of its rate. Where a trial surely fails too often, and the
base fails as often, no lower rate would help. A trial in which the replaying machine was the bottleneck does not
measure the target, so it neither passes nor fails. There is one exception: if requests piled up at the target in an
earlier trial, a rate above the one that it completed there fails, whatever the replaying machine did.
"""

import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from logreplay.analysis.search.bounds import BoundEvidence, BoundFinding, findings
from logreplay.analysis.search.trials import BACKLOG_S, Goal, Judged, Trial, TrialOutcome, Verdict
from logreplay.analysis.statistics.failures import Series, fails_above, fails_at_any_rate, fails_more, share_of
from logreplay.analysis.statistics.quantiles import Ints

COLLAPSED: Final = 0.85
"""Completions under overload over the highest rate that passed, below which the target has collapsed."""
ENOUGH: Final = 100
"""Fewest requests of a short trial that can show a collapse: fewer do not give the completion rate to 10 %."""
LONG_S: Final = 30.0
"""Fewest judged seconds of a trial that can contradict another: a shorter one misses rare events."""
GROWTH: Final = 0.05
BEYOND_HOPE: Final = 2.0
"""A trial that costs this many times what a bound allows gives no information about slightly lower rates."""
RISING: Final = 25
"""Excess of rising over falling pairs among the 45 pairs of tenths of a trial: 1 % of steady trials reach it."""
RISING_AGAIN: Final = 15
"""The same after a failed confirmation, which may be due to a build-up; 9 % of steady trials reach it."""
RISEN: Final = 1.25
CHANCE: Final = 3.0
"""Growth of the requests in flight that may be chance, in standard deviations of the number of arrivals."""
_BEFORE: Final = 0.8
_DOUBLY: Final = 1.5
"""Multiple of the share that may fail, above which no rate is promised, however few bursts the failures came in."""


@dataclass(slots=True)
class Judging:
    """The trials made so far, and how they are judged.

    Attributes:
        goal: bounds and settings of the search.
        judged: all trials, in order.
        completed: most requests/s that the target completed in a trial in which requests piled up.
        fails_anyway: share of the requests that fail at every rate, where that is more than may fail.
    """

    goal: Goal
    judged: list[Judged] = field(default_factory=list)
    completed: float = math.inf
    fails_anyway: float | None = None

    def judge(self, trial: Trial, outcome: TrialOutcome) -> Verdict:
        """Judge a trial that has ended, and enter it."""
        grows = self.backlog_grows(outcome.evidence.in_flight, trial)
        verdict: Verdict = "pass"
        if outcome.void:
            verdict = "fail" if trial.rate > self.completed else "void"
        elif outcome.cut or grows or not self.kept(outcome.evidence, trial) or self._fails_together(outcome, trial):
            verdict = "fail"
        if grows and (verdict == "fail" or outcome.contended):
            completed = outcome.evidence.completed(trial.settle_s)
            self.completed = completed if self.completed == math.inf else max(self.completed, completed)
        own = findings(self.goal.bounds, outcome.evidence)
        self.judged.append(Judged(trial, outcome, verdict, own, self.elapsed, None, None))
        self._look_for_constant_failures()
        return verdict

    @property
    def elapsed(self) -> float:
        """Seconds used by trials so far."""
        return sum(judged.outcome.seconds for judged in self.judged)

    @property
    def valid(self) -> list[Judged]:
        """The trials that count."""
        return [each for each in self.judged if each.verdict != "void"]

    @property
    def highest_passed(self) -> float | None:
        """The highest rate that passed; no trial as long as it or longer failed at it or below it."""
        failed = [each.trial for each in self.judged if each.verdict == "fail"]
        return max(
            (
                each.trial.rate
                for each in self.judged
                if each.verdict == "pass"
                and not any(f.rate <= each.trial.rate and f.judged_s >= each.trial.judged_s for f in failed)
            ),
            default=None,
        )

    def lowest_failed(self, above: float) -> float | None:
        """The lowest rate above this one that failed."""
        return min(
            (each.trial.rate for each in self.judged if each.verdict == "fail" and each.trial.rate > above),
            default=None,
        )

    @property
    def collapses(self) -> bool:
        """Whether the target completed less under overload than it kept before: it may stay overloaded."""
        kept = self.highest_passed or 0.0
        return kept * self.goal.short_s >= ENOUGH and self.completed < COLLAPSED * kept

    def kept(self, evidence: BoundEvidence, trial: Trial) -> bool:
        """Whether a trial keeps the bounds."""
        return not any(self._missed(each, evidence, trial) for each in findings(self.goal.bounds, evidence))

    def fails(self, evidence: BoundEvidence, trial: Trial) -> bool:
        """Whether a trial misses the bound on failures."""
        errors = [each for each in findings(self.goal.bounds, evidence) if each.bound.statistic == "errors"]
        return any(self._missed(each, evidence, trial) for each in errors)

    def _missed(self, finding: BoundFinding, evidence: BoundEvidence, trial: Trial) -> bool:
        """Whether a trial misses a bound; with too few requests, and always for failures, it must surely miss it."""
        if finding.bound.statistic == "errors":
            more = not finding.kept and self.fails_more(evidence, trial.rate)
            return more or finding.surely_missed
        return not finding.kept if finding.enough or trial.phase == "confirm" else finding.surely_missed

    def fails_more(self, evidence: BoundEvidence, rate: float) -> bool:
        """Whether a trial surely fails more often than those at half its rate and less."""
        return fails_more([evidence.failures], self.base(rate))

    def _fails_together(self, outcome: TrialOutcome, trial: Trial) -> bool:
        """Whether a confirmation and the trials up to its rate together fail more than may fail.

        Failures in bursts are few independent events, so one trial alone hardly ever proves that there are too many.
        """
        trials = [*self.failures(trial.rate), outcome.evidence.failures]
        return trial.phase == "confirm" and fails_above(trials, self.goal.may_fail)

    def failures(self, rate: float) -> list[Series]:
        """The requests and failures of the valid trials up to a rate."""
        return [each.outcome.evidence.failures for each in self.valid if each.trial.rate <= rate]

    def base(self, rate: float) -> list[Series]:
        """The requests and failures of the trials at up to half of a rate."""
        return self.failures(rate / 2)

    @property
    def fails_too_often(self) -> float:
        """The share that failed in all trials that the load did not make fail, if it is too high for a promise; else 0.

        A few bursts prove neither that too many fail nor that few enough do. But where failures surely begin with the
        load, and none came at lower rates, the load also caused those at slightly lower rates.
        """
        some = [each for each in self.valid if not self._late(each) and not self._refuses(each)]
        by_load = any(self._refuses(each) for each in self.valid)
        if by_load and not share_of(self.failures(_BEFORE * max((e.trial.rate for e in some), default=0.0))):
            return 0.0
        share = share_of([each.outcome.evidence.failures for each in some])
        return share if share > _DOUBLY * self.goal.may_fail else 0.0

    @staticmethod
    def _late(judged: Judged) -> bool:
        return any(each.surely_missed for each in judged.on_times)

    def _refuses(self, judged: Judged) -> bool:
        """Whether requests of a trial failed more often than at far lower rates.

        A limit of the target refuses requests in most of the seconds; a burst of failures takes one or two.
        """
        evidence = judged.outcome.evidence
        share = share_of([evidence.failures]) - share_of(self.base(judged.trial.rate))
        steadily = share > 2 * self.goal.may_fail and np.count_nonzero(evidence.failed) > len(evidence.failed) / 2
        return bool(steadily) or self.fails_more(evidence, judged.trial.rate)

    def _look_for_constant_failures(self) -> None:
        """After a trial in which too many requests surely failed: check whether too many fail at every rate."""
        valid = self.valid
        found = [finding for each in valid for finding in each.findings if finding.bound.statistic == "errors"]
        if any(finding.surely_missed for finding in found):
            rates, trials = np.array([e.trial.rate for e in valid]), [e.outcome.evidence.failures for e in valid]
            if fails_at_any_rate(rates, trials, self.goal.may_fail):
                self.fails_anyway = share_of(trials)

    def in_doubt(self, verdict: Verdict) -> bool:
        """Whether the last trial failed, but not surely; or passed at the lowest rate, and its mean was too long."""
        last = self.judged[-1]
        if verdict == "pass":
            means = [finding for finding in last.findings if not finding.bound.is_share]
            return last.trial.phase == "calibrate" and not all(finding.kept for finding in means)
        return verdict == "fail" and not self.surely_failed(last)

    @property
    def failed_confirmation(self) -> bool:
        """Whether a confirmation missed a bound on time by far: the target does not behave like the expected queue."""
        failed = [each for each in self.judged if each.trial.phase == "confirm" and each.verdict == "fail"]
        return any(self.far_off(each) and not self.fails(each.outcome.evidence, each.trial) for each in failed)

    def far_off(self, judged: Judged) -> bool:
        """Whether a trial failed by so much that it gives no information about slightly lower rates."""
        evidence = judged.outcome.evidence
        grows = self.backlog_grows(evidence.in_flight, judged.trial)
        late = any(each.cost > BEYOND_HOPE * each.bound.allowance for each in judged.on_times)
        return bool(judged.outcome.cut) or grows or late or self.fails(evidence, judged.trial)

    def builds_up(self, judged: Judged) -> tuple[float, float] | None:
        """The mean response times of the first and the last fifth of a trial, if they surely rose throughout it.

        A memory leak and credits that run out look like this before any request is late.

        Source: Mann, Nonparametric tests against trend, 1945, on means of tenths.
        """
        evidence = judged.outcome.evidence
        if evidence.response_s is None or len(evidence.counts) < LONG_S:
            return None
        sums, counts = (
            np.array([part.sum() for part in np.array_split(each, 10)])
            for each in (evidence.response_s, evidence.counts - evidence.failed)
        )
        tenth = sums / np.maximum(counts, 1)
        rising = np.sign(tenth[None, :] - tenth[:, None])[np.triu_indices(10, 1)].sum()
        first, last = float(tenth[:2].mean()), float(tenth[-2:].mean())
        least = RISING_AGAIN if self.failed_confirmation else RISING
        return (first, last) if rising >= least and last > RISEN * first else None

    def surely_failed(self, judged: Judged) -> bool:
        """Whether a trial that failed did so beyond chance."""
        grows = self.backlog_grows(judged.outcome.evidence.in_flight, judged.trial)
        return grows or any(finding.surely_missed for finding in judged.findings)

    def backlog_grows(self, in_flight: Ints, trial: Trial) -> bool:
        """Whether the number of waiting requests grows: since half-time by one in twenty of the arrivals or more,
        and by more than chance."""
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

    def contradiction(self) -> tuple[Judged, Judged] | None:
        """Two long trials that contradict each other: one surely passed, and one at no higher rate surely failed."""
        long = [each for each in self.valid if each.trial.judged_s >= LONG_S]
        passed = [each for each in long if all(finding.surely_kept for finding in each.findings)]
        failed = [each for each in long if any(finding.surely_missed for finding in each.findings)]
        faster = 1.001 / (1 + self.goal.precision)
        return next(((p, f) for p in passed for f in failed if f.trial.rate <= p.trial.rate * faster), None)
