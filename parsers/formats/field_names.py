"""Names that logs give to their values: the raw field of each, and the meaning of times and durations."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from logreplay.core.headers import OF_CONNECTION
from logreplay.parsers.fields.timestamps import Stamp
from logreplay.parsers.fields.units import named_units, unit_by_name, unit_of

_ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "time": (
        "msec",
        "time_msec",
        "StartUTC",
        "start_time",
        "@timestamp",
        "timestamp",
        "time_iso8601",
        "time",
        "ts",
        "time_local",
        "datetime",
        "date",
        "requestTimeEpoch",
        "requestTime",
    ),
    "request": ("request", "request_line", "req"),
    "op": ("method", "request_method", "RequestMethod", "verb", "http_method", "httpMethod"),
    "url": ("uri", "request_uri", "url", "path", "RequestPath", "target", "resourcePath"),
    "args": ("args", "query_string", "query"),
    "protocol": ("protocol", "server_protocol", "proto", "http_version", "RequestProtocol"),
    "rc": ("status", "status_code", "code", "response_code", "rc"),
    "bytes": (
        "body_bytes_sent",
        "bytes",
        "body_bytes",
        "size",
        "bytes_sent",
        "response_size",
        "body_size",
        "responseLength",
    ),
    "total": (
        "request_time",
        "reqtime",
        "response_time",
        "duration_us",
        "duration_ms",
        "duration_ns",
        "elapsed_ms",
        "rt",
        "duration",
        "elapsed",
        "latency",
        "responseLatency",
        "upstream_response_time",
        "apptime",
        "urt",
    ),
    "first": ("upstream_header_time", "uht", "ttfb"),
    "client": ("remote_addr", "client", "client_ip", "remote_ip", "ip", "clientip", "x_forwarded_for", "host_ip"),
    "host": ("host", "http_host", "vhost", "server_name", "domain", "domainName"),
    "user": ("remote_user", "user"),
    "referer": ("referer", "http_referer", "referrer"),
    "agent": ("ua", "http_user_agent", "user_agent", "agent", "useragent"),
    "request_bytes": ("request_length", "bytes_received", "request_size"),
    "body": ("request_body",),
}
"""Names that logs give to a value, the better ones first. Those of LTSV: http://ltsv.org/; of AWS API Gateway:
https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-variables-for-access-logging.html"""

_PATTERN: Final = "resourcePath"
_PATTERN_NOTE: Final = (
    f"{_PATTERN} may hold patterns such as /pets/{{id}}, which are replayed unchanged: log $context.path of AWS API "
    "Gateway, too"
)


_USUAL: Final = 0.5
"""Share of the records with a value, of those that the most frequent name has, from which a name is not rare."""
_KNOWN: Final = {alias.lower() for aliases in _ALIASES.values() for alias in aliases} | {"http_x_forwarded_for"}

HEADER_SLOT: Final = "header_"
"""Raw fields with this prefix are headers of the request, ``-`` in their names as ``_``."""

_HEADER: Final = re.compile(r"[A-Za-z0-9_]{1,100}")
_STATUS: Final = {alias.lower() for alias in _ALIASES["rc"]}


def has_status(names: Iterable[str]) -> bool:
    """Whether one of the names stands for a status."""
    return any(name.lower() in _STATUS for name in names)


def slot_of(name: str) -> str:
    """The raw field that a name stands for; empty if it is unknown."""
    return next((slot for slot, aliases in _ALIASES.items() if name.lower() in map(str.lower, aliases)), "")


def header_slot(name: str) -> str:
    """The raw field of a header, with ``_`` for ``-`` in its name; empty for one that is not kept."""
    kept = _HEADER.fullmatch(name) and name.lower().replace("_", "-") not in OF_CONNECTION
    return HEADER_SLOT + name.lower() if kept else ""


def choose(names: Mapping[str, int]) -> dict[str, str]:
    """Assign names to slots; empty if none of them is a request.

    Args:
        names: in how many records each has a value. Of several for one slot the first that is not rare beside another
            counts: one record with another name must not take the values of the rest.
    """
    lower = {name.lower(): name for name in names}
    slots, given = {}, {"request": 0, "url": 0}
    for slot, aliases in _ALIASES.items():
        known = [lower[alias.lower()] for alias in aliases if alias.lower() in lower]
        if known:
            given[slot] = max(names[name] for name in known)
            slots[slot] = next(name for name in known if names[name] >= _USUAL * given[slot])
    if "request" in slots and given["request"] >= _USUAL * given["url"]:
        for slot in ("op", "url", "args", "protocol"):
            slots.pop(slot, None)
    elif "url" in slots:
        slots.pop("request", None)
    else:
        return {}
    headers = {name: lower[name] for name in lower if name.startswith("http_") and name not in _KNOWN}
    for name, found in headers.items():
        if slot := header_slot(name.removeprefix("http_")):
            slots[slot] = found
    return slots


def meaning(slots: Mapping[str, str], durations: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The attributes of a `Format` that the names of times and durations tell, or samples of the durations."""
    time, total = slots.get("time", ""), slots.get("total", "")
    unit, note = unit_of(total, durations["total"])
    pattern = _PATTERN_NOTE if slots.get("url", "").lower() == _PATTERN.lower() else ""
    first_unit, doubt = _unit_of_first(slots, durations, unit)
    by_nginx = total in ("request_time", "reqtime") or time == "msec" or (total and unit == 1.0)
    return {
        "stamp": Stamp("any", "end" if by_nginx else "start") if time else Stamp("none"),
        "total_unit": unit,
        "first_unit": first_unit,
        "named": named_units(total, slots.get("first", "")),
        "server": "nginx" if by_nginx else "unknown",
        "note": "; ".join(filter(None, (note, doubt, pattern))),
    }


def _unit_of_first(slots: Mapping[str, str], durations: Mapping[str, Sequence[str]], unit: float) -> tuple[float, str]:
    """The unit of the time to the first byte, and a note: that of its name, or of the whole time, or of its values."""
    first = slots.get("first", "")
    known = unit_by_name(first) or ("total" in slots and unit)
    return (known, "") if known else unit_of(first, durations["first"])
