"""How a run stands and what became of it: each request is in one count, and only in one."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.replay.results.counters import Counters
from logreplay.replay.results.outcome import Outcome, Progress, describe_course
from logreplay.replay.results.self_monitor import ProcessLoad
from logreplay.replay.results.verdict import RunEvidence, judge

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def outcome(counters: Counters, scheduled: int, **more: Any) -> Outcome:
    evidence = RunEvidence(
        offered=10, scheduled=scheduled, counters=counters, duration=10, seconds=10, limited=3, local={},
        vitals=ProcessLoad(seconds=10, loop=2, process=3, waited=0.5, longest_pause=0.025),
    )  # fmt: skip
    return Outcome(0, 0, scheduled, NOW, NOW, 0.0, 10.0, judge(evidence), evidence, **more)


def balanced(ok: int, http_error: int, net_error: int, dropped: int, not_sent: int = 0) -> Counters:
    sent = ok + http_error + net_error
    return Counters(sent, not_sent, dropped, ok, http_error, net_error)


@given(*[st.integers(0, 100)] * 5)
def test_an_outcome_says_what_its_evidence_counted(
    ok: int, http_error: int, net_error: int, dropped: int, not_sent: int
) -> None:
    counters = balanced(ok, http_error, net_error, dropped, not_sent)
    whole = outcome(counters, ok + http_error + net_error + dropped + not_sent)
    assert whole.counters is counters
    assert (whole.scheduled, whole.offered) == (counters.sent + dropped + not_sent, 10)


@pytest.mark.parametrize(
    ("counters", "scheduled", "identity"),
    [
        (balanced(5, 1, 1, 2), 8, "scheduled = sent \\+ dropped \\+ not_sent"),
        (Counters(sent=7, ok=5, http_error=1), 7, "sent = ok \\+ http_error \\+ net_error"),
    ],
)
def test_an_outcome_whose_requests_do_not_add_up_cannot_be_made(
    counters: Counters, scheduled: int, identity: str
) -> None:
    with pytest.raises(AssertionError, match=identity):
        outcome(counters, scheduled)


@given(*[st.integers(0, 100)] * 5)
def test_while_a_run_goes_on_what_is_in_flight_and_does_not_wait_counts_as_sent(
    ended: int, dropped: int, not_sent: int, answering: int, waiting: int
) -> None:
    counters, in_flight = balanced(ended, 0, 0, dropped, not_sent), answering + waiting
    now = Progress(1.0, ended + dropped + not_sent + in_flight, in_flight, counters, waiting=waiting)
    assert now.sent == now.started.sent == ended + answering
    assert now.started.ok == counters.sent == ended


def test_the_course_of_a_run_is_told_even_if_nothing_was_sent() -> None:
    said = describe_course(outcome(Counters(), 0, backlog=2))
    assert said.splitlines() == [
        "0 requests taken up in 10.000 s, 2 in flight then, 3 had to wait for the limit of these",
        "the loop used 20% of a processor, all threads 3.00 s; it waited 0.50 s for one; its longest pause was 25.0 ms",
        "lag p50 0.00 ms, p95 0.00 ms, p99 0.00 ms",
    ]
