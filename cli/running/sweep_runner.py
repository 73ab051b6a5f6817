"""Makes the steps of a sweep over an engine, into a folder in which an interrupted sweep resumes."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from logreplay.calling.audience import Audience, Telling
from logreplay.calling.loop_thread import run_in_loop, unless_stopped
from logreplay.calling.stopping import watched
from logreplay.cli.display.bug_report import tell_of_loop
from logreplay.cli.display.live_curve import GrowingCurve, point_of
from logreplay.cli.display.progress import Terminal
from logreplay.cli.signals import SIGNALS
from logreplay.core.plural import number_of
from logreplay.options.sender_rules import SenderRules
from logreplay.runs.engines import replayer
from logreplay.runs.sessions import report_sessions

if TYPE_CHECKING:
    from logreplay.replay.requests.plan import RequestStream
    from logreplay.replay.results.outcome import Outcome
    from logreplay.replay.results.stop_rules import StopRule
    from logreplay.replay.results.verdict import Finding
    from logreplay.replay.sweeps.manifest import Manifest
    from logreplay.replay.sweeps.step_log import StepLog
    from logreplay.replay.sweeps.steps import At, Course, FinishedStep, Step

_REFINED_STEPS = 4
_SPARE = 4


def sweep_into(
    manifest: "Manifest",
    requests: "RequestStream",
    target: str,
    course: "Course",
    sender_rules: SenderRules,
    rule: "StopRule",
    telling: Telling | None = None,
    *,
    at: "At | None" = None,
    closed: bool = False,
    refine: bool = False,
    described: str = "",
    terminal: Terminal,
) -> "tuple[Sequence[Outcome], list[Finding]]":
    """Make the steps of a sweep that are missing into the folder of its manifest, telling how it goes.

    ``described`` is told before the first, without waiting for a terminal that is halted.

    Returns:
        What became of each step that was begun, and the findings besides.
    """
    from logreplay.replay.sweeps.step_log import JUDGED
    from logreplay.replay.sweeps.steps import evenly

    made = {each.step.index for each in manifest.done}
    first, path, telling = manifest.mark.next_s, manifest.folder / JUDGED, telling or Telling()
    with telling.audience("sweep", target, path, terminal, first=first) as audience:
        if described:
            terminal.note(described)
        drawn, unit = telling.progress == "auto", "users" if closed else "req/s"
        curve = GrowingCurve(terminal.write, quiet=terminal.quiet, drawn=drawn, unit=unit)
        sweep = _Sweep(manifest, requests, target, course, sender_rules, rule, at or evenly, closed, audience, curve)
        outcomes, findings = sweep.make([step for step in course.steps() if step.index not in made])
        if refine and not any(outcome.stopped or outcome.lost for outcome in outcomes):
            more, _ = sweep.make([step for step in sweep.finer() if step.index not in made])
            outcomes = (*outcomes, *more)
        return outcomes, findings + audience.findings


@dataclass(frozen=True, slots=True)
class _Sweep:
    """A sweep under way."""

    manifest: "Manifest"
    requests: "RequestStream"
    target: str
    course: "Course"
    sender_rules: SenderRules
    rule: "StopRule"
    at: "At"
    closed: bool
    audience: Audience
    curve: GrowingCurve

    def make(self, steps: "Sequence[Step]") -> "tuple[Sequence[Outcome], list[Finding]]":
        """Make some of its steps."""
        from logreplay.analysis.output.file_names import logins_beside
        from logreplay.replay.engine.engine import stopped_by
        from logreplay.replay.results.login_log import LoginLog
        from logreplay.replay.sweeps.step_log import JUDGED, StepLog
        from logreplay.replay.sweeps.steps import sweep

        if not steps:
            return (), []
        folder, count = self.manifest.folder, len(self.manifest.done) + len(steps)

        async def main(stop: asyncio.Event) -> "tuple[Sequence[Outcome], list[Finding]]":
            length = sum(step.seconds + self.course.settle for step in steps) + self.course.warm_up
            rate = max(step.rate for step in steps)
            endpoint = await unless_stopped(stop, self.sender_rules.endpoint(self.target))
            ready = self.sender_rules.ready(endpoint, folder / JUDGED, rate=rate, duration=length)
            sender, findings = await unless_stopped(stop, ready)
            results = StepLog(folder, self.manifest.mark)
            self.manifest.write()
            spare = _SpareDescriptors()
            async with (
                replayer(
                    self.sender_rules,
                    sender,
                    results,
                    logins=LoginLog(logins_beside(folder / JUDGED)),
                    rate=0 if self.closed else rate,
                    closed=self.closed,
                ) as engine,
                stopped_by(stop, engine),
            ):
                with self.audience.may_set(stop):
                    outcomes = await sweep(
                        engine,
                        results,
                        self.requests,
                        self.course,
                        at=self.at,
                        steps=steps,
                        done=self.manifest.done,
                        on_begin=lambda step: self._begin(step, count),
                        on_progress=watched(self.rule, engine, self.audience.see),
                        on_end=lambda done, outcome: self._end(done, outcome, results, spare),
                    )
                    spare.free()
            answers = sum(outcome.counters.completed for outcome in outcomes) * self.sender_rules.cookies
            return outcomes, findings + report_sessions(engine, answers=answers)

        with SIGNALS.hearing():
            return run_in_loop(main, tell_of_loop)

    def finer(self) -> "list[Step]":
        """Smaller steps within the range in which the target saturates."""
        from logreplay.analysis.analyze import analyse
        from logreplay.replay.sweeps.step_log import JUDGED
        from logreplay.replay.sweeps.steps import Step

        if not self.manifest.refined:
            bend = analyse(self.manifest.folder / JUDGED).verdict.saturation
            if not bend.found or bend.low is None or bend.high is None:
                self.curve.say(f"nothing to refine: {bend.why}")
                return []
            width = (bend.high - bend.low) / (_REFINED_STEPS + 1)
            self.manifest.refined = [round(bend.low + width * (index + 1), 2) for index in range(_REFINED_STEPS)]
            self.curve.say(f"saturation between {bend.low:g} and {bend.high:g}/s: {_REFINED_STEPS} more steps in there")
        first = len(self.course.steps())
        return [Step(first + index, rate, self.course.seconds) for index, rate in enumerate(self.manifest.refined)]

    def _begin(self, step: "Step", count: int) -> None:
        from logreplay.replay.monitor.snapshot import Stage

        rate, name = None if self.closed else step.rate, f"step {step.index + 1} of {count}"
        self.audience.begin(Stage(name, rate, step.seconds, level=step.rate, users=self.closed))

    def _end(self, done: "FinishedStep", outcome: "Outcome", results: "StepLog", spare: "_SpareDescriptors") -> None:
        from logreplay.analysis.wording import show

        step, counted = done.step, outcome.counters
        spare.free()
        self.manifest.finish(done, results.mark())
        spare.hold()
        expected = counted.http_error - counted.new_errors
        one = "of the http_error has the status of the log and does not count as failed"
        many = "of the http_error have the status of the log and do not count as failed"
        as_logged = f" ({number_of(expected, one, many)})" if expected else ""
        note = (
            f"{step.rate:g}{_unit(step, closed=self.closed)} for {show(outcome.seconds)}: "
            f"sent {counted.sent} = ok {counted.ok} + http_error {counted.http_error} + net_error {counted.net_error}"
            f"{as_logged}; {outcome.backlog} in flight at the end"
        )
        self.audience.end(outcome, state="" if done.carried or done.limit else "overloaded", note=note)
        self.curve.say(note, point_of(step.rate, outcome, good=done.carried))


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


def _unit(step: "Step", *, closed: bool) -> str:
    if not closed:
        return "/s"
    return " user" if step.rate == 1 else " users"
