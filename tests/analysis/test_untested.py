"""An answer names the conditions that its evidence does not cover."""

import pytest

from logreplay.analysis.untested import another_mix, not_tested


def test_the_lengths_of_all_tests_and_each_untested_condition_are_named() -> None:
    assert not_tested("each rate was held for", [15.0, 3.0], "number", another_mix(), "what machines share") == (
        "each rate was held for 3 s to 15 s: the number does not cover what takes longer, such as leaks and slow "
        "scaling, another mix of routes, or what machines share"
    )


@pytest.mark.parametrize(
    ("routes", "words"), [(1, "requests to other routes"), (1200, "another mix of the 1,200 routes")]
)
def test_a_log_of_one_route_has_no_mix(routes: int, words: str) -> None:
    assert another_mix(routes) == words
