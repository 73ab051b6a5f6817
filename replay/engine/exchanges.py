"""The exchanges of a run, from the number of a request to the record of its end.

Requests are numbered over all plans of a run. The dispatcher of a plan takes up chunks of it and starts their
requests; the sender reports their ends here.
"""

from collections.abc import Callable
from dataclasses import replace

from logreplay.replay.clock import Clock
from logreplay.replay.engine.recorder import Recorder, Registered
from logreplay.replay.senders.contract import Exchange, Sender, Trace


class Exchanges:
    """Numbers requests, and records what becomes of them.

    Attributes:
        seq: number of the next request.
        sender, recorder: start them, and note their ends.
        on_end: called with the number of each exchange that ended, if `open` was told to.

    Args:
        trace: is shown each exchange in full.
        fail: called with what ``trace`` raises.
    """

    def __init__(
        self, sender: Sender, recorder: Recorder, trace: Trace | None, fail: Callable[[BaseException], None]
    ) -> None:
        self.seq = 0
        self.sender, self.recorder = sender, recorder
        self.on_end: Callable[[int], None] = lambda seq: None
        self._trace, self._fail = trace, fail
        self._expected: dict[int, int] = {}

    async def open(self, clock: Clock, *, tell: bool) -> None:
        """Open the sender.

        Args:
            clock: nanoseconds.
            tell: call `on_end`; False saves a call for each request.
        """
        done = self._record_and_tell if tell else self.recorder.record
        await self.sender.open(done, clock, self._see if self._trace else None)

    @property
    def in_flight(self) -> int:
        """Requests under way now."""
        return self.seq - self.recorder.recorded

    def take_up(self, chunk: Registered) -> None:
        """Announce a chunk, before any of its requests is started."""
        self.recorder.register(chunk)
        if self._trace:
            self._expected.update(enumerate(chunk.frame["expected_rc"].to_list(), chunk.first))

    def _record_and_tell(
        self,
        seq: int,
        start: int,
        queued: int,
        connect: int,
        latency: int,
        xfertime: int,
        size: int,
        status: int,
        error: int,
    ) -> None:
        self.recorder.record(seq, start, queued, connect, latency, xfertime, size, status, error)
        self.on_end(seq)

    def _see(self, exchange: Exchange) -> None:
        assert self._trace
        try:
            self._trace(replace(exchange, expected_rc=self._expected.pop(exchange.seq)))
        except BaseException as error:  # the caller's code, called from within a connection
            self._fail(error)
