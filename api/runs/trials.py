"""Makes the trials of a search over an engine; looks at each every second, and cuts it once it has failed."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from logreplay.analysis.search.bounds import BoundEvidence, observe
from logreplay.analysis.search.search import Judged, Search, Trial, TrialOutcome
from logreplay.replay.engine.engine import Replayer
from logreplay.replay.requests.plan import Plan, RequestStream
from logreplay.replay.results.live_samples import RecentRequests
from logreplay.replay.results.outcome import Outcome, Progress
from logreplay.replay.results.verdict import SENT_ENOUGH, RunVerdict
from logreplay.replay.schedules.arrivals import independent
from logreplay.replay.schedules.rates import Constant, Schedule
from logreplay.replay.schedules.users import UniformThink, Users

_OffLoop = Callable[..., Awaitable[Any]]
_ROWS_AFTER_S: Final = 1.0
"""Seconds after the end of an exchange within which its row is certainly written."""

_BUSY: Final = 0.1
"""Share of the time without a CPU, from which a failed trial is in doubt."""


async def drive(
    search: Search,
    engine: Replayer,
    responses: RecentRequests,
    requests: RequestStream,
    *,
    schedule_of: Callable[[Trial], Schedule],
    contention: Callable[[], Awaitable[str]] | None = None,
    restart: bool = False,
    threaded: bool = True,
    on_begin: Callable[[Trial], None],
    on_progress: Callable[[Progress], None],
    on_end: Callable[[Judged, Outcome], None],
) -> Outcome | None:
    """Make the trials that a search asks for, until it has its answer or a worker is lost.

    Args:
        search: is told the observations.
        engine: an open one, that writes into ``responses``.
        responses: response times that the engine saw so far.
        requests: requests of each trial.
        schedule_of: function that makes the schedule of a trial; see `by_chance`, `evenly` and `users`.
        contention: says after a trial that failed who else kept this machine busy, if that may be why; None: the
            target is elsewhere.
        restart: begin each trial at the start of the log; False: where the one before it ended.
        threaded: look at the observations in another thread; False for runs in virtual time.
        on_begin, on_progress, on_end: told before each trial; about once a second; after it, with nothing in flight.

    Returns:
        None if it came to its end; else the trial in which the engine was stopped, or a worker was lost.
    """
    off_loop: _OffLoop = asyncio.to_thread if threaded else _at_once
    clock, first, position = asyncio.get_running_loop().time, 0, 0
    while isinstance(search.next, Trial):
        trial = search.next
        on_begin(trial)
        schedule = schedule_of(trial)
        look = _Look(search, trial, schedule, responses, first)
        watch = _Watch(look, engine, on_progress, off_loop)
        began = clock()
        ran = await engine.run(Plan(requests, schedule, len(search.judged), position), watch.progress)
        position += 0 if restart else ran.used
        await watch.end()
        if ran.stopped or ran.lost:
            return ran
        until = watch.cut_at or trial.seconds
        evidence = await off_loop(look.evidence, until, ran.scheduled)
        void, contended = "", False
        if not (_answers_fail(ran) and search.fails(evidence)):
            kept = search.keeps(evidence)
            void = _void(ran, kept) or await off_loop(look.sent_late, until, ran.scheduled)
            if contention and not void and (watch.cut or not kept):
                void = await contention()
                contended = bool(void)
        responses.forget()
        first = ran.next_seq
        search.tell(TrialOutcome(evidence, clock() - began, void, watch.cut, _doubt(ran), contended))
        on_end(search.judged[-1], ran)
    return None


def by_chance(seed: int) -> Callable[[Trial], Schedule]:
    """Random arrivals of independent visitors: the rate sets their number; times differ by trial and by seed."""

    def schedule(trial: Trial) -> Schedule:
        return independent(Constant(trial.rate, trial.seconds), seed=_of_trial(seed, trial))

    return schedule


def _of_trial(seed: int, trial: Trial) -> int:
    """A seed that no other trial of any search has."""
    return 1000 * seed + trial.number


def evenly(trial: Trial) -> Schedule:
    """Requests are evenly spaced."""
    return Constant(trial.rate, trial.seconds)


def users(think: float | UniformThink) -> Callable[[Trial], Schedule]:
    """Users who think after each response, differently in each trial if at random; their number is searched."""

    def schedule(trial: Trial) -> Schedule:
        drawn = replace(think, seed=_of_trial(think.seed, trial)) if isinstance(think, UniformThink) else think
        return Users(round(trial.rate), drawn, trial.seconds)

    return schedule


class _Look:
    """Looks at the trial under way."""

    def __init__(self, search: Search, trial: Trial, schedule: Schedule, responses: RecentRequests, first: int) -> None:
        self._search, self._trial, self._responses = search, trial, responses
        self._first = first
        self._due = np.zeros(0)
        if not search.goal.users:
            enough = int(1.2 * trial.rate * trial.seconds) + 1000
            self._due = schedule.pacer()(np.zeros(enough, np.int64)) / 1e9
            assert len(self._due) < enough, "the schedule of a trial ends"

    def evidence(
        self, until: float, taken_up: int, *, known_by: float = math.inf, without_lag: bool = False
    ) -> BoundEvidence:
        """The observed requests due ``until`` seconds after the start, and taken up by now.

        Requests that ended later than ``known_by`` seconds count as not ended.
        """
        seen = self._responses.ended
        if self._search.goal.users:  # when a request was due is known once it has ended; plans begin on whole seconds
            due = seen.scheduled - np.floor(seen.scheduled.min(initial=np.inf))
        else:
            due = self._due[seen.seq - self._first]
        ended = due + seen.response
        known = ended <= known_by
        ended = np.where(known, ended - seen.lag if without_lag else ended, np.inf)
        under_way = self._under_way(seen.seq, taken_up, int(known.sum()))
        return observe(
            self._search.goal.bounds,
            np.append(due[seen.sent], under_way),
            np.append(ended[seen.sent], np.full(len(under_way), np.inf)),
            np.append((seen.failed & known)[seen.sent], np.zeros(len(under_way), np.bool_)),
            settle_s=self._trial.settle_s,
            until=min(until, self._trial.seconds),
        )

    def _under_way(self, ended: NDArray[np.int64], taken_up: int, known: int) -> NDArray[np.float64]:
        """The due times of requests that were taken up and have not ended; empty for users, whose times are not known.

        Args:
            ended: (n,) numbers of requests that have ended. Several workers are not equally far: what one has sent
                beyond the first ``taken_up`` requests, another one has not taken up.
            taken_up: number of requests taken up.
            known: number of these that had surely ended by then.
        """
        if self._search.goal.users:
            return self._due
        waiting = np.setdiff1d(np.arange(taken_up), ended - self._first)
        return self._due[waiting[: max(0, taken_up - known)]]

    def hopeless(self, until: float, taken_up: int) -> str:
        """Why the trial can be ended as failed; empty if it must go on.

        It judges the figures of a moment ago, because an exchange that has just ended may have no row yet.
        """
        known_by = until - _ROWS_AFTER_S
        return self._search.hopeless(self.evidence(known_by, taken_up, known_by=known_by))

    def sent_late(self, until: float, taken_up: int) -> str:
        """Whether a bound was missed only because the generator sent late, in words; empty if not."""
        if self._search.keeps(self.evidence(until, taken_up)):
            return ""
        if not self._search.keeps(self.evidence(until, taken_up, without_lag=True)):
            return ""
        return "requests were late because this machine sent them late: something else keeps it busy"


class _Watch:
    """Asks about once a second whether the trial can still pass; not in the loop, which must keep the schedule."""

    def __init__(
        self, look: _Look, engine: Replayer, on_progress: Callable[[Progress], None], off_loop: _OffLoop
    ) -> None:
        self._look, self._engine, self._on_progress, self._off_loop = look, engine, on_progress, off_loop
        self._asking: asyncio.Task[Any] | None = None
        self.cut, self.cut_at = "", 0.0

    def progress(self, now: Progress) -> None:
        self._on_progress(now)
        if not self.cut and (self._asking is None or self._asking.done()):
            self._asking = asyncio.create_task(self._ask(now))

    async def _ask(self, now: Progress) -> None:
        why = await self._off_loop(self._look.hopeless, now.elapsed, now.scheduled)
        if why:
            self.cut, self.cut_at = why, now.elapsed
            self._engine.cut()

    async def end(self) -> None:
        if self._asking:
            await self._asking


async def _at_once(call: Callable[..., Any], *args: Any, **named: Any) -> Any:
    return call(*args, **named)


def _answers_fail(ran: Outcome) -> bool:
    """Whether most failures are answers of the target: no other load on this machine makes it send a status of 500."""
    return ran.counters.new_errors > ran.counters.failed / 2


def _void(ran: Outcome, kept: bool) -> str:
    """Reason why a trial did not measure the target; empty if it did.

    The wait of requests for a stream, or for their client, is part of their response times: a trial that missed the
    bounds by it failed. One that kept the bounds does not show that the target carries a rate that was not sent.
    """
    if ran.health.verdict not in (RunVerdict.GENERATOR_BOUND, RunVerdict.RATE_MISSED):
        return ""
    waited_only = ran.evidence.achieved >= SENT_ENOUGH * ran.evidence.sent_on
    if ran.health.verdict is RunVerdict.RATE_MISSED and waited_only and not kept:
        return ""
    return next(finding.text for finding in ran.health.findings if finding.severity == "void")


def _doubt(ran: Outcome) -> str:
    """Doubt about a trial that does not make it invalid; empty if there is none."""
    vitals = ran.evidence.vitals
    if vitals.waited <= _BUSY * vitals.seconds:
        return ""
    return f"this machine waited {100 * vitals.waited / vitals.seconds:.0f} % of the time for a CPU that others used"
