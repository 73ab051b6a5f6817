"""Changes of response times, judged one by one or together."""

import math
import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.statistics import sign_test
from logreplay.analysis.statistics.estimates import Estimate, student
from logreplay.analysis.verdict.ratio_interval import (
    NO_DIFFERENCE,
    UNDECIDED,
    Change,
    Measurement,
    deviations,
    drift,
    of_routes,
    ratio_changes,
    together,
    typical_change,
)


def change(percent: float, error: float, freedom: float = 30) -> Measurement:
    """A change of so many percent, with a standard error in percent."""
    return Measurement(Estimate(math.log1p(percent / 100), error / 100, error / 100, freedom, 31), 1000)


def test_the_probability_of_a_change_is_that_of_students_t() -> None:
    at_the_edge = Estimate(2.0423 * 0.01, 0.01, 0.01, 30, 31)
    assert at_the_edge.p == pytest.approx(0.05, abs=1e-3)
    assert change(0, 1).estimate.p == 1
    assert change(5, 0).estimate.p == 0


def verdicts(changes: dict[str, Measurement], tolerance: float = 0.02) -> dict[str, str]:
    return {name: change.verdict(tolerance) for name, change in together(changes).items()}


def test_the_method_of_holm_asks_less_of_each_further_change() -> None:
    three = {"a": change(5, 1), "b": change(5, 2), "c": change(5, 2.2)}
    assert three["c"].estimate.p < 0.05 < 3 * three["c"].estimate.p
    assert three["b"].estimate.p < 0.025
    assert verdicts(three) == dict.fromkeys("abc", "slower")
    five = verdicts({**three, "d": change(0.1, 2), "e": change(0.1, 2)})
    assert (five["c"], five["d"]) == (UNDECIDED, NO_DIFFERENCE)
    assert verdicts({"a": change(1.5, 0.1)}) == {"a": "slower within 2%"}
    assert verdicts({"a": change(-5, 1)}) == {"a": "faster"}


PERCENTS = st.floats(-20, 20).map(lambda percent: round(percent, 6))


@given(
    st.lists(st.tuples(PERCENTS, st.floats(0, 9), st.floats(1, 200)), min_size=1, max_size=30),
    st.sampled_from([0.0, 0.01, 0.02]),
)
def test_an_interval_excludes_no_change_exactly_where_the_verdict_says_different(
    drawn: list[tuple[float, float, float]], tolerance: float
) -> None:
    """A row said *no difference detected: not significant among 9 rows* beside an interval of +0.4 % to +3.6 %."""
    alone = {str(number): change(*each) for number, each in enumerate(drawn)}
    corrected = sign_test.holm([each.estimate.p for each in alone.values()])
    for (name, each), p in zip(together(alone).items(), corrected, strict=True):
        different = each.verdict(tolerance) not in (NO_DIFFERENCE, UNDECIDED)
        assert different == (not each.low <= 1 <= each.high)
        assert different == (p < 0.05) or abs(p - 0.05) < 1e-4, "Holm's method"
        assert each.low <= alone[name].change().low * (1 + 1e-9)
        assert each.high >= alone[name].change().high * (1 - 1e-9)


def test_a_change_of_the_smallest_detectable_size_is_found_in_eight_of_ten_comparisons() -> None:
    """It was found in half of them."""
    rng, error, freedom, tolerance = np.random.default_rng(3), 0.02, 12, 0.01
    for together_with in (1, 9):
        confidence = 1 - 0.05 / together_with
        size = Measurement(Estimate(0, error, error, freedom, 13), 1).change(confidence).detectable(tolerance)
        spread = error * np.sqrt(rng.chisquare(freedom, 4000) / freedom)
        seen = math.log1p(size) + rng.normal(0, error, 4000)
        found = [
            Measurement(Estimate(value, each, each, freedom, 13), 1).change(confidence).verdict(tolerance) == "slower"
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
    assert change(percent, error).change().may_exceed(0.05) == may


def sides(slower: float, second_half: float | None = None, pairs: int = 4000) -> list[pl.DataFrame]:
    """Both runs of a duet of 20 s, on a machine whose speed changes by the second."""
    rng = np.random.default_rng(5)
    at = np.sort(rng.uniform(0, 20, pairs))
    shared = np.exp(rng.normal(0, 0.3, 21))[at.astype(np.int64)]
    factor = np.where(at < 10, slower, slower if second_half is None else second_half)
    times = [shared * rng.lognormal(0, 0.05, pairs), factor * shared * rng.lognormal(0, 0.05, pairs)]
    return [pl.DataFrame({"scheduled": at, "response": each}) for each in times]


def pairs_of(sides: list[pl.DataFrame]) -> pl.DataFrame:
    """The pairs of a duet."""
    log = (sides[1]["response"] / sides[0]["response"]).log()
    return sides[0].select("scheduled", log=log, route=pl.lit("/"))


def typical(sides: list[pl.DataFrame]) -> Change:
    """The change of the pairs of a duet."""
    found = typical_change(pairs_of(sides))
    assert found
    return found.change()


def test_a_duet_finds_a_change_of_3_percent_in_20_s_of_a_restless_machine() -> None:
    found = typical(sides(1.03))
    assert found.ratio == pytest.approx(1.03, abs=0.005)
    assert found.verdict(0.01) == "slower"
    assert found.detectable(0) < 0.01
    alternating = ratio_changes(sides(1.03))["p50"].change()
    assert alternating.low < 1.03 < alternating.high


def test_percentiles_with_few_bursts_of_requests_above_are_not_judged() -> None:
    """The slowest requests of a restless machine come from a few of its seconds."""
    assert list(ratio_changes(sides(1))) == ["p50"]
    assert ratio_changes(sides(1, pairs=80)) == {}
    rng = np.random.default_rng(6)
    calm = [pl.DataFrame({"scheduled": np.arange(0, 60, 0.01), "response": rng.lognormal(size=6000)}) for _ in "ab"]
    assert list(ratio_changes(calm)) == ["p50", "p90", "p99"]
    paused = pl.col("scheduled").is_between(7, 9)
    bursts = [each.with_columns(response=pl.when(paused).then(100.0).otherwise("response")) for each in calm]
    assert list(ratio_changes(bursts)) == ["p50", "p90"]
    assert typical_change(pairs_of(sides(1, pairs=80))) is None


def test_the_percentiles_of_equal_targets_do_not_differ_and_those_of_a_slower_one_do() -> None:
    rng = np.random.default_rng(8)
    for slower, verdict in ((1.0, {NO_DIFFERENCE, UNDECIDED}), (1.3, {"slower"})):
        runs = [
            pl.DataFrame(
                {"scheduled": np.sort(rng.uniform(0, 60, 6000)), "response": factor * rng.lognormal(size=6000)}
            )
            for factor in (1.0, slower)
        ]
        assert {each.change().verdict() for each in ratio_changes(runs).values()} <= verdict


@pytest.mark.parametrize(("milliseconds", "slower"), [(3, 0.0), (3, 0.4), (8, 0.0)])
def test_of_times_in_whole_milliseconds_only_a_change_is_found(milliseconds: float, slower: float) -> None:
    rng, wrong = np.random.default_rng(9), 0
    for _ in range(40):
        runs = [
            pl.DataFrame({"scheduled": np.arange(0, 60, 0.02), "response": np.round(rng.normal(mean, 1, 3000)).clip(1)})
            for mean in (milliseconds, milliseconds + slower)
        ]
        wrong += ratio_changes(runs, (0.5,))["p50"].change().verdict() in ("slower", "faster")
    assert wrong >= 38 if slower else wrong <= 2


def test_a_route_is_judged_by_how_it_deviates_from_all_requests() -> None:
    """Two routes of which one is slower by 10 %: the other is not faster."""
    rng, number = np.random.default_rng(3), 6000
    slow = np.arange(number) % 4 == 0
    log = rng.normal(0, 0.1, number) + np.where(slow, math.log(1.1), 0)
    routes = np.where(slow, "/slow", "/fast")
    pairs = pl.DataFrame({"scheduled": np.linspace(0, 60, number), "log": log, "route": routes})
    whole = typical_change(pairs)
    assert whole
    found = of_routes(whole.change(), deviations(pairs, ["/fast", "/slow"]))
    assert {name: each.verdict(0.01) for name, each in found.items()} == {"/fast": NO_DIFFERENCE, "/slow": "slower"}
    assert found["/slow"].ratio == pytest.approx(1.1, abs=0.01)
    assert found["/fast"].ratio == pytest.approx(1.0, abs=0.01)


def halves(sides: list[pl.DataFrame]) -> list[Measurement | None]:
    pairs = pairs_of(sides)
    return [typical_change(pairs.filter(half)) for half in (pl.col("scheduled") < 10, pl.col("scheduled") >= 10)]


def test_a_drift_between_the_halves_is_named() -> None:
    assert list(drift(halves(sides(1.02)), 0.01)) == []
    (note,) = drift(halves(sides(1.0, 1.06)), 0.01)
    assert "drifted" in note
    assert "+6." in note or "+5." in note
    assert list(drift(halves([side.clear() for side in sides(1)]), 0.01)) == []


@pytest.mark.parametrize("pairs", [2, 3, 5])
@pytest.mark.parametrize("scatter", [0.01, 0.03, 0.1, 1])
def test_undecided_pairs_of_runs_say_how_many_are_needed(scatter: float, pairs: int) -> None:
    """Two pairs were told to compare one."""

    def of(pairs: int) -> Change:
        half = scatter * student(0.95, pairs - 1) / math.sqrt(pairs)
        return Change(1.0, math.exp(-half), math.exp(half), 100 * pairs, pairs, pairs - 1)

    told = re.fullmatch(r"compare at least ([\d,]+) pairs of runs", of(pairs).remedy(0.1))
    assert told
    needed = int(told[1].replace(",", ""))
    assert needed > pairs
    assert of(needed).verdict() == NO_DIFFERENCE
    assert needed == pairs + 1 or of(needed - 1).verdict() == UNDECIDED


@pytest.mark.parametrize("pairs", [2, 3, 5])
def test_pairs_of_runs_that_set_no_end_ask_for_longer_runs(pairs: int) -> None:
    assert Change(1.0, 0.0, math.inf, 100 * pairs, pairs, pairs - 1).remedy(0.1).startswith("run longer")


@pytest.mark.parametrize(
    ("half", "seconds", "remedy"),
    [
        (0.1, 60, "run at least 5 minutes"),
        (0.02, 10, "run at least 1 minute"),
        (0.5, 60, "run at least 111 minutes"),
        (0.6, 60, "run at least 3 hours"),
        (3, 60, "a day would be too short: use a quieter machine"),
    ],
)
def test_an_undecided_comparison_says_how_long_it_must_be(half: float, seconds: float, remedy: str) -> None:
    change = Change(1.0, math.exp(-half), math.exp(half), 6000, 120, 16, seconds=seconds)
    assert change.remedy(0.1) == remedy
    assert (change.verdict() == UNDECIDED) == (half > 0.05)


def test_an_interval_without_an_end_does_not_say_how_long_it_must_be() -> None:
    """A duet of 10 s whose control wandered was told that a day would be too short."""
    times, blocks = np.arange(0, 10, 0.02), np.random.default_rng(0).normal(0, 0.05, (3, 20))
    old, second, new = np.repeat(blocks.cumsum(axis=1), 25, axis=1)
    found = typical_change(pl.DataFrame({"scheduled": times, "log": new - old, "noise": second - old}))
    assert found
    assert math.inf in found.estimate.ends()
    assert (found.change().low, found.change().high) == (0, math.inf)
    assert found.change().sentence() == "undecided (too wide): to detect 10%, run longer, or use a quieter machine"
