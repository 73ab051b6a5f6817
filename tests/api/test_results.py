"""What a call gives back: its tables, its pictures, and how long its rows live."""

import copy
import gc
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure

import logreplay
from logreplay.results import Result

RUN: dict[str, Any] = {"tps": 40, "duration": "500ms"}


@pytest.fixture(scope="module")
def kept(target: str, tmp_path_factory: pytest.TempPathFactory) -> logreplay.RunResult:
    """A run whose rows have a place."""
    return logreplay.run(None, target, output=tmp_path_factory.mktemp("run") / "rows.csv", **RUN)


@pytest.fixture
def passing(kept: logreplay.RunResult, tmp_path: Path) -> Iterator[logreplay.RunResult]:
    """The same run with its rows in a temporary folder, as it is without output=."""
    from logreplay.scratch import Scratch

    made, scratch = copy.copy(kept), Scratch()
    places = [scratch.path / file.name for file in kept.files]
    for old, new in zip(kept.files, places, strict=True):
        new.write_bytes(old.read_bytes())
    made.files, made.scratch = tuple(places), scratch
    for table in ("requests", "seconds", "steps", "routes", "_tables", "_html"):
        made.__dict__.pop(table, None)
    del scratch
    yield made
    made.close()


@pytest.fixture(scope="module")
def empty(target: str, tmp_path_factory: pytest.TempPathFactory) -> logreplay.RunResult:
    """A run in which nothing was due."""
    folder = tmp_path_factory.mktemp("empty")
    return logreplay.run(None, target, tps=0.01, duration=0.1, output=folder / "rows.csv")


def test_a_result_has_its_tables_as_data_frames(kept: logreplay.RunResult) -> None:
    assert len(kept.requests) == kept.seconds.offered.sum() == kept.steps.scheduled.sum() == 20
    assert kept.routes.requests.sum() == 20
    assert isinstance(kept.requests.url.dtype, pd.CategoricalDtype)
    assert kept.requests is kept.requests
    assert kept.requests.good.all()


def test_a_result_is_the_path_of_its_rows(kept: logreplay.RunResult) -> None:
    assert len(logreplay.analysis.load(kept)) == len(logreplay.analysis.load(str(Path(kept)))) == 20
    assert logreplay.analysis.saturation(kept).sentence


def test_a_result_is_found_from_each_folder_and_compared_with_a_stored_baseline(
    target: str,
    kept: logreplay.RunResult,
    passing: logreplay.RunResult,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    made = logreplay.run(None, target, output="rows.csv", **RUN)
    analyzed = logreplay.analyze("rows.csv")
    assert passing.save("saved.csv") == Path("saved.csv")
    monkeypatch.chdir("other")
    for result in (made, analyzed, passing, pickle.loads(pickle.dumps(made))):
        assert result.folder == tmp_path
        assert len(result.requests) == len(logreplay.analyze(result).requests) == 20
        assert result.plot()
    change = logreplay.compare(Path(kept), made)
    assert change.sentence
    assert isinstance(change.checks[0].text, str)


def test_a_file_of_rows_that_was_deleted_is_named(passing: logreplay.RunResult, tmp_path: Path) -> None:
    passing.save(tmp_path / "rows.csv").unlink()
    for result in (passing, pickle.loads(pickle.dumps(passing))):
        with pytest.raises(logreplay.LogreplayError, match=f"{tmp_path / 'rows.csv'} was moved or deleted"):
            _ = result.requests


def test_a_result_says_what_it_is_in_one_line(kept: logreplay.RunResult) -> None:
    assert repr(kept).startswith(f"<RunResult {kept.verdict}: 20 requests sent, 0 failed")
    assert "\n" not in repr(kept)


def test_a_picture_shows_itself_or_is_drawn_where_it_should(kept: logreplay.RunResult) -> None:
    made: Any = kept.plot()
    assert made._repr_png_().startswith(b"\x89PNG")
    ax = Figure().add_subplot()
    assert kept.plot("percentiles", ax) is ax
    assert ax.lines
    assert kept.plot("hockeystick", ax=Figure().add_subplot(), slo="300ms")
    with pytest.raises(ValueError, match=r"^kind='.*': these data allow"):
        kept.plot("pie")


def test_a_notebook_shows_sentence_findings_and_picture(kept: logreplay.RunResult) -> None:
    from logreplay.replay.results.verdict import Finding, Severity

    shown = copy.copy(kept)
    shown.__dict__.pop("_html", None)
    shown.findings = (Finding("x", Severity.WARNING, "<script> ?token=abc"),)
    html = shown._repr_html_()
    assert f"<b>{kept.sentence}</b>" in html
    assert "&lt;script&gt; ?token=***" in html
    assert "data:image/png;base64,iVBOR" in html


def test_a_pickle_holds_the_small_tables_and_finds_rows_that_have_a_place(kept: logreplay.RunResult) -> None:
    read = pickle.loads(pickle.dumps(kept))
    assert (repr(read), read.summary, read.passed) == (repr(kept), kept.summary, kept.passed)
    assert len(read.requests) == 20


def test_a_pickle_of_rows_without_a_place_has_the_small_tables(passing: logreplay.RunResult) -> None:
    written = pickle.dumps(passing)
    passing.close()
    read = pickle.loads(written)
    assert (len(read.steps), read.seconds.offered.sum(), read.routes.requests.sum(), read.folder) == (1, 20, 20, None)
    assert read._repr_html_()
    with pytest.raises(logreplay.LogreplayError, match="the rows are gone"):
        read.requests  # noqa: B018
    with pytest.raises(logreplay.LogreplayError, match="the rows are gone"):
        logreplay.capacity(read, demand=100, p99="1s")


def test_a_closed_result_keeps_its_small_tables_and_says_that_its_rows_are_gone(passing: logreplay.RunResult) -> None:
    passing.close()
    read = pickle.loads(pickle.dumps(passing))
    assert (repr(read), read.summary, read.passed) == (repr(passing), passing.summary, passing.passed)
    assert (len(read.steps), read.seconds.offered.sum(), read.routes.requests.sum()) == (1, 20, 20)
    with pytest.raises(logreplay.LogreplayError, match="the rows are gone"):
        read.requests  # noqa: B018


def test_rows_without_a_place_go_with_the_last_copy_of_the_result(passing: logreplay.RunResult) -> None:
    rows, other = passing.files[0], copy.deepcopy(passing)
    passing.scratch = None
    gc.collect()
    assert len(other.requests) == 20
    del other
    gc.collect()
    assert not rows.exists()


def test_a_block_closes_a_result(passing: logreplay.RunResult) -> None:
    with passing as result:
        assert result.files[0].exists()
    assert not result.files[0].exists()


def test_a_saved_result_keeps_its_rows_and_what_belongs_to_them(passing: logreplay.RunResult, tmp_path: Path) -> None:
    scratch = passing.files[0].parent
    place = passing.save(tmp_path / "kept.csv")
    assert {path.name for path in tmp_path.iterdir()} >= {"kept.csv", "kept.summary.json"}
    assert (Path(passing), passing.folder, scratch.exists()) == (place, tmp_path, False)
    assert len(pickle.loads(pickle.dumps(passing)).requests) == 20
    with pytest.raises(logreplay.TakenError, match=r"exists already; choose another, or replace it with force=True$"):
        passing.save(place)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(logreplay.LogreplayError, match=r"is a folder; give the name of a file$"):
        passing.save(tmp_path / "folder.csv")
    with pytest.raises(logreplay.LogreplayError, match="none"):
        passing.save(tmp_path / "none" / "kept.csv")


def test_saving_replaces_no_file_of_another_result_unless_forced_and_then_keeps_none_of_them(
    passing: logreplay.RunResult, tmp_path: Path
) -> None:
    watched = tmp_path / "kept.watch.csv"
    watched.write_text("second,name,value\n0,cpu,5\n")
    with pytest.raises(logreplay.TakenError, match=r"kept\.watch\.csv: exists already"):
        passing.save(tmp_path / "kept.csv")
    passing.save(tmp_path / "kept.csv", force=True)
    assert not watched.exists()
    assert "watch_cpu" not in passing.seconds


def test_a_result_is_saved_under_an_ending_of_its_own_form_only(passing: logreplay.RunResult, tmp_path: Path) -> None:
    with pytest.raises(logreplay.LogreplayError, match=r"name a file that ends in \.csv$"):
        passing.save(tmp_path / "kept.parquet")
    with pytest.raises(logreplay.LogreplayError, match="the name of a result log ends in one of"):
        passing.save(tmp_path / "kept.txt")
    assert not [*tmp_path.iterdir()]


def test_saving_a_copy_leaves_the_rows_of_the_original(passing: logreplay.RunResult, tmp_path: Path) -> None:
    other = copy.copy(passing)
    other.save(tmp_path / "kept.csv")
    assert len(passing.requests) == len(other.requests) == 20


def test_a_result_without_a_request_has_empty_tables(empty: logreplay.RunResult) -> None:
    assert empty.sentence == "nothing was sent: the schedule holds no request"
    for result in (empty, pickle.loads(pickle.dumps(empty)), copy.copy(empty)):
        assert (len(result.requests), len(result.seconds), len(result.steps), len(result.routes)) == (0, 0, 0, 0)
        assert "response" in result.requests
        assert empty.sentence in result._repr_html_()
    with pytest.raises(logreplay.LogreplayError, match="nothing to draw"):
        empty.plot()
    with pytest.raises(logreplay.LogreplayError, match="no rows"):
        empty.save("nowhere.csv")


def test_the_advice_on_a_limit_names_parameters() -> None:
    """It named options."""
    figures = dict.fromkeys(("at_once", "low", "high", "service_s"))
    limit = {"kind": None, **figures, "text": "no limit", "advice": "repeat with --for 60s"}
    found = Result(summary={"limit": limit}, files=(), function="sweep").limit
    assert found
    assert found.sentence == 'no limit; repeat with duration="60s"'
