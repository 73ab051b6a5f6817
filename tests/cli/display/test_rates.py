"""A search or a sweep that ended early says why, and exits with the code for it."""

import json
from pathlib import Path

import pytest

from logreplay.analysis.verdict.checks import Check
from logreplay.cli.display.rates import show_find, show_sweep
from logreplay.folder_results import FindResult, SweepResult

WHY = "stopped: p99>1s/5s held after 2 trials; the rows are kept; a search cannot be resumed"


@pytest.mark.parametrize(
    ("by_rule", "lost", "code", "told"), [(True, False, 4, WHY), (False, True, 3, WHY), (False, False, 130, "")]
)
def test_a_search_without_an_answer_says_why_also_if_quiet_unless_somebody_interrupted_it(
    by_rule: bool, lost: bool, code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    held, files = Check("bounds", "unjudged", WHY), (Path("out/results.csv"),)
    result = FindResult(summary={}, files=files, checks=(held,), unfinished=WHY, by_rule=by_rule, lost=lost)
    assert show_find(result, as_json=False, quiet=True) == code
    assert capsys.readouterr().err.strip() == told


@pytest.mark.parametrize(("by_rule", "code"), [(True, 4), (False, 130)])
def test_a_sweep_that_a_condition_stopped_says_so_also_if_quiet(
    by_rule: bool, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    why = "stopped: errors>5%/10s held"
    result = SweepResult(summary={}, files=(Path("out"),), stopped=why, why_nothing=why, by_rule=by_rule)
    assert show_sweep(result, quiet=True) == code
    assert (why in capsys.readouterr().err) == by_rule


@pytest.mark.parametrize(("by_rule", "lost", "code"), [(True, False, 4), (False, True, 3), (False, False, 130)])
def test_a_search_without_an_answer_prints_its_summary_as_json(
    by_rule: bool, lost: bool, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = {"verdict": "NO_ANSWER", "answer": WHY, "findings": []}
    held, files = Check("bounds", "unjudged", WHY), (Path("out/results.csv"),)
    result = FindResult(summary=summary, files=files, checks=(held,), unfinished=WHY, by_rule=by_rule, lost=lost)
    assert show_find(result, as_json=True, quiet=False) == code
    assert json.loads(capsys.readouterr().out) == summary


def test_a_stop_condition_that_cannot_be_judged_makes_a_sweep_and_a_search_end_with_3() -> None:
    summary = {"verdict": "VALID", "answer": "", "findings": []}
    checks, files = (Check("valid", "passed"), Check("--stop p99>1s/5s", "unjudged")), (Path("out/results.csv"),)
    assert show_sweep(SweepResult(summary=summary, files=files, checks=checks), as_json=True) == 3
    assert show_find(FindResult(summary=summary, files=files, checks=checks), as_json=True, quiet=True) == 3
    assert show_find(FindResult(summary=summary, files=files, checks=checks[:1]), as_json=True, quiet=True) == 0
