"""Types fit together, and the site of the documentation builds; here, so that both run beside the other tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def refusals(module: str, *arguments: str | Path) -> str:
    """What a program of the development tools has against the tree."""
    pytest.importorskip(module)
    ended = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.stdout + ended.stderr if ended.returncode else ""


@pytest.mark.timeout(900)  # of those that begin first
def test_the_package_and_its_tests_are_typed_without_an_error() -> None:
    assert refusals("mypy", "-p", "logreplay") == ""
    assert refusals("mypy", "tests") == ""


def test_the_pages_build_without_a_warning(tmp_path: Path) -> None:
    assert refusals("mkdocs", "build", "--strict", "--site-dir", tmp_path) == ""  # --quiet would count no warning
