"""A check that nothing was decided by is not passed."""

from typing import Any

import pytest

from logreplay.analysis.verdict.checks import check_valid


@pytest.mark.parametrize(
    ("summary", "state"),
    [
        ({}, "passed"),
        ({"answered": True}, "passed"),
        ({"answered": False}, "skipped"),
        ({"answered": False, "users": {"least": 1}}, "passed"),
        ({"stopped": "interrupted"}, "skipped"),
        ({"verdict": "RATE_MISSED", "stopped": "interrupted"}, "unjudged"),
    ],
)
def test_a_measurement_without_an_answer_or_ended_early_is_neither_passed_nor_failed(
    summary: dict[str, Any], state: str
) -> None:
    found = check_valid("valid run", {"verdict": "VALID", "answer": "not enough data", **summary})
    assert found.state == state
    assert found.text == ("" if state == "passed" else summary.get("stopped", "not enough data"))
