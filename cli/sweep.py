"""``logreplay sweep``: a step per rate, and the curve."""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from logreplay.cli.analyze import print_summary
from logreplay.cli.exit_codes import Exit
from logreplay.cli.inputs import new_folder, new_name, normalized, on_terminal, say, target_or_builtin
from logreplay.cli.live import LiveLine
from logreplay.cli.running import run_in_loop, stopped_by
from logreplay.cli.sending import Sending, sending_options
from logreplay.cli.shaping import ARRIVALS, Shaping, arriving, report_left_out, shaping_options
from logreplay.cli.values import Duration, Rates, Users

if TYPE_CHECKING:
    from logreplay.analysis.summary import About
    from logreplay.replay.engine import Outcome, Progress
    from logreplay.replay.health import Finding
    from logreplay.replay.plan import Stream
    from logreplay.replay.schedule import Schedule
    from logreplay.replay.sweep import StepBegins


@click.command(short_help="A step per rate, and where the curve bends.")
@click.argument("rates", required=False, metavar="RATES")
@click.argument("log", required=False)
@click.argument("target", required=False)
@click.option("--for", "duration", type=Duration(), default="10s", show_default=True, help="How long each step is.")
@ARRIVALS
@click.option("--vusers", type=Users(), metavar="N,N,…", help="Instead of RATES: so many users who wait, step by step.")
@click.option("--think", type=Duration(), default=0.0, metavar="D", help="What users pause after an answer.")
@click.option("--keep-going", is_flag=True, help="Go on after two steps in a row that the target did not carry.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder to write; default: named after the time.")
@click.option("--force", is_flag=True, help="Write into an existing OUTPUT.")
@click.option("--no-plots", is_flag=True, help="Tables and summary only.")
@click.option("--json", "as_json", is_flag=True, help="Print summary.json on stdout instead of tables.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@shaping_options
@sending_options
def sweep(
    rates: str | None,
    log: str | None,
    target: str | None,
    duration: float,
    arrivals: str,
    vusers: Sequence[int] | None,
    think: float,
    keep_going: bool,
    output: Path | None,
    force: bool,
    no_plots: bool,
    as_json: bool,
    quiet: bool,
    shaping: Shaping,
    sending: Sending,
) -> int:
    """Replay LOG against TARGET at each of RATES, and find where the response-time curve bends.

    RATES are requests per second: 50..400, 50..400:25 or 10,20,50. Every step sends the log from its beginning;
    between steps all answers are waited for. After two steps in a row that the target did not carry, the sweep ends.

    LOG is an access log or a normalized CSV, without it the bundled sample log; TARGET is http://HOST:PORT, without
    it a built-in one.

    \b
    Example:
      logreplay sweep 50..400 access.log http://127.0.0.1:8080 --for 30s -o sweep
      logreplay sweep --vusers 1,10,50,100,200,300 access.log http://127.0.0.1:8080
    """
    from logreplay.analysis.summary import About

    if vusers:
        if target is not None:
            raise click.UsageError("--vusers stands instead of RATES: give LOG and TARGET only")
        rates, log, target = None, rates, log
    elif rates is None:
        raise click.UsageError("at which rates? Give RATES, such as 50..400, or --vusers 1,10,50")
    folder = new_folder(output or new_name("sweep"), force=force)
    with ExitStack() as stack:
        csv = stack.enter_context(normalized(Path(log) if log else None, quiet=quiet))
        url = stack.enter_context(target_or_builtin(target, csv, quiet=quiet))
        in_time = arrivals == "log"
        stream = shaping.stream(csv, stack, methods=sending.methods, loop=True, in_time=in_time, quiet=quiet)
        if vusers:
            schedules: list[Schedule] = [_users(count, think, duration) for count in vusers]
        else:
            asked = Rates().convert(rates, None, None)
            schedules = arriving(arrivals, asked, duration, stream, shaping)
        outcomes, findings = sweep_into(
            folder, stream, url, schedules, sending, keep_going=keep_going or bool(vusers), quiet=quiet
        )
    how = {"vusers": list(vusers), "think": think} if vusers else {"rates": [step.rate for step in schedules]}
    options = {**how, "for": duration, **shaping.said(), "timeout": sending.timeout, "sender": sending.sender}
    more: dict[str, Any] = {"left_out": dict(stream.left_out)}
    if vusers:
        more["users"] = _judge_users(folder, [vusers[outcome.step] for outcome in outcomes], duration, think)
        more["verdict"] = more["users"]["sentence"]
    about = About(log, url, options, [finding.as_dict() for finding in findings], more)
    report_left_out(stream, quiet=quiet)
    say(_rounds(outcomes, stream), quiet=quiet or not stream.usable)
    valid = report(folder, about, plots=not no_plots, as_json=as_json, quiet=quiet)
    if any(outcome.stopped for outcome in outcomes):
        return Exit.INTERRUPTED
    return Exit.OK if valid else Exit.INVALID


def _users(count: int, think: float, duration: float) -> "Schedule":
    from logreplay.replay.closed import Users

    return Users(count, think, duration)


def _judge_users(folder: Path, users: Sequence[int], duration: float, think: float) -> dict[str, Any]:
    """Write ``users.csv``, and say what it says."""
    from logreplay.analysis import intake
    from logreplay.analysis.users import judge_users, users_table

    table = users_table(intake.read(folder / "results.csv"), users, duration)
    (folder / "users.csv").write_text(table.write_csv(), encoding="utf-8")
    return {**judge_users(table, think).as_dict(), "steps": table.to_dicts()}


def _rounds(outcomes: "Sequence[Outcome]", stream: "Stream") -> str:
    """How often the log was gone through."""
    rounds = ", ".join(f"{outcome.scheduled / max(1, stream.usable):.2f}" for outcome in outcomes)
    return f"rounds through the log, step by step: {rounds}"


def sweep_into(
    folder: Path,
    requests: "Stream",
    target: str,
    schedules: "Sequence[Schedule]",
    sending: Sending,
    *,
    keep_going: bool = False,
    quiet: bool = False,
) -> "tuple[Sequence[Outcome], list[Finding]]":
    """Run the steps of a sweep into ``results.csv`` of a folder, telling how it goes on stderr.

    Returns:
        What became of each step, and what was found before the first.
    """
    from logreplay.replay.closed import Users
    from logreplay.replay.engine import Engine
    from logreplay.replay.results import ResultLog
    from logreplay.replay.sweep import sweep as run_steps

    watcher = _Watcher(quiet=quiet)
    closed = any(isinstance(schedule, Users) for schedule in schedules)
    duration = sum(schedule.duration or 0.0 for schedule in schedules)

    async def main(stop: asyncio.Event) -> "tuple[Sequence[Outcome], list[Finding]]":
        path = folder / "results.csv"
        highest = max(schedule.rate for schedule in schedules)
        sender, findings = await sending.ready(target, path, rate=highest, duration=duration)
        async with (
            Engine(sender, ResultLog(path, force=True), limits=sending.limits, closed=closed) as engine,
            stopped_by(stop, engine),
        ):
            outcomes = await run_steps(
                engine,
                requests,
                schedules,
                keep_going=keep_going,
                on_begin=watcher.begin,
                on_progress=watcher.progress,
                on_end=watcher.end,
            )
        return outcomes, findings

    return run_in_loop(main)


class _Watcher:
    """Tells on stderr how a sweep goes: a live line for the step that runs, a line for each that ended."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._users = 0
        self._line: LiveLine | None = None

    def begin(self, step: "StepBegins") -> None:
        self._users = getattr(step.schedule, "count", 0)
        if on_terminal() and not self._quiet:
            prefix = f"step {step.index + 1} of {step.count} · "
            self._line = LiveLine(planned=step.schedule.duration, rate=step.schedule.rate, prefix=prefix)

    def progress(self, now: "Progress") -> None:
        if self._line:
            self._line.show(now)

    def end(self, outcome: "Outcome") -> None:
        if self._line:
            self._line.clear()
        say(
            f"{self._asked(outcome)} for {outcome.seconds:.0f} s: sent {outcome.sent} = ok {outcome.ok} + "
            f"http_error {outcome.http_error} + net_error {outcome.net_error}; {outcome.backlog} in flight at the end",
            quiet=self._quiet,
        )

    def _asked(self, outcome: "Outcome") -> str:
        return f"{outcome.offered:g}/s" if outcome.offered else f"{self._users} users"


def report(
    folder: Path,
    about: "About",
    *,
    plots: bool = True,
    as_json: bool = False,
    quiet: bool = False,
) -> bool:
    """Analyse what a sweep left in a folder, print it, and say where it is.

    Returns:
        Whether the target was measured, and not this machine.
    """
    import json

    from logreplay.analysis.folder import write_folder

    summary, table = write_folder(folder / "results.csv", folder, about, plots=plots)
    if as_json:
        click.echo(json.dumps(summary, indent=2))
    elif not quiet:
        print_summary(summary, table)
    for finding in summary["findings"]:
        say(f"{finding['severity']}: {finding['text']}", quiet=quiet)
    say(f"{summary['verdict']}\nresults: {folder}", quiet=quiet)
    return summary.get("generator_limit") is None
