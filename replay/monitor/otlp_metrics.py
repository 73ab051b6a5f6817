"""Renders snapshots as metrics of OTLP, in its JSON form. Pure.

Prometheus translates the names into those of ``/metrics``. Counts are of the whole run (cumulative).
Source: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding; opentelemetry/proto/metrics/v1/metrics.proto;
https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final
from urllib.parse import urlsplit

from logreplay.replay.monitor.metrics import RESPONSE, Points, metrics_of, response_counts
from logreplay.replay.monitor.snapshot import BOUNDS, DurationSeries, Snapshot

_CUMULATIVE: Final = 2
_MOST: Final = 100
"""Points of a counter; the last one sums those that have no room, so that no target decides how many there are."""
_OVERFLOW: Final = {"otel.metric.overflow": True}
_Labels = Mapping[str, str | int | bool]


def payload(now: Snapshot, began_ns: int, resource: Mapping[str, str]) -> dict[str, Any]:
    """An ``ExportMetricsServiceRequest``.

    Args:
        now: the state of the run.
        began_ns: begin of the counting, nanoseconds since 1970.
        resource: attributes of what sends.
    """
    at = {"timeUnixNano": str(max(began_ns, int(now.at * 1e9)))}
    since = {"startTimeUnixNano": str(began_ns), **at}
    metrics = [
        {"name": each.name, "description": each.text, "unit": each.unit}
        | (_sum(each.points, since) if each.kind == "counter" else _gauge(each.points, at))
        for each in metrics_of(now)
    ]
    counts = [above - below for below, above in pairwise((0, *response_counts(now)))]
    responses = [_histogram_point({}, counts, BOUNDS, now.totals.seconds)]
    services = [
        _histogram_point(_outcome(each, now.target), each.counts, each.bounds, each.seconds) for each in now.durations
    ]
    text = "Service time: from the sending to the last byte, with the opening of a connection."
    for name, said, points in ((*RESPONSE, responses), ("http.client.request.duration", text, services)):
        data = {"dataPoints": [point | since for point in points], "aggregationTemporality": _CUMULATIVE}
        metrics.append({"name": name, "description": said, "unit": "s", "histogram": data})
    scope = {"scope": {"name": "logreplay"}, "metrics": metrics}
    return {"resourceMetrics": [{"resource": {"attributes": _attributes(resource)}, "scopeMetrics": [scope]}]}


def _gauge(points: Points, at: Mapping[str, str]) -> dict[str, Any]:
    made = [{"attributes": _attributes(labels), **at, "asDouble": value} for labels, value in points]
    return {"gauge": {"dataPoints": made}}


def _sum(points: Points, since: Mapping[str, str]) -> dict[str, Any]:
    kept: list[tuple[_Labels, float]] = [*points]
    if len(kept) > _MOST:
        kept[_MOST - 1 :] = [(_OVERFLOW, sum(value for _, value in kept[_MOST - 1 :]))]
    made = [{"attributes": _attributes(labels), **since, "asInt": str(int(value))} for labels, value in kept]
    return {"sum": {"dataPoints": made, "aggregationTemporality": _CUMULATIVE, "isMonotonic": True}}


def _histogram_point(labels: _Labels, counts: Sequence[int], bounds: Sequence[float], seconds: float) -> dict[str, Any]:
    return {
        "attributes": _attributes(labels),
        "count": str(sum(counts)),
        "sum": seconds,
        "bucketCounts": [str(count) for count in counts],
        "explicitBounds": [*bounds],
    }


def _outcome(series: DurationSeries, target: str) -> _Labels:
    """The attributes of a series: its method, its target, and how its requests ended."""
    if not series.method:
        return _OVERFLOW
    labels: dict[str, str | int | bool] = {"http.request.method": series.method, **_server(target)}
    labels |= {"http.response.status_code": series.status} if series.status else {}
    error = series.error or (str(series.status) if series.status >= 400 else "")
    return labels | ({"error.type": error} if error else {})


def _attributes(values: _Labels) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: str | int | bool) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    return {"stringValue": value} if isinstance(value, str) else {"intValue": str(value)}


def _server(target: str) -> dict[str, str | int]:
    """The attributes of a target: its address, and the port of one that has a port."""
    if target.startswith("unix:"):
        return {"server.address": target.removeprefix("unix:")}
    try:
        parts = urlsplit(target)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    except ValueError:
        return {"server.address": target}
    if not (parts.hostname and port):
        return {"server.address": target}
    return {"server.address": parts.hostname, "server.port": port}
