"""Makes one replay: from its frozen value to its summary and result. A dry run shows the requests instead."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from logreplay.analysis.output.file_names import companion_files, logins_beside, summary_beside
from logreplay.analysis.output.folder import write_beside, write_unfinished
from logreplay.analysis.summary import About
from logreplay.analysis.verdict.checks import Check
from logreplay.calling.busy import used_by_thread
from logreplay.calling.loop_thread import Stop, loop_in_this_thread, protected, unless_stopped
from logreplay.calling.mailbox import CallListener, Mailbox
from logreplay.calling.stopping import telling_gaps, warn_of_never, watched
from logreplay.calls.run_call import RunCall
from logreplay.core.errors import UsageError
from logreplay.core.masking import masked
from logreplay.core.plural import number_of
from logreplay.inputs.lacking import tell_lacking
from logreplay.inputs.logs import Tell, followed, replayable
from logreplay.inputs.streams import bind_target, count_on, left_out, request_stream
from logreplay.inputs.targets import expect_target, target_or_builtin
from logreplay.options.load import log_report
from logreplay.options.request_rules import base
from logreplay.replay.engine.engine import Engine, stopped_by
from logreplay.replay.monitor.snapshot import Stage
from logreplay.replay.requests.plan import Plan
from logreplay.replay.requests.preview import Preview, preview
from logreplay.replay.requests.sources import RequestSource
from logreplay.replay.results.login_log import LoginLog
from logreplay.replay.results.outcome import Outcome, addresses_of, describe_course
from logreplay.replay.results.result_log import InSteps, ResultLog, partial_path
from logreplay.replay.results.stop_rules import StopRule
from logreplay.replay.results.verdict import SEE_FIRST, Finding, steered
from logreplay.replay.schedules.steering import Steering
from logreplay.replay.schedules.users import Users
from logreplay.replay.senders.trace import Watch, describe_counts
from logreplay.result_folder import place_for
from logreplay.results import RunResult
from logreplay.runs.engines import replayer
from logreplay.runs.evaluation import interrupted, report_sessions, stop_checks, summarising_part
from logreplay.runs.repeated_urls import changed_routes
from logreplay.runs.result_files import claim, further_files, inputs

if TYPE_CHECKING:
    from logreplay.inputs.logs import Replayable

Routes = list[tuple[str, str, int]]
"""Method, route and number of requests."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a run would send.

    Attributes:
        call: the run that was planned.
        seen: head, rates and counts of the plan.
        head: due time, method and URL of the first requests, secrets masked.
        changes: requests that may change data on the target.
        logins: requests of logins; None: there are none.
        left_out: requests that would not be sent, by the reason.
        notes: the same in sentences.
    """

    call: RunCall
    seen: Preview
    head: list[tuple[float, str, str]]
    changes: Routes
    logins: Routes | None
    left_out: dict[str, int]
    notes: tuple[str, ...]


def dry_run(call: RunCall, listener: CallListener) -> DryRun:
    """Plan a run."""
    if call.load.loop and call.load.endless:
        raise UsageError("--dry-run and --loop need an end: add --for 1m or --requests 1000")
    call = call.checked()
    warn_of_never(call.stop_at, call.sender_rules, listener, users=call.load.vusers)
    with ExitStack() as stack:
        _, source = _sources(call, stack, listener.note, dry=True)
        plan = _plan_of(call, source, stack, listener.note, once=call.load.answers_decide)
        sessions = call.sender_rules.session_plan()
        logins = sessions.logins if sessions else None
        seen = preview(plan, clients=bool(logins))
        head = [(due, op, url if call.sender_rules.show_secrets else masked(url)) for due, op, url in seen.head]
        sent = changed_routes(logins.sent_by(seen.clients)) if logins else None
        count_on(plan.requests)
        told = left_out(plan.requests, in_time=call.load.in_time)
        return DryRun(call, seen, head, changed_routes(seen.changes), sent, dict(plan.requests.left_out), told)


def run_once(call: RunCall, listener: CallListener) -> RunResult:
    """Replay a log."""
    call = call.checked()
    warn_of_never(call.stop_at, call.sender_rules, listener, users=call.load.vusers)
    sender_rules = call.sender_rules
    with used_by_thread() as stack:
        reads = inputs(call)
        others, force = further_files(call.written, reads), call.force and call.output is not None
        path = place_for(call.output, lambda path: claim(path, reads, stack, force=force, others=others), "run", ".csv")
        log, source = _sources(call, stack, listener.note)
        plan = _plan_of(call, source, stack, listener.note)
        url = stack.enter_context(
            target_or_builtin(call.choice, log, listener.note, given=call.log is not None, announce=call.announce)
        )
        bind_target(call.request_rules, url)
        watch = Watch(call.crash, call.show, secrets=sender_rules.show_secrets)
        rule = StopRule(call.stop_at, call.stop_asked or str)
        steering = call.load.steering if call.telling.control else None
        return _OneRun(call, path, plan, url, watch, rule, Mailbox(listener), steering).replay()


def _plan_of(call: RunCall, source: Path | RequestSource, stack: ExitStack, tell: Tell, *, once: bool = False) -> Plan:
    """The requests of a run and when they are due; ``once``: the log is not begun again."""
    load = call.load
    stream = request_stream(
        call.request_rules,
        call.sender_rules,
        source,
        stack,
        tell,
        loop=load.loops and not once,
        keep=load.keep,
        skip_idle=load.skip_idle,
        in_time=load.in_time,
        ahead=load.vusers is not None or call.telling.control is not None,
    )
    return Plan(stream, load.schedule(call.request_rules, stream, steered=call.telling.control is not None))


def _sources(
    call: RunCall, stack: ExitStack, tell: Tell, *, dry: bool = False
) -> "tuple[Replayable, Replayable | RequestSource]":
    """What a built-in target answers from, and where the requests come from; ``dry``: nothing will be sent."""
    if not call.load.follow:
        expect = None if dry else partial(expect_target, call.choice)
        csv = stack.enter_context(replayable(call.log, tell, expect_target=expect))
        return csv, csv
    if call.log is None or call.choice.named is None or dry:
        raise UsageError("--follow needs LOG and TARGET, and excludes --dry-run: its requests are not written yet")
    if not isinstance(call.log, Path):
        raise UsageError(f"--follow {call.log}: expected a log file that a server writes")
    return call.log, followed(call.log, call.load.duration)


@dataclass(frozen=True, slots=True)
class _OneRun:
    """A replay under way."""

    call: RunCall
    path: Path
    plan: Plan
    url: str
    watch: Watch
    rule: StopRule
    mailbox: Mailbox
    steering: Steering | None = None
    logs: list[ResultLog] = field(default_factory=list)

    def replay(self) -> RunResult:
        """Run the plan, tell how it goes, and write the summary: before anything that may wait for a reader."""
        call, grows = self.call, partial_path(self.path, companion_files)
        try:
            with call.telling.audience("run", self.url, grows, self.mailbox) as audience:

                async def main(stop: asyncio.Event) -> tuple[Outcome, list[Finding], list[str], dict[str, Any]]:
                    with audience.may_set(stop):
                        return await self._send(stop, audience)

                def work(stop: Stop) -> RunResult:
                    outcome, findings, course, counts = loop_in_this_thread(main, stop, self.mailbox.fault)
                    return self._result(outcome, findings, course, counts)

                return protected(work, self.mailbox)
        except KeyboardInterrupt:
            for log in self.logs:  # the thread that writes it may wait for something that never comes
                log.close()
            self.mailbox.note(interrupted(grows if grows.exists() else None), always=True)
            raise
        finally:
            if not grows.exists():  # no row came, so what was watched belongs to nothing
                for beside in companion_files(grows):
                    beside.unlink(missing_ok=True)

    async def _send(
        self, stop: asyncio.Event, audience: Any
    ) -> tuple[Outcome, list[Finding], list[str], dict[str, Any]]:
        call, schedule, path, steering = self.call, self.plan.schedule, self.path, self.steering
        sender_rules, peak = call.sender_rules, call.load.peak
        endpoint = await unless_stopped(stop, sender_rules.endpoint(self.url))
        duration = call.load.duration if steering else schedule.duration
        ready = sender_rules.ready(endpoint, path, rate=peak, duration=duration)
        sender, findings = await unless_stopped(stop, ready)
        log = ResultLog(path, force=call.force, companion_files=companion_files, more=sender_rules.columns)
        self.logs.append(log)
        results = InSteps(log, call.load.steps) if call.load.steps else log
        if call.load.steps:
            write_unfinished(log.growing, self._about([], {}))
        closed, logins = isinstance(schedule, Users), LoginLog(logins_beside(log.growing))
        async with (
            summarising_part([log], self._about, self.mailbox),
            replayer(sender_rules, sender, results, self.watch, logins=logins, rate=peak, closed=closed) as engine,
            stopped_by(stop, engine),
        ):
            audience.begin(Stage(rate=call.load.steady, planned=duration))
            with audience.may_call(engine.steer) if steering else nullcontext():
                show = telling_gaps(audience.see, self.mailbox.note) if call.load.in_time else audience.see
                outcome = await engine.run(self.plan, watched(self.rule, engine, show), steering=steering)
            self.rule.ended(outcome.stopped)
            audience.end(outcome)
        how = f"{sender_rules.sender} sender, workers {sender_rules.processes(peak)}, {sender_rules.limits}"
        course = [f"target {self.url}; {how}", describe_course(outcome)]
        course += [describe_counts(engine.counts)] if isinstance(engine, Engine) else []
        counts: dict[str, Any] = {"sessions": engine.sessions.as_dict()} if engine.sessions else {}
        counts |= {"control": [change.as_dict() for change in steering.changes]} if steering else {}
        told, answers = outcome.health.findings, outcome.counters.completed * sender_rules.cookies
        findings += steered(steering.changes) if steering else []
        findings += audience.end_readings() + report_sessions(engine, answers=answers, told=told)
        return outcome, findings, course, counts

    def _result(
        self, outcome: Outcome, findings: list[Finding], course: list[str], counts: dict[str, Any]
    ) -> RunResult:
        """Write the summary, and put the result together."""
        if self.rule.hit or not outcome.stopped:  # after Ctrl-C the end, and the summary, come at once
            count_on(self.plan.requests)
        findings = [*findings, *self._advising(outcome.health.findings), *self.rule.findings()]
        changed = self.steering is not None and self.steering.changed
        report = log_report(self.plan.requests, self.plan.schedule, outcome.scheduled, changed=changed)
        besides = {"replay": report, **counts}
        summary, steps = self._summary(outcome, findings, besides) if outcome.scheduled else ({}, None)
        logins = logins_beside(self.path)
        if self.call.load.follow:
            tell_lacking(
                self.call.request_rules, self.call.sender_rules, base(self.plan.requests).source, self.mailbox.note
            )
        return RunResult(
            outcome=outcome,
            findings=Finding.all_of(summary) or tuple(findings),
            summary=summary,
            step_table=steps,
            files=(self.path, summary_beside(self.path), *((logins,) if logins.exists() else ())),
            course=tuple(course),
            culprit=self.watch.culprit,
            stopped=self._stopped(outcome),
            by_rule=bool(self.rule.hit),
            checks=tuple(self._checks(outcome)),
            left_out=left_out(self.plan.requests, in_time=self.call.load.in_time),
        )

    def _stopped(self, outcome: Outcome) -> str:
        """Why the run ended before its plan did, in words; empty if it did not."""
        if self.rule.hit:
            return f"stopped: {self.rule.hit}"
        if not outcome.stopped or self.watch.culprit or not outcome.scheduled:
            return outcome.stopped
        planned = self.call.load.planned(self.plan.schedule)
        sent = outcome.counters.sent
        were = f"{sent:,} of {planned} requests were" if planned else number_of(sent, "request was", "requests were")
        return f"{outcome.stopped}: {were} sent; their rows are kept"

    def _checks(self, outcome: Outcome) -> Iterator[Check]:
        """The conditions of ``--stop``, and the validity of the run."""
        yield from stop_checks(self.rule)
        why = "; ".join(finding.text for finding in outcome.health.findings)
        nothing = "" if outcome.scheduled else f"nothing was sent: {outcome.why_nothing}"
        yield Check("valid run", "passed" if outcome.health.valid and not nothing else "unjudged", nothing or why)

    def _advising(self, findings: Sequence[Finding]) -> list[Finding]:
        """The findings, without the advice to use --crash where it is in use."""
        needless = SEE_FIRST if self.call.crash else ""
        return [replace(finding, text=finding.text.removesuffix(needless)) for finding in findings]

    def _summary(
        self, outcome: Outcome, findings: list[Finding], besides: dict[str, Any]
    ) -> tuple[dict[str, Any], pl.DataFrame]:
        """Write the summary and the histograms of the result log beside it; return the summary and the step table."""
        more = {
            "verdict": str(outcome.health.verdict),
            "unexpected_status": dict(outcome.counters.unexpected.most_common()),
            "left_out": dict(self.plan.requests.left_out.most_common()),
            "stopped": outcome.stopped or None,
            "received_bytes": outcome.received,
            "retried": outcome.evidence.retried,
            **addresses_of([outcome]),
            **besides,
        }
        return write_beside(self.path, self._about([finding.as_dict() for finding in findings], more))

    def _about(self, findings: list[dict[str, Any]], more: dict[str, Any]) -> About:
        """Keys of the summary that only the caller knows."""
        log = str(self.call.log) if self.call.log else None
        return About(log, self.url, self.call.as_summary(), findings, more)
