"""Reads a plan ahead: a second thread makes and prepares chunks, and the loop only takes them.

Where requests are signed (`logreplay.replay.requests.plan.SigningStream`), their schedule is read ahead, but each is
signed and prepared in the second before it is due. That time depends on the beginning of the plan, so the first item
is then an `Opening`, at which the plan begins, and the first requests follow.
"""

import queue
import threading
import time
from asyncio import CancelledError
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final

import numpy as np

from logreplay.core.errors import LogreplayError
from logreplay.replay.clock import Clock
from logreplay.replay.engine.trace_ids import TraceHeaders, traced
from logreplay.replay.engine.undisturbed import lower_priority
from logreplay.replay.requests.bodies import with_bodies
from logreplay.replay.requests.header_columns import is_sent
from logreplay.replay.requests.plan import Chunk, signer
from logreplay.replay.senders.contract import BlockSender, Sender

_AHEAD: Final = 16
"""Chunks kept ready: at 100,000 requests/s a third of a second, at usual rates minutes."""
_HEAD_START_S: Final = 0.2
"""Longest wait of the first chunk for the others, seconds: later reading would disturb the beginning of the plan. A
growing log may have no others."""
_SIGNED_NS: Final = 800_000_000
"""Longest time between the signing of a request and its due time, nanoseconds."""
_LEAD_NS: Final = 300_000_000
"""Delay of a plan whose first requests must be signed first, nanoseconds."""
_NOT_DUE_S: Final = 0.02
"""Seconds until requests that need a signature are looked for again."""

_LEAVING: Final = (SystemExit, KeyboardInterrupt, GeneratorExit, CancelledError)
"""Exceptions of the user's code in this thread that would end the event loop's thread without a message."""


@dataclass(frozen=True, slots=True)
class ReadyChunk:
    """A chunk, and its requests as the sender prepared them."""

    chunk: Chunk
    requests: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Opening:
    """The plan may begin, its first requests will follow within ``lead`` nanoseconds."""

    lead: int


@dataclass(frozen=True, slots=True)
class EndOfPlan:
    """The plan is over, or failed."""

    error: BaseException | None = None


class Prefetcher:
    """Chunks of a plan, prepared ahead of time.

    Attributes:
        unsent: no more requests are sent, so those that are read need not be prepared.
        idle: the log that is followed does not grow at the moment, and all of its requests were read.

    A second thread reads and prepares them, if ``threaded``. The plan's first request has the number ``first``.
    """

    def __init__(
        self,
        plan: Iterable[Chunk],
        sender: Sender | BlockSender,
        clock: Clock,
        *,
        threaded: bool = True,
        first: int = 0,
        trace_headers: TraceHeaders | None = None,
    ) -> None:
        self._signer, self._clock = signer(plan), clock
        self._base: int | None = None
        chunks = with_bodies(iter(plan))
        self._chunks: Iterator[Chunk | Opening | None] = self._signed(chunks) if self._signer else chunks
        self._sender, self.unsent, self.idle = sender, False, False
        self._number, self._trace_headers = first, trace_headers
        self._closed = False
        self._room = threading.Semaphore(_AHEAD)
        self._queue: queue.SimpleQueue[ReadyChunk | Opening | EndOfPlan] = queue.SimpleQueue()
        self._ahead = threading.Event()
        self._begun_at = inf
        self._thread = threading.Thread(target=self._work, name="reader", daemon=True) if threaded else None
        if self._thread:
            self._thread.start()

    @property
    def ready(self) -> bool:
        """Whether there is something to take."""
        return self.ended or self._ahead.is_set() or time.monotonic() - self._begun_at > _HEAD_START_S

    def begin(self, base: int) -> None:
        """The plan begins at this instant of the clock."""
        self._base = base

    def poll(self) -> ReadyChunk | Opening | EndOfPlan | None:
        """The next chunk; None if it is not ready yet."""
        if not self._thread:
            return self._next()
        if not self.ready:
            return None
        ended = self.ended  # looked at first: what it said last is in the queue by then
        try:
            item = self._queue.get_nowait()
        except queue.Empty:
            died = ended and not self._closed
            return EndOfPlan(LogreplayError("the thread that reads the requests has died")) if died else None
        self._room.release()
        return item

    def _note_begun(self) -> None:
        self._begun_at = min(self._begun_at, time.monotonic())

    def close(self) -> None:
        """Ask the thread to stop reading and to close the log. Does not wait; see `ended`."""
        self._closed = True
        self._room.release()
        if not self._thread:
            self._let_go()

    @property
    def ended(self) -> bool:
        """Whether reading has ended. A hook or a file system that blocks can delay this without limit."""
        return self._thread is None or not self._thread.is_alive()

    def _let_go(self) -> None:
        if isinstance(self._chunks, Generator):  # now, not when the collector comes by: it has a file open
            self._chunks.close()

    def _next(self) -> ReadyChunk | Opening | EndOfPlan | None:
        """The next item. Where none is due yet, the second thread waits here; without one, this returns None."""
        while not self._closed:
            try:
                chunk = next(self._chunks)
                if chunk is None:
                    if self._thread is None:
                        return None
                    self._ahead.set()
                    time.sleep(_NOT_DUE_S)
                elif isinstance(chunk, Opening):
                    return chunk
                elif len(chunk.due):  # none, as long as a log that is followed does not grow
                    self.idle = False
                    return self._made_ready(chunk)
                else:
                    self.idle = True
                    self._note_begun()
            except StopIteration:
                break
            except _LEAVING as error:  # asyncio would take these for its own
                return EndOfPlan(LogreplayError(f"reading the requests ended with {type(error).__name__}: {error}"))
            except BaseException as error:  # told to the loop, which raises it; a panic of Polars is no Exception
                return EndOfPlan(error)
        return EndOfPlan()

    def _made_ready(self, chunk: Chunk) -> ReadyChunk:
        first, frame = self._number, chunk.frame
        self._number += len(chunk.due)
        if self._trace_headers:
            frame = traced(frame, first, self._trace_headers)
        # columns needed only for sending, such as bodies, are not kept while requests are in flight
        recorded = chunk.frame.drop(name for name in chunk.frame.columns if is_sent(name))
        return ReadyChunk(Chunk(recorded, chunk.due), () if self.unsent else self._sender.prepare(frame))

    def _signed(self, chunks: Iterator[Chunk]) -> Iterator[Chunk | Opening | None]:
        """Yield the requests of a plan in small pieces, each signed shortly before it is due; None until then."""
        assert self._signer
        for chunk in chunks:
            at = 0
            if not len(chunk.due):
                yield None
            while at < len(chunk.due):
                if self._base is None:
                    yield Opening(_LEAD_NS)
                while self._base is None or self._clock() < self._base + int(chunk.due[at]) - _SIGNED_NS:
                    yield None
                soon = int(np.searchsorted(chunk.due, self._clock() - self._base + _SIGNED_NS, side="right"))
                end = max(at + 1, min(at + self._signer.together, soon))
                yield self._signer.sign(Chunk(chunk.frame[at:end], chunk.due[at:end]))
                at = end

    def _work(self) -> None:
        lower_priority()
        item: ReadyChunk | Opening | EndOfPlan | None = None
        try:
            while not isinstance(item, EndOfPlan):
                if not self._room.acquire(blocking=False):
                    self._ahead.set()
                    self._room.acquire()
                if self._closed:
                    return
                item = self._next()
                assert item
                self._queue.put(item)
                self._note_begun()
            self._ahead.set()
        finally:
            self._let_go()
