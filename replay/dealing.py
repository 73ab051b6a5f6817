"""Which requests of a plan belong to which shard: every n-th, as cards are dealt.

So all shards carry the same load at any time, whatever the rate's shape, and whose request is whose can be said
without a look at the log. A share is a value like the plan it is taken from: it is sent to where its shard runs, and
read there, each shard for itself; nobody holds the whole plan.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from logreplay.replay.closed import UniformThink, Users
from logreplay.replay.plan import CHUNK_ROWS, Chunk, Plan, Stream
from logreplay.replay.schedule import Instants, Schedule


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a plan that one shard sends: an iterable of `Chunk`, as the plan is.

    Request ``k`` of a share is request ``k * count + index`` of the plan.

    Attributes:
        plan: the whole.
        index: of the shard, from 0.
        count: how many shards there are.
    """

    plan: Plan
    index: int
    count: int

    @property
    def requests(self) -> Stream:
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
            offset = (self.index - first) % self.count
            first += len(chunk.due)
            due = chunk.due[offset :: self.count]
            if not len(due):
                continue
            frames.append(chunk.frame.gather_every(self.count, offset))
            dues.append(due)
            rows += len(due)
            if rows >= CHUNK_ROWS // 2:  # a chunk costs the same however small it is
                yield Chunk(pl.concat(frames), np.concatenate(dues))
                frames, dues, rows = [], [], 0
        if rows:
            yield Chunk(pl.concat(frames), np.concatenate(dues))


def shared_out(total: int, count: int) -> list[int]:
    """Split a number into ``count`` whole parts, as equal as they can be."""
    return [total // count + (index < total % count) for index in range(count)]
