"""The cases of h2spec for clients, where h2specd is installed (go install github.com/summerwind/h2spec/cmd/h2specd)."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[3]


@pytest.mark.alone  # h2specd gives each client three seconds, its start included
def test_all_cases_of_h2spec_for_clients_pass() -> None:
    program = shutil.which("h2specd") or shutil.which("h2specd", path=Path.home() / "go" / "bin")
    if program is None:
        pytest.skip("h2specd is not installed")
    client = f"{sys.executable} {TESTS / 'support' / 'http2_client.py'}"
    command = [program, "--exec", client, "--timeout", "6", "--from-port", "31000"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=500)
    counts = re.search(r"(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed", done.stdout)
    assert counts, done.stdout[-2000:]
    failures = done.stdout.partition("Failures")[2][:3000]
    assert counts.group(3, 4) == ("0", "0"), failures
    assert int(counts[1]) >= 57
