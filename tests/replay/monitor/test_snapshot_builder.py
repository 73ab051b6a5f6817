"""Snapshots of a run, made from the progress of its engine."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.replay.monitor.snapshot import Rates, Stage, TimePoint
from logreplay.replay.monitor.snapshot_builder import SnapshotBuilder
from logreplay.replay.results.counters import Counters
from logreplay.replay.results.outcome import Outcome, Progress
from logreplay.replay.results.self_monitor import ProcessLoad
from logreplay.replay.results.verdict import RunEvidence, judge
from logreplay.replay.schedules.orders import Level
from logreplay.replay.senders.contract import RECORD

NOW = 1_800_000_000.0


def counted(counters: Counters, latencies_ms: list[float], status: int = 200, lag_ms: float = 0.0) -> Counters:
    """The counters after some more exchanges."""
    records = np.zeros(len(latencies_ms), RECORD)
    records["status"], records["latency"] = status, np.array(latencies_ms) * 1e6
    records["start"] = lag_ms * 1e6
    zeros = np.zeros(len(records), np.int64)
    after = counters.copy()
    after.add(records, zeros, zeros)
    rows = pl.DataFrame({"op": ["GET"] * len(records), "url": [f"/{i}" for i in range(len(records))]})
    after.sample(records, rows)
    return after


def progress(elapsed: float, counters: Counters, *, in_flight: int = 0) -> Progress:
    return Progress(elapsed, counters.sent + in_flight, in_flight, counters)


def outcome(counters: Counters) -> Outcome:
    """What became of a stage that counted this."""
    scheduled, now = counters.ended, datetime(2026, 1, 1, tzinfo=UTC)
    evidence = RunEvidence(
        offered=10, scheduled=scheduled, counters=counters, duration=None, seconds=1, limited=0, local={},
        vitals=ProcessLoad(),
    )  # fmt: skip
    return Outcome(0, 0, scheduled, now, now, 0.0, 1.0, judge(evidence), evidence)


def test_rates_and_times_are_those_of_the_last_second() -> None:
    builder = SnapshotBuilder("run", "http://127.0.0.1")
    builder.begin(Stage(rate=10, planned=60))
    first = counted(Counters(), [5.0] * 10)
    builder.see(progress(1.0, first), NOW)
    seen = builder.see(progress(2.0, counted(first, [50.0] * 8), in_flight=2), NOW + 1)
    assert (seen.rate.offered, seen.rate.sent, seen.rate.completed) == (10, 10, 8)
    assert seen.response.p50 == pytest.approx(0.05, rel=0.02)
    assert seen.so_far.p50 == pytest.approx(0.005, rel=0.02)
    assert seen.totals.scheduled == 20
    assert seen.second == 2.0


def test_requests_that_were_held_back_until_the_stop_are_in_no_count_of_those_sent() -> None:
    builder = SnapshotBuilder("run")
    builder.begin(Stage(rate=10))
    counters = counted(Counters(not_sent=3, errors=Counter(cancelled=3)), [5.0] * 7)
    seen = builder.see(Progress(1.0, 16, 6, counters, waiting=4), NOW)
    assert (seen.rate.sent, seen.totals.sent, seen.totals.not_sent, seen.totals.scheduled) == (9, 9, 3, 16)
    over = counted(Counters(not_sent=7, errors=Counter(cancelled=7)), [5.0] * 9)
    ended = builder.end(outcome(over), NOW).totals
    assert (ended.sent, ended.not_sent, ended.net_error, ended.scheduled) == (9, 7, 0, 16)


def test_requests_sent_never_become_fewer() -> None:
    """HTTP/2 puts requests back into its queue that a server took in no stream."""
    builder = SnapshotBuilder("run")
    builder.begin(Stage(rate=10))
    counters = counted(Counters(), [5.0] * 7)
    first = builder.see(Progress(1.0, 16, 9, counters), NOW)
    then = builder.see(Progress(2.0, 16, 9, counters, waiting=4), NOW + 1)
    assert (first.totals.sent, then.totals.sent, then.rate.sent) == (16, 16, 0)


def test_totals_go_on_over_stages_and_the_curve_grows() -> None:
    builder = SnapshotBuilder("sweep")
    for step, rate in enumerate((10.0, 20.0)):
        builder.begin(Stage(f"step {step + 1}", rate, level=rate))
        counters = counted(Counters(), [5.0] * int(rate))
        seen = builder.see(progress(1.0, counters), NOW + step)
        builder.end(outcome(counters), NOW + step)
    assert seen.totals.ok == 30
    assert seen.totals.buckets[-1] == 30
    assert [point.state for point in seen.curve] == ["carried", "runs"]
    assert seen.second == 2.0


def test_requests_that_were_sent_late_are_said_at_once() -> None:
    late = progress(1.0, counted(Counters(), [5.0] * 50, lag_ms=400))
    assert SnapshotBuilder("run").see(late, NOW).verdict == "GENERATOR_BOUND"


def test_a_failing_target_is_said_with_a_request_of_each_kind() -> None:
    seen = SnapshotBuilder("run").see(progress(1.0, counted(Counters(), [5.0] * 50, status=503)), NOW)
    assert seen.verdict == "TARGET_FAILING"
    assert seen.totals.samples == {"status 503": "GET /0"}
    assert seen.totals.status == {503: 50}


def test_a_point_keeps_its_state() -> None:
    builder = SnapshotBuilder("sweep")
    builder.begin(Stage("step 1", 10.0, level=10.0))
    seen = builder.see(progress(1.0, counted(Counters(), [5.0])), NOW)
    assert seen.curve == (replace(TimePoint(10.0, None, None, "runs"), p50=seen.so_far.p50, p99=seen.so_far.p99),)


def test_a_stage_that_ended_is_a_point_of_the_curve_and_its_counts_stay() -> None:
    builder = SnapshotBuilder("sweep")
    for step, (note, state) in enumerate((("", ""), ("too much", "overloaded"))):
        builder.begin(Stage(f"step {step + 1}", 10.0, level=10.0))
        counters = counted(Counters(), [5.0] * 10)
        builder.see(progress(0.5, counted(Counters(), [5.0] * 4), in_flight=6), NOW + step)
        seen = builder.end(outcome(counters), NOW + step + 1, state=state, note=note)
        assert (seen.totals.ok, seen.in_flight) == (10 * (step + 1), 0)
    assert [point.state for point in seen.curve] == ["carried", "overloaded"]
    assert seen.notes == ("too much",)
    over = builder.close(NOW + 9)
    assert (over.over, over.rate, over.totals) == (True, Rates(), seen.totals)


def test_a_stage_in_which_nothing_was_sent_is_no_point() -> None:
    builder = SnapshotBuilder("sweep")
    builder.begin(Stage("step 1", 10.0, level=10.0))
    assert builder.end(outcome(Counters()), NOW).curve == ()


def test_a_point_has_no_p99_that_holds_the_lag_generator_findings() -> None:
    builder = SnapshotBuilder("sweep")
    builder.begin(Stage("step 1", 10.0, level=10.0))
    late = counted(counted(Counters(), [20.0] * 95), [20.0] * 5, lag_ms=100)
    (point,) = builder.end(outcome(late), NOW).curve
    assert (point.p50 or 0) > 0.01
    assert point.p99 is None
    assert builder.last.so_far.p99 is not None


def test_a_void_stage_is_marked_as_one() -> None:
    builder = SnapshotBuilder("sweep")
    builder.begin(Stage("step 1", 10.0, level=10.0))
    seen = builder.end(outcome(counted(Counters(), [5.0] * 10, lag_ms=400)), NOW)
    assert [point.state for point in seen.curve] == ["void"]
    assert seen.verdict == "GENERATOR_BOUND"


def test_only_the_last_notes_are_kept() -> None:
    builder = SnapshotBuilder("find")
    for number in range(100):
        seen = builder.end(outcome(Counters()), NOW, note=f"trial {number}")
    assert len(seen.notes) == 30
    assert seen.notes[-1] == "trial 99"


@given(st.lists(st.tuples(st.floats(0.001, 2), st.integers(0, 20), st.integers(0, 5)), min_size=1, max_size=8))
@settings(max_examples=50)
def test_the_seconds_of_a_stage_add_up_to_all_that_was_sent(seconds: list[tuple[float, int, int]]) -> None:
    builder, elapsed, counters, sent, most = SnapshotBuilder("run"), 0.0, Counters(), 0.0, 0
    for length, ended, in_flight in seconds:
        counters = counted(counters, [5.0] * ended)
        before, elapsed = elapsed, elapsed + length
        seen = builder.see(progress(elapsed, counters, in_flight=in_flight), NOW + elapsed)
        sent += seen.rate.sent * (elapsed - before)
        most = max(most, counters.sent + in_flight)
    assert sent == pytest.approx(seen.totals.sent, abs=0.01)
    assert seen.totals.sent == most
    assert seen.so_far.max is None or seen.so_far.max == pytest.approx(0.005, rel=0.02)


def test_a_load_that_is_changed_by_hand_shows_its_rate_and_the_time_that_is_left() -> None:
    builder = SnapshotBuilder("run", "http://127.0.0.1")
    builder.begin(Stage(rate=10, planned=60))
    now = progress(20.0, counted(Counters(), [5.0]))
    seen = builder.see(replace(now, level=Level("rate", 30), left=40.0), NOW)
    assert (seen.rate.offered, seen.stage.planned, seen.load) == (30, 60, Level("rate", 30))
    seen = builder.see(replace(now, elapsed=25.0, level=Level("rate", 30, paused=True), left=38.0), NOW)
    assert (seen.rate.offered, seen.stage.planned) == (0, 63)
    seen = builder.see(replace(now, elapsed=26.0, level=Level("speed", 2.0)), NOW)
    assert seen.load == Level("speed", 2.0)
