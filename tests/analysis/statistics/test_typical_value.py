"""The typical value of pairs over time: what wanders is no change, and the interval agrees with the test."""

import numpy as np
import pytest

import simulate
from logreplay.analysis.statistics.quantiles import Floats
from logreplay.analysis.statistics.typical_value import TypicalValue, estimate, estimate_mean


def wander(rng: np.random.Generator, series: int, blocks: int, time: float) -> Floats:
    """(series, blocks) a first-order autoregression of variance 1, ``time`` in blocks."""
    return simulate.wander(rng, (series, blocks), 1.0, time, 1.0)


def of_blocks(blocks: Floats, noise: Floats | None = None) -> TypicalValue:
    found = estimate(np.arange(len(blocks)) / 2 + 0.1, blocks, noise)
    assert found is not None
    return found


def wrong(series: Floats) -> float:
    """The share of the series whose typical value is called different from 0."""
    return float(np.mean([of_blocks(each).p <= 0.05 for each in series]))


def test_what_wanders_for_an_eighth_of_the_time_is_no_change_and_white_noise_is_hardly_ever_one() -> None:
    rng = np.random.default_rng(1)
    white = rng.normal(0, 0.05, (300, 120))
    assert wrong(white) <= 0.02
    assert wrong(white + wander(rng, 300, 120, 15) * 0.05) <= 0.08
    assert wrong(white + 0.05) >= 0.95


@pytest.mark.parametrize("shift", [0.0, 0.02, 0.05, -0.05])
def test_the_interval_excludes_0_exactly_where_the_test_does(shift: float) -> None:
    rng = np.random.default_rng(2)
    for series in 0.05 * wander(rng, 30, 120, 8) + shift:
        found = of_blocks(series)
        for confidence in (0.95, 0.975):
            low, high = found.ends(confidence)
            assert low <= found.value <= high
            assert (low <= 0 <= high) == (found.p > 1 - confidence)


def test_a_pause_of_one_side_is_left_out() -> None:
    series = np.random.default_rng(3).normal(0.03, 0.02, 120)
    series[40:44] += 3
    found = of_blocks(series)
    assert found.value == pytest.approx(0.03, abs=0.005)
    assert found.ends()[0] > 0.015


def test_values_that_are_all_alike_have_an_interval_without_width() -> None:
    for value in (0.0, 0.03):
        assert of_blocks(np.full(120, value)).ends() == pytest.approx((value, value), abs=1e-6)


def test_a_second_instance_of_the_baseline_shows_how_much_equal_targets_wander() -> None:
    rng = np.random.default_rng(4)
    old, second, new = 0.05 * wander(rng, 600, 120, 60).reshape(3, 200, 120)
    alone, beside = (
        np.mean([of_blocks(x, z).p <= 0.05 for x, z in zip(new - old, noise, strict=True)])
        for noise in ([None] * 200, second - old)
    )
    assert beside < alone


def test_an_end_beyond_which_nothing_is_rejected_is_infinite() -> None:
    """The interval ended where all scores are equal, as if the values beyond were rejected."""
    rng, ends = np.random.default_rng(3), []
    for old, new, second in rng.normal(0, 0.1, (20, 3, 40)).cumsum(axis=2):
        found = of_blocks(new - old + 0.6, second - old)
        low, high = found.ends()
        assert (low <= 0 <= high) == (found.p > 0.05)
        ends += [low, high]
    assert not np.isfinite(ends).all()


def test_a_second_instance_of_the_baseline_is_the_null_of_percentiles_too() -> None:
    """Each wanders for half of the time: its own slow waves show too little of that."""
    old, second, new = 0.05 * wander(np.random.default_rng(4), 600, 120, 60).reshape(3, 200, 120)
    alone, beside = (
        float(np.mean([estimate_mean(x, 60.0, z).p <= 0.05 for x, z in zip(new - old, noise, strict=True)]))
        for noise in ([None] * 200, second - old)
    )
    assert beside < alone / 2
    assert estimate_mean(new[0] - old[0], 60.0, second[0] - old[0]).value == pytest.approx(
        (new[0] - (old[0] + second[0]) / 2).mean()
    )


def test_short_series_have_eight_blocks_and_shorter_ones_no_estimate() -> None:
    at = np.linspace(0, 2, 201)
    found = estimate(at, np.zeros(201))
    assert found is not None
    assert found.blocks == 8
    assert found.freedom == 7
    assert estimate(at * 0.75, np.zeros(201)) is None
    assert estimate(np.round(at), np.zeros(201)) is None
    assert estimate(np.array([]), np.array([])) is None


def test_a_mean_of_blocks_clips_nothing() -> None:
    series = np.zeros(120)
    series[::10] = 1.0
    found = estimate_mean(series, 60)
    assert found.value == pytest.approx(0.1)
    low, high = found.ends()
    assert 0 < low < 0.1 < high
