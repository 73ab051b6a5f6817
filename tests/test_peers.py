"""`benchmarks.peers` counts the figures of this commit and machine; its page names the machine and missing figures."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers import __main__, drawing
from benchmarks.peers.__main__ import figures_of, origin


def test_figures_of_other_commits_and_machines_do_not_count() -> None:
    """Medians mixed old figures with new ones."""
    now = origin()
    rows = [now | {"rate": 1.0}, now | {"commit": "other", "rate": 2.0}, now | {"machine": "other"}, {"rate": 3.0}]
    assert figures_of(now, map(json.dumps, rows)) == rows[:1]


def test_figures_count_until_code_changes_though_their_page_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page of the first turn changed the origin of the second, which then stood alone."""

    def commit() -> None:
        for words in (["add", "."], ["-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "a"]):
            subprocess.run(["git", *words], cwd=tmp_path, check=True)

    (page := tmp_path / "docs" / "peers.md").parent.mkdir()
    code, readme = tmp_path / "engine.py", tmp_path / "README.md"
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for path in (page, code, readme):
        path.write_text("before")
    commit()
    monkeypatch.setattr(__main__, "ROOT", tmp_path)
    first = origin()
    for path in (page, readme):
        path.write_text("after")
    assert origin() == first
    commit()
    assert origin() == first
    code.write_text("after")
    assert origin()["commit"] == f"{first['commit']}-dirty"


def test_a_failure_is_named_unless_another_turn_had_a_figure() -> None:
    rows: list[dict[str, Any]] = [{"tool": tool, "kind": "closed", "error": "does not end"} for tool in ("wrk", "ab")]
    rows.append({"tool": "wrk", "kind": "closed", "rate": 100.0})
    assert drawing._missing(rows, {}) == "Not measured: ab (closed): does not end."


def test_the_version_of_nginx_is_that_of_the_program_that_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page had the version of the nginx on the search path, or none, and called each machine a virtual one."""
    pytest.importorskip("uvloop")
    monkeypatch.setattr(drawing, "NGINX", "/bin/false")
    assert drawing._conditions().endswith("nginx .")
    assert drawing.processor() in drawing._conditions()
    assert "virtual" not in drawing._conditions()
