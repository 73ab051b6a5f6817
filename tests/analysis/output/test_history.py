"""One row for each run, in a CSV that Apache Otava reads."""

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from logreplay.analysis.output import history
from logreplay.analysis.output.history import append, check, of_duet, of_run, write_benchmark
from logreplay.core.errors import LogreplayError
from logreplay.core.files import lock

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_rows_follow_one_header(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    assert append(path, {"target": "http://user:verysecret@a", "p50_s": 0.25, "p99_s": 2.5}, NOW) == path
    append(path, {"target": 'a,"b"', "p50_s": 0.5, "p99_s": 1.5}, NOW)
    with path.open(newline="") as file:
        first, second = csv.DictReader(file)
    assert first["time"] == "2026-01-02 03:04:05 +0000"
    assert "verysecret" not in first["target"]
    assert (first["p50_s"], first["p99_s"]) == ("0.25", "2.5")
    assert (second["target"], second["p99_s"]) == ('a,"b"', "1.5")


def test_a_row_without_a_metric_goes_to_a_file_without_that_column(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    whole = {"log": None, "target": "a", "p50_s": 0.25, "p99_s": 1.0}
    lacking: tuple[dict[str, float | None], ...] = ({}, {"p99_s": None}, {"p99_s": float("nan")}, {"p50_s": None})
    got = [append(path, whole | more, NOW) for more in lacking]
    names = ["runs.csv", "runs.without-p99_s.csv", "runs.without-p99_s.csv", "runs.without-p50_s.csv"]
    assert [each.name for each in got] == names
    lines = [(tmp_path / name).read_text().splitlines() for name in dict.fromkeys(names)]
    assert [len(each) for each in lines] == [2, 3, 2]
    assert lines[1][0] == "time,log,target,p50_s"


def test_a_row_for_a_device_goes_to_no_file_beside_it() -> None:
    device = Path("/dev/null")
    assert append(device, {"log": "a.csv", "p50_s": 0.1, "p99_s": None}) == device


def test_the_json_is_what_github_action_benchmark_reads(tmp_path: Path) -> None:
    path, change = tmp_path / "runs.json", {"ratio": 1.1, "low": 1.0, "high": 1.25, "count": 9}
    urls = {"baseline": {"target": "http://u:verysecret@a"}, "candidate": {"target": "b"}}
    times = {"change": change, "quantiles": {"p50": {"ratio": 1.2}}, "failed_more": [0.0, -1.0, 1.0]}
    run = {"response_s": {"p50": 0.2, "mean": 0.3}, "rate": {"completed": 99.5}, "verdict": "VALID"}
    for row, names in (
        (of_duet({"targets": urls, "times": times, "verdict": "VALID"}), ["ratio", "p50_ratio", "failed_more"]),
        (
            of_run(run | {"requests": {"sent": 9, "scheduled": 10, "failed": 1}}),
            ["p50_s", "mean_s", "failed_share"],
        ),
        (of_run({}), []),
    ):
        check(path, row)
        write_benchmark(path, row)
        found = json.loads(path.read_text())
        assert [each["name"] for each in found] == names
        for each in found:  # interface BenchmarkResult of its src/extract.ts
            kinds = {name: type(value) for name, value in each.items() if name != "value"}
            assert kinds == dict.fromkeys(("name", "unit", "extra"), str) | ({"range": str} if "range" in each else {})
            assert isinstance(each["value"], float)
        assert "verysecret" not in path.read_text()
    write_benchmark(path, of_duet({"targets": urls, "times": times, "verdict": "VALID"}))
    first = json.loads(path.read_text())[0]
    assert (first["range"], first["unit"]) == ("1 to 1.25", "candidate/baseline")
    assert "candidate: b" in first["extra"]
    for text in ('{"a": 1}', "[1]", "no json", '[{"name": "x"}]', "[" * 100_000):
        path.write_text(text)
        with pytest.raises(LogreplayError, match="holds something other than the figures of a run"):
            check(path, {})
        assert path.read_text() == text


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
    append(path, dict.fromkeys(of_run({}), 1.0))
    check(path, of_run({}))
    with pytest.raises(LogreplayError, match="has other columns"):
        check(path, of_duet({}))
    with pytest.raises(LogreplayError, match="cannot be written"):
        check(tmp_path, of_run({}))


def test_a_request_that_was_not_sent_is_no_failure_of_the_target() -> None:
    counts = {"scheduled": 1000, "sent": 800, "dropped": 200, "failed": 208}
    assert of_run({"requests": counts})["failed_share"] == 0.01


def test_a_run_and_a_duet_have_the_same_columns_whatever_is_known() -> None:
    run = {"log": "a", "target": "b", "verdict": "VALID", "requests": {"sent": 9, "scheduled": 10, "failed": 1}}
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
