"""The dashboard of Grafana asks for what /metrics serves and --otlp pushes, and for nothing else."""

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import pytest

from logreplay.replay.monitor.otlp_metrics import payload
from logreplay.replay.monitor.prometheus import exposition
from logreplay.replay.monitor.snapshot import DurationSeries, Rates, Snapshot, Stage, Times, Totals
from support.otlp import labels_of, metrics_of, points_of, prometheus_names

BOARD: Final[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "docs" / "grafana" / "logreplay.json").read_text(encoding="utf-8")
)
STATE: Final = Snapshot(
    "run", "http://127.0.0.1:8080", at=1e9, stage=Stage("a run"), rate=Rates(1, 1, 1), verdict="VALID",
    lag=Times(1, 1, 1, 1, 1), totals=Totals(ok=1, errors={"timeout": 1}, status={200: 1}), watch={"cpu": 1.0},
    durations=(DurationSeries("GET", 200, "", (0.1,), (1, 0), 0.1),),
)  # fmt: skip
PUSHED_ONLY: Final = {"http_client_request_duration_seconds_bucket"}
OF_SERVERS: Final = {"instance", "le"}
"""Labels that Prometheus adds to any series, and to the buckets of any histogram."""


def scraped() -> dict[str, set[str]]:
    """The labels of each series of /metrics."""
    found: dict[str, set[str]] = {}
    for line in exposition(STATE).decode().splitlines():
        if match := re.match(r"(\w+)(?:\{(.*?)\})? ", line):
            found.setdefault(match[1], set()).update(re.findall(r'(\w+)="', match[2] or ""))
    return found


def pushed() -> dict[str, set[str]]:
    """The labels of each series that Prometheus makes of a push."""
    metrics = list(metrics_of(json.dumps(payload(STATE, 0, {})).encode()))
    return {
        name: {label.replace(".", "_") for point in points_of(metric) for label in labels_of(point)}
        for metric in metrics
        for name in prometheus_names(metric)
    }


def queries() -> Iterator[str]:
    for panel in BOARD["panels"]:
        yield from (target["expr"] for target in panel["targets"])
    yield from (each["query"]["query"] for each in BOARD["templating"]["list"] if each["type"] == "query")


@pytest.mark.parametrize("query", [*queries()])
def test_each_query_asks_for_series_and_labels_that_there_are(query: str) -> None:
    names = set(re.findall(r"\b(?:logreplay|http_client)_\w+", query))
    assert names
    for name in names:
        assert name in pushed(), "a push has it"
        assert name in scraped() or name in PUSHED_ONLY, "a scrape has it"
    known = set.union(*(pushed()[name] for name in names)) | OF_SERVERS
    used = {label.strip() for group in re.findall(r"by \((.*?)\)", query) for label in group.split(",")}
    used |= {label for group in re.findall(r"\{(.*?)\}", query) for label in re.findall(r"(\w+)=", group)}
    assert used <= known
    assert query.count("(") == query.count(")")
    assert not re.search(r"rate\((?!\w+_(?:total|bucket))", query), "a rate is of a counter"


def test_legends_name_labels_that_their_query_keeps() -> None:
    for panel in BOARD["panels"]:
        for target in panel["targets"]:
            for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                kept = re.findall(r"by \((.*?)\)", target["expr"])
                (name, *_) = re.findall(r"\b(?:logreplay|http_client)_\w+", target["expr"])
                assert label in (kept[-1].replace(" ", "").split(",") if kept else pushed()[name])


def test_panels_have_numbers_of_their_own_and_do_not_overlap() -> None:
    panels = BOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for one, other in combinations([panel["gridPos"] for panel in panels], 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        assert beside or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    for panel in panels:
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
        assert panel["datasource"]["uid"] == "${datasource}"
