"""Messages on standard error hold nothing that steers the terminal, and with ``--quiet`` only losses are told."""

import pytest

from logreplay.cli.display.terminal import say
from logreplay.core.errors import Loss


def test_a_message_keeps_its_lines_and_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    say("one\x1b]0;owned\x07\ntwo\x1b[2J\r")
    assert capsys.readouterr().err == "one?]0;owned?\ntwo?[2J?\n"


def test_only_losses_are_said_if_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    told = (Loss("not sent: 1 x method POST"), "header A: not sent: it has no value", "not sent: a note")
    for sentence in told:
        say(sentence, quiet=True)
    assert capsys.readouterr().err == f"{told[0]}\n"
    for sentence in told:
        say(sentence, quiet=False)
    assert capsys.readouterr().err.splitlines() == [*told]
