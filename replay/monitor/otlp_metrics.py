"""Renders snapshots as metrics of OTLP, in its JSON form. Pure.

Names are chosen so that Prometheus, which translates them, has the same as from ``/metrics``: a unit in braces leaves
no trace in a name, ``s`` becomes ``_seconds``, and a counter gets ``_total``. Counts are of the whole run (cumulative).
Source: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding; opentelemetry/proto/metrics/v1/metrics.proto;
https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final
from urllib.parse import urlsplit

from logreplay.replay.monitor.snapshot import BOUNDS, VERDICTS, DurationSeries, Snapshot

_CUMULATIVE: Final = 2
_MOST: Final = 100
"""Points of a counter; the last one sums those that have no room, so that no target decides how many there are."""
_OVERFLOW: Final = {"otel.metric.overflow": True}
Points = Mapping[Any, float | None]


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
        now, totals, lag, rate = self._now, self._now.totals, self._now.lag, self._now.rate
        ended = {"ok": totals.ok, "http_error": totals.http_error, "net_error": totals.net_error}
        info = {"command": now.command, "target": now.target}
        yield self._gauge("logreplay.info", "", "What runs.", [(info, 1.0)])
        yield self._gauge("logreplay.running", "", "1 until the run is over, then 0.", _one(not now.over))
        yield self._gauge("logreplay.elapsed", "s", "Seconds since the run began.", _one(now.second))
        yield self._gauge("logreplay.stage.info", "", "The step or trial that runs.", [({"stage": now.stage.name}, 1)])
        rates = {"offered": rate.offered, "sent": rate.sent, "completed": rate.completed}
        text = "Requests per second in the last second."
        yield self._gauge("logreplay.rate", "{requests_per_second}", text, _by("kind", rates))
        yield self._gauge("logreplay.in_flight", "{request}", "Requests in flight.", _one(now.in_flight))
        yield self._counter("logreplay.scheduled", "{request}", "Requests sent or dropped.", _one(totals.scheduled))
        yield self._counter("logreplay.sent", "{request}", "Requests sent.", _one(totals.sent))
        outcomes = _by("outcome", {**ended, "dropped": totals.dropped})
        yield self._counter("logreplay.requests", "{request}", "Requests that have ended, by outcome.", outcomes)
        yield self._counter("logreplay.failed", "{request}", "Requests sent that failed.", _one(totals.failed))
        errors = _by("error", totals.errors)
        yield self._counter("logreplay.errors", "{request}", "Requests without a whole response, by error.", errors)
        status = _by("status", totals.status)
        yield self._counter("logreplay.responses", "{response}", "Responses by status.", status)
        yield self._counter("logreplay.received", "By", "Bytes of response bodies.", _one(totals.bytes))
        quantiles = {"0.5": lag.p50, "0.99": lag.p99, "1": lag.max}
        yield self._gauge("logreplay.lag", "s", "Generator lag in the last second.", _by("quantile", quantiles))
        verdicts = {verdict: float(verdict == now.verdict) for verdict in VERDICTS if now.verdict}
        yield self._gauge("logreplay.verdict", "", "1 for the verdict so far.", _by("verdict", verdicts))
        yield self._gauge("logreplay.watch", "", "Figures of the probes (--watch).", _by("name", now.watch))
        counts = (0, *(totals.buckets or (0,) * len(BOUNDS)), sum(ended.values()))
        each = [above - below for below, above in pairwise(counts)]
        text = "Response time from the scheduled send time."
        point = self._histogram_point({}, each, BOUNDS, totals.seconds)
        yield self._histogram("logreplay.response.duration", text, [point])
        text = "Service time: from the sending to the last byte, with the opening of a connection."
        points = [self._duration_point(series) for series in now.durations]
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

    def _gauge(self, name: str, unit: str, text: str, points: "_Labelled") -> dict[str, Any]:
        made = [{"attributes": _attributes(each), **self._at, "asDouble": value} for each, value in points]
        return {"name": name, "description": text, "unit": unit, "gauge": {"dataPoints": made}}

    def _counter(self, name: str, unit: str, text: str, points: "_Labelled") -> dict[str, Any]:
        if len(points) > _MOST:
            points = [*points[: _MOST - 1], (_OVERFLOW, sum(value for _, value in points[_MOST - 1 :]))]
        made = [{"attributes": _attributes(each), **self._since, "asInt": str(int(value))} for each, value in points]
        data = {"dataPoints": made, "aggregationTemporality": _CUMULATIVE, "isMonotonic": True}
        return {"name": name, "description": text, "unit": unit, "sum": data}


_Labelled = list[tuple[Mapping[str, str | int | bool], float]]


def _one(value: float) -> _Labelled:
    return [({}, float(value))]


def _by(label: str, values: Points) -> _Labelled:
    return [({label: str(key)}, float(value)) for key, value in values.items() if value is not None]


def _attributes(values: Mapping[str, str | int | bool]) -> list[dict[str, Any]]:
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
