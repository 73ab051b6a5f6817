"""Messages come out of a channel as they went in; what cannot cross says so in a sentence."""

from typing import NoReturn

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.core.errors import LogreplayError
from logreplay.replay.results.counters import Counters
from logreplay.replay.workers.clock_offset import ClockOffset
from logreplay.replay.workers.protocol import (
    ALIVE_S,
    BEAT_S,
    COORDINATOR_LOST_S,
    LISTEN_S,
    Alive,
    Begin,
    CutPlan,
    Hello,
    Leave,
    StopAll,
    Welcome,
    WorkerReady,
    WorkerReport,
    packed,
    unpacked,
)

WORDS, NS = st.text(max_size=20), st.integers(-(2**63), 2**63 - 1)
MESSAGES = st.one_of(
    st.builds(Hello, WORDS, WORDS, st.integers(0, 2**22)),
    st.builds(Welcome, WORDS),
    st.builds(WorkerReady, st.builds(ClockOffset, NS, NS)),
    st.builds(Begin, NS, NS),
    st.builds(StopAll, WORDS),
    st.sampled_from([Alive(), CutPlan(), Leave()]),
)


@given(MESSAGES)
def test_a_message_is_read_as_it_was_written(message: object) -> None:
    assert unpacked(packed(message)) == message


def test_a_report_keeps_its_rows_and_its_counts() -> None:
    counters = Counters(sent=2, ok=2, samples={"reset": "GET /a"})
    report = WorkerReport(pl.DataFrame({"seq": [1, 2]}), 10**18, 2, counters)
    read = unpacked(packed(report))
    assert isinstance(read, WorkerReport)
    assert read.rows is not None
    assert read.rows.equals(pl.DataFrame({"seq": [1, 2]}))
    assert (read.until, read.taken_up, read.counters.ok, read.counters.samples) == (10**18, 2, 2, {"reset": "GET /a"})


class Stubborn:
    def __reduce__(self) -> NoReturn:
        raise ZeroDivisionError("not me")


@pytest.mark.parametrize(("message", "why"), [(lambda: 1, "lambda"), (Stubborn(), "ZeroDivisionError: not me")])
def test_what_cannot_be_sent_says_what_a_plan_may_hold(message: object, why: str) -> None:
    with pytest.raises(LogreplayError, match=rf"the plan cannot be sent to the workers: .*{why}.*; it may hold only"):
        packed(StopAll(message))  # type: ignore[arg-type]


def test_what_another_process_cannot_import_says_where_it_must_be_installed() -> None:
    written = packed(Alive()).replace(b"Alive", b"Alove")
    with pytest.raises(LogreplayError, match=r"AttributeError: .*'?Alove'?.*; the modules of a plan must be installed"):
        unpacked(written)


def test_a_message_that_was_cut_off_anywhere_is_an_error_and_no_other() -> None:
    written = packed(Hello("token", "here", 1))
    for end in range(len(written)):
        with pytest.raises(LogreplayError, match="a message of another process cannot be read here"):
            unpacked(written[:end])


def test_the_living_are_heard_before_they_count_as_lost() -> None:
    assert BEAT_S < ALIVE_S < LISTEN_S < COORDINATOR_LOST_S
    assert COORDINATOR_LOST_S >= 5 * ALIVE_S
