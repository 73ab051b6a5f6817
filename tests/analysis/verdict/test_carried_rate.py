"""The rate that a target carries within a bound lies in its bracket, and the lower end promises too much seldom."""

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from accuracy import capacity as measured
from logreplay.analysis.verdict.capacity import capacity
from logreplay.analysis.verdict.carried_rate import CarriedRate, carried_rate
from simulate import SimulatedQueue


def carried(
    *rows: tuple[float, float, str],
    limit: float | None = None,
    judged: int = 5000,
    figure: str = "p90",
    answered: float = math.inf,
    errors: int = 0,
) -> CarriedRate:
    """Of steps of (rate, p90, verdict) within 300 ms."""
    steps = pl.DataFrame(rows, schema={"rate": pl.Float64, "bounded": pl.Float64, "verdict": pl.String}, orient="row")
    kept = (pl.col("verdict") == "stable") & (pl.col("bounded") <= 0.3)
    counts = {name: pl.lit(judged) for name in ("judged", "scheduled")}
    counts |= {"errors": pl.lit(errors), "dropped": pl.lit(0)}
    counts |= {"error_base": pl.lit(0.0), "settled_completed": pl.lit(answered)}
    return carried_rate(steps.with_columns(kept=kept, **counts), figure, 0.3, limit)


ROWS = ((50, 0.1, "stable"), (75, 0.2, "stable"), (90, 0.5, "stable"), (110, 3.0, "overloaded"))


def test_the_inverse_of_the_percentile_is_a_straight_line_between_two_rates() -> None:
    """1 / p90 falls from 10 to 5 to 2 a second: it is 3.33 at 83.3/s."""
    found = carried(*ROWS, limit=100.0, judged=1_000_000)
    assert found.likely == pytest.approx(83.3, rel=0.01)
    assert (found.kept, found.missed) == (75, 90)


def test_fewer_requests_make_the_bracket_wider() -> None:
    few, many = carried(*ROWS, limit=100.0, judged=500), carried(*ROWS, limit=100.0, judged=50_000)
    assert few.low < many.low < (many.likely or 0) < (many.high or 0) < (few.high or 0)


def test_no_rate_is_carried_at_saturation_or_where_the_target_was_overloaded() -> None:
    assert (carried((50, 0.1, "stable"), (75, 0.1, "stable"), (110, 3.0, "overloaded"), limit=100.0).likely or 0) < 100
    assert (carried((50, 0.1, "stable"), (75, 0.1, "overloaded"), limit=100.0).high or 0) <= 75


def test_without_a_rate_that_failed_there_is_no_upper_end() -> None:
    found = carried((50, 0.1, "stable"), (75, 0.1, "stable"))
    assert (found.low, found.likely, found.high, found.missed) == (75, 75, None, None)


def test_a_target_that_is_overloaded_or_late_at_the_lowest_rate_carries_none() -> None:
    assert carried((50, 0.1, "overloaded"), (75, 0.1, "overloaded")) == CarriedRate(50)
    assert carried((50, 0.9, "stable"), (75, 0.9, "stable")) == CarriedRate(50)


@pytest.mark.parametrize("word", ["overloaded", "errors"])
@pytest.mark.parametrize("at", [25, 40])
def test_a_rate_at_which_the_target_was_bad_for_a_moment_ends_nothing(at: float, word: str) -> None:
    """It was called the first that the target does not carry, though a higher rate was carried."""
    rows = ((30.0, 0.1, "stable"), (45.0, 0.1, "stable"), *ROWS)
    found, without = carried(*sorted((*rows, (at, 3.0, word))), limit=100.0), carried(*rows, limit=100.0)
    assert (found.low, found.likely, found.high) == (without.low, without.likely, without.high)
    assert (found.lowest, found.kept, found.missed) == (30, 75, 90)


def test_a_bad_rate_counts_where_too_few_higher_rates_were_carried() -> None:
    """The answer was 57.2/s for a target that carries 49/s: the last step of the sweep happened to be fast."""
    rows = [(rate, 0.1, "overloaded" if rate == 50 else "stable") for rate in (20.0, 30.0, 40.0, 50.0, 60.0, 70.0)]
    assert carried(*rows).high is None
    assert (carried(*rows[:-1]).high or 0) <= 50
    assert (carried(*rows[:3], (48.0, 3.0, "overloaded"), *rows[3:]).high or 0) <= 48
    assert (carried(*rows, limit=65.0).high or 0) <= 50
    assert (carried(*rows, answered=57.0).high or 0) <= 50
    assert (carried(*rows, errors=60).high or 0) <= 50
    assert (carried(*rows[2:]).high or 0) <= 50


@pytest.mark.parametrize(("higher", "ends"), [((53.0, 53.5), True), ((54.0, 55.0), False)])
def test_a_bad_rate_did_not_pass_by_rates_that_are_hardly_higher(higher: Sequence[float], ends: bool) -> None:
    """A target that tips over at 50/s may carry 53/s for the length of a step."""
    rows = [(rate, 0.1, "stable") for rate in (20.0, 30.0, 40.0, *higher)]
    assert (carried(*sorted((*rows, (50.0, 3.0, "overloaded")))).high is not None) == ends


def test_a_bad_rate_above_which_the_bound_is_kept_no_more_did_not_pass() -> None:
    """The range reached to 400/s: one route of many was slow, and the backlog of the others stood still."""
    slow = ((95.0, 3.0, "overloaded"), (120.0, 6.0, "stable"), (150.0, 9.0, "stable"), (180.0, 12.0, "stable"))
    found = carried(*ROWS[:2], *slow, limit=100.0)
    assert (found.high or 0) <= 95
    assert found.missed == 95


@pytest.mark.parametrize("figure", ["p90", "mean"])
def test_a_time_that_a_log_of_whole_seconds_has_as_0_is_far_from_the_bound(figure: str) -> None:
    rows = [(50.0, 0.0, "stable"), (75.0, 0.0, "stable"), (75.0, 0.001, "stable"), (110.0, 3.0, "overloaded")]
    found = carried(*rows, limit=100.0, figure=figure)
    assert found == carried(*((rate, max(time, 0.001), word) for rate, time, word in rows), limit=100.0, figure=figure)
    assert 75 < found.low < (found.likely or 0) < 100


def test_the_table_has_a_row_for_each_length() -> None:
    rows = measured.table(2, 1).splitlines()
    assert [row.split("|")[1].strip() for row in rows[2:]] == ["10 s", "20 s", "30 s", "10 s, 3 runs pooled"]


@pytest.mark.slow
def test_the_lower_end_promises_too_much_seldom_and_the_bracket_holds_the_truth() -> None:
    found = list(measured.brackets(10, 60, 1, 1))
    low, high, truth = (np.array([each[at] for each in found]) for at in (0, 2, 3))
    assert len(found) >= 45
    assert np.mean(low > 1.05 * truth) <= 0.05
    assert np.mean((low <= truth) & (truth <= high)) >= 0.85


@pytest.mark.parametrize("seed", range(5))
def test_a_weaker_bound_is_never_kept_at_a_lower_rate(seed: int) -> None:
    """P99, known less exactly, had a higher upper end than p95 within the same time."""
    rng = np.random.default_rng([14, seed])
    queue = SimulatedQueue(int(rng.choice([1, 4, 16])), 0.02)
    rates = queue.capacity * np.linspace(rng.uniform(0.1, 0.3), 1.2, int(rng.integers(5, 10)))
    steps, saturation = measured.swept(queue, rates.tolist(), int(rng.choice([5, 10, 20])), rng)
    found = {
        (name, within): capacity(steps, tps=100, within=within, percentile=name, saturation=saturation)
        for name in ("p50", "p90", "p95", "p99")
        for within in (0.04, 0.1, 0.2, 1.0)
    }
    for (name, within), stronger in found.items():
        for (lower, later), weaker in found.items():
            if lower <= name and within <= later and stronger.machines is not None:
                ends = [(each.low or 0, each.likely or 0, each.high or math.inf) for each in (stronger, weaker)]
                assert all(a <= b * (1 + 1e-9) for a, b in zip(*ends, strict=True)), (name, within, lower, later)
