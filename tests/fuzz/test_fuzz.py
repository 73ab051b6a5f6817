"""What the fuzzers begin with and once found is held by every run of the tests; a short fuzzing by the slow ones."""

import importlib
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from fuzz.run import FINDINGS, HARNESSES

FOUND = sorted(path for path in FINDINGS.glob("*/*"))


@pytest.mark.parametrize("harness", HARNESSES)
def test_no_seed_is_a_finding(harness: str) -> None:
    module = importlib.import_module(f"fuzz.{harness}")
    for seed in module.seeds():
        module.one_input(seed)


@pytest.mark.parametrize("path", FOUND, ids=[f"{path.parent.name}-{path.name}" for path in FOUND])
def test_what_was_found_once_stays_mended(path: Path) -> None:
    importlib.import_module(f"fuzz.{path.parent.name}").one_input(path.read_bytes())


def test_the_file_of_an_input_is_gone_however_its_process_ends() -> None:
    """The fuzzer ends its process without the exit handlers."""
    program = "import os; from fuzz.memory import file; file('a.csv').write_text('input'); os._exit(0)"
    with subprocess.Popen([sys.executable, "-c", program], cwd=Path(__file__).parents[1]) as process:
        pass
    assert process.returncode == 0
    assert not [*Path("/dev/shm").glob(f"*-{process.pid}-*")]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("atheris") is None, reason="atheris is not installed")
@pytest.mark.parametrize("harness", HARNESSES)
def test_some_seconds_of_fuzzing_find_nothing(harness: str, tmp_path: Path) -> None:
    run = Path(__file__).with_name("run.py")
    command = [sys.executable, str(run), harness, "--seconds", "2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    runs = re.search(r"Done (\d+) runs", done.stderr)
    assert runs
    assert int(runs[1]) > len(FOUND)
