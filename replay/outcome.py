"""How a run stands, and what became of it."""

from dataclasses import dataclass, field
from datetime import datetime

from logreplay.replay.health import Evidence, Health
from logreplay.replay.tally import Recent


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
    evidence: Evidence
    backlog: int = 0
    stopped: str = ""
    left_out: dict[str, int] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
