"""One plan on several processes or machines: shards send, this directs them.

Theory of operation. `Coordinator` is used like `logreplay.replay.engine.engine.Engine`, and so in its place: it runs
plans one
after the other into one result log. For each plan it gives every shard its share (`dealing`), waits until all have
their first requests ready, names one instant at which all begin, and takes in what they report until all have
ended. Where a shard runs is a matter of its place: an executor, and a line to what it executes.

A replay is not idempotent: nothing that was begun is begun again. A shard that is lost stays lost; what it did not
send is counted as not sent, the run is marked, and the others go on.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any, Final, Self, TypeVar

from logreplay.parsers.record import LogreplayError
from logreplay.replay.clock import monotonic
from logreplay.replay.engine.engine import Limits
from logreplay.replay.requests.plan import Plan
from logreplay.replay.results.counters import Counters
from logreplay.replay.results.histogram import Histogram
from logreplay.replay.results.outcome import Outcome, Progress
from logreplay.replay.results.result_log import Results, utc
from logreplay.replay.schedules.users import Users
from logreplay.replay.senders.contract import Sender
from logreplay.replay.senders.trace import Watch
from logreplay.replay.workers.aggregate import LostWorker, SharedPlan, adopt
from logreplay.replay.workers.clock_offset import SAME, ClockOffset
from logreplay.replay.workers.merge import Arrived, LostRows, MergedLog
from logreplay.replay.workers.partition import Share, shared_out
from logreplay.replay.workers.processes import Workers
from logreplay.replay.workers.protocol import (
    ALIVE_S,
    LISTEN_S,
    Alive,
    Begin,
    Brief,
    CutPlan,
    Hello,
    Leave,
    PlanEnded,
    Prepare,
    StopAll,
    Welcome,
    WorkerProgress,
    WorkerReady,
    WorkerReport,
    packed,
)
from logreplay.replay.workers.silence import Silence
from logreplay.replay.workers.worker import run_shard

SILENT_S: Final = 15.0
"""Silence after which a shard is taken for lost; it reports four times a second."""
STARTING_S: Final = 120.0
"""How long a shard may take to start, and to get a plan ready."""
_LOOKED_S: Final = 2.0
"""What goes by at most between two looks at the shards; longer, and this process stood still itself."""
_LEAVING_S: Final = 10.0
_LAST_WORD_S: Final = 2.0
_SECOND: Final = 1_000_000_000


@dataclass
class _Member:
    """One shard, as its director sees it."""

    index: int
    name: str
    place: Workers
    future: "Future[None]"
    inbox: "asyncio.Queue[object]" = field(default_factory=asyncio.Queue)
    word: str = ""
    pid: int | None = None
    where: str = ""
    lost: str = ""
    error: LogreplayError | None = None
    silence: Silence = field(default_factory=lambda: Silence(_LOOKED_S))
    recording: bool = False
    offset: ClockOffset = SAME
    arrived: Arrived = field(default_factory=Arrived)
    tally: Counters = field(default_factory=Counters)
    taken_up: int = 0
    told: int = 0
    ended: bool = True
    doomed: str = ""
    left: bool = False


Message = TypeVar("Message")


class Coordinator:
    """Runs plans on several shards into one result log.

    Use it as an async context manager.

    Args:
        places: where shards run, one in each.
        sender: makes a sender; must be fit to be sent to where the shards run.
        results: takes the rows of all. Closed here.
        limits: what may be done to keep the schedule, of all shards together.
        watch: looks at exchanges, as far as it wants to; each one that it sees costs throughput.
        closed: the plans are closed loops.
        by_client: all requests of a client go to one shard, in order; for senders that keep that order.

    Raises:
        ValueError: there is no place.
        LogreplayError: the limit in flight is lower than the number of places.
    """

    def __init__(
        self,
        places: Sequence[Workers],
        sender: Callable[[], Sender],
        results: Results,
        *,
        limits: Limits | None = None,
        watch: Watch | None = None,
        closed: bool = False,
        by_client: bool = False,
    ) -> None:
        limits = limits or Limits()
        if not places:
            raise ValueError("there must be at least 1 place for a shard")
        if limits.max_in_flight is not None and limits.max_in_flight < len(places):
            raise LogreplayError(
                f"at most {limits.max_in_flight} requests in flight cannot be shared by {len(places)} workers; "
                "allow more with --max-in-flight, or take fewer with --workers"
            )
        self._places, self._sender, self._results, self._limits = places, sender, results, limits
        self._exchanges, self._closed, self._by_client = watch or Watch(), closed, by_client
        self._members: list[_Member] = []
        self._log = MergedLog(results, len(places))
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
            self._clock = await asyncio.to_thread(self._places[0].line.clock_offset)
            await asyncio.to_thread(self._engage)
            self._watcher = asyncio.create_task(self._watch())
            hellos = await self._each(Hello)
            for member in self._members:
                if member.lost:
                    raise member.error or LogreplayError(f"{member.name} could not begin: {member.lost}")
            assert len(hellos) == len(self._members)
        except BaseException:
            await self._leave()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._leave()

    @property
    def shards(self) -> dict[str, int | None]:
        """The process of each shard by its name."""
        return {member.name: member.pid for member in self._members}

    def stop(self, why: str = "stopped") -> None:
        """Send nothing more, and end what is in flight as ``cancelled``. May be called from a signal handler."""
        if not self._stopped:
            self._stopped, self._ended_early = why, monotonic()
            self._tell_all(StopAll(why))

    def cut(self) -> None:
        """End the plan that runs: send nothing more of it, wait for what is in flight. Another plan may follow."""
        if self._ended_early is None:
            self._ended_early = monotonic()
            self._tell_all(CutPlan())

    async def run(self, plan: Plan, on_progress: Callable[[Progress], None] | None = None) -> Outcome:
        """Run one plan to its end, and wait until nothing of it is in flight.

        Args:
            plan: what to send and when; its time begins on a whole second of the run, at one instant in all shards.
            on_progress: called about once a second, with the figures of all shards together; what it raises ends the
                run, and is raised when what was recorded is on disk.

        Raises:
            LogreplayError: the log cannot be read by a shard, or the results cannot be written.
            RuntimeError: a plan runs already.
        """
        if self._running:
            raise RuntimeError("these shards run a plan already: await that one first, or make others")
        self._running = True
        try:
            return await self._run(plan, on_progress)
        finally:
            self._running = False

    async def _run(self, plan: Plan, on_progress: Callable[[Progress], None] | None) -> Outcome:
        if isinstance(plan.schedule, Users) and plan.schedule.count < len(self._members):
            raise LogreplayError(
                f"{plan.schedule.count} users cannot be shared by {len(self._members)} workers; "
                "take fewer with --workers"
            )
        packed(plan)  # here, where an error can be raised; it is sent from another thread
        self._plan, self._at = plan, 0
        if not self._stopped:
            self._ended_early = None
        for member in self._members:
            member.arrived, member.tally, member.taken_up, member.told = Arrived(), Counters(), 0, 0
            member.ended = False
            self._tell(member, Prepare(self._share(member), self._first))
        if self._stopped:
            self._tell_all(StopAll(self._stopped))
        for index, ready in (await self._each(WorkerReady)).items():
            self._members[index].offset = ready.offset
        self._fail_if_a_shard_did()
        self._begin()
        showing = asyncio.create_task(self._show(on_progress)) if on_progress else None
        try:
            ended = await self._each(PlanEnded)
        finally:
            if showing:
                showing.cancel()
        self._fail_if_a_shard_did()
        assert self._origin is not None
        early = self._ended_early
        early_s = None if early is None else (self._clock.common(early) - self._origin) / 1e9
        filled = await asyncio.to_thread(self._log.finish, early_s)
        if error := self._log.failure or self._fault:
            raise error
        if ended:
            adopt(plan.requests, next(iter(ended.values())).requests)
        return self._outcome(plan, ended, filled)

    def progress(self) -> Progress:
        """How the plan that runs now stands."""
        tally = self._total()
        elapsed = max(0.0, (self._clock.common(monotonic()) - self._at) / 1e9) if self._at else 0.0
        taken_up = sum(member.taken_up for member in self._members)
        return Progress(elapsed, taken_up, taken_up - tally.sent - tally.dropped, tally)

    # --- what is said to the shards

    def _engage(self) -> None:
        """Give each place its shard."""
        count = len(self._places)
        most = self._limits.max_in_flight
        parts: Sequence[int | None] = [None] * count if most is None else shared_out(most, count)
        for index, (place, part) in enumerate(zip(self._places, parts, strict=True)):
            brief = Brief(
                self._sender,
                Limits(part, self._limits.drop_after),
                closed=self._closed,
                failures=self._exchanges.crash,
                exchanges=self._exchanges.show is not None,
            )
            name = f"shard {index + 1} of {count} ({place.name})"
            member = _Member(index, name, place, place.executor.submit(run_shard, packed(brief), place.connect))
            place.taken()
            self._members.append(member)
            member.future.add_done_callback(partial(self._over, member))
            threading.Thread(target=self._listen, args=(member,), name=f"shard {index + 1}", daemon=True).start()

    def _share(self, member: _Member) -> Share:
        assert self._plan
        return Share(self._plan, member.index, len(self._members), by_client=self._by_client)

    def _begin(self) -> None:
        """Name the instant at which all begin: soon for the first plan, later ones on a whole second of the run."""
        lead = max(place.lead_s for place in self._places)
        soon = monotonic() + int(lead * 1e9)
        at = self._clock.common(soon)
        if self._origin is None:
            self._origin, self._wall = at, time.time_ns() + soon - monotonic()
        late = (self._origin - at) % _SECOND
        self._at = at + late
        self._log.begin((self._at - self._origin) / 1e9)
        for member in self._members:
            if member.lost:
                self._log.lose(member.index, self._estate(member))
        self._tell_all(Begin(self._at, self._wall + self._at - self._origin))

    def _tell(self, member: _Member, message: object) -> None:
        if not member.left:
            self._post.submit(_send, member, message)

    def _tell_all(self, message: object) -> None:
        for member in self._members:
            self._tell(member, message)

    async def _leave(self) -> None:
        """End all shards, in good order where they still listen."""
        self._tell_all(Leave())
        leaving = [member.future for member in self._members if not member.lost]
        await asyncio.to_thread(wait, leaving, _LEAVING_S)
        if watcher := getattr(self, "_watcher", None):
            watcher.cancel()
        for member in self._members:
            member.left = True
            member.future.cancel()
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        for member in self._members:
            if not member.future.done():
                member.place.end()
        self._post.shutdown()  # what is sent to a process that was ended fails at once
        for place in self._places:
            place.close()
        self._results.close()

    # --- what is heard from the shards

    def _listen(self, member: _Member) -> None:
        """In a thread for each shard: take in what it says; what a lost one still said, too."""
        try:
            self._listen_on(member)
        except BaseException as error:  # or nobody would let it go
            self._doom(member, f"it cannot be listened to: {type(error).__name__}: {error}")
        finally:
            self._from_thread(self._lose, member)

    def _listen_on(self, member: _Member) -> None:
        while not member.left:
            try:
                message = member.place.line.receive(LISTEN_S)
            except (OSError, EOFError):
                message = None
                wait([member.future], _LAST_WORD_S)  # it knows better why
                self._doom(member, "it hung up")
            if member.doomed and message in (None, Alive()):
                break
            member.recording = True
            try:
                self._record(member, message)
            except BaseException as error:  # a panic of Polars is no Exception
                self._doom(member, f"its rows could not be recorded: {type(error).__name__}: {error}")
                break
            finally:
                member.recording = False
            if message is not None:
                self._from_thread(self._heard, member, message)

    def _record(self, member: _Member, message: object) -> None:
        if isinstance(message, WorkerReport):
            self._take_in(member, message)
        elif isinstance(message, PlanEnded):
            self._log.add(member.index, None, inf)

    def _take_in(self, member: _Member, report: WorkerReport) -> None:
        assert self._origin is not None
        if report.rows is not None:
            numbers = (report.rows["seq"].to_numpy() - self._first - member.index) // len(self._places)
            member.arrived.add(numbers)
        member.tally, member.taken_up, member.told = report.tally, report.taken_up, report.until
        self._log.add(member.index, report.rows, (report.until - self._origin) / 1e9)

    def _from_thread(self, call: Callable[..., None], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(call, *arguments)

    def _heard(self, member: _Member, message: object) -> None:
        member.silence.heard()
        if isinstance(message, Hello):
            if member.word:
                return  # a scheduler has begun it once more; it is not welcome
            member.word, member.where, member.pid = message.word, message.where, message.pid
            self._tell(member, Welcome(message.word))
        if isinstance(message, WorkerProgress):
            try:
                self._exchanges.see(message.exchange)
            except BaseException as error:  # the caller's code
                self._fail(error)
        elif not isinstance(message, WorkerReport | Alive):
            member.ended = member.ended or isinstance(message, PlanEnded)
            member.inbox.put_nowait(message)

    def _over(self, member: _Member, future: "Future[None]") -> None:
        """What was given to the executor is over: as it should be, or not."""
        try:
            error = future.exception()
        except CancelledError as cancelled:
            error = cancelled
        if isinstance(error, LogreplayError):
            member.error = LogreplayError(f"{member.name}: {error}")
        if isinstance(error, BrokenExecutor):
            self._doom(member, "its process was killed, or crashed")
        self._doom(member, f"{type(error).__name__}: {error}" if error else "it left")

    def _doom(self, member: _Member, why: str) -> None:
        """Note why a shard is lost; who listens to it will take in what it still said, and then let it go."""
        member.doomed = member.doomed or why

    def _lose(self, member: _Member) -> None:
        """Nothing more will be heard of a shard."""
        if member.left:
            return
        member.lost = member.doomed
        member.tally.waiting = Histogram()  # what it had under way counts as ended
        member.inbox.put_nowait(None)
        began = self._plan is not None and self._at > 0 and not member.ended
        self._log.lose(member.index, self._estate(member) if began else None)

    def _estate(self, member: _Member) -> LostRows:
        assert self._origin is not None
        return LostRows(
            self._share(member),
            member.arrived,
            member.taken_up,
            first=self._first,
            began=self._at - self._origin,
            lost=max(member.told, self._at) - self._origin,
            wall=self._wall,
        )

    async def _each(self, kind: type[Message]) -> dict[int, Message]:
        """Wait until each shard has said this, or is lost."""
        heard: dict[int, Message] = {}
        for member in self._members:
            while not member.lost:
                message = await member.inbox.get()
                if isinstance(message, kind):
                    heard[member.index] = message
                    break
        return heard

    async def _watch(self) -> None:
        """Look after the shards, and let them know that they are looked after."""
        beat = 0
        while True:
            await asyncio.sleep(0.5)
            beat += 1
            if beat % int(ALIVE_S / 0.5) == 0:
                self._tell_all(Alive())
            if self._log.failure:
                self.stop(str(self._log.failure))
            for member in self._members:
                if member.doomed:
                    continue
                if member.recording:
                    member.silence.heard()  # it may have said more: the disk is what we wait for
                silent = member.silence.look()
                if not member.word and silent > STARTING_S:
                    member.doomed = f"it did not start within {STARTING_S:g} s"
                elif member.word and silent > SILENT_S:
                    member.doomed = f"nothing was heard of it for {silent:.0f} s"
                elif beat % 2 == 0:
                    self._doom(member, await asyncio.to_thread(member.place.gone))
                if member.doomed:
                    self._tell(member, Leave())
                    await asyncio.to_thread(member.place.end)

    async def _show(self, on_progress: Callable[[Progress], None]) -> None:
        while True:
            await asyncio.sleep(1.0)
            try:
                on_progress(self.progress())
            except BaseException as error:  # the caller's code
                self._fail(error)
                return

    def _fail(self, error: BaseException) -> None:
        """End the run, and let `run` raise this when the rows are written."""
        self._fault = self._fault or error
        self.stop(f"{type(error).__name__}: {error}")

    # --- what it comes to

    def _total(self) -> Counters:
        return sum((member.tally for member in self._members), Counters())

    def _fail_if_a_shard_did(self) -> None:
        for member in self._members:
            if member.error:
                raise member.error

    def _outcome(self, plan: Plan, ended: dict[int, PlanEnded], filled: Counters) -> Outcome:
        """One outcome of all."""
        assert self._origin is not None
        lost = [LostWorker(member.name, member.where, member.lost) for member in self._members if member.lost]
        shared = SharedPlan(
            plan,
            {self._members[index].name: end for index, end in ended.items()},
            {self._members[index].name: self._members[index].offset for index in ended},
            lost,
            self._total() + filled,
            filled,
            early=self._ended_early is not None,
            by_client=self._by_client,
        )
        first = self._first
        self._first += shared.numbers(len(self._members))
        return shared.outcome(
            first=first,
            next_=self._first,
            began=(self._at - self._origin) / 1e9,
            started=utc(self._wall + self._at - self._origin),
            stopped=self._stopped,
        )


def _send(member: _Member, message: object) -> None:
    with suppress(OSError):  # who listens to it will notice
        member.place.line.send(message)
