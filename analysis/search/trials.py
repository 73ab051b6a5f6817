"""The values of a search: goal, trial, outcome, judgement, answer."""

import math
from dataclasses import dataclass
from typing import Final, Literal

from logreplay.analysis.search.bounds import Bound, BoundEvidence, BoundFinding
from logreplay.core.plural import number_of

BACKLOG_S: Final = 0.5
"""Wait in seconds, above which requests in flight are a backlog if their number grows."""
CALIBRATION_SETTLES_S: Final = 5.0
"""Seconds of the first trial in which connections are set up and caches fill."""
CONFIRMING: Final = 0.45
"""Share of the budget for the confirmation, in one piece."""
Phase = Literal["calibrate", "ramp", "narrow", "bisect", "confirm"]
Verdict = Literal["pass", "fail", "void"]
Why = Literal["found", "at-least", "not-met", "generator", "unproven", "drifted", "open"]


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal of a search.

    Attributes:
        bounds: all of them must hold.
        start: the lowest rate, requests/s; the first trial. It is `rounded`, as all trials are made at such rates.
        highest: the highest rate that may be tried; None: no limit.
        precision: width of the 90 % range, or of the bracket of users, at which one rate is confirmed: 0.05 is 5 %.
        trial_s: judged seconds of a full trial; None: a tenth of the budget, from 5 to 60.
        trials: largest number of trials; invalid ones do not count.
        budget_s: seconds for all trials; the last one, the confirmation, takes the rest. If it fails, the search may
            take 15 % longer for one more. None: no limit, and trials of 60 s.
        users: search for a number of users who wait for their answers; every rate here is one.

    Raises:
        ValueError: no bound, a number that makes no sense, or a budget without room for a confirmation.
    """

    bounds: tuple[Bound, ...]
    start: float = 50.0
    highest: float | None = None
    precision: float = 0.05
    trial_s: float | None = None
    trials: int = 25
    budget_s: float | None = None
    users: bool = False

    def __post_init__(self) -> None:
        if not self.bounds:
            raise ValueError("a search needs a bound, such as p99 <= 300 ms")
        if not 0 < self.start < math.inf:
            raise ValueError(f"the lowest rate must be above 0 requests/s, got {self.start!r}")
        if self.highest is not None and self.highest < self.start:
            raise ValueError(f"--max-tps {self.highest:g} is below the lowest rate, --start {self.start:g}")
        object.__setattr__(self, "start", self.rounded(self.start))
        if not 0.005 <= self.precision <= 0.5:
            raise ValueError(f"--precision must be from 0.5 % to 50 %, got {self.precision * 100:g} %")
        if self.trial_s is not None and not self.trial_s >= 1:
            raise ValueError(f"a trial (--trial) must last at least 1 s, got {self.trial_s:g} s")
        if self.trials < 1:
            raise ValueError(f"a search needs at least 1 trial, got {self.trials!r}")
        before, (judged, _) = self.before_confirming_s, self.confirming_s(self.highest or math.inf)
        confirming = self.settle_s(judged) + judged
        if self.budget_s is not None and not self.budget_s >= before + confirming:
            proof = f" for {self.rarest}, which needs {self.needs:,} requests" if judged > 2 * self._base_s else ""
            raise ValueError(
                f"a budget of {self.budget_s:g} s (--budget) has no room for a confirmation: the trials before it take "
                f"{before:g} s, and it takes {confirming:g} s{proof}; "
                f"give --budget {math.ceil((before + confirming) / 40)}m{' or a shorter --trial' * bool(self.trial_s)}"
            )

    @property
    def before_confirming_s(self) -> float:
        """Least seconds before a confirmation: the first trial, and one at a higher rate where that is allowed."""
        higher = self.highest is None or self.highest > self.start
        return CALIBRATION_SETTLES_S + self.short_s + (self.settle_s(self.short_s) + self.short_s) * higher

    @property
    def needs(self) -> int:
        """Fewest requests that can prove the bounds."""
        return self.rarest.needs

    @property
    def may_fail(self) -> float:
        """Share of the requests that may fail; 1 if no bound says it."""
        return min((bound.allowance for bound in self.bounds if bound.statistic == "errors"), default=1.0)

    @property
    def rarest(self) -> Bound:
        """The bound that needs most requests."""
        return max(self.bounds, key=lambda bound: bound.needs)

    @property
    def slowest_s(self) -> float:
        """The longest response time that a bound allows, seconds."""
        return max((bound.limit for bound in self.bounds if bound.statistic != "errors"), default=0.0)

    @property
    def _base_s(self) -> float:
        """Judged seconds of a full trial at any rate."""
        if self.trial_s is not None:
            return self.trial_s
        return 60.0 if self.budget_s is None else min(max(self.budget_s / 10, 5.0), 60.0)

    def full_s(self, rate: float) -> float:
        """Judged seconds of a full trial at this rate."""
        if self.trial_s is not None or self.users:
            return self._base_s
        most = math.inf if self.budget_s is None else self.budget_s / 6
        return max(self._base_s, min(math.ceil(self.needs / rate), most))

    @property
    def short_s(self) -> float:
        """Judged seconds of a trial of the ramp."""
        return min(self._base_s, max(self._base_s / 4, 2.0, 2 * self.slowest_s), 8.0)

    def settle_s(self, judged_s: float) -> float:
        """Seconds before the judged ones in which queues fill."""
        return float(min(max(round(judged_s / 8), 1), 5))

    def confirming_s(self, rate: float) -> tuple[float, float]:
        """Least and most judged seconds of a confirmation at this rate."""
        enough = math.ceil(self.needs / rate) if not self.users else 0
        part = 0 if self.trial_s or self.budget_s is None else CONFIRMING * self.budget_s
        return max(2 * self._base_s, enough), max(4 * self._base_s, enough, 0 if self.trial_s else 240, part)

    def rounded(self, rate: float) -> float:
        """Four digits, or whole users; never more than the rate."""
        if self.users:
            return float(math.floor(rate + 1e-9))
        unit = 10.0 ** (math.floor(math.log10(rate)) - 3)
        return float(f"{math.floor(rate / unit + 1e-9) * unit:.4g}")

    def text(self, rate: float | None) -> str:
        """Format a rate."""
        if rate is None:
            return "–"
        if self.users:
            return number_of(round(rate), "user")
        return f"{rate:,.4g}/s" if rate < 1e4 else f"{rate:,.0f}/s"


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial to be made.

    Attributes:
        number: from 1; invalid ones are numbered too.
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
class TrialOutcome:
    """The observations of a trial.

    Attributes:
        evidence: evidence from its judged part.
        seconds: it took, drain included.
        void: why the trial did not measure the target; empty if it did.
        cut: why it was ended early (see `logreplay.analysis.search.search.Search.hopeless`); empty if it was not.
        doubt: doubt about the trial that does not make it invalid.
        contended: it is invalid only because other programs kept the target's machine busy.
    """

    evidence: BoundEvidence
    seconds: float
    void: str = ""
    cut: str = ""
    doubt: str = ""
    contended: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """A trial that was made.

    Attributes:
        trial: its rate and length.
        outcome: the observations.
        verdict: one of `Verdict`.
        findings: for each bound, from this trial alone.
        began: seconds since the start of the search.
        low, high: the bracket after it; None where there is no end yet.
    """

    trial: Trial
    outcome: TrialOutcome
    verdict: Verdict
    findings: tuple[BoundFinding, ...]
    began: float
    low: float | None
    high: float | None

    @property
    def reason(self) -> str:
        """Why it is invalid or ended early, and what puts its failure in doubt; empty if nothing does."""
        outcome = self.outcome
        texts = (outcome.void or outcome.cut, outcome.doubt if self.verdict == "fail" else "")
        return "; ".join(filter(None, texts))

    @property
    def on_times(self) -> list[BoundFinding]:
        """The findings on response times."""
        return [each for each in self.findings if each.bound.statistic != "errors"]


@dataclass(frozen=True, slots=True)
class Answer:
    """How a search ended.

    Attributes:
        why: ``found``: `low` is confirmed, `high` failed. ``at-least``: `low` is confirmed, and higher rates were not
            allowed, or could not be sent. ``not-met``: the bound does not hold at the lowest rate. ``generator``: the
            replaying machine could not even send the lowest rate. ``unproven``: no confirmation proves that the bounds
            hold, for example for too few requests. ``drifted``: the target changed meanwhile, and trials contradict
            each other. ``open``: trials or time were used up before `low` was confirmed.
        low: highest rate that is promised to keep the bounds, or that passed; None if there is none.
        high: lowest rate that does not, or that could not be sent; None if there is none.
        high_void: `high` could not be sent.
        capacity: the likeliest highest rate that keeps the bounds; None where no rate failed.
        between: the rates between which it lies with a probability of 90 %; None where no rate failed, or where a
            confirmation shows that the target is not like the queues that the probability comes from.
        proof: the fresh trial on which `low` rests: at this rate, or a little above it; None if there is none.
        requests: judged in it.
        findings: findings of these requests.
    """

    why: Why
    low: float | None
    high: float | None
    high_void: bool
    capacity: float | None
    between: tuple[float, float] | None
    proof: Judged | None
    requests: int
    findings: tuple[BoundFinding, ...]

    @property
    def holds(self) -> bool:
        """Whether `low` may be promised."""
        return self.why in ("found", "at-least")
