"""Renders snapshots as metrics of OTLP, in its JSON form. Pure.

Prometheus translates the names into those of ``/metrics``. Counts are of the whole run (cumulative).
Source: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding; opentelemetry/proto/metrics/v1/metrics.proto;
https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final
from urllib.parse import urlsplit

from logreplay.replay.monitor.metrics import RESPONSE, Metric, metrics_of, response_counts
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
    metrics = list(_Rendering(now, began_ns).metrics())
    scope = {"scope": {"name": "logreplay"}, "metrics": metrics}
    return {"resourceMetrics": [{"resource": {"attributes": _attributes(resource)}, "scopeMetrics": [scope]}]}


class _Rendering:
    def __init__(self, now: Snapshot, began_ns: int) -> None:
        self._now = now
        at = max(began_ns, int(now.at * 1e9))
        self._at = {"timeUnixNano": str(at)}
        self._since = {"startTimeUnixNano": str(began_ns), **self._at}

    def metrics(self) -> Iterator[dict[str, Any]]:
        for metric in metrics_of(self._now):
            yield self._counter(metric) if metric.kind == "counter" else self._gauge(metric)
        each = [above - below for below, above in pairwise((0, *response_counts(self._now)))]
        yield self._histogram(*RESPONSE, [self._histogram_point({}, each, BOUNDS, self._now.totals.seconds)])
        text = "Service time: from the sending to the last byte, with the opening of a connection."
        points = [self._duration_point(series) for series in self._now.durations]
        yield self._histogram("http.client.request.duration", text, points)

    def _duration_point(self, series: DurationSeries) -> dict[str, Any]:
        if not series.method:
            attributes: dict[str, str | int | bool] = {**_OVERFLOW}
        else:
            attributes = {"http.request.method": series.method, **_server(self._now.target)}
            attributes |= {"http.response.status_code": series.status} if series.status else {}
            error = series.error or (str(series.status) if series.status >= 400 else "")
            attributes |= {"error.type": error} if error else {}
        return self._histogram_point(attributes, series.counts, series.bounds, series.seconds)

    def _histogram_point(
        self, attributes: Mapping[str, Any], counts: Sequence[int], bounds: Sequence[float], seconds: float
    ) -> dict[str, Any]:
        return {
            "attributes": _attributes(attributes),
            **self._since,
            "count": str(sum(counts)),
            "sum": seconds,
            "bucketCounts": [str(count) for count in counts],
            "explicitBounds": [*bounds],
        }

    def _histogram(self, name: str, text: str, points: list[dict[str, Any]]) -> dict[str, Any]:
        data = {"dataPoints": points, "aggregationTemporality": _CUMULATIVE}
        return {"name": name, "description": text, "unit": "s", "histogram": data}

    def _gauge(self, metric: Metric) -> dict[str, Any]:
        points = [{"attributes": _attributes(each), **self._at, "asDouble": value} for each, value in metric.points]
        return {**_described(metric), "gauge": {"dataPoints": points}}

    def _counter(self, metric: Metric) -> dict[str, Any]:
        points: list[tuple[_Labels, float]] = [*metric.points]
        if len(points) > _MOST:
            points[_MOST - 1 :] = [(_OVERFLOW, sum(value for _, value in points[_MOST - 1 :]))]
        made = [{"attributes": _attributes(each), **self._since, "asInt": str(int(value))} for each, value in points]
        data = {"dataPoints": made, "aggregationTemporality": _CUMULATIVE, "isMonotonic": True}
        return {**_described(metric), "sum": data}


def _described(metric: Metric) -> dict[str, Any]:
    return {"name": metric.name, "description": metric.text, "unit": metric.unit}


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
