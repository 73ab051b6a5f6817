"""A sweep over users has the users as the horizontal axis of its pictures, charts, tables and files."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from logreplay.analysis import capacity
from logreplay.analysis.analyze import Analysis, analyse
from logreplay.analysis.input.run_metadata import ClosedLoop
from logreplay.analysis.output import pictures
from logreplay.analysis.output.charts import charts
from logreplay.analysis.output.folder import write_folder
from logreplay.analysis.output.html import _slowest as slowest
from logreplay.analysis.output.html import write
from logreplay.analysis.output.plots import scaling as users_plots
from logreplay.analysis.summary import About
from logreplay.analysis.summary_rows import step_rows
from logreplay.core.record import to_csv
from support.closed_systems import ClosedSystem

USERS = [1, 2, 4, 8, 16]
ABOUT = About(closed=ClosedLoop(dict(enumerate(USERS)), 0.0, 10.0))
RESULTS = ClosedSystem(5).sweep(USERS, 10, 1)


@pytest.fixture(scope="module")
def sweep() -> Analysis:
    return analyse(RESULTS, ABOUT)


def axes() -> Axes:
    return Figure().add_subplot()


def test_both_pictures_are_against_users(sweep: Analysis) -> None:
    assert sweep.users
    assert list(pictures.kinds(sweep))[:2] == ["throughput", "hockeystick"]
    for kind, label in (("throughput", "requests/s"), ("hockeystick", "response time, ms")):
        ax = pictures.draw(axes(), sweep, kind, title=True)
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("users", label)
        assert ax.get_title("left") == sweep.users.verdict.sentence
    curve = users_plots.response_time(axes(), sweep.users).get_lines()[0]
    assert np.asarray(curve.get_xdata()).tolist() == USERS
    assert np.asarray(curve.get_ydata()).tolist() == pytest.approx((1000 * sweep.users.table["p90"]).to_list())


def test_both_charts_are_against_users(sweep: Analysis) -> None:
    made = charts(sweep)
    assert list(made)[:2] == ["throughput", "hockeystick"]
    for kind in ("throughput", "hockeystick"):
        (row,) = made[kind]
        assert row["x"] == "users"
        measured = [series for series in row["series"] if series["colour"] == "mark"]
        assert all(series["x"] == USERS for series in measured)
        assert [span["unit"] for span in row["spans"]] == [" users"]
    asymptotes = [series["name"] for series in made["throughput"][0]["series"][1:]]
    assert asymptotes == ["nobody waits: N / (R + Z)", "plateau"]


def test_rows_of_the_table_begin_with_the_users(sweep: Analysis) -> None:
    assert [row[0] for row in step_rows(sweep.steps)] == [str(count) for count in USERS]
    assert sweep.steps["verdict"].to_list() == ["stable"] * 4 + ["overloaded"]


@pytest.mark.usefixtures("without_drawing")
def test_the_report_names_users(sweep: Analysis, tmp_path: Path) -> None:
    write(tmp_path, sweep)
    assert {"users.png", "hockeystick.png"} <= {path.name for path in tmp_path.iterdir()}
    page = (tmp_path / "report.html").read_text()
    assert "at 8 users, the highest stable step" in page
    assert "Throughput against users" in page
    assert "offered rate, requests/s" not in page


def test_a_folder_is_analysed_again_as_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_bytes(to_csv(RESULTS, header=True))
    summary, _ = write_folder(tmp_path / "results.csv", tmp_path, ABOUT, plots=False)
    assert pl.read_csv(tmp_path / "users.csv")["users"].to_list() == USERS
    again, _ = write_folder(tmp_path, tmp_path / "again", plots=False)
    assert again["users"] == summary["users"]
    assert again["answer"] == summary["answer"] == summary["users"]["sentence"]
    assert not again["saturation"]["found"]
    machines = capacity(tmp_path, tps=250, within=0.3, percentile="p90")
    assert machines.machines is not None
    assert machines.machines >= 5
    assert machines.sentence.startswith("at least ")


def test_a_summary_edited_by_hand_is_left_aside(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_bytes(to_csv(RESULTS, header=True))
    (tmp_path / "summary.json").write_text(json.dumps({"users": {"steps": [7]}}))
    assert analyse(tmp_path).users is None


@pytest.mark.parametrize("begin", [0.00034, 0.000007, 0.123457])
def test_the_slowest_request_may_be_the_first_of_its_step(begin: float) -> None:
    """The same instant, read from the rows and computed for the step, must not differ in its last digit."""
    rows = ClosedSystem(1, spread=0).sweep([1, 2], 1, 1).with_columns(pl.col("scheduled") + begin)
    analysis = analyse(rows, About(closed=ClosedLoop({0: 1, 1: 2}, 0.0, 1.0)))
    assert {row["step"] for row in slowest(analysis)} == {0, 1}


def test_a_sweep_over_users_of_a_failing_target_is_invalid() -> None:
    failed = RESULTS.with_columns(rc=pl.lit(500))
    assert analyse(failed, ABOUT).summary["verdict"] == "TARGET_FAILING"


def test_rates_that_users_happen_to_reach_are_not_compared(sweep: Analysis) -> None:
    assert "passing_overload" not in {finding["code"] for finding in sweep.summary["findings"]}
