"""Requests that are due at once are sent one after the other, and each start is when its request was handed over."""

import asyncio
import os
from collections.abc import Sequence
from math import inf

import numpy as np
import polars as pl
import pytest

from logreplay.replay.clock import Clock, monotonic
from logreplay.replay.engine.open_loop import Limits, OpenLoopSender
from logreplay.replay.senders.contract import Done, SenderCounts, Trace
from support.virtual_time import VirtualTimeLoop, run

SEND_NS = 1_000_000


class SlowToSend:
    """Sends at once, and each send takes a millisecond of the clock."""

    def __init__(self) -> None:
        self.counts = SenderCounts()
        self.spent = 0
        self.starts: list[int] = []

    def prepare(self, frame: pl.DataFrame) -> Sequence[str]:
        return frame["url"].to_list()

    async def open(self, done: Done, clock: Clock, trace: Trace | None = None) -> None:
        self._done = done

    def send(self, seq: int, request: str, start: int, latest: float = inf) -> None:
        self.starts.append(start)
        self.spent += SEND_NS
        self._done(seq, start, 0, 0, 0, 0, 0, 200, 0)

    def cancel(self) -> None: ...

    async def close(self) -> None: ...


class SlowToHold(SlowToSend):
    """The same, for requests that may be written together."""

    def hold(self) -> None: ...

    def flush(self) -> None: ...


@pytest.mark.parametrize("kind", [SlowToSend, SlowToHold])
def test_the_start_of_a_request_is_when_it_was_handed_to_the_sender(kind: type[SlowToSend]) -> None:
    loop, sender = VirtualTimeLoop(), kind()

    async def main() -> None:
        paced = OpenLoopSender(sender, Limits())
        await paced.open(lambda: loop.now_ns() + sender.spent)
        paced.begin(0, None)
        await paced.push(0, np.zeros(10, np.int64), ["/"] * 10)
        await paced.finish()
        await paced.close()

    run(main(), loop)
    assert np.diff(sender.starts).tolist() == [SEND_NS] * 9


def test_a_sender_that_cannot_be_opened_leaves_no_timer_behind() -> None:
    class Broken(SlowToSend):
        async def open(self, done: Done, clock: Clock, trace: Trace | None = None) -> None:
            raise OSError("no")

    async def main() -> None:
        before = os.listdir("/proc/self/fd")
        with pytest.raises(OSError, match=r"^no$"):
            await OpenLoopSender(Broken(), Limits()).open(monotonic)
        assert os.listdir("/proc/self/fd") == before

    asyncio.run(main())


def test_requests_up_to_the_limit_in_flight_are_sent_and_the_others_counted() -> None:
    """The limit falls into the middle of the requests that are due."""

    class Silent(SlowToSend):
        def send(self, seq: int, request: str, start: int, latest: float = inf) -> None:
            self.starts.append(seq)

    loop, sender = VirtualTimeLoop(), Silent()

    async def main() -> None:
        paced = OpenLoopSender(sender, Limits(max_in_flight=7))
        await paced.open(loop.now_ns)
        paced.begin(0, None)
        await paced.push(0, np.zeros(10, np.int64), ["/"] * 10)
        await asyncio.sleep(0.01)
        assert (sender.starts, paced.taken_up) == ([*range(7)], 7)
        for seq in range(2):
            sender._done(seq, 0, 0, 0, 0, 0, 0, 200, 0)
        await asyncio.sleep(0.01)
        assert (sender.starts, sender.counts.limited) == ([*range(9)], 2)
        paced.cut()
        await paced.close()

    run(main(), loop)


def test_of_a_wait_the_limit_has_its_part_and_the_generator_has_the_other() -> None:
    """One at a time, 100 ms each: the second waits 90 ms for the limit, then 30 ms for a generator that stands still.

    The third is due 10 ms before that ends, and waits 100 ms for the second.
    """

    class Silent(SlowToSend):
        def send(self, seq: int, request: str, start: int, latest: float = inf) -> None:
            loop.call_later(0.1, self._done, seq, start, 0, 0, 100_000_000, 0, 0, 200, 0)

    loop, sender = VirtualTimeLoop(), Silent()

    async def main() -> list[tuple[float, float, float]]:
        paced = OpenLoopSender(sender, Limits(max_in_flight=1))
        await paced.open(lambda: loop.now_ns() + sender.spent)
        paced.begin(0, None)
        due = np.array([0, 10_000_000, 120_000_000], np.int64)
        pushed = asyncio.create_task(paced.push(0, due, ["/"] * 3))
        await asyncio.sleep(0.1)
        sender.spent = 30_000_000  # the loop stands still when the first response has been read
        await pushed
        await paced.finish()
        await asyncio.sleep(0.2)
        await paced.close()
        records = paced.records()
        parts = records["start"] - due, records["queued"], records["latency"]
        return [*zip(*(part / 1e6 for part in parts), strict=True)]

    assert run(main(), loop) == [(0, 0, 100), (30, 90, 100), (10, 100, 100)]
