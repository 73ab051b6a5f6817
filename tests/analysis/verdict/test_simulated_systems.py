"""Verdicts on systems that nobody designed the rules for are right, or refused; nothing is invented."""

from collections import Counter

import pytest

from support import simulated_systems
from support.simulated_systems import SYSTEMS, System, failing, score
from support.unlike_systems import UNLIKE

SEEDS = range(1)


@pytest.mark.slow
def test_of_the_verdicts_on_simulated_systems_96_percent_are_right_and_none_is_invented() -> None:
    scored = [score(system, seed) for system in (*SYSTEMS, *UNLIKE) for seed in SEEDS]
    counts = Counter(each.score for each in scored)
    not_right = [f"{each.system.name}: {each.score}: {each.answer}" for each in scored if each.score != "right"]
    assert len(scored) >= 150
    assert counts["right"] + counts["refused"] >= 0.96 * len(scored), not_right
    assert not counts["invented"], not_right


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("all 500", "the target fails at every rate: 100 % of the requests (500: 100 %); nothing was measured"),
        (
            "2 % always fail",
            "% of the requests failed at the lowest rates; the verdict does not count this share as overload",
        ),
        ("pool, 0.3 s, 500", "which came after 302 ms: a time-out in the target, as of a connection pool or a queue"),
        ("outage, 6 s of 502", "the target had an outage: 6 s of 502 at 00:0"),
        ("batch job, then the limit", "the target fell behind or failed at "),
        ("generator hiccups", "requests were sent late, by up to 300 ms: the lag adds 8.14 ms to p75"),
        ("slow generator", "replay machine limited at "),
    ],
)
def test_the_cause_of_trouble_is_named(name: str, words: str) -> None:
    system = next(system for system in SYSTEMS if system.name == name)
    scored = score(system, 0)
    assert scored.score == "right"
    assert words in f"{scored.answer}; {scored.findings}"


def test_a_target_that_refuses_all_requests_is_asked_for_its_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    system = System("all 401", failing(1.0, 401, 480), None, "", "saturat", verdict="TARGET_FAILING")
    monkeypatch.setattr(simulated_systems, "SYSTEMS", (system,))
    assert "nothing was measured: it asks for cookies or passwords; give them with --auth" in score(system, 0).answer
