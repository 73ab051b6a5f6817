"""A snapshot in Prometheus' text format.

Counters are of the whole run; ``logreplay_response_seconds`` is a histogram, so that a query can form any quantile
over any time. Source: https://prometheus.io/docs/instrumenting/exposition_formats/ (text format 0.0.4).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from logreplay.replay.monitor.snapshot import BOUNDS, Snapshot

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_VERDICTS: Final = ("VALID", "GENERATOR_BOUND", "RATE_MISSED", "TARGET_FAILING")

_Sample = tuple[str, Mapping[str, str], float]


def exposition(snapshot: Snapshot) -> str:
    """A snapshot as text that Prometheus can scrape."""
    return "".join(_lines(snapshot))


def _lines(now: Snapshot) -> Iterator[str]:
    totals = now.totals
    about = {"command": now.command, "target": now.target}
    yield from _family("info", "gauge", "What runs.", [("", about, 1)])
    yield from _family("running", "gauge", "1 until the run is over, then 0.", [("", {}, not now.over)])
    yield from _family("elapsed_seconds", "gauge", "Since the run began.", [("", {}, now.second)])
    yield from _family("stage_info", "gauge", "The step or trial that runs.", [("", {"stage": now.stage.name}, 1)])
    rates = [(name, getattr(now.rate, name)) for name in ("offered", "sent", "completed")]
    samples = [("", {"kind": name}, rate) for name, rate in rates]
    yield from _family("rate", "gauge", "Requests per second in the last second.", samples)
    yield from _family("in_flight", "gauge", "Requests under way.", [("", {}, now.in_flight)])
    yield from _counter("scheduled", "Requests taken up: sent or dropped.", totals.scheduled)
    yield from _counter("sent", "Requests started.", totals.sent)
    outcomes = [("_total", {"outcome": name}, getattr(totals, name)) for name in _OUTCOMES]
    yield from _family("requests", "counter", "Requests that have ended, by how.", outcomes)
    by_word = [("_total", {"error": word}, count) for word, count in totals.errors.items()]
    yield from _family("errors", "counter", "Requests without a whole answer, by error.", by_word)
    by_status = [("_total", {"status": str(status)}, count) for status, count in totals.status.items()]
    yield from _family("responses", "counter", "Responses by status.", by_status)
    yield from _counter("received_bytes", "Bytes of response bodies.", totals.bytes)
    yield from _family("response_seconds", "histogram", "Response time, from the scheduled instant.", _buckets(now))
    lag = [("", {"quantile": name}, getattr(now.lag, field)) for name, field in _QUANTILES]
    known = [sample for sample in lag if sample[2] is not None]
    yield from _family("lag_seconds", "gauge", "How late requests were started, in the last second.", known)
    verdict = [("", {"verdict": name}, name == now.verdict) for name in _VERDICTS] if now.verdict else []
    yield from _family("verdict", "gauge", "1 for the verdict on the step or trial, so far.", verdict)
    watch = [("", {"name": name}, value) for name, value in now.watch.items() if value is not None]
    yield from _family("watch", "gauge", "Figures from elsewhere (--watch).", watch)


_OUTCOMES: Final = ("ok", "http_error", "net_error", "dropped")
_QUANTILES: Final = (("0.5", "p50"), ("0.99", "p99"), ("1", "max"))


def _buckets(now: Snapshot) -> list[_Sample]:
    ended = now.totals.ok + now.totals.http_error + now.totals.net_error
    counts = now.totals.buckets or (0,) * len(BOUNDS)
    samples: list[_Sample] = [
        ("_bucket", {"le": f"{bound:g}"}, count) for bound, count in zip(BOUNDS, counts, strict=True)
    ]
    return [*samples, ("_bucket", {"le": "+Inf"}, ended), ("_sum", {}, now.totals.seconds), ("_count", {}, ended)]


def _counter(name: str, text: str, value: float) -> Iterator[str]:
    yield from _family(name, "counter", text, [("_total", {}, value)])


def _family(name: str, kind: str, text: str, samples: Sequence[_Sample]) -> Iterator[str]:
    if not samples:
        return
    full = f"logreplay_{name}_total" if kind == "counter" else f"logreplay_{name}"
    yield f"# HELP {full} {text}\n# TYPE {full} {kind}\n"
    for suffix, labels, value in samples:
        inside = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
        yield f"logreplay_{name}{suffix}{{{inside}}} {float(value):.10g}\n"


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
