"""``logreplay analyze`` and ``logreplay seconds`` on a result log."""

import gzip
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from logreplay import analysis, readings
from logreplay.cli.exit_codes import Exit
from logreplay.cli.main import cli
from logreplay.core.errors import LogreplayError
from logreplay.core.record import CORE_COLUMNS, RESULT_COLUMNS, to_csv
from logreplay.core.rows import scan
from logreplay.core.zstd import zstd
from support.simulated_results import write_results


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("run"), range(50, 401, 50), 4)


def test_analyze_prints_the_steps_and_the_answer_last_and_names_the_folder(results: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["analyze", str(results), "-o", str(tmp_path / "out"), "--no-plots"])
    assert done.exit_code == 0
    assert "overloaded" in done.stdout
    assert "response time" in done.stdout
    assert "as siege counts" not in done.stdout
    assert done.stdout.splitlines()[0].split()[3:6] == ["errors", "mean", "p50"]
    assert done.stdout.splitlines()[-1].startswith("saturation at about ")
    assert all(line == line.rstrip() for line in done.stdout.splitlines())
    assert done.stderr.splitlines()[-1] == str(tmp_path / "out")
    assert done.stdout.splitlines()[-2].startswith("limit: ")


def test_the_limit_is_in_the_summary_in_python_in_the_report_and_on_the_terminal(results: Path, tmp_path: Path) -> None:
    found = readings.analyze(results, output=tmp_path / "out")
    assert found.limit
    assert found.limit.text == json.loads((tmp_path / "out" / "summary.json").read_text())["limit"]["text"]
    assert found.limit.text[1:] in unescape((tmp_path / "out" / "report.html").read_text())
    shown = CliRunner().invoke(cli, ["analyze", str(results), "-o", str(tmp_path / "again"), "--no-plots"])
    assert f"limit: {found.limit.text}" in shown.stdout


def test_a_percentile_on_a_failed_request_is_null_in_json_and_failed_in_the_table(tmp_path: Path) -> None:
    rows = scan(write_results(tmp_path, (50, 100, 150), 4)).collect()
    some = (pl.col("step") == 2) & (pl.int_range(pl.len()) % 15 == 0)
    rows = rows.with_columns(rc=pl.when(some).then(500).otherwise("rc"))
    (tmp_path / "results.csv").write_bytes(to_csv(rows, header=True))
    command = ["analyze", str(tmp_path), "--no-plots", "-q"]
    table, printed = (CliRunner().invoke(cli, [*command, *how]).stdout for how in ((), ("--json",)))
    assert table.splitlines()[3].count("failed") == 2
    for text in (printed, (tmp_path / "summary.json").read_text()):
        step = json.loads(text, parse_constant=pytest.fail)["steps"][2]
        assert (step["p95"], step["p99"]) == (None, None)
        assert step["p50"] == round(step["p50"], 6)
    assert readings.analyze(tmp_path).summary == json.loads(printed)


def test_a_result_that_this_machine_limited_ends_with_3_as_its_sweep_did(tmp_path: Path) -> None:
    write_results(tmp_path, range(50, 151, 20), 4)
    (tmp_path / "summary.json").write_text('{"limited_steps": {"5": "too few file descriptors"}}')
    done = CliRunner().invoke(cli, ["analyze", str(tmp_path), "--no-plots", "--json"], standalone_mode=False)
    assert json.loads(done.stdout)["verdict"] == "GENERATOR_BOUND"
    assert done.return_value == Exit.INVALID


def test_of_many_steps_a_hundred_are_printed_and_the_rest_counted(tmp_path: Path) -> None:
    write_results(tmp_path, range(20, 141), 1)
    done = CliRunner().invoke(cli, ["analyze", str(tmp_path), "--no-plots"])
    assert done.exit_code == 0
    assert "\n21 more steps are in steps.csv\n" in done.stdout
    assert len((tmp_path / "steps.csv").read_text().splitlines()) == 122


def test_analyze_of_a_folder_fills_that_folder(results: Path) -> None:
    done = CliRunner().invoke(cli, ["analyze", str(results.parent), "--no-plots", "--json", "-q"])
    assert done.stderr == ""
    assert json.loads(done.stdout)["saturation"]["found"]
    assert (results.parent / "steps.csv").exists()


def test_analyze_of_a_folder_leaves_the_files_that_are_there(tmp_path: Path) -> None:
    results = write_results(tmp_path, (50, 100, 150), 2)
    report, steps = tmp_path / "report.html", tmp_path / "steps.csv"

    def made(*words: str) -> dict[Path, int]:
        CliRunner().invoke(cli, ["analyze", str(tmp_path), *words])
        return {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}

    first = made()
    assert report in first
    assert made("--no-plots") == made("--json") == first
    steps.unlink()
    second = made("--json")
    assert steps in second
    assert {path: at for path, at in second.items() if path != steps}.items() <= first.items()
    report.unlink()
    assert {path: at for path, at in made().items() if path not in (report, steps)}.items() <= first.items()
    assert made("--force")[report] > first[report]
    os.utime(results)  # rows of a run that went on
    assert made("--no-plots").keys() == first.keys() - {report, tmp_path / "hockeystick.png"}


def test_an_existing_folder_is_not_overwritten(results: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").touch()
    done = CliRunner().invoke(cli, ["analyze", str(results), "-o", str(tmp_path)])
    assert isinstance(done.exception, LogreplayError)
    assert str(done.exception) == f"{tmp_path}: exists already; choose another with -o, or replace it with --force"


def test_without_a_name_each_analysis_makes_a_folder_of_its_own_and_leaves_no_empty_one(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two that began in one second wrote into the same folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.csv").touch()
    assert isinstance(CliRunner().invoke(cli, ["analyze", "empty.csv"]).exception, LogreplayError)
    assert not [*tmp_path.glob("analyze-*")]
    made = list[Path]()

    def other_command(*_: object, **__: object) -> Iterator[None]:
        """It chooses a name before the first has written a file."""
        made.extend(tmp_path.glob("analyze-*"))
        yield

    monkeypatch.setattr("logreplay.runs.engines.cluster_executor", contextmanager(other_command))
    assert CliRunner().invoke(cli, ["analyze", "--no-plots", "--force", str(results)]).exit_code == 0
    assert made == [*tmp_path.glob("analyze-*")]


@pytest.mark.parametrize("compress", [gzip.compress, zstd.compress])
@pytest.mark.parametrize("columns", [RESULT_COLUMNS, CORE_COLUMNS])
def test_a_compressed_log_that_was_cut_is_named(
    results: Path, tmp_path: Path, compress: Callable[[bytes], bytes], columns: tuple[str, ...]
) -> None:
    cut = tmp_path / "cut.csv"
    data = compress(to_csv(scan(results).select(columns).collect(), header=True))
    cut.write_bytes(data[: len(data) // 2])
    for words in (["analyze", "--no-plots", "-o", str(tmp_path / "out")], ["seconds"]):
        done = CliRunner().invoke(cli, [*words, str(cut)])
        assert isinstance(done.exception, LogreplayError)
        assert str(done.exception).startswith(f"{cut}: cannot be read")
    assert not (tmp_path / "out").exists()
    for call in (analysis.load, analysis.saturation, lambda path: analysis.compare(path, results)):
        with pytest.raises(LogreplayError, match=rf"{re.escape(str(cut))}: cannot be read"):
            call(cut)


@pytest.mark.parametrize("more", [[], ["-o", "-"]])
def test_seconds_prints_csv_on_stdout_and_nothing_else(results: Path, more: list[str]) -> None:
    done = CliRunner().invoke(cli, ["seconds", str(results), *more])
    assert done.stdout.startswith("second,offered,sent,completed,errors,in_flight,mean,p50,p90,p95,p99,max,bytes")
    assert done.stderr == ""


def test_seconds_writes_a_file_once(results: Path, tmp_path: Path) -> None:
    output = tmp_path / "seconds.csv"
    arguments = ["seconds", str(results), "-o", str(output)]
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    assert isinstance(CliRunner().invoke(cli, arguments).exception, LogreplayError)
    assert CliRunner().invoke(cli, [*arguments, "--force"]).exit_code == 0


def test_the_steps_that_are_printed_have_the_figures_that_were_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    write_results(tmp_path, range(20, 61, 20), 2)
    readings = "".join(f"{second},cpu,12.5\n" for second in range(3))
    (tmp_path / "results.watch.csv").write_text(f"second,name,value\n{readings}")
    lines = CliRunner().invoke(cli, ["analyze", str(tmp_path), "--no-plots"]).stdout.splitlines()
    assert lines[0].split()[-2:] == ["cpu", "verdict"]
    assert "12.5" in lines[1]
    assert "–" in lines[3].split()[-2]


def test_a_folder_that_holds_other_results_is_refused_with_force_too(results: Path, tmp_path: Path) -> None:
    """The figures of one log stood beside the rows of another."""
    (tmp_path / "results.csv").write_bytes(results.read_bytes())
    done = CliRunner().invoke(cli, ["analyze", str(results), "-o", str(tmp_path), "--force"])
    assert isinstance(done.exception, LogreplayError)
    assert "holds other results, results.csv" in str(done.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["results.csv"]


@pytest.fixture
def untimed(tmp_path: Path) -> Path:
    """A normalized CSV of a log without response times: eight rates, each for 20 s."""
    rows = [f"2026-01-01,00:{at // 60:02}:{at % 60:02}.{n:06},0,0,0,10,/a,200,GET\n"
            for at in range(160) for n in range(20 * (1 + at // 20))]  # fmt: skip
    path = tmp_path / "log.csv"
    path.write_text(",".join(CORE_COLUMNS) + "\n" + "".join(rows))
    return path


def test_a_log_without_response_times_is_not_judged_by_zeros(untimed: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["analyze", str(untimed), "-o", str(tmp_path / "out")])
    assert done.exit_code == 0
    answer = "the log has no response times: saturation is not judged and nothing is drawn; "
    assert done.output.count(f"{answer}log $request_time (nginx) or %D (Apache)") == 1
    assert "stable" not in done.stdout
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert not summary["saturation"]["found"]
    assert {summary["response_s"]["p50"], summary["siege"]["response_time"]} == {None}
    assert [finding["code"] for finding in summary["findings"]][-1] == "no_times"
    assert all(finding["text"] in done.output for finding in summary["findings"])
    assert not {"report.html", "results.hgrm"} & {path.name for path in (tmp_path / "out").iterdir()}


@pytest.mark.parametrize("words", [["capacity", "--demand", "500", "--p90", "100ms"], ["plot", "-o", "x.png"]])
def test_what_needs_response_times_refuses_a_log_without_them(
    words: list[str], untimed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, [*words, str(untimed)])
    assert str(done.exception) == (
        f"{untimed}: the log has no response times; log $request_time (nginx) or %D (Apache)"
    )
    assert not Path("x.png").exists()
