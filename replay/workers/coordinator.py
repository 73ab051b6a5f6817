"""Runs plans on several workers: processes of this or of other machines.

Theory of operation. `Coordinator` is used like `logreplay.replay.engine.engine.Engine`: it runs plans one after the
other into one result log. For each plan it gives every worker its share (`partition`), waits until all have their first
requests ready, names one instant at which all begin, and takes in what they report until all have ended. An executor
starts each worker, and a channel carries the messages (`processes.WorkerProcess`).

A replay is not idempotent: the coordinator never starts a worker again. The unsent requests of a lost worker count as
not sent, the run is marked, and the other workers continue.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from math import inf
from typing import Any, Final, Self, TypeVar

from logreplay.core.errors import LogreplayError
from logreplay.core.plural import number_of
from logreplay.replay.clock import monotonic
from logreplay.replay.engine.engine import Limits
from logreplay.replay.engine.trace_ids import TraceIds
from logreplay.replay.requests.plan import Plan
from logreplay.replay.results.counters import Counters
from logreplay.replay.results.histogram import Histogram
from logreplay.replay.results.outcome import Outcome, Progress
from logreplay.replay.results.result_log import Results, utc
from logreplay.replay.schedules.orders import Order
from logreplay.replay.schedules.steering import Steering
from logreplay.replay.schedules.users import Users
from logreplay.replay.senders.contract import Sender
from logreplay.replay.senders.trace import Watch
from logreplay.replay.sessions.client_sessions import LoginRow, SessionCounts
from logreplay.replay.workers.aggregate import LostWorker, SharedPlan, adopt_reading
from logreplay.replay.workers.clock_offset import SAME, ClockOffset
from logreplay.replay.workers.merge import Arrived, LostRows, MergedLog
from logreplay.replay.workers.partition import Share, even_parts
from logreplay.replay.workers.processes import WorkerProcess
from logreplay.replay.workers.protocol import (
    ALIVE_S,
    LISTEN_S,
    SCHEDULER_GONE,
    Alive,
    Begin,
    CutPlan,
    ExchangeSeen,
    Hello,
    Leave,
    PlanEnded,
    Prepare,
    Silence,
    StopAll,
    Welcome,
    WorkerConfig,
    WorkerFailed,
    WorkerReady,
    WorkerReport,
    packed,
)

SILENT_S: Final = 15.0
"""Silence after which a worker counts as lost; it reports four times a second."""
STARTING_S: Final = 120.0
"""Seconds that a worker may take to start."""
_LOOKED_S: Final = 2.0
"""Longest pause between two looks at the workers; after a longer one this process itself was suspended."""
_LEAVING_S: Final = 10.0
_LAST_WORD_S: Final = 2.0
_REREADING_S: Final = 10.0
"""Seconds that a stopped run waits for its log to be read again, which the rows of lost workers need."""
_SECOND: Final = 1_000_000_000


@dataclass
class _RemoteWorker:
    """A worker, as the coordinator sees it."""

    index: int
    name: str
    process: WorkerProcess
    future: "Future[None]"
    listener: threading.Thread | None = None
    inbox: "asyncio.Queue[object]" = field(default_factory=asyncio.Queue)
    token: str = ""
    pid: int | None = None
    where: str = ""
    lost: str = ""
    error: LogreplayError | None = None
    silence: Silence = field(default_factory=lambda: Silence(_LOOKED_S))
    recording: bool = False
    offset: ClockOffset = SAME
    arrived: Arrived = field(default_factory=Arrived)
    counters: Counters = field(default_factory=Counters)
    sessions: SessionCounts | None = None
    taken_up: int = 0
    waiting: int = 0
    next_due: float | None = None
    reported: int = 0
    sends_until: int = 0
    ended: bool = True
    given_up: str = ""
    left: bool = False
    heard_at: int = 0

    def heard(self) -> None:
        """Note a sign of life."""
        self.silence.heard()
        self.heard_at = monotonic()


Message = TypeVar("Message")


class Coordinator:
    """Runs plans on several workers into one result log.

    Use it as an async context manager.

    Args:
        sender: makes a sender; must be fit to be sent to the workers.
        results: takes the rows of all. Closed here.
        limits: for all workers together.
        watch: looks at exchanges; each one that it sees costs throughput.
        by_client: all requests of a client go to one worker, in order; for senders that keep that order.
        connections: largest number of connections of all workers together; ``sender`` takes a worker's part as
            ``connections``. None: no limit.
        in_parts: ``sender`` takes the index of its worker and the number of workers as ``part``.
        trace_ids: trace ids of the requests; None: they have none.
    """

    def __init__(
        self,
        processes: Sequence[WorkerProcess],
        sender: Callable[..., Sender],
        results: Results,
        *,
        limits: Limits | None = None,
        watch: Watch | None = None,
        closed: bool = False,
        by_client: bool = False,
        connections: int | None = None,
        in_parts: bool = False,
        trace_ids: TraceIds | None = None,
    ) -> None:
        limits = limits or Limits()
        if not processes:
            raise ValueError("there must be at least 1 process")
        if limits.max_in_flight is not None and limits.max_in_flight < len(processes):
            raise LogreplayError(
                f"at most {number_of(limits.max_in_flight, 'request')} in flight cannot be shared by "
                f"{len(processes)} workers; raise --max-in-flight, or lower --workers"
            )
        if connections is not None and connections < len(processes):
            raise LogreplayError(
                f"at most {number_of(connections, 'connection')} cannot be shared by {len(processes)} workers; "
                "raise --connections, or lower --workers"
            )
        self._connections, self._in_parts, self._trace_ids = connections, in_parts, trace_ids
        self._logins: list[LoginRow] = []
        self._processes, self._sender, self._results, self._limits = processes, sender, results, limits
        self._exchanges, self._closed, self._by_client = watch or Watch(), closed, by_client
        self._workers: list[_RemoteWorker] = []
        self._watchers: list[asyncio.Task[None]] = []
        self._log = MergedLog(results, len(processes))
        self._clock = SAME
        self._origin: int | None = None
        self._wall = 0
        self._at = 0
        self._first = 0
        self._plan: Plan | None = None
        self._stopped = ""
        self._ended_early: int | None = None
        self._post = ThreadPoolExecutor(1, "post")
        self._running = False
        self._fault: BaseException | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        try:
            await asyncio.to_thread(self._start_workers)
            self._clock = await asyncio.to_thread(self._processes[0].channel.clock_offset)
            self._watchers = [asyncio.create_task(self._lasting(watch)) for watch in (self._watch, self._ask)]
            hellos = await self._each(Hello)
            if self._fault:
                raise self._fault
            for worker in self._workers:
                if worker.lost:
                    raise worker.error or LogreplayError(f"{worker.name} could not begin: {worker.lost}")
            assert len(hellos) == len(self._workers)
        except BaseException:
            await self._leave()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._leave()

    @property
    def sessions(self) -> SessionCounts | None:
        """What became of the sessions of clients, up to the last plan that ended; None: they have none."""
        told = [worker.sessions for worker in self._workers if worker.sessions]
        return sum(told, SessionCounts()) if told else None

    @property
    def logins(self) -> list[LoginRow]:
        """The logins that nobody has taken out yet, in the order in which the workers reported them."""
        return self._logins

    def stop(self, why: str = "stopped") -> None:
        """Send nothing more, and cancel the requests in flight. May be called from a signal handler."""
        if not self._stopped:
            self._stopped, self._ended_early = why, monotonic()
            self._tell_all(StopAll(why))

    def cut(self) -> None:
        """End the running plan: send nothing more of it, wait for the requests in flight. Another plan may follow."""
        if self._ended_early is None:
            self._ended_early = monotonic()
            self._tell_all(CutPlan())

    def steer(self, order: Order, by: str) -> str:
        """Refuse to change the load."""
        raise ValueError("several processes send, and only one changes its rate")

    async def run(
        self, plan: Plan, on_progress: Callable[[Progress], None] | None = None, *, steering: Steering | None = None
    ) -> Outcome:
        """Run one plan to its end, and wait until nothing of it is in flight.

        Args:
            plan: requests and schedule; its time begins on a whole second of the run, at one instant in all workers.
            on_progress: called about once a second, with the figures of all workers together; its exception ends
                the run, and is raised when the recorded rows are on disk.
        """
        if self._running:
            raise RuntimeError("these workers run a plan already: await that one first, or start others")
        self._running = True
        try:
            return await self._run(plan, on_progress)
        finally:
            self._running = False

    async def _run(self, plan: Plan, on_progress: Callable[[Progress], None] | None) -> Outcome:
        if isinstance(plan.schedule, Users):
            self._limits.check_none(plan.schedule)
            if plan.schedule.count < len(self._workers):
                raise LogreplayError(
                    f"{number_of(plan.schedule.count, 'user')} cannot be shared by {len(self._workers)} workers; "
                    "take fewer with --workers"
                )
        packed(plan)  # here, where an error can be raised; it is sent from another thread
        self._plan, self._at = plan, 0
        if not (self._stopped or self._all_lost):
            self._ended_early = None
        for worker in self._workers:
            worker.arrived, worker.counters = Arrived(), Counters()
            worker.taken_up = worker.waiting = worker.reported = worker.sends_until = 0
            worker.next_due = None
            worker.ended = False
            self._tell(worker, Prepare(self._share(worker), self._first))
        if self._stopped:
            self._tell_all(StopAll(self._stopped))
        for index, ready in (await self._each(WorkerReady)).items():
            self._workers[index].offset = ready.offset
        self._raise_worker_error()
        self._begin()
        showing = asyncio.create_task(self._show(on_progress)) if on_progress else None
        try:
            ended = await self._each(PlanEnded)
            for index, end in ended.items():
                self._workers[index].sessions = end.sessions
        finally:
            if showing:
                showing.cancel()
        assert self._origin is not None
        early = self._ended_early
        early_s = None if early is None else (self._clock.common(early) - self._origin) / 1e9
        filled = await self._finish_log(early_s)
        self._raise_worker_error()
        if error := self._log.failure or self._fault:
            raise error
        if ended:
            adopt_reading(plan.requests, next(iter(ended.values())).requests)
        return self._outcome(plan, ended, filled)

    async def _finish_log(self, early_s: float | None) -> Counters:
        """Write the rows that are left; those of lost workers need the plan read again."""
        done: Future[Counters] = Future()

        def finish() -> None:
            try:
                done.set_result(self._log.finish(early_s))
            except BaseException as error:
                done.set_exception(error)

        threading.Thread(target=finish, daemon=True).start()  # ends with the process if the reading blocks
        finished, waited = asyncio.wrap_future(done), 0.0
        while not (await asyncio.wait((finished,), timeout=_LOOKED_S))[0]:
            waited += _LOOKED_S if self._stopped else 0.0
            if waited >= _REREADING_S:
                await asyncio.to_thread(self._log.flush)
                self._log.failure = LogreplayError(
                    f"the rows of {', '.join(worker.name for worker in self._workers if worker.lost)} are missing: the "
                    f"log could not be read again within {_REREADING_S:g} s after the stop; all other rows are written"
                )
                raise self._log.failure
        return finished.result()

    def progress(self) -> Progress:
        counters = self._total()
        elapsed = max(0.0, (self._clock.common(monotonic()) - self._at) / 1e9) if self._at else 0.0
        taken_up = sum(worker.taken_up for worker in self._workers)
        next_due = min((worker.next_due for worker in self._workers if worker.next_due is not None), default=None)
        waiting = sum(worker.waiting for worker in self._workers)
        in_flight = taken_up - counters.ended
        return Progress(elapsed, taken_up, in_flight, counters, next_due=next_due, waiting=waiting)

    # --- messages to the workers

    def _start_workers(self) -> None:
        count = len(self._processes)
        parts, dials = (
            [None] * count if most is None else even_parts(most, count)
            for most in (self._limits.max_in_flight, self._connections)
        )
        for index, (process, part, dial) in enumerate(zip(self._processes, parts, dials, strict=True)):
            own: dict[str, Any] = {} if dial is None else {"connections": dial}
            own |= {"part": (index, count)} if self._in_parts else {}
            config = WorkerConfig(
                partial(self._sender, **own) if own else self._sender,
                Limits(part, self._limits.drop_after),
                closed=self._closed,
                failures=self._exchanges.crash,
                exchanges=self._exchanges.show is not None,
                trace_ids=self._trace_ids,
            )
            name = f"worker {index + 1} of {count} ({process.name})"
            worker = _RemoteWorker(index, name, process, process.start(packed(config)))
            self._workers.append(worker)
            worker.future.add_done_callback(partial(self._over, worker))
            worker.listener = threading.Thread(
                target=self._listen, args=(worker,), name=f"worker {index + 1}", daemon=True
            )
            worker.listener.start()

    def _share(self, worker: _RemoteWorker) -> Share:
        assert self._plan
        return Share(self._plan, worker.index, len(self._workers), by_client=self._by_client)

    def _begin(self) -> None:
        """Name the instant at which all begin: soon for the first plan, later ones on a whole second of the run."""
        lead = max(process.lead_s for process in self._processes)
        soon = monotonic() + int(lead * 1e9)
        at = self._clock.common(soon)
        if self._origin is None:
            self._origin, self._wall = at, time.time_ns() + soon - monotonic()
        late = (self._origin - at) % _SECOND
        self._at = at + late
        self._log.begin((self._at - self._origin) / 1e9)
        for worker in self._workers:
            if worker.lost:
                self._log.lose(worker.index, self._lost_rows(worker))
        self._tell_all(Begin(self._at, self._wall + self._at - self._origin))

    def _tell(self, worker: _RemoteWorker, message: object) -> None:
        if not worker.left:
            self._post.submit(_send, worker, message)

    def _tell_all(self, message: object) -> None:
        for worker in self._workers:
            self._tell(worker, message)

    async def _leave(self) -> None:
        """End all workers, in good order where they still respond."""
        self._tell_all(Leave())
        leaving = [worker.future for worker in self._workers if not worker.lost]
        await asyncio.to_thread(wait, leaving, _LEAVING_S)
        for worker in self._workers:
            if worker.listener and worker.future.done() and not worker.ended:  # its last rows may be on the way
                await asyncio.to_thread(worker.listener.join, _LAST_WORD_S)
        for watcher in self._watchers:
            watcher.cancel()
        await asyncio.gather(*self._watchers, return_exceptions=True)
        for worker in self._workers:
            worker.left = True
            worker.future.cancel()
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        for worker in self._workers:
            if not worker.future.done():
                worker.process.end()
        self._post.shutdown(wait=False, cancel_futures=True)  # a scheduler that hangs takes no message
        for process in self._processes:
            process.close()
        self._log.flush()
        self._results.close()

    # --- messages from the workers

    def _listen(self, worker: _RemoteWorker) -> None:
        """In a thread for each worker: receive its messages, also the last ones of a lost worker."""
        try:
            self._listen_on(worker)
        except BaseException as error:  # otherwise the coordinator would wait without end
            self._dismiss(worker, f"its messages cannot be read: {type(error).__name__}: {error}")
        finally:
            self._from_thread(self._lose, worker)

    def _listen_on(self, worker: _RemoteWorker) -> None:
        while not worker.left:
            try:
                message = worker.process.channel.receive(LISTEN_S)
            except (OSError, EOFError):
                message = None
                if wait([worker.future], _LAST_WORD_S).done:  # prefer its own error as the reason
                    self._over(worker, worker.future)
                self._give_up(worker, "it closed its connection")
            if worker.given_up and message in (None, Alive()):
                break
            worker.recording = True
            try:
                self._record(worker, message)
            except BaseException as error:  # a panic of Polars is no Exception
                self._dismiss(worker, f"its rows could not be recorded: {type(error).__name__}: {error}")
                break
            finally:
                worker.recording = False
            if message is not None:
                self._from_thread(self._heard, worker, message)

    def _record(self, worker: _RemoteWorker, message: object) -> None:
        if isinstance(message, WorkerReport):
            self._take_in(worker, message)
        elif isinstance(message, PlanEnded):
            self._log.add(worker.index, None, inf)
        elif isinstance(message, WorkerFailed):
            worker.given_up = message.why  # nobody knows it better
            worker.error = message.error and LogreplayError(f"{worker.name}: {message.error}")

    def _take_in(self, worker: _RemoteWorker, report: WorkerReport) -> None:
        if self._origin is None:  # stopped before the plan began: nothing was sent
            return
        self._logins.extend(report.logins)
        if report.rows is not None:
            worker.arrived.add(self._share(worker).own(report.rows["seq"].to_numpy() - self._first))
        worker.counters, worker.taken_up, worker.reported = report.counters, report.taken_up, report.until
        worker.next_due, worker.waiting = report.next_due, report.waiting
        self._log.add(worker.index, report.rows, (report.until - self._origin) / 1e9)

    def _from_thread(self, call: Callable[..., None], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(call, *arguments)

    def _heard(self, worker: _RemoteWorker, message: object) -> None:
        if isinstance(message, Hello) and worker.token:
            worker.process.begun_again()
            self._dismiss(worker, "its process was killed, or crashed")
            return
        worker.heard()
        if isinstance(message, Hello):
            worker.token, worker.where, worker.pid = message.token, message.where, message.pid
            self._tell(worker, Welcome(message.token))
        if isinstance(message, ExchangeSeen):
            try:
                self._exchanges.see(message.exchange)
            except BaseException as error:  # the caller's code
                self._fail(error)
        elif not isinstance(message, WorkerReport | Alive):
            worker.ended = worker.ended or isinstance(message, PlanEnded)
            worker.inbox.put_nowait(message)

    def _over(self, worker: _RemoteWorker, future: "Future[None]") -> None:
        """The executor has ended the worker, or the worker failed."""
        try:
            error = future.exception()
        except CancelledError as cancelled:
            error = cancelled
        if isinstance(error, BrokenExecutor):
            self._give_up(worker, "its process was killed, or crashed")
        if isinstance(error, CancelledError):
            self._give_up(worker, SCHEDULER_GONE)
        self._give_up(worker, f"{type(error).__name__}: {error}" if error else "it left")

    def _give_up(self, worker: _RemoteWorker, why: str) -> None:
        """Note why a worker is lost; its listener takes in its last messages, and then lets it go."""
        worker.given_up = worker.given_up or why

    def _dismiss(self, worker: _RemoteWorker, why: str) -> None:
        """Give up a worker that may still send, and end it."""
        if not worker.given_up:
            self._give_up(worker, why)
            self._tell(worker, Leave())
            worker.process.end()

    def _lose(self, worker: _RemoteWorker) -> None:
        """Nothing more will come from a worker."""
        if worker.left:
            return
        worker.lost = worker.given_up
        if self._all_lost:
            self._ended_early = self._ended_early or monotonic()
        worker.counters.waiting, worker.waiting = Histogram(), 0  # its requests in flight count as ended
        worker.inbox.put_nowait(None)
        if worker.error:  # it has reported all that it sent, and the run ends with its error
            self._log.lose(worker.index, None)
            self.stop(str(worker.error))
            return
        began = self._plan is not None and self._at > 0 and not worker.ended
        if began:
            worker.sends_until = self._clock.common(worker.process.sends_until(worker.heard_at))
        self._log.lose(worker.index, self._lost_rows(worker) if began else None)

    def _lost_rows(self, worker: _RemoteWorker) -> LostRows:
        assert self._origin is not None
        return LostRows(
            self._share(worker),
            worker.arrived,
            worker.taken_up,
            first=self._first,
            began=self._at - self._origin,
            heard=max(worker.reported, self._at) - self._origin,
            until=worker.sends_until - self._origin,
            wall=self._wall,
        )

    async def _each(self, kind: type[Message]) -> dict[int, Message]:
        """Wait until each worker has said this, or is lost."""
        heard: dict[int, Message] = {}
        for worker in self._workers:
            while not worker.lost:
                message = await worker.inbox.get()
                if isinstance(message, kind):
                    heard[worker.index] = message
                    break
        return heard

    async def _lasting(self, watch: Callable[[], Awaitable[None]]) -> None:
        """Go on with a watch until it is cancelled; its error ends the run, which would load the target unwatched."""
        while True:
            try:
                await watch()
            except Exception as error:
                self._fail(error)

    async def _watch(self) -> None:
        """Watch the workers, and tell them regularly that the coordinator is alive."""
        for beat in count(1):
            await asyncio.sleep(0.5)
            if self._log.failure:
                self.stop(str(self._log.failure))
            for worker in self._workers:
                if worker.given_up:
                    continue
                if worker.recording:
                    worker.heard()  # it may have said more: the disk is what we wait for
                silent = worker.silence.look()
                if beat % int(ALIVE_S / 0.5) == 0 and silent < ALIVE_S:  # whoever is not heard may not send for long
                    self._tell(worker, Alive())
                if not worker.token and silent > STARTING_S:
                    self._dismiss(worker, f"it did not start within {STARTING_S:g} s")
                elif worker.token and silent > SILENT_S:
                    self._dismiss(worker, f"it was silent for {silent:.0f} s")

    async def _ask(self) -> None:
        """Ask whether the processes of the workers are still there. An answer may take its time."""
        while True:
            await asyncio.sleep(1.0)
            for worker in self._workers:
                if not worker.given_up and (why := await asyncio.to_thread(worker.process.gone)):
                    self._dismiss(worker, why)

    async def _show(self, on_progress: Callable[[Progress], None]) -> None:
        while True:
            await asyncio.sleep(1.0)
            try:
                on_progress(self.progress())
            except BaseException as error:  # the caller's code
                self._fail(error)
                return

    def _fail(self, error: BaseException) -> None:
        """End the run; `run` raises this when the rows are written."""
        self._fault = self._fault or error
        self.stop(f"{type(error).__name__}: {error}")

    # --- results

    @property
    def _all_lost(self) -> bool:
        return all(worker.lost for worker in self._workers)

    def _total(self) -> Counters:
        return sum((worker.counters for worker in self._workers), Counters())

    def _raise_worker_error(self) -> None:
        for worker in self._workers:
            if worker.error:
                raise worker.error

    def _outcome(self, plan: Plan, ended: dict[int, PlanEnded], filled: Counters) -> Outcome:
        assert self._origin is not None
        lost = [LostWorker(worker.name, worker.where, worker.lost) for worker in self._workers if worker.lost]
        shared = SharedPlan(
            plan,
            {self._workers[index].name: end for index, end in ended.items()},
            {self._workers[index].name: self._workers[index].offset for index in ended},
            lost,
            self._total() + filled,
            filled,
            early=self._ended_early is not None,
            by_client=self._by_client,
        )
        first = self._first
        self._first += shared.numbers(len(self._workers))
        return shared.outcome(
            first=first,
            next_=self._first,
            began=(self._at - self._origin) / 1e9,
            started=utc(self._wall + self._at - self._origin),
            stopped=self._stopped,
        )


def _send(worker: _RemoteWorker, message: object) -> None:
    with suppress(OSError):  # its listener will notice
        worker.process.channel.send(message)
