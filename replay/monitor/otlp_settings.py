"""Settings of a push of metrics, from ``--otlp`` and the variables of OpenTelemetry, and counts of the pushes. Pure.

A light module: the process that sends loads it, too.

Source: https://opentelemetry.io/docs/specs/otel/protocol/exporter/ (endpoints and headers),
https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ (resource attributes).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit

from logreplay.core.masking import masked

_PATH: Final = "/v1/metrics"
_DEFAULT: Final = "http://localhost:4318"
ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
METRICS_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
HEADERS: Final = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS")
_OURS: Final = frozenset(
    {"content-length", "content-type", "transfer-encoding", "content-encoding", "host", "connection"}
)
RESOURCE: Final = "OTEL_RESOURCE_ATTRIBUTES"
SERVICE: Final = "OTEL_SERVICE_NAME"
LAST_S: Final = 4.0
"""Longest time for the last push."""


@dataclass(frozen=True, slots=True)
class OtlpSettings:
    """Where metrics are pushed.

    Attributes:
        url: takes the metrics by POST.
        headers: sent with them; they may hold secrets.
        resource: attributes of what sends, by name.
        interval: seconds between two pushes.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    resource: Mapping[str, str] = field(default_factory=dict)
    interval: float = 10.0


def otlp_url(text: str) -> str:
    """Check an endpoint; return an empty text for ``env`` and for none, which mean the endpoint of the variables."""
    if text in ("", "env"):
        return ""
    try:
        parts = urlsplit(text)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        whole = False
    if not whole or not text.isascii() or any(letter <= " " for letter in text):
        raise ValueError(f"{masked(text)!r}: expected the http:// or https:// URL of a collector, such as {_DEFAULT}")
    return text


def otlp_settings(typed: str, environment: Mapping[str, str]) -> OtlpSettings:
    """The settings of a push.

    Args:
        typed: the endpoint of ``--otlp``; empty: the endpoint of the variables, or port 4318 of this machine.
        environment: the variables.
    """
    given = {name: text.strip() for name, text in environment.items() if text.strip()}
    if typed or METRICS_ENDPOINT not in given:
        name, url = ("--otlp", typed) if typed else (ENDPOINT, given.get(ENDPOINT, _DEFAULT))
    else:
        name, url = METRICS_ENDPOINT, given[METRICS_ENDPOINT]
    try:
        otlp_url(url)
        url = url if name == METRICS_ENDPOINT else _for_metrics(url)
    except ValueError as error:
        raise ValueError(f"{name}={error}") from None
    headers: dict[str, str] = {}
    for variable in HEADERS:
        headers |= _pairs(variable, given.get(variable, ""))
    for key, value in headers.items():
        if not (key.isascii() and key.replace("-", "").replace("_", "").isalnum() and value.isprintable()):
            raise ValueError(f"{' or '.join(HEADERS)}: {key!r} cannot be a header; write NAME=VALUE,NAME=VALUE")
    named = {key.lower() for key in headers}
    for key in sorted(named & _OURS):
        raise ValueError(f"{' or '.join(HEADERS)}: {key} is set by logreplay for each push; leave it out")
    if "authorization" in named and "@" in urlsplit(url).netloc:
        raise ValueError(f"{name} has a password, and {' or '.join(HEADERS)} an authorization; give one of them")
    resource = {"service.name": "logreplay", **_pairs(RESOURCE, given.get(RESOURCE, ""))}
    return OtlpSettings(url, headers, resource | ({"service.name": given[SERVICE]} if SERVICE in given else {}))


def _for_metrics(base: str) -> str:
    """The address for metrics of an endpoint for all signals; a query stays behind the path."""
    parts = urlsplit(base)
    path = parts.path if parts.path.endswith(_PATH) else parts.path.rstrip("/") + _PATH
    return parts._replace(path=path, fragment="").geturl()


def _pairs(variable: str, text: str) -> dict[str, str]:
    """Read ``k=v,k=v`` with percent-encoded values."""
    pairs = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"{variable}: expected NAME=VALUE,NAME=VALUE; a part of it has no '='")
        pairs[unquote(key.strip())] = unquote(value.strip())
    return pairs


@dataclass(frozen=True, slots=True)
class PushCounts:
    """Counts of the pushes so far.

    Attributes:
        url: address of the collector.
        made: number of pushes.
        failed: number of pushes that no collector accepted.
        why: reason of the last failure.
        ended: True if the state at the end was among them.
    """

    url: str = ""
    made: int = 0
    failed: int = 0
    why: str = ""
    ended: bool = False

    def and_one(self, why: str, *, ended: bool = False) -> "PushCounts":
        """With one more, why it failed (empty: it did not), and whether it was that of the end."""
        return PushCounts(self.url, self.made + 1, self.failed + bool(why), why or self.why, ended)

    def sentence(self) -> str:
        """For people, once the run is over; empty if none failed."""
        found = []
        if self.failed:
            hint = "; port 4317 is for gRPC, OTLP over HTTP has port 4318" if ":4317" in self.url else ""
            found.append(f"{self.failed} of {self.made} pushes failed, the last one: {self.why}{hint}")
        if not self.ended:
            found.append("the state at the end was not pushed: the process that pushes did not do so in time")
        return f"--otlp {masked(self.url)}: {'; '.join(found)}" if found else ""
