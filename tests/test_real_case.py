"""`benchmarks.real_case`: the folders that it makes, and the figures of its picture."""

from pathlib import Path

import click
import polars as pl
import pytest

from benchmarks.real_case.__main__ import made_anew
from benchmarks.real_case.picture import minutes
from logreplay.core.record import RESULT_COLUMNS


def test_the_log_of_an_earlier_time_is_kept_though_it_is_in_the_folder_of_the_results(tmp_path: Path) -> None:
    """The folder was deleted before the log was copied."""
    keep = tmp_path / "real-case"
    _, results = made_anew(keep, None)
    (log := results / "access.log").write_text("a line\n")
    (results / "held.png").touch()
    assert made_anew(keep, log) == (keep / "server", results)
    assert [path.name for path in results.iterdir()] == ["access.log"]
    assert log.read_text() == "a line\n"


@pytest.mark.parametrize("name", ["thesis.txt", "results"])
def test_a_folder_with_files_of_others_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(click.UsageError, match="it holds other files"):
        made_anew(tmp_path, None)
    assert (tmp_path / name).exists()


def test_p99_of_a_minute_is_of_response_times_and_a_failed_request_is_late(tmp_path: Path) -> None:
    """The picture had the time to the first byte only, and took a status of 500 for an answer in time."""
    row = {
        "date": "2026-01-01",
        "time": "00:00:00",
        "latency": 0.1,
        "xfertime": 0.2,
        "bytes": 1,
        "url": "/",
        "op": "GET",
    }
    row |= {"lag": 0.01, "queued": 0.04, "connect": 0.05, "step": 0, "offered": 1.0, "rc": 200, "expected_rc": 200}
    cancelled = {"rc": 0, "error": "cancelled"}
    rows = [row | {"scheduled": at, **other} for at, other in ((0, {}), (60, {"rc": 500}), (120, {}), (120, cancelled))]
    columns = {name: [each.get(name) for each in rows] for name in RESULT_COLUMNS}
    pl.DataFrame(columns).write_csv(tmp_path / "held.csv")
    assert minutes(tmp_path / "held.csv").rows() == [
        (0, pytest.approx(0.4)),
        (1, float("inf")),
        (2, pytest.approx(0.4)),
    ]
