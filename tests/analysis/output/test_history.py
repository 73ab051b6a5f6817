"""One row for each run, in a CSV that Apache Otava reads."""

import csv
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from logreplay.analysis.output import history
from logreplay.analysis.output.history import append, check, of_duet, of_run
from logreplay.core.errors import LogreplayError
from logreplay.core.files import lock

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


def test_a_last_line_without_an_end_gets_one(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    append(path, {"p50_s": 0.25}, NOW)
    path.write_text(path.read_text().rstrip("\n"))
    append(path, {"p50_s": 0.5}, NOW)
    with path.open(newline="") as file:
        assert [row["p50_s"] for row in csv.DictReader(file)] == ["0.25", "0.5"]


def test_a_row_waits_for_a_process_that_appends_but_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.csv"
    monkeypatch.setattr(history, "LOCKED_S", 0.05)
    with path.open("ab") as file:
        assert lock(file.fileno())
        with pytest.raises(LogreplayError, match=r"--history .*runs.csv: another process has held its lock"):
            append(path, {"p50_s": 0.25}, NOW)
    append(path, {"p50_s": 0.25}, NOW)
    assert len(path.read_text().splitlines()) == 2


def test_a_row_is_checked_before_the_run(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    check(path, of_run({}))
    assert not path.exists()
    append(path, of_run({}))
    check(path, of_run({}))
    with pytest.raises(LogreplayError, match="has other columns"):
        check(path, of_duet({}))
    with pytest.raises(LogreplayError, match="cannot be written"):
        check(tmp_path, of_run({}))


def test_a_run_and_a_duet_have_the_same_columns_whatever_is_known() -> None:
    run = {"log": "a", "target": "b", "verdict": "VALID", "requests": {"sent": 9, "scheduled": 10, "unexpected": 1}}
    assert of_run(run)["failed_share"] == 0.1
    assert list(of_run({})) == list(of_run(run)) == list(of_run({**run, "response_s": {"p50": 1.0}, "requests": {}}))
    targets = {"baseline": {"target": "a"}, "candidate": {"target": "b"}}
    times: dict[str, Any] = {"change": None, "quantiles": {}, "failed_more": [0.0, -1.0, 1.0]}
    duet = {"log": "a", "verdict": "VALID", "targets": targets, "times": times, "answers": None}
    known = {
        **times,
        "change": {"ratio": 1.1, "low": 1.0, "high": 1.2, "count": 9},
        "quantiles": {"p50": {"ratio": 1.2}},
    }
    assert (
        list(of_duet({}))
        == list(of_duet(duet))
        == list(of_duet({**duet, "times": known, "answers": {"share_different": 0.5}}))
    )
    assert of_duet({**duet, "times": known})["p50_ratio"] == 1.2
