"""One snapshot: made from progress, written for Prometheus."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from prometheus_client.parser import text_string_to_metric_families

from logreplay.replay.engine.recorder import RECORD
from logreplay.replay.monitor.prometheus import exposition
from logreplay.replay.monitor.snapshot import BOUNDS, Snapshot, Stage, TimePoint, Totals
from logreplay.replay.monitor.snapshot_builder import SnapshotBuilder
from logreplay.replay.results.counters import Counters
from logreplay.replay.results.outcome import Progress

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


def test_totals_go_on_over_stages_and_the_curve_grows() -> None:
    builder = SnapshotBuilder("sweep")
    for step, rate in enumerate((10.0, 20.0)):
        builder.begin(Stage(f"step {step + 1}", rate, level=rate))
        seen = builder.see(progress(1.0, counted(Counters(), [5.0] * int(rate))), NOW + step)
    assert seen.totals.ok == 30
    assert seen.totals.buckets[-1] == 30
    assert [point.state for point in seen.curve] == ["runs"]  # of the first nobody said how it ended
    assert seen.second == 2.0


def test_what_was_late_is_said_at_once_but_only_if_the_lag_is_the_generators() -> None:
    late = progress(1.0, counted(Counters(), [5.0] * 50, lag_ms=400))
    assert SnapshotBuilder("run").see(late, NOW).verdict == "GENERATOR_BOUND"
    assert SnapshotBuilder("run", free=False).see(late, NOW).verdict == "VALID"


def test_a_failing_target_is_said_with_a_request_of_each_kind() -> None:
    seen = SnapshotBuilder("run").see(progress(1.0, counted(Counters(), [5.0] * 50, status=503)), NOW)
    assert seen.verdict == "TARGET_FAILING"
    assert seen.totals.samples == {"status 503": "GET /0"}
    assert seen.totals.status == {503: 50}


def test_prometheus_reads_what_is_written_for_it() -> None:
    totals = Totals(
        scheduled=7, sent=6, dropped=1, ok=4, http_error=1, net_error=1, errors={"timeout": 1}, status={200: 4, 404: 1},
        buckets=(0,) * 5 + (6,) * (len(BOUNDS) - 5), seconds=0.5,
        bytes=123_456_789_012_345,
    )  # fmt: skip
    target = 'http://x/"\\\n# TYPE evil counter'
    snapshot = Snapshot("run", target, totals=totals, verdict="VALID", watch={"cpu": 0.25, "gone": None})
    families = {family.name: family for family in text_string_to_metric_families(exposition(snapshot).decode())}
    assert families["logreplay_info"].samples[0].labels["target"] == target
    assert families["logreplay_response_seconds"].type == "histogram"
    assert families["logreplay_received_bytes"].samples[0].value == 123_456_789_012_345
    assert [s.value for s in families["logreplay_requests"].samples] == [4, 1, 1, 1]
    assert [s.labels for s in families["logreplay_watch"].samples] == [{"name": "cpu"}]
    assert not any("evil" in name for name in families)


def test_a_snapshot_of_nothing_is_written_too() -> None:
    list(text_string_to_metric_families(exposition(Snapshot()).decode()))


def test_a_point_keeps_its_state() -> None:
    builder = SnapshotBuilder("sweep")
    builder.begin(Stage("step 1", 10.0, level=10.0))
    seen = builder.see(progress(1.0, counted(Counters(), [5.0])), NOW)
    assert seen.curve == (replace(TimePoint(10.0, None, None, "runs"), p50=seen.so_far.p50, p99=seen.so_far.p99),)
