"""Which requests of a plan belong to which shard: every n-th, as cards are dealt, or all of some clients.

Every n-th: all shards carry the same load at any time, whatever the rate's shape, and whose request is whose can be
said without a look at the log. By client: one shard has all requests of a client, and can keep their order. A share is
a value like the plan it is taken from: it is sent to where its shard runs, and read there, each shard for itself;
nobody holds the whole plan.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
import polars as pl

from logreplay.replay.requests.plan import CHUNK_ROWS, Chunk, Plan, RequestStream
from logreplay.replay.schedules.rates import Instants, Schedule
from logreplay.replay.schedules.users import UniformThink, Users


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a plan that one shard sends: an iterable of `Chunk`, as the plan is.

    Request ``k`` of a share has the number ``k * count + index``. Dealt in turn, that is its place in the plan; dealt
    by client, numbers are unique, and follow the plan within each share only.

    Attributes:
        plan: the whole.
        index: of the shard, from 0.
        count: how many shards there are.
        by_client: deal by client; False: in turn.
    """

    plan: Plan
    index: int
    count: int
    by_client: bool = False

    @property
    def requests(self) -> RequestStream:
        """Of the whole plan."""
        return self.plan.requests

    @property
    def schedule(self) -> Schedule:
        """Of the whole plan; but of the users of a closed loop those that are dealt to this shard."""
        schedule = self.plan.schedule
        if isinstance(schedule, Users):
            think = schedule.think
            if isinstance(think, UniformThink):
                think = replace(think, part=self.index)
            return replace(schedule, count=shared_out(schedule.count, self.count)[self.index], think=think)
        return schedule

    @property
    def step(self) -> int:
        """Of the whole plan."""
        return self.plan.step

    def __iter__(self) -> Iterator[Chunk]:
        frames: list[pl.DataFrame] = []
        dues: list[Instants] = []
        rows = first = 0
        for chunk in self.plan:
            mine = self._deal(chunk, first)
            first += len(chunk.due)
            if not len(mine.due):
                continue
            frames.append(mine.frame)
            dues.append(mine.due)
            rows += len(mine.due)
            if rows >= CHUNK_ROWS // 2:  # a chunk costs the same however small it is
                yield Chunk(pl.concat(frames), np.concatenate(dues))
                frames, dues, rows = [], [], 0
        if rows:
            yield Chunk(pl.concat(frames), np.concatenate(dues))

    def _deal(self, chunk: Chunk, first: int) -> Chunk:
        """The part of a chunk whose first request is number ``first`` of the plan."""
        if self.by_client:
            # crc32: the same in each process and on each machine, which Python's and Polars' hashes are not
            clients = chunk.frame["client"].fill_null("").to_list()
            parts = np.fromiter((crc32(client.encode()) for client in clients), np.int64, len(clients)) % self.count
            mine = np.flatnonzero(parts == self.index)
            return Chunk(chunk.frame[mine], chunk.due[mine])
        offset = (self.index - first) % self.count
        return Chunk(chunk.frame.gather_every(self.count, offset), chunk.due[offset :: self.count])


def shared_out(total: int, count: int) -> list[int]:
    """Split a number into ``count`` whole parts, as equal as they can be."""
    return [total // count + (index < total % count) for index in range(count)]
