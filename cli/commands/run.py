"""``logreplay run``: one replay."""

import asyncio
import errno
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from logreplay.cli.display.outlet import Outlet
from logreplay.cli.display.terminal import say
from logreplay.cli.exit_codes import Exit
from logreplay.cli.options.conflicts import reconciled
from logreplay.cli.options.progress import Telling, WithLive, telling_options
from logreplay.cli.options.requests import Shaping, base, shaping_options
from logreplay.cli.options.schedule import NEEDS, YIELDS_TO, Pacing, log_report, log_sentence, pacing_options
from logreplay.cli.options.sender import Sending, sending_options
from logreplay.cli.options.stop import stop_option, stop_rule, watched
from logreplay.cli.running.engines import replayer
from logreplay.cli.running.following import followed
from logreplay.cli.running.log_and_target import LogName, new_name, replayable, target_or_builtin
from logreplay.cli.running.loop import run_in_loop, stopped_by
from logreplay.cli.running.outputs import claim, inputs
from logreplay.cli.running.requests import report_left_out, request_stream

if TYPE_CHECKING:
    from logreplay.cli.running.log_and_target import Log
    from logreplay.replay.requests.plan import Plan
    from logreplay.replay.requests.remote import Stored
    from logreplay.replay.requests.siege_list import UrlList
    from logreplay.replay.requests.sources import RequestSource
    from logreplay.replay.results.outcome import Outcome
    from logreplay.replay.results.stop_rules import Condition, StopRule
    from logreplay.replay.results.verdict import Finding
    from logreplay.replay.senders.trace import Watch


@click.command(cls=WithLive, short_help="One replay.", yields_to=YIELDS_TO, needs=NEEDS)
@click.argument("log", required=False, type=LogName())
@click.argument("target", required=False)
@pacing_options
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Result log; default: named after the time.")
@click.option("--force", is_flag=True, help="Overwrite an existing result.")
@click.option("--crash", is_flag=True, help="Stop at the first error or unexpected status, and print that exchange.")
@click.option("-v", "--verbose", is_flag=True, help="Print each exchange.")
@click.option("-d", "--debug", is_flag=True, help="Say what the replayer itself does.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@click.option(
    "--classic", is_flag=True, help="Print the figures of siege and ab too; a summary as JSON always has them."
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.option("--dry-run", is_flag=True, help="Print what would be sent, and when; send nothing.")
@stop_option
@telling_options
@shaping_options
@sending_options
def run(
    log: "Log | None",
    target: str | None,
    pacing: Pacing,
    output: Path | None,
    force: bool,
    crash: bool,
    verbose: bool,
    debug: bool,
    quiet: bool,
    classic: bool,
    as_json: bool,
    dry_run: bool,
    stop_at: "Sequence[Condition]",
    telling: Telling,
    shaping: Shaping,
    sending: Sending,
) -> int:
    """Replay LOG against TARGET at a rate you choose, at the log's own times, or with users who wait.

    Each request is sent when its time has come, whatever the target does; what it had to wait is charged to the
    target (response time) and shown beside what the target needed (service time) and how late we were (lag).

    LOG is an access log, a normalized CSV, a list of urls, one url or one raw HTTP request, also from a pipe; without
    it the bundled sample log. TARGET is http://HOST:PORT, unix:/PATH, or without it a built-in one.

    \b
    Example:
      logreplay run access.log http://127.0.0.1:8080 --tps 100 --for 1m
      logreplay run access.log http://127.0.0.1:8080 --speed 3 --match ^/api --header 'X-Test: 1'
      logreplay run access.log http://127.0.0.1:8080 --vusers 50 --think 1s --for 1m
    """
    from logreplay.analysis.output.folder import summary_beside
    from logreplay.cli.display.tables import print_classic
    from logreplay.replay.requests.plan import Plan
    from logreplay.replay.senders.trace import Watch, describe

    pacing.check()
    if verbose and as_json:
        raise click.UsageError("--verbose and --json both want standard output; choose one")
    if classic and as_json:
        raise click.UsageError(
            "--classic and --json exclude each other: the JSON has these figures; leave out --classic"
        )
    for option, given in (("--verbose", verbose), ("--debug", debug), ("--classic", classic)):
        if given and quiet:
            raise click.UsageError(
                f"{option} and --quiet exclude each other: one prints more, the other less; choose one"
            )
    sending = reconciled(sending, shaping, pacing)
    with ExitStack() as stack:
        path = output or new_name("run", ".csv")
        if not dry_run:
            claim(path, inputs(log, shaping, sending), force=force)
        source: Path | RequestSource
        csv: Path | Stored | UrlList
        if pacing.follow:
            if log is None or target is None or dry_run:
                raise click.UsageError("--follow needs LOG and TARGET; there is nothing to preview, so no --dry-run")
            if not isinstance(log, Path):
                raise click.UsageError(f"--follow {log}: only a file can be followed")
            csv, source = log, followed(log, pacing.duration)
        else:
            csv = source = stack.enter_context(replayable(log, quiet=quiet))
        stream = request_stream(
            shaping,
            source,
            stack,
            methods=sending.methods,
            loop=pacing.loops,
            keep=pacing.keep,
            skip_idle=pacing.skip_idle,
            in_time=pacing.in_time,
            quiet=quiet,
        )
        plan = Plan(stream, pacing.schedule(shaping, stream))
        if dry_run:
            return _preview(plan, pacing, sending, as_json=as_json, quiet=quiet)
        url = stack.enter_context(target_or_builtin(target, csv, quiet=quiet))
        exchanges = Outlet(sys.stdout) if verbose and not quiet else None
        watch = Watch(crash, secrets=sending.show_secrets)
        if exchanges:
            watch.show = lambda text: exchanges.write(f"{text}\n")
        rule = stop_rule(stop_at)
        outcome, findings = _replay(
            plan, url, path, pacing, sending, telling, watch, rule, debug=debug and not quiet, force=force, quiet=quiet
        )
    if not outcome.scheduled:
        say("nothing was sent: " + (outcome.stopped or "the schedule holds no request"), quiet=quiet)
        return Exit.INTERRUPTED if outcome.stopped else Exit.FAILED

    options = {**pacing.said(shaping.seed), **shaping.said(), **sending.said()}
    findings += outcome.health.findings
    replayed = log_report(stream, plan.schedule, outcome.scheduled)
    summary = _summarise(path, str(log) if log else None, url, options, outcome, findings, replayed)
    if exchanges:
        _finish(exchanges, path, quiet=quiet)
    if as_json:
        click.echo(json.dumps(summary, indent=2))
    elif not quiet:
        _print_summary(summary)
        if classic:
            click.echo()
            print_classic(summary)
    for sentence in (log_sentence(replayed), _punctuality(summary)):
        if sentence:
            say(sentence, quiet=quiet)
    report_left_out(stream, quiet=quiet)
    _say_findings(outcome, findings, quiet=quiet)
    if watch.culprit:
        say(f"stopped at the first failure:\n{describe(watch.culprit, secrets=sending.show_secrets)}")
    if rule.hit:
        say(f"stopped: {rule.hit}", quiet=quiet)
    say(f"results: {path}, {summary_beside(path)}", quiet=quiet)
    if watch.culprit or rule.hit:
        return Exit.CONDITION
    if outcome.stopped:
        return Exit.INTERRUPTED
    return Exit.OK if outcome.health.valid else Exit.INVALID


def _replay(
    plan: "Plan",
    url: str,
    path: Path,
    pacing: Pacing,
    sending: Sending,
    telling: Telling,
    watch: "Watch",
    rule: "StopRule",
    *,
    debug: bool,
    force: bool,
    quiet: bool,
) -> "tuple[Outcome, list[Finding]]":
    """Run the plan, and tell how it goes; what became of it, and what was found besides."""
    from logreplay.analysis.output.folder import belonging
    from logreplay.replay.engine.engine import Engine
    from logreplay.replay.monitor.snapshot import Stage
    from logreplay.replay.results.outcome import describe_course
    from logreplay.replay.results.result_log import ResultLog, grows_at
    from logreplay.replay.schedules.users import Users
    from logreplay.replay.senders.trace import describe_counts

    schedule, peak = plan.schedule, pacing.peak

    async def main(stop: asyncio.Event) -> "tuple[Outcome, list[Finding]]":
        sender, findings = await sending.ready(url, path, rate=peak, duration=schedule.duration)
        results = ResultLog(path, force=force, belonging=belonging)
        closed = isinstance(schedule, Users)
        async with (
            replayer(sending, sender, results, watch, rate=peak, closed=closed) as engine,
            stopped_by(stop, engine),
        ):
            with audience.may_set(stop):
                audience.begin(Stage(rate=pacing.steady, planned=schedule.duration))
                outcome = await engine.run(plan, watched(rule, engine, audience.see))
                audience.end(outcome)
        if debug:
            options = f"{sending.sender} sender, workers {sending.processes(peak)}, {sending.limits}"
            audience.write(f"target {url}; {options}\n{describe_course(outcome)}\n")
            if isinstance(engine, Engine):
                audience.write(f"{describe_counts(engine.counts)}\n")
        return outcome, findings + audience.findings

    with telling.audience("run", url, grows_at(path, belonging), free=sending.free, quiet=quiet) as audience:
        return run_in_loop(main)


def _summarise(
    path: Path,
    log: str | None,
    target: str,
    options: dict[str, Any],
    outcome: "Outcome",
    findings: "list[Finding]",
    replayed: dict[str, Any],
) -> dict[str, Any]:
    """Write the summary and the histograms of the result log beside it, and return the summary."""
    from logreplay.analysis.output.folder import write_beside
    from logreplay.analysis.summary import About

    more = {
        "verdict": str(outcome.health.verdict),
        "left_out": outcome.left_out,
        "stopped": outcome.stopped or None,
        "received_bytes": outcome.received,
        "replay": replayed,
    }
    return write_beside(path, About(log, target, options, [finding.as_dict() for finding in findings], more))


def _preview(plan: "Plan", pacing: Pacing, sending: Sending, *, as_json: bool, quiet: bool) -> int:
    """Print the head of a plan, its rate over time, and what would be left out."""
    from logreplay.parsers.masking import masked
    from logreplay.replay.requests.preview import preview
    from logreplay.replay.senders.trace import printable

    endless = base(plan.requests).loop and pacing.endless
    if endless:
        raise click.UsageError("this plan has no end: add --for 1m or --requests 1000, or leave out --loop")
    seen = preview(plan)
    requests = [(due, op, url if sending.show_secrets else masked(url)) for due, op, url in seen.head]
    if as_json:
        figures = {"requests": seen.requests, "seconds": seen.last, "per_second": seen.per_second}
        head = [{"scheduled": due, "op": op, "url": url} for due, op, url in requests]
        click.echo(json.dumps({**figures, "head": head, "left_out": dict(plan.requests.left_out)}, indent=2))
        return Exit.OK
    for due, op, url in requests:
        click.echo(f"{due:12.6f} s  {op} {printable(url.encode())}")
    click.echo(f"{seen.requests} requests" + ("" if pacing.vusers else f" in {seen.last:.3f} s"))
    if not pacing.vusers:
        rates = seen.rates()
        most = max((rate for _, _, rate in rates), default=1.0)
        for first, last, rate in rates:
            click.echo(f"{first:6d}..{last + 1:<6d} s {rate:10.2f}/s {'#' * round(40 * rate / most)}")
    report_left_out(plan.requests, quiet=quiet)
    return Exit.OK


def _finish(exchanges: Outlet, path: Path, *, quiet: bool) -> None:
    """Wait until the exchanges are printed, as long as the reader likes; the results are on disk.

    Raises:
        OSError: standard output is full. A reader that went away may have seen enough.
    """
    if not exchanges.drain():
        say(f"waiting for the reader of standard output; Ctrl-C ends this; results: {path}", quiet=quiet)
        exchanges.drain(inf)
    exchanges.close()
    if exchanges.failure and exchanges.failure.errno == errno.ENOSPC:
        raise exchanges.failure
    if exchanges.left_out:
        say(
            f"warning: {exchanges.left_out} exchanges were not printed: the reader of standard output was too slow; "
            "write to a file, or ask for less",
            quiet=quiet,
        )


def _say_findings(outcome: "Outcome", findings: "list[Finding]", *, quiet: bool) -> None:
    """What was seen, and the verdict."""
    for finding in findings:
        say(f"{finding.severity}: {finding.text}", quiet=quiet)
    if not outcome.health.valid:
        say(f"{outcome.health.verdict}: this run is no measurement of the target", quiet=quiet)


def _punctuality(summary: dict[str, Any]) -> str:
    """How true the replay was to its schedule; empty where there was none."""
    from logreplay.analysis.tables.schedule_accuracy import Punctuality

    found = summary.get("punctuality")
    return Punctuality(**found).sentence() if found else ""


def _print_summary(summary: dict[str, Any]) -> None:
    """The figures of a run on stdout."""
    from logreplay.cli.display.tables import print_times

    counts, rate = summary["requests"], summary["rate"]
    print_times(summary)
    click.echo(
        f"scheduled {counts['scheduled']} = sent {counts['sent']} + dropped {counts['dropped']}; "
        f"sent = ok {counts['ok']} + http_error {counts['http_error']} + net_error {counts['net_error']}\n"
        f"offered {rate['offered']:.6g}/s, sent {rate['sent']:.6g}/s, completed {rate['completed']:.6g}/s, "
        f"goodput {rate['goodput']:.6g}/s"
    )
