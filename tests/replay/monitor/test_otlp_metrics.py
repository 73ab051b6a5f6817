import json
import re
from dataclasses import replace
from typing import Any

import pytest

from logreplay.replay.monitor.otlp_metrics import payload
from logreplay.replay.monitor.prometheus import exposition
from logreplay.replay.monitor.snapshot import BOUNDS, DurationSeries, Rates, Snapshot, Stage, Times, Totals
from logreplay.replay.results.durations import DURATION_BOUNDS, Durations
from support.otlp import labels_of, metrics_of, points_of, prometheus_names

BEGAN = 1_760_000_000_000_000_000
NOW = Snapshot(
    command="run", target="http://shop.example:8080", at=BEGAN / 1e9 + 5, second=5.0, stage=Stage("a run", 10.0),
    rate=Rates(10, 9, 8), lag=Times(0.001, 0.002, 0.003, 0.004, 0.005), in_flight=3,
    totals=Totals(
        scheduled=12, sent=9, not_sent=2, dropped=1, ok=5, http_error=1, net_error=1, failed=2, bytes=700,
        errors={"timeout": 1, "cancelled": 2}, status={200: 5, 503: 1}, buckets=(1, 1, 2, 2, *(6,) * 11), seconds=1.25,
    ),
    verdict="VALID", watch={"cpu": 0.5, "gone": None},
    durations=(
        DurationSeries("GET", 200, "", (0.1, 1.0), (3, 2, 0), 0.7),
        DurationSeries("GET", 503, "", (0.1, 1.0), (0, 1, 0), 0.5),
        DurationSeries("POST", 0, "timeout", (0.1, 1.0), (0, 0, 1), 2.0),
        DurationSeries("", 0, "", (0.1, 1.0), (0, 0, 1), 2.0),
    ),
)  # fmt: skip


def rendered(now: Snapshot) -> dict[str, dict[str, Any]]:
    body = json.dumps(payload(now, BEGAN, {"service.name": "logreplay"}))
    return {metric["name"]: metric for metric in metrics_of(body.encode())}


def served(now: Snapshot) -> dict[str, set[str]]:
    """The names of the series on /metrics, each with the names of its labels."""
    names: dict[str, set[str]] = {}
    for line in exposition(now).decode().splitlines():
        if match := re.match(r"(\w+)(?:\{(.*?)\})? ", line):
            names.setdefault(match[1], set()).update(re.findall(r'(\w+)="', match[2] or ""))
    return names


@pytest.mark.parametrize("now", [NOW, Snapshot(), replace(NOW, over=True, target="unix:/run/x.sock")])
def test_a_state_is_rendered_as_the_protocol_defines_it(now: Snapshot) -> None:
    assert len(rendered(now)) == 18


def test_counters_add_up_and_the_histogram_is_that_of_the_response_times() -> None:
    metrics = rendered(NOW)
    outcomes = {labels_of(p)["outcome"]: p["asInt"] for p in points_of(metrics["logreplay.requests"])}
    assert outcomes == {"ok": "5", "http_error": "1", "net_error": "1", "dropped": "1", "not_sent": "2"}
    (point,) = points_of(metrics["logreplay.response.duration"])
    assert point["explicitBounds"] == [*BOUNDS]
    assert point["bucketCounts"] == ["1", "0", "1", "0", "4", *["0"] * 10, "1"]
    assert (point["count"], point["sum"]) == ("7", 1.25)
    assert point["startTimeUnixNano"] == str(BEGAN)
    assert [labels_of(p) for p in points_of(metrics["logreplay.watch"])] == [{"name": "cpu"}]


def test_the_service_times_follow_the_conventions_of_http() -> None:
    points = points_of(rendered(NOW)["http.client.request.duration"])
    server = {"server.address": "shop.example", "server.port": "8080"}
    assert [labels_of(point) for point in points] == [
        {"http.request.method": "GET", **server, "http.response.status_code": "200"},
        {"http.request.method": "GET", **server, "http.response.status_code": "503", "error.type": "503"},
        {"http.request.method": "POST", **server, "error.type": "timeout"},
        {"otel.metric.overflow": "True"},
    ]
    assert points[0]["bucketCounts"] == ["3", "2", "0"]


@pytest.mark.parametrize(
    ("target", "server"),
    [
        ("https://a.example/x", {"server.address": "a.example", "server.port": "443"}),
        ("http://[::1]:81", {"server.address": "::1", "server.port": "81"}),
        ("unix:/run/x", {"server.address": "/run/x"}),
        ("http://a:1 and http://b:2", {"server.address": "http://a:1 and http://b:2"}),
    ],
)
def test_a_target_is_an_address_and_a_port(target: str, server: dict[str, str]) -> None:
    point = points_of(rendered(replace(NOW, target=target))["http.client.request.duration"])[0]
    assert {k: v for k, v in labels_of(point).items() if k.startswith("server")} == server


def test_prometheus_has_the_same_names_and_labels_of_what_is_pushed_and_of_what_it_scrapes() -> None:
    metrics = rendered(NOW)
    pushed = {
        name: {label for point in points_of(metric) for label in labels_of(point)}
        | ({"le"} if "_bucket" in name else set())
        for metric in metrics.values()
        for name in prometheus_names(metric)
        if not name.startswith("http_client")
    }
    older = {name for name in served(NOW) if name.startswith("logreplay_response_seconds")}
    created = {name for name in served(NOW) if name.endswith("_created")}
    assert pushed == {name: labels for name, labels in served(NOW).items() if name not in older | created}


def test_a_target_does_not_decide_how_many_points_there_are_and_none_of_its_requests_is_lost() -> None:
    statuses = dict.fromkeys(range(100, 999), 1)
    durations = Durations()
    for status in statuses:
        durations += Durations({("GET", status, ""): (1, *(0,) * len(DURATION_BOUNDS))}, {("GET", status, ""): 0.1})
    series = tuple(
        DurationSeries(*group, DURATION_BOUNDS, counts, durations.seconds[group])
        for group, counts in durations.counts.items()
    )
    metrics = rendered(replace(NOW, totals=Totals(status=statuses), durations=series))
    for name, number, most in (("logreplay.responses", "asInt", 100), ("http.client.request.duration", "count", 101)):
        points = points_of(metrics[name])
        assert len(points) == most
        assert sum(int(point[number]) for point in points) == len(statuses)
        assert labels_of(points[-1]) == {"otel.metric.overflow": "True"}


def test_every_watched_figure_is_a_point() -> None:
    watch: dict[str, float | None] = {f"w{number}": float(number) for number in range(150)}
    assert len(points_of(rendered(replace(NOW, watch=watch))["logreplay.watch"])) == 150
