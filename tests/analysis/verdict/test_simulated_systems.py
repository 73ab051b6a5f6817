"""Verdicts on systems that nobody designed the rules for are right, or refused; nothing is invented."""

from collections import Counter

import pytest

from support.simulated_systems import SYSTEMS, score

SEEDS = range(3)


@pytest.mark.slow
def test_of_the_verdicts_on_simulated_systems_96_percent_are_right_and_none_is_invented() -> None:
    scored = [score(system, seed) for system in SYSTEMS for seed in SEEDS]
    counts = Counter(each.score for each in scored)
    not_right = [f"{each.system.name}: {each.score}: {each.answer}" for each in scored if each.score != "right"]
    assert len(scored) >= 120
    assert counts["right"] + counts["refused"] >= 0.96 * len(scored), not_right
    assert not counts["invented"], not_right


@pytest.mark.parametrize(
    "name", ["all 500", "2 % always fail", "pool, 1 s, 500", "generator hiccups", "slow generator"]
)
def test_the_cause_of_trouble_is_named(name: str) -> None:
    system = next(system for system in SYSTEMS if system.name == name)
    assert score(system, 0).score == "right"
