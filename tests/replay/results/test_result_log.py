"""The result log: readable at any moment, in each of its forms."""

import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from logreplay.analysis.input.arrays import read
from logreplay.core.errors import LogreplayError
from logreplay.core.record import RESULT_COLUMNS, SCHEMA
from logreplay.core.rows import FORMS, scan
from logreplay.replay.results.result_log import InSteps, MemoryResults, ResultLog
from support.file_size_limit import files_limited_to


def rows(first: int, count: int) -> pl.DataFrame:
    frame = pl.DataFrame({"seq": range(first, first + count), "url": ["/a,b?c"] * count, "latency": [0.001234] * count})
    return frame.select(
        pl.col(name) if name in frame.columns else pl.lit(None, SCHEMA[name]).alias(name) for name in RESULT_COLUMNS
    )


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_read_as_it_was_written(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"results{form}"
    with ResultLog(path) as log:
        for first in range(0, 1000, 100):
            log.write(rows(first, 100))
    frame = scan(path).collect()
    assert frame.columns == list(RESULT_COLUMNS)
    assert frame["seq"].to_list() == list(range(1000))
    assert set(frame["url"]) == {"/a,b?c"}
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("form", FORMS)
def test_what_was_written_can_be_read_before_the_end(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"results{form}"
    log = ResultLog(path)
    log.write(rows(0, 100))
    log.write(rows(100, 100))
    growing = next(tmp_path.iterdir())
    assert scan(growing).collect()["seq"].to_list() == list(range(200))
    log.close()


@pytest.mark.parametrize("keep", ["half a line", "more than there is"])
def test_a_log_goes_on_only_behind_a_whole_row(tmp_path: Path, keep: str) -> None:
    path = tmp_path / "results.csv"
    with ResultLog(path) as log:
        log.write(rows(0, 2))
        whole = log.sync()
    before = path.read_bytes()
    with pytest.raises(LogreplayError, match=r"results\.csv: .*; start again( with -o)?$"):
        ResultLog(path, keep=whole - 5 if keep == "half a line" else whole + 1)
    assert path.read_bytes() == before
    ResultLog(path, keep=before[:-1].rindex(b"\n") + 1).close()
    assert scan(path).collect()["seq"].to_list() == [0]


def test_another_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LogreplayError, match=r"results\.json: the name of a result log ends in one of \.csv, "):
        ResultLog(tmp_path / "results.json")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs prlimit")
@pytest.mark.parametrize("form", FORMS)
def test_a_disk_that_fills_up_leaves_whole_lines(tmp_path: Path, form: str) -> None:
    """A limit of the file's size stands for the disk: the write that hits it is cut in the middle of a line."""
    path = tmp_path / f"results{form}"
    code = (
        "import resource, signal, sys; from pathlib import Path\n"
        "sys.path[:0] = sys.argv[2:]; from test_result_log import rows, ResultLog, LogreplayError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (20_001, 20_001))\n"
        "log = ResultLog(Path(sys.argv[1]))\n"
        "try:\n"
        "    for first in range(0, 10**6, 100): log.write(rows(first, 100))\n"
        "except LogreplayError as error: print(error); log.close()\n"
    )
    here = Path(__file__)
    command = [sys.executable, "-B", "-c", code, str(path), str(here.parent), str(here.parents[2])]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert said.startswith(f"{path}: cannot be written any more: ")
    growing = next(tmp_path.iterdir())
    seqs = scan(growing).collect()["seq"].to_list()
    assert seqs == list(range(len(seqs)))
    assert len(seqs) > 100


@pytest.mark.skipif(sys.platform != "linux", reason="needs prlimit")
def test_a_disk_that_fills_up_in_the_first_write_leaves_its_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    log, said = ResultLog(path), f"; the rows written so far are kept in {re.escape(str(path))}$"
    with files_limited_to(5_001), pytest.raises(LogreplayError, match=said):
        log.write(rows(0, 1000))
    log.close()
    seqs = scan(path).collect()["seq"].to_list()
    assert seqs == list(range(len(seqs)))
    assert len(seqs) > 10


@pytest.mark.parametrize("form", FORMS)
def test_the_offered_rate_is_read_back_exactly_as_it_was_given(tmp_path: Path, form: str) -> None:
    rates = [33.3, 44.44444449, 100 / 3, 1234567.891, 0.0001234567, 2.0]
    path = tmp_path / f"results{form}"
    with ResultLog(path) as log:
        log.write(
            rows(0, 12).with_columns(
                offered=pl.Series([rate for rate in rates for _ in range(2)]),
                step=pl.Series([step for step in range(6) for _ in range(2)]),
                scheduled=pl.Series([float(place) for place in range(12)]),
                rc=pl.lit(200, SCHEMA["rc"]),
            )
        )
    assert scan(path).collect()["offered"].unique(maintain_order=True).to_list() == rates
    assert read(path).rates == tuple(rates)


def test_rows_of_a_run_in_steps_have_the_step_and_the_rate_of_their_scheduled_time() -> None:
    results = MemoryResults()
    steps = InSteps(results, ((50.0, 2.0), (100.0, 2.0)))
    rows = pl.DataFrame({"scheduled": [0.0, 1.999, 2.0, 3.9]}).with_columns(step=pl.lit(0), offered=pl.lit(75.0))
    steps.write(rows)
    assert results.frame["step"].to_list() == [0, 0, 1, 1]
    assert results.frame["offered"].to_list() == [50, 50, 100, 100]
