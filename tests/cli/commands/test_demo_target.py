"""A LOG without a TARGET: refused in a script, which has rather forgotten it; the demo without both."""

import json
from pathlib import Path

import pytest

from logreplay.cli import main

LINE = '192.0.2.1 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5\n'
COMMANDS = {"run": ["--tps", "20"], "sweep": ["--for", "300ms"], "find": ["--p99", "1s"]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "access.log").write_text(LINE * 20)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_log_without_a_target_is_refused_in_a_script(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rates = ["5"] if command == "sweep" else []
    assert main.run([command, *rates, "access.log", *COMMANDS[command]]) == 2
    said = capsys.readouterr().err
    assert "--demo-target" in said
    assert "converted" not in said
    assert [path.name for path in folder.iterdir() if not path.name.startswith(".")] == ["access.log"]


def test_without_log_and_target_it_is_the_demo_and_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["run", "--tps", "50", "-n", "10", "-o", "out.csv"]) in (0, 3)
    assert capsys.readouterr().out.startswith("demo: ")
    assert main.run(["run", "--tps", "50", "-n", "10", "-o", "json.csv", "--json"]) in (0, 3)
    shown = capsys.readouterr()
    assert json.loads(shown.out)["requests"]["sent"] == 10
    assert "demo: " in shown.err


def test_a_target_and_the_demo_target_exclude_each_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["run", "access.log", "http://127.0.0.1:1", "--demo-target", "--tps", "5"]) == 2
    said = capsys.readouterr().err
    assert "--demo-target and TARGET exclude each other" in said


def test_the_demo_target_is_used_if_asked_for_also_in_place_of_the_target_of_the_settings(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "logreplay.toml").write_text('target = "http://127.0.0.1:1"')
    assert main.run(["run", "access.log", "--demo-target", "--rate", "50", "-n", "5", "-o", "out.csv"]) in (0, 3)
    shown = capsys.readouterr()
    assert "started the built-in target" in shown.err
    assert "sent 5" in shown.out
