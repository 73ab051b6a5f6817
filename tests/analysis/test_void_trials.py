"""Trials of a search that were not valid are shown as void, and no answer uses them."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from logreplay.analysis.analyze import Analysis, analyse
from logreplay.analysis.output import html
from logreplay.analysis.output.folder import remove_unfinished, write_unfinished
from logreplay.analysis.output.pictures import draw
from logreplay.analysis.output.plots.hockey_stick import grouped, limited_rates
from logreplay.analysis.summary import About
from logreplay.analysis.summary_rows import last_stable
from logreplay.analysis.verdict.capacity import capacity
from logreplay.analysis.verdict.comparison import compare
from support.simulated_results import write_results

RATES = (100, 150, 400, 300, 150, 200)
"""The target carries 250 requests/s: two trials are overloaded."""


def trials(void: Sequence[int]) -> dict[str, object]:
    found = [
        {"number": at + 1, "rate": rate, "verdict": "void" if at in void else "pass"} for at, rate in enumerate(RATES)
    ]
    return {"slo": {"trials": found}}


def searched(folder: Path, void: Sequence[int]) -> Analysis:
    """A search of which these trials were void, as it is read from its files."""
    folder.mkdir(exist_ok=True)
    results = write_results(folder, RATES, 4)
    (folder / "summary.json").write_text(json.dumps(trials(void)))
    return analyse(results)


@pytest.mark.usefixtures("without_drawing")
def test_a_void_trial_is_shown_as_invalid_and_not_as_overloaded(tmp_path: Path) -> None:
    found = searched(tmp_path, [2, 3])
    assert found.steps["verdict"].to_list() == ["stable", "stable", "void", "void", "stable", "stable"]
    assert not found.verdict.saturation.found
    assert found.summary["answer"].endswith("; 2 invalid trials not counted, at 300/s, 400/s")
    page = html.html(found)
    assert 'class="word void">invalid<' in page
    assert "overloaded</td>" not in page


def test_the_caller_of_a_search_says_which_trials_were_void(tmp_path: Path) -> None:
    results = write_results(tmp_path, RATES, 4)
    found = analyse(results, About(more=trials([2])))
    assert found.steps["verdict"].to_list()[2] == "void"


def test_capacity_does_not_count_a_void_trial(tmp_path: Path) -> None:
    found = capacity(searched(tmp_path, [2, 3]).steps, tps=1000, within=1.0)
    assert found.high is None
    assert found.sentence.endswith("; not counted: 300/s, 400/s (invalid trial)")


def test_a_rate_of_which_one_trial_was_void_is_judged_by_the_others(tmp_path: Path) -> None:
    found = searched(tmp_path, [1, 5])
    assert last_stable(found.steps) == 4
    assert limited_rates(grouped(found.steps)) == [(200, 175, 250)]
    drawn = draw(Figure().add_subplot(), found, "hockeystick").patches
    hatched = [each for each in drawn if isinstance(each, Rectangle) and each.get_hatch()]
    assert [(each.get_x(), each.get_width()) for each in hatched] == [(175, 75)]
    assert found.verdict.sentence.startswith("not enough data: 4 rates have 100 requests or more")


@pytest.mark.usefixtures("without_drawing")
def test_a_search_of_void_trials_only_has_no_verdict(tmp_path: Path) -> None:
    found = searched(tmp_path, range(6))
    assert found.verdict.sentence.startswith("not enough data")
    assert set(found.steps["verdict"]) == {"void"}
    assert last_stable(found.steps) is None
    assert "void" in html.html(found)


def test_void_trials_are_not_compared(tmp_path: Path) -> None:
    for name, void in {"a": [], "b": [1, 2, 3]}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "summary.json").write_text(json.dumps(trials(void)))
    results = write_results(tmp_path / "a", RATES, 12).read_bytes()
    (tmp_path / "b" / "results.csv").write_bytes(results + b"\n")
    found = compare(tmp_path / "a", tmp_path / "b")
    assert list(found.steps) == [100, 150, 200]
    assert f"{tmp_path / 'b'}: 3 invalid trials are left out" in found.notes
    assert found.steps[150].count < 1.8 * found.steps[100].count  # of one trial, not of two


def test_a_search_that_was_killed_knows_its_void_trials(tmp_path: Path) -> None:
    results = write_results(tmp_path, RATES, 4)
    write_unfinished(results, About(more=trials([2])))
    assert analyse(results).steps["verdict"].to_list()[2] == "void"
    remove_unfinished(results)
    assert analyse(results).steps["verdict"].to_list()[2] == "overloaded"


@pytest.mark.parametrize("slo", [None, 7, {"trials": 7}, {"trials": [{}]}, {"trials": [7]}])
def test_a_summary_that_was_edited_by_hand_has_no_void_trials(tmp_path: Path, slo: object) -> None:
    results = write_results(tmp_path, RATES, 4)
    (tmp_path / "summary.json").write_text(json.dumps({"slo": slo}))
    assert "void" not in analyse(results).steps["verdict"].to_list()
