"""The report of a search begins with the table of its trials."""

from pathlib import Path
from typing import Any

import pytest

from logreplay.analysis.analyze import analyse
from logreplay.analysis.output import html, pictures
from logreplay.analysis.output.trial_table import trial_rows
from logreplay.analysis.summary import About
from support.simulated_results import write_results

BOUNDS = (
    {"statistic": "p99", "limit": 0.3},
    {"statistic": "mean", "limit": 0.1},
    {"statistic": "errors", "limit": 0.01},
)


def trial(number: int, rate: float, verdict: str, reason: str = "", **more: Any) -> dict[str, Any]:
    seen = {"p99": 0.0062, "mean": 0.02, "errors": 0.0}
    made = {"number": number, "phase": "ramp", "rate": rate, "seconds": 5.0, "judged_s": 4.0, "requests": 1234}
    return {**made, "seen": seen, "verdict": verdict, "reason": reason, **more}


def searched(**slo: Any) -> dict[str, Any]:
    made = [
        trial(1, 100, "pass"),
        trial(2, 200, "void", "the machine was busy"),
        trial(3, 400, "fail", "requests in flight grow", seconds=2.6, seen={}),
    ]
    return {"slo": {"bounds": BOUNDS, "unit": "requests/s", "trials": made, **slo}}


def test_each_trial_has_its_rate_how_long_it_was_held_its_verdict_with_the_reason_and_the_percentile(
    tmp_path: Path,
) -> None:
    found = analyse(write_results(tmp_path, (100, 200, 400), 4), About(more=searched()))
    first, second, third = trial_rows(found.summary, found.steps)
    assert list(first) == [
        "trial", "why", "rate", "held", "requests", "verdict", "p99", "over 300 ms", "mean", "failed"
    ]  # fmt: skip
    assert list(first.values())[:6] == ["1", "ramp", "100/s", "4 s", "1,234", "pass"]
    assert first["over 300 ms"] == "0.62 %"
    assert first["p99"].endswith(" ms")
    assert first["failed"] == "0 %"
    assert second["verdict"] == "invalid: the machine was busy"
    assert (third["held"], third["verdict"]) == ("3 s", "fail: requests in flight grow")
    assert third["over 300 ms"] == "–"


@pytest.mark.usefixtures("without_drawing")
def test_the_report_of_a_search_has_its_trials_after_its_answer_and_before_its_pictures(tmp_path: Path) -> None:
    page = html.html(analyse(write_results(tmp_path, (100, 200, 400), 4), About(more=searched())))
    places = [page.index(text) for text in ("<h1>", "<h2>Trials</h2>", '<section class="pictures">')]
    assert places == sorted(places)
    assert '<span class="invalid">invalid</span>: the machine was busy</td>' in page
    assert ">100/s, trial 1<" in page  # the steps have the same numbers


@pytest.mark.usefixtures("without_drawing")
@pytest.mark.parametrize(
    ("more", "line"),
    [
        (
            {"machines": 2, "demand": 150.0},
            "100/s per machine keeps p99 below 300 ms and mean below 100 ms: 2 machines for 150/s",
        ),
        ({"machines": None, "demand": None}, "100/s keeps p99 below 300 ms and mean below 100 ms"),
        ({"unit": "users", "machines": None}, "100 users keep p99 below 300 ms and mean below 100 ms"),
    ],
)
def test_the_report_of_a_search_begins_with_its_answer_in_one_line_and_draws_its_longest_bound(
    tmp_path: Path, more: dict[str, Any], line: str
) -> None:
    answer = {"found": True, "rate": 100.0, "held_s": 4.0, "held_rate": 100, "capacity": 120.0, "range": [110.0, 130.0]}
    found = analyse(write_results(tmp_path, (100, 200, 400), 4), About(more=searched(**answer, **more)))
    page = html.html(found)
    assert f"<h1>{line}</h1>" in page
    assert found.summary["answer"][1:] in page
    assert "bound 300 ms" in page
    assert pictures.bound_of(found.summary) == 0.3


@pytest.mark.usefixtures("without_drawing")
@pytest.mark.parametrize("lacking", ["demand", "held_s", "held_rate", "trials"])
def test_the_report_of_a_search_is_written_from_a_summary_that_lacks_a_figure(tmp_path: Path, lacking: str) -> None:
    """As that of an older version, which had no demand."""
    answer = {"found": True, "rate": 100.0, "held_s": 4.0, "held_rate": 100, "capacity": 120.0, "range": None}
    slo = searched(**answer, machines=2, demand=150.0)["slo"]
    del slo[lacking]
    found = analyse(write_results(tmp_path, (100, 200, 400), 4), About(more={"slo": slo}))
    whole = f"{found.summary['answer'][:1].upper()}{found.summary['answer'][1:]}"
    title = "100/s keeps p99 below 300 ms and mean below 100 ms" if lacking == "demand" else whole
    assert f"<h1>{title}</h1>" in html.html(found)
    assert pictures.bound_of(found.summary) == 0.3


def test_the_trials_of_a_search_for_users_have_numbers_of_users(tmp_path: Path) -> None:
    found = analyse(write_results(tmp_path, (100, 200, 400), 4), About(more=searched(unit="users")))
    assert [row["rate"] for row in trial_rows(found.summary, found.steps)] == ["100", "200", "400"]


@pytest.mark.usefixtures("without_drawing")
@pytest.mark.parametrize(
    "slo",
    [
        None,
        7,
        {"trials": [trial(1, 100, "pass", requests="12")], "bounds": [], "unit": "users"},
        {"trials": [{}]},
        {"trials": [{}], "bounds": [], "unit": "users"},
    ],
)
def test_what_is_no_search_has_no_table_of_trials(tmp_path: Path, slo: object) -> None:
    found = analyse(write_results(tmp_path, (100, 200, 400), 4), About(more={"slo": slo}))
    assert trial_rows(found.summary, found.steps) == []
    assert "<h2>Trials</h2>" not in html.html(found)
    assert pictures.bound_of(found.summary) is None
