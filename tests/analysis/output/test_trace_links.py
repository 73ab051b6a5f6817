"""The slowest requests of the report name their traces, and link those that were sampled; nothing else is linked."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import simulate
from logreplay.analysis.analyze import analyse
from logreplay.analysis.output import html
from logreplay.analysis.output.trace_links import PLACE, is_sampled, link, trace_url
from logreplay.analysis.summary import About
from logreplay.cli.main import run
from logreplay.core.record import RESULT_COLUMNS, to_csv
from logreplay.replay.engine.trace_ids import TraceIds
from simulate import SimulatedQueue

SHARE = 0.05
URL = f"https://traces.example/{PLACE}?a=1&b=2"


@pytest.fixture(scope="module")
def traced() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    rows = simulate.serve(simulate.sweep([50, 100], 4, rng), SimulatedQueue(4, 0.016), rng)
    return rows.with_columns(TraceIds.of(SHARE, seed=1).ids(rows["seq"].to_numpy()))


def linked(text: str) -> list[str]:
    return re.findall(r'<a href="([^"]*)" rel="noreferrer">[0-9a-f]{32}</a>', text)


@pytest.mark.usefixtures("without_drawing")
def test_sampled_requests_are_linked_and_the_slowest_of_them_have_a_table(traced: pl.DataFrame, tmp_path: Path) -> None:
    about = About(options={"trace": SHARE, "trace_url": URL})
    analysis = analyse(traced, about)
    text, summary = html.html(analysis), analysis.summary
    response = pl.sum_horizontal("lag", "queued", "connect", "latency", "xfertime")
    by_time = traced.sort(response, descending=True)["trace_id"].to_list()
    assert {row["trace_id"] for row in summary["slowest"]} == {*by_time[:20]}
    sampled = [each for each in by_time if is_sampled(each, SHARE)]
    assert len(sampled) == pytest.approx(SHARE * len(by_time), abs=15)
    assert {row["trace_id"] for row in summary["slowest_sampled"]} == {*sampled[:20]}
    assert {*linked(text)} >= {f"https://traces.example/{each}?a=1&amp;b=2" for each in sampled[:20]}
    assert all(any(each in address for each in sampled) for address in linked(text))
    assert "Slowest sampled requests of all steps" in text

    (tmp_path / "results.csv").write_bytes(to_csv(traced, header=True))
    read = analyse(tmp_path / "results.csv", about)
    assert read.summary["slowest"] == summary["slowest"]
    words = [
        "analyze",
        str(tmp_path / "results.csv"),
        "-o",
        str(tmp_path / "out"),
        "--trace-url",
        "http://t/{trace_id}",
    ]
    assert run(words) == 0
    assert {f"http://t/{each}" for each in by_time[:20]} == {*linked((tmp_path / "out" / "report.html").read_text())}
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["options"]["trace_url"] == "http://t/{trace_id}"


@pytest.mark.usefixtures("without_drawing")
def test_a_log_without_traces_has_no_column_for_them(traced: pl.DataFrame) -> None:
    analysis = analyse(traced.select(*RESULT_COLUMNS), About(options={"trace_url": URL}))
    assert ">trace</th>" not in html.html(analysis)
    assert "trace_id" not in analysis.summary["slowest"][0]
    assert "slowest_sampled" not in analysis.summary


@pytest.mark.usefixtures("without_drawing")
@pytest.mark.parametrize(
    "url", ["javascript:alert(1)//{trace_id}", 'https://"><script>{trace_id}', 7, None, "https://t/"]
)
def test_a_summary_of_others_makes_no_link_that_is_not_http(traced: pl.DataFrame, url: object) -> None:
    odd = traced.with_columns(trace_id=pl.lit("<script>alert(2)</script>" + "0" * 20))
    for rows in (odd, traced.with_columns(trace_id=pl.lit(None, pl.String)), traced):
        text = html.html(analyse(rows, About(options={"trace": 1.0, "trace_url": url})))
        assert "<script>alert" not in text
        assert "<script>0" not in text
        assert all(address.startswith("https://") for address in linked(text))


@pytest.mark.parametrize(
    "text",
    ["https://t/", "ftp://t/{trace_id}", "//t/{trace_id}", "https:///{trace_id}", "https://u:p@t/{trace_id}", "https://[/{trace_id}",
     "https://t/ {trace_id}", "https://t/\x07{trace_id}", "javascript:{trace_id}"],
)  # fmt: skip
def test_an_address_that_no_trace_has_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected an address|password|blank or a control byte"):
        trace_url(text)
    assert link(text, "a" * 32) is None


def test_an_address_gets_the_id_in_each_place() -> None:
    grafana = 'https://g/explore?left={"query":"{trace_id}"}#{trace_id}'
    assert link(trace_url(grafana), "a" * 32) == grafana.replace(PLACE, "a" * 32)
    assert [link(URL, odd) for odd in ("a" * 31, "g" * 32, "A" * 32, None)] == [None] * 4
