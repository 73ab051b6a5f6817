"""A disk that is full, or a limit of the size of files, in the middle of a measurement: rows and summary stay."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

from support.command_line import typed
from support.file_size_limit import files_limited_to

REASON = "cannot be written any more: the file size limit is reached (ulimit -f)"


@pytest.fixture(autouse=True)
def modules_are_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", True)  # of those that are loaded now


def ended(folder: Path, *words: str | Path, size: int | None = None) -> str:
    """Run a command that a full disk ends; what it said."""
    with files_limited_to(size) if size else nullcontext():
        done = typed(folder, *words)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def summary(path: Path) -> tuple[str, str, int]:
    """Verdict, why it ended, and the requests, by a summary."""
    value = json.loads(path.read_text())
    return value["verdict"], value["stopped"], value["requests"]["scheduled"]


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        (["run", "--tps", "900", "--for", "20s", "-o", "r.csv"], "r.csv"),
        (["run", "--tps", "900", "--for", "20s", "-o", "r.csv", "--force"], "r.csv.running.csv"),
        (["sweep", "700,900", "--for", "10s", "-o", "s"], "s/results.csv"),
        (["find", "--p99", "1s", "--start", "900", "--trial", "10s", "-o", "f"], "f/results.csv"),
        (["duet", "{url}", "--tps", "900", "--for", "20s", "-o", "d"], "d/baseline.csv"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_rows_that_a_limit_ends_have_a_summary_that_says_so(
    words: Sequence[str], rows: str, log: Path, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("logreplay.analysis.search.search.CALIBRATION_SETTLES_S", 0.0)
    if "--force" in words:
        (tmp_path / "r.csv").write_text("an earlier result\n")
    command, *rest = (word.format(url=target) for word in words)
    at = 1 if command == "sweep" else 0
    said = ended(tmp_path, command, *rest[:at], log, target, *rest[at:], size=30_000)
    assert REASON in said
    path = tmp_path / rows
    verdict, stopped, requests = summary(path.with_name(path.name.removesuffix(".csv") + ".summary.json"))
    assert verdict == "GENERATOR_BOUND"
    assert REASON in stopped
    assert requests == len(path.read_text().splitlines()) - 1 > 50


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1.1 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1100k", "none", folder], capture_output=True).returncode:
        pytest.skip("only root may mount")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.slow
def test_a_full_disk_has_space_for_the_summary(log: Path, target: str, small_disk: Path) -> None:
    (small_disk / "others").write_bytes(bytes(70_000))
    said = ended(
        small_disk, "run", log, target, "--tps", "1000", "--for", "60s", "-o", "r.csv",
    )  # fmt: skip
    assert "the disk is full" in said
    verdict, stopped, requests = summary(small_disk / "r.summary.json")
    assert (verdict, "the disk is full" in stopped) == ("GENERATOR_BOUND", True)
    assert requests == len((small_disk / "r.csv").read_text().splitlines()) - 1
