"""The range of a percentile is printed where it holds; else the step says how long it would have to be."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import simulate
from accuracy.intervals import FIGURES, figure
from logreplay.analysis.analyze import Analysis, analyse
from logreplay.analysis.findings import too_short
from logreplay.analysis.input import arrays
from logreplay.analysis.statistics.quantiles import SHARES
from logreplay.analysis.tables.step_intervals import _effects, _of_means, of_queue, with_intervals
from logreplay.analysis.verdict.stability import judged_steps
from simulate import SimulatedQueue

SWEEP = [50.0, 100.0, 125.0, 150.0, 200.0, 225.0, 300.0, 350.0]


def analysed(rates: list[float], seconds: float, seed: int) -> Analysis:
    """Steps of an M/M/4 server that carries 250/s."""
    rng = np.random.default_rng(seed)
    arrivals = simulate.sweep(rates, seconds, rng, pause_s=2.0)
    return analyse(simulate.serve(arrivals, SimulatedQueue(4, 0.016), rng, timeout_s=8))


def raw(seconds: float) -> pl.DataFrame:
    """Three trials at 100/s, before their intervals."""
    rng = np.random.default_rng(1)
    arrivals = simulate.sweep([100.0] * 3, seconds, rng, pause_s=2.0)
    return judged_steps(arrays.read(simulate.serve(arrivals, SimulatedQueue(4, 0.016), rng)))


def short(run: Analysis) -> list[str]:
    """What the finding on steps that are too short says."""
    return [found["text"] for found in run.summary["findings"] if found["code"] == "short_steps"]


def at(run: Analysis, rate: float) -> dict[str, Any]:
    """A step of that rate."""
    return run.steps.filter(pl.col("rate") == rate).row(0, named=True)


def test_the_ranges_hold_the_percentile_and_the_truth() -> None:
    runs = [analysed([50.0, 125.0, 200.0, 225.0, 300.0], 40, seed) for seed in range(10)]
    for name in FIGURES:
        truth = figure(SimulatedQueue(4, 0.016), 125.0, name)
        steps = [at(run, 125) for run in runs]
        ends = [(step[f"{name}_low"], step[name], step[f"{name}_high"]) for step in steps]
        assert all(low <= seen <= high for low, seen, high in ends)
        assert sum(low <= truth <= high for low, _, high in ends) >= 8


def test_near_saturation_a_step_says_how_long_it_would_have_to_be() -> None:
    run = analysed(SWEEP, 20, 1)
    near = at(run, 200)
    assert (near["p99_low"], near["p99_high"]) == (None, None)
    assert 60 < (near["p99_needs_s"] or 0) < 400
    assert at(run, 50)["p99_needs_s"] is None
    (text,) = short(run)
    assert text.startswith("steps are too short for a range of p99 at ")
    assert ", 200/s, 225/s, because requests in one queue are late together: at 225/s a step has to be " in text
    assert text.endswith(" s long")


def test_what_a_step_needs_is_enough() -> None:
    needed = at(analysed(SWEEP, 20, 1), 150)["p99_needs_s"] or math.nan
    assert at(analysed(SWEEP, 1.3 * needed, 2), 150)["p99_low"] is not None


def test_a_run_at_one_rate_has_ranges_from_a_minute_on_where_it_is_not_busy() -> None:
    assert at(analysed([125.0], 20, 1), 125)["p99_low"] is None
    assert at(analysed([125.0], 120, 1), 125)["p99_low"] is not None
    assert at(analysed([225.0], 120, 1), 225)["p99_low"] is None
    assert short(analysed([225.0], 60, 1)) == []


def test_where_the_capacity_is_unknown_a_short_step_does_not_say_how_long_it_would_have_to_be() -> None:
    run = analysed([100.0, 110.0, 120.0], 10, 1)
    assert run.steps["p99_needs_s"].to_list() == [None] * 3
    assert short(run) == []


def test_so_near_to_saturation_that_a_step_would_take_hours_no_length_is_said() -> None:
    steps = pl.DataFrame({"rate": [100.0, 200.0, 249.0], "p99_needs_s": [None, 148.3, 530_000.0]})
    assert too_short(steps) == (
        "steps are too short for a range of p99 at 200/s, 249/s, because requests in one queue are late together: at "
        "200/s a step has to be 150 s long; at 249/s it would take hours, so near saturation"
    )


def test_a_step_that_is_long_enough_does_not_ask_for_more_where_its_p99_is_unknown() -> None:
    unknown = with_intervals(raw(120).with_columns(p99=pl.lit(None, pl.Float64)), 250.0)
    assert unknown.select("p99_low", "p99_needs_s").rows() == [(None, None)] * 3


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("p99", [math.inf, 0.0])
def test_trials_whose_p99_is_a_failure_or_0_keep_the_ranges_of_each(p99: float) -> None:
    found = with_intervals(raw(60).with_columns(p99=pl.lit(p99)), 250.0)
    assert (found["p99_low"] < found["p99_high"]).to_list() == [True] * 3


def test_the_interval_of_a_median_counts_no_request_twice() -> None:
    """Of 3,000 independent requests 37 of 40 intervals or more hold the median, and not 35."""
    rng, held = np.random.default_rng(1), 0
    for _ in range(40):
        arrivals = simulate.sweep([50.0], 60, rng)
        rows = simulate.results(arrivals, rng.exponential(0.01, len(arrivals.scheduled)))
        step = with_intervals(judged_steps(arrays.read(rows)), 5_000.0).row(0, named=True)
        held += step["p50_low"] <= 0.01 * math.log(2) <= step["p50_high"]
    assert held >= 36


def test_the_interval_of_a_mean_takes_twice_the_design_effect_of_p99() -> None:
    """Of 800 independent requests with times of 40 and 160 ms."""
    steps, times = pl.DataFrame({"mean": [0.1]}), np.full((1, len(SHARES)), 0.04)
    times[0, SHARES > 0.5] = 0.16
    weights = np.diff(SHARES, prepend=0.0)
    slow = weights[SHARES > 0.5].sum() / weights.sum()
    relative = 0.12 * math.sqrt(slow * (1 - slow)) / 0.1
    low, high = _of_means(steps, times, np.array([800.0]))
    assert high[0] == pytest.approx(0.1 * math.exp(1.96 * relative * math.sqrt(2 / 800)))
    assert low[0] * high[0] == pytest.approx(0.01)


def test_the_spread_within_a_step_counts_for_more_the_shorter_it_is() -> None:
    """Beyond its capacity the spread is all that is known: 1.2 times the effect of p90, and 2 deviations of it."""
    steps = pl.DataFrame(
        {
            "rate": [100.0, 100.0], "duration": [200.0, 20_000.0], "verdict": ["stable", "stable"],
            "batch_effects": [[5.0, 2.0], [5.0, 2.0]],
        },
        schema_overrides={"batch_effects": pl.Array(pl.Float64, 2)},
    )  # fmt: skip
    _, effects = _effects(steps, np.full((2, len(SHARES)), np.nan), 100.0)
    assert effects.tolist() == pytest.approx([1.2 * 5 * (1 + 2 * 0.1), 1.2 * 5 * (1 + 2 * 0.01)])


def test_a_step_that_is_not_stable_has_no_range() -> None:
    over = at(analysed([400.0], 20, 1), 400)
    assert over["verdict"] == "overloaded"
    assert [over[name] for name in ("p50_low", "p90_low", "p99_low", "mean_low", "p99_needs_s")] == [None] * 5


def test_of_three_trials_the_range_is_that_of_their_mean_by_student() -> None:
    steps = analysed([100, 150, 100, 150, 100, 200, 300, 350], 20, 5).steps
    trials = steps.filter(pl.col("rate") == 100)
    center, error = np.log(trials["p99"]).mean(), np.log(trials["p99"]).std() / math.sqrt(3)
    low, high = np.exp([center - 4.303 * error, center + 4.303 * error])  # of two degrees of freedom, for 95 %
    assert trials["p99_low"].to_list() == pytest.approx([low] * 3, rel=1e-3)
    assert trials["p99_high"].to_list() == pytest.approx([high] * 3, rel=1e-3)


def test_three_trials_that_together_are_too_short_have_no_range() -> None:
    steps = analysed([225, 225, 225, 100, 150, 200, 300, 350], 20, 5).steps
    assert steps.filter(pl.col("rate") == 225)["p99_low"].to_list() == [None] * 3


@pytest.mark.parametrize(("utilisation", "effect"), [(0.3, 3.4), (0.5, 9), (0.7, 32), (0.9, 361)])
def test_the_design_effect_of_a_queue_grows_with_its_utilisation(utilisation: float, effect: float) -> None:
    """M/M/1 has 2.9, 8.8, 27.6, 339 in simulations of two minutes."""
    assert of_queue(np.array([utilisation]), 1.0)[0] == pytest.approx(effect, rel=0.02)
