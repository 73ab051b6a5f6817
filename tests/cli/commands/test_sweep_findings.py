"""What a sweep says of single steps that this machine spoiled."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner

from logreplay.analysis.verdict.saturation_sentences import check_feasible
from logreplay.cli.main import cli, run
from logreplay.replay.results.outcome import Outcome
from logreplay.replay.results.verdict import Finding, Judgement, RunVerdict, Severity, Waits
from logreplay.replay.servers.minimal import responding
from logreplay.replay.sweeps.manifest import Manifest
from logreplay.replay.sweeps.step_log import Mark
from logreplay.replay.sweeps.steps import FinishedStep, Step, generator_findings
from logreplay.runs.curve import account, limited_steps, warnings_of_steps

LATE = Finding("lag", Severity.VOID, "requests were started late: lag p95 142 ms")


def outcome(offered: float, verdict: RunVerdict, *findings: Finding) -> Outcome:
    none = SimpleNamespace(completed=0)
    evidence = SimpleNamespace(waits=Waits(offered), counters=none, timings=())
    health = Judgement(verdict, findings)
    seen: Any = SimpleNamespace(step=int(offered) // 20 - 1, offered=offered, health=health, evidence=evidence)
    return cast("Outcome", seen)


def test_a_late_step_is_a_warning_that_names_it_and_does_not_call_the_sweep_invalid() -> None:
    slow_disk = Finding("slow_disk", Severity.WARNING, "rows were written late")
    failing = Finding("target_failing", Severity.VOID, "100 % of the requests failed")
    found = generator_findings(
        [
            outcome(20, RunVerdict.GENERATOR_BOUND, LATE, slow_disk),
            outcome(40, RunVerdict.VALID, slow_disk),
            outcome(60, RunVerdict.TARGET_FAILING, failing),
        ]
    )
    assert [finding.as_dict() for finding in found] == [
        {
            "code": "lag",
            "severity": "warning",
            "text": "at 20/s: requests were started late: lag p95 142 ms; capacity counts this step only if it keeps "
            "the bound with the lag",
        }
    ]


def test_steps_that_met_a_limit_of_this_machine_are_named_those_made_before_a_resumption_too(tmp_path: Path) -> None:
    emfile = Finding("emfile", Severity.VOID, "3 connections could not be opened or used here (EMFILE)")
    manifest = Manifest(tmp_path, {})
    for index, limit in enumerate(("", "no local port")):
        manifest.finish(FinishedStep(Step(index, 20.0 * index, 5.0), False, 3, 100, limit), Mark())
    made = [outcome(60, RunVerdict.GENERATOR_BOUND, emfile), outcome(80, RunVerdict.GENERATOR_BOUND, LATE)]
    assert limited_steps(Manifest.read(tmp_path), made) == {1: "no local port", 2: emfile.text}
    (found, _) = warnings_of_steps(manifest, made)
    assert found.text == f"at 60/s: {emfile.text}; the verdict does not count this step"


def test_warnings_about_finished_steps_are_told_again_when_the_sweep_is_resumed(tmp_path: Path) -> None:
    """The second ``--resume`` had no outcomes, and dropped the steps that the first one had warned about."""
    made = [outcome(60, RunVerdict.GENERATOR_BOUND, LATE), outcome(80, RunVerdict.GENERATOR_BOUND, LATE)]
    manifest = Manifest(tmp_path, {})
    for index, each in ((2, made[0]), (3, made[1])):
        warnings = tuple(generator_findings([each]))
        manifest.finish(FinishedStep(Step(index, each.offered, 5.0), True, warnings=warnings), Mark())
    first = warnings_of_steps(manifest, made)
    again = warnings_of_steps(Manifest.read(tmp_path), [])
    assert [finding.text.partition(":")[0] for finding in again] == ["at 60/s", "at 80/s"]
    assert again == first


def test_waits_in_finished_steps_are_told_again_when_the_sweep_is_resumed(tmp_path: Path) -> None:
    """The summary of a sweep that went on said nothing of the requests that had waited before."""
    manifest = Manifest(tmp_path, {})
    for index, rate in enumerate((20.0, 40.0)):
        waits = Waits(rate, scheduled=100, sent=90, dropped=10, limited=int(rate), queued=3, queued_for="a stream")
        manifest.finish(FinishedStep(Step(index, rate, 5.0), True, waits=waits), Mark())
    found = warnings_of_steps(Manifest.read(tmp_path), [])
    assert [(finding.code, finding.text.partition(" request")[0]) for finding in found] == [
        ("in_flight_limit", "at 20, 40/s: 60"),
        ("streams_limit", "at 20, 40/s: 6"),
        ("dropped", "at 20, 40/s: 20 of 200"),
    ]


def test_the_account_of_a_sweep_names_the_errors_that_the_log_expects() -> None:
    """Requests that were cancelled before they were sent made them fewer."""
    counts = {"sent": 1200, "ok": 1100, "http_error": 90, "net_error": 10}
    counts |= {"dropped": 5, "not_sent": 3, "failed": 95}  # 88 + 2 + 5
    said = account({"requests": counts, "errors": {"timeout": 2, "cancelled": 8 + 3, "dropped": 5}})
    assert said.startswith(
        "all steps: sent 1,200 = ok 1,100 + http_error 90 + net_error 10, 8 of them cancelled; 2 of the http_error have"
    )


@pytest.mark.parametrize(
    ("levels", "seconds", "note"),
    [
        ((40, 80, 160), 10.0, "and this sweep has 3: give more rates, such as 40..160:20"),
        ((50, 100, 150, 200, 250), 1.0, "and this sweep has 4: make the steps longer, such as --for 2s"),
        ((10, 20, 30, 40, 50), 10.0, ""),
    ],
)
def test_what_a_sweep_lacks_for_an_answer_is_foreseen(levels: Sequence[float], seconds: float, note: str) -> None:
    assert check_feasible(levels, seconds).endswith(note)
    assert bool(check_feasible(levels, seconds)) == bool(note)


@pytest.mark.slow
@pytest.mark.parametrize(("more", "told"), [((), True), (("-q",), False)])
def test_a_sweep_too_small_for_an_answer_says_so_before_the_first_step(
    more: Sequence[str], told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "requests.http"
    log.write_text("GET / HTTP/1.1\nHost: a\n\n")
    with responding() as url:
        run(["sweep", "20,30", str(log), url, "--for", "500ms", "--no-plots", "-o", str(tmp_path / "s"), *more])
    shown = capsys.readouterr()
    before = shown.err.partition("20/s: 10 sent, 0 failed, backlog")[0]
    assert ("all steps: sent 25 = ok 25 + http_error 0 + net_error 0" in shown.err) == told
    assert shown.out.splitlines()[-1].startswith("not enough data: no rate has 100 requests")
    assert ("note: an answer needs 5 rates with 100 requests each, and this sweep has 0" in before) == told


def test_the_help_says_which_rule_stops_a_sweep() -> None:
    """It said "overloaded", as the step table does of rates after which the sweep goes on."""
    said = " ".join(CliRunner().invoke(cli, ["sweep", "--help"]).output.split())
    assert (
        "stops after two rates in a row that fall behind or fail: at the end of the step more than one second" in said
    )
    assert "two overloaded rates" not in said
