"""How a run stands while it goes on, and what became of it: the same values from one engine or from many shards."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from logreplay.replay.requests.plan import ScheduledRequests
from logreplay.replay.results.counters import Counters
from logreplay.replay.results.verdict import Health, RunEvidence


@dataclass(frozen=True, slots=True)
class Progress:
    """How a run stands.

    Attributes:
        elapsed: seconds since the start of this plan.
        scheduled: requests of this plan that were due by now and taken up: ``sent + dropped``.
        sent: started.
        completed: ended with a response, whatever its status.
        ok, http_error, net_error, new_errors, dropped: as in `logreplay.replay.results.counters.Counters`.
        in_flight: under way now.
        tally: of what has ended; nobody changes it any more.
    """

    elapsed: float
    scheduled: int
    sent: int
    completed: int
    ok: int
    http_error: int
    net_error: int
    new_errors: int
    dropped: int
    in_flight: int
    tally: Counters = field(default_factory=Counters)

    @classmethod
    def of(cls, tally: Counters, *, elapsed: float, taken_up: int, in_flight: int) -> Self:
        """The counts of a tally, and what it does not know."""
        return cls(
            elapsed=elapsed,
            scheduled=taken_up,
            sent=taken_up - tally.dropped,
            completed=tally.ok + tally.http_error,
            ok=tally.ok,
            http_error=tally.http_error,
            net_error=tally.net_error,
            new_errors=tally.new_errors,
            dropped=tally.dropped,
            in_flight=in_flight,
            tally=tally,
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one plan, once nothing of it is in flight.

    Attributes:
        step: its index.
        offered: requests/s asked for.
        first_seq: of its first request; its rows are ``first_seq .. first_seq + scheduled - 1``, but for gaps where
            shards were stopped at different requests.
        next_seq: of the next plan's first request.
        scheduled, sent, dropped, ok, http_error, net_error, unexpected_rc, new_errors, bytes: counts;
            ``scheduled = sent + dropped`` and ``sent = ok + http_error + net_error``.
        errors: requests by error word; status: responses by status.
        started, ended: UTC; the end is that of the last exchange.
        began: seconds from the start of the run to the start of this plan.
        seconds: from the start of this plan until the last request was taken up (at least the schedule's duration,
            if it was not stopped).
        backlog: requests in flight when the last one was taken up.
        health: whether it is a measurement; evidence: what that rests on.
        stopped: why it ended before its plan did; empty if it did not.
        left_out: rows of the log that were not sent, by reason.
        lost: shards that were lost in it, by name.
        received: bytes of all responses, heads included; without those of lost shards.
        tally: all that was counted.
    """

    step: int
    offered: float
    first_seq: int
    next_seq: int
    scheduled: int
    sent: int
    dropped: int
    ok: int
    http_error: int
    net_error: int
    unexpected_rc: int
    new_errors: int
    bytes: int
    errors: dict[str, int]
    status: dict[int, int]
    started: datetime
    ended: datetime
    began: float
    seconds: float
    health: Health
    evidence: RunEvidence
    backlog: int = 0
    stopped: str = ""
    left_out: dict[str, int] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    received: int = 0
    tally: Counters = field(default_factory=Counters, repr=False)

    @classmethod
    def of(
        cls,
        plan: ScheduledRequests,
        tally: Counters,
        evidence: RunEvidence,
        health: Health,
        *,
        first_seq: int,
        next_seq: int,
        started: datetime,
        ended: datetime,
        began: float,
        seconds: float,
        backlog: int,
        stopped: str,
        lost: tuple[str, ...] = (),
        received: int = 0,
    ) -> Self:
        """The counts of a tally, and what it does not know; asserts that nothing is lost in them."""
        assert evidence.scheduled == tally.sent + tally.dropped, "scheduled = sent + dropped"
        assert tally.sent == tally.ok + tally.http_error + tally.net_error, "sent = ok + http_error + net_error"
        return cls(
            step=plan.step,
            offered=plan.schedule.rate,
            first_seq=first_seq,
            next_seq=next_seq,
            scheduled=evidence.scheduled,
            sent=tally.sent,
            dropped=tally.dropped,
            ok=tally.ok,
            http_error=tally.http_error,
            net_error=tally.net_error,
            unexpected_rc=tally.unexpected_rc,
            new_errors=tally.new_errors,
            bytes=tally.bytes,
            errors=dict(tally.errors),
            status=dict(sorted(tally.status.items())),
            started=started,
            ended=ended,
            began=began,
            seconds=seconds,
            health=health,
            evidence=evidence,
            backlog=backlog,
            stopped=stopped,
            left_out=dict(plan.requests.left_out.most_common()),
            lost=lost,
            received=received,
            tally=tally,
        )


def describe_course(outcome: Outcome) -> str:
    """What our own process did in a run, as text."""
    evidence, vitals = outcome.evidence, outcome.evidence.vitals
    return (
        f"{evidence.scheduled} requests taken up in {evidence.seconds:.3f} s, {outcome.backlog} in flight then, "
        f"{evidence.limited} times the limit of these was met\n"
        f"the loop used {vitals.loop_share:.0%} of a processor, all threads {vitals.process:.2f} s; it waited "
        f"{vitals.waited:.2f} s for one; its longest pause was {vitals.longest_pause * 1000:.1f} ms\n"
        f"lag p50 {evidence.lag_p50 * 1e6:.0f} µs, p95 {evidence.lag_p95 * 1e6:.0f} µs, "
        f"p99 {evidence.lag_p99 * 1e6:.0f} µs"
    )
