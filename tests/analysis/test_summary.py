"""What summary.json says of the requests of a run."""

import re
from html import unescape
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

import simulate
from logreplay.analysis.analyze import analyse
from logreplay.analysis.output.folder import write_beside
from logreplay.analysis.output.html import html
from logreplay.analysis.output.pictures import draw
from logreplay.analysis.summary_rows import latency_rows, step_rows, verdict_word
from support.simulated_results import write_results

PLACE = pl.int_range(pl.len())
LAST_TENTH = PLACE.ge(pl.len() - pl.len() // 10)


def one_step(folder: Path) -> pl.DataFrame:
    return pl.read_csv(write_results(folder, [50], 8), infer_schema_length=None)


def in_error(step: pl.DataFrame, word: str, rows: pl.Expr, **values: float) -> pl.DataFrame:
    """The requests of a step, some of which have an error, no status, and these values."""
    told = {"error": word, "rc": None, **values}
    changed = {name: pl.when(rows).then(pl.lit(value)).otherwise(name) for name, value in told.items()}
    return step.with_columns(pl.col("error").cast(pl.String)).with_columns(**changed)


def test_requests_cancelled_by_the_stop_are_counted_by_name_and_not_in_percentiles(tmp_path: Path) -> None:
    stopped = in_error(one_step(tmp_path), "cancelled", LAST_TENTH, latency=30.0)
    stopped.write_csv(tmp_path / "stopped.csv")
    summary, _ = write_beside(tmp_path / "stopped.csv")
    number = stopped.height // 10
    assert summary["errors"]["cancelled"] == number
    assert summary["answer"].endswith(f"; {number} cancelled")
    assert summary["response_s"]["p95"] is not None
    assert summary["response_s"]["count"] == stopped.height - number
    assert summary["slowest"][0]["response"] == summary["response_s"]["max"] < 30


def test_requests_that_a_limit_held_back_until_the_stop_are_in_no_rate_of_sending(tmp_path: Path) -> None:
    held = in_error(one_step(tmp_path), "cancelled", PLACE % 2 == 1, queued=1.5, connect=0.0, latency=0.0, xfertime=0.0)
    held.write_csv(tmp_path / "held.csv")
    summary, _ = write_beside(tmp_path / "held.csv")
    counts = summary["requests"]
    assert counts["not_sent"] == held.height // 2
    assert counts["scheduled"] == held.height == counts["sent"] + counts["not_sent"]
    assert summary["rate"]["sent"] == pytest.approx(25, rel=0.1)
    found = analyse(tmp_path / "held.csv")
    assert found.seconds["sent"].sum() == counts["sent"]
    assert found.steps["sent"].to_list() == pytest.approx([25], rel=0.1)


def test_the_lag_is_that_of_all_requests_also_of_those_cancelled_by_the_stop(tmp_path: Path) -> None:
    """The findings of a run count the lag of requests that were sent late and then cancelled: so does the table."""
    stopped = in_error(one_step(tmp_path).with_columns(lag=0.001), "cancelled", LAST_TENTH, lag=0.234)
    stopped.write_csv(tmp_path / "stopped.csv")
    summary, _ = write_beside(tmp_path / "stopped.csv")
    assert (summary["lag_s"]["p50"], summary["lag_s"]["p95"]) == (0.001, 0.234)
    assert summary["lag_s"]["count"] == stopped.height
    lags = {name: lag for name, _, _, lag in latency_rows(summary)}
    assert (lags["min"], lags["p95"]) == ("1 ms", "234 ms")


def test_the_mean_and_the_maximum_are_those_of_the_requests_that_did_not_fail(tmp_path: Path) -> None:
    failing = PLACE % 5 == 0
    slow = one_step(tmp_path).with_columns(
        rc=pl.when(failing).then(500).otherwise("rc"), latency=pl.when(failing).then(9.5).otherwise("latency")
    )
    slow.write_csv(tmp_path / "slow.csv")
    summary, _ = write_beside(tmp_path / "slow.csv")
    response, ok = summary["response_s"], summary["ok_response_s"]
    assert response["failed"] == slow.filter(failing).height
    assert [response[name] for name in ("min", "mean", "max")] == [ok[name] for name in ("min", "mean", "max")]
    assert response["max"] < 9


def test_requests_that_were_not_sent_are_no_failed_ones(tmp_path: Path) -> None:
    """A worker was lost, and a third of the requests with it: "33 % of the requests failed", where none did."""
    partial = in_error(one_step(tmp_path), "dropped", PLACE % 3 == 0)
    partial.write_csv(tmp_path / "partial.csv")
    answer = write_beside(tmp_path / "partial.csv")[0]["answer"]
    number = -(-partial.height // 3)
    assert "failed" not in answer.partition("; ")[2]
    assert answer.endswith(f"; {number} of {partial.height} requests were not sent (dropped)")


def test_a_run_that_sent_no_request_is_not_valid(tmp_path: Path) -> None:
    """It was VALID: "0 requests/s: p50 failed; 399 of 399 requests were not sent (dropped)"."""
    none = in_error(one_step(tmp_path), "dropped", PLACE >= 0, connect=0.0, latency=0.0, xfertime=0.0)
    none.write_csv(tmp_path / "none.csv")
    mixed = in_error(none, "cancelled", PLACE % 2 == 1, queued=1.5)
    mixed.write_csv(tmp_path / "mixed.csv")
    for name, text in (
        ("none", f"nothing was measured: all requests ({none.height}) were dropped, none was sent"),
        ("mixed", f"no response came before the end: all requests ({none.height}) were cancelled or dropped when"),
    ):
        summary, _ = write_beside(tmp_path / f"{name}.csv")
        assert summary["verdict"] == "RATE_MISSED"
        assert next(each["text"] for each in summary["findings"] if each["severity"] == "void").startswith(text)


@pytest.mark.usefixtures("without_drawing")
def test_a_sweep_of_which_most_requests_were_dropped_does_not_blame_the_target() -> None:
    """It was TARGET_FAILING, or the analysis crashed."""
    rng = np.random.default_rng(1)
    rows = simulate.serve(simulate.sweep([40, 60, 80, 100, 120], 10, rng), simulate.SimulatedQueue(4, 0.016), rng)
    kept = pl.int_range(pl.len()) % 8 == 0
    rows = rows.with_columns(
        error=pl.when(~kept).then(pl.lit("dropped")), rc=pl.when(kept).then("rc").otherwise(pl.lit(0))
    )
    found = analyse(rows)
    summary = found.summary
    assert summary["requests"]["dropped"] > 3000
    assert [row[3] for row in step_rows(found.steps)] == ["0"] * 5
    counts = summary["requests"]
    page = unescape(html(found))
    assert f'{counts["scheduled"]:,}</dd><dd class="remark">0 failed, {counts["dropped"]:,} not sent</dd>' in page
    routes = re.findall(r'<td class="url">[^<]*</td><td>[\d,]+</td><td>([\d,]+)</td>', page)
    assert len(routes) > 5
    assert {*routes} == {"0"}
    assert summary["verdict"] == "VALID"
    assert summary["answer"].endswith("; not reached, since requests were dropped: 40/s, 60/s, 80/s, 100/s, 120/s")
    drawn = draw(Figure().add_subplot(), found, "throughput")
    assert [text.get_text() for text in drawn.texts] == []  # no rate has a median beside which it could stand
    assert not {"target_failing", "outage"} & {finding["code"] for finding in summary["findings"]}


def test_a_table_of_seconds_counts_no_dropped_request_as_a_failure(tmp_path: Path) -> None:
    halves = [(second, 10 * (second // 30 + 1)) for second in range(90)]
    lines = [f"{second},{2 * half},{half},{half},{half},0,0.02,{half}" for second, half in halves]
    table = tmp_path / "seconds.csv"
    table.write_text("\n".join(["second,offered,sent,completed,errors,in_flight,mean,dropped", *lines]))
    found = analyse(table)
    assert found.steps["verdict"].to_list() == ["stable"] * 3
    assert [row[3] for row in step_rows(found.steps)] == ["0"] * 3
    assert '"remark">0 failed, 1,800 not sent<' in unescape(html(found))


@pytest.mark.parametrize(
    ("rate", "verdict", "limit", "word"),
    [
        (240.0, "stable", 250.0, "stable"),
        (246.0, "stable", 250.0, "at limit"),
        (260.0, "stable", 250.0, "at limit"),
        (260.0, "overloaded", 250.0, "overloaded"),
        (260.0, "stable", None, "stable"),
        (260.0, None, 250.0, "–"),
    ],
)
def test_a_stable_step_at_the_rate_of_saturation_or_above_is_shown_as_at_limit(
    rate: float, verdict: str | None, limit: float | None, word: str
) -> None:
    assert verdict_word({"rate": rate, "verdict": verdict}, limit) == word
