"""The progress and the outcome of a run: the same values from one engine or from many workers."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from logreplay.core.plural import number_of
from logreplay.replay.results.counters import Counters
from logreplay.replay.results.verdict import Judgement, RunEvidence
from logreplay.replay.schedules.orders import Level


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run.

    Attributes:
        elapsed: seconds since the start of this plan.
        scheduled: requests of this plan that were due by now and taken up: ``sent + dropped + not_sent + waiting``.
        in_flight: requests in flight now.
        waiting: number of those that wait for a place on a connection, and are not sent yet.
        counters: counters of requests that have ended; a copy that does not change.
        level: the load, where it may be changed while it is sent.
        left: seconds of sending that are left then; None: unknown.
        next_due: seconds from the start of this plan until the next request is due; None: unknown.
    """

    elapsed: float
    scheduled: int
    in_flight: int
    counters: Counters = field(default_factory=Counters)
    level: Level | None = None
    left: float | None = None
    next_due: float | None = None
    waiting: int = 0

    @property
    def sent(self) -> int:
        """Requests that were sent by now; `Counters.sent` has those that ended."""
        return self.scheduled - self.counters.dropped - self.counters.not_sent - self.waiting

    @property
    def started(self) -> Counters:
        """The counters, where `sent` counts all requests that were sent."""
        return replace(self.counters, sent=self.sent)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one plan, once nothing of it is in flight.

    Attributes:
        step: its index.
        first_seq: number of its first request; its rows are ``first_seq .. first_seq + scheduled - 1``, except for gaps
            where workers were stopped at different requests.
        next_seq: number of the next plan's first request.
        started, ended: UTC; the end is that of the last exchange.
        began: seconds from the start of the run to the start of this plan.
        seconds: from the start of this plan until the last request was taken up (at least the schedule's duration,
            if it was not stopped).
        health: the verdict; evidence: the figures behind it.
        backlog: requests in flight when the last one was taken up.
        stopped: why it ended before its plan did; empty if it did not.
        lost: workers that were lost in it, by name.
        received: bytes of all responses, heads included; without those of lost workers.
        opened, carried: connections to each address of the target, and requests on them; empty where not counted.
        used: requests of the stream that the plan used up, with those that a hook left out: the next plan reads on
            after them.
    """

    step: int
    first_seq: int
    next_seq: int
    started: datetime
    ended: datetime
    began: float
    seconds: float
    health: Judgement
    evidence: RunEvidence
    backlog: int = 0
    stopped: str = ""
    lost: tuple[str, ...] = ()
    received: int = 0
    used: int = 0
    opened: Counter[str] = field(default_factory=Counter)
    carried: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        counters = self.counters
        assert self.scheduled == counters.ended, "scheduled = sent + dropped + not_sent"
        assert counters.sent == counters.ok + counters.http_error + counters.net_error, (
            "sent = ok + http_error + net_error"
        )

    @property
    def counters(self) -> Counters:
        return self.evidence.counters

    @property
    def offered(self) -> float:
        return self.evidence.offered

    @property
    def scheduled(self) -> int:
        """Requests that were sent, dropped, or held back until a stop."""
        return self.evidence.scheduled

    @property
    def why_nothing(self) -> str:
        """Why no request was sent, where none was."""
        return self.stopped or self.health.limit or "the schedule holds no request"


Addresses = Mapping[str, Mapping[str, int]]
"""``connections`` and ``requests`` of each address of the target."""


def addresses_of(outcomes: Iterable[Outcome], before: Addresses | None = None) -> dict[str, Addresses]:
    """The key ``addresses`` of a summary: connections and requests of each address of the target; empty: not counted.

    A request that was sent again counts twice. ``before``: those of earlier outcomes.
    """
    opened, carried = (
        Counter({address: counts[name] for address, counts in (before or {}).items()})
        for name in ("connections", "requests")
    )
    for outcome in outcomes:
        opened, carried = opened + outcome.opened, carried + outcome.carried
    spread = {
        address: {"connections": opened[address], "requests": carried[address]}
        for address in sorted({*opened, *carried})
    }
    return {"addresses": spread} if spread else {}


def describe_course(outcome: Outcome) -> str:
    """The load of the generator's process in a run, as text."""
    evidence, vitals = outcome.evidence, outcome.evidence.vitals
    p50, p95, p99 = ((outcome.counters.lag.quantile(share) or 0.0) * 1000 for share in (0.5, 0.95, 0.99))
    return (
        f"{number_of(evidence.scheduled, 'request')} taken up in {evidence.seconds:.3f} s, {outcome.backlog} in "
        f"flight then, {evidence.limited} had to wait for the limit of these\n"
        f"the loop used {vitals.loop_share:.0%} of a processor, all threads {vitals.process:.2f} s; it waited "
        f"{vitals.waited:.2f} s for one; its longest pause was {vitals.longest_pause * 1000:.1f} ms\n"
        f"lag p50 {p50:,.2f} ms, p95 {p95:,.2f} ms, p99 {p99:,.2f} ms"
    )
