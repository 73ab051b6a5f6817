"""Messages on standard error hold nothing that steers the terminal."""

import pytest

from logreplay.cli.display.terminal import say


def test_a_message_keeps_its_lines_and_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    say("one\x1b]0;owned\x07\ntwo\x1b[2J\r")
    assert capsys.readouterr().err == "one?]0;owned?\ntwo?[2J?\n"
