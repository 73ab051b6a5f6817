"""What a notebook works with: pandas tables, and the verdicts of the commands."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.figure import Figure

import logreplay.analysis as analysis
from logreplay.analysis.input import sources
from logreplay.analysis.output.plots.hockey_stick import GREY, RED
from logreplay.analysis.output.plots.overlay import shown
from logreplay.core.errors import LogreplayError
from logreplay.core.frames import from_pandas
from logreplay.core.record import CORE_COLUMNS, RESULT_COLUMNS
from support.simulated_results import write_results


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("run"), range(50, 401, 50), 5)


@pytest.fixture(scope="module")
def loaded(path: Path) -> pd.DataFrame:
    return analysis.load(path)


def another(run: pd.DataFrame) -> pd.DataFrame:
    """A second run like the first: each request took a microsecond longer."""
    return run.assign(latency=run["latency"] + 1e-6)


def test_load_returns_all_rows_and_the_derived_times(loaded: pd.DataFrame) -> None:
    assert list(loaded.columns) == [*RESULT_COLUMNS, "service", "response", "good"]
    np.testing.assert_allclose(loaded["response"], loaded["lag"] + loaded["connect"] + loaded["latency"], atol=1e-6)
    assert loaded["good"].all()


def test_load_returns_an_empty_table_of_a_result_log_without_rows(loaded: pd.DataFrame, tmp_path: Path) -> None:
    empty = tmp_path / "results.csv"
    empty.write_text(",".join(RESULT_COLUMNS) + "\n")
    assert list(analysis.load(empty).columns) == list(loaded.columns)
    assert analysis.load(empty).empty


def test_a_table_and_its_file_say_the_same(path: Path, loaded: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(analysis.seconds(path), analysis.seconds(loaded))
    pd.testing.assert_frame_equal(analysis.steps(path.parent), analysis.steps(loaded))
    assert analysis.saturation(path).sentence == analysis.saturation(loaded).sentence


def test_a_table_of_pandas_is_converted_once(loaded: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was converted five times: for its columns, for its start and for its rows."""
    converted: list[pd.DataFrame] = []

    def counted(table: pd.DataFrame) -> pl.DataFrame:
        converted.append(table)
        return from_pandas(table)

    monkeypatch.setattr(sources, "from_pandas", counted)
    assert analysis.seconds(loaded)["offered"].sum() == len(loaded)
    assert len(converted) == 1


def test_a_part_of_a_run_can_be_analysed(loaded: pd.DataFrame) -> None:
    table = analysis.seconds(loaded[loaded["url"] == "/cart"])
    assert table["offered"].sum() == (loaded["url"] == "/cart").sum()


def test_the_verdicts(path: Path, loaded: pd.DataFrame) -> None:
    assert analysis.saturation(loaded).saturation.rate == pytest.approx(250, rel=0.1)
    assert analysis.compare(path, another(loaded)).sentence.startswith("no difference detected")
    needed = analysis.capacity(path, tps=1000, within=0.2, percentile="p90")
    assert needed.machines in (4, 5)
    assert needed.saturation == analysis.saturation(path).saturation.rate


def test_pictures_are_drawn_on_the_axes_given_and_on_no_other(loaded: pd.DataFrame, path: Path) -> None:
    ax = Figure().add_subplot()
    assert analysis.hockey_stick(ax, loaded, slo=0.3) is ax
    assert ax.get_title(loc="left").startswith("Saturation at about ")
    assert analysis.picture(Figure().add_subplot(), path, "heatmap").get_ylabel() == "response time, ms"
    assert len(analysis.overlay(Figure().add_subplot(), {"one": path, "other": loaded}).get_lines()) == 2
    found = analysis.compare(path, another(loaded))
    assert isinstance(found, analysis.Comparison)
    assert analysis.changes(Figure().add_subplot(), found).get_xlabel().startswith("change of the response time")
    assert "matplotlib.pyplot" not in sys.modules


def test_the_colours_of_changes_are_those_of_their_verdicts(loaded: pd.DataFrame, path: Path) -> None:
    found = analysis.compare(path, another(loaded))
    assert isinstance(found, analysis.Comparison)
    *_, last = names = list(shown(found))
    judged = replace(
        found, quantiles=found.quantiles | {last: replace(found.quantiles[last], ratio=2, low=1.5, high=3)}
    )
    lines = analysis.changes(Figure().add_subplot(), judged).get_lines()[1:]
    assert [line.get_color() for line in lines] == [GREY] * 2 * (len(names) - 1) + [RED] * 2


def test_a_picture_that_cannot_be_drawn_is_refused(loaded: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=r"^kind='pie': these data allow hockeystick, "):
        analysis.picture(Figure().add_subplot(), loaded, "pie")


def test_a_table_that_is_no_result_log_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^results: no column latency, xfertime, rc; pass what"):
        analysis.seconds(pd.DataFrame({"a": [1]}))


def test_a_name_that_is_not_there_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match=r"^module 'logreplay.analysis' has no attribute 'knee'$"):
        _ = analysis.knee  # type: ignore[attr-defined]


@pytest.mark.slow
def test_asking_for_a_table_does_not_load_matplotlib() -> None:
    names = "load, seconds, steps, saturation, compare, capacity"
    code = f"import sys; from logreplay.analysis import {names}; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("day", ["-2026-02-02", "0000-01-01", "9999-12-31", "yesterday"])
def test_a_day_of_no_calendar_is_no_time(tmp_path: Path, day: str) -> None:
    path, row = tmp_path / "log.csv", "{},23:59:60.000000,0.01,0,0,1,/a,200,GET\n"
    header = ",".join(CORE_COLUMNS) + "\n"
    path.write_text(header + row.format(day) + row.format("2026-02-02"))
    with pytest.warns(UserWarning, match=r"log\.csv: 1 row is left out: 1 x no time can be read"):
        assert analysis.seconds(path)["offered"].sum() == 1
    path.write_text(header + row.format(day))
    with pytest.raises(LogreplayError, match="no row can be used: 1 row is left out: 1 x no time can be read"):
        analysis.seconds(path)


def test_a_table_lacks_the_rows_that_cannot_be_read_and_warns_of_them(tmp_path: Path) -> None:
    path, row = tmp_path / "log.csv", "2026-02-02,23:59:01.000000,0.01,0,0,1,{},200,GET\n"
    path.write_text(",".join(CORE_COLUMNS) + "\n" + "".join(row.format(url) for url in ("/a", '"/b', "/c")))
    with pytest.warns(UserWarning, match=r"log\.csv: 1 row is left out: 1 x a quote is not closed \(first in line 3\)"):
        assert analysis.load(path)["url"].to_list() == ["/a", "/c"]


@pytest.mark.parametrize("name", analysis.__all__)
def test_each_public_name_is_there_and_documented(name: str) -> None:
    assert getattr(analysis, name).__doc__
    assert name in dir(analysis)


def test_the_pairs_and_the_differences_of_a_duet_are_tables(path: Path, loaded: pd.DataFrame, tmp_path: Path) -> None:
    for name in ("baseline", "candidate"):
        (tmp_path / f"{name}.csv").write_bytes(path.read_bytes())
    found = analysis.pairs(tmp_path)
    assert len(found) == len(loaded)
    assert (found["response"] == found["response_new"]).all()
    assert {"seq", "row", "url", "rc_new", "bytes_new", "error_new"} <= set(found.columns)
    with pytest.deprecated_call(match="use logreplay.analyze"):
        duet = analysis.duet(tmp_path)
    assert duet.sentence.startswith("no difference detected")
    assert all(isinstance(table, pd.DataFrame) for table in (duet.by_route, duet.by_step, duet.by_pair))
    assert list(duet.by_route.columns[:4]) == ["route", "ratio", "low", "high"]
    assert list(duet.transitions.columns) == ["baseline", "candidate", "requests"]
    (tmp_path / "differences.csv").write_text("route,baseline,p\n/a,null,\n")
    assert analysis.differences(tmp_path).iloc[0].to_list()[:2] == ["/a", "null"]


@pytest.mark.parametrize("function", [analysis.pairs, analysis.differences])
def test_a_folder_without_a_duet_is_named(tmp_path: Path, function: Callable[[Path], object]) -> None:
    with pytest.raises(LogreplayError, match=r"name the folder of a duet$"):
        function(tmp_path)
