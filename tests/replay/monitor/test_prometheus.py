"""The metrics of a run, as a parser of Prometheus' text reads them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from logreplay.core.record import ERRORS
from logreplay.replay.monitor.prometheus import exposition
from logreplay.replay.monitor.snapshot import BOUNDS, Rates, Snapshot, Stage, Times, Totals


def read(snapshot: Snapshot) -> list[Sample]:
    """The samples that a scrape of a snapshot gives."""
    families = text_string_to_metric_families(exposition(snapshot).decode())
    return [sample for family in families for sample in family.samples]


def value(samples: list[Sample], name: str, **labels: str) -> float:
    (found,) = (one.value for one in samples if one.name == f"logreplay_{name}" and one.labels == labels)
    return float(found)


def test_prometheus_reads_what_is_written_for_it() -> None:
    totals = Totals(
        scheduled=9, sent=6, not_sent=2, dropped=1, ok=4, http_error=1, net_error=1,
        errors={"timeout": 1, "cancelled": 2}, status={200: 4, 404: 1},
        buckets=(0,) * 5 + (6,) * (len(BOUNDS) - 5), seconds=0.5,
        bytes=123_456_789_012_345,
    )  # fmt: skip
    target = 'http://x/"\\\n# TYPE evil counter'
    snapshot = Snapshot("run", target, totals=totals, verdict="VALID", watch={"cpu": 0.25, "gone": None})
    families = {family.name: family for family in text_string_to_metric_families(exposition(snapshot).decode())}
    assert families["logreplay_info"].samples[0].labels["target"] == target
    assert families["logreplay_response_seconds"].type == "histogram"
    assert families["logreplay_received_bytes"].samples[0].value == 123_456_789_012_345
    assert [s.value for s in families["logreplay_requests"].samples] == [4, 1, 1, 1, 2]
    assert [s.labels for s in families["logreplay_watch"].samples] == [{"name": "cpu"}]
    assert not any("evil" in name for name in families)


def test_a_snapshot_of_nothing_is_written_too() -> None:
    list(text_string_to_metric_families(exposition(Snapshot()).decode()))


@settings(max_examples=50)
@given(st.text(), st.text(), st.dictionaries(st.text(), st.floats(allow_nan=False), max_size=3))
def test_no_name_adds_a_metric_or_is_changed(target: str, stage: str, watch: dict[str, float | None]) -> None:
    samples = read(Snapshot("run", target, stage=Stage(stage), watch=watch))
    assert value(samples, "info", command="run", target=target) == 1
    assert value(samples, "stage_info", stage=stage) == 1
    assert {one.labels["name"]: one.value for one in samples if one.name == "logreplay_watch"} == watch
    assert {one.name for one in samples} - {"logreplay_watch"} == {one.name for one in read(Snapshot())}


def test_no_label_holds_a_text_of_a_log_so_that_their_number_is_bounded() -> None:
    totals = Totals(status=dict.fromkeys(range(1000), 1), errors=dict.fromkeys(ERRORS, 1))
    samples = read(Snapshot("run", "http://h", totals=totals))
    labels = {name for sample in samples for name in sample.labels}
    assert labels == {"command", "target", "stage", "outcome", "error", "status", "le", "kind"}
    assert len(samples) < 1000 + len(ERRORS) + 100


@given(st.lists(st.integers(0, 100), min_size=len(BOUNDS), max_size=len(BOUNDS)), st.integers(0, 100))
@settings(max_examples=20)
def test_buckets_rise_to_the_number_of_all_responses(counts: list[int], longer: int) -> None:
    buckets = tuple(sum(counts[: place + 1]) for place in range(len(counts)))
    samples = read(Snapshot(totals=Totals(ok=sum(counts), net_error=longer, buckets=buckets, seconds=12.5)))
    found = [one.value for one in samples if one.name == "logreplay_response_seconds_bucket"]
    assert found == [*buckets, sum(counts) + longer]
    assert value(samples, "response_seconds_count") == sum(counts) + longer
    assert value(samples, "response_seconds_sum") == 12.5


def test_what_is_not_known_is_left_out() -> None:
    samples = read(Snapshot(lag=Times(p50=0.001), watch={"gone": None}))
    assert [one.labels for one in samples if one.name == "logreplay_lag_seconds"] == [{"quantile": "0.5"}]
    assert not any(one.name in ("logreplay_watch", "logreplay_verdict") for one in samples)


@pytest.mark.parametrize("verdict", ["VALID", "GENERATOR_BOUND", "RATE_MISSED", "TARGET_FAILING"])
def test_one_verdict_is_one_and_the_others_are_zero(verdict: str) -> None:
    samples = read(Snapshot(verdict=verdict))
    verdicts = {one.labels["verdict"]: one.value for one in samples if one.name == "logreplay_verdict"}
    assert verdicts.pop(verdict) == 1
    assert list(verdicts.values()) == [0, 0, 0]


def test_a_run_that_is_over_says_so() -> None:
    assert value(read(Snapshot(rate=Rates(10, 9, 8))), "running") == 1
    assert value(read(Snapshot(over=True)), "running") == 0
    assert value(read(Snapshot(rate=Rates(10, 9, 8))), "rate", kind="completed") == 8
