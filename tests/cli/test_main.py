"""The last resort of the command line."""

import re

import pytest

from logreplay.cli.commands import man
from logreplay.cli.main import run


def test_an_error_of_the_program_itself_is_called_a_bug_with_version_and_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> str:
        raise KeyError("secret=hunter2\x1b[31m")

    monkeypatch.setattr(man, "page", broken)
    assert run(["man"]) == 1
    said = capsys.readouterr().err
    place = r"KeyError in tests/cli/test_main.py, line \d+, called by "
    assert re.match(rf"Error: this is a bug of logreplay \S+: {place}", said)
    assert "Please report it" in said
    assert "Traceback" not in said
    assert "hunter2" not in said
    assert "\x1b" not in said
