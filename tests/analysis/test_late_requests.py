"""A percentile that the generator's lag reaches is not given, by no table, verdict or picture, and each says why."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from logreplay.analysis import api
from logreplay.analysis.analyze import Analysis, analyse
from logreplay.analysis.input import arrays
from logreplay.analysis.output.folder import write_folder
from logreplay.analysis.output.plots.single_run import spread
from logreplay.analysis.statistics.quantiles import FAILED
from logreplay.analysis.summary_rows import latency_rows, step_rows
from logreplay.analysis.tables import aggregate
from logreplay.analysis.verdict.capacity import capacity
from logreplay.analysis.verdict.comparison import compare
from logreplay.analysis.verdict.judged_runs import gate
from logreplay.core.record import to_csv

SECONDS = 10


def run(*, late: float = 0.04, rates: tuple[int, ...] = (100,), lag: float = 2.0) -> pl.DataFrame:
    """A target that answers in 5 ms; of the first rate a share of the requests was sent 2 s late."""
    counts = [SECONDS * rate for rate in rates]
    step = np.repeat(np.arange(len(rates)), counts)
    within = np.concatenate([np.arange(count) / rate for count, rate in zip(counts, rates, strict=True)])
    place = np.arange(len(step))
    is_late = (step == 0) & (place >= 0.5 * counts[0]) & (place < (0.5 + late) * counts[0])
    started = pl.Series(step * SECONDS * 1.5 + within)
    return pl.DataFrame(
        {
            "date": "2026-01-01",
            "time": pl.from_epoch((started * 1e6).cast(pl.Int64), time_unit="us").dt.strftime("%H:%M:%S.%6f"),
            "latency": 0.005,
            "xfertime": 0.0,
            "thinktime": 0.0,
            "bytes": 10,
            "url": pl.Series(np.where(place % 2, "/a", "/b")),
            "rc": 200,
            "op": "GET",
            "seq": place,
            "row": place,
            "step": step,
            "offered": np.array(rates, float)[step],
            "scheduled": started,
            "lag": np.where(is_late, lag, 0.0),
            "connect": 0.0,
            "error": pl.Series([None] * len(step), dtype=pl.String),
            "expected_rc": 200,
            "expected_bytes": 10,
            "expected_latency": 0.005,
            "client": "1",
            "queued": 0.0,
        }
    )


def analysed(rows: pl.DataFrame, folder: Path) -> Analysis:
    """The analysis of a file with these rows."""
    (folder / "results.csv").write_bytes(to_csv(rows, header=True))
    return analyse(folder / "results.csv")


def test_the_figures_of_a_step_that_the_lag_reaches_are_empty_and_the_others_are_given(tmp_path: Path) -> None:
    (step,) = analysed(run(), tmp_path).steps.to_dicts()
    assert [step[name] for name in ("p50", "p90", "p95")] == [0.005] * 3
    assert [step[name] for name in ("p99", "mean", "max", "ok_p99", "p99_low")] == [None] * 5
    assert step["valid_up_to"] == 0.96
    (steady,) = analysed(run(late=0), tmp_path).steps.to_dicts()
    assert [steady[name] for name in ("p99", "mean", "max", "ok_p99")] == pytest.approx([0.005] * 4)
    assert steady["valid_up_to"] == 1.0


def test_seconds_and_routes_leave_them_out_too() -> None:
    requests = arrays.read(run())
    seconds = aggregate.seconds(requests)
    assert seconds["p50"].to_list()[:10] == [0.005] * 10
    assert (seconds["p95"].to_list()[4:7], seconds["lag_max"][5]) == ([0.005, None, 0.005], 2.0)
    routes = aggregate.by_route(requests)
    assert routes["p95"].to_list() == [0.005, 0.005]
    assert routes["p99"].to_list() == routes["max"].to_list() == [None, None]


def test_the_summary_of_a_run_says_up_to_which_share_its_times_are_valid_and_why(tmp_path: Path) -> None:
    summary = analysed(run(), tmp_path).summary
    for times in (summary["response_s"], summary["ok_response_s"]):
        assert (times["p95"], times["p99"], times["mean"], times["max"], times["valid_up_to"]) == (
            0.005, None, None, None, 0.96,
        )  # fmt: skip
    assert summary["service_s"]["p99"] == 0.005
    assert summary["answer"] == "100 requests/s: p50 5 ms"
    assert [(each["code"], each["severity"], each["text"]) for each in summary["findings"]] == [
        ("lag", "warning", "requests were sent late, by up to 2 s: the lag adds 2 s to p99, which is left out; stop "
         "other processes, and repeat the run")
    ]  # fmt: skip
    shown = {name: response for name, response, *_ in latency_rows(summary)}
    assert {name: shown[name] for name in ("p95", "p99", "p999", "mean", "max")} == {
        "p95": "5 ms", "p99": "lag", "p999": "–", "mean": "lag", "max": "lag",
    }  # fmt: skip


def test_lag_below_percentiles_that_fall_on_failures_is_told_of_the_others(tmp_path: Path) -> None:
    """The difference of two times that are infinite made the analysis fail."""
    failed = pl.col("seq") % 50 == 7
    rows = run().with_columns(
        rc=pl.when(failed).then(0).otherwise("rc"), error=pl.when(failed).then(pl.lit("timeout")).otherwise("error")
    )
    summary = analysed(rows, tmp_path).summary
    assert (summary["response_s"]["p95"], summary["response_s"]["p99"]) == (None, None)
    (finding,) = (each["text"] for each in summary["findings"] if each["code"] == "lag")
    assert finding.startswith("requests were sent late, by up to 2 s: the lag adds 2 s to p95, which is left out")


def test_lag_in_the_median_leaves_p99_in_all_tables(tmp_path: Path) -> None:
    """Of 10 to 20 ms, 90 % of the requests were 8 ms late, and 2 % took 520 ms: p95 and p99 were left out, too."""
    place = pl.col("seq")
    rows = run(late=0).with_columns(
        latency=pl.when(place % 50 == 7).then(0.52).otherwise(0.01 + (place * 7 % 1000) / 100_000),
        lag=pl.when(place % 10 > 0).then(0.008).otherwise(0.0),
    )
    found = analysed(rows, tmp_path)
    (step,), times = found.steps.to_dicts(), found.summary["response_s"]
    for figures in (step, times, found.summary["ok_response_s"]):
        assert figures["p50"] is None
        assert figures["p99"] == pytest.approx(0.52, abs=0.009)
        assert figures["valid_up_to"] < 0.5
    assert step["p99_low"] is None or step["p99_low"] > 0.5
    (finding,) = (each["text"] for each in found.summary["findings"] if each["code"] == "lag")
    assert finding.startswith("requests were sent late, by up to 8 ms: the lag adds")
    assert "p99" not in finding
    compared = compare(noisy(rows, 1), noisy(rows, 2))
    assert (compared.change, list(compared.quantiles)) == (None, ["p99"])


@pytest.mark.usefixtures("without_drawing")
def test_the_table_and_the_report_of_a_sweep_show_lag_in_their_cells(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_bytes(to_csv(run(rates=(100, 200)), header=True))
    summary, steps = write_folder(tmp_path / "results.csv", tmp_path)
    first, second = step_rows(steps)
    assert (first[4:9], second[4:9]) == (("lag", "5 ms", "5 ms", "5 ms", "lag"), ("5 ms",) * 5)
    assert [each["text"][:46] for each in summary["findings"] if each["code"] == "lag"] == [
        "at 100/s, requests were sent late, by up to 2 "
    ]
    page = (tmp_path / "report.html").read_text()
    assert page.count("<td>lag</td>") >= 2
    assert "“lag”: the generator sent requests late" in page


def test_the_distribution_has_no_time_of_a_request_that_the_run_cancelled() -> None:
    rows = run(late=0)
    held = pl.col("seq") >= 600  # waited for a limit, until the run was stopped
    cancelled = rows.with_columns(
        latency=pl.when(held).then(0.0).otherwise("latency"),
        queued=pl.when(held).then(1.0).otherwise("queued"),
        rc=pl.when(held).then(0).otherwise("rc"),
        error=pl.when(held).then(pl.lit("cancelled")),
    )
    for times in spread(arrays.read(cancelled)).values():
        assert times.tolist() == [5000] * 600


def test_the_distribution_ends_where_the_lag_begins(tmp_path: Path) -> None:
    response = spread(arrays.read(run()))["response time"]
    assert np.count_nonzero(response < FAILED) == 960
    analysed(run(), tmp_path)
    write_folder(tmp_path / "results.csv", tmp_path, plots=False)
    assert (
        "#[Values above the percentile 0.960000000000 may hold the generator's lag]"
        in (tmp_path / "results.hgrm").read_text().splitlines()
    )


def test_capacity_refuses_the_percentile_that_the_lag_reaches_and_no_other(tmp_path: Path) -> None:
    steps = analysed(run(rates=(100, 200)), tmp_path).steps
    assert capacity(steps, tps=1000, within=0.1, percentile="p90").low == 200
    found = capacity(steps, tps=1000, within=0.1, percentile="p99").sentence
    assert found.endswith("; not counted: 100/s (sent late)")


def test_capacity_counts_a_late_step_that_keeps_the_bound_with_the_lag(tmp_path: Path) -> None:
    analysed(run(rates=(100, 200)), tmp_path)
    found = api.capacity(tmp_path, tps=1000, within=3, percentile="p99")
    assert found.not_counted == ()
    assert found.sentence.endswith("; sent late, and counted with the generator's lag: 100/s")
    assert found.likely == 200
    for figure, within, said in (("p99", 0.1, "not counted"), ("mean", 1, "counted with the generator's lag")):
        assert said in api.capacity(tmp_path, tps=1000, within=within, percentile=figure).sentence


def noisy(rows: pl.DataFrame, seed: int) -> pl.DataFrame:
    """The same requests, with times that differ by chance."""
    return rows.with_columns(latency=pl.col("latency") * np.random.default_rng(seed).lognormal(0, 0.1, rows.height))


def test_a_percentile_that_the_lag_reaches_is_not_compared() -> None:
    found = compare(noisy(run(late=0), 1), noisy(run(late=0.02), 2))
    assert list(found.quantiles) == ["p50", "p90"]
    assert found.change
    assert found.change.ratio == pytest.approx(1, abs=0.05)
    assert found.notes[0] == (
        "requests of the candidate were sent late, by up to 2 s: the lag adds 2 s to p99, which is not compared; stop "
        "other processes, and repeat the run"
    )
    assert [check.state for check in gate(found, 0.2)] == ["passed", "passed"]


def test_a_run_of_which_too_many_requests_were_late_is_compared_up_to_its_valid_percentiles() -> None:
    """40 % of the requests were 20 ms late: their pairs are five times as slow. p50 was compared under "nothing to"."""
    found = compare(noisy(run(late=0), 1), noisy(run(late=0.4, lag=0.02), 2))
    assert found.change is None
    assert len(found.by_route) == 0
    assert list(found.quantiles) == ["p50"]
    assert found.sentence.startswith("compared: p50 undecided (")
    assert found.sentence.endswith(
        "; not compared: the typical ratio, p90 and p99: requests were sent late, so that the response times hold the "
        "generator's lag"
    )
    assert [check.state for check in gate(found, 0.05)] == ["passed", "unjudged"]


def test_a_run_sent_late_as_a_whole_has_no_shortest_time_either() -> None:
    summary = analyse(run().with_columns(lag=pl.lit(2.0))).summary
    assert [summary["response_s"][name] for name in ("min", "mean", "p50", "max")] == [None] * 4
    assert "the response times hold the generator's lag" in summary["answer"]
    assert {row[0]: row[1] for row in latency_rows(summary)}["min"] == "lag"
