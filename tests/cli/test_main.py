"""The last resort of the command line."""

import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import click
import pytest

from logreplay.cli import main
from logreplay.cli.commands import shell
from logreplay.cli.main import run
from logreplay.cli.signals import Signals
from logreplay.core.errors import LossWarning
from support.file_size_limit import files_limited_to


def test_an_error_of_the_program_itself_is_called_a_bug_with_version_and_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> str:
        raise KeyError("secret=hunter2\x1b[31m")

    monkeypatch.setattr("logreplay.cli.display.bug_report.SIGNALS", Signals())
    monkeypatch.setattr(shell, "page", broken)
    assert run(["man"]) == 1
    said = capsys.readouterr().err
    place = r"KeyError in tests/cli/test_main.py, line \d+, called by "
    assert re.match(rf"Error: this is a bug of logreplay \S+: {place}", said)
    assert "Please report it" in said
    assert "Traceback" not in said
    assert "hunter2" not in said
    assert "\x1b" not in said


def test_a_command_that_another_program_runs_leaves_its_environment_as_it_was(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Polars had one thread in each process that the program started afterwards."""
    import polars  # noqa: F401  it sets a variable of its own

    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    before = dict(os.environ)
    assert run(["convert", str(log), "-o", str(tmp_path / "again.csv")]) == 0
    assert run(["inspect", str(log)]) == 0
    assert dict(os.environ) == before


@pytest.mark.parametrize("quiet", [False, True])
def test_a_quiet_command_warns_only_of_lost_rows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], quiet: bool
) -> None:
    monkeypatch.setattr(warnings, "showwarning", main._say_warning)
    context = click.Context(click.Command("analyze"))
    context.params["quiet"] = quiet
    with context, warnings.catch_warnings():
        warnings.simplefilter("always")
        for text, category in (("old", DeprecationWarning), ("odd", UserWarning), ("lost", LossWarning)):
            warnings.warn(text, category, stacklevel=1)
    said = ["warning: old", "warning: odd", "warning: lost"]
    assert capsys.readouterr().err.splitlines() == (said[2:] if quiet else said)


def test_an_error_of_the_system_without_a_text_has_a_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def late(*_: object) -> str:
        raise TimeoutError  # as libraries do

    monkeypatch.setattr(shell, "page", late)
    assert run(["man"]) == 1
    assert "TimeoutError in tests/cli/test_main.py" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("urls /a/{x} --var x=1..9", "urls.csv: cannot be written: {limit}, or write elsewhere with -o\n"),
        ("init", "logreplay.toml: cannot be written: {limit}\n"),
    ],
)
def test_a_file_that_cannot_grow_is_named_with_the_option_that_moves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)  # modules that are loaded now would be cut
    with files_limited_to(0):
        assert run(words.split()) == 1
    limit = "the file size limit is reached (ulimit -f); raise it"
    assert capsys.readouterr().err == f"Error: {said.format(limit=limit)}"


def test_an_interruption_that_a_library_takes_for_an_error_of_its_own_is_still_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    signals = Signals()
    monkeypatch.setattr("logreplay.cli.display.bug_report.SIGNALS", signals)

    def busy(*_: object) -> str:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        except BaseException:
            raise TypeError("not a data type") from None
        return ""

    monkeypatch.setattr(shell, "page", busy)
    undo = signals.listen()
    try:
        assert run(["man"]) == 130
    finally:
        undo()
    assert "bug" not in capsys.readouterr().err


def test_a_closed_standard_input_is_no_bug(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_text('10.0.0.7 - - [20/Nov/2026:18:58:56 +0100] "GET / HTTP/1.1" 200 17 "-" "curl/8.5.0"\n')
    command = f"exec {sys.executable} -m logreplay.cli.main convert {log} -o {tmp_path / 'a.csv'} <&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_reader_that_went_away_before_an_interruption_changes_no_exit_code() -> None:
    program = (
        "import os, sys\n"
        "from logreplay.cli import main\n"
        "def interrupted(*_, **__):\n"
        "    print('half a table')\n"
        "    raise KeyboardInterrupt\n"
        "main.cli.main = interrupted\n"
        "main.main()\n"
    )
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run([sys.executable, "-c", program], stdout=write, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (130, b"")
