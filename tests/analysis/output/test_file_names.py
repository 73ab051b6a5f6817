"""A result log tells the names of the files that show it."""

from pathlib import Path

import pytest

from logreplay.analysis.output import file_names


@pytest.mark.parametrize("name", ["run.csv", "run.csv.gz", "run.csv.zst", "run.parquet"])
def test_files_beside_a_result_log_have_its_name_without_its_endings(name: str) -> None:
    assert file_names.summary_beside(Path("out", name)) == Path("out", "run.summary.json")
    assert [path.name for path in file_names.companion_files(Path(name))] == [
        "run.summary.json",
        "run.hlog",
        "run.hgrm",
        "run.watch.csv",
        "run.logins.csv",
    ]
