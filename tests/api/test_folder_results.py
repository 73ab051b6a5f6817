"""Sweeps and searches from Python: what they give back, where they can be made, and how they end."""

import asyncio
import copy
import math
import pickle
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

import logreplay
from support.simulated_results import write_results

ON: dict[str, Any] = {"keep_going": True}
"""All rates, though a busy machine may answer two of them late."""
LATER = ("step 2", "step 3")
"""A busy machine may tell of a step when the next one has begun."""
STEPS: dict[str, Any] = {"duration": "500ms", **ON}
SEARCH: dict[str, Any] = {"max_tps": 100, "start": 100, "trial": "1s", "budget": "20s"}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with logreplay.serve() as server:
        yield server.url


@pytest.fixture(scope="module")
def curve(url: str, tmp_path_factory: pytest.TempPathFactory) -> logreplay.SweepResult:
    """A sweep whose folder has a place."""
    return logreplay.sweep(None, url, "20..60:20", output=tmp_path_factory.mktemp("curve") / "sweep", **STEPS)


@pytest.fixture(scope="module")
def found(url: str) -> logreplay.FindResult:
    """A search with a temporary folder."""
    return logreplay.find(None, url, p50="50ms", p99=9, demand=2000, **SEARCH)


def test_a_sweep_has_its_steps_and_its_rows(curve: logreplay.SweepResult) -> None:
    assert list(curve.steps.rate) == [20, 40, 60]
    assert len(curve.requests) == curve.steps.scheduled.sum() == curve.summary["requests"]["scheduled"]
    assert {"rate", "low", "high"} <= set(dir(curve))
    assert curve.rate is None  # three rates are too few for an answer
    assert "not enough data" in curve.sentence
    assert curve.why_nothing == ""  # it sent something
    assert curve.folder
    assert (curve.folder / "report.html").exists()
    assert curve.checks[-1].name == "valid sweep"
    assert len(logreplay.analysis.load(curve)) == len(curve.requests)


def test_a_sweep_of_this_process_is_sized_read_and_laid_over_an_old_one(
    curve: logreplay.SweepResult, tmp_path: Path
) -> None:
    """Programs of the Python page: several sweeps on one axes, machines from a sweep."""
    write_results(tmp_path, range(50, 401, 50), 5)
    ax = Figure().add_subplot()
    assert logreplay.analysis.overlay(ax, {"before": tmp_path, "after": curve}, slo=0.3) is ax
    assert logreplay.capacity(curve, demand=2000, p50=0.3).sentence
    assert logreplay.analyze(curve).steps["rate"].to_list() == [20, 40, 60]


def test_a_notebook_shows_sentence_findings_and_hockey_stick(curve: logreplay.SweepResult) -> None:
    """Program 2 of the reference of Python."""
    assert "\n" not in repr(curve)
    assert repr(curve).startswith(f"<SweepResult {curve.verdict}: not enough data")
    assert "data:image/png;base64," in curve._repr_html_()
    ax = Figure().add_subplot()
    assert curve.plot("hockeystick", ax) is ax


@pytest.mark.slow
def test_a_search_has_its_rate_and_says_why_it_has_none(found: logreplay.FindResult) -> None:
    """The first half of program 12 of the reference of Python."""
    assert found.summary["slo"]["trials"]
    assert found.rate == found.low == found.summary["slo"]["rate"]
    assert found.high == found.summary["slo"]["high"]
    assert found.machines == (None if found.rate is None else math.ceil(2000 / found.rate))
    assert found.sentence.endswith(found.summary["answer"])
    assert found.checks[0].name == "a rate keeps the bounds"
    assert (found.rate is None) == (found.checks[0].state != "passed")
    assert found.folder is None
    assert len(found.requests) == found.summary["requests"]["scheduled"]
    assert "data:image/png;base64," in found._repr_html_()
    assert found.plot()
    assert not [note for note in found.notes if "  " in note]  # the heading of the table of trials was there


def test_a_sweep_works_in_another_thread_and_inside_a_running_loop(url: str) -> None:
    async def inside() -> logreplay.SweepResult:
        return logreplay.sweep(None, url, [20, 40], **STEPS)

    with ThreadPoolExecutor(1) as threads:
        assert len(threads.submit(logreplay.sweep, None, url, 20, **STEPS).result().steps) == 1
    assert len(asyncio.run(inside()).steps) == 2


def test_a_sweep_prints_nothing_and_leaves_nothing_behind(
    url: str, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)
    result = logreplay.sweep(None, url, vusers=[1, 2], **STEPS)
    assert list(result.steps.users) == [1, 2]
    result.close()
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.rglob("*")) == [tmp_path / "temporary"]


@pytest.mark.slow
def test_a_result_is_pickled_and_copied(curve: logreplay.SweepResult, found: logreplay.FindResult) -> None:
    for result in (curve, found):
        for made in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
            assert made.sentence == result.sentence
            assert made.steps.equals(result.steps)
            assert made.rate == result.rate
            assert made.findings == result.findings


def test_a_result_that_is_saved_where_it_lies_stays_there(curve: logreplay.SweepResult, tmp_path: Path) -> None:
    """It was refused: -o would overwrite the the rows."""
    folder = curve.folder
    assert folder
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert curve.save(folder, force=True) == folder == curve.folder
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    (tmp_path / "results.csv").symlink_to(folder / "results.csv")
    told = f"save would overwrite {folder / 'results.csv'}, the rows of this result; choose another name$"
    with pytest.raises(logreplay.UsageError, match=told):
        curve.save(tmp_path, force=True)


def test_a_folder_is_saved_once_replaced_on_demand_and_found_from_each_folder(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result, kept = logreplay.sweep(None, url, [20, 40], **STEPS, plots=False), tmp_path / "kept"
    kept.mkdir()
    (kept / "users.csv").write_text("of an earlier sweep\n")
    with pytest.raises(logreplay.TakenError, match="is not empty"):
        result.save(kept)
    assert result.save(kept, force=True) == result.folder == kept
    assert not (kept / "users.csv").exists()
    assert {"results.csv", "summary.json", "steps.csv", "manifest.json"} <= {file.name for file in kept.iterdir()}
    assert len(result.requests) == result.summary["requests"]["scheduled"]
    assert Path(result) == kept / "results.csv"
    result.save("again")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir("other")
    assert (result.folder, len(result.steps)) == (tmp_path / "again", 2)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "RATES are missing"),
        ({"rates": "50.."}, "rates='50..'"),
        ({"rates": [50], "vusers": 2}, "exclude each other"),
        ({"rates": [50], "vuser": 2}, "did you mean vusers?"),
        ({"rates": [50], "order": "up and down"}, "order='up and down'"),
        ({"rates": [50], "resume": "gone", "output": "here"}, "output=.*resume="),
    ],
)
def test_what_contradicts_is_refused_before_anything_is_written(
    given: dict[str, Any], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(logreplay.UsageError, match=text):
        logreplay.sweep(None, "http://127.0.0.1:9", **given)
    with pytest.raises(logreplay.UsageError, match="a bound is missing"):
        logreplay.find(None, "http://127.0.0.1:9")
    assert not list(tmp_path.iterdir())


def test_a_function_ends_a_sweep_and_its_missing_steps_are_made_later(url: str, tmp_path: Path) -> None:
    seen: list[str] = []
    rates: dict[str, Any] = {"rates": [20, 30, 40], "duration": 2, **ON}
    half = logreplay.sweep(
        None, url, **rates, output=tmp_path / "sweep", plots=False, progress=lambda now: seen.append(now.stage.name),
        stop=lambda now: now.stage.name.startswith(LATER) and "enough",
    )  # fmt: skip
    assert half.stopped == "stopped: enough"
    later = logreplay.analyze(tmp_path / "sweep")
    assert (later.stopped, later.passed, half.passed) == ("enough", False, False)
    assert [check.state for check in half.checks if check.name == "stop function"] == ["failed"]
    assert 1 <= len(half.steps) <= 3
    assert "step 1 of 3" in seen
    whole = logreplay.sweep(None, url, **rates, resume=half.folder)
    assert list(whole.steps.rate) == [20, 30, 40]
    assert logreplay.analyze(tmp_path / "sweep").stopped == ""
    assert (tmp_path / "sweep" / "report.html").exists()
    assert whole.folder == half.folder == tmp_path / "sweep"
    assert re.search(r"[12] of 3 steps already done; resuming", "\n".join(whole.notes))


def test_a_sweep_of_which_no_request_was_due_is_empty(url: str, tmp_path: Path) -> None:
    result = logreplay.sweep(None, url, [0.01, 0.02], duration="100ms")
    assert not result.valid
    assert result.sentence == "no judged request was sent: the schedule holds no request"
    assert repr(result) == f"<SweepResult {result.sentence}>"
    for made in (result, copy.copy(result), pickle.loads(pickle.dumps(result))):
        assert made.requests.empty
        assert made.steps.empty
        assert "no judged request" in made._repr_html_()
    with pytest.raises(logreplay.LogreplayError, match="no rows"):
        result.save(tmp_path / "nowhere")


INTERRUPTED = """
import logreplay, os, signal, threading, time
from pathlib import Path

rows = Path("made/results.csv").absolute()

def interrupt():
    while not (rows.exists() and rows.read_bytes().count(b"\\n") > 30):
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
try:
    CALL
except logreplay.Interrupted as ended:
    result = ended.result
    print(len(result.requests) > 20, len(result.steps) > 0, result.folder.name, result.stopped)
    print(result.sentence)
"""
CALLS = {
    "sweep": 'logreplay.sweep(None, demo_target=True, rates=[40, 50], duration="20s", output="made", plots=False)',
    "find": 'logreplay.find(None, demo_target=True, p99=9, start=40, trial="20s", output="made", plots=False)',
}


@pytest.mark.parametrize("function", CALLS)
def test_ctrl_c_ends_a_call_in_good_order_and_raises_with_the_result(function: str, tmp_path: Path) -> None:
    program = INTERRUPTED.replace("CALL", CALLS[function])
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stderr == ""
    first, second = done.stdout.splitlines()
    assert first == "True True made interrupted"
    assert second.startswith(("interrupted after 0 trials", "VALID", "GENERATOR_BOUND", "TARGET_FAILING"))
    assert (tmp_path / "made" / "results.csv").exists()
