"""The places for requests on the connections to a target, and the requests that wait for one.

Each key (a client, or a pool of connections) has a fixed number of places: one for each HTTP/1.1 connection, one for
each stream of an HTTP/2 connection. The wait is the ``queued`` time of a request.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request that waits for a place.

    Attributes:
        seq: its number.
        request: as `logreplay.replay.senders.contract.Sender.prepare` made it.
        start: begin of the wait, nanoseconds of the clock.
        latest: latest send time, nanoseconds of the clock; later, it is dropped.
    """

    seq: int
    request: Any
    start: int
    latest: float


class Slots:
    """Places by key, and a queue for each key whose places are taken.

    Args:
        each: places of a key.
    """

    def __init__(self, each: int) -> None:
        self._each = each
        self._taken: dict[str, int] = {}
        self._queues: dict[str, deque[Waiting]] = {}
        self._expiring: deque[tuple[float, str, int]] = deque()

    def __contains__(self, key: str) -> bool:
        """Whether a place of this key is taken."""
        return key in self._taken

    def __len__(self) -> int:
        """Keys of which a place is taken."""
        return len(self._taken)

    @property
    def waiting(self) -> int:
        """Requests that wait for a place."""
        return sum(map(len, self._queues.values()))

    def take(self, key: str) -> bool:
        """Take a place, if one is free."""
        taken = self._taken.get(key, 0)
        if taken == self._each:
            return False
        self._taken[key] = taken + 1
        return True

    def wait(self, key: str, one: Waiting) -> None:
        """Let a request wait behind the others of its key. Those that come later must not expire earlier."""
        self._queues.setdefault(key, deque()).append(one)
        if one.latest < inf:
            self._expiring.append((one.latest, key, one.seq))

    def free(self, key: str) -> Waiting | None:
        """Give a place back, or to the first request that waits for it, which is returned."""
        if queue := self._queues.get(key):
            return queue.popleft()
        self._queues.pop(key, None)
        self._taken[key] -= 1
        if not self._taken[key]:
            del self._taken[key]
        return None

    @property
    def next_expiry(self) -> float:
        """The instant at which to call `expired` next."""
        return self._expiring[0][0] if self._expiring else inf

    def expired(self, now: int) -> Iterator[Waiting]:
        """Take out the requests whose time is over."""
        while self._expiring and self._expiring[0][0] < now:
            _, key, seq = self._expiring.popleft()
            queue = self._queues.get(key)
            if queue and queue[0].seq == seq:
                yield queue.popleft()

    def clear(self) -> Iterator[Waiting]:
        """Take out all requests that wait."""
        queues, self._queues = self._queues, {}
        self._expiring.clear()
        for queue in queues.values():
            yield from queue
