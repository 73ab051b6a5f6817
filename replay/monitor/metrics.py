"""The metrics of a run: one table, of which the text for Prometheus and the pushes of OTLP are made.

Names and units are those of OpenTelemetry. A unit in braces leaves no trace in the name that Prometheus gives to a
metric, ``s`` becomes ``_seconds``, ``By`` becomes ``_bytes``. Counts are of the whole run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from logreplay.replay.monitor.snapshot import BOUNDS, VERDICTS, Snapshot

RESPONSE: Final = ("logreplay.response.duration", "Response time from the scheduled send time.")
"""Name and description of the histogram of response times in seconds, whose counts are `response_counts`."""

Points = Sequence[tuple[Mapping[str, str], float]]
"""Labels and values."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric with its values at one instant.

    Attributes:
        kind: kind of the values.
        name: words with dots between.
        unit: unit of the values in UCUM; empty: none.
        text: description.
        points: values.
    """

    kind: Literal["gauge", "counter"]
    name: str
    unit: str
    text: str
    points: Points


def metrics_of(now: Snapshot) -> Iterator[Metric]:
    """The metrics of a snapshot, except for the histograms."""
    gauge, counter = partial(Metric, "gauge"), partial(Metric, "counter")
    totals, lag, rate = now.totals, now.lag, now.rate
    yield gauge("logreplay.info", "", "What runs.", [({"command": now.command, "target": now.target}, 1.0)])
    yield gauge("logreplay.running", "", "1 until the run is over, then 0.", _one(not now.over))
    yield gauge("logreplay.elapsed", "s", "Seconds since the run began.", _one(now.second))
    yield gauge("logreplay.stage.info", "", "The step or trial that runs.", [({"stage": now.stage.name}, 1.0)])
    rates = {"offered": rate.offered, "sent": rate.sent, "completed": rate.completed}
    yield gauge(
        "logreplay.rate", "{requests_per_second}", "Requests per second in the last second.", _by("kind", rates)
    )
    yield gauge("logreplay.in_flight", "{request}", "Requests in flight.", _one(now.in_flight))
    yield counter("logreplay.scheduled", "{request}", "Requests sent, dropped or not sent.", _one(totals.scheduled))
    yield counter("logreplay.sent", "{request}", "Requests sent.", _one(totals.sent))
    outcomes = _by("outcome", {**_ended(now), "dropped": totals.dropped, "not_sent": totals.not_sent})
    yield counter("logreplay.requests", "{request}", "Requests that have ended, by outcome.", outcomes)
    yield counter(
        "logreplay.failed", "{request}", "Requests sent that failed: the errors of the tables.", _one(totals.failed)
    )
    errors = _by("error", totals.errors)
    yield counter("logreplay.errors", "{request}", "Requests without a whole response, by error.", errors)
    yield counter("logreplay.responses", "{response}", "Responses by status.", _by("status", totals.status))
    yield counter("logreplay.received", "By", "Bytes of response bodies, without headers.", _one(totals.bytes))
    quantiles = {"0.5": lag.p50, "0.99": lag.p99, "1": lag.max}
    yield gauge("logreplay.lag", "s", "Generator lag in the last second.", _by("quantile", quantiles))
    verdicts = {verdict: verdict == now.verdict for verdict in VERDICTS if now.verdict}
    yield gauge("logreplay.verdict", "", "1 for the verdict on the step or trial so far.", _by("verdict", verdicts))
    yield gauge("logreplay.watch", "", "Figures of the probes (--watch).", _by("name", now.watch))


def response_counts(now: Snapshot) -> Sequence[int]:
    """Requests whose response time is at most each of `BOUNDS`, then all that have one: the cancelled ones do not."""
    known = sum(_ended(now).values()) + now.totals.not_sent - now.totals.errors.get("cancelled", 0)
    return (*(now.totals.buckets or (0,) * len(BOUNDS)), known)


def _ended(now: Snapshot) -> Mapping[str, int]:
    totals = now.totals
    return {"ok": totals.ok, "http_error": totals.http_error, "net_error": totals.net_error}


def _one(value: float) -> Points:
    return [({}, float(value))]


def _by(label: str, values: Mapping[Any, float | None]) -> Points:
    """One for each value of a label, where it is known."""
    return [({label: str(key)}, float(value)) for key, value in values.items() if value is not None]
