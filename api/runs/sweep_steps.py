"""Makes the steps of a sweep over an engine, into a folder in which an interrupted sweep resumes."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from logreplay.analysis.analyze import analyse
from logreplay.analysis.format_time import show, show_rate
from logreplay.analysis.output.file_names import logins_beside
from logreplay.analysis.output.folder import remove_unfinished
from logreplay.analysis.summary import About
from logreplay.calling.audience import Audience
from logreplay.calling.loop_thread import run_in_loop, unless_stopped
from logreplay.calling.mailbox import Mailbox
from logreplay.calling.stopping import watched
from logreplay.calls.sweep_call import SweepCall
from logreplay.inputs.logs import BUNDLED
from logreplay.replay.engine.engine import stopped_by
from logreplay.replay.monitor.snapshot import Stage
from logreplay.replay.requests.plan import RequestStream
from logreplay.replay.results.login_log import LoginLog
from logreplay.replay.results.outcome import Outcome, addresses_of
from logreplay.replay.results.session_findings import session_findings
from logreplay.replay.results.stop_rules import StopRule
from logreplay.replay.results.verdict import Finding
from logreplay.replay.sessions.client_sessions import SessionCounts
from logreplay.replay.sweeps.manifest import Manifest, smaller_rates
from logreplay.replay.sweeps.step_log import JUDGED, StepLog
from logreplay.replay.sweeps.steps import FinishedStep, Step, sweep
from logreplay.runs.engines import replayer
from logreplay.runs.evaluation import summarising_part

_SPARE: Final = 4
"""Descriptors kept for the manifest."""

Made = tuple[Sequence[Outcome], list[Finding]]
"""Results of the steps that were begun, and the findings."""


def sweep_into(
    call: SweepCall, manifest: Manifest, requests: RequestStream, target: str, rule: StopRule, mailbox: Mailbox
) -> Made:
    """Make the steps of a sweep that are missing into the folder of its manifest, telling how it goes."""
    manifest.check_steps(call.course.steps())
    path = manifest.folder / JUDGED
    with call.telling.audience("sweep", target, path, mailbox) as audience:
        mailbox.note(call.described)
        steps = _Steps(call, manifest, requests, target, rule, mailbox, audience)
        outcomes, findings = steps.make(call.course.steps())
        if call.refine and not any(outcome.stopped or outcome.lost for outcome in outcomes):
            more, told = steps.make(steps.finer())
            known = {finding.code for finding in findings}
            outcomes, findings = (*outcomes, *more), findings + [each for each in told if each.code not in known]
        return outcomes, findings + steps.session_findings(outcomes) + audience.end_readings()


@dataclass(frozen=True, slots=True)
class _Steps:
    """A sweep under way."""

    call: SweepCall
    manifest: Manifest
    requests: RequestStream
    target: str
    rule: StopRule
    mailbox: Mailbox
    audience: Audience

    def make(self, planned: Sequence[Step]) -> Made:
        """Make those that are missing."""
        made = {each.step.index for each in self.manifest.done}
        if steps := [step for step in planned if step.index not in made]:
            return run_in_loop(lambda stop: self._send(steps, stop), self.mailbox.fault, self.mailbox)
        return (), []

    async def _send(self, steps: Sequence[Step], stop: asyncio.Event) -> Made:
        course, rules, closed = self.call.course, self.call.sender_rules, bool(self.call.vusers)
        folder, count = self.manifest.folder, len(self.manifest.done) + len(steps)
        length = sum(step.seconds + course.settle for step in steps) + course.warm_up
        rate = max(step.rate for step in steps)
        endpoint = await unless_stopped(stop, rules.endpoint(self.target))
        ready = rules.ready(endpoint, folder / JUDGED, rate=rate, duration=length)
        sender, findings = await unless_stopped(stop, ready)
        results = StepLog(folder, self.manifest.mark, rules.columns)
        self.audience.go_on(self.manifest.mark.next_s)
        remove_unfinished(folder / JUDGED)
        self.manifest.write()
        spare, logins, before = _SpareDescriptors(), LoginLog(logins_beside(folder / JUDGED)), self.manifest.sessions
        async with (
            summarising_part([results], self._about, self.mailbox),
            replayer(
                rules, sender, results, logins=logins, rate=0 if closed else rate, closed=closed, first=results.next_seq
            ) as engine,
            stopped_by(stop, engine),
        ):
            with self.audience.may_set(stop):
                outcomes = await sweep(
                    engine,
                    results,
                    self.requests,
                    course,
                    at=self.call.at(self.requests),
                    mixes=self.call.mixes,
                    steps=steps,
                    done=self.manifest.done,
                    on_begin=lambda step: self._begin(step, count),
                    on_progress=watched(self.rule, engine, self.audience.see),
                    on_end=lambda done, outcome: self._end(
                        done, outcome, results, spare, _added(before, engine.sessions)
                    ),
                    on_other=partial(self.audience.end, state="runs"),
                )
                spare.free()
        self.manifest.sessions = _added(before, engine.sessions)
        return outcomes, findings

    def session_findings(self, outcomes: Sequence[Outcome]) -> list[Finding]:
        """The findings on the sessions of the clients in all steps, those made before a resumption too."""
        if self.manifest.sessions is None:
            return []
        answers = self.manifest.answers + sum(each.counters.completed for each in self.manifest.unfinished(outcomes))
        return list(session_findings(self.manifest.sessions, answers=answers * self.call.sender_rules.cookies))

    def _about(self, findings: list[dict[str, Any]], more: dict[str, Any]) -> About:
        """The caller's part of the summary of a sweep that an error ended."""
        call = self.call
        return About(str(call.log or BUNDLED), self.target, call.as_summary(), findings, more, call.closed_loop)

    def finer(self) -> list[Step]:
        """Smaller steps within the range in which the target saturates."""
        planned = self.call.course.steps()
        if not self.manifest.refined:
            bend = analyse(self.manifest.folder / JUDGED).verdict.saturation
            if not bend.found or bend.low is None or bend.high is None:
                self.mailbox.note(f"nothing to refine: {bend.why}")
                return []
            rates = smaller_rates(bend.low, bend.high, [step.rate for step in planned])
            self.manifest.refined = rates
            within = f"saturation between {bend.low:g} and {bend.high:g}/s"
            self.mailbox.note(f"{within}: {len(rates)} more steps from {rates[0]:g} to {rates[-1]:g}/s")
        return self.manifest.smaller_steps(planned)

    def _begin(self, step: Step, count: int) -> None:
        users, name = bool(self.call.vusers), f"step {step.index + 1} of {count}"
        self.audience.begin(Stage(name, None if users else step.rate, step.seconds, level=step.rate, users=users))

    def _end(
        self,
        done: FinishedStep,
        outcome: Outcome,
        results: StepLog,
        spare: "_SpareDescriptors",
        sessions: SessionCounts | None,
    ) -> None:
        step, counted = done.step, outcome.counters
        without = f" without {self.call.mixes[step.mix - 1].left_out}" if step.mix else ""
        spare.free()
        self.manifest.addresses = addresses_of([outcome], self.manifest.addresses).get("addresses", {})
        self.manifest.answers += counted.completed
        self.manifest.sessions = sessions
        self.manifest.finish(done, results.mark())
        spare.hold()
        unit = (" user" if step.rate == 1 else " users") if self.call.vusers else "/s"
        others = ((counted.dropped, "dropped"), (counted.errors["cancelled"], "cancelled"))
        note = (
            f"{show_rate(step.rate, 4)}{unit}{without}: {counted.sent:,} sent, {counted.failed:,} failed, "
            + "".join(f"{count:,} {what}, " for count, what in others if count)
            + f"backlog {outcome.backlog:,}"
            + f"; ended after {show(outcome.seconds)}" * bool(outcome.stopped)
        )
        self.audience.end(outcome, state="" if done.carried or done.limit else "overloaded", note=note)


def _added(before: SessionCounts | None, counts: SessionCounts | None) -> SessionCounts | None:
    """The counts of sessions with those of an engine, without its logins; None: clients keep nothing."""
    return (before or SessionCounts()) + replace(counts, rows=[]) if counts else before


class _SpareDescriptors:
    """Descriptors kept for the manifest: in a step that runs out of them, connections take all others."""

    def __init__(self) -> None:
        self._held: list[int] = []
        self.hold()

    def hold(self) -> None:
        """Take as many as writing the manifest needs, or as many as there are."""
        with suppress(OSError):
            while len(self._held) < _SPARE:
                self._held.append(os.open(os.devnull, os.O_RDONLY))

    def free(self) -> None:
        """Give them back."""
        while self._held:
            os.close(self._held.pop())
