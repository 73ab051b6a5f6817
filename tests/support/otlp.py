"""The JSON form of OTLP metrics, checked as the protocol defines it, and the names that Prometheus makes of them."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

_UNITS: Final = {"s": "seconds", "By": "bytes", "": "", "1": "ratio"}


def metrics_of(body: bytes) -> Iterator[dict[str, Any]]:
    """Yield the metrics of a request, after a check of its form.

    Source: opentelemetry/proto/metrics/v1/metrics.proto, and the JSON mapping of protobuf: 64-bit integers are texts.
    """
    value = json.loads(body)
    assert value.keys() == {"resourceMetrics"}
    for resource in value["resourceMetrics"]:
        assert resource.keys() == {"resource", "scopeMetrics"}
        _check_attributes(resource["resource"]["attributes"])
        for scope in resource["scopeMetrics"]:
            assert scope.keys() == {"scope", "metrics"}
            for metric in scope["metrics"]:
                _check(metric)
                yield metric


def prometheus_names(metric: dict[str, Any]) -> set[str]:
    """The names of a metric's series after the translation of Prometheus.

    Source: https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/#metric-metadata-1
    """
    unit = _UNITS[re.sub(r"\{.*?\}", "", metric["unit"])]
    name = re.sub(r"[^a-zA-Z0-9:_]", "_", metric["name"])
    name += f"_{unit}" if unit and not name.endswith(f"_{unit}") else ""
    if "sum" in metric:
        return {f"{name}_total"}
    return {f"{name}_{part}" for part in ("bucket", "count", "sum")} if "histogram" in metric else {name}


def points_of(metric: dict[str, Any]) -> list[dict[str, Any]]:
    """The points of a metric."""
    (kind,) = {"sum", "gauge", "histogram"} & metric.keys()
    points: list[dict[str, Any]] = metric[kind]["dataPoints"]
    return points


def labels_of(point: dict[str, Any]) -> dict[str, str]:
    """The attributes of a point, as texts."""
    return {each["key"]: str(next(iter(each["value"].values()))) for each in point["attributes"]}


def _check(metric: dict[str, Any]) -> None:
    (kind,) = metric.keys() - {"name", "description", "unit"}
    allowed = {
        "gauge": set(),
        "sum": {"aggregationTemporality", "isMonotonic"},
        "histogram": {"aggregationTemporality"},
    }
    assert metric[kind].keys() == {"dataPoints"} | allowed[kind]
    assert metric[kind].get("aggregationTemporality", 2) == 2
    assert metric[kind].get("isMonotonic", True) is True
    for point in points_of(metric):
        _check_attributes(point["attributes"])
        assert len({*labels_of(point)}) == len(point["attributes"])
        times = {"timeUnixNano"} | (set() if kind == "gauge" else {"startTimeUnixNano"})
        values = {"count", "sum", "bucketCounts", "explicitBounds"} if kind == "histogram" else set()
        values |= {"gauge": {"asDouble"}, "sum": {"asInt"}}.get(kind, set())
        assert point.keys() == {"attributes"} | times | values
        for name in times | ({"asInt"} if kind == "sum" else set()):
            assert _is_integer(point[name])
        if kind != "gauge":
            assert int(point["startTimeUnixNano"]) <= int(point["timeUnixNano"])
        if kind == "histogram":
            bounds, counts = point["explicitBounds"], point["bucketCounts"]
            assert len(counts) == len(bounds) + 1
            assert bounds == sorted({*bounds})
            assert all(_is_integer(count) for count in counts)
            assert point["count"] == str(sum(map(int, counts)))
            assert isinstance(point["sum"], float)


def _check_attributes(attributes: list[dict[str, Any]]) -> None:
    for each in attributes:
        assert each.keys() == {"key", "value"}
        ((kind, value),) = each["value"].items()
        assert {"stringValue": str, "intValue": str, "boolValue": bool}[kind] is type(value)
        assert kind != "intValue" or _is_integer(value)


def _is_integer(text: object) -> bool:
    return isinstance(text, str) and re.fullmatch(r"\d+", text) is not None
