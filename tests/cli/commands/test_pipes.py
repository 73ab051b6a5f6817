"""Commands that read a result log more than once say so of a pipe."""

import os
from pathlib import Path

import pytest

from logreplay.cli.main import run
from logreplay.core.record import RESULT_COLUMNS


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A named pipe to which nobody writes."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.mark.parametrize("command", ["analyze", "compare", "compare after", "plot", "plot several", "capacity"])
def test_a_pipe_is_no_result_log(
    command: str, pipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    results = tmp_path / "results.csv"
    row = dict.fromkeys(RESULT_COLUMNS, "0") | {"date": "2026-01-01", "time": "00:00:00", "url": "/", "op": "GET"}
    results.write_text(",".join(row) + "\n" + ",".join(row.values()) + "\n")
    words = {
        "analyze": ("analyze", pipe),
        "compare": ("compare", pipe, results),
        "compare after": ("compare", results, pipe),
        "plot": ("plot", pipe),
        "plot several": ("plot", results, pipe),
        "capacity": ("capacity", pipe, "--demand", 100, "--p90", "1s"),
    }[command]
    assert run([str(word) for word in words]) == 1
    assert capsys.readouterr().err == (
        f"Error: {pipe}: is not a file, and is read more than once; write it to a file first\n"
    )
