import json

from prometheus_client.parser import text_string_to_metric_families

from logreplay.replay.monitor.metrics import metrics_of, response_counts
from logreplay.replay.monitor.otlp_metrics import payload
from logreplay.replay.monitor.prometheus import exposition
from logreplay.replay.monitor.snapshot import BOUNDS, Rates, Snapshot, Times, Totals
from support.otlp import metrics_of as pushed_in
from support.otlp import points_of

STATE = Snapshot(
    command="run", target="http://shop.example", at=1e9, second=5.0, rate=Rates(10, 9, 8), lag=Times(p50=0.001),
    totals=Totals(scheduled=12, sent=9, not_sent=2, dropped=1, ok=5, http_error=1, net_error=1, failed=2, bytes=700,
                  errors={"timeout": 1, "cancelled": 2}, status={200: 5, 503: 1}),
    verdict="RATE_MISSED", watch={"cpu": 0.5, "gone": None},
)  # fmt: skip


def test_each_metric_is_served_and_pushed_with_its_text_and_its_values() -> None:
    served = {
        (family.documentation, *(sample.value for sample in family.samples))
        for family in text_string_to_metric_families(exposition(STATE).decode())
    }
    pushed = {
        (
            metric["description"],
            *(float(point["asDouble" if "asDouble" in point else "asInt"]) for point in points_of(metric)),
        )
        for metric in pushed_in(json.dumps(payload(STATE, 0, {})).encode())
        if "histogram" not in metric
    }
    known = {(metric.text, *(value for _, value in metric.points)) for metric in metrics_of(STATE)}
    assert len(known) == 16
    assert pushed == known
    assert known <= served


def test_what_is_not_known_has_no_value() -> None:
    values = {metric.name: [labels for labels, _ in metric.points] for metric in metrics_of(STATE)}
    assert values["logreplay.watch"] == [{"name": "cpu"}]
    assert values["logreplay.lag"] == [{"quantile": "0.5"}]
    assert {metric.name: metric.points for metric in metrics_of(Snapshot())}["logreplay.verdict"] == []


def test_a_run_without_a_response_has_as_many_counts_as_one_with_them() -> None:
    assert response_counts(STATE) == (*(0,) * len(BOUNDS), 7)
    buckets = tuple(range(len(BOUNDS)))
    assert response_counts(Snapshot(totals=Totals(ok=20, buckets=buckets))) == (*buckets, 20)


def test_requests_that_the_run_cancelled_have_no_response_time() -> None:
    errors = {"cancelled": 7, "reset": 2}
    totals = Totals(ok=20, net_error=5, not_sent=4, errors=errors, buckets=(22,) * len(BOUNDS))
    assert response_counts(Snapshot(totals=totals)) == (22,) * (len(BOUNDS) + 1)
