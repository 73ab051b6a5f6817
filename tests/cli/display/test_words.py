"""Order of the last lines of a sweep: the answer that was asked for is the last."""

import pytest

from logreplay.cli.display.words import answer_lines, answers, say_left_out
from logreplay.core.errors import Loss


def test_the_costs_of_routes_are_the_last_line_of_a_sweep_that_was_made_for_them() -> None:
    """It ended with "not enough data", and the costs stood above the findings."""
    summary = {"answer": "not enough data: 2 rates", "costs": {"sentence": "/search takes 30 % of the processor time"}}
    assert answer_lines(summary) == ["not enough data: 2 rates", "/search takes 30 % of the processor time"]
    assert answers(summary)[-1] == "/search takes 30 % of the processor time"


def test_an_answer_that_is_the_costs_is_printed_once() -> None:
    assert answers({"answer": "a", "costs": {"sentence": "a"}}) == ["a"]
    assert answers({"answer": "a"}) == ["a"]


def test_only_losses_are_said_if_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    told = (Loss("not sent: 1 x method POST"), "header A: not sent: it has no value", "not sent: a note")
    say_left_out(told, quiet=True)
    assert capsys.readouterr().err == f"{told[0]}\n"
    say_left_out(told, quiet=False)
    assert capsys.readouterr().err.splitlines() == [*told]
