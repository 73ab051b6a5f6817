"""The range of p99 says what the requests of a step can say, and no more."""

import math

import numpy as np
import polars as pl
import pytest

import simulate
from logreplay.analysis.analyze import analyse
from logreplay.analysis.input import arrays
from logreplay.analysis.tables.design_effect import design_effects
from logreplay.analysis.verdict import stability
from simulate import SimulatedQueue


def judged(rates: list[float], seconds: float, seed: int) -> pl.DataFrame:
    """Steps of an M/M/4 server that carries 250/s."""
    rng = np.random.default_rng(seed)
    return stability.judged_steps(
        arrays.read(simulate.serve(simulate.sweep(rates, seconds, rng), SimulatedQueue(4, 0.016), rng))
    )


def test_requests_that_wait_together_count_for_less() -> None:
    calm, busy = (np.median([judged([rate], 60, seed)["design_effect"][0] for seed in range(5)]) for rate in (125, 225))
    assert 1 <= calm < 4
    assert busy > 10


def test_the_range_holds_the_p99_and_the_truth_at_half_load() -> None:
    tables = [judged([125], 60, seed) for seed in range(20)]
    truth = judged([125], 3000, 99)["p99"][0]
    for table in tables:
        assert table["p99_low"][0] <= table["p99"][0] <= table["p99_high"][0]
    inside = [table["p99_low"][0] <= truth <= table["p99_high"][0] for table in tables]
    assert sum(inside) >= 17


def test_a_step_with_too_little_to_say_has_no_range() -> None:
    short, few, over = judged([200], 6, 1), judged([20], 15, 1), judged([400], 20, 1)
    for table in (short, few, over):
        assert table["p99_low"].to_list() == [None]
        assert table["p99_high"].to_list() == [None]
    assert over["verdict"].to_list() == ["overloaded"]


def test_of_three_trials_the_range_is_that_of_their_mean_by_student() -> None:
    table = judged([100, 150, 100, 150, 100], 20, 5)
    trials = table.filter(pl.col("rate") == 100)
    at, error = np.log(trials["p99"]).mean(), np.log(trials["p99"]).std() / math.sqrt(3)
    low, high = np.exp([at - 4.303 * error, at + 4.303 * error])  # of two degrees of freedom, for 95 %
    assert trials["p99_low"].to_list() == pytest.approx([low] * 3, rel=1e-3)
    assert trials["p99_high"].to_list() == pytest.approx([high] * 3, rel=1e-3)


def test_independent_requests_count_in_full() -> None:
    rng = np.random.default_rng(2)
    arrivals = simulate.sweep([500], 60, rng)
    requests = arrays.read(simulate.results(arrivals, rng.exponential(0.01, len(arrivals.scheduled))))
    start, stop = np.array([0]), np.array([60_000_000])
    bound = np.array([np.quantile(requests.response, 0.99) / 1e6])
    assert design_effects(requests, start, stop, bound)[0] == pytest.approx(1.0, abs=1.0)
    assert np.isnan(design_effects(requests, start, np.array([5_000_000]), bound)[0])


def test_close_to_saturation_the_ranges_are_said_to_be_too_narrow() -> None:
    rng = np.random.default_rng(3)
    rows = simulate.serve(simulate.sweep(range(25, 401, 25), 20, rng), SimulatedQueue(4, 0.016), rng, timeout_s=8)
    texts = [found["text"] for found in analyse(rows).summary["findings"] if found["code"] == "narrow_intervals"]
    assert len(texts) == 1
    assert "200/s" in texts[0]
    assert "100/s" not in texts[0]
    assert "83 % of the steps at 70 % of the capacity, in 30 % at 90 %" in texts[0]  # docs/analysis.md
