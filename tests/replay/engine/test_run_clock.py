"""The time of a run: each of its plans begins on a whole second of it."""

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.replay.engine.run_clock import RunClock, Start

SECOND = 10**9
INSTANTS = st.integers(0, 10**15)


@given(INSTANTS, st.lists(INSTANTS, max_size=5))
def test_a_plan_begins_within_a_second_after_it_is_ready_on_a_whole_second_of_the_run(
    first: int, later: list[int]
) -> None:
    run = RunClock(lambda: first)
    assert run.begin_plan(first) == first
    for ready in later:
        begins = run.begin_plan(ready)
        assert 0 <= begins - ready < SECOND
        assert run.seconds(begins) == pytest.approx(round(run.seconds(begins)), abs=1e-6)


def test_a_run_begins_once() -> None:
    run = RunClock(time.monotonic_ns)
    first, second = Start(5, 10 * SECOND), Start(6, 20 * SECOND)
    assert run.seconds(99) == 0
    assert run.begin_run(first) is run.begin_run(second) is run.start is first
    assert run.seconds(5 + SECOND) == 1


def test_an_instant_of_the_clock_has_the_time_of_the_run() -> None:
    run = RunClock(lambda: 0)
    run.begin_run(Start(1000, 1_700_000_000 * SECOND))
    assert run.utc(1000 + SECOND // 2) == datetime.fromtimestamp(1_700_000_000.5, UTC)


def test_before_a_run_the_time_is_that_of_now() -> None:
    run = RunClock(lambda: 7 * SECOND)
    now = datetime.now(UTC)
    assert 0 <= (run.utc(8 * SECOND) - now).total_seconds() - 1 < 60
    assert run.start is None
