"""The sentences of a sweep name limits that no single step shows, with their figures."""

import pytest

from logreplay.analysis.verdict.saturation_sentences import (
    RateEstimate,
    falls,
    generator_limited,
    not_covered,
    saturated,
    undecided,
)
from support.simulated_systems import Sweep
from support.unlike_systems import swept


def test_a_target_that_dies_of_its_load_is_not_excused_as_an_outage() -> None:
    found = swept("killed at 40 in flight, refused").verdict
    assert found.saturation.why == (
        "the target died at 200/s with 38 in flight (usual 4), and did not answer again (refused: 100 %)"
    )
    assert (found.saturation.low, found.saturation.high) == (100, 250)


def test_a_target_that_is_stopped_with_few_requests_in_flight_has_an_outage() -> None:
    found = swept("stopped by hand, 502").verdict
    assert not found.saturation.found
    assert "; nothing but 502 from " in found.sentence


def test_capacity_that_falls_under_overload_has_both_rates_and_says_which_lasts() -> None:
    found = swept("thrashes above 80").verdict
    assert found.saturation.rate == pytest.approx(250, rel=0.08)
    assert found.saturation.why == (
        "the backlog grows at 300/s, not at 250/s; the target carries 251/s until a backlog forms, and 149/s then, "
        "which lasts"
    )


def test_rates_below_an_overload_that_have_too_few_requests_are_called_too_little_data() -> None:
    found = swept("too few below, a queue", Sweep(range(2, 31, 2), 8)).verdict
    assert found.sentence == (
        "not enough data below 16/s, where the target is overloaded: 7 rates have under 100 requests: make the steps "
        "longer, such as --for 17s"
    )


def test_an_answer_says_for_how_long_and_on_which_mix_it_holds() -> None:
    found = swept("wide and fast")
    assert found.verdict.sentence.startswith("no saturation up to 400/s: response times stay flat (p99 rose 1.")
    assert [each["text"] for each in found.summary["findings"] if each["code"] == "not_covered"] == [
        "each rate was held once for 10 s: the answer does not cover what takes longer, such as leaks and slow "
        "scaling, another mix of the 4 routes, or other load on the same machines"
    ]


def test_a_sweep_without_an_answer_covers_nothing() -> None:
    found = swept("too few below, a queue", Sweep(range(2, 31, 2), 8))
    assert "not_covered" not in {each["code"] for each in found.summary["findings"]}


@pytest.mark.parametrize(
    ("trials", "routes", "words"),
    [
        (1, 1, "each rate was held once for 20 s: the answer does not cover what takes longer, such as leaks and slow "
         "scaling, requests to other routes, or other load on the same machines"),
        (2, 3, "each rate was held twice for 20 s: the answer does not cover what takes longer, such as leaks and slow "
         "scaling, another mix of the 3 routes, or other load on the same machines"),
        (5, 1200, "each rate was held 5 times for 20 s: the answer does not cover what takes longer, such as leaks and "
         "slow scaling, another mix of the 1,200 routes, or other load on the same machines"),
    ],
)  # fmt: skip
def test_what_is_not_covered_has_its_figures(trials: int, routes: int, words: str) -> None:
    assert not_covered("rate", (20.0, 20.0), trials, routes) == words


def test_a_rate_that_a_step_cannot_tell_from_the_capacity_is_called_undecided() -> None:
    assert undecided(240.0, 10.0, 250.0) == (
        "at 240/s, 4 % from saturation, a step of 10 s is good or bad by chance: to decide this rate, hold it for 35 s"
    )
    assert undecided(200.0, 10.0, 250.0) == ""
    assert undecided(340.0, 20.0, None) == (
        "at 340/s response times are 3 times as long as at the lowest rate, or longer, and steps of 20 s do not show "
        "whether a rate is up to 4 % above the capacity: sweep higher, or make the steps longer, such as --for 98s"
    )


def test_the_note_on_an_undecided_rate_stands_beside_the_answer() -> None:
    found = swept("M/M/2", Sweep(range(50, 301, 20), 10, 10))
    (text,) = [each["text"] for each in found.summary["findings"] if each["code"] == "undecided"]
    assert text.startswith("at 190/s, ")
    assert " from saturation, a step of 10 s is good or bad by chance: to decide this rate" in text
    assert "short_steps" not in {each["code"] for each in found.summary["findings"]}  # two lengths stood side by side


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (RateEstimate(True, "why", 0.4, 0.35, 0.45), "saturation at about 0.4/s (between 0.35 and 0.45/s): why"),
        (RateEstimate(True, "why", 2.5, 2.4, 2.6), "saturation at about 2.5/s (between 2.4 and 2.6/s): why"),
        (RateEstimate(True, "why", 1234.5, 1200, 1250), "saturation at about 1234/s (between 1200 and 1250/s): why"),
    ],
)
def test_a_saturation_at_a_low_rate_is_written_with_the_digits_of_its_range(found: RateEstimate, said: str) -> None:
    assert saturated(found) == said


def test_limits_at_low_rates_are_not_rounded_to_zero() -> None:
    assert generator_limited(0.4, 0.45, None, None).startswith("replay machine limited at 0.4/s of 0.45/s offered")
    assert falls(0.51, 0.4) == "; the target carries 0.51/s until a backlog forms, and 0.4/s then, which lasts"
