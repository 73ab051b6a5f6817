"""The requests of a plan that each worker sends: every n-th, or all of some clients.

Every n-th: all workers carry the same load at any time, whatever the shape of the rate, and the worker of a request is
known without a look at the log. By client: one worker has all requests of a client, and can keep their order. A share
is a value like its plan: it is sent to its worker, and each worker reads the log itself; nobody holds the whole plan.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.replay.requests.plan import CHUNK_ROWS, Chunk, Plan, RequestStream
from logreplay.replay.schedules.rates import Instants, Schedule
from logreplay.replay.schedules.users import UniformThink, Users


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a plan that one worker sends: an iterable of `Chunk`, as the plan is.

    `number` numbers the requests of all shares. Divided in turn, that is the index in the plan; divided by client,
    numbers are unique, and follow the plan within each share only. Requests kept together have one worker.

    Attributes:
        plan: the whole.
        index: index of the worker, from 0.
        count: number of workers.
        by_client: divide by client; False: in turn.
    """

    plan: Plan
    index: int
    count: int
    by_client: bool = False

    @property
    def requests(self) -> RequestStream:
        return self.plan.requests

    @property
    def schedule(self) -> Schedule:
        """Schedule of the whole plan; of a closed loop, the users of this worker."""
        schedule = self.plan.schedule
        if isinstance(schedule, Users):
            think = schedule.think
            if isinstance(think, UniformThink):
                think = replace(think, part=self.index)
            places = range(self.index, schedule.count, self.count)
            return replace(schedule, count=len(places), think=think, places=places)
        return schedule

    @property
    def step(self) -> int:
        return self.plan.step

    @property
    def together(self) -> int:
        return self.plan.together

    def __iter__(self) -> Iterator[Chunk]:
        frames: list[pl.DataFrame] = []
        dues: list[Instants] = []
        rows, first, none, of_log = 0, 0, True, 0
        for chunk in self.plan:
            mine = self._part_of(chunk, first)
            first += len(chunk.due)
            none = none and not len(mine.due)
            if none and isinstance(self.plan.schedule, Users):
                of_log += int((chunk.frame["row"] >= 0).sum())  # requests that are mixed in have negative ones
                if 0 < self.requests.usable < of_log:
                    raise LogreplayError(
                        "this worker has none of the clients of this log, and its users would send nothing; lower "
                        "--workers, or leave out --by-client"
                    )
            frames.append(mine.frame)
            dues.append(mine.due)
            rows += len(mine.due)
            # a chunk costs the same however small it is; at one without a request of this worker, its reader may begin
            # or end
            if rows >= CHUNK_ROWS // 2 or not len(mine.due):
                yield Chunk(pl.concat(frames, how="diagonal"), np.concatenate(dues))
                frames, dues, rows = [], [], 0
        if rows:
            yield Chunk(pl.concat(frames, how="diagonal"), np.concatenate(dues))

    def _part_of(self, chunk: Chunk, first: int) -> Chunk:
        """The part of a chunk whose first request is number ``first`` of the plan."""
        if self.by_client:
            # crc32: the same in each process and on each machine, which Python's and Polars' hashes are not
            clients = chunk.frame["client"].fill_null("").to_list()
            parts = np.fromiter((crc32(client.encode()) for client in clients), np.int64, len(clients)) % self.count
            mine = np.flatnonzero(parts == self.index)
            return Chunk(chunk.frame[mine], chunk.due[mine])
        numbers = np.arange(first, first + len(chunk.due))
        mine = np.flatnonzero(numbers // self.plan.together % self.count == self.index)
        return Chunk(chunk.frame[mine], chunk.due[mine])

    def number(self, own: Any) -> Any:
        """The number in the whole plan of request ``own`` of this share: of an int, an array or an expression."""
        together = self.plan.together
        return (own // together * self.count + self.index) * together + own % together

    def own(self, number: Any) -> Any:
        """The inverse of `number`."""
        together = self.plan.together
        return number // together // self.count * together + number % together


def even_parts(total: int, count: int) -> list[int]:
    """Split a number into ``count`` whole parts, as equal as they can be."""
    return [total // count + (index < total % count) for index in range(count)]
