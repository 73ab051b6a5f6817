"""Known writers of JSON logs: the paths of their values, the units of their durations, the meaning of their stamps.

``.`` joins the steps of a path; of several paths, joined by ``|``, the first with a value counts.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from logreplay.parsers.fields.timestamps import Stamp
from logreplay.parsers.formats.format import Format
from logreplay.parsers.formats.named_values import NEEDED, JsonLayout, Key, dig, load

_PATHS: Final[dict[str, dict[str, str]]] = {
    "caddy": {
        "time": "ts",
        "op": "request.method",
        "url": "request.uri",
        "protocol": "request.proto",
        "rc": "status",
        "bytes": "size",
        "total": "duration",
        "client": "request.client_ip",
        "host": "request.host",
        "user": "user_id",
        "referer": "request.headers.Referer.[0]",
        "agent": "request.headers.User-Agent.[0]",
        "request_bytes": "bytes_read",
    },
    "traefik": {
        "time": "StartUTC",
        "op": "RequestMethod",
        "url": "RequestPath",
        "protocol": "RequestProtocol",
        "rc": "DownstreamStatus",
        "bytes": "DownstreamContentSize",
        "total": "Duration",
        "client": "ClientHost",
        "host": "RequestHost",
        "user": "ClientUsername",
        "referer": "request_Referer",
        "agent": "request_User-Agent",
        "request_bytes": "RequestContentSize",
    },
    "envoy-json": {
        "time": "start_time",
        "op": "method",
        "url": "x-envoy-origin-path",
        "protocol": "protocol",
        "rc": "response_code",
        "bytes": "bytes_sent",
        "total": "duration",
        "first": "x-envoy-upstream-service-time",
        "client": "x-forwarded-for",
        "host": ":authority",
        "agent": "user-agent",
        "request_bytes": "bytes_received",
    },
    "istio": {
        "time": "start_time",
        "op": "method",
        "url": "path",
        "protocol": "protocol",
        "rc": "response_code",
        "bytes": "bytes_sent",
        "total": "duration",
        "first": "upstream_service_time",
        "client": "x_forwarded_for",
        "host": "authority",
        "agent": "user_agent",
        "request_bytes": "bytes_received",
        "mark": "response_flags",  # its other names are anybody's, whose durations may have another unit
    },
    "google-cloud": {
        "time": "timestamp",
        "op": "httpRequest.requestMethod",
        "url": "httpRequest.requestUrl",
        "protocol": "httpRequest.protocol",
        "rc": "httpRequest.status",
        "bytes": "httpRequest.responseSize",
        "total": "httpRequest.latency",
        "client": "httpRequest.remoteIp",
        "referer": "httpRequest.referer",
        "agent": "httpRequest.userAgent",
        "request_bytes": "httpRequest.requestSize",
    },
    "kong": {
        "time": "started_at",
        "op": "request.method",
        "url": "request.uri",
        "rc": "response.status",
        "bytes": "response.size",
        "total": "latencies.request",
        "client": "client_ip",
        "host": "request.headers.host",
        "user": "consumer.username",
        "referer": "request.headers.referer",
        "agent": "request.headers.user-agent",
        "request_bytes": "request.size",
    },
    "cloudflare": {
        "time": "EdgeStartTimestamp",
        "op": "ClientRequestMethod",
        "url": "ClientRequestURI",
        "protocol": "ClientRequestProtocol",
        "rc": "EdgeResponseStatus",
        "bytes": "EdgeResponseBodyBytes|EdgeResponseBytes",
        "first": "EdgeTimeToFirstByteMs",
        "client": "ClientIP",
        "host": "ClientRequestHost",
        "referer": "ClientRequestReferer",
        "agent": "ClientRequestUserAgent",
        "request_bytes": "ClientRequestBytes",
    },
    "azure-gateway": {
        "time": "timeStamp|time",
        "op": "properties.httpMethod",
        "url": "properties.originalRequestUriWithArgs",  # version 1, whose times are milliseconds, has none
        "protocol": "properties.httpVersion",
        "rc": "properties.httpStatus",
        "bytes": "properties.sentBytes",
        "total": "properties.timeTaken",
        "client": "properties.clientIP",
        "host": "properties.originalHost|properties.host",
        "agent": "properties.userAgent",
        "request_bytes": "properties.receivedBytes",
    },
    "azure-front-door": {
        "time": "time",
        "op": "properties.httpMethod",
        "url": "properties.requestUri",
        "rc": "properties.httpStatusCode",
        "bytes": "properties.responseBytes",
        "total": "properties.timeTaken",
        "first": "properties.timeToFirstByte",
        "client": "properties.clientIp",
        "host": "properties.hostName",
        "referer": "properties.referrer|properties.referer",
        "agent": "properties.userAgent",
        "request_bytes": "properties.requestBytes",
    },
    "ecs": {
        "time": "event.end|@timestamp",
        "op": "http.request.method",
        "url": "url.original|url.path",
        "args": "url.query",
        "rc": "http.response.status_code",
        "bytes": "http.response.body.bytes|http.response.bytes",
        "total": "event.duration",
        "client": "client.ip|source.ip|client.address|source.address",
        "host": "url.domain",
        "user": "user.name",
        "referer": "http.request.referrer",
        "agent": "user_agent.original",
        "request_bytes": "http.request.bytes|http.request.body.bytes",
    },
}
_PATHS["ecs-dotted"] = _PATHS["ecs"]

_ECS: Final[dict[str, Any]] = {
    "server": "ecs",
    "stamp": Stamp("any", "end"),
    "total_unit": 1e-9,
    "note": "@timestamp is taken as the end of a request: change it with --stamped start",
    "source": "https://www.elastic.co/guide/en/ecs/current/ecs-field-reference.html",
}
_ABOUT: Final[dict[str, dict[str, Any]]] = {
    "caddy": {
        "stamp": Stamp("any", "end"),
        "source": "https://caddyserver.com/docs/caddyfile/directives/log",
    },
    "traefik": {
        "stamp": Stamp("any", "start"),
        "total_unit": 1e-9,
        "source": "https://doc.traefik.io/traefik/observability/access-logs/",
    },
    "envoy-json": {
        "server": "envoy",
        "stamp": Stamp("any", "start", zone="UTC"),
        "total_unit": 1e-3,
        "first_unit": 1e-3,
        "source": "https://gateway.envoyproxy.io/docs/tasks/observability/proxy-accesslog/",
    },
    "istio": {
        "stamp": Stamp("any", "start", zone="UTC"),
        "total_unit": 1e-3,
        "first_unit": 1e-3,
        "source": "https://istio.io/latest/docs/tasks/observability/logs/access-log/",
    },
    "google-cloud": {
        "stamp": Stamp("any", "start", zone="UTC"),
        "total_unit": None,
        "named": frozenset({"total"}),
        "note": "Google Cloud's byte counts include headers; its timestamp is taken as the start of a request: change "
        "it with --stamped end",
        "source": "https://cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry#HttpRequest",
    },
    "kong": {
        "stamp": Stamp("any", "start"),
        "total_unit": 1e-3,
        "note": "Kong's byte counts include headers",
        "source": "https://developer.konghq.com/plugins/file-log/",
    },
    "cloudflare": {
        "stamp": Stamp("any", "start", zone="UTC"),
        "first_unit": 1e-3,
        "named": frozenset({"first"}),
        "source": "https://developers.cloudflare.com/logs/reference/log-fields/zone/http_requests/",
    },
    "azure-gateway": {
        "stamp": Stamp("any", "end", zone="UTC"),
        "note": "Application Gateway's timeStamp is taken as the end of a request: change it with --stamped start",
        "source": "https://learn.microsoft.com/azure/application-gateway/monitor-application-gateway-reference",
    },
    "azure-front-door": {
        "stamp": Stamp("any", "end", zone="UTC"),
        "note": "Front Door's byte counts include headers",
        "source": "https://learn.microsoft.com/azure/frontdoor/monitor-front-door",
    },
    "ecs": _ECS,
    "ecs-dotted": _ECS,
}


def _keys(name: str) -> tuple[tuple[str, Key], ...]:
    """The raw fields of a writer with the paths of their values, the better ones first."""
    paths = [(slot, path) for slot, several in _PATHS[name].items() for path in several.split("|")]
    return tuple((slot, (path,) if name == "ecs-dotted" else tuple(path.split("."))) for slot, path in paths)


def _format(name: str) -> Format:
    layout = JsonLayout(_keys(name), lower_case=name.startswith("ecs"))
    return Format(**{"name": name, "layout": layout, "server": name, "escaped": False, **_ABOUT[name]})


JSON_FORMATS: Final = tuple(map(_format, _PATHS))
"""The formats of known writers."""

_MARKS: Final = [
    [[path for slot, path in _keys(name) if slot == needed] for needed in sorted(NEEDED & paths.keys())]
    for name, paths in _PATHS.items()
]
"""Paths of the values without which a line is not a request of its writer, by value and writer."""


def is_of_known_writer(line: str) -> bool:
    """Whether a line is JSON of a known writer, by its names: the format of the writer names more of its fields."""
    record = load(line)
    return record is not None and any(_has_all(record, marks) for marks in _MARKS)


def _has_all(record: Mapping[str, Any], marks: Sequence[Sequence[Key]]) -> bool:
    return all(any(dig(record, path) is not None for path in paths) for paths in marks)
