"""Compares the rows and the answers of a duet, and writes what shows them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from logreplay.analysis.format_time import interval, show
from logreplay.analysis.input.json_values import JsonValue
from logreplay.analysis.json_text import json_text
from logreplay.analysis.output.folder import write_beside
from logreplay.analysis.response_diff.aggregate import AnswerDifferences, RouteTotal, Tally, read_rows
from logreplay.analysis.response_diff.diff import AnswerOf
from logreplay.analysis.response_diff.rules import IGNORED_HEADERS, Rules
from logreplay.analysis.summary import SCHEMA, About
from logreplay.analysis.summary_rows import protocol
from logreplay.analysis.verdict.checks import Check
from logreplay.analysis.verdict.comparison import Comparison, compare_duet
from logreplay.analysis.verdict.judged_runs import check_answers, check_candidate, check_without_limit, gate
from logreplay.analysis.verdict.ratio_interval import AT_ONCE_TOLERANCE
from logreplay.calls.duet_call import DuetCall
from logreplay.core.files import write_atomically
from logreplay.core.masking import masked
from logreplay.core.rows import read_batches
from logreplay.folder_results import DuetResult
from logreplay.inputs.streams import left_out
from logreplay.options.load import log_report
from logreplay.replay.requests.combine import ForTargets
from logreplay.replay.requests.plan import Plan
from logreplay.replay.results.by_target import CANDIDATES, DuetJudgement
from logreplay.replay.results.outcome import Outcome, addresses_of
from logreplay.replay.results.stop_rules import StopRule
from logreplay.replay.results.verdict import Finding, Severity
from logreplay.replay.schedules.rates import Schedule, Together
from logreplay.replay.senders.digests import pairs_of
from logreplay.replay.senders.pair_keeper import FILES, read_counts, read_pairs
from logreplay.runs.evaluation import stop_checks

KEPT: Final = 10
"""Differing pairs of each route that are shown, unless another number is asked for."""
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
    outcome: Outcome
    health: DuetJudgement
    findings: Sequence[Finding]
    rule: StopRule

    def result(self, folder: Path) -> DuetResult:
        """Compare the rows in a folder, and write what differs."""
        call, outcome = self.call, self.outcome
        tolerance = AT_ONCE_TOLERANCE if call.fail_above is None else min(AT_ONCE_TOLERANCE, call.fail_above)
        noise = folder / "noise.csv" if call.noise else None
        found = compare_duet(folder / "baseline.csv", folder / "candidate.csv", tolerance, noise)
        pairs = -(-outcome.scheduled // self.stream.together)  # of the last one some requests may be missing
        answers = differences(folder, pairs, call.ignore, call.keep) if call.compares_answers else None
        summary = self._summary(folder, found, answers)
        self._report(folder, found, answers, summary["targets"])
        return DuetResult(
            summary=summary,
            files=(folder, *(folder / f"{name}.csv" for name in call.targets)),
            findings=tuple(self._told),
            checks=tuple(self._checks(found, answers)),
            stopped=self._stopped,
            outcome=outcome,
            health=self.health,
            comparison=found,
            answers=answers,
            left_out=left_out(self.plan.requests, in_time=self.call.load.in_time),
        )

    def nothing(self, folder: Path) -> DuetResult:
        """The result if nothing was sent."""
        return DuetResult(summary={}, files=(folder,), stopped=self._stopped, outcome=self.outcome, health=self.health)

    @property
    def _stopped(self) -> str:
        """Why the duet ended before its plan did, in words; empty if it did not."""
        return f"stopped: {self.rule.hit}" if self.rule.hit else self.outcome.stopped

    @property
    def _told(self) -> list[Finding]:
        return [*self.findings, *self.outcome.health.findings]

    def _checks(self, found: Comparison, answers: AnswerDifferences | None) -> Iterator[Check]:
        """The validity of the duet, the conditions of --stop, its times, failures and answers."""
        call, health = self.call, self.health
        why = "; ".join(finding.text for finding in health.whole.findings)
        yield Check("valid duet", "passed" if health.valid else "unjudged", why)
        own = "; ".join(each.text for each in health.findings_of("candidate"))
        if health.generator.valid:  # or its requests may have failed on this machine
            yield check_candidate(own, failing=not {*CANDIDATES}.isdisjoint(health.failing))
        yield from stop_checks(self.rule)
        if call.fail_above is None:
            yield check_without_limit(found)
        else:
            yield from gate(found, call.fail_above)
        if call.fail_different is not None and answers:
            yield check_answers(answers.share, call.fail_different)

    def _summary(self, folder: Path, found: Comparison, answers: AnswerDifferences | None) -> dict[str, Any]:
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
            "judgement": self.health.sentence or None,
            "log": str(call.log),
            "options": call.as_summary(),
            "targets": {
                name: {figure: value[figure] for figure in _OF_TARGETS if figure in value}
                for name, value in targets.items()
            },
            "times": found.as_dict(),
            "answers": as_dict(answers) if answers else None,
            "findings": [each.as_dict() for each in self._told],
            "left_out": dict(self.plan.requests.left_out.most_common()),
            **addresses_of([outcome]),
            "stopped": outcome.stopped or None,
            "replay": log_report(self.stream.requests, self._of_one, outcome.scheduled // self.stream.together),
        }
        write_atomically(folder / "summary.json", json_text(summary) + "\n")
        return summary

    def _about(self, name: str) -> About:
        """The caller's part of the summary of one target: an invalid generator makes each target's run invalid."""
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
    def _of_one(self) -> Schedule:
        """The schedule of the requests to one target."""
        schedule = self.plan.schedule
        return schedule.schedule if isinstance(schedule, Together) else schedule

    def _report(
        self, folder: Path, found: Comparison, answers: AnswerDifferences | None, targets: dict[str, Any]
    ) -> None:
        """Write ``report.html``, and ``differences.csv`` and ``pairs.jsonl`` if answers were compared."""
        from logreplay.analysis.output.duet_page import html, write_differences  # loads matplotlib

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
        times = [*_mean_row(targets), *_time_rows(found)]
        answer = "; ".join(each for each in (self.health.sentence, found.sentence) if each)
        sentences = [each for each in (answer, *found.notes, found.not_covered) if each]
        if answers:
            write_differences(folder, answers)
        page = html(title, sentences, times, answers, facts, found if self.health.valid else None)
        write_atomically(folder / "report.html", page)


def differences(folder: Path, pairs: int, ignore: Sequence[str] = (), keep: int | None = None) -> AnswerDifferences:
    """Compare the pairs that the keepers wrote into a folder, and remove their files.

    Args:
        folder: folder of the duet.
        pairs: number of scheduled pairs; those that no keeper saw are counted as not compared.
        ignore: places whose differences do not count.
        keep: differing pairs of each route to show; None: `KEPT`.
    """
    tally = Tally(Rules.of(ignore), KEPT if keep is None else keep)
    counts: dict[str, Counter[str]] = {}
    timed_out = 0
    for path in sorted(folder.glob(FILES)):
        kept = read_counts(path)
        timed_out += kept.timed_out
        for route, count in kept.routes.items():
            counts.setdefault(route, Counter()).update(
                pairs=count.pairs, differing=count.differing, looked_at=count.sampled
            )
        for pair in read_pairs(path):
            tally.add(
                pair.row,
                pair.url,
                pair.route,
                [AnswerOf(answer.status, pairs_of(answer.head), *answer[2:]) for answer in pair.answers],
            )
        path.unlink()
    totals = {
        route: RouteTotal(count["pairs"], count["differing"], count["looked_at"]) for route, count in counts.items()
    }
    compared = sum(total.pairs for total in totals.values())
    return tally.differences(totals, timed_out, max(0, pairs - compared - timed_out))


def as_dict(found: AnswerDifferences) -> dict[str, Any]:
    """The differences for ``summary.json``."""
    totals = found.totals.values()
    return {
        "pairs": sum(total.pairs for total in totals),
        "pairs_differing": sum(total.differing for total in totals),
        "pairs_looked_at": sum(total.looked_at for total in totals),
        "share_different": found.share,
        "pairs_timed_out": found.timed_out,
        "pairs_not_compared": found.uncompared,
        "noise": found.noise,
        "differences": [
            {"route": row.route, "place": row.place, "kind": row.kind, "count": row.count, "share": row.share,
             "noise_share": row.noise_share, "p": row.p}
            for row in found.counting
        ],
        "not_counting": len(found.rows) - len(found.counting),
        "ignored_headers": list(IGNORED_HEADERS),
        "ignore_unused": list(found.unused),
    }  # fmt: skip


def answers_of(folder: Path, told: JsonValue) -> AnswerDifferences | None:
    """The differences of a duet by its files, without examples; None if they were not compared, or the table is gone.

    Args:
        folder: folder of the duet.
        told: ``answers`` of its summary, as `as_dict` makes it.
    """
    path = folder / "differences.csv"
    if not (told.value and path.exists()):
        return None
    names = ("pairs", "pairs_differing", "pairs_looked_at", "pairs_timed_out", "pairs_not_compared")
    pairs, differing, looked_at, timed_out, uncompared = (int(told[name].number(most=1e15)) for name in names)
    return AnswerDifferences(
        rows=read_rows(path),
        totals={"": RouteTotal(pairs, differing, looked_at)},
        noise=told["noise"].value is True,
        share=told["share_different"].number(),
        timed_out=timed_out,
        uncompared=uncompared,
        unused=[word.text() for word in told["ignore_unused"].each()],
        examples=(),
    )


def _time_rows(found: Comparison) -> list[dict[str, str]]:
    """The changes of a duet as rows of a table: percentiles, then routes, secrets masked."""
    return [
        {"of": masked(name), "change": f"{change.ratio - 1:+.1%}", "interval": interval(change.low, change.high),
         "requests": f"{change.count:,}", "verdict": found.verdicts[name]}
        for name, change in (*found.quantiles.items(), *found.routes.items())
    ]  # fmt: skip


def _mean_row(targets: Mapping[str, Any]) -> list[dict[str, str]]:
    """The change of the mean response time as a row of the table of `_time_rows`; none if one is unknown."""
    figures = [targets.get(name, {}).get("response_s", {}) for name in ("baseline", "candidate")]
    before, after = (each.get("mean") for each in figures)
    if not before or not after:
        return []
    means = f"{show(before)} to {show(after)}, no interval"
    return [{"of": "mean", "change": f"{after / before - 1:+.1%}", "interval": means,
             "requests": f"{figures[1]['count']:,}", "verdict": "–"}]  # fmt: skip
