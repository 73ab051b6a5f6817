"""A target that carries ten streams of 50 ms is a queue with ten servers: below its capacity of 200/s, and above.

Client and target have a core each. Theory knows nothing of the machine: 50 ms, ten servers, and the scheduled times.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
import pytest

import simulate
from benchmarks.stream_target import SERVICE_S, STREAMS
from logreplay.replay.servers.server_process import server_process

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores"),
]
CLIENT, SERVER = (sorted(os.sched_getaffinity(0)) * 2)[:2]
SEEDS: Final = (1, 2, 3)
MOST: Final = 1000
"""More requests than are ever in the system at a rate below the capacity."""


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    program = Path(__file__).with_name("stream_target.py")
    with server_process(program, SERVER, failed="the target did not start") as url:
        yield url


def run(log: Path, url: str, rate: int, seconds: int, seed: int) -> pl.DataFrame:
    """The result log of a run."""
    results = log.with_name("results.csv")
    options = ["--http", "2", "--connections", "1", "--tps", rate, "--for", f"{seconds}s", "--seed", seed]
    command = ["taskset", "-c", CLIENT, sys.executable, "-m", "logreplay.cli.main", "run", log, url, *options]
    words = [str(word) for word in [*command, "--timeout", 60, "-o", results, "--force", "-q"]]
    subprocess.run(words, check=True, timeout=200)
    rows = pl.read_csv(results, comment_prefix="#").sort("seq")
    assert (rows["rc"] == 200).all()
    return rows


def mean_response(rate: float) -> float:
    """The mean response time of M/D/c, seconds.

    Of the requests in the system at t, c have left at t + D (Crommelin); Little's law gives the time.
    """
    load = rate * SERVICE_S
    come = np.exp(np.arange(MOST) * np.log(load) - load - np.cumsum(np.log(np.maximum(np.arange(MOST), 1))))
    share = np.full(MOST, 1 / MOST)
    for _ in range(2000):
        waiting = np.append(share[STREAMS:], np.zeros(STREAMS))
        waiting[0] += share[:STREAMS].sum()
        share = np.convolve(waiting, come)[:MOST]
        share /= share.sum()
    return float(share @ np.arange(MOST)) / rate


@pytest.mark.parametrize(("rate", "seconds"), [(400, 10), (160, 40)])
def test_response_times_are_those_of_a_queue(target: str, log: Path, rate: int, seconds: int) -> None:
    runs = []
    for seed in SEEDS:
        rows = run(log, target, rate, seconds, seed)
        scheduled, lag = rows["scheduled"].to_numpy(), rows["lag"].to_numpy()
        service = sum((rows[name].to_numpy() for name in ("connect", "latency", "xfertime")), np.zeros(rows.height))
        response = lag + rows["queued"].to_numpy() + service
        expected = simulate.waits(scheduled, np.full(rows.height, SERVICE_S), STREAMS) + SERVICE_S
        runs.append((response, expected))
        off = np.abs(response - expected) / expected
        print(
            f"\n{rate}/s, seed {seed}: {rows.height} requests, {np.mean(rows['queued'].to_numpy() > 0):.0%} queued, "
            f"service time {service.mean() * 1e3:.2f} ms, lag p99 {np.quantile(lag, 0.99) * 1e3:.2f} ms; "
            f"response mean {response.mean() * 1e3:.1f} ms (theory {expected.mean() * 1e3:.1f}), "
            f"p99 {np.quantile(response, 0.99) * 1e3:.1f} ({np.quantile(expected, 0.99) * 1e3:.1f}); "
            f"of a request off by {off.mean():.1%}, at most {off.max():.1%}"
        )
        assert np.quantile(lag, 0.99) < 0.001
        assert response.mean() == pytest.approx(expected.mean(), rel=0.05)
        assert np.quantile(response, 0.99) == pytest.approx(np.quantile(expected, 0.99), rel=0.05)
        if rate > STREAMS / SERVICE_S:  # the backlog grows by so many requests each second
            fluid = np.arange(rows.height) * SERVICE_S / STREAMS - scheduled + SERVICE_S
            grows, should = (float(np.polyfit(scheduled, times, 1)[0]) for times in (response, fluid))
            print(f"the wait grows by {grows:.3f} s each second ({should:.3f})")
            assert grows == pytest.approx(should, rel=0.05)
    if rate < STREAMS / SERVICE_S:
        mean, truth = float(np.concatenate([response for response, _ in runs]).mean()), mean_response(rate)
        print(f"M/D/{STREAMS} at {rate}/s: mean {mean * 1e3:.1f} ms, theory {truth * 1e3:.1f} ms")
        assert mean == pytest.approx(truth, rel=0.05)
