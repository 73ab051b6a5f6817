"""The functions that read results and send nothing."""

import asyncio
import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import logreplay
from logreplay import analysis
from logreplay.analysis.verdict.compare_log import Fidelity
from logreplay.analysis.verdict.comparison import Comparison
from logreplay.cli.main import run
from support.simulated_results import write_results


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the rows of a sweep."""
    folder = tmp_path_factory.mktemp("sweep")
    write_results(folder, range(50, 401, 50), 5)
    return folder


@pytest.fixture(scope="module")
def slower(sweep: Path) -> Path:
    """The same sweep of a target that is 20 ms slower."""
    rows = analysis.load(sweep)[lambda table: table.columns[:-3]]
    rows["latency"] += 0.02
    path = sweep.parent / "slower.csv"
    rows.to_csv(path, index=False)
    return path


def test_a_test_against_a_stored_baseline(sweep: Path, slower: Path) -> None:
    change = logreplay.compare(sweep, slower, fail_above="5%")
    assert change.change
    assert change.change.low > 1.1, change.sentence
    with pytest.raises(KeyError):
        change.quantiles["p999"]
    assert change.verdict == "slower"
    assert not change.passed
    assert {check.state for check in change.checks[:-1]} == {"passed"}
    assert change.checks[-1].state == "failed"
    same = logreplay.compare(sweep, slower, tolerance="900%")
    assert same.passed
    unlimited = logreplay.compare(sweep, slower)
    assert (unlimited.verdict, unlimited.passed, unlimited.checks[-1].state) == ("slower", False, "skipped")


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        (lambda rows: rows[["url"]], "results: no column latency, xfertime, rc"),
        (lambda rows: rows.assign(rc=1j), "results: row 0, column rc: '1j': expected a number"),
        (lambda rows: rows.assign(latency="soon"), "results: row 0, column latency: 'soon': expected a number"),
    ],
)
def test_a_table_without_results_is_refused_as_other_errors_are(sweep: Path, changed: Any, named: str) -> None:
    table = changed(analysis.load(sweep))
    for call in (lambda: logreplay.compare(sweep, table), lambda: logreplay.capacity(table, demand=9, p99=1)):
        with pytest.raises(logreplay.UsageError, match=named):
            call()


def test_the_texts_of_checks_name_parameters(sweep: Path, slower: Path) -> None:
    texts = [check.text for check in logreplay.compare(sweep, slower, fail_above="1%").checks]
    assert any('fail_above="1.0%"' in text for text in texts)
    assert not [text for text in texts if "--fail-above" in text]


def test_a_run_that_is_invalid_does_not_pass(sweep: Path, slower: Path) -> None:
    void = slower.with_suffix(".summary.json")
    void.write_text('{"findings": [{"code": "lag", "severity": "void", "text": "sent late"}]}')
    try:
        change = logreplay.compare(sweep, slower, fail_above=0.05)
    finally:
        void.unlink()
    assert ("unjudged", f"{slower}: sent late") in [(check.state, check.text) for check in change.checks]
    assert not change.passed


def test_a_comparison_writes_a_picture_and_its_checks(sweep: Path, slower: Path, tmp_path: Path) -> None:
    picture, junit = tmp_path / "changes.png", tmp_path / "junit.xml"
    logreplay.compare(sweep, slower, output=picture, junit=junit)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert 'name="valid runs"' in junit.read_text()
    with pytest.raises(logreplay.TakenError):
        logreplay.compare(sweep, slower, output=picture)


def test_files_are_checked_as_those_of_the_command_line_are(sweep: Path, slower: Path, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("kept")
    with pytest.raises(logreplay.UsageError, match="not JUnit XML"):
        logreplay.compare(sweep, slower, junit=other)
    with pytest.raises(logreplay.UsageError, match="png"):
        logreplay.compare(sweep, slower, output=tmp_path / "changes.gif")
    assert other.read_text() == "kept"


def test_a_folder_with_one_side_of_a_duet_is_refused(sweep: Path, tmp_path: Path) -> None:
    (tmp_path / "baseline.csv").write_bytes((sweep / "results.csv").read_bytes())
    with pytest.raises(logreplay.LogreplayError, match=r"no results\.csv in this folder"):
        logreplay.analyze(tmp_path)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [({"tolerance": 5}, "ambiguous"), ({"fail_above": "much"}, "expected a share"), ({"tolerance": "1001%"}, "1000%")],
)
def test_a_share_that_is_none_is_refused(sweep: Path, slower: Path, wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(logreplay.UsageError, match=told):
        logreplay.compare(sweep, slower, **wrong)


def test_steps_that_tell_nothing_have_not_passed(tmp_path: Path) -> None:
    write_results(tmp_path, (50, 100), 3)
    found = logreplay.analyze(tmp_path)
    assert found.summary["answer"].startswith("not enough data")
    assert (found.verdict, found.summary["answered"], found.passed) == ("VALID", False, False)
    assert [check.state for check in found.checks] == ["skipped"]


def test_machines_for_a_load(sweep: Path) -> None:
    found = logreplay.capacity(sweep, demand=2000, p99=0.3)
    assert found.machines
    assert found.verdict == "VALID"
    assert found.passed
    none = logreplay.capacity(sweep, demand=2000, p90="1ms")
    assert (none.machines, none.verdict, none.checks[0].state) == (None, "NO_ANSWER", "failed")
    with pytest.raises(logreplay.UsageError, match="expected one of"):
        logreplay.capacity(sweep, demand=2000, within=0.3, percentile="p42")  # type: ignore[arg-type]


def test_a_load_to_carry_has_its_earlier_name_and_one_bound_is_needed(sweep: Path) -> None:
    """Without a percentile the bound was silently one on p90."""
    asked: dict[str, Any] = {"p99": 0.3}
    earlier: dict[str, Any] = {"tps": 2000}
    assert (
        logreplay.capacity(sweep, **earlier, **asked).machines
        == logreplay.capacity(sweep, demand=2000, **asked).machines
    )
    older = logreplay.capacity(sweep, demand=2000, within=0.3, percentile="p99")
    written = logreplay.capacity(sweep, demand=2000, bound="p99<300ms")
    assert written == older
    assert older.sentence == logreplay.capacity(sweep, demand=2000, **asked).sentence
    for bounds, told in (
        ({}, "a bound is missing: give one, such as p99="),
        ({"within": 0.3}, "within= does not say which response time it bounds: give p99="),
        ({"p90": 0.3, "p99": 0.3}, "p90= and p99= exclude each other: give one bound"),
        ({"p99": 0.3, "bound": "p99<1s"}, "p99 has two bounds; give one"),
        ({"bound": ("p99<1s", "p90<1s")}, "bound= is given twice: give one bound"),
        ({"p99": 0.3, "bound": "p90<1s"}, "p99= and bound= exclude each other: give one bound"),
        ({"bound": "max<1s"}, "capacity bounds p50, p90, p95, p99, p99.9, mean"),
        ({"p99": 0.3, "within": 0.3}, "p99= and within= exclude each other: give one bound"),
        ({"p99": 0.3, "percentile": "p90"}, "p99= and percentile= exclude each other: give one bound"),
    ):
        with pytest.raises(logreplay.UsageError, match=told):
            logreplay.capacity(sweep, demand=2000, **bounds)
    with pytest.raises(logreplay.UsageError, match="tps is an earlier name of demand: give one of them"):
        logreplay.capacity(sweep, demand=2000, **earlier, **asked)


def test_old_results_are_read_and_nothing_is_written(sweep: Path) -> None:
    before = sorted(sweep.iterdir())
    old = logreplay.analyze(sweep)
    assert old.requests.query("response > 0.05").groupby("url").size().sum() > 0
    assert {"second", "in_flight"} <= set(old.seconds.columns)
    assert len(old.steps) == 8
    assert old.summary["answer"] in old.sentence
    assert old.folder == sweep
    assert sorted(sweep.iterdir()) == before


def test_the_usual_picture_is_that_of_the_command_plot_also_of_a_per_second_table(tmp_path: Path) -> None:
    write_results(tmp_path, [50], 3)
    assert run(["seconds", str(tmp_path), "-o", str(tmp_path / "seconds.csv")]) == 0
    curve, course = (logreplay.analyze(tmp_path / name).plot().axes for name in ("seconds.csv", "results.csv"))
    assert curve[0].get_xlabel() == "offered rate, requests/s"
    assert course[-1].get_xlabel() == "seconds since the start of the run"


def test_results_are_written_where_they_are_asked_for(sweep: Path, tmp_path: Path) -> None:
    found = logreplay.analyze(sweep, output=tmp_path / "out", plots=False)
    assert found.summary["steps"]
    assert (tmp_path / "out" / "summary.json").exists()
    with pytest.raises(logreplay.TakenError):
        logreplay.analyze(sweep, output=tmp_path / "out")
    with pytest.raises(logreplay.TakenError, match="is a file; name a folder with output="):
        logreplay.analyze(sweep, output=tmp_path / "out" / "summary.json", force=True)
    assert found.steps.equals(logreplay.analyze(sweep).steps)


def test_links_to_traces_need_a_report(sweep: Path) -> None:
    with pytest.raises(logreplay.UsageError, match=r"^trace_url= needs output=: ") as refused:
        logreplay.analyze(sweep, trace_url="https://traces/{trace_id}")
    assert refused.value.parameters == ("trace_url", "output")


def test_the_verdict_of_the_run_itself_is_repeated(sweep: Path, tmp_path: Path) -> None:
    results = tmp_path / "results.csv"
    results.write_bytes((sweep / "results.csv").read_bytes())
    assert run(["analyze", str(tmp_path), "--no-plots", "-q"]) == 0
    summary = tmp_path / "summary.json"
    summary.write_text(summary.read_text().replace('"verdict": "VALID"', '"verdict": "GENERATOR_BOUND"', 1))
    found = logreplay.analyze(tmp_path)
    assert (found.verdict, found.valid, found.passed) == ("GENERATOR_BOUND", False, False)


def test_answers_are_copied_pickled_and_shown(sweep: Path, slower: Path) -> None:
    log = slower.with_name("log.csv")
    analysis.load(sweep)[["date", "time", "latency", "xfertime", "thinktime", "bytes", "url", "rc", "op"]].to_csv(
        log, index=False
    )
    answers = [
        logreplay.compare(sweep, slower),
        logreplay.compare(log, slower),
        logreplay.capacity(sweep, demand=10, p90=1),
        logreplay.analyze(sweep),
    ]
    assert isinstance(answers[0], Comparison)
    assert isinstance(answers[1], Fidelity)
    for answer in answers:
        again = pickle.loads(pickle.dumps(copy.deepcopy(answer)))
        assert again.sentence == answer.sentence
        assert again.checks == answer.checks
        assert repr(answer) == f"<{type(answer).__name__} {answer.sentence}>"
        assert "<p><b>" in answer._repr_html_()


def test_the_former_name_for_a_duet_says_what_to_use() -> None:
    with pytest.warns(DeprecationWarning, match=r"logreplay\.analyze"), pytest.raises(logreplay.LogreplayError):
        analysis.duet("nowhere")


def test_readings_work_in_a_running_loop_and_in_a_thread(sweep: Path, slower: Path) -> None:
    async def main() -> str:
        return logreplay.compare(sweep, slower).sentence + logreplay.analyze(sweep).sentence

    told = asyncio.run(main())
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(logreplay.compare, sweep, slower).result().sentence in told
        assert threads.submit(logreplay.analyze, sweep).result().sentence in told


def test_readings_of_failures_advise_in_the_words_of_python(sweep: Path, tmp_path: Path) -> None:
    rows = analysis.load(sweep)[lambda table: table.columns[:-3]]
    rows["rc"] = 500
    rows.to_csv(failing := tmp_path / "failing.csv", index=False)
    texts = [finding.text for finding in logreplay.analyze(failing).findings]
    assert any("with run(crash=True)" in text for text in texts)
    assert "(see run(crash=True))" in logreplay.capacity(failing, demand=2000, p50=0.3).sentence


def test_a_headroom_of_one_is_refused_without_an_offer_that_is_refused_too() -> None:
    with pytest.raises(logreplay.UsageError, match=r"headroom=1\.0: expected a share from 0% to 99%, such as"):
        logreplay.capacity("sweep", demand=10, headroom=1.0)
