"""The engine: waits until a request is due, sends it, records its end. Independent of HTTP, rate shapes and files.

Theory of operation. Every instant comes from the schedule and one clock, never from an earlier request: a stall of
the target or the generator shifts nothing and counts in the requests that waited in it. Chunks of the plan are made
ready by a second thread (`prefetch`) and pushed to the sender (`feed`). A timer wakes the sender (`paced`); it sends
all due requests, reading the clock for each, never early, and arms the timer for the next. The engine takes the
sender's records twice a second; a third thread processes them (`recorder`). Calls go one way: engine, sender,
connections.

One engine is one run and one result log. It may run several plans one after the other (the steps of a sweep), never
two at once: ``seq`` and ``scheduled`` go on from one to the next.

Code of the caller runs in the loop: ``on_progress`` and ``trace``. An exception in one of them stops the run as a
signal does; requests in flight are recorded, the rows are written, then `Engine.run` raises that exception. A stop rule
lives in such a callback: to go on without it would load the target unwatched.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Final, Protocol, Self

from logreplay.core.errors import LogreplayError
from logreplay.core.plural import number_of
from logreplay.replay.clock import Clock, monotonic
from logreplay.replay.engine.closed_loop import PacedUsers, ThinkTimes
from logreplay.replay.engine.feed import Feed
from logreplay.replay.engine.open_loop import Limits, OpenLoopSender
from logreplay.replay.engine.prefetch import Prefetcher
from logreplay.replay.engine.recorder import MOST_WAITING, InFlightChunk, Recorder
from logreplay.replay.engine.run_clock import RunClock, Start
from logreplay.replay.engine.trace_ids import TraceHeaders
from logreplay.replay.engine.undisturbed import collect_young, no_collection, quick_switching
from logreplay.replay.requests.auth.schemes import stale
from logreplay.replay.requests.follow import truncated
from logreplay.replay.requests.hook import hooked
from logreplay.replay.requests.plan import Plan, ScheduledRequests, signer
from logreplay.replay.results.counters import Counters
from logreplay.replay.results.outcome import Outcome, Progress
from logreplay.replay.results.result_log import Results
from logreplay.replay.results.self_monitor import ProcessLoad, SelfMonitor, WriteLag
from logreplay.replay.results.sent_share import SentShare
from logreplay.replay.results.verdict import LATE_S, ReadLate, RunEvidence, judge
from logreplay.replay.schedules.arrivals import delay_of
from logreplay.replay.schedules.orders import Order
from logreplay.replay.schedules.steering import Steering
from logreplay.replay.schedules.users import Users
from logreplay.replay.senders.contract import BlockSender, Exchange, Queueing, Sender, SenderCounts, Trace
from logreplay.replay.sessions.client_sessions import LoginRow, SessionCounts

__all__ = ["Engine", "Limits", "Outcome", "Progress", "Replayer", "replay"]

_FLUSH_S: Final = 0.5
"""Rows are on disk within a second."""
_REST_S: Final = 0.002
_CANCEL_NS: Final = 5_000_000_000
"""Longest time a sender may take to end the requests in flight."""
_COUNTED_S: Final = 0.3
"""Longest wait for queued records to be counted before progress is reported."""
_MOST_GIVEN_UP: Final = 50_000
"""Records that may wait to be written before more requests that a limit held back are recorded."""
_READING_S: Final = 30.0
_READING_STOPPED_S: Final = 1.0
"""Longest time for the reading of a plan to end, when the plan was cut, and when the run is stopped."""


class Replayer(Protocol):
    """Runs plans into one result log: `Engine` in this process, `logreplay.replay.workers.coordinator.Coordinator` in
    several.
    """

    @property
    def sessions(self) -> SessionCounts | None:
        """What became of the sessions of clients so far; None: they have none."""

    @property
    def logins(self) -> list[LoginRow]:
        """The logins of clients that nobody has taken out yet, in order of completion."""

    async def run(
        self, plan: Plan, on_progress: Callable[[Progress], None] | None = None, *, steering: Steering | None = None
    ) -> Outcome:
        """Run one plan to its end, and wait until nothing of it is in flight."""

    def steer(self, order: Order, by: str) -> str:
        """Change the load of the running plan; return a sentence on it. ValueError says why it cannot be changed so."""

    def stop(self, why: str = "stopped") -> None:
        """Send nothing more, and cancel the requests in flight."""

    def cut(self) -> None:
        """End the running plan: send nothing more of it, wait for the requests in flight. Another plan may follow."""


class Engine:
    """Runs plans against one sender into one result log.

    Use it as an async context manager; `replay` is the short form for a single plan.

    Args:
        sender: sends the requests, as blocks or one by one. The engine opens and closes it.
        results: takes the rows. The engine closes it.
        limits: on requests in flight and on lag, where the sender takes requests one by one.
        trace: is shown each exchange in full; costs throughput.
        clock: nanoseconds; another than the default is for runs in virtual time.
        threaded: prepare and write in other threads; False for runs in virtual time.
        closed: plans with `logreplay.replay.schedules.users.Users` are run.
        trace_headers: gives each request a trace context of its own; None: it has none.
    """

    def __init__(
        self,
        sender: Sender | BlockSender,
        results: Results,
        *,
        limits: Limits | None = None,
        trace: Trace | None = None,
        clock: Clock = monotonic,
        threaded: bool = True,
        closed: bool = False,
        trace_headers: TraceHeaders | None = None,
    ) -> None:
        self._results, self._trace, self._trace_headers = results, trace, trace_headers
        self._limits, self._closed = limits or Limits(), closed
        self._queueing = sender if isinstance(sender, Queueing) else None
        self._sender: BlockSender
        if isinstance(sender, BlockSender):
            self._sender = sender
        else:
            self._sender = PacedUsers(sender) if closed else OpenLoopSender(sender, self._limits)
        self._clock, self._threaded = clock, threaded
        self._stopped = ""
        self._first = 0
        self._run_clock = RunClock(clock)
        self._feed: Feed | None = None
        self._steering: Steering | None = None
        self._expected: dict[int, int] = {}
        self._running = False
        self._sent_share = SentShare()
        self._fault: BaseException | None = None

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as closing:  # from last to first, each even if another one fails
            closing.callback(self._results.close)
            self._recorder = Recorder(self._results, self._run_clock, threaded=self._threaded)
            closing.push_async_callback(self._off_loop, self._recorder.close)
            await self._sender.open(self._clock, self._see if self._trace else None)
            closing.callback(self._collect)
            closing.push_async_callback(self._sender.close)
            closing.callback(self._sender.cancel)
            self._recorder.timings = self._sender.counts.timings
            self._closing = closing.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._closing.aclose()

    @property
    def counts(self) -> SenderCounts:
        """The sender's counts, besides the exchanges."""
        return self._sender.counts

    @property
    def sessions(self) -> SessionCounts | None:
        """What became of the sessions of clients so far; None: they have none."""
        return self.counts.sessions

    @property
    def logins(self) -> list[LoginRow]:
        """The logins of clients that nobody has taken out yet, in order of completion."""
        return self.sessions.rows if self.sessions else []

    @property
    def in_flight(self) -> int:
        """Requests under way now."""
        return self._sender.taken_up - self._sender.ended

    def stop(self, why: str = "stopped") -> None:
        """Send nothing more, and cancel the requests in flight. May be called from a signal handler."""
        if self._stopped:
            return
        self._stopped = why
        self.cut()

    def cut(self) -> None:
        """End the running plan: send nothing more of it, wait for the requests in flight. Another plan may follow."""
        if self._feed:
            self._feed.stop()

    def steer(self, order: Order, by: str) -> str:
        """Change the load of the running plan; return a sentence on it.

        Raises:
            ValueError: it cannot be changed so; says why.
        """
        if self._steering is None or self._feed is None or self._feed.base is None:
            raise ValueError("the run has not begun to send, or its load cannot be changed")
        sentence = self._steering.ask(order, by, self._clock() - self._feed.base)
        if self._steering.over:
            self.cut()
        return sentence

    async def run(
        self,
        plan: ScheduledRequests,
        on_progress: Callable[[Progress], None] | None = None,
        *,
        agree: Callable[[], Awaitable[Start]] | None = None,
        steering: Steering | None = None,
    ) -> Outcome:
        """Run one plan to its end, and wait until nothing of it is in flight.

        Args:
            plan: requests and schedule; its time begins when its first requests are read, on a whole second of the run.
            on_progress: called about once a second.
            agree: asked when the first requests are ready; says when the plan's time begins instead.
            steering: changes the load while it is sent (`steer`); None: nobody does.

        Raises:
            LogreplayError: the log cannot be read, or the results cannot be written; rows recorded so far are on disk.
            RuntimeError: this engine runs a plan already.

        An exception of ``on_progress`` or ``trace`` ends the run, and is raised when the recorded rows are on disk.
        """
        if self._running:
            raise RuntimeError("this engine runs a plan already: await that one first, or make a second engine")
        self._running = True
        try:
            return await self._run(plan, on_progress, agree, steering)
        finally:
            self._running = False

    async def _run(
        self,
        plan: ScheduledRequests,
        on_progress: Callable[[Progress], None] | None,
        agree: Callable[[], Awaitable[Start]] | None,
        steering: Steering | None,
    ) -> Outcome:
        users = plan.schedule if isinstance(plan.schedule, Users) else None
        if users and not self._closed:
            raise ValueError("an engine that runs users must be made with closed=True")
        if users:
            self._limits.check_none(users)
        if users and signer(plan):
            raise LogreplayError(
                "--vusers and a --hook that is marked as signing exclude each other: the due time of a user's "
                "next request is unknown; give a rate with --tps, or remove the mark"
            )
        if steering and signer(plan):
            raise LogreplayError(
                "--control and a --hook that is marked as signing exclude each other: a request is signed just before "
                "it is due, and a pause would send it later; remove the mark, or leave out --control"
            )
        reader = Prefetcher(
            plan,
            self._sender,
            self._clock,
            threaded=self._threaded,
            first=self._sender.taken_up,
            trace_headers=self._trace_headers,
        )
        feed = self._feed = Feed(
            plan,
            reader,
            self._sender,
            self._announce,
            self._run_clock,
            self._clock,
            begin=await self._agreed(reader, agree) if agree else None,
            think=ThinkTimes(users) if users else None,
            steering=steering,
        )
        self._steering = steering
        if self._stopped:
            feed.stop()
        self._sent_share = SentShare()
        before = self._sender.counts.copy()
        watch = asyncio.create_task(self._watch(on_progress))
        pulse = SelfMonitor()
        try:
            with no_collection(), quick_switching():
                await feed.run()
                backlog = self.in_flight
                await self._drain(feed, self._duration(plan))
                await feed.give_up(self._room)
        finally:
            vitals = pulse.stop()
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
            self._collect()
            await self._close(reader)
        first, self._first = self._first, self._sender.taken_up
        counters, delay = await self._take_counters()
        if error := self._recorder.failure or self._fault:
            raise error
        return self._outcome(plan, feed, before, counters, delay, vitals, first, backlog)

    async def _close(self, reader: Prefetcher) -> None:
        """End the reading of a plan.

        Raises:
            LogreplayError: it does not end, and another plan could not be read beside it.
        """
        reader.close()
        began = time.monotonic()
        while not reader.ended:
            waited = time.monotonic() - began
            if self._stopped and waited > _READING_STOPPED_S:
                return  # its thread ends with the process
            if waited > _READING_S:
                raise LogreplayError(
                    f"reading the requests did not end within {_READING_S:g} s: a hook or the disk of the log blocks; "
                    "give the calls of the hook a time-out"
                )
            await asyncio.sleep(_REST_S)

    def _announce(self, chunk: InFlightChunk) -> None:
        """Note a chunk, before any of its requests is started."""
        self._recorder.register(chunk)
        if self._trace:
            self._expected.update(enumerate(chunk.frame["expected_rc"].to_list(), chunk.first))

    def _collect(self) -> None:
        """Hand the records of the sender on."""
        records, feed = self._sender.records(), self._feed
        for seq in records["seq"].tolist() if self._expected else ():
            self._expected.pop(seq, None)  # of a request that was dropped there is nothing to show
        self._recorder.take(records)
        if feed and feed.base is not None and len(records):
            self._recorder.sync(partial(self._sent_share.add, records, feed.base, feed.taken_up_at))

    def _see(self, exchange: Exchange) -> None:
        assert self._trace
        try:
            self._trace(replace(exchange, expected_rc=self._expected.pop(exchange.seq, 0)))  # a login has none
        except BaseException as error:  # the caller's code, called from within a connection
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """End the run; `run` raises this when the rows are written."""
        self._fault = self._fault or error
        self.stop(f"{type(error).__name__}: {error}")

    async def _agreed(self, reader: Prefetcher, agree: Callable[[], Awaitable[Start]]) -> int:
        """When the plan begins, as agreed with others once its first requests are ready."""
        try:
            while not (reader.ready or self._stopped):  # noqa: ASYNC110  another thread's, which may block
                await asyncio.sleep(_REST_S)
            start = await agree()
        except BaseException:
            reader.close()
            raise
        self._run_clock.begin_run(start)
        return start.at

    @property
    def counters(self) -> Counters:
        """The counts of the plan that runs now. Belongs to the thread that writes: look at it in a call of `sync`."""
        return self._recorder.counters

    def sync(self, call: Callable[[], object]) -> None:
        """Call, from the writing thread, when all requests that have ended by now are counted and written."""
        self._collect()
        self._recorder.sync(call)

    def _duration(self, plan: ScheduledRequests) -> float | None:
        """Seconds of sending, as far as they are known; None: the log decides."""
        return self._steering.length if self._steering else plan.schedule.duration

    def _length(self, plan: ScheduledRequests, feed: Feed) -> float | None:
        """Seconds within which a plan sends, if its rate is reached; None: it never began, or its users set the rate.

        A number of requests or the end of the log may end a schedule early; then its last request counts. A load that
        may be changed has its own length. A plan that is stopped ends then.
        """
        if feed.base is None or isinstance(plan.schedule, Users):
            return None
        lengths = [self._duration(plan)]
        if not self._steering and feed.last_due:
            lengths.append((feed.last_due - feed.base) / 1e9 + LATE_S)
        if feed.stopped_at is not None:
            if feed.stopped_at <= feed.base:
                return None
            lengths.append((feed.stopped_at - feed.base) / 1e9)
        return min((length for length in lengths if length is not None), default=None)

    async def _drain(self, feed: Feed, duration: float | None) -> None:
        """Wait until nothing is in flight and the schedule is over, if not cut; if stopped, cancel them.

        If a duration or a stop ends the load, requests that still wait a time-out later are given up. If the log ends
        it, each request has its turn.
        """
        end = (feed.base or 0) + int((duration or 0) * 1e9)
        over = int(max(end, feed.taken_up_at))
        while self.in_flight or (self._clock() < end and not feed.stopped):
            if self._stopped:
                return await self._cancel()
            if self._queueing and (feed.stopped or duration is not None):
                self._queueing.give_up_waiting(feed.stopped_at or over)
            await asyncio.sleep(_REST_S)

    async def _room(self, until: int) -> None:
        """Wait until most records are written, or an instant of the clock."""
        self._collect()
        recorder = self._recorder
        while recorder.waiting > _MOST_GIVEN_UP and not recorder.failure and self._clock() < until:  # noqa: ASYNC110
            await asyncio.sleep(_REST_S)

    async def _cancel(self) -> None:
        """End the requests in flight, and wait until all are recorded: a sender may need some turns of the loop.

        Raises:
            RuntimeError: the sender does not end it.
        """
        self._sender.cancel()
        latest = self._clock() + _CANCEL_NS
        while left := self.in_flight:
            if self._clock() > latest:
                raise RuntimeError(f"{left} requests did not end within {_CANCEL_NS / 1e9:g} s of being cancelled")
            await asyncio.sleep(_REST_S)

    async def _watch(self, on_progress: Callable[[Progress], None] | None) -> None:
        """Hand on the records, stop if they cannot be written, report progress.

        Done seldom and all at once: processing records disturbs the loop, whether few or many.
        """
        counted = self._ask_to_count()
        for time_to_tell in cycle((False, True)):
            await asyncio.sleep(_FLUSH_S)
            if counted.is_set():
                counted = self._ask_to_count()
            self._collect()
            with suppress(TimeoutError):  # not wait_for, which until Python 3.12 may lose a cancellation
                async with asyncio.timeout(_COUNTED_S):
                    await counted.wait()
            collect_young()
            if self._recorder.failure:
                self.stop(str(self._recorder.failure))
            if (waiting := self._recorder.waiting) > MOST_WAITING:
                self._fail(_too_slow(waiting))
            if on_progress and time_to_tell and not self._fault:
                try:
                    on_progress(self.progress())
                except BaseException as error:  # the caller's code
                    self._fail(error)

    def progress(self) -> Progress:
        """How the plan that runs now stands; all zeros before the first."""
        base = self._feed.base if self._feed else None
        since = 0 if base is None else self._clock() - base
        steering = None if base is None else self._steering
        return Progress(
            elapsed=since / 1e9,
            scheduled=self._sender.taken_up - self._first,
            in_flight=self.in_flight,
            waiting=self._queueing.waiting if self._queueing else 0,
            counters=self._recorder.counters.copy(),
            level=steering.level(since) if steering else None,
            left=steering.left(since) if steering else None,
            next_due=self._feed.next_due if self._feed else None,
        )

    async def _take_counters(self) -> tuple[Counters, WriteLag]:
        """The counts of the plan that ended, complete, and how late its rows were written; begin again."""
        await self._ask_to_count().wait()
        counters, self._recorder.counters = self._recorder.counters, Counters()
        delay, self._recorder.delay = self._recorder.delay, WriteLag()
        return counters, delay

    def _ask_to_count(self) -> asyncio.Event:
        """Return an event that is set when requests that have ended are counted and those in flight noted."""
        counted = asyncio.Event()
        self.sync(partial(self._recorder.count_waiting, self._sender.taken_up, self._clock()))
        if self._threaded:
            self._recorder.sync(partial(asyncio.get_running_loop().call_soon_threadsafe, counted.set))
        else:
            counted.set()
        return counted

    def _outcome(
        self,
        plan: ScheduledRequests,
        feed: Feed,
        before: SenderCounts,
        counters: Counters,
        delay: WriteLag,
        vitals: ProcessLoad,
        first: int,
        backlog: int,
    ) -> Outcome:
        now, counts, next_seq = self._clock(), self._sender.counts, self._sender.taken_up
        steering, duration = self._steering, self._duration(plan)
        base = now if feed.base is None else feed.base
        taken_up = feed.taken_up_at - base
        length = self._length(plan, feed)
        given_up = counts.given_up - before.given_up
        share = self._sent_share.until if feed.stopped or given_up else self._sent_share.of
        evidence = RunEvidence(
            offered=0.0 if steering and steering.changed else plan.schedule.rate,
            scheduled=next_seq - first,
            counters=counters,
            duration=length,
            seconds=taken_up / 1e9,
            sent_on=1.0 if length is None else share(max(taken_up, length * 1e9)),
            unwritten=feed.unwritten,
            thinks_cut=feed.think.cut if feed.think else 0,
            limited=counts.limited - before.limited,
            queued=counts.queued - before.queued,
            queued_for=counts.queued_for,
            given_up=given_up,
            retried=counts.retried - before.retried,
            calm=counts.calm - before.calm,
            local=counts.local - before.local,
            vitals=vitals,
            delay=delay,
            stale=stale(plan.requests),
            truncated=truncated(plan.requests),
            timings=counts.timings[0].take_counts() if counts.timings else {},
            late=ReadLate(feed.read_late, feed.read_late_ns / 1e9, delay_of(plan.schedule)),
        )
        kept = evidence.scheduled // plan.together
        if hook := hooked(plan.requests):
            hook.forget_ahead(kept)
        return Outcome(
            step=plan.step,
            first_seq=first,
            next_seq=next_seq,
            started=self._run_clock.utc(base),
            ended=self._run_clock.utc(now),
            began=self._run_clock.seconds(base),
            seconds=max(evidence.seconds, 0 if feed.stopped else duration or 0),
            health=judge(evidence),
            evidence=evidence,
            backlog=backlog,
            stopped=self._stopped or (steering.ended if steering else ""),
            received=counts.received - before.received,
            opened=counts.opened - before.opened,
            carried=counts.carried - before.carried,
            used=hook.used(kept) * plan.together if hook else evidence.scheduled,
        )

    async def _off_loop(self, call: Callable[[], None]) -> None:
        if self._threaded:
            await asyncio.to_thread(call)
        else:
            call()


def _too_slow(waiting: int) -> LogreplayError:
    return LogreplayError(
        f"the result log cannot be written as fast as requests end: {number_of(waiting, 'row was', 'rows were')} "
        "waiting in memory, so the run was stopped; the rows are written. Write to a faster disk with -o, lower the "
        "rate, or choose another form (.csv.zst needs a fifth of the disk's rate)"
    )


async def replay(
    plan: Plan,
    sender: Sender | BlockSender,
    results: Results,
    *,
    limits: Limits | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    stop: asyncio.Event | None = None,
    trace: Trace | None = None,
) -> Outcome:
    """Replay one plan.

    Works in any running loop, a notebook's too.

    Args:
        plan: requests and schedule.
        sender: opened and closed here.
        results: takes a row for each request; closed here.
        limits: on requests in flight and on lag.
        on_progress: called about once a second.
        stop: ends the run when set; requests in flight are recorded as ``cancelled``.
        trace: is shown each exchange in full.

    Raises:
        LogreplayError: the log cannot be read, the target is unusable, or the results cannot be written.
    """
    async with Engine(sender, results, limits=limits, trace=trace) as engine, stopped_by(stop, engine):
        return await engine.run(plan, on_progress)


@asynccontextmanager
async def stopped_by(stop: asyncio.Event | None, engine: Replayer) -> AsyncIterator[None]:
    """Within the block, end the run of an engine in good order when ``stop`` is set."""

    async def wait() -> None:
        if stop:
            await stop.wait()
            engine.stop("interrupted")

    stopper = asyncio.create_task(wait())
    try:
        yield
    finally:
        stopper.cancel()
        await asyncio.gather(stopper, return_exceptions=True)
