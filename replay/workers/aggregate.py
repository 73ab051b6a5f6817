"""The outcome of a plan that several workers sent: counts added up, and judged as those of one."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields, is_dataclass, replace
from datetime import datetime
from typing import Any, Final

from logreplay.replay.requests.plan import Plan, RequestStream
from logreplay.replay.results.counters import Counters
from logreplay.replay.results.outcome import Outcome
from logreplay.replay.results.self_monitor import ProcessLoad, WriteLag
from logreplay.replay.results.verdict import OF_THE_RUN, Finding, Judgement, ReadLate, RunEvidence, Severity, judge
from logreplay.replay.schedules.users import Users
from logreplay.replay.sessions.server_timing import counts_of_all
from logreplay.replay.workers.clock_offset import SAME, ClockOffset
from logreplay.replay.workers.protocol import PlanEnded

_CLOCKS_APART_MS: Final = 1.0
_SUMS: Final = ("limited", "queued", "given_up", "retried", "calm", "thinks_cut")
"""Counts of evidence that add up."""


@dataclass(frozen=True, slots=True)
class LostWorker:
    """A lost worker: its name, where it ran (empty if it never said), and why it was lost."""

    name: str
    where: str
    why: str


@dataclass(frozen=True, slots=True)
class SharedPlan:
    """A plan that several workers sent.

    Attributes:
        plan: the whole.
        ended: the last message of each worker, by its name.
        offsets: differences of their clocks before the plan.
        lost: the workers that were lost.
        counters: counts of all rows.
        filled: counts of those rows that were filled in for lost workers.
        early: the plan was stopped or cut.
        by_client: requests were divided by client.
    """

    plan: Plan
    ended: Mapping[str, PlanEnded]
    offsets: Mapping[str, ClockOffset]
    lost: Sequence[LostWorker]
    counters: Counters
    filled: Counters
    early: bool
    by_client: bool = False

    @property
    def outcomes(self) -> list[Outcome]:
        return [end.outcome for end in self.ended.values()]

    @property
    def scheduled(self) -> int:
        return self.counters.ended

    def numbers(self, count: int) -> int:
        """Number of sequence numbers that the plan took; more than its requests if workers stopped at other ones."""
        if self.by_client and self.lost:
            return count * self.scheduled  # a lost one may have had any number of them
        as_dealt = not self.early and not self.lost and not self.by_client
        if as_dealt and not isinstance(self.plan.schedule, Users):
            return self.scheduled
        return max(self.scheduled, count * max((outcome.scheduled for outcome in self.outcomes), default=0))

    def outcome(self, *, first: int, next_: int, began: float, started: datetime, stopped: str) -> Outcome:
        """The outcome of all workers together; see `Outcome` for the arguments."""
        outcomes = self.outcomes
        if not self.lost:
            assert self.scheduled == sum(outcome.scheduled for outcome in outcomes), "workers differ in their counts"
        return Outcome(
            step=self.plan.step,
            first_seq=first,
            next_seq=next_,
            started=started,
            ended=max((outcome.ended for outcome in outcomes), default=started),
            began=began,
            seconds=max((outcome.seconds for outcome in outcomes), default=0.0),
            health=self.health,
            evidence=self.evidence,
            backlog=sum(outcome.backlog for outcome in outcomes),
            stopped=stopped,
            lost=tuple(lost.name for lost in self.lost),
            received=sum(outcome.received for outcome in outcomes),
            opened=sum((outcome.opened for outcome in outcomes), Counter()),
            carried=sum((outcome.carried for outcome in outcomes), Counter()),
            used=self.scheduled if self.by_client else next_ - first,
        )

    @property
    def evidence(self) -> RunEvidence:
        """The evidence of all workers together; of their processes the worst load of each kind."""
        seen = [outcome.evidence for outcome in self.outcomes]
        loads = [astuple(part.vitals) for part in seen] or [astuple(ProcessLoad())]
        lengths = [part.duration for part in seen if part.duration is not None]
        sent = sum(part.scheduled for part in seen)
        sums: dict[str, Any] = {name: sum(getattr(part, name) for part in seen) for name in _SUMS}
        return RunEvidence(
            **sums,
            offered=self.plan.schedule.rate,
            scheduled=self.scheduled,
            counters=self.counters,
            duration=max(lengths, default=None),
            seconds=max((part.seconds for part in seen), default=0.0),
            queued_for=next((part.queued_for for part in seen if part.queued_for), ""),
            local=sum((Counter(part.local) for part in seen), Counter()),
            vitals=ProcessLoad(*map(max, zip(*loads, strict=True))),
            delay=sum((part.delay for part in seen), WriteLag()),
            late=sum((part.late for part in seen), ReadLate()),
            stale=next((part.stale for part in seen if part.stale), ""),
            lost=self._told_lost() if self.lost else "",
            unsent=self.filled.dropped,
            sent_on=sum(part.sent_on * part.scheduled for part in seen) / sent if sent else 1.0,
            unwritten=any(part.unwritten for part in seen),
            timings=counts_of_all(part.timings for part in seen),
        )

    @property
    def health(self) -> Judgement:
        """The verdict on the requests of all workers together, as on those of one process."""
        health = judge(self.evidence)
        return Judgement(health.verdict, (*map(self._located, health.findings), *self._clocks()))

    def _located(self, finding: Finding) -> Finding:
        """A finding on the generator, with the names of the workers that have it, if not all do."""
        having = [
            name
            for name, end in self.ended.items()
            if finding.code not in OF_THE_RUN and finding.code in {each.code for each in end.outcome.health.findings}
        ]
        where = f"; seen in {', '.join(having)}" if 0 < len(having) < len(self.ended) else ""
        return replace(finding, text=f"{finding.text}{where}")

    def _told_lost(self) -> str:
        by_reason: dict[str, list[str]] = {}
        for lost in self.lost:
            by_reason.setdefault(lost.why, []).append(f"{lost.name}, {lost.where or 'not started'}")
        gone = "; ".join(f"{'; '.join(names)}: {why}" for why, names in by_reason.items())
        text = (
            f"lost {gone}. Of the requests without a report {self.filled.dropped} were not sent (dropped); "
            f"{self.filled.net_error} may have been sent, and how they ended is unknown (cancelled). "
        )
        if isinstance(self.plan.schedule, Users):
            text += "What users of a lost worker sent after its last report is not in the result. "
        if not self.ended:
            text += "The run ended with its last worker. "
        return f"{text}Nothing is sent a second time. Check the machine: memory, network, its system log"

    def _clocks(self) -> list[Finding]:
        """The agreement of the workers' clocks, if they differ."""
        if all(offset == SAME for offset in self.offsets.values()):
            return []
        unsure = max(offset.uncertainty for offset in self.offsets.values()) / 1e6
        moved = max(abs(end.offset.offset - self.offsets[name].offset) for name, end in self.ended.items()) / 1e6
        severity = Severity.INFO if unsure + moved < _CLOCKS_APART_MS else Severity.WARNING
        text = (
            f"the workers' clocks were compared by round trips: workers begin together within {unsure:.2g} ms, and "
            f"drifted by {moved:.2g} ms against each other until the end (by the same measurement)"
        )
        return [Finding("clocks", severity, text)]


def adopt_reading(stream: RequestStream, read: RequestStream) -> None:
    """Copy what a worker learned by reading the log (left-out rows, length), which the coordinator did not read."""
    if is_dataclass(stream) and type(stream) is type(read):
        for item in fields(stream):
            setattr(stream, item.name, getattr(read, item.name))
