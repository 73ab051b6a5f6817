"""Renders snapshots in Prometheus' text format.

Response times are a histogram, so that a query can form any quantile over any time.
Source: https://prometheus.io/docs/instrumenting/exposition_formats/ (text format 0.0.4).
"""

from collections.abc import Iterator
from typing import Final

from prometheus_client import core, generate_latest
from prometheus_client.registry import Collector

from logreplay.replay.monitor.metrics import RESPONSE, metrics_of, response_counts
from logreplay.replay.monitor.snapshot import BOUNDS, Snapshot

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SUFFIXES: Final = {"s": "_seconds", "By": "_bytes"}


def exposition(snapshot: Snapshot) -> bytes:
    """A snapshot as text that Prometheus can scrape."""
    return generate_latest(_Metrics(snapshot))


class _Metrics(Collector):
    def __init__(self, snapshot: Snapshot) -> None:
        self._now = snapshot

    def collect(self) -> Iterator[core.Metric]:
        for metric in metrics_of(self._now):
            name = _name(metric.name, metric.unit)
            family = core.Metric(name, metric.text, metric.kind)
            for labels, value in metric.points:
                family.add_sample(name + "_total" * (metric.kind == "counter"), {**labels}, value)
            yield family
        bounds = (*(f"{bound:g}" for bound in BOUNDS), "+Inf")
        buckets = list(zip(bounds, response_counts(self._now), strict=True))
        older = "logreplay.response", "The same, by its older name."
        for name, text in (RESPONSE, older):
            yield core.HistogramMetricFamily(_name(name, "s"), text, buckets, self._now.totals.seconds)


def _name(name: str, unit: str) -> str:
    return name.replace(".", "_") + _SUFFIXES.get(unit, "")
