"""`benchmarks.real_case`: the folders that it makes."""

from pathlib import Path

import click
import pytest

from benchmarks.real_case.__main__ import made_anew


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
    with pytest.raises(click.UsageError, match="it has files of others"):
        made_anew(tmp_path, None)
    assert (tmp_path / name).exists()
