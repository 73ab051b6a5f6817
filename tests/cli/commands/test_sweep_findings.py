"""What a sweep says of single steps that this machine spoiled."""

from types import SimpleNamespace
from typing import Any, cast

from logreplay.cli.running.sweep import of_the_generator
from logreplay.replay.results.outcome import Outcome
from logreplay.replay.results.verdict import Finding, Health, RunVerdict, Severity

LATE = Finding("lag", Severity.VOID, "requests were started late: lag p95 142 ms")


def outcome(offered: float, verdict: RunVerdict, *findings: Finding) -> Outcome:
    seen: Any = SimpleNamespace(offered=offered, health=Health(verdict, findings))
    return cast("Outcome", seen)


def test_a_late_step_is_a_warning_that_names_it_and_does_not_call_the_sweep_invalid() -> None:
    slow_disk = Finding("slow_disk", Severity.WARNING, "rows were written late")
    failing = Finding("target_failing", Severity.VOID, "100% of the requests failed")
    found = of_the_generator(
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
            "text": "at 20/s: requests were started late: lag p95 142 ms; capacity does not count this step",
        }
    ]
