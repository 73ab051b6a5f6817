"""Compares the rows of a duet, and writes what shows it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from logreplay.analysis.json_text import json_text
from logreplay.analysis.output.folder import write_beside
from logreplay.analysis.summary import SCHEMA, About, protocol
from logreplay.analysis.verdict.checks import Check
from logreplay.analysis.verdict.comparison import compare_duet
from logreplay.analysis.verdict.judged_runs import check_answers, check_candidate, gate
from logreplay.analysis.verdict.ratio_interval import AT_ONCE_TOLERANCE
from logreplay.calls.duet_call import DuetCall
from logreplay.core.files import write_atomically
from logreplay.core.rows import read_batches
from logreplay.folder_results import DuetResult
from logreplay.inputs.streams import left_out
from logreplay.options.load import log_report
from logreplay.replay.requests.combine import ForTargets
from logreplay.replay.requests.plan import Plan
from logreplay.replay.results.by_target import CANDIDATES, DuetJudgement
from logreplay.replay.results.outcome import addresses_of
from logreplay.replay.results.verdict import Severity
from logreplay.replay.schedules.rates import Together
from logreplay.runs import pair_answers
from logreplay.runs.evaluation import stop_checks

if TYPE_CHECKING:
    from logreplay.analysis.response_diff.aggregate import AnswerDifferences
    from logreplay.analysis.verdict.comparison import Comparison
    from logreplay.replay.results.outcome import Outcome
    from logreplay.replay.results.stop_rules import StopRule
    from logreplay.replay.results.verdict import Finding
    from logreplay.replay.schedules.rates import Schedule

_OF_TARGETS: Final = ("target", "verdict", "answer", "requests", "response_s", "by_step")
"""Figures of each target's summary that summary.json of the duet repeats."""


@dataclass(frozen=True, slots=True)
class EndedDuet:
    """A duet that was sent.

    Attributes:
        call: arguments of the duet.
        stream, plan: the requests, and when they were due.
        outcome, health: result of the engine, and the verdict on it.
        findings: besides those of the outcome.
        rule: watched for the conditions that end it.
    """

    call: DuetCall
    stream: ForTargets
    plan: Plan
    outcome: "Outcome"
    health: DuetJudgement
    findings: "Sequence[Finding]"
    rule: "StopRule"

    def result(self, folder: Path) -> DuetResult:
        """Compare the rows in a folder, and write what differs."""
        call, outcome = self.call, self.outcome
        tolerance = AT_ONCE_TOLERANCE if call.fail_above is None else min(AT_ONCE_TOLERANCE, call.fail_above)
        noise = folder / "noise.csv" if call.noise else None
        found = compare_duet(folder / "baseline.csv", folder / "candidate.csv", tolerance, noise)
        pairs = -(-outcome.scheduled // self.stream.together)  # of the last one some requests may be missing
        differences = pair_answers.differences(folder, call.answer_rules, pairs) if call.compares_answers else None
        summary = self._summary(folder, found, differences)
        self._report(folder, found, differences, summary["targets"])
        return DuetResult(
            summary=summary,
            files=(folder, *(folder / f"{name}.csv" for name in call.targets)),
            findings=tuple(self._told),
            checks=tuple(self._checks(found, differences)),
            stopped=f"stopped: {self.rule.hit}" if self.rule.hit else outcome.stopped,
            outcome=outcome,
            health=self.health,
            comparison=found,
            answers=differences,
            left_out=left_out(self.plan.requests, in_time=self.call.load.in_time),
        )

    def nothing(self, folder: Path) -> DuetResult:
        """The result if nothing was sent."""
        outcome = self.outcome
        return DuetResult(summary={}, files=(folder,), stopped=outcome.stopped, outcome=outcome, health=self.health)

    @property
    def _told(self) -> "list[Finding]":
        return [*self.findings, *self.outcome.health.findings]

    def _checks(self, found: "Comparison", differences: "AnswerDifferences | None") -> Iterator[Check]:
        """The validity of the duet, the conditions of --stop, its times, failures and answers."""
        call, health = self.call, self.health
        why = "; ".join(finding.text for finding in health.whole.findings)
        yield Check("valid duet", "passed" if health.valid else "unjudged", why)
        own = "; ".join(each.text for each in health.findings_of("candidate"))
        if health.generator.valid:  # or its requests may have failed on this machine
            yield check_candidate(own, failing=not {*CANDIDATES}.isdisjoint(health.failing))
        yield from stop_checks(call.stop_at, call.stop_asked, self.rule)
        if call.fail_above is None:
            yield Check("times", text=found.sentence)
        else:
            yield from gate(found, call.fail_above)
        if call.fail_different is not None and differences:
            yield check_answers(differences.share, call.fail_different)

    def _summary(self, folder: Path, found: "Comparison", differences: "AnswerDifferences | None") -> dict[str, Any]:
        """Write the summary of the duet, and the files of each target's result log."""
        call, outcome = self.call, self.outcome
        targets = {
            name: write_beside(folder / f"{name}.csv", self._about(name))[0] | {"target": url}
            for name, url in call.targets.items()
            if any(rows.height for rows in read_batches(folder / f"{name}.csv", ("seq",)))
        }
        summary = {
            "schema": SCHEMA,
            "verdict": str(self.health.whole.verdict),
            "log": str(call.log),
            "options": call.as_summary(),
            "targets": {
                name: {figure: value[figure] for figure in _OF_TARGETS if figure in value}
                for name, value in targets.items()
            },
            "times": found.as_dict(),
            "answers": pair_answers.as_dict(differences) if differences else None,
            "findings": [each.as_dict() for each in self._told],
            "left_out": dict(self.plan.requests.left_out.most_common()),
            **addresses_of([outcome]),
            "stopped": outcome.stopped or None,
            "replay": log_report(self.stream.requests, self._of_one, outcome.scheduled // self.stream.together),
        }
        write_atomically(folder / "summary.json", json_text(summary) + "\n")
        return summary

    def _about(self, name: str) -> About:
        """What only the caller knows of the run of one target: what makes the generator invalid makes it so, too."""
        health, more = self.health, {"stopped": self.outcome.stopped or None}
        told: Sequence[Finding] = health.findings_of(name)
        if not health.generator.valid:
            others = {each.text for found in health.targets.values() for each in found} - {each.text for each in told}
            told = [each for each in self._told if each.text not in others]
        own = health.of_target(name)
        more |= {} if own.valid else {"verdict": str(own.verdict)}
        findings = [each.as_dict() for each in told]
        return About(str(self.call.log), self.call.urls_of(name), self.call.as_summary(), findings, more)

    @property
    def _of_one(self) -> "Schedule":
        """The schedule of the requests to one target."""
        schedule = self.plan.schedule
        return schedule.schedule if isinstance(schedule, Together) else schedule

    def _report(
        self, folder: Path, found: "Comparison", differences: "AnswerDifferences | None", targets: dict[str, Any]
    ) -> None:
        call, outcome, rate = self.call, self.outcome, self._of_one.rate
        verdict = "; ".join(filter(None, (str(self.health.whole.verdict), self.health.sentence)))
        spoken = " and ".join(dict.fromkeys(protocol(url, call.as_summary()) for url in call.targets.values()))
        to = "requests, each to one target" if call.alternate else "requests to each target"
        facts = [*call.targets.items(), ("log", str(call.log)), ("protocol", spoken)]
        if call.turns:
            two = " and ".join(call.swap or ())
            facts.insert(2, ("second pair", f"{two}: both pairs take turns of {call.turns.every:g} s"))
        facts += [("mean rate", f"{rate:,.6g}/s")] if rate else []
        facts += [(to, f"{outcome.scheduled // self.stream.together:,} in {outcome.seconds:,.1f} s")]
        facts += [("verdict", verdict)]
        facts += [
            ("invalid" if each.severity is Severity.VOID else str(each.severity), each.text) for each in self._told
        ]
        title = f"{call.baseline} and {call.candidate}"
        times = [*pair_answers.mean_row(targets), *pair_answers.time_rows(found)]
        answer = "; ".join(each for each in (self.health.sentence, found.sentence) if each)
        sentences = [each for each in (answer, *found.notes, found.not_covered) if each]
        pair_answers.write(folder, title, sentences, times, differences, facts, found if self.health.valid else None)
