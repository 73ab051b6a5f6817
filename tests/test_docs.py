"""What the README says is so."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from logreplay.cli.main import cli
from logreplay.parsers.record import CORE_COLUMNS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_each_command_is_in_the_readme_and_has_help_with_an_example(name: str) -> None:
    command = cli.commands[name]
    text = command.get_help(click.Context(command, info_name=name))
    assert f"logreplay {name}" in README
    assert "Example" in text


def test_the_readme_names_the_core_columns() -> None:
    assert ",".join(CORE_COLUMNS) in README


def test_the_two_commands_are_one_line_each() -> None:
    setup = [line for block in BLOCKS for line in block.splitlines() if line.startswith("python3")]
    assert [line.split("&&")[0].strip() for line in setup] == ["python3 -m venv .venv"] * 2
    assert setup[0].endswith(".venv/bin/logreplay demo")
    assert setup[1].endswith(".venv/bin/tox")


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert "grep -m1 -E '^python3 .*/tox' README.md" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.slow
def test_the_commands_of_the_readme_run_as_they_stand(tmp_path: Path) -> None:
    shutil.copy(ROOT / "sample_logs" / "nginx_request_time.log", tmp_path / "access.log")
    lines = [line.partition("#")[0] for block in BLOCKS for line in block.splitlines() if line.startswith("logreplay")]
    assert lines
    serve = [sys.executable, "-m", "logreplay.cli.main", "serve", "access.log", "--port", "0"]
    with subprocess.Popen(serve, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as target:
        assert target.stderr is not None
        url = next(match[0] for line in target.stderr if (match := re.search(r"http://127.0.0.1:\d+", line)))
        try:
            for line in lines:
                words = shlex.split(line.replace("http://127.0.0.1:8080", url))
                command = [sys.executable, "-m", "logreplay.cli.main", *words[1:]]
                done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
                # 3: this machine was too busy to measure; the command did what it should
                assert done.returncode in (0, 3), f"{line}\n{done.stdout}\n{done.stderr}"
        finally:
            target.terminate()
