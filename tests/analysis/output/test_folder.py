"""A result log becomes a folder that shows it."""

import json
from pathlib import Path

import polars as pl
import pytest

from logreplay.analysis.output.folder import write_folder
from logreplay.analysis.summary import About
from support.simulated_results import write_results


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("run"), range(50, 401, 50), 5)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("few"), [50, 100], 1)


@pytest.mark.usefixtures("without_drawing")
def test_the_folder_holds_tables_summary_and_picture(results: Path, tmp_path: Path) -> None:
    about = About(log="access.csv", target="http://127.0.0.1:8080", options={"rates": "50..400"})
    summary, steps = write_folder(results, tmp_path / "out", about)
    assert summary["saturation"]["found"]
    assert summary["log"] == "access.csv"
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == summary
    assert pl.read_csv(tmp_path / "out" / "steps.csv").height == steps.height == 8
    assert pl.read_csv(tmp_path / "out" / "seconds.csv")["offered"].sum() == summary["requests"]["scheduled"]
    assert (tmp_path / "out" / "hockeystick.png").read_bytes().startswith(b"\x89PNG")


def test_the_summary_of_a_sweep_pools_counts_but_no_times(results: Path, tmp_path: Path) -> None:
    summary, steps = write_folder(results, tmp_path, plots=False)
    assert not {"response_s", "ok_response_s", "service_s", "lag_s", "rate", "siege", "ab"} & summary.keys()
    by_step = summary["by_step"]
    assert [part["verdict"] for part in by_step] == steps["verdict"].to_list()
    assert [part["offered"] for part in by_step] == steps["rate"].to_list()
    assert [part["response_s"]["p50"] for part in by_step] == pytest.approx(steps["p50"].to_list(), abs=1e-6)
    for name, total in summary["requests"].items():
        assert sum(part["requests"][name] for part in by_step) == total
    assert sum(part["siege"]["transactions"] for part in by_step) == summary["requests"]["ok"]


def test_the_routes_of_a_sweep_have_a_row_for_each_step(results: Path, tmp_path: Path) -> None:
    summary, steps = write_folder(results, tmp_path, plots=False)
    routes = pl.read_csv(tmp_path / "routes.csv")
    assert routes.columns[:3] == ["step", "rate", "route"]
    assert routes["step"].unique().sort().to_list() == steps["step"].to_list()
    assert routes["requests"].sum() == summary["requests"]["scheduled"]


def test_without_pictures_there_is_none(results: Path, tmp_path: Path) -> None:
    write_folder(results, tmp_path, plots=False)
    assert not (tmp_path / "hockeystick.png").exists()


def test_what_the_run_said_of_itself_is_kept_when_it_is_analysed_again(results: Path, tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_bytes(results.read_bytes())
    warned = {"code": "clock", "severity": "warning", "text": "the clock was stepped"}
    facts = {"verdict": "RATE_MISSED", "answer": "240/s", "slo": {"rate": 240}}
    about = About("access.csv", "http://127.0.0.1:8080", {"trial": 60}, [warned], facts)
    said, _ = write_folder(tmp_path / "results.csv", tmp_path, about, plots=False)
    again, _ = write_folder(tmp_path, tmp_path, plots=False)
    assert again == said


def test_what_another_run_said_is_not(results: Path, tmp_path: Path) -> None:
    write_folder(results, tmp_path, About("access.csv", "http://127.0.0.1:8080"), plots=False)
    others = pl.read_csv(results).head(500)
    others.write_csv(tmp_path / "results.csv")
    again, _ = write_folder(tmp_path, tmp_path, plots=False)
    assert again["log"] is None


def test_what_another_program_said_is_not(few: Path, tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_bytes(few.read_bytes())
    (tmp_path / "summary.json").write_text('{"requests": 600, "rps": 20.0, "tool": "other"}')
    said, _ = write_folder(tmp_path, tmp_path, plots=False)
    assert said["requests"]["scheduled"] == pl.read_csv(few).height
    assert "rps" not in said


def test_steps_have_the_mean_of_each_watched_figure(results: Path, tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_bytes(results.read_bytes())
    lines = [f"{second},cpu,{second}.0" for second in range(40)] + ["3,queue,7.0"]
    (tmp_path / "results.watch.csv").write_text("second,name,value\n" + "\n".join(lines) + "\n")
    summary, steps = write_folder(tmp_path / "results.csv", tmp_path, plots=False)
    seconds = pl.read_csv(tmp_path / "seconds.csv")
    first = seconds.filter(pl.col("step") == 0)["second"].mean()
    assert steps["watch_cpu"][0] == summary["steps"][0]["watch_cpu"] == first
    assert steps["watch_cpu"].is_sorted()
    assert steps["watch_queue"].to_list() == [7.0, *[None] * 7]
    assert pl.read_csv(tmp_path / "steps.csv")["watch_cpu"].null_count() == 0


@pytest.mark.usefixtures("without_drawing")
def test_a_log_whose_name_is_no_text_is_named_in_the_report(results: Path, tmp_path: Path) -> None:
    write_folder(results, tmp_path, About("caf\udce9.log", "http://127.0.0.1:8080"))
    assert "caf?.log" in (tmp_path / "report.html").read_text("utf-8")


def test_names_of_watched_figures_that_a_stranger_wrote_are_drawn_as_they_are(few: Path, tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_bytes(few.read_bytes())
    (tmp_path / "results.watch.csv").write_text("second,name,value\n0,$\\frac$,1.0\n1,\x1b[2J,1.0\n")
    write_folder(tmp_path / "results.csv", tmp_path)
    assert "\x1b" not in (tmp_path / "report.html").read_text("utf-8")


def test_a_deeply_nested_file_in_the_place_of_the_summary_is_left_aside(results: Path, tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_bytes(results.read_bytes())
    (tmp_path / "summary.json").write_text('{"a":' + "[" * 100_000)
    summary, _ = write_folder(tmp_path / "results.csv", tmp_path, plots=False)
    assert json.loads((tmp_path / "summary.json").read_bytes())["answer"] == summary["answer"]
