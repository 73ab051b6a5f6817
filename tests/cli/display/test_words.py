"""Order of the last lines of a sweep: the answer that was asked for is the last."""

from logreplay.cli.display.words import answer_lines, answers


def test_the_costs_of_routes_are_the_last_line_of_a_sweep_that_was_made_for_them() -> None:
    """It ended with "not enough data", and the costs stood above the findings."""
    summary = {"answer": "not enough data: 2 rates", "costs": {"sentence": "/search takes 30 % of the processor time"}}
    assert answer_lines(summary) == ["not enough data: 2 rates", "/search takes 30 % of the processor time"]
    assert answers(summary)[-1] == "/search takes 30 % of the processor time"


def test_an_answer_that_is_the_costs_is_printed_once() -> None:
    assert answers({"answer": "a", "costs": {"sentence": "a"}}) == ["a"]
    assert answers({"answer": "a"}) == ["a"]
