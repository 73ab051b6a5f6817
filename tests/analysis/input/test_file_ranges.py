"""A result log is cut at line ends into stretches that together are all of it; what cannot be cut is left whole."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logreplay.analysis.input.file_ranges import NotApart, Stretch, stretches
from logreplay.core.record import RESULT_COLUMNS

HEADER = ",".join(RESULT_COLUMNS) + "\n"


def row(seq: int, url: str = "/a") -> str:
    values = {"date": "2026-01-01", "time": "00:00:00.000000", "url": url, "op": "GET", "rc": "200", "seq": str(seq)}
    return ",".join(values.get(name, "0") for name in RESULT_COLUMNS) + "\n"


def log(folder: Path, *rows: str, header: str = HEADER, name: str = "results.csv") -> Path:
    path = folder / name
    path.write_text(header + "".join(rows))
    return path


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 300), min_size=1, max_size=20), st.integers(1, 2000))
def test_stretches_are_whole_lines_and_together_all_of_them(tmp_path: Path, lengths: list[int], size: int) -> None:
    path = log(tmp_path, *(row(seq, "/" + "x" * length) for seq, length in enumerate(lengths)))
    cut = stretches(path, size)
    data = path.read_bytes()
    assert b"".join(data[one.begin : one.end] for one in cut) == data[len(HEADER) :]
    assert all(data[one.end - 1 : one.end] == b"\n" for one in cut)
    assert pl.concat([one.rows(["seq"]) for one in cut])["seq"].to_list() == list(range(len(lengths)))


def test_a_last_line_without_its_end_is_read(tmp_path: Path) -> None:
    path = log(tmp_path, row(0), row(1).rstrip("\n"))
    assert stretches(path, 1)[-1].end == path.stat().st_size


def test_a_log_without_rows_has_no_stretches(tmp_path: Path) -> None:
    assert stretches(log(tmp_path)) == []


@pytest.mark.parametrize(
    ("name", "header"),
    [("results.csv.gz", HEADER), ("results.parquet", HEADER), ("results.csv", "date,time\n"), ("results.csv", "")],
)
def test_any_other_file_is_not_cut(tmp_path: Path, name: str, header: str) -> None:
    assert stretches(log(tmp_path, row(0), header=header, name=name), 1) == []


def test_a_file_that_is_not_there_or_is_a_folder_is_not_cut(tmp_path: Path) -> None:
    assert stretches(tmp_path / "none.csv") == []
    (tmp_path / "folder.csv").mkdir()
    assert stretches(tmp_path / "folder.csv") == []


def test_a_file_with_a_line_longer_than_any_of_a_run_is_not_cut(tmp_path: Path) -> None:
    assert stretches(log(tmp_path, row(0), row(1, "/" + "x" * (3 << 20)), row(2)), 1) == []


def test_a_stretch_that_begins_inside_a_quoted_field_cannot_be_read_alone(tmp_path: Path) -> None:
    path = log(tmp_path, row(0), row(1, '"/a\n/b"'), row(2))
    inside = path.read_bytes().index(b"/b")
    with pytest.raises(NotApart):
        Stretch(path, inside, path.stat().st_size).rows(["seq"])


@pytest.mark.parametrize("bad", ["2026-01-01,00:00\n", row(1, '"/a'), row(1) + "\n", row(1).replace("200", "x")])
def test_a_stretch_with_a_row_that_is_refused_cannot_be_read_alone(tmp_path: Path, bad: str) -> None:
    path = log(tmp_path, row(0), bad, row(2))
    with pytest.raises(NotApart):
        stretches(path)[0].rows(["seq", "rc"])
