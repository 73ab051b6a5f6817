"""The values of a search: goal, trial, outcome, judgement, answer."""

import math
from dataclasses import dataclass
from typing import Final, Literal

from logreplay.analysis.search.slo import Bound, BoundEvidence, BoundFinding

PLANNING: Final = 1.03
"""The confirmed rate is divided by this for planning: machines vary by some per cent from trial to trial."""

Phase = Literal["calibrate", "ramp", "bisect", "confirm"]
Verdict = Literal["pass", "fail", "void"]
Why = Literal["found", "at-least", "not-met", "generator", "unproven", "drifted", "open"]


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal of a search.

    Attributes:
        bounds: all of them must hold.
        start: the lowest rate, requests/s; the first trial.
        highest: never tried above it; None: no limit.
        precision: how close the failed rate is to the confirmed one in the end: 0.05 is 5 %.
        trial_s: judged seconds of a full trial; None: 60, or as many as the bound needs requests.
        trials: no more than these; invalid ones do not count.
        budget_s: no trial is begun that would end after this many seconds; None: no limit.
        users: search for a number of users who wait for their answers; every rate here is one.

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
    users: bool = False

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
        if self.trial_s is not None:
            return self.trial_s
        return 60.0 if self.users else max(60.0, math.ceil(self.needs / rate))

    def rounded(self, rate: float) -> float:
        """Four digits, or whole users; never more than the rate."""
        if self.users:
            return float(math.floor(rate + 1e-9))
        unit = 10.0 ** (math.floor(math.log10(rate)) - 3)
        return float(f"{math.floor(rate / unit + 1e-9) * unit:.4g}")

    def text(self, rate: float | None) -> str:
        """A rate as people write it."""
        if rate is None:
            return "–"
        if self.users:
            return f"{rate:,.0f} user{'s' * (rate != 1)}"
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
        evidence: of its judged part.
        seconds: it took, drain included.
        void: the reason why it says nothing of the target; empty if it does.
        cut: why it was ended early (see `logreplay.analysis.search.search.Search.hopeless`); empty if it was not.
        doubt: what speaks against it, without making it invalid.
    """

    evidence: BoundEvidence
    seconds: float
    void: str = ""
    cut: str = ""
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """A trial that was made.

    Attributes:
        trial, outcome: it.
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
    findings: tuple[BoundFinding, ...]

    @property
    def planning(self) -> float | None:
        """The rate to plan with: a little less than the confirmed one."""
        return None if self.low is None else self.low / PLANNING

    @property
    def holds(self) -> bool:
        """Whether `low` may be promised."""
        return self.why in ("found", "at-least")
