"""Changes of response times, judged one by one or together."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.statistics import sign_test
from logreplay.analysis.statistics.estimates import Estimate
from logreplay.analysis.verdict.ratio_interval import (
    ALL,
    NO_DIFFERENCE,
    Change,
    drift,
    ratio_changes,
    shared_change,
    together,
    together_in_duet,
)


def change(percent: float, error: float, freedom: float = 30) -> Change:
    """A change of so many percent, with a standard error in percent."""
    return Change.of(Estimate(math.log1p(percent / 100), error / 100, error / 100, freedom, 31), 1000)


def test_the_probability_of_a_change_is_that_of_students_t() -> None:
    at_the_edge = Change.of(Estimate(2.0423 * 0.01, 0.01, 0.01, 30, 31), 1000)
    assert at_the_edge.p == pytest.approx(0.05, abs=1e-3)
    assert change(0, 1).p == 1
    assert change(5, 0).p == 0


def verdicts(changes: dict[str, Change], tolerance: float = 0.02) -> dict[str, str]:
    return {name: change.verdict(tolerance) for name, change in together(changes).items()}


def test_the_method_of_holm_asks_less_of_each_further_change() -> None:
    three = {"a": change(5, 1), "b": change(5, 2), "c": change(5, 2.2)}
    assert three["c"].p < 0.05 < 3 * three["c"].p
    assert three["b"].p < 0.025
    assert verdicts(three) == dict.fromkeys("abc", "slower")
    five = verdicts({**three, "d": change(0.1, 2), "e": change(0.1, 2)})
    assert five["c"] == NO_DIFFERENCE
    assert five["d"] == NO_DIFFERENCE
    assert verdicts({"a": change(1.5, 0.1)}) == {"a": "slower within 2%"}
    assert verdicts({"a": change(-5, 1)}) == {"a": "faster"}


def test_half_of_the_doubt_of_a_duet_is_for_all_pairs() -> None:
    found = together_in_duet(change(2, 0.5), {name: change(2, 0.9) for name in ("p50", "p90", "/a")})
    assert {name: each.verdict(0.01) for name, each in found.items()} == {ALL: "slower"} | dict.fromkeys(
        ("p50", "p90", "/a"), NO_DIFFERENCE
    )
    assert found[ALL].confidence == 0.975


@given(
    st.lists(st.tuples(st.floats(-20, 20), st.floats(0, 9), st.floats(1, 200)), min_size=1, max_size=30),
    st.sampled_from([0.0, 0.01, 0.02]),
)
def test_an_interval_excludes_no_change_exactly_where_the_verdict_says_different(
    drawn: list[tuple[float, float, float]], tolerance: float
) -> None:
    """A row said *no difference detected: not significant among 9 rows* beside an interval of +0.4 % to +3.6 %."""
    alone = {str(number): change(*each) for number, each in enumerate(drawn)}
    corrected = sign_test.holm([each.p for each in alone.values()])
    for (name, each), p in zip(together(alone).items(), corrected, strict=True):
        different = each.verdict(tolerance) != NO_DIFFERENCE
        assert different == (not each.low <= 1 <= each.high)
        assert different == (p < 0.05) or abs(p - 0.05) < 1e-4, "Holm's method"
        assert each.low <= alone[name].low * (1 + 1e-9)
        assert each.high >= alone[name].high * (1 - 1e-9)


def test_a_change_of_the_smallest_detectable_size_is_found_in_eight_of_ten_comparisons() -> None:
    """It was found in half of them."""
    rng, error, freedom, tolerance = np.random.default_rng(3), 0.02, 12, 0.01
    for together_with in (1, 9):
        confidence = 1 - 0.05 / together_with
        size = Change.of(Estimate(0, error, error, freedom, 13), 1).at(confidence).detectable(tolerance)
        spread = error * np.sqrt(rng.chisquare(freedom, 4000) / freedom)
        seen = math.log1p(size) + rng.normal(0, error, 4000)
        found = [
            Change.of(Estimate(value, each, each, freedom, 13), 1).at(confidence).verdict(tolerance) == "slower"
            for value, each in zip(seen, spread, strict=True)
        ]
        assert 0.74 < np.mean(found) < 0.86


@pytest.mark.parametrize(
    ("percent", "error", "may"),
    [(0, 1, False), (0, 6, True), (-20, 6, False), (5.2, 2.5, True), (4, 2, True), (4, 1.5, False), (8, 6, True)],
)
def test_a_change_may_exceed_a_limit_if_its_interval_does_and_so_much_could_not_be_seen(
    percent: float, error: float, may: bool
) -> None:
    assert change(percent, error).may_exceed(0.05) == may


def sides(slower: float, second_half: float | None = None, pairs: int = 4000) -> list[pl.DataFrame]:
    """Both runs of a duet of 20 s, on a machine whose speed changes by the second."""
    rng = np.random.default_rng(5)
    at = np.sort(rng.uniform(0, 20, pairs))
    shared = np.exp(rng.normal(0, 0.3, 21))[at.astype(np.int64)]
    factor = np.where(at < 10, slower, slower if second_half is None else second_half)
    times = [shared * rng.lognormal(0, 0.05, pairs), factor * shared * rng.lognormal(0, 0.05, pairs)]
    return [pl.DataFrame({"scheduled": at, "response": each}) for each in times]


def test_a_duet_finds_a_change_of_3_percent_in_20_s_of_a_restless_machine() -> None:
    found = shared_change(sides(1.03), paired=True)
    assert found is not None
    assert found.ratio == pytest.approx(1.03, abs=0.005)
    assert found.verdict(0.01) == "slower"
    assert found.detectable(0) < 0.01
    alternating = shared_change(sides(1.03), paired=False)
    assert alternating is not None
    assert alternating.low < 1.03 < alternating.high
    assert ratio_changes(sides(1.03))["p90"].ratio == pytest.approx(1.03, abs=0.02)


def test_percentiles_with_few_requests_above_are_not_judged() -> None:
    assert list(ratio_changes(sides(1, pairs=500))) == ["p50", "p90"]
    assert ratio_changes(sides(1, pairs=80)) == {}
    assert shared_change(sides(1, pairs=80), paired=True) is None


def test_a_drift_between_the_halves_is_named() -> None:
    assert list(drift(sides(1.02), 0.01, paired=True)) == []
    (note,) = drift(sides(1.0, 1.06), 0.01, paired=True)
    assert "drifted" in note
    assert "+6." in note or "+5." in note
    assert list(drift([side.clear() for side in sides(1)], 0.01, paired=True)) == []


def test_times_without_any_spread_drift_if_they_move() -> None:
    steady = pl.DataFrame({"scheduled": np.arange(0, 20, 0.01), "response": 1.0})
    moved = steady.with_columns(response=pl.when(pl.col("scheduled") < 10).then(1.0).otherwise(math.exp(0.5)))
    assert list(drift([steady, steady], 0.01, paired=True)) == []
    (note,) = drift([steady, moved], 0.01, paired=True)
    assert "+0.0% in the first half, +64.9% in the second" in note
