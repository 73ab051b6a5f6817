"""Makes one replay: from its options to its result log, its summary and its exit code."""

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import click

from logreplay.cli.display.junit import Check, write_junit
from logreplay.cli.display.outlet import Outlet
from logreplay.cli.display.terminal import say, say_finding
from logreplay.cli.exit_codes import Exit
from logreplay.cli.options.conflicts import reconciled
from logreplay.cli.options.replay import ReplayOptions
from logreplay.cli.options.requests import base
from logreplay.cli.options.schedule import Pacing, log_report, log_sentence
from logreplay.cli.options.stop import stop_rule, watched
from logreplay.cli.running.engines import replayer
from logreplay.cli.running.log_and_target import followed, replayable, target_or_builtin
from logreplay.cli.running.loop import run_in_loop, unless_stopped
from logreplay.cli.running.outputs import check_apart, claim, inputs, place_for
from logreplay.cli.running.reporting import measuring, print_arrivals, report_sessions
from logreplay.cli.running.requests import aim, changed_routes, report_left_out, request_stream, say_lacking
from logreplay.cli.running.signals import SIGNALS
from logreplay.core.plural import number_of

if TYPE_CHECKING:
    from logreplay.cli.running.log_and_target import Log
    from logreplay.replay.requests.plan import Plan
    from logreplay.replay.requests.remote import Stored
    from logreplay.replay.requests.siege_list import UrlList
    from logreplay.replay.requests.sources import RequestSource
    from logreplay.replay.results.outcome import Outcome
    from logreplay.replay.results.stop_rules import StopRule
    from logreplay.replay.results.verdict import Finding
    from logreplay.replay.senders.trace import Watch
    from logreplay.replay.sessions.logins import Logins

_STATUSES: Final = 8
"""Most kinds of unexpected statuses that are printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(ReplayOptions):
    """One replay, as the user asked for it."""

    log: "Log | None"
    pacing: Pacing
    crash: bool
    verbose: bool
    debug: bool
    classic: bool
    dry_run: bool
    junit: Path | None
    history: Path | None

    def checked(self) -> Self:
        """Return the options, with one worker where others of them need that.

        Raises:
            UsageError: two of them exclude each other; names both.
        """
        pacing = self.pacing.checked()
        if self.verbose and self.as_json:
            raise click.UsageError("--verbose and --json exclude each other: both write to standard output")
        if self.classic and self.as_json:
            raise click.UsageError(
                "--classic and --json exclude each other: the JSON has these figures; leave out --classic"
            )
        for option, given in (("--verbose", self.verbose), ("--debug", self.debug), ("--classic", self.classic)):
            if given and self.quiet:
                raise click.UsageError(
                    f"{option} and --quiet exclude each other: one prints more, the other less; choose one"
                )
        telling = self.telling
        measured = {
            "--junit": self.junit, "--history": self.history,
            "--live": telling.live, "--metrics": telling.metrics, "--watch": telling.watch,
        }  # fmt: skip
        if self.dry_run and (option := next((name for name, given in measured.items() if given), "")):
            raise click.UsageError(f"{option} and --dry-run exclude each other: nothing is sent or measured")
        if self.dry_run and self.pacing.loop and self.pacing.endless:
            raise click.UsageError("--dry-run and --loop need an end: add --for 1m or --requests 1000")
        fewest = {"--vusers": self.pacing.vusers} if self.pacing.vusers else {}
        return replace(self, pacing=pacing, sending=reconciled(self.sending, self.shaping, pacing, users=fewest))


def replay_once(options: RunOptions) -> Exit:
    """Replay a log, or show what would be sent.

    Raises:
        UsageError: options exclude each other.
        LogreplayError: the log cannot be read, the target not be loaded, or the results not be written.
    """
    from logreplay.replay.requests.plan import Plan
    from logreplay.replay.senders.trace import Watch

    options = options.checked()
    pacing, sending = options.pacing, options.sending
    options.warn_beyond_timeout({})
    with ExitStack() as stack:
        if not options.dry_run:
            reads = inputs(options.log, options.shaping, sending)
            check_apart({"--junit": options.junit, "--history": options.history}, reads)
            if options.history:
                from logreplay.analysis.output.history import check, of_run

                check(options.history, of_run({}))
            force = options.force and options.output is not None
            path = place_for(options.output, lambda path: claim(path, reads, force=force), "run", ".csv")
        log, source = _sources(options, stack)
        stream = request_stream(
            options.shaping,
            sending,
            source,
            stack,
            loop=pacing.loops and not (options.dry_run and pacing.answers_decide),
            keep=pacing.keep,
            skip_idle=pacing.skip_idle,
            in_time=pacing.in_time,
            ahead=pacing.vusers is not None,
            quiet=options.quiet,
        )
        plan = Plan(stream, pacing.schedule(options.shaping, stream))
        if options.dry_run:
            sessions = sending.session_plan()
            return _preview(plan, options, sessions.logins if sessions else None)
        url = stack.enter_context(target_or_builtin(options, log, given=options.log is not None))
        aim(options.shaping, url)
        watch = Watch(options.crash, secrets=sending.show_secrets)
        run = _OneRun(options, path, plan, url, watch, stop_rule(options.stop_at))
        exchanges = Outlet(sys.stdout) if options.verbose else None
        if exchanges:
            watch.show = lambda text: exchanges.write(f"{text}\n")
        ended = run.replay()
    stopped = ended.outcome.stopped
    if not ended.outcome.scheduled:
        options.say(f"nothing was sent: {ended.outcome.why_nothing}")
        return Exit.INTERRUPTED if stopped else Exit.FAILED
    return run.report(ended, exchanges)


def _sources(
    options: RunOptions, stack: ExitStack
) -> "tuple[Path | Stored | UrlList, Path | Stored | UrlList | RequestSource]":
    """What a built-in target answers from, and where the requests come from."""
    if not options.pacing.follow:
        sender = None if options.dry_run else options
        csv = stack.enter_context(replayable(options.log, quiet=options.quiet, sender=sender))
        return csv, csv
    if options.log is None or options.target is None or options.dry_run:
        raise click.UsageError(
            "--follow needs LOG and TARGET, and excludes --dry-run: its requests are not written yet"
        )
    if not isinstance(options.log, Path):
        raise click.UsageError(f"--follow {options.log}: expected a log file that a server writes")
    return options.log, followed(options.log, options.pacing.duration)


@dataclass(frozen=True, slots=True)
class _Ended:
    """A replay that ended.

    Attributes:
        outcome: of the engine.
        findings: all of them.
        course: the lines of ``--debug``.
        summary: as it was written; empty if no request was due.
    """

    outcome: "Outcome"
    findings: "list[Finding]"
    course: list[str]
    summary: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _OneRun:
    """A replay under way."""

    options: RunOptions
    path: Path
    plan: "Plan"
    url: str
    watch: "Watch"
    rule: "StopRule"

    def replay(self) -> _Ended:
        """Run the plan, tell how it goes, and write the summary: before anything that may wait for a terminal."""
        from logreplay.analysis.output.file_names import belonging
        from logreplay.replay.engine.engine import Engine, stopped_by
        from logreplay.replay.monitor.snapshot import Stage
        from logreplay.replay.results.outcome import describe_course
        from logreplay.replay.results.result_log import InSteps, ResultLog, grows_at
        from logreplay.replay.schedules.users import Users
        from logreplay.replay.senders.trace import describe_counts

        options, schedule, path = self.options, self.plan.schedule, self.path
        sending, peak = options.sending, options.pacing.peak

        async def main(stop: asyncio.Event) -> "tuple[Outcome, list[Finding], list[str], dict[str, Any]]":
            ready = sending.ready(self.url, path, rate=peak, duration=schedule.duration)
            sender, findings = await unless_stopped(stop, ready)
            log = ResultLog(path, force=options.force, belonging=belonging)
            results = InSteps(log, options.pacing.steps) if options.pacing.steps else log
            closed = isinstance(schedule, Users)
            async with (
                replayer(sending, sender, results, self.watch, rate=peak, closed=closed) as engine,
                stopped_by(stop, engine),
            ):
                with audience.may_set(stop):
                    audience.begin(Stage(rate=options.pacing.steady, planned=schedule.duration))
                    outcome = await engine.run(self.plan, watched(self.rule, engine, audience.see))
                    audience.end(outcome)
            course = []
            if options.debug:
                how = f"{sending.sender} sender, workers {sending.processes(peak)}, {sending.limits}"
                course += [f"target {self.url}; {how}", describe_course(outcome)]
                course += [describe_counts(engine.counts)] if isinstance(engine, Engine) else []
            counts = {"sessions": engine.sessions.as_dict()} if engine.sessions else {}
            told, answers = outcome.health.findings, outcome.counters.completed * sending.cookies
            findings += audience.findings + report_sessions(engine, path, answers=answers, told=told)
            return outcome, findings, course, counts

        grows = grows_at(path, belonging)
        try:
            with options.telling.audience("run", self.url, grows, quiet=options.quiet) as audience:
                with measuring(grows, grows.exists, quiet=options.quiet):
                    outcome, findings, course, counts = run_in_loop(main)
                with SIGNALS.finishing():
                    findings += self._advising(outcome.health.findings)
                    besides = {
                        "replay": log_report(self.plan.requests, self.plan.schedule, outcome.scheduled),
                        **counts,
                    }
                    summary = self._summary(outcome, findings, besides) if outcome.scheduled else {}
                return _Ended(outcome, findings, course, summary)
        finally:
            if not grows.exists():  # no row came, so what was watched belongs to nothing
                for beside in belonging(grows):
                    beside.unlink(missing_ok=True)

    def report(self, ended: _Ended, exchanges: Outlet | None) -> Exit:
        """Print the summary and the findings."""
        from logreplay.analysis.output.file_names import logins_beside, summary_beside
        from logreplay.replay.senders.trace import describe

        options, outcome, summary = self.options, ended.outcome, ended.summary
        if exchanges:
            _finish(exchanges, self.path)
        if options.as_json:
            click.echo(json.dumps(summary, indent=2))
        elif not options.quiet:
            print_arrivals(summary["options"])
            _print_summary(summary, classic=options.classic)
        for line in ended.course:
            say(line)
        for sentence in (log_sentence(summary["replay"]), _punctuality(summary)):
            if sentence:
                options.say(sentence)
        report_left_out(self.plan.requests, quiet=options.quiet)
        if options.pacing.follow:
            say_lacking(options.shaping, options.sending, base(self.plan.requests).source, quiet=options.quiet)
        for finding in ended.findings:
            say_finding(finding.severity, finding.text, quiet=options.quiet)
        culprit = self.watch.culprit
        if culprit:
            say(f"stopped at the first failure:\n{describe(culprit, secrets=options.sending.show_secrets)}")
        if self.rule.hit:
            options.say(f"stopped: {self.rule.hit}")
        elif outcome.stopped and not culprit:
            planned = options.pacing.planned(self.plan.schedule)
            sent = outcome.counters.sent
            were = (
                f"{sent:,} of {planned} requests were" if planned else number_of(sent, "request was", "requests were")
            )
            options.say(f"{outcome.stopped}: {were} sent; their rows are kept")
        invalid = "" if outcome.health.valid else "; invalid run: its response times do not describe the target"
        options.say(f"verdict: {outcome.health.verdict}{invalid}")
        logins = logins_beside(self.path)
        written = [self.path, summary_beside(self.path), *([logins] if logins.exists() else [])]
        options.say(f"results: {', '.join(map(str, written))}")
        if options.junit:
            write_junit(options.junit, "run", self._checks(outcome))
        if options.history:
            from logreplay.analysis.output.history import append, of_run

            append(options.history, of_run(summary))
        if culprit or self.rule.hit:
            return Exit.CONDITION
        if outcome.stopped:
            return Exit.INTERRUPTED
        return Exit.OK if outcome.health.valid else Exit.INVALID

    def _checks(self, outcome: "Outcome") -> Iterator[Check]:
        """The conditions of ``--stop``, and the validity of the run."""
        for condition in self.options.stop_at:
            hit = self.rule.hit.startswith(f"{condition.text}: ")
            yield Check(f"--stop {condition.text}", Exit.CONDITION if hit else Exit.OK, self.rule.hit if hit else "")
        why = "; ".join(finding.text for finding in outcome.health.findings)
        yield Check("valid run", Exit.OK if outcome.health.valid else Exit.INVALID, why)

    def _advising(self, findings: "Sequence[Finding]") -> "list[Finding]":
        """The findings, without the advice to use --crash where it is in use."""
        from logreplay.replay.results.verdict import SEE_FIRST

        needless = SEE_FIRST if self.options.crash else ""
        return [replace(finding, text=finding.text.removesuffix(needless)) for finding in findings]

    def _summary(self, outcome: "Outcome", findings: "list[Finding]", besides: dict[str, Any]) -> dict[str, Any]:
        """Write the summary and the histograms of the result log beside it, and return the summary."""
        from logreplay.analysis.output.folder import write_beside
        from logreplay.analysis.summary import About

        options = self.options
        said = {**options.pacing.said(options.shaping.seed), **options.shaping.said(), **options.sending.said()}
        more = {
            "verdict": str(outcome.health.verdict),
            "unexpected_status": dict(outcome.counters.unexpected.most_common()),
            "left_out": outcome.left_out,
            "stopped": outcome.stopped or None,
            "received_bytes": outcome.received,
            "retried": outcome.evidence.retried,
            **besides,
        }
        log = str(options.log) if options.log else None
        return write_beside(self.path, About(log, self.url, said, [each.as_dict() for each in findings], more))


def _preview(plan: "Plan", options: RunOptions, logins: "Logins | None") -> Exit:
    """Print the head of a plan, its rate over time, and what would be left out."""
    from logreplay.core.masking import masked
    from logreplay.replay.requests.preview import preview
    from logreplay.replay.senders.trace import printable

    def tell(routes: Sequence[tuple[str, str, int]]) -> None:
        for op, route, count in routes:
            click.echo(f"{count:10d} {op} {printable(route.encode())}")

    pacing = options.pacing
    seen = preview(plan, clients=bool(logins))
    logged_in = changed_routes(logins.sent_by(seen.clients)) if logins else []
    requests = [(due, op, url if options.sending.show_secrets else masked(url)) for due, op, url in seen.head]
    if options.as_json:
        figures = {"requests": seen.requests, "seconds": seen.last, "per_second": seen.per_second}
        head = [{"scheduled": due, "op": op, "url": url} for due, op, url in requests]
        changes, login_requests = (
            [{"op": op, "route": route, "requests": count} for op, route, count in rows]
            for rows in (changed_routes(seen.changes), logged_in)
        )
        left_out = dict(plan.requests.left_out)
        may_change = {"changes": changes, "logins": login_requests}
        click.echo(json.dumps({**figures, "head": head, **may_change, "left_out": left_out}, indent=2))
        return Exit.OK
    for due, op, url in requests:
        click.echo(f"{due:12.6f} s  {op} {printable(url.encode())}")
    once = ", the log once; the answers decide how many are sent" if pacing.answers_decide else ""
    click.echo(number_of(seen.requests, "request") + (once if pacing.vusers else f" in {seen.last:.3f} s"))
    if not pacing.vusers:
        rates = seen.rates()
        most = max((rate for _, _, rate in rates), default=1.0)
        for first, last, rate in rates:
            click.echo(f"{first:6d}..{last + 1:<6d} s {rate:10.2f}/s {'#' * round(40 * rate / most)}")
    if seen.changes:
        click.echo("these may change data on the target:")
        tell(changed_routes(seen.changes))
    if logins:
        click.echo(
            f"logins: {number_of(sum(count for _, _, count in logged_in), 'request')} of "
            f"{number_of(len(seen.clients), 'client')}"
        )
        tell(logged_in)
    report_left_out(plan.requests, quiet=options.quiet)
    return Exit.OK


def _finish(exchanges: Outlet, path: Path) -> None:
    """Wait until the exchanges are printed, as long as the reader likes; the results are on disk.

    Raises:
        OSError: standard output is full. A reader that went away may have seen enough.
    """
    from logreplay.core.files import FULL

    if not exchanges.drain():
        say(f"waiting for the reader of standard output; Ctrl-C ends this; results: {path}")
        exchanges.drain(inf)
    exchanges.close()
    if exchanges.failure and exchanges.failure.errno in FULL:
        raise exchanges.failure
    if exchanges.left_out:
        say(
            f"warning: {number_of(exchanges.left_out, 'exchange was', 'exchanges were')} not printed: the reader of "
            "standard output was too slow; write to a file, or lower the rate"
        )


def _punctuality(summary: dict[str, Any]) -> str:
    """How true the replay was to its schedule; empty where there was none."""
    from logreplay.analysis.tables.schedule_accuracy import Punctuality

    found = summary.get("punctuality")
    return Punctuality(**found).sentence() if found else ""


def _print_summary(summary: dict[str, Any], *, classic: bool) -> None:
    """The figures of a run on stdout, with the tables of siege and ab."""
    from logreplay.analysis.summary import protocol
    from logreplay.cli.display.tables import print_classic, print_summary, print_times

    counts = summary["requests"]
    if "by_step" in summary:
        import polars as pl

        print_summary(summary, pl.DataFrame(summary["steps"], infer_schema_length=None), classic=classic)
    else:
        print_times(summary)
    cancelled = summary["errors"].get("cancelled", 0)
    stopped = f", {cancelled} of them cancelled" if cancelled else ""
    click.echo(
        f"scheduled {counts['scheduled']} = sent {counts['sent']} + dropped {counts['dropped']}; "
        f"sent = ok {counts['ok']} + http_error {counts['http_error']} + net_error {counts['net_error']}{stopped}"
    )
    rates = ""
    if rate := summary.get("rate"):
        rates = (
            f"offered {rate['offered']:.6g}/s, sent {rate['sent']:.6g}/s, completed {rate['completed']:.6g}/s, "
            f"goodput {rate['goodput']:.6g}/s; "
        )
    click.echo(f"{rates}protocol {protocol(summary['target'], summary['options'])}")
    if found := summary["unexpected_status"]:
        more = f", {len(found) - _STATUSES} more in the summary" if len(found) > _STATUSES else ""
        named = ", ".join(f"{count:,} x {change}" for change, count in list(found.items())[:_STATUSES])
        click.echo(f"status other than in the log: {named}{more}")
    if classic and "by_step" not in summary:
        click.echo()
        print_classic(summary)
