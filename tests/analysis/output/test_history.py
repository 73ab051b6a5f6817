"""One row for each run, in a CSV that Apache Otava reads."""

import csv
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from logreplay.analysis.output.history import append, of_duet, of_run
from logreplay.parsers.record import LogreplayError

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_rows_follow_one_header(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    append(path, {"target": "http://user:verysecret@a", "p50_s": 0.25, "p99_s": None}, NOW)
    append(path, {"target": 'a,"b"', "p50_s": 0.5, "p99_s": 1.5}, NOW)
    with path.open(newline="") as file:
        first, second = csv.DictReader(file)
    assert first["time"] == "2026-01-02 03:04:05 +0000"
    assert "verysecret" not in first["target"]
    assert (first["p50_s"], first["p99_s"]) == ("0.25", "")
    assert (second["target"], second["p99_s"]) == ('a,"b"', "1.5")


def test_a_file_with_other_columns_is_kept_and_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("time,other\n1,2\n")
    with pytest.raises(LogreplayError, match="has other columns"):
        append(path, {"p50_s": 1.0})
    assert path.read_text() == "time,other\n1,2\n"


def test_a_run_and_a_duet_have_the_same_columns_whatever_is_known() -> None:
    run = {"log": "a", "target": "b", "verdict": "VALID", "requests": {"sent": 9, "scheduled": 10, "unexpected": 1}}
    assert of_run(run)["failed_share"] == 0.1
    assert list(of_run(run)) == list(of_run({**run, "response_s": {"p50": 1.0}, "requests": {}}))
    targets = {"baseline": {"target": "a"}, "candidate": {"target": "b"}}
    times: dict[str, Any] = {"change": None, "quantiles": {}, "failed_more": [0.0, -1.0, 1.0]}
    duet = {"log": "a", "verdict": "VALID", "targets": targets, "times": times, "answers": None}
    known = {
        **times,
        "change": {"ratio": 1.1, "low": 1.0, "high": 1.2, "count": 9},
        "quantiles": {"p50": {"ratio": 1.2}},
    }
    assert list(of_duet(duet)) == list(of_duet({**duet, "times": known, "answers": {"share_different": 0.5}}))
    assert of_duet({**duet, "times": known})["p50_ratio"] == 1.2
