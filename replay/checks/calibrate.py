"""Measures the rate that this machine can send, and how exactly, against a minimal server on the same machine.

Three figures: the delay of a timer that sends nothing; the duration of the shortest possible exchange; and the highest
rate at which requests still start on time, with every row of the result log written.
"""

import asyncio
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from logreplay.core.files import scratch_folder
from logreplay.core.record import CORE_COLUMNS
from logreplay.replay.clock import monotonic
from logreplay.replay.engine.engine import Engine, Limits
from logreplay.replay.engine.timer import make_timer
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.results.result_log import MemoryResults, ResultLog
from logreplay.replay.schedules.rates import Constant, Schedule
from logreplay.replay.senders.endpoint import parse_target, resolve
from logreplay.replay.senders.http1.sender import WireSender
from logreplay.replay.servers.minimal import responding

LAG_P99_S: Final = 0.001
"""Requests are on time if 99 in 100 start within this, or within twice what a bare timer needs here."""
_FIRST: Final = 1000.0
_FACTOR: Final = 1.6
_HIGHEST: Final = 400_000.0
_BISECTIONS: Final = 3
_IN_FLIGHT: Final = 1000


@dataclass(frozen=True, slots=True)
class CalibrationTrial:
    """One rate: generator lag of its requests (seconds), and the share of the schedule that was sent in time."""

    rate: float
    lag_p50: float
    lag_p99: float
    achieved: float
    on_time: bool


@dataclass(frozen=True, slots=True)
class Calibration:
    """The limits of a machine. Times in seconds.

    Attributes:
        timer_p50, timer_p99: delay of a timer that sends nothing, at 1,000/s.
        added_p50, added_p99: service time of a target that does nothing, at 1,000/s.
        ceiling: the highest rate tried at which requests started on time, requests/s; 0 if there was none.
        trials: all rates tried, in the order of trying.
    """

    timer_p50: float
    timer_p99: float
    added_p50: float
    added_p99: float
    ceiling: float
    trials: tuple[CalibrationTrial, ...]


async def calibrate(trial_s: float = 1.0, on_trial: Callable[[CalibrationTrial], object] | None = None) -> Calibration:
    """Measure this machine, in about 20 trials; ``on_trial`` is called with each as it ends."""
    lateness = await timer_lateness(_FIRST, trial_s)
    bound = max(LAG_P99_S, 2 * float(np.quantile(lateness, 0.99)))
    trials: list[CalibrationTrial] = []
    with responding() as url, scratch_folder() as folder:
        log = _log(folder / "log.csv")

        async def on_time(rate: float) -> bool:
            """Try twice, so that a moment of another program's work does not decide."""
            for _ in range(2):
                trial = await _trial(url, log, folder / "results.csv", Constant(rate, trial_s), bound)
                trials.append(trial)
                if on_trial:
                    on_trial(trial)
                if trial.on_time:
                    return True
            return False

        added = await _service_time(url, log, trial_s)
        good, bad = 0.0, _FIRST
        while bad <= _HIGHEST and await on_time(bad):
            good, bad = bad, bad * _FACTOR
        for _ in range(_BISECTIONS if good else 0):
            middle = (good * bad) ** 0.5
            if await on_time(middle):
                good = middle
            else:
                bad = middle
    timer_p50, timer_p99 = np.quantile(lateness, (0.5, 0.99)).tolist()
    return Calibration(timer_p50, timer_p99, *added, ceiling=good, trials=tuple(trials))


async def timer_lateness(rate: float, seconds: float) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Delays of a timer without other work: ``(n,)`` seconds."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    due = (Constant(rate, seconds).pacer()(np.zeros(int(rate * seconds), np.int64)) + monotonic()).tolist()
    late: list[int] = []

    def tick() -> None:
        while len(late) < len(due):
            now = monotonic()
            if now < due[len(late)]:
                timer.arm(due[len(late)])
                return
            late.append(now - due[len(late)])
        timer.close()
        ended.set_result(None)

    timer = make_timer(loop, monotonic, tick)
    timer.arm(due[0])
    await ended
    return np.array(late) / 1e9


async def _trial(url: str, log: Path, output: Path, schedule: Schedule, bound: float) -> CalibrationTrial:
    sender = WireSender(await resolve(parse_target(url)), timeout=10)
    limits = Limits(max_in_flight=_IN_FLIGHT)
    async with Engine(sender, ResultLog(output, force=True), limits=limits) as engine:
        seen = (await engine.run(Plan(Requests(log), schedule))).evidence
    p50, p99 = (seen.counters.lag.quantile(share) or 0.0 for share in (0.5, 0.99))
    return CalibrationTrial(schedule.rate, p50, p99, seen.achieved, p99 < bound and seen.achieved >= 0.98)


async def _service_time(url: str, log: Path, seconds: float) -> tuple[float, float]:
    """Median and p99 of connect + latency + xfertime on warm connections."""
    results = MemoryResults()
    async with Engine(WireSender(await resolve(parse_target(url)), timeout=10), results) as engine:
        await engine.run(Plan(Requests(log), Constant(_FIRST, seconds)))
    rows = results.frame
    service = (rows["connect"] + rows["latency"] + rows["xfertime"]).filter(rows["connect"] == 0).to_numpy()
    p50, p99 = np.quantile(service, (0.5, 0.99)).tolist()
    return p50, p99


def _log(path: Path) -> Path:
    rows = (f"2026-01-01,00:00:00,0,0,0,24,/calibrate/{number}?n={number},200,GET\n" for number in range(10_000))
    path.write_text(",".join(CORE_COLUMNS) + "\n" + "".join(rows), encoding="ascii")
    return path


def remembered_at() -> Path:
    """Return the path of the file that keeps the calibration of this machine."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "logreplay" / "calibration.json"


def remembered_ceiling() -> float | None:
    """Return the ceiling of the last calibration of this machine, requests/s; None if there was none."""
    try:
        return float(json.loads(remembered_at().read_text(encoding="utf-8"))["ceiling"]) or None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
