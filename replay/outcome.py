"""How a run stands, and what became of it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from logreplay.replay.health import Evidence, Health, Severity, judge
from logreplay.replay.tally import Recent, Tally
from logreplay.replay.vitals import Vitals


@dataclass(frozen=True, slots=True)
class Progress:
    """How a run stands.

    Attributes:
        elapsed: seconds since the start of this plan.
        scheduled: requests of this plan that were due by now and taken up: ``sent + dropped``.
        sent: started.
        completed: ended with a response, whatever its status.
        ok, http_error, net_error, new_errors, dropped: as in `logreplay.replay.tally.Tally`.
        in_flight: under way now.
        recent: figures of the last exchanges.
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
    recent: Recent


@dataclass(frozen=True, slots=True)
class Course:
    """How a plan went, apart from its exchanges.

    Attributes:
        step: its index.
        offered: requests/s asked for.
        duration: of the schedule, seconds; None where the log decides, or the plan was cut short.
        first_seq: of its first request.
        scheduled: requests taken up.
        started, ended: UTC; the end is that of the last exchange.
        began: seconds from the start of the run to the start of this plan.
        taken_up: seconds from the start of this plan until its last request was taken up.
        backlog: requests in flight then.
        limited: times a request had to wait for the in-flight limit.
        local: connections this machine could not open, by the name of its error.
        queued: requests that had to wait for the one before them of the same client.
        vitals: of our own process.
        stopped: why it ended before its plan did; empty if it did not.
        left_out: rows of the log that were not sent, by reason.
    """

    step: int
    offered: float
    duration: float | None
    first_seq: int
    scheduled: int
    started: datetime
    ended: datetime
    began: float
    taken_up: float
    backlog: int
    limited: int
    local: Counter[str]
    queued: int
    vitals: Vitals
    stopped: str
    left_out: dict[str, int]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one plan, once nothing of it is in flight.

    Attributes:
        step: its index.
        offered: requests/s asked for.
        first_seq: of its first request; its rows are ``first_seq .. first_seq + scheduled - 1``.
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
        course, tally: what all this was made of.
    """

    step: int
    offered: float
    first_seq: int
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
    backlog: int
    stopped: str
    left_out: dict[str, int]
    health: Health
    evidence: Evidence
    course: Course = field(repr=False)
    tally: Tally = field(repr=False)


def conclude(course: Course, tally: Tally) -> Outcome:
    """Sum up a plan that has ended, and judge it. Nothing may be missing: the identities are asserted."""
    assert course.scheduled == tally.sent + tally.dropped, "scheduled = sent + dropped"
    assert tally.sent == tally.ok + tally.http_error + tally.net_error, "sent = ok + http_error + net_error"
    evidence = Evidence(
        offered=course.offered,
        scheduled=course.scheduled,
        sent=tally.sent,
        dropped=tally.dropped,
        net_error=tally.net_error,
        new_errors=tally.new_errors,
        errors=dict(tally.errors),
        response_p50=tally.response.quantile(0.5),
        lag_p50=tally.lag.quantile(0.5) or 0.0,
        lag_p95=tally.lag.quantile(0.95) or 0.0,
        lag_p99=tally.lag.quantile(0.99) or 0.0,
        duration=course.duration,
        seconds=course.taken_up,
        limited=course.limited,
        local=course.local,
        queued=course.queued,
        vitals=course.vitals,
    )
    return Outcome(
        step=course.step,
        offered=course.offered,
        first_seq=course.first_seq,
        scheduled=course.scheduled,
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
        started=course.started,
        ended=course.ended,
        began=course.began,
        seconds=max(course.taken_up, course.duration or 0.0),
        backlog=course.backlog,
        stopped=course.stopped,
        left_out=course.left_out,
        health=judge(evidence),
        evidence=evidence,
        course=course,
        tally=tally,
    )


def merge(shards: Sequence[Outcome]) -> Outcome:
    """The outcome of a plan that was dealt out to several processes.

    Counts and histograms are added, never percentiles averaged. Each process is judged apart too: one that could not
    keep up voids the run, and is named.
    """
    courses = [shard.course for shard in shards]
    tally = Tally()
    for shard in shards:
        tally.merge(shard.tally)
    course = replace(
        courses[0],
        scheduled=sum(course.scheduled for course in courses),
        started=min(course.started for course in courses),
        ended=max(course.ended for course in courses),
        taken_up=max(course.taken_up for course in courses),
        backlog=sum(course.backlog for course in courses),
        limited=sum(course.limited for course in courses),
        queued=sum(course.queued for course in courses),
        local=sum((course.local for course in courses), Counter[str]()),
        vitals=max((course.vitals for course in courses), key=lambda vitals: vitals.loop_share),
        stopped=next((course.stopped for course in courses if course.stopped), ""),
    )
    whole = conclude(course, tally)
    if not whole.health.valid:
        return whole
    void = [
        replace(finding, text=f"worker {index}: {finding.text}")
        for index, shard in enumerate(shards)
        for finding in shard.health.findings
        if finding.severity is Severity.VOID
    ]
    if not void:
        return whole
    verdict = next(shard.health.verdict for shard in shards if not shard.health.valid)
    return replace(whole, health=Health(verdict, (*void, *whole.health.findings)))
