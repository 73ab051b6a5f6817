"""When requests arrive at a real server: in the shape of the schedule, without drift."""

import asyncio
import math
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from logreplay.replay.engine.engine import replay
from logreplay.replay.requests.plan import Plan, Requests, instants
from logreplay.replay.results.result_log import MemoryResults
from logreplay.replay.schedules.arrivals import LogTimes, Poisson, Scattered
from logreplay.replay.schedules.rates import Constant, Limited, Ramp, Schedule, Steps
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http1.sender import WireSender

SERVER = """
import asyncio, sys
from support.recording_server import recording

async def main():
    async with recording() as server:
        print(server.url, flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        for one in server.received:
            print(one.at, one.target)

asyncio.run(main())
"""
SECONDS = 3.0


@contextmanager
def server_elsewhere() -> Iterator[tuple[str, Callable[[], list[tuple[int, int]]]]]:
    """A recording server in a process of its own, so that it takes no time from the sender's loop."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent.parent,
    ) as process:
        assert process.stdin
        assert process.stdout
        url = process.stdout.readline().strip()

        def end() -> list[tuple[int, int]]:
            assert process.stdin
            assert process.stdout
            process.stdin.write("\n")
            process.stdin.close()
            lines = [line.split() for line in process.stdout]
            return [(int(at), int(target.strip("/"))) for at, target in lines]

        yield url, end


@pytest.fixture(scope="module")
def bursty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of four minutes: Poisson at 20/s, with a burst each 30 s and a pause of 10 s."""
    random = np.random.default_rng(7)
    times = np.cumsum(random.exponential(1 / 20, 4000))
    bursts = np.concatenate([30 * k + random.uniform(0, 0.5, 60) for k in range(6)])
    starts = np.sort(np.concatenate([times, bursts]))
    starts[starts > 60] += 10
    start = pl.Series((starts * 1e6 + 1_767_225_600e6).astype(np.int64)).cast(pl.Datetime("us"))
    frame = pl.DataFrame(
        {
            "date": start.dt.strftime("%Y-%m-%d"),
            "time": start.dt.strftime("%H:%M:%S%.6f"),
            "url": [f"/{number}" for number in range(len(start))],
        }
    ).select("date", "time", pl.lit(0).alias("latency"), pl.lit(0).alias("xfertime"), pl.lit(0).alias("thinktime"),
             pl.lit(5).alias("bytes"), "url", pl.lit(200).alias("rc"), pl.lit("GET").alias("op"))  # fmt: skip
    path = tmp_path_factory.mktemp("arrivals") / "bursty.csv"
    frame.write_csv(path)
    return path


def arrivals(log: Path, schedule: Schedule) -> tuple[NDArray[np.int64], NDArray[np.int64], pl.DataFrame]:
    """Replay; when each request was due and when its first byte arrived, ns, both from the first; and the rows."""
    requests, results = Requests(log), MemoryResults()
    with server_elsewhere() as (url, end):

        async def main() -> None:
            sender = WireSender(await resolve(parse_target(url)), timeout=5)
            # connections are there before the first request is due: they are not what is measured here
            outcome = await replay(Plan(requests, schedule), sender, results)
            assert outcome.counters.ok == outcome.scheduled

        asyncio.run(main())
        received = end()
    rows = results.frame.sort("seq")
    order: dict[int, list[int]] = {}
    for at, row in received:
        order.setdefault(row, []).append(at)
    arrived = np.array([order[row].pop(0) for row in rows["row"].to_list()])
    due = (rows["scheduled"] * 1e9).round().cast(pl.Int64).to_numpy()
    return due - due[0], arrived - arrived[0], rows


def schedules(log: Path) -> Sequence[tuple[str, Schedule]]:
    figures = Requests(log).survey()
    return (
        ("even", Constant(300, SECONDS)),
        ("poisson", Poisson(Constant(300, SECONDS), seed=3)),
        ("ramp", Ramp(50, 500, SECONDS)),
        ("log", Limited(LogTimes(1), seconds=SECONDS)),
        ("log x 3", Limited(LogTimes(3), seconds=SECONDS)),
        ("log at 400/s", Limited(LogTimes.at_rate(400, figures.mean), seconds=SECONDS)),
    )


@pytest.mark.alone
@pytest.mark.parametrize("name", ["even", "poisson", "ramp", "log", "log x 3", "log at 400/s"])
def test_arrivals_match_the_schedule(bursty: Path, name: str) -> None:
    schedule = dict(schedules(bursty))[name]
    for attempt in range(5):  # a busy machine may spoil one
        due, arrived, rows = arrivals(bursty, schedule)
        late = arrived - due
        lag_p99 = float(rows["lag"].quantile(0.99) or 0)
        spread = float(np.percentile(np.abs(late - np.median(late)), 99)) / 1e9
        tenth = max(1, len(late) // 10)
        drift = float(np.median(late[-tenth:]) - np.median(late[:tenth])) / 1e9
        if (spread < lag_p99 + 0.005 and abs(drift) < lag_p99 + 0.005) or attempt == 4:
            break
    planned = schedule.pacer()(starts_of(bursty, len(due) + 1000))[: len(due)]
    assert np.abs(planned - planned[0] - due).max() <= 1000  # the log has microseconds
    assert spread < lag_p99 + 0.005
    assert abs(drift) < lag_p99 + 0.005  # sleeping from request to request drifts by a tenth of a second
    if name == "poisson":
        gaps = np.sort(np.diff(arrived)) / 1e9
        expected = 1 - np.exp(-300 * np.maximum(gaps, 0))
        steps = np.arange(len(gaps)) / len(gaps)
        distance = max(np.abs(expected - steps).max(), np.abs(expected - steps - 1 / len(gaps)).max())
        assert distance < 1.63 / np.sqrt(len(gaps)) + 0.01  # the 1 % bound, and the jitter of arrivals


def starts_of(log: Path, count: int) -> NDArray[np.int64]:
    frames, starts = Requests(log).frames(), np.zeros(0, np.int64)
    while len(starts) < count:
        starts = np.concatenate([starts, instants(next(frames))])
    return starts[:count]


def test_the_log_at_a_rate_has_that_mean_and_the_log_s_bursts(bursty: Path) -> None:
    figures = Requests(bursty).survey()
    assert figures.requests == 4360
    assert figures.mean == pytest.approx(4360 / ((figures.last - figures.first) / 1e6), rel=0.001)
    assert figures.peak > 60
    due = LogTimes.at_rate(400, figures.mean).pacer()(starts_of(bursty, 4360)) / 1e9
    assert len(due) / due[-1] == pytest.approx(400, rel=0.001)
    busiest = np.bincount((due * 10).astype(int)).max() * 10
    assert busiest > 1000


def test_a_looped_log_goes_on_in_its_own_time(bursty: Path) -> None:
    starts = starts_of(bursty, 10_000)
    due = LogTimes(1).pacer()(starts) / 1e9
    period = Requests(bursty).survey().period / 1e6
    assert np.allclose(due[4360:8720] - due[:4360], period, atol=1e-5)
    assert (np.diff(due) >= 0).all()


def test_idle_time_is_left_out_and_counted(bursty: Path) -> None:
    requests = Requests(bursty, loop=False, skip_idle=1.0)
    due = np.concatenate([chunk.due for chunk in Plan(requests, LogTimes(1))]) / 1e9
    assert np.diff(due).max() <= 1.0 + 1e-6
    assert requests.skipped_s == pytest.approx(9, abs=1)
    whole = np.concatenate([chunk.due for chunk in Plan(Requests(bursty, loop=False), LogTimes(1))]) / 1e9
    assert whole[-1] - due[-1] == pytest.approx(requests.skipped_s, abs=1e-3)


def test_a_result_log_is_replayed_in_order_of_start(bursty: Path, tmp_path: Path) -> None:
    rows = pl.read_csv(bursty, infer_schema=False)
    mixed = rows.with_columns(
        key=pl.int_range(pl.len()) + pl.Series(np.random.default_rng(1).integers(0, 40, rows.height))
    )
    mixed.sort("key").drop("key").write_csv(tmp_path / "results.csv")
    requests = Requests(tmp_path / "results.csv", loop=False, sorted_within=100)
    urls = [url for frame in requests.frames() for url in frame["url"].to_list()]
    assert urls == rows["url"].to_list()


_rate, _length = st.floats(0.5, 5000), st.floats(0.1, 30)
_profiles = st.one_of(
    st.builds(Constant, _rate, _length),
    st.builds(Ramp, _rate, _rate, _length),
    st.builds(lambda a, b, length: Steps(((a, length), (b, 1.0))), _rate, _rate, _length),
)


@given(even=_profiles, seed=st.integers(0, 99), block=st.integers(1, 5000))
def test_scattered_requests_are_as_many_as_even_ones_in_order_and_in_time(
    even: Constant | Ramp | Steps, seed: int, block: int
) -> None:
    assert even.duration
    assert len(even.pacer()(np.zeros(200_000, np.int64))) == even.requests
    pace, parts = Scattered(even, seed).pacer(), list[NDArray[np.int64]]()
    while len(part := pace(np.zeros(block, np.int64))):
        parts.append(part)
    due = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    assert len(due) == even.requests
    assert (np.diff(due) >= 0).all()
    assert ((due >= 0) & (due < even.duration * 1e9)).all()
    assert due.tolist() == Scattered(even, seed).pacer()(np.zeros(len(due) + 1, np.int64)).tolist()


def test_scattered_requests_are_spread_as_uniform_draws_are() -> None:
    due = Scattered(Constant(1000, 100), seed=7).pacer()(np.zeros(200_000, np.int64)) / 1e9
    ranks = (np.arange(len(due)) + 0.5) / len(due)
    assert np.abs(due / 100 - ranks).max() < 1.63 / math.sqrt(len(due))  # Kolmogorov and Smirnov, 1 %
    gaps = np.diff(due)
    assert np.std(gaps) == pytest.approx(np.mean(gaps), rel=0.02)


def test_scattered_requests_follow_a_ramp() -> None:
    due = Scattered(Ramp(0, 2000, 100), seed=7).pacer()(np.zeros(200_000, np.int64)) / 1e9
    ranks = (np.arange(len(due)) + 0.5) / len(due)
    assert np.abs((due / 100) ** 2 - ranks).max() < 1.63 / math.sqrt(len(due))


def test_the_first_scattered_requests_of_a_year_are_there_at_once() -> None:
    due = Scattered(Constant(1_000_000, 365 * 86_400), seed=7).pacer()(np.zeros(100_000, np.int64))
    assert due[-1] / 1e9 == pytest.approx(0.1, rel=0.02)


@pytest.mark.parametrize(("speed", "years"), [(1.0, 6974), (1e-9, 1e-6), (1e-9, 6974)])
def test_times_of_the_log_too_far_off_for_nanoseconds_stay_in_order_and_far_off(speed: float, years: float) -> None:
    """One row of a wrong year overflowed: it and all after it were due before the run began."""
    pace = LogTimes(speed).pacer()
    begin, far = 1_767_225_600_000_000, int(years * 365.25 * 86_400e6)
    due = pace(np.array([begin, begin + 1, begin + far, begin + far + 10**6]))
    assert due[:2].tolist() == [0, round(1000 / speed)]
    assert (np.diff(np.concatenate([due, pace(np.array([begin + far + 10**7]))])) >= 0).all()
    assert due[2] >= 30 * 365 * 86_400 * 10**9


@pytest.mark.parametrize("schedule", [Constant(1e-6), Poisson(Constant(1e-6))])
def test_requests_at_a_rate_too_far_off_for_nanoseconds_stay_in_order(schedule: Schedule) -> None:
    due = schedule.pacer()(np.zeros(20_000, np.int64))
    assert len(due) == 20_000
    assert (np.diff(due) >= 0).all()
