"""``logreplay sweep``: a step per rate, and the curve."""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from logreplay.cli.analyze import print_summary
from logreplay.cli.exit_codes import Exit
from logreplay.cli.inputs import new_folder, new_name, normalized, on_terminal, say, target_or_builtin
from logreplay.cli.live import LiveLine
from logreplay.cli.running import run_in_loop, stopped_by
from logreplay.cli.sending import Sending, sending_options
from logreplay.cli.values import Duration, Rates

if TYPE_CHECKING:
    from logreplay.analysis.summary import About
    from logreplay.replay.engine import Outcome, Progress
    from logreplay.replay.health import Finding
    from logreplay.replay.sweep import StepBegins


@click.command(short_help="A step per rate, and where the curve bends.")
@click.argument("rates", type=Rates())
@click.argument("log", required=False, type=click.Path(path_type=Path))
@click.argument("target", required=False)
@click.option("--for", "duration", type=Duration(), default="10s", show_default=True, help="How long each step is.")
@click.option("--keep-going", is_flag=True, help="Go on after two steps in a row that the target did not carry.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder to write; default: named after the time.")
@click.option("--force", is_flag=True, help="Write into an existing OUTPUT.")
@click.option("--no-plots", is_flag=True, help="Tables and summary only.")
@click.option("--json", "as_json", is_flag=True, help="Print summary.json on stdout instead of tables.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@sending_options
def sweep(
    rates: Sequence[float],
    log: Path | None,
    target: str | None,
    duration: float,
    keep_going: bool,
    output: Path | None,
    force: bool,
    no_plots: bool,
    as_json: bool,
    quiet: bool,
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
    """
    from logreplay.analysis.summary import About

    folder = new_folder(output or new_name("sweep"), force=force)
    with ExitStack() as stack:
        csv = stack.enter_context(normalized(log, quiet=quiet))
        url = stack.enter_context(target_or_builtin(target, csv, quiet=quiet))
        outcomes, findings = sweep_into(folder, csv, url, rates, duration, sending, keep_going=keep_going, quiet=quiet)
    options = {"rates": list(rates), "for": duration, "timeout": sending.timeout, "sender": sending.sender}
    about = About(str(log) if log else None, url, options, [finding.as_dict() for finding in findings])
    valid = report(folder, about, plots=not no_plots, as_json=as_json, quiet=quiet)
    if any(outcome.stopped for outcome in outcomes):
        return Exit.INTERRUPTED
    return Exit.OK if valid else Exit.INVALID


def sweep_into(
    folder: Path,
    log: Path,
    target: str,
    rates: Sequence[float],
    duration: float,
    sending: Sending,
    *,
    keep_going: bool = False,
    quiet: bool = False,
) -> "tuple[Sequence[Outcome], list[Finding]]":
    """Run the steps of a sweep into ``results.csv`` of a folder, telling how it goes on stderr.

    Returns:
        What became of each step, and what was found before the first.
    """
    from logreplay.replay.engine import Engine
    from logreplay.replay.plan import Requests
    from logreplay.replay.results import ResultLog
    from logreplay.replay.schedule import steps
    from logreplay.replay.sweep import sweep as run_steps

    watcher = _Watcher(duration, quiet=quiet)

    async def main(stop: asyncio.Event) -> "tuple[Sequence[Outcome], list[Finding]]":
        path = folder / "results.csv"
        sender, findings = await sending.ready(target, path, rate=max(rates), duration=len(rates) * duration)
        async with (
            Engine(sender, ResultLog(path, force=True), limits=sending.limits) as engine,
            stopped_by(stop, engine),
        ):
            outcomes = await run_steps(
                engine,
                Requests(log, methods=sending.methods),
                steps(rates, duration),
                keep_going=keep_going,
                on_begin=watcher.begin,
                on_progress=watcher.progress,
                on_end=watcher.end,
            )
        return outcomes, findings

    return run_in_loop(main)


class _Watcher:
    """Tells on stderr how a sweep goes: a live line for the step that runs, a line for each that ended."""

    def __init__(self, duration: float, *, quiet: bool) -> None:
        self._duration, self._quiet = duration, quiet
        self._line: LiveLine | None = None

    def begin(self, step: "StepBegins") -> None:
        if on_terminal() and not self._quiet:
            prefix = f"step {step.index + 1} of {step.count} · "
            self._line = LiveLine(planned=self._duration, rate=step.schedule.rate, prefix=prefix)

    def progress(self, now: "Progress") -> None:
        if self._line:
            self._line.show(now)

    def end(self, outcome: "Outcome") -> None:
        if self._line:
            self._line.clear()
        say(
            f"{outcome.offered:g}/s for {outcome.seconds:.0f} s: sent {outcome.sent} = ok {outcome.ok} + "
            f"http_error {outcome.http_error} + net_error {outcome.net_error}; {outcome.backlog} in flight at the end",
            quiet=self._quiet,
        )


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
