"""The steps of a sweep are found in the number of requests of each second, and none are made up."""

import numpy as np
import pytest

from logreplay.analysis.statistics.quantiles import Ints
from logreplay.analysis.statistics.step_finder import find_steps, rate_varies, sending_ends, usual_rate


def counts(rates: list[float], lengths: list[float], start: float = 0.0, seed: int | None = None) -> Ints:
    """Requests of each second of steps: evenly spaced, or with a seed at random."""
    rng, times = np.random.default_rng(seed), []
    for rate, length in zip(rates, lengths, strict=True):
        even = (np.arange(int(rate * length)) + 0.5) / rate
        times.append(start + (even if seed is None else rng.uniform(0, length, rng.poisson(rate * length))))
        start += length
    return np.bincount(np.concatenate(times).astype(np.int64))


@pytest.mark.parametrize("length", [3, 5, 7, 10, 15])
@pytest.mark.parametrize("start", [0.0, 0.6])
def test_steps_of_one_length_are_found_wherever_in_a_second_they_begin(length: int, start: float) -> None:
    rates = [20.0 * number for number in range(1, 13)]
    edges = find_steps(counts(rates, [length] * 12, start))
    assert edges is not None
    begins = edges[:-1][np.diff(edges) > 1]  # the first second may be a part of one
    np.testing.assert_allclose(begins, start + length * np.arange(12), atol=1)


def test_increments_of_three_deviations_are_found_among_random_arrivals() -> None:
    edges = find_steps(counts([15.0 * number for number in range(3, 28)], [10] * 25, 0.3, seed=1))
    assert edges is not None
    assert set(np.diff(edges[1:-1]).tolist()) == {10}


def test_steps_of_different_lengths_are_found_by_their_edges() -> None:
    lengths = [7, 12, 4, 20, 9, 15, 30.0]
    edges = find_steps(counts([50, 100, 150, 200, 250, 300, 350.0], lengths, seed=3))
    assert edges is not None
    np.testing.assert_allclose(edges, np.cumsum([0, *lengths]), atol=1)


@pytest.mark.parametrize("seed", range(6))
def test_one_rate_has_no_steps(seed: int) -> None:
    assert find_steps(np.random.default_rng(seed).poisson(10.0 ** (seed / 2), 200)) is None
    assert find_steps(np.full(100, 10**seed)) is None


def test_the_price_of_a_level_finds_short_sweeps_and_seldom_steps_in_noise() -> None:
    """A lower price (2) found steps in 8 of these tables of one rate, a higher one (3) only 88 of the sweeps."""
    one_rate = [np.random.default_rng(seed).poisson(20, 12) for seed in range(100)]
    assert sum(find_steps(table) is not None for table in one_rate) <= 5
    sweeps = [counts([100, 140, 180, 220.0], [3] * 4, 0.3, seed) for seed in range(100)]
    assert sum(find_steps(table) is not None for table in sweeps) >= 90


def test_traffic_in_bursts_has_no_steps() -> None:
    rng = np.random.default_rng(1)
    assert find_steps(rng.poisson(rng.gamma(0.5, 100, 600))) is None


@pytest.mark.parametrize("table", [[], [0], [0] * 30, [5] * 11])
def test_too_little_has_no_steps(table: list[int]) -> None:
    assert find_steps(np.array(table, np.int64)) is None


def test_stragglers_after_the_end_belong_to_no_step() -> None:
    swept = counts([50.0 * number for number in range(1, 9)], [10] * 8)
    table = np.concatenate([swept, [3, 0, 1, 0, 0, 2, 1]])
    edges = find_steps(table)
    assert edges is not None
    assert edges[-1] == sending_ends(table) == len(swept)


def test_a_sweep_downwards_keeps_its_last_step() -> None:
    swept = counts([50.0 * number for number in range(8, 0, -1)], [10] * 8)
    assert sending_ends(swept) == len(swept)


def test_steps_with_pauses_between_them_begin_after_the_pauses() -> None:
    swept = [np.concatenate([np.full(9, 20 * number), np.zeros(3, np.int64)]) for number in range(1, 9)]
    edges = find_steps(np.concatenate(swept))
    assert edges is not None
    assert edges.tolist() == [*range(0, 96, 12), 93]


@pytest.mark.parametrize(
    ("seconds", "rate"), [([100, 100, 103, 20], 101), ([1, 99], 50), ([100] * 9 + [130], 103), ([100] * 9 + [131], 100)]
)
def test_the_rate_of_a_step_is_that_of_its_usual_seconds(seconds: list[int], rate: float) -> None:
    assert usual_rate(np.array(seconds)) == rate


SECONDS = np.arange(600)
WALK = np.cumsum(np.random.default_rng(0).normal(0, 0.03, 600))
TRAFFIC = {
    "slow sine": 100 * (1 + 0.5 * np.sin(2 * np.pi * SECONDS / 600)),
    "random walk": 100 * np.exp(WALK - WALK.mean()),
    "ramp": np.linspace(20, 200, 600),
}


@pytest.mark.parametrize("shape", TRAFFIC)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_traffic_that_rises_and_falls_little_by_little_has_no_steps(shape: str, seed: int) -> None:
    assert find_steps(np.random.default_rng(seed).poisson(TRAFFIC[shape])) is None


@pytest.mark.parametrize("mean", [0.1, 1, 5, 10, 50, 150])
def test_chance_is_another_rate_once_in_a_thousand_times_at_most(mean: float) -> None:
    rng = np.random.default_rng(7)
    assert sum(rate_varies(rng.poisson(mean, number)) for number in (25, 60, 1000) for _ in range(1000)) <= 3


@pytest.mark.parametrize("mean", [30, 100])
def test_a_rate_that_doubles_is_another_one(mean: float) -> None:
    rng = np.random.default_rng(8)
    assert all(rate_varies(rng.poisson(mean * np.linspace(0.5, 1.5, 60))) for _ in range(100))


RAMPS = [(2, 8, 60), (8, 2, 60), (10, 20, 60), (1, 8, 60), (5, 10, 120), (1, 3, 300)]


@pytest.mark.parametrize(("first", "last", "seconds"), RAMPS)
def test_a_ramp_at_low_rates_is_another_rate(first: float, last: float, seconds: int) -> None:
    rng = np.random.default_rng(10)
    ramp = np.linspace(first, last, seconds)
    assert sum(rate_varies(rng.poisson(ramp)) for _ in range(100)) >= 95


def test_a_burst_among_rare_requests_is_another_rate() -> None:
    rare = np.random.default_rng(9).poisson(0.1, 500)
    rare[300] = 40
    assert rate_varies(rare)


def test_a_rate_that_is_surely_another_but_nearly_the_same_is_one_rate() -> None:
    assert not rate_varies(np.linspace(10_000, 12_000, 60).astype(np.int64))
