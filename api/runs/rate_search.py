"""Searches for the highest rate that keeps a bound: from the frozen value to the folder of results and the result."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import polars as pl

from logreplay.analysis.output.file_names import logins_beside
from logreplay.analysis.output.folder import remove_unfinished, write_folder, write_unfinished
from logreplay.analysis.search import report
from logreplay.analysis.search.search import Judged, Search, Trial
from logreplay.analysis.summary import About, common
from logreplay.analysis.verdict.checks import Check
from logreplay.calling.audience import Audience
from logreplay.calling.busy import used_by_thread
from logreplay.calling.loop_thread import run_in_loop, unless_stopped
from logreplay.calling.mailbox import CallListener, Mailbox
from logreplay.calling.stopping import warn_of_never, watched
from logreplay.calls.find_call import FindCall
from logreplay.core.files import atomic_path
from logreplay.core.plural import number_of
from logreplay.folder_results import FindResult
from logreplay.inputs.logs import BUNDLED, replayable
from logreplay.inputs.streams import bind_target, count_on, left_out, request_stream
from logreplay.inputs.targets import expect_target, target_or_builtin
from logreplay.options.load import thinking
from logreplay.replay.checks.preflight import cpu_contention
from logreplay.replay.engine.engine import stopped_by
from logreplay.replay.monitor.snapshot import Stage
from logreplay.replay.requests.plan import RequestStream
from logreplay.replay.results.live_samples import RecentRequests
from logreplay.replay.results.login_log import LoginLog
from logreplay.replay.results.outcome import Outcome, addresses_of
from logreplay.replay.results.result_log import ResultLog
from logreplay.replay.results.stop_rules import StopRule
from logreplay.replay.results.verdict import Finding, held_back_in_steps, metrics_missed
from logreplay.replay.schedules.rates import Schedule
from logreplay.replay.senders.contract import Sender
from logreplay.replay.sweeps.step_log import JUDGED
from logreplay.result_folder import ResultFolder
from logreplay.runs.engines import replayer
from logreplay.runs.evaluation import evaluating, report_sessions, stop_checks, summarising_part
from logreplay.runs.repeated_urls import repeated_urls
from logreplay.runs.result_files import further_files, inputs
from logreplay.runs.trials import by_chance, drive, evenly, users

_FULL_S: Final = 60.0
"""Seconds of a full trial, for the check of the disk before the first request."""
_HELD: Final = "a rate keeps the bounds"
"""The name of the check."""
_STATES: Final = {"pass": "carried", "fail": "overloaded", "void": "void"}
"""The states of points on the curve, by the verdict on a trial."""


def find_once(call: FindCall, listener: CallListener) -> FindResult:
    """Search for the highest rate that keeps the bounds."""
    call, mailbox = call.checked(), Mailbox(listener)
    warn_of_never(call.stop_at, call.sender_rules, mailbox, bounds=call.bounds)
    reads = inputs(call)
    others = further_files(call.written, reads)
    with used_by_thread() as stack:
        place = stack.enter_context(ResultFolder.named(call.output, "find", reads, force=call.force, others=others))
        expect, given = partial(expect_target, call.choice), call.log is not None
        log = stack.enter_context(replayable(call.log, mailbox.note, expect_target=expect))
        url = stack.enter_context(
            target_or_builtin(call.choice, log, mailbox.note, given=given, announce=call.announce)
        )
        requests = request_stream(
            call.request_rules, call.sender_rules, log, stack, mailbox.note, loop=True, ahead=call.vusers
        )
        bind_target(call.request_rules, url)
        rule = StopRule(call.stop_at, call.stop_asked or str)
        return _RateSearch(call, Search(call.goal), place, requests, url, rule, mailbox).result()


@dataclass(slots=True)
class _RateSearch:
    """A search under way.

    Attributes:
        answered: requests of its trials with a whole response.
        trials: outcomes of its trials.
        warned: that trials will be invalid.
    """

    call: FindCall
    search: Search
    place: ResultFolder
    requests: RequestStream
    url: str
    rule: StopRule
    mailbox: Mailbox
    answered: int = 0
    trials: list[Outcome] = field(default_factory=list)
    warned: bool = False

    def result(self) -> FindResult:
        """Search, and put the result together."""
        call, place = self.call, self.place
        try:
            with call.telling.audience("find", self.url, place.path / JUDGED, self.mailbox) as audience:
                cut, findings = run_in_loop(lambda stop: self._search(stop, audience), self.mailbox.fault, self.mailbox)
        except KeyboardInterrupt:
            where = f"\nresults: {place.path}" if place.measured else ""
            self.mailbox.note(f"{self._unfinished('interrupted')}{where}", always=True)
            raise
        if cut:
            return self._cut(cut, findings)
        with evaluating(self.mailbox, "analyze", str(place.place)):
            return self._evaluated(findings)

    def _evaluated(self, findings: list[Finding]) -> FindResult:
        """The result of a search that ended by itself."""
        call, place = self.call, self.place
        folder = place.keep()
        urls, repeated = repeated_urls(
            self.requests, call.request_rules, folder, ("--restart",) * call.restart,
            each="trial", bundled=call.log is None, tell=self.mailbox.note,
        )  # fmt: skip
        answer = report.answer_of(self.search)
        text = report.sentence(self.search, call.demand)
        facts = report.slo(self.search, call.demand) | {"seed": call.request_rules.seed}
        more: dict[str, Any] = {"answer": text, "slo": facts, **urls, **addresses_of(self.trials)}
        if not self.search.measured or answer.why == "generator":
            more["verdict"] = "GENERATOR_BOUND"
        elif answer.holds:  # it rests on a valid trial, whatever others were
            more["verdict"] = "VALID"
        told = [finding.as_dict() for finding in (*findings, *repeated)] + report.weaknesses(self.search)
        if covers := report.not_covered(self.search):
            told.append({"code": "not_covered", "severity": "note", "text": covers})
        about = self._about(told, more, answered=answer.holds or answer.why == "not-met")
        summary, steps = write_folder(folder / JUDGED, folder, about, plots=call.plots)
        if call.plots:
            from logreplay.analysis.output.plots.hockey_stick import figure, save  # loads matplotlib
            from logreplay.analysis.output.plots.search import trace

            with atomic_path(folder / "search.png") as fresh:
                save(figure(lambda ax: trace(ax, facts)), fresh)
        missed = answer.why == "not-met" and summary["verdict"] == "VALID"
        held = Check(_HELD, "passed" if answer.holds else "failed" if missed else "unjudged", text)
        return self._made(folder / JUDGED, summary, held, steps)

    def _cut(self, trial: Outcome, findings: list[Finding]) -> FindResult:
        """The result of a search that ended in a trial."""
        why = "interrupted"
        if self.rule.hit:
            why = f"stopped: {self.rule.hit}"
        elif trial.lost:
            why = f"{trial.health.limit}; the search ended"
        text, summary = self._unfinished(why), dict[str, Any]()
        if self.place.measured:
            told = [finding.as_dict() for finding in findings]
            summary = common(self._about(told, {}), "NO_ANSWER", text, told)
        result = self._made(self.place.path / JUDGED, summary, Check(_HELD, "unjudged", text))
        result.unfinished, result.stopped, result.lost = text, why, bool(trial.lost)
        return result

    def _made(self, rows: Path, summary: dict[str, Any], held: Check, steps: pl.DataFrame | None = None) -> FindResult:
        count_on(self.requests)
        checks = (held, *stop_checks(self.rule))
        hit = bool(self.rule.hit)
        return FindResult(
            summary=summary,
            files=(rows,),
            step_table=steps,
            checks=checks,
            by_rule=hit,
            left_out=left_out(self.requests),
        )

    def _about(self, findings: list[dict[str, Any]], more: dict[str, Any], *, answered: bool = True) -> About:
        log, said = self.call.of or str(self.call.log or BUNDLED), self.call.as_summary()
        return About(log, self.url, said, findings, more=more, answered=answered)

    def _unfinished(self, why: str) -> str:
        """The sentence for a search without an answer: why it ended, its trials, and the rate known so far."""
        known = f": {text}" if (text := report.so_far(self.search)) else ""
        kept = "the rows are kept; a search cannot be resumed" if self.place.measured else "nothing was measured"
        return f"{why} after {number_of(len(self.search.judged), 'trial')}{known}; {kept}"

    async def _search(self, stop: asyncio.Event, audience: Audience) -> tuple[Outcome | None, list[Finding]]:
        """Run the trials; return the trial in which the search ended early, and the findings."""
        call, search, rules, goal = self.call, self.search, self.call.sender_rules, self.search.goal
        path = self.place.path / JUDGED

        async def ready() -> tuple[Callable[[], Sender], list[Finding], bool]:
            endpoint = await rules.endpoint(self.url)
            made = await rules.ready(endpoint, path, rate=goal.start, duration=_FULL_S)
            return *made, rules.is_here(endpoint)

        sender, findings, here = await unless_stopped(stop, ready())
        log, logins = ResultLog(path, more=rules.columns), LoginLog(logins_beside(path))
        responses = RecentRequests(log)
        write_unfinished(path, self._about([], {}))
        rate = goal.start if goal.users else goal.highest or goal.start
        async with (
            summarising_part([log], self._about, self.mailbox),
            replayer(rules, sender, responses, logins=logins, rate=rate, closed=goal.users) as engine,
            stopped_by(stop, engine),
        ):
            if here and (busy := await cpu_contention()):
                self._warn(busy)
            with audience.may_set(stop):
                cut = await drive(
                    search,
                    engine,
                    responses,
                    self.requests,
                    schedule_of=self._schedule_of,
                    restart=call.restart,
                    contention=cpu_contention if here else None,
                    on_begin=partial(self._begin, audience),
                    on_progress=watched(self.rule, engine, audience.see),
                    on_end=partial(self._end, audience),
                )
                if cut:
                    self.rule.ended(cut.stopped)
                    audience.end(cut, state="runs")
        sessions = report_sessions(engine, answers=self.answered * rules.cookies)
        if not cut:
            remove_unfinished(path)
        waits = held_back_in_steps([trial.evidence.waits for trial in self.trials])
        missed = metrics_missed(trial.evidence for trial in self.trials)
        return cut, [*findings, *audience.end_readings(), *waits, *missed, *self.rule.findings(), *sessions]

    @property
    def _schedule_of(self) -> Callable[[Trial], Schedule]:
        """A function that makes the schedule of a trial."""
        seed = self.call.request_rules.seed
        if self.call.vusers:
            return users(thinking(self.call.think or 0.0, seed))
        return evenly if self.call.arrivals == "even" else by_chance(seed)

    def _begin(self, audience: Audience, trial: Trial) -> None:
        goal = self.search.goal
        if trial.number == 1 and (note := report.unconfirmable(goal)):
            self.mailbox.note(note)
        name, rate = f"trial {trial.number}, {trial.phase}", None if goal.users else trial.rate
        audience.begin(Stage(name, rate, trial.seconds, level=trial.rate, users=goal.users))

    def _warn(self, why: str) -> None:
        """Say once, as early as it is known, that trials will be invalid, and what to do."""
        if not self.warned:
            self.mailbox.note(
                f"note: {why}; trials that fail meanwhile are invalid, and two of them at one rate end the search "
                "below it: stop other programs, or use another machine for the target or for logreplay"
            )
        self.warned = True

    def _end(self, audience: Audience, judged: Judged, ran: Outcome) -> None:
        self.answered += ran.counters.completed
        self.trials.append(ran)
        budget, verdict = self.search.goal.budget_s, judged.verdict
        line, heading, left = report.trial_line(judged, self.search.goal), report.heading(), ""
        if budget is not None:
            heading, left = f"{heading}  left of --budget", f"  {max(round(budget - self.search.elapsed), 0)} s"
        first = f"{heading}\n" if judged.trial.number == 1 else ""
        audience.end(ran, state=_STATES[verdict], note=line, told=f"{first}{line}{left}")
        if verdict == "void":
            trials = report.trials(self.search)
            write_unfinished(self.place.path / JUDGED, self._about([], {"slo": {"trials": trials}}))  # if it is killed
            self._warn(f"trial {judged.trial.number} is invalid")
