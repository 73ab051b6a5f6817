"""A cold start is seen and named; steady load is not accused."""

import numpy as np
import numpy.typing as npt
import pytest

import simulate
from logreplay.analysis.input import arrays
from logreplay.analysis.tables import aggregate, warmup
from simulate import SimulatedQueue
from support.linear_time import is_linear

SECONDS = 30


def found(rate: float, slower: float, seed: int, seconds: float = SECONDS) -> warmup.WarmUp:
    """Judge a step on a server that is ``slower`` times as slow at its start, and warms up in a sixth of the step."""
    rng = np.random.default_rng(seed)
    arrivals = simulate.sweep([rate, 1.5 * rate], seconds, rng)
    service = rng.exponential(0.016, len(arrivals.scheduled)) * (
        1 + (slower - 1) * np.exp(-6 * arrivals.scheduled / seconds)
    )
    requests = arrays.read(simulate.results(arrivals, simulate.waits(arrivals.scheduled, service, 16) + service))
    judged = warmup.of_first_step(requests, aggregate.step_windows(requests))
    assert judged is not None
    return judged


def test_a_server_three_times_as_slow_at_its_start_is_named() -> None:
    judged = [found(100, 3.0, seed) for seed in range(10)]
    assert all(each.sentence() for each in judged)
    assert sum("are a warm-up" in each.sentence() for each in judged) >= 8  # others seem not to settle at all
    assert all(3 <= each.cut_s <= 15 for each in judged)


def test_steady_load_is_not_accused() -> None:
    assert [each.sentence() for each in (found(100, 1.0, seed) for seed in range(20))] == [""] * 20


@pytest.mark.parametrize("rate", [10, 25])
def test_at_a_low_rate_the_intervals_are_longer(rate: float) -> None:
    slow, steady = ([found(rate, slower, seed, 1000 / rate).sentence() for seed in range(10)] for slower in (3.0, 1.0))
    assert all(slow)
    assert steady == [""] * 10


def independent(rate: float, seconds: float, seed: int, sigma: float, slower: float = 1.0) -> str:
    """The sentence on a step with lognormal times: ``slower`` times as long at first, settled after a sixth of it."""
    rng = np.random.default_rng(seed)
    arrivals = simulate.sweep([rate], seconds, rng)
    warm = 1 + (slower - 1) * np.exp(-6 * arrivals.scheduled / seconds)
    requests = arrays.read(simulate.results(arrivals, rng.lognormal(-4, sigma, len(warm)) * warm))
    judged = warmup.of_first_step(requests, aggregate.step_windows(requests))
    return judged.sentence() if judged else ""


@pytest.mark.parametrize(("rate", "seconds"), [(1, 600), (5, 120), (10, 60), (50, 20)])
def test_a_few_slow_requests_among_many_fast_ones_are_no_warm_up(rate: float, seconds: float) -> None:
    """One of six such steps was told to add a warm-up."""
    assert sum(bool(independent(rate, seconds, seed, 1.5)) for seed in range(30)) <= 1


def test_a_warm_up_at_a_low_rate_is_seen() -> None:
    told = [independent(10, 120, seed, 0.5, slower=3.0) for seed in range(20)]
    assert all(told)
    assert sum("are a warm-up" in sentence for sentence in told) >= 16


@pytest.mark.parametrize("at", [8, 20, 27])
def test_a_stall_after_the_start_is_no_warm_up(at: int) -> None:
    """A stall of 3 s at second 20 was a warm-up of 23 s, which the user was told to leave out."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        arrivals = simulate.sweep([50], 60, rng)
        times, since = rng.exponential(0.017, len(arrivals.scheduled)), arrivals.scheduled - at
        times += np.where((since >= 0) & (since < 3), 3 - since, 0)
        requests = arrays.read(simulate.results(arrivals, times))
        judged = warmup.of_first_step(requests, aggregate.step_windows(requests))
        assert judged is not None
        assert judged.sentence() == ""


def test_what_is_not_stationary_is_said_to_be_so() -> None:
    rising: npt.NDArray[np.float64] = np.linspace(1.0, 3.0, 150)
    judged = warmup.judged(rising)
    assert not judged.settled
    assert "did not settle" in judged.sentence()


def test_of_a_short_or_sparse_step_nothing_is_said() -> None:
    rng = np.random.default_rng(1)
    for rate, seconds in ((100, 5), (1, 60)):
        requests = arrays.read(simulate.serve(simulate.sweep([rate], seconds, rng), SimulatedQueue(4, 0.016), rng))
        assert warmup.of_first_step(requests, aggregate.step_windows(requests)) is None


def test_the_cut_makes_the_mean_true() -> None:
    means = np.concatenate([np.full(25, 3.0), np.full(125, 1.0)])
    judged = warmup.judged(means)
    assert judged.cut_s == 5.0
    assert judged.bias == pytest.approx((25 * 3 + 125) / 150 - 1)


def test_the_cut_is_that_of_the_definition_and_is_found_in_linear_time() -> None:
    means = np.random.default_rng(1).exponential(1, 500) + np.linspace(1, 0, 500) ** 4
    batches = means.reshape(-1, warmup.BATCH).mean(axis=1)
    uncertain = [batches[cut:].var() / (100 - cut) for cut in range(51)]
    assert warmup.judged(means).cut_s == pytest.approx(np.argmin(uncertain) * warmup.BATCH * warmup.MEANS_S)
    assert is_linear(lambda size: warmup.judged(np.resize(means, size)), 100_000)
