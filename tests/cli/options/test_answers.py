"""Options that say how answers are compared."""

from logreplay.cli.options.answers import Comparing


def test_the_rules_are_those_that_were_written() -> None:
    comparing = Comparing(ignore=("$.a", "status"))
    assert comparing.rules.path((".a",)) == "$.a"
    assert comparing.rules.place("status")
    assert comparing.said() == {"ignore": ["$.a", "status"]}
    assert Comparing().said() == {}
