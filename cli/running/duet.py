"""Makes one duet: two targets at once, from the options to the comparison and the exit code."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import click

from logreplay.calling.loop_thread import run_in_loop, unless_stopped
from logreplay.calling.stopping import stop_rule, watched
from logreplay.cli.display.bug_report import tell_of_loop
from logreplay.cli.display.left_out import report_left_out
from logreplay.cli.display.progress import Terminal
from logreplay.cli.display.terminal import say_finding, severity_word
from logreplay.cli.display.words import print_arrivals
from logreplay.cli.exit_codes import Exit, of_checks
from logreplay.cli.options.replay import ReplayOptions
from logreplay.cli.running.reporting import evaluating, measuring
from logreplay.cli.signals import SIGNALS
from logreplay.inputs.logs import followed, replayable
from logreplay.inputs.streams import request_stream
from logreplay.options.answer_rules import AnswerRules
from logreplay.options.conflicts import reconciled
from logreplay.options.load import Load, log_report, log_sentence
from logreplay.runs import pair_answers
from logreplay.runs.engines import replayer
from logreplay.runs.result_files import ResultFolder, further_files, inputs
from logreplay.runs.sessions import report_sessions

if TYPE_CHECKING:
    from logreplay.analysis.answers.tally import AnswerDifferences
    from logreplay.analysis.verdict.comparison import Comparison
    from logreplay.analysis.verdict.gates import Check
    from logreplay.inputs.logs import Log
    from logreplay.replay.requests.mix import ForTargets
    from logreplay.replay.requests.plan import Plan
    from logreplay.replay.requests.remote import Stored
    from logreplay.replay.requests.siege_list import UrlList
    from logreplay.replay.requests.sources import RequestSource
    from logreplay.replay.results.by_target import DuetHealth
    from logreplay.replay.results.outcome import Outcome
    from logreplay.replay.results.verdict import Finding
    from logreplay.replay.senders.contract import Sender
    from logreplay.replay.senders.pair_keeper import Keeping

NAMES: Final = ("baseline", "candidate", "noise")
"""The targets, in the order of their numbers in the plan."""
_GIVEN_AS: Final = ("BASELINE", "CANDIDATE", "--noise")
_OF_TARGETS: Final = ("target", "verdict", "answer", "requests", "response_s", "by_step")
"""Figures of each target's summary that summary.json of the duet repeats."""
_INVALID: Final = "invalid duet: its figures prove nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class DuetOptions(ReplayOptions):
    """One duet, as the user asked for it."""

    log: "Log"
    baseline: str
    candidate: str
    noise: str | None
    load: Load
    answer_rules: AnswerRules
    alternate: bool
    fail_above: float | None
    fail_different: float | None
    junit: Path | None
    history: Path | None
    target: str | None = None
    demo_target: bool = False

    @property
    def targets(self) -> dict[str, str]:
        """The targets by name."""
        urls = (self.baseline, self.candidate, *((self.noise,) if self.noise else ()))
        return dict(zip(NAMES, urls, strict=False))

    @property
    def compares_answers(self) -> bool:
        """Whether both targets get each request, and digests are wanted."""
        return not self.alternate and self.sender_rules.digest is not False

    def said(self) -> dict[str, Any]:
        """What the user said, for the summary."""
        return {
            **self.load.said(self.request_rules.seed),
            **self.request_rules.said(),
            **self.sender_rules.said(),
            **self.answer_rules.said(),
        }

    def checked(self) -> Self:
        """Return the options, with one worker where others of them need that.

        Raises:
            UsageError: two of them exclude each other; names both.
        """
        if (users := self.load.vusers is not None) or self.load.think != 0.0:
            raise click.UsageError(
                f"duet and {'--vusers' if users else '--think'} exclude each other: a user (--vusers) waits for one "
                "response, and a pair has two; give a rate, such as --tps 100"
            )
        if self.alternate and self.noise:
            raise click.UsageError(
                "--alternate and --noise exclude each other: --noise needs all responses to one request, and "
                "--alternate sends it to one target"
            )
        if self.fail_different is not None and not self.compares_answers:
            raise click.UsageError(
                "--fail-different needs both answers to a request: leave out --no-digest and --alternate"
            )
        if self.sender_rules.cluster:
            raise click.UsageError(
                "duet and --cluster exclude each other: pairs are compared on this machine; use --workers"
            )
        if (given := self.answer_rules.given) and not self.compares_answers:
            other = "--alternate" if self.alternate else "--no-digest"
            raise click.UsageError(f"{given} and {other} exclude each other: {other} compares no answers")
        if (auth := self.request_rules.auth) and auth.expires:
            raise click.UsageError(
                f"duet and --auth {auth} exclude each other: each target would need its own signature"
            )
        load = self.load.checked(users=False)
        sender_rules = reconciled(self.sender_rules, self.request_rules, load)
        return replace(self, load=load, sender_rules=replace(sender_rules, digest=sender_rules.digest is not False))


def duet_once(options: DuetOptions) -> Exit:
    """Replay a log against two targets at once, and compare them.

    Raises:
        UsageError: options exclude each other.
        LogreplayError: the log cannot be read, a target not be loaded, or the results not be written.
    """
    from logreplay.core.errors import LogreplayError
    from logreplay.replay.requests.mix import ForTargets, duet_plan
    from logreplay.replay.requests.plan import signing_part

    options = options.checked()
    options.warn_beyond_timeout({})
    load, sender_rules, terminal = options.load, options.sender_rules, options.terminal()
    reads = inputs(options.log, options.request_rules, sender_rules)
    others = further_files({"--junit": options.junit, "--history": options.history}, reads)
    if options.history:
        from logreplay.analysis.output.history import check, of_duet

        check(options.history, of_duet({}))
    with ResultFolder.named(options.output, "duet", reads, force=options.force, others=others) as folder:
        with ExitStack() as stack:
            stream = request_stream(
                options.request_rules,
                sender_rules,
                _source(options, stack, terminal),
                stack,
                terminal.note,
                loop=load.loops,
                keep=load.keep,
                skip_idle=load.skip_idle,
                in_time=load.in_time,
                ahead=True,
            )
            if signing_part(stream):
                raise click.UsageError(
                    "duet and a --hook that is marked as signing exclude each other: each target would need a "
                    "signature of its own; remove the mark"
                )
            several = ForTargets(stream, len(options.targets), options.request_rules.seed + 2, options.alternate)
            duet = _OneDuet(
                options,
                folder.path,
                several,
                duet_plan(several, load.schedule(options.request_rules, stream)),
                terminal,
            )
            with measuring(folder.path, lambda: folder.measured, quiet=options.quiet):
                try:
                    outcome, health, findings = duet.replay()
                except LogreplayError as error:
                    paths = [path for name in NAMES if (path := folder.path / f"{name}.csv").exists()]
                    rows = [str(path) for path in paths if not str(error).endswith(f"kept in {path}")]
                    if not rows:
                        raise
                    raise LogreplayError(f"{error}; the rows are kept in {' and '.join(rows)}") from error
        if not folder.measured:
            options.say(f"nothing was sent: {outcome.why_nothing}")
            return Exit.INTERRUPTED if outcome.stopped else Exit.FAILED
        place = folder.keep()
        with evaluating("logreplay", "compare", *(str(place / f"{name}.csv") for name in NAMES[:2])):
            return duet.report(place, outcome, health, [*findings, *outcome.health.findings])


def _source(options: DuetOptions, stack: ExitStack, terminal: Terminal) -> "Path | Stored | UrlList | RequestSource":
    """Where the requests come from.

    Raises:
        UsageError: the log names a target of its own, or cannot be followed.
    """
    from logreplay.replay.requests.siege_list import UrlList

    if options.load.follow:
        if not isinstance(options.log, Path):
            raise click.UsageError(f"--follow {options.log}: expected a log file that a server writes")
        return followed(options.log, options.load.duration)
    source = stack.enter_context(replayable(options.log, terminal.note))
    if isinstance(source, UrlList) and source.target:
        raise click.UsageError(
            f"{source} names its own target, {source.target}, and duet sends to BASELINE and CANDIDATE: name a log"
        )
    return source


def _several(makers: "Sequence[Callable[..., Sender]]", keeping: "Keeping | None", **given: Any) -> "Sender":
    """The sender of a duet, made of those to each target; it keeps pairs that differ."""
    from logreplay.replay.senders.several import by_target, target_of

    if keeping is None:
        return by_target([make(**given) for make in makers])
    from logreplay.replay.senders.pair_keeper import PairSender

    return PairSender(makers, target_of, keeping, **given)


def _told(health: "DuetHealth") -> str:
    """What a duet that is not valid, or whose candidate fails, says for itself; empty of any other."""
    failing = f"more than half of the requests to the {' and the '.join(health.failing)} failed"
    told = () if health.valid else (_INVALID,)
    return "; ".join((*told, *((failing,) if health.failing else ())))


@dataclass(frozen=True, slots=True)
class _OneDuet:
    """A duet under way."""

    options: DuetOptions
    folder: Path
    stream: "ForTargets"
    plan: "Plan"
    terminal: Terminal

    def replay(self) -> "tuple[Outcome, DuetHealth, list[Finding]]":
        """Run the plan, and tell how it goes; what became of it, the verdict, and the findings besides."""
        from logreplay.analysis.output.file_names import belonging, logins_beside
        from logreplay.analysis.output.folder import write_unfinished
        from logreplay.analysis.summary import About
        from logreplay.replay.engine.engine import stopped_by
        from logreplay.replay.monitor.snapshot import Stage
        from logreplay.replay.results.by_target import ByTarget, DuetHealth
        from logreplay.replay.results.login_log import LoginLog
        from logreplay.replay.results.result_log import InSteps, ResultLog, grows_at
        from logreplay.replay.senders.endpoint import are_one

        options, schedule, load = self.options, self.plan.schedule, self.options.load
        sender_rules, together = options.sender_rules, self.stream.together
        paths = [self.folder / f"{name}.csv" for name in options.targets]
        rule, peak = stop_rule(options.stop_at), load.peak * together
        share = together / len(paths)
        keep = pair_answers.keeping(self.folder, together, sender_rules.timeout)
        keeping = keep if options.compares_answers else None
        levels = [(rate * share, seconds) for rate, seconds in load.steps or ()]

        async def main(stop: asyncio.Event) -> "tuple[Outcome, DuetHealth, list[Finding]]":
            # all permissions before the first request
            endpoints = [await unless_stopped(stop, sender_rules.endpoint(url)) for url in options.targets.values()]
            for (name, one), (other, another) in combinations(zip(_GIVEN_AS, endpoints, strict=False), 2):
                if are_one(one, another):
                    chance = "any difference between them is due to chance"
                    options.say(f"{name} and {other} name one target, {one.target}; {chance}")
            makers: list[Callable[..., Sender]] = []
            findings: dict[str, Finding] = {}
            for endpoint in endpoints:
                ready = sender_rules.ready(endpoint, paths[0], rate=peak, duration=schedule.duration, together=together)
                make, found = await unless_stopped(stop, ready)
                makers.append(make)
                findings |= {finding.text: finding for finding in found}
            logs = [ResultLog(path, force=True, belonging=belonging) for path in paths]
            for made, url in zip(logs if levels else (), options.targets.values(), strict=False):
                write_unfinished(made.growing, About(str(options.log), url, options.said()))
            results = ByTarget([InSteps(log, levels) if levels else log for log in logs], together)
            logins = LoginLog(logins_beside(self.folder / "results.csv"), several=True)
            async with (
                replayer(sender_rules, partial(_several, makers, keeping), results, logins=logins, rate=peak) as engine,
                stopped_by(stop, engine),
            ):
                with audience.may_set(stop):
                    steady = load.steady and load.steady * together
                    audience.begin(Stage(rate=steady, planned=schedule.duration))
                    outcome = await engine.run(self.plan, watched(rule, engine, audience.see))
                    health = DuetHealth.of(outcome.health, options.targets, results.counters)
                    outcome = replace(outcome, health=health.whole)
                    audience.end(outcome)
            answers = outcome.counters.completed * sender_rules.cookies
            told = report_sessions(engine, answers=answers, told=outcome.health.findings)
            return outcome, health, [*findings.values(), *audience.findings, *told, *rule.findings()]

        grows, where = grows_at(paths[0], belonging), " and ".join(options.targets.values())
        with (
            options.telling.audience("duet", where, grows, self.terminal) as audience,
            SIGNALS.hearing(),
        ):
            return run_in_loop(main, tell_of_loop)

    def report(self, folder: Path, outcome: "Outcome", health: "DuetHealth", findings: "list[Finding]") -> Exit:
        """Compare the results, write and print what differs."""
        from logreplay.analysis.verdict.change import AT_ONCE_TOLERANCE
        from logreplay.analysis.verdict.comparison import compare_duet
        from logreplay.cli.display.comparison import print_comparison, say_gates
        from logreplay.cli.display.differences import print_differences

        options = self.options
        tolerance = min(AT_ONCE_TOLERANCE, options.fail_above or 1)
        found = compare_duet(folder / "baseline.csv", folder / "candidate.csv", tolerance)
        pairs = -(-outcome.scheduled // self.stream.together)  # of the last one some requests may be missing
        differences = (
            pair_answers.differences(folder, options.answer_rules, pairs) if options.compares_answers else None
        )
        summary = self._summary(folder, outcome, health, findings, found, differences)
        if options.as_json:
            click.echo(json.dumps(summary, indent=2))
        elif not options.quiet:
            print_arrivals(summary["options"])
            if told := _told(health):
                click.echo(told)
            click.echo(found.sentence)
            runs = [options.baseline, options.candidate]
            print_comparison(found, runs, statuses=not options.alternate)
            if differences:
                print_differences(differences)
        report_left_out(self.plan.requests, quiet=options.quiet)
        for note in (log_sentence(summary["replay"]), *found.notes):
            if note:
                options.say(note)
        for finding in findings:
            say_finding(finding.severity, finding.text, quiet=options.quiet)
        if outcome.stopped:
            options.say(f"stopped: {outcome.stopped}; the rows are kept")
        of = f" ({' and '.join(health.failing)})" if outcome.health.verdict == "TARGET_FAILING" else ""
        options.say(f"verdict: {outcome.health.verdict}{of}\nresults: {folder}")
        checks = list(self._checks(health, findings, found, differences))
        say_gates(checks)
        if options.junit:
            from logreplay.analysis.output.junit import write_junit

            write_junit(options.junit, "duet", checks)
        if options.history:
            from logreplay.analysis.output.history import append, of_duet

            append(options.history, of_duet(summary))
        if outcome.stopped:
            return Exit.INTERRUPTED if outcome.stopped == "interrupted" else Exit.CONDITION
        return of_checks(checks) if health.valid else Exit.INVALID

    def _checks(
        self,
        health: "DuetHealth",
        findings: "list[Finding]",
        found: "Comparison",
        differences: "AnswerDifferences | None",
    ) -> "Iterator[Check]":
        """The validity of the duet, conditions of --stop that were refused, its times, failures and answers."""
        from logreplay.analysis.verdict.gates import Check, check_answers, check_candidate, gate
        from logreplay.replay.results.stop_rules import STOP_REFUSED

        options = self.options
        why = "; ".join(finding.text for finding in health.whole.findings)
        yield Check("valid duet", "passed" if health.valid else "unjudged", why)
        yield check_candidate(
            "; ".join(each.text for each in health.targets["candidate"]), failing="candidate" in health.failing
        )
        yield from (Check("--stop", "unjudged", each.text) for each in findings if each.code == STOP_REFUSED)
        if options.fail_above is None:
            yield Check("times", text=found.sentence)
        else:
            yield from gate(found, options.fail_above)
        if options.fail_different is not None and differences:
            yield check_answers(differences.share, options.fail_different)

    def _summary(
        self,
        folder: Path,
        outcome: "Outcome",
        health: "DuetHealth",
        findings: "list[Finding]",
        found: "Comparison",
        differences: "AnswerDifferences | None",
    ) -> dict[str, Any]:
        """Write the summary of the duet, and the files of each target's result log."""
        from logreplay.analysis.output.folder import write_beside
        from logreplay.analysis.summary import About, protocol
        from logreplay.core.files import write_atomically
        from logreplay.core.rows import read_batches
        from logreplay.replay.schedules.rates import Together

        options, log, schedule = self.options, str(self.options.log), self.plan.schedule
        of_one = schedule.schedule if isinstance(schedule, Together) else schedule
        said = options.said()
        verdict, told = str(health.whole.verdict), [each.as_dict() for each in findings]
        targets = {}
        for name, url in options.targets.items():
            if not any(rows.height for rows in read_batches(folder / f"{name}.csv", ("seq",))):
                continue
            own, more = health.of_target(name), {"stopped": outcome.stopped or None}
            more |= {} if own.valid else {"verdict": str(own.verdict)}
            # what makes the generator's part invalid makes the run of each target so
            others = {each.text for other in health.targets if other != name for each in health.targets[other]}
            of_it = (
                health.targets[name] if health.generator.valid else [one for one in findings if one.text not in others]
            )
            about = About(log, url, said, [each.as_dict() for each in of_it], more)
            targets[name] = write_beside(folder / f"{name}.csv", about) | {"target": url}
        summary = {
            "verdict": verdict,
            "log": log,
            "options": said,
            "targets": {
                name: {figure: value[figure] for figure in _OF_TARGETS if figure in value}
                for name, value in targets.items()
            },
            "times": found.as_dict(),
            "answers": pair_answers.as_dict(differences) if differences else None,
            "findings": told,
            "left_out": outcome.left_out,
            "stopped": outcome.stopped or None,
            "replay": log_report(self.stream.requests, of_one, outcome.scheduled // self.stream.together),
        }
        write_atomically(folder / "summary.json", json.dumps(summary, indent=2) + "\n")
        title = f"{options.baseline} and {options.candidate}"
        load = f"{outcome.scheduled // self.stream.together:,} in {outcome.seconds:,.1f} s"
        rate = [("mean rate", f"{of_one.rate:,.6g}/s")] if of_one.rate else []
        to = "requests, each to one target" if options.alternate else "requests to each target"
        verdict = "; ".join(filter(None, (verdict, _told(health))))
        spoken = " and ".join(dict.fromkeys(protocol(url, said) for url in options.targets.values()))
        facts = [*options.targets.items(), ("log", log), ("protocol", spoken), *rate, (to, load), ("verdict", verdict)]
        facts += [(severity_word(each.severity), each.text) for each in findings]
        pair_answers.write(
            folder, title, [found.sentence, *found.notes], pair_answers.time_rows(found), differences, facts
        )
        return summary
