"""``logreplay find``: the highest rate that keeps a bound."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from logreplay.cli.exit_codes import Exit
from logreplay.cli.inputs import new_folder, new_name, normalized, on_terminal, say, target_or_builtin
from logreplay.cli.live import LiveLine
from logreplay.cli.running import run_in_loop, stopped_by
from logreplay.cli.searching import by_chance, drive, evenly, users
from logreplay.cli.sending import Sending, sending_options
from logreplay.cli.shaping import Shaping, report_left_out, shaping_options
from logreplay.cli.sharing import replayer
from logreplay.cli.stopping import stop_option, stop_rule, watched
from logreplay.cli.values import Duration, Percent, Rate

if TYPE_CHECKING:
    from logreplay.analysis.search import Judged, Search, Trial
    from logreplay.replay.engine import Progress
    from logreplay.replay.health import Finding
    from logreplay.replay.plan import Stream
    from logreplay.replay.schedule import Schedule
    from logreplay.replay.stop import Condition, StopRule

_BOUNDS = ("p50", "p90", "p95", "p99", "p999", "mean", "max")
_FULL_S = 60.0


def _bound_options(command: Any) -> Any:
    for name in reversed(_BOUNDS):
        command = click.option(f"--{name}", type=Duration(), help=f"Bound on the {name} of the response time.")(command)
    return command


@click.command(short_help="The highest rate that keeps a bound.")
@click.argument("log", required=False, type=click.Path(path_type=Path))
@click.argument("target", required=False)
@_bound_options
@click.option("--max-errors", type=Percent(), default="1%", show_default=True, help="Share of requests that may fail.")
@click.option("--start", type=Rate(), default="10", show_default=True, help="Lowest rate, tried first.")
@click.option("--max-tps", type=Rate(), help="Never try a higher rate.")
@click.option("--precision", type=Percent(), default="5%", show_default=True, help="How close the bracket must be.")
@click.option("--trial", "trial_s", type=Duration(), help="Length of a full trial; default: 60s, or as needed.")
@click.option("--trials", type=click.IntRange(1), default=25, show_default=True, help="No more trials than these.")
@click.option("--budget", type=Duration(), default="15m", show_default=True, help="Time for all trials.")
@click.option(
    "--arrivals",
    type=click.Choice(["poisson", "even"]),
    default="poisson",
    show_default=True,
    help="Requests come by chance, as visitors do, or evenly spaced, which flatters the target.",
)
@click.option(
    "--vusers", is_flag=True, help="Search for users who wait for their answers; all rates are numbers of them."
)
@click.option("--think", type=Duration(), help="--vusers: pause of a user after each answer; default: none.")
@click.option("--tps", type=Rate(), help="Say how many such machines this rate needs.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder to write; default: named after the time.")
@click.option("--force", is_flag=True, help="Write into an existing OUTPUT.")
@click.option("--no-plots", is_flag=True, help="Tables and summary only.")
@click.option("--json", "as_json", is_flag=True, help="Print summary.json on stdout.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@stop_option
@shaping_options
@sending_options
def find(
    log: Path | None,
    target: str | None,
    max_errors: float,
    start: float,
    max_tps: float | None,
    precision: float,
    trial_s: float | None,
    trials: int,
    budget: float,
    arrivals: str,
    vusers: bool,
    think: float | None,
    tps: float | None,
    output: Path | None,
    force: bool,
    no_plots: bool,
    as_json: bool,
    quiet: bool,
    stop_at: "Sequence[Condition]",
    shaping: Shaping,
    sending: Sending,
    **limits: float | None,
) -> int:
    """Find the highest rate at which TARGET keeps a bound on response time.

    At least one bound, such as --p99 300ms; several must hold together. A failed request counts as late. Starting at
    the lowest rate, trials go up by a factor of 1.6 until one fails, close in on the limit, and then repeat the rate
    that passed: what is promised was seen several times. It takes about ten trials.

    LOG is an access log or a normalized CSV, without it the bundled sample log; TARGET is http://HOST:PORT, without
    it a built-in one. Exit code 4: the bound does not hold even at the lowest rate; 3: there is no valid answer.

    \b
    Example:
      logreplay find access.log http://127.0.0.1:8080 --p99 300ms --start 50 --tps 2000
    """
    from logreplay.analysis.bounds import Bound
    from logreplay.analysis.search import Goal, Search
    from logreplay.analysis.search_report import sentence, weaknesses

    bounds = [Bound(name, limit) for name in _BOUNDS if (limit := limits[name]) is not None]
    if not bounds:
        raise click.UsageError("what must hold? Give a bound, such as --p99 300ms")
    try:
        bounds.append(Bound("errors", max_errors))
        start = max(round(start), 1) if vusers else start
        goal = Goal(tuple(bounds), start, max_tps, precision, trial_s, trials, budget, vusers)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    search = Search(goal)
    folder = new_folder(output or new_name("find"), force=force)
    with ExitStack() as stack:
        csv = stack.enter_context(normalized(log, quiet=quiet))
        url = stack.enter_context(target_or_builtin(target, csv, quiet=quiet))
        requests, rule = shaping.stream(csv, stack, methods=sending.methods, loop=True, quiet=quiet), stop_rule(stop_at)
        schedule_of = users(think or 0.0) if vusers else by_chance if arrivals == "poisson" else evenly
        ended, findings = _search(search, folder, requests, url, sending, rule, schedule_of, quiet=quiet)
    if not ended:
        why = f"stopped: {rule.hit};" if rule.hit else "interrupted"
        say(f"{why} after {len(search.judged)} trials\nresults: {folder}", quiet=quiet)
        return Exit.CONDITION if rule.hit else Exit.INTERRUPTED
    options = {
        **{str(bound.statistic): bound.limit for bound in goal.bounds},
        "start": start, "max_tps": max_tps, "precision": precision, "trial": trial_s, "trials": trials,
        "budget": budget, "arrivals": arrivals, "vusers": vusers, "think": think,
        "timeout": sending.timeout, "sender": sending.sender, **shaping.said(),
    }  # fmt: skip
    found = [finding.as_dict() for finding in findings] + weaknesses(search)
    _write(search, folder, str(log) if log else None, url, options, found, tps, plots=not no_plots, as_json=as_json)
    report_left_out(requests, quiet=quiet)
    for finding in found:
        say(f"{finding['severity']}: {finding['text']}", quiet=quiet)
    if not as_json:
        click.echo(sentence(search, tps))
    say(f"results: {folder}", quiet=quiet)
    return _exit_code(search)


def _search(
    search: "Search",
    folder: Path,
    requests: "Stream",
    target: str,
    sending: Sending,
    rule: "StopRule",
    schedule_of: "Callable[[Trial], Schedule]",
    *,
    quiet: bool,
) -> "tuple[bool, list[Finding]]":
    """Run the trials into ``results.csv`` of a folder; say whether the search ended, and what was found before it."""
    from logreplay.replay.responses import Responses
    from logreplay.replay.results import ResultLog

    teller = _Teller(search, quiet=quiet)

    async def main(stop: asyncio.Event) -> "tuple[bool, list[Finding]]":
        path = folder / "results.csv"
        sender, findings = await sending.ready(target, path, rate=search.goal.start, duration=_FULL_S)
        responses = Responses(ResultLog(path, force=True))
        users = search.goal.users
        rate = search.goal.start if users else search.goal.highest or search.goal.start
        async with (
            replayer(sending, sender, responses, rate=rate, closed=users) as engine,
            stopped_by(stop, engine),
        ):
            ended = await drive(
                search,
                engine,
                responses,
                requests,
                timeout_s=sending.timeout,
                schedule_of=schedule_of,
                on_begin=teller.begin,
                on_progress=watched(rule, engine, teller.progress),
                on_end=teller.end,
            )
        return ended, findings

    return run_in_loop(main)


class _Teller:
    """Tells on stderr how a search goes: a live line for the trial that runs, a line for each that ended."""

    def __init__(self, search: "Search", *, quiet: bool) -> None:
        self._search, self._quiet = search, quiet
        self._line: LiveLine | None = None

    def begin(self, trial: "Trial") -> None:
        if on_terminal() and not self._quiet:
            self._line = LiveLine(
                planned=trial.seconds, rate=trial.rate, prefix=f"trial {trial.number}, {trial.phase} · "
            )

    def progress(self, now: "Progress") -> None:
        if self._line:
            self._line.show(now)

    def end(self, judged: "Judged") -> None:
        from logreplay.analysis.search_report import trial_line

        if self._line:
            self._line.clear()
        budget = self._search.goal.budget_s
        left = f"  {budget - self._search.elapsed:.0f} s left" if budget is not None else ""
        say(f"{trial_line(judged, self._search.goal)}{left}", quiet=self._quiet)


def _write(
    search: "Search",
    folder: Path,
    log: str | None,
    target: str,
    options: dict[str, Any],
    findings: list[dict[str, Any]],
    tps: float | None,
    *,
    plots: bool,
    as_json: bool,
) -> None:
    """Analyse the trials, and write the files of the folder."""
    import json

    from logreplay.analysis.folder import write_folder
    from logreplay.analysis.search_report import sentence, slo
    from logreplay.analysis.summary import About

    more = {"answer": sentence(search, tps), "slo": slo(search, tps)}
    about = About(log, target, options, findings, more=more)
    summary, _ = write_folder(folder / "results.csv", folder, about, plots=plots)
    if plots:
        from logreplay.analysis.plots import figure, save
        from logreplay.analysis.search_plot import trace

        save(figure(lambda ax: trace(ax, summary["slo"])), folder / "search.png")
    if as_json:
        click.echo(json.dumps(summary, indent=2))


def _exit_code(search: "Search") -> Exit:
    from logreplay.analysis.search_report import answer_of

    answer = answer_of(search)
    if answer.holds:
        return Exit.OK
    return Exit.CONDITION if answer.why == "not-met" else Exit.INVALID
