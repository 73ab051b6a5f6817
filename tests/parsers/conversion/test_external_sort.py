"""Rows come out in order of start, in bounded memory, none lost, equal ones in the order in which they came."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.parsers.conversion import external_sort
from logreplay.parsers.conversion.external_sort import Sorter
from logreplay.parsers.lines.csv_lines import Lines, rendered


def rows_of(numbers: list[int]) -> Lines:
    return rendered(pl.DataFrame({"n": numbers}, schema={"n": pl.Int64}), ["n"])


def sorted_by(starts: list[int], chunk: int, buffer: int, merge: int = 1 << 20) -> list[int]:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(external_sort, "MERGE", merge)
        path = Path(folder) / "out.csv"
        sorter = Sorter(path, b"date,time,n\n", buffer)
        for begin in range(0, len(starts), chunk):
            some = starts[begin : begin + chunk]
            sorter.add(np.array(some, np.int64), rows_of(list(range(begin, begin + len(some)))))
        sorter.close()
        assert [item.name for item in Path(folder).iterdir()] == ["out.csv"]
        header, *lines = path.read_text().splitlines()
        assert header == "date,time,n"
        return [int(line.rsplit(",", 1)[1]) for line in lines]


@given(st.lists(st.integers(0, 50)), st.integers(1, 9), st.integers(1, 20), st.integers(2, 4))
def test_any_order_in_one_order_out(starts: list[int], chunk: int, buffer: int, runs: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(external_sort, "RUNS", runs)
        assert sorted_by(starts, chunk, buffer) == sorted(range(len(starts)), key=starts.__getitem__)


@pytest.mark.parametrize("how", ["newest first", "mixed"])
def test_a_log_of_any_length_has_few_runs(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stretch of a log that is newest first was a run of its own, and all were in memory together."""
    monkeypatch.setattr(external_sort, "RUNS", 6)
    sorter, rng, most = Sorter(tmp_path / "out.csv", b"n\n", 2), np.random.default_rng(1), 0
    for start in range(800, 0, -2) if how == "newest first" else rng.integers(1, 800, 400):
        sorter.add(np.array([start, start + 1]), rows_of([0, 1]))
        most = max(most, sum(len(spill.ends) - 1 for spill in sorter._spills))
    assert 0 < most < 3 * external_sort.RUNS
    sorter.close()
    keys = [line[:26] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert len(keys) == 800
    assert keys == sorted(keys)


@pytest.mark.parametrize("different", [20_011, 50, 1])
def test_runs_larger_than_what_is_read_at_once_are_merged(different: int) -> None:
    starts = [0, *((n * 7919) % different - 1 for n in range(20_000))]
    assert sorted_by(starts, 100, 5000, merge=1) == sorted(range(len(starts)), key=starts.__getitem__)


def test_nothing_is_left_behind_when_it_is_given_up(tmp_path: Path) -> None:
    sorter = Sorter(tmp_path / "out.csv", b"h\n", 2)
    for start in (5, 6, 7, 8, 1, 2, 3, 0):
        sorter.add(np.array([start]), rows_of([0]))
    sorter.discard()
    assert list(tmp_path.iterdir()) == []
