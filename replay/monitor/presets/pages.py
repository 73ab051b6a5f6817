"""Reads pages that servers serve about themselves: nginx's ``stub_status``, Prometheus' text format, node_exporter.

A page is what a stranger sent: its size and time are bounded, redirects are not followed, and only the lines of the
wanted metric are parsed.
"""

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from logreplay.replay.monitor.presets.figures import Figure, Growth, Source, fetched

if TYPE_CHECKING:
    from aiohttp import ClientSession

Samples = list[tuple[Mapping[str, str], float]]
"""Labels and value of each sample of a metric."""

_MOST: Final = 5000
"""Samples of one metric; to read them takes the process beside the replay 0.2 s, in which it answers nobody."""
_URL: Final = re.compile(r"https?://[^/\s]\S*")
_STUB: Final = re.compile(
    r"Active connections: (\d{1,18})\s+server accepts handled requests(?: request_time)?\s+"
    r"(\d{1,18}) (\d{1,18}) (\d{1,18})[ \d]*\s+Reading: (\d{1,18}) Writing: (\d{1,18}) Waiting: (\d{1,18})\s*"
)
_CHOSEN: Final = re.compile(
    r"(?:(?P<joined>sum|max|min)\()?(?P<metric>[A-Za-z_:][\w:]*)(?:\{(?P<labels>.*)\})?(?P<end>\)?)"
)
_LABEL: Final = re.compile(r'\s*([A-Za-z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')


def checked_url(kind: str, url: str) -> str:
    """Check the URL of a page."""
    if not _URL.fullmatch(url):
        raise ValueError(f"{kind}:{url}: expected a url behind {kind}:, such as {kind}:http://127.0.0.1:8080/status")
    return url


class StubStatus(Source):
    """The figures of nginx's ``stub_status``. Source: https://nginx.org/en/docs/http/ngx_http_stub_status_module.html."""

    figures: ClassVar[tuple[str, ...]] = ("active", "writing", "waiting", "accepts_per_s", "requests_per_s")

    def __init__(self, text: str) -> None:
        self._url = checked_url("nginx", text)
        self._accepts, self._requests = Growth(), Growth()

    async def read(self, session: "ClientSession", at: float) -> Mapping[str, Figure]:
        text = await fetched(self._url, session)
        if not (page := _STUB.fullmatch(text)):
            raise ValueError(f"no page of stub_status, but {text[:40]!r}")
        active, accepts, _, requests, _, writing, waiting = map(float, page.groups())
        return {
            "active": Figure(active),
            "writing": Figure(writing),
            "waiting": Figure(waiting),
            "accepts_per_s": Figure(self._accepts.since(at, accepts)),
            "requests_per_s": Figure(self._requests.since(at, requests)),
        }


class PrometheusPage(Source):
    """One metric of a page of metrics: ``URL#metric{label="value"}``, ``URL#sum(metric)``, also ``max`` and ``min``."""

    def __init__(self, text: str) -> None:
        url, _, chosen = text.partition("#")
        self._url = checked_url("prometheus", url)
        found = _CHOSEN.fullmatch(chosen)
        if not found or bool(found["joined"]) != bool(found["end"]):
            raise ValueError(
                f"prometheus:{text}: expected the metric behind #, such as {url}#queue_length, "
                f'#queue_length{{name="a"}} or #sum(queue_length)'
            )
        self._metric, self._joined = found["metric"], found["joined"]
        self._labels = dict(_LABEL.findall(found["labels"] or ""))
        if _LABEL.sub("", found["labels"] or "").strip():
            raise ValueError(f'prometheus:{text}: expected labels such as {{name="a",zone="b"}}')

    async def read(self, session: "ClientSession", at: float) -> Mapping[str, Figure]:
        samples = samples_of(await fetched(self._url, session), self._metric)
        values = [value for labels, value in samples if self._labels.items() <= labels.items()]
        if not values:
            missing = f"{self._metric} with these labels" if samples else f"metric {self._metric}"
            raise ValueError(f"the page has no {missing}")
        if len(values) > 1 and not self._joined:
            raise ValueError(f"{len(values)} samples of {self._metric}: give labels of one, or sum({self._metric})")
        join = {"max": max, "min": min}.get(self._joined or "", math.fsum)
        return {"": Figure(float(join(values)))}


class NodeExporter(Source):
    """The figures of a host by its node_exporter: busy processors, runnable processes, open files."""

    figures: ClassVar[tuple[str, ...]] = ("cpu", "runnable", "descriptors")

    def __init__(self, text: str) -> None:
        self._url = checked_url("node", text)
        self._busy = Growth()

    async def read(self, session: "ClientSession", at: float) -> Mapping[str, Figure]:
        text = await fetched(self._url, session)
        modes = samples_of(text, "node_cpu_seconds_total")
        if not modes:
            raise ValueError("no page of node_exporter: it has no node_cpu_seconds_total")
        busy = math.fsum(value for labels, value in modes if labels.get("mode") not in ("idle", "iowait"))
        cores = float(len({labels.get("cpu") for labels, _ in modes}))
        return {
            "cpu": Figure(self._busy.since(at, busy), cores),
            "runnable": _only(text, "node_procs_running"),
            "descriptors": Figure(_only(text, "node_filefd_allocated").value, _only(text, "node_filefd_maximum").value),
        }


def _only(text: str, metric: str) -> Figure:
    samples = samples_of(text, metric)
    return Figure(samples[0][1]) if len(samples) == 1 else Figure(None)


def samples_of(page: str, metric: str) -> Samples:
    """Read the samples of one metric from a page in the text format.

    Source: https://prometheus.io/docs/instrumenting/exposition_formats/.
    """
    from prometheus_client.parser import text_string_to_metric_families

    lines = [line for line in page.splitlines() if re.match(rf"{re.escape(metric)}[{{\s]", line)]
    if len(lines) > _MOST:
        raise ValueError(
            f"the page has {len(lines):,} samples of {metric}, more than {_MOST:,}: watch a metric with fewer, or "
            "a query of Prometheus"
        )
    found: Samples = []
    try:
        for family in text_string_to_metric_families("".join(f"{line}\n" for line in lines)):
            found += [(each.labels, float(each.value)) for each in family.samples if each.name == metric]
    except (ValueError, IndexError, KeyError, AttributeError) as error:
        raise ValueError(f"a line of {metric} cannot be read: {error}") from None
    return found
