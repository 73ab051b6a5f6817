"""Renders snapshots in Prometheus' text format.

Counters are of the whole run; ``logreplay_response_seconds`` is a histogram, so that a query can form any quantile
over any time. Source: https://prometheus.io/docs/instrumenting/exposition_formats/ (text format 0.0.4).
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from prometheus_client import core, generate_latest
from prometheus_client.registry import Collector

from logreplay.replay.monitor.snapshot import BOUNDS, VERDICTS, Snapshot

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def exposition(snapshot: Snapshot) -> bytes:
    """A snapshot as text that Prometheus can scrape."""
    return generate_latest(_Metrics(snapshot))


class _Metrics(Collector):
    def __init__(self, snapshot: Snapshot) -> None:
        self._now = snapshot

    def collect(self) -> Iterator[core.Metric]:
        now, totals, rate, lag = self._now, self._now.totals, self._now.rate, self._now.lag
        ended = {"ok": totals.ok, "http_error": totals.http_error, "net_error": totals.net_error}
        yield core.InfoMetricFamily("logreplay", "What runs.", {"command": now.command, "target": now.target})
        yield _gauge("running", "1 until the run is over, then 0.", not now.over)
        yield _gauge("elapsed_seconds", "Seconds since the run began.", now.second)
        yield core.InfoMetricFamily("logreplay_stage", "The step or trial that runs.", {"stage": now.stage.name})
        rates = {"offered": rate.offered, "sent": rate.sent, "completed": rate.completed}
        yield _gauge("rate", "Requests per second in the last second.", rates, "kind")
        yield _gauge("in_flight", "Requests in flight.", now.in_flight)
        yield _counter("scheduled", "Requests sent or dropped.", totals.scheduled)
        yield _counter("sent", "Requests sent.", totals.sent)
        outcomes = {**ended, "dropped": totals.dropped}
        yield _counter("requests", "Requests that have ended, by outcome.", outcomes, "outcome")
        yield _counter("failed", "Requests sent that failed: the errors of the tables.", totals.failed)
        yield _counter("errors", "Requests without a whole response, by error.", totals.errors, "error")
        yield _counter("responses", "Responses by status.", totals.status, "status")
        yield _counter("received_bytes", "Bytes of response bodies.", totals.bytes)
        counts = (*(totals.buckets or (0,) * len(BOUNDS)), sum(ended.values()))
        buckets = list(zip((*(f"{bound:g}" for bound in BOUNDS), "+Inf"), counts, strict=True))
        for name, text in (
            ("logreplay_response_duration_seconds", "Response time from the scheduled send time."),
            ("logreplay_response_seconds", "The same, by its older name."),
        ):
            yield core.HistogramMetricFamily(name, text, buckets, totals.seconds)
        quantiles = {"0.5": lag.p50, "0.99": lag.p99, "1": lag.max}
        yield _gauge("lag_seconds", "Generator lag in the last second.", quantiles, "quantile")
        verdicts = {verdict: verdict == now.verdict for verdict in VERDICTS if now.verdict}
        yield _gauge("verdict", "1 for the verdict on the step or trial so far.", verdicts, "verdict")
        yield _gauge("watch", "Figures of the probes (--watch).", now.watch, "name")


def _family(
    kind: type[Any], name: str, text: str, value: float | Mapping[Any, float | None], label: str = ""
) -> core.Metric:
    """One value; or one for each value of a label, where it is known."""
    labels = [label] if label else None
    family = kind(f"logreplay_{name}", text, labels=labels)
    for key, known in value.items() if isinstance(value, Mapping) else [("", value)]:
        if known is not None:
            family.add_metric([str(key)] if labels else [], known)
    return family  # type: ignore[no-any-return]


_gauge: Final = partial(_family, core.GaugeMetricFamily)
_counter: Final = partial(_family, core.CounterMetricFamily)
