"""What was said on how answers are compared."""

from logreplay.options.answer_rules import AnswerRules


def test_the_rules_are_those_that_were_written() -> None:
    rules = AnswerRules(ignore=("$.a", "status"))
    assert rules.rules.path((".a",)) == "$.a"
    assert rules.rules.place("status")
    assert rules.as_summary() == {"ignore": ["$.a", "status"]}
    assert AnswerRules().as_summary() == {}
