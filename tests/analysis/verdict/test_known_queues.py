"""Servers whose capacity is known by construction: saturation is found, and none is invented."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import simulate
from logreplay.analysis.input import arrays
from logreplay.analysis.verdict import saturation, stability
from simulate import Arrivals, SimulatedQueue

Floats = npt.NDArray[np.float64]
Server = Callable[[Arrivals, np.random.Generator], pl.DataFrame]

RATES = range(50, 401, 25)
SEEDS = range(20)


def queue(server: SimulatedQueue) -> Server:
    return lambda arrivals, rng: simulate.serve(arrivals, server, rng)


def gently_rising_then_wall(arrivals: Arrivals, rng: np.random.Generator) -> pl.DataFrame:
    """16 workers of 64 ms, and a base latency that doubles on the way to 250/s."""
    service = np.full(len(arrivals.scheduled), 0.064)
    base = 0.02 + 0.02 * arrivals.offered / 250
    return simulate.results(arrivals, base + service + simulate.waits(arrivals.scheduled, service, 16))


def noisy(arrivals: Arrivals, rng: np.random.Generator) -> pl.DataFrame:
    """Widely spread service times, the whole server stopped for 0.3 to 1 s every 20 s, 0.3 % stragglers.

    Stopped 3 % of the time, it carries 242.5/s: its work is simulated on a time axis without the pauses.
    """
    count, end = len(arrivals.scheduled), arrivals.scheduled[-1] + 100
    begins = np.cumsum(rng.exponential(20, int(end / 10) + 10))
    lengths = rng.uniform(0.3, 1.0, len(begins))
    edges = np.concatenate(([0.0], np.column_stack([begins, begins + lengths]).ravel()))
    edges = np.maximum.accumulate(edges)
    worked = np.concatenate(([0.0], np.cumsum(np.diff(edges) * (np.arange(len(edges) - 1) % 2 == 0))))
    arrived = np.interp(arrivals.scheduled, edges, worked)
    service = simulate.service_times(SimulatedQueue(4, 0.016, "lognormal"), count, rng)
    done = arrived + simulate.waits(arrived, service, 4) + service
    straggling = np.where(rng.random(count) < 0.003, rng.uniform(1, 5, count), 0.0)
    latency = np.interp(done, worked + 1e-9 * np.arange(len(worked)), edges) - arrivals.scheduled
    return simulate.results(arrivals, np.maximum(latency, 0.0005) + straggling)


def collapsing(arrivals: Arrivals, rng: np.random.Generator) -> pl.DataFrame:
    """4 workers of 16 ms that need twice as long for each request while more than 200 wait."""
    free, latency = [0.0] * 4, []
    service = rng.exponential(0.016, len(arrivals.scheduled))
    for at, takes in zip(arrivals.scheduled.tolist(), service.tolist(), strict=True):
        start = max(at, free[0])
        free[0] = start + takes * (2 if start - at > 200 / 250 else 1)
        latency.append(free[0] - at)
        free.sort()
    return simulate.results(arrivals, np.array(latency))


def rising_without_limit(arrivals: Arrivals, rng: np.random.Generator) -> pl.DataFrame:
    """Latency in proportion to the rate, no queue."""
    mean = 0.005 + 0.02 * arrivals.offered / 400
    return simulate.results(arrivals, rng.gamma(4, mean / 4))


def flat_with_stragglers(arrivals: Arrivals, rng: np.random.Generator) -> pl.DataFrame:
    count = len(arrivals.scheduled)
    straggling = np.where(rng.random(count) < 0.003, rng.uniform(1, 5, count), 0.0)
    return simulate.results(arrivals, rng.lognormal(np.log(0.01), 0.8, count) + straggling)


def replay_machine_of_250(arrivals: Arrivals, rng: np.random.Generator) -> pl.DataFrame:
    """A fast target behind a client that can send 250/s."""
    lag = simulate.waits(arrivals.scheduled, np.full(len(arrivals.scheduled), 1 / 250), 1)
    return simulate.results(arrivals, rng.exponential(0.005, len(lag)), lag=lag)


def limited(arrivals: Arrivals, rng: np.random.Generator) -> pl.DataFrame:
    """4 workers of 2 ms behind a bucket of 25 tokens, refilled with 250 a second; others are refused at once."""
    arrived, service = arrivals.scheduled, rng.exponential(0.002, len(arrivals.scheduled))
    refused = simulate.refused(arrived, 250, 25)
    latency = np.full(len(arrived), 0.0005)
    latency[~refused] = simulate.waits(arrived[~refused], service[~refused], 4) + service[~refused]
    return simulate.results(arrivals, latency, rc=np.where(refused, 503, 200))


def crowded(arrivals: Arrivals, rng: np.random.Generator) -> pl.DataFrame:
    """4 workers of 16 ms with room for 16 requests; others are refused at once."""
    free, ends, latency = [0.0] * 4, list[float](), list[float]()
    service = rng.exponential(0.016, len(arrivals.scheduled))
    for at, takes in zip(arrivals.scheduled.tolist(), service.tolist(), strict=True):
        ends = [end for end in ends if end > at]
        if len(ends) >= 16:
            latency.append(0.0)
            continue
        free[0] = max(at, free[0]) + takes
        latency.append(free[0] - at)
        ends.append(free[0])
        free.sort()
    times = np.array(latency)
    return simulate.results(arrivals, np.maximum(times, 0.0005), rc=np.where(times == 0, 503, 200))


WALLS: dict[str, tuple[Server, float]] = {
    "M/M/1": (queue(SimulatedQueue(1, 0.004)), 250),
    "M/M/4": (queue(SimulatedQueue(4, 0.016)), 250),
    "M/D/16": (queue(SimulatedQueue(16, 0.064, "fixed")), 250),
    "limiter": (limited, 250),
    "M/M/4/16": (crowded, 203),  # where it refuses 1 %
    "gently rising, then wall": (gently_rising_then_wall, 250),
    "noisy": (noisy, 242.5),
    "collapse": (collapsing, 250),
}
NO_WALLS: dict[str, Server] = {
    "flat": queue(SimulatedQueue(1000, 0.005)),
    "rising": rising_without_limit,
    "flat with stragglers": flat_with_stragglers,
    "M/M/1 beyond the range": queue(SimulatedQueue(1, 1 / 450)),
    "M/M/4 beyond the range": queue(SimulatedQueue(4, 4 / 450)),
}


@cache
def verdict(server: Server, seed: int) -> saturation.SaturationVerdict:
    rng = np.random.default_rng(seed)
    return saturation.judge(stability.judged_steps(arrays.read(server(simulate.sweep(RATES, 10, rng), rng))))


@pytest.mark.slow
@pytest.mark.parametrize(("server", "capacity"), WALLS.values(), ids=WALLS)
def test_saturation_is_found_within_6_percent_in_18_of_20_runs(server: Server, capacity: float) -> None:
    found = [verdict(server, seed).saturation for seed in SEEDS]
    missed = [bend.why for bend in found if not bend.found]
    assert not missed
    errors = sorted(abs((bend.rate or 0) / capacity - 1) for bend in found)
    assert errors[17] < 0.06, errors
    inside = sum((bend.low or 0) <= capacity <= (bend.high or 0) for bend in found)
    assert inside >= 18


@pytest.mark.slow
@pytest.mark.parametrize("server", NO_WALLS.values(), ids=NO_WALLS)
def test_none_is_invented_in_20_runs(server: Server) -> None:
    said = [verdict(server, seed) for seed in SEEDS]
    assert not [each.sentence for each in said if each.saturation.found]
    assert all(each.sentence.startswith("no saturation up to 400/s") for each in said)


def test_a_limited_replay_machine_is_named_and_nothing_is_said_of_the_target() -> None:
    for seed in SEEDS[:8]:
        said = verdict(replay_machine_of_250, seed)
        assert said.generator_limit == pytest.approx(240, abs=30)
        assert said.sentence.startswith("replay machine limited at 2")
        assert not said.saturation.found


@pytest.mark.parametrize("name", [*WALLS, *NO_WALLS])
def test_the_same_again_at_each_rate_changes_no_verdict(name: str) -> None:
    once = verdict(WALLS[name][0] if name in WALLS else NO_WALLS[name], 0)
    again = saturation.judge(pl.concat([once.steps.with_columns(pl.col("step") + 100 * turn) for turn in range(3)]))
    assert replace(again, saturation=once.saturation, sentence=once.sentence) == once
    found, before = again.saturation, once.saturation
    assert found.why == before.why
    figures = [(each.rate, each.low, each.high) for each in (found, before) if each.found]
    assert figures == [] or figures[0] == pytest.approx(figures[1], rel=0.005)  # three times the failures say more


@pytest.mark.slow
@pytest.mark.parametrize("name", ["M/M/4", "noisy"])
def test_three_trials_of_each_rate_give_a_range_at_most_a_step_wider_than_the_bracket(name: str) -> None:
    server, capacity = WALLS[name]
    gap, errors = RATES[1] - RATES[0], []
    for seed in range(0, 30, 3):
        bend = saturation.judge(pl.concat([verdict(server, seed + turn).steps for turn in range(3)])).saturation
        assert bend.rate
        assert bend.low
        assert bend.high
        assert bend.low <= bend.rate <= bend.high
        assert bend.high - bend.low <= 3 * gap + 1e-6
        assert bend.low <= capacity <= bend.high
        errors.append(abs(bend.rate / capacity - 1))
    assert sorted(errors)[8] < 0.06, errors


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("M/M/4", 18), ("M/D/16", 18), ("noisy", 16)])
def test_smaller_steps_where_it_saturates_give_a_range_that_still_holds_the_truth(name: str, least: int) -> None:
    server, capacity = WALLS[name]
    inside = 0
    for seed in SEEDS:
        rng, first = np.random.default_rng(seed), verdict(server, seed)
        bend = first.saturation
        assert bend.low
        assert bend.high
        smaller = [round(rate, 2) for rate in np.linspace(bend.low, bend.high, 6)[1:-1].tolist()]
        drained = [server(simulate.sweep([rate], 10, rng), rng) for rate in smaller]  # each finds empty queues
        steps = [stability.judged_steps(arrays.read(rows)) for rows in drained]
        refined = saturation.judge(pl.concat([first.steps, *steps])).saturation
        assert (refined.high or 0) - (refined.low or 0) < bend.high - bend.low
        inside += (refined.low or 0) <= capacity <= (refined.high or 0)
    assert inside >= least


@pytest.mark.parametrize(
    ("rates", "answer"),
    [((300, 350), "saturated already at the lowest rate, 300/s: sweep lower"), ((50, 300), "not enough data")],
)
def test_a_sweep_that_began_too_high_is_told_from_one_that_was_too_short(rates: tuple[int, ...], answer: str) -> None:
    rng = np.random.default_rng(0)
    rows = simulate.serve(simulate.sweep(rates, 10, rng), SimulatedQueue(4, 0.016), rng)
    verdict = saturation.judge(stability.judged_steps(arrays.read(rows)))
    assert verdict.sentence.startswith(answer)
