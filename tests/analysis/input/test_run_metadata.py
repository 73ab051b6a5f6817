"""The users of a run come from its summary."""

import json
from math import inf
from pathlib import Path
from typing import Any

import pytest

from logreplay.analysis.input.run_metadata import ClosedLoop, recorded, summary_of

STEPS = [{"step": 0, "users": 1}, {"step": 1, "users": 8}]


@pytest.mark.parametrize(
    ("summary", "found"),
    [
        ({"users": {"steps": STEPS, "think_s": 0.5, "step_s": 10.0}}, ClosedLoop({0: 1, 1: 8}, 0.5, 10.0)),
        ({"users": {"steps": STEPS}}, ClosedLoop({0: 1, 1: 8}, 0.0, inf)),
        ({"users": {"steps": STEPS, "think_s": 0.5, "step_s": None}}, ClosedLoop({0: 1, 1: 8}, 0.5, inf)),
        ({"users": {"steps": STEPS, "step_s": "long"}}, None),
        ({"options": {"vusers": 50}}, ClosedLoop({0: 50}, 0.0, inf)),
        ({"options": {"vusers": 50, "think": 0.1}}, ClosedLoop({0: 50}, 0.1, inf)),
        ({"options": {"vusers": 50, "think": {"low": 1.0, "high": 3.0}}}, ClosedLoop({0: 50}, 2.0, inf)),
        ({"options": {"vusers": 50, "think": {"low": 1.0}}}, None),
        ({"options": {"vusers": [1, 50]}}, None),
        ({"options": {"vusers": True}}, None),
        ({"options": {"tps": 50}}, None),
        ({"users": {"steps": [7]}}, None),
        ({"users": [1]}, None),
        ([1], None),
        (None, None),
    ],
)
def test_users_are_those_of_the_summary(tmp_path: Path, summary: Any, found: ClosedLoop | None) -> None:
    for name, results in (("summary.json", "results.csv"), ("run.summary.json", "run.csv")):
        path = tmp_path / name
        if summary is not None:
            path.write_text(json.dumps(summary))
        assert recorded(summary_of(tmp_path / results)) == found
        path.unlink(missing_ok=True)


def test_a_result_log_does_not_take_the_summary_of_another_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text('{"limited_steps": {"0": "cpu"}}')
    assert summary_of(tmp_path / "other.csv") == {}
    assert all(summary_of(tmp_path / name) for name in ("results.csv.gz", "seconds.csv", "candidate.parquet"))
