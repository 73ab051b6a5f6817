"""Closed systems of known capacity: N users, K workers behind one queue; simulated, with the rows of a sweep."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import polars as pl

from logreplay.core.record import RESULT_COLUMNS, SCHEMA

_PER_S = 10
"""Moments of a second in each of which a machine has one speed."""


@dataclass(frozen=True)
class ClosedSystem:
    """K workers, or none for as many as users; each request takes a mean time, each user thinks.

    Attributes:
        workers: None: a user never waits.
        service_s, think_s: means.
        spread: of service times: 0 fixed, 1 exponential.
        slower: each user in the system beyond the workers prolongs the service by this share.
        refuses: requests beyond so many are refused at once, with 503.
        wander: standard deviation of the logarithm of the machine's speed, whose mean is 1.
        wander_s: seconds over which the speed stays alike.
    """

    workers: int | None
    service_s: float = 0.1
    think_s: float = 0.0
    spread: float = 1.0
    slower: float = 0.0
    refuses: int | None = None
    wander: float = 0.0
    wander_s: float = 1.0

    @property
    def capacity(self) -> float:
        return np.inf if self.workers is None else self.workers / self.service_s

    @property
    def crossing(self) -> float:
        return self.capacity * (self.service_s + self.think_s)

    def step(self, users: int, seconds: float, rng: np.random.Generator) -> list[tuple[float, float, int]]:
        """Scheduled instant, response time and status of each request of some seconds."""
        free = [0.0] * (users if self.workers is None else self.workers)
        rows, number = [], count()
        events = [(self.think_s * place / users, next(number)) for place in range(users)]
        busy: list[float] = []
        speed = self._speeds(seconds, rng)
        while events:
            now, _ = heapq.heappop(events)
            if now >= seconds:
                continue
            while busy and busy[0] <= now:
                heapq.heappop(busy)
            if self.refuses is not None and len(busy) >= self.refuses:
                rows.append((now, 0.002, 503))
                heapq.heappush(events, (now + 0.002 + self.think_s, next(number)))
                continue
            mean = self.service_s * (1 + self.slower * max(0, len(busy) - len(free)))
            took = mean * ((1 - self.spread) + self.spread * rng.exponential())
            start = max(now, heapq.heappop(free))
            end = start + took / speed[min(int(start * _PER_S), len(speed) - 1)]
            heapq.heappush(free, end)
            heapq.heappush(busy, end)
            rows.append((now, end - now, 200))
            heapq.heappush(events, (end + self.think_s, next(number)))
        return rows

    def _speeds(self, seconds: float, rng: np.random.Generator) -> Sequence[float]:
        """The speed of the machine in each moment of a step: an autoregression."""
        if not self.wander:
            return [1.0]
        keeps = np.exp(-1 / (_PER_S * self.wander_s))
        away = [rng.normal()]
        for shock in rng.normal(size=int(seconds * _PER_S)):
            away.append(keeps * away[-1] + np.sqrt(1 - keeps**2) * shock)
        return list(np.exp(self.wander * np.array(away) - self.wander**2 / 2))

    def sweep(self, users: Sequence[int], seconds: float, seed: int) -> pl.DataFrame:
        """The rows of a result log."""
        rng, begin, rows = np.random.default_rng(seed), 0.0, []
        for step, each in enumerate(users):
            made = self.step(each, seconds, rng)
            rows += [(begin + at, took, status, step) for at, took, status in made]
            begin = float(np.ceil(max(begin + at + took for at, took, _ in made))) + 1
        frame = pl.DataFrame(rows, schema=("scheduled", "latency", "rc", "step"), orient="row")
        none = {name: pl.lit(None, SCHEMA.get(name, pl.Float64)) for name in RESULT_COLUMNS}
        text = {"date": pl.lit("2026-01-01"), "time": pl.lit("00:00:00.0"), "url": pl.lit("/"), "op": pl.lit("GET")}
        zero = {name: pl.lit(0.0) for name in ("xfertime", "connect", "lag", "bytes", "offered")}
        seq = pl.int_range(pl.len())
        return frame.with_columns(
            **{**none, **text, **zero, "seq": seq, **{name: pl.col(name) for name in frame.columns}}
        )
