"""``logreplay find``: the highest rate that keeps a bound."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from logreplay.cli.display.live_curve import GrowingCurve, point_of
from logreplay.cli.display.terminal import say
from logreplay.cli.exit_codes import Exit
from logreplay.cli.options.conflicts import reconciled
from logreplay.cli.options.progress import Audience, Telling, WithLive, telling_options
from logreplay.cli.options.requests import Shaping, shaping_options
from logreplay.cli.options.sender import Sending, sending_options
from logreplay.cli.options.stop import stop_option, stop_rule, watched
from logreplay.cli.options.think import Pauses, parse_pauses, said, thinking
from logreplay.cli.options.types import Duration, ParsedType, Percent, Rate
from logreplay.cli.running.engines import replayer
from logreplay.cli.running.log_and_target import LogName, new_name, replayable, target_or_builtin
from logreplay.cli.running.loop import run_in_loop, stopped_by
from logreplay.cli.running.outputs import ResultFolder, inputs
from logreplay.cli.running.reporting import report
from logreplay.cli.running.requests import report_left_out, request_stream
from logreplay.cli.running.search_runner import by_chance, drive, evenly, users

if TYPE_CHECKING:
    from logreplay.analysis.search.search import Judged, Search, Trial
    from logreplay.cli.running.log_and_target import Log
    from logreplay.replay.requests.plan import RequestStream
    from logreplay.replay.results.outcome import Outcome as Ran
    from logreplay.replay.results.stop_rules import Condition, StopRule
    from logreplay.replay.results.verdict import Finding
    from logreplay.replay.schedules.rates import Schedule

_BOUNDS = ("p50", "p90", "p95", "p99", "p999", "mean", "max")
_FULL_S = 60.0
_STATES = {"pass": "carried", "fail": "overloaded", "void": "void"}


def _bound_options(command: Any) -> Any:
    for name in reversed(_BOUNDS):
        command = click.option(f"--{name}", type=Duration(), help=f"Bound on the {name} of the response time.")(command)
    return command


@click.command(
    cls=WithLive,
    short_help="The highest rate that keeps a bound.",
    yields_to={"workers": {"hook"}, "arrivals": {"vusers"}},
    needs={"think": {"vusers"}},
)
@click.argument("log", required=False, type=LogName())
@click.argument("target", required=False)
@_bound_options
@click.option("--max-errors", type=Percent(), default="1%", show_default=True, help="Share of requests that may fail.")
@click.option("--start", type=Rate(), default="10", show_default=True, help="Lowest rate, tried first.")
@click.option("--max-tps", type=Rate(), help="Never try a higher rate.")
@click.option("--precision", type=Percent(), default="5%", show_default=True, help="How close the bracket must be.")
@click.option(
    "--trial",
    "trial_s",
    type=Duration(),
    help="Length of a full trial; those that confirm take twice as long. Default: 60s, or as needed.",
)
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
@click.option(
    "--think",
    type=ParsedType(parse_pauses),
    metavar="D|D..D",
    help="--vusers: pause of a user after each response, or a range to draw each pause from evenly; default: none.",
)
@click.option("--tps", type=Rate(), help="Say how many such machines this rate needs.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder to write; default: named after the time.")
@click.option("--force", is_flag=True, help="Write into an existing OUTPUT.")
@click.option("--no-plots", is_flag=True, help="Tables and summary only.")
@click.option("--json", "as_json", is_flag=True, help="Print summary.json on stdout.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@stop_option
@telling_options
@shaping_options
@sending_options
def find(
    log: "Log | None",
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
    think: Pauses | None,
    tps: float | None,
    output: Path | None,
    force: bool,
    no_plots: bool,
    as_json: bool,
    quiet: bool,
    stop_at: "Sequence[Condition]",
    telling: Telling,
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
    from logreplay.analysis.search.report import sentence, slo, weaknesses
    from logreplay.analysis.search.search import Goal, Search
    from logreplay.analysis.search.slo import Bound
    from logreplay.analysis.summary import About

    if think and not vusers:
        raise click.UsageError("--think is for users who wait: add --vusers")
    bounds = [Bound(name, limit) for name in _BOUNDS if (limit := limits[name]) is not None]
    if not bounds:
        raise click.UsageError("what must hold? Give a bound, such as --p99 300ms")
    try:
        bounds.append(Bound("errors", max_errors))
        start = max(round(start), 1) if vusers else start
        goal = Goal(tuple(bounds), start, max_tps, precision, trial_s, trials, budget, vusers)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    sending = reconciled(sending, shaping)
    search = Search(goal)
    place = click.get_current_context().with_resource(
        ResultFolder.new(output or new_name("find"), inputs(log, shaping, sending), force=force)
    )
    with ExitStack() as stack:
        csv = stack.enter_context(replayable(log, quiet=quiet))
        url = stack.enter_context(target_or_builtin(target, csv, quiet=quiet))
        requests, rule = (
            request_stream(shaping, csv, stack, methods=sending.methods, loop=True, quiet=quiet),
            stop_rule(stop_at),
        )
        schedule_of = (
            users(thinking(think or 0.0, shaping.seed)) if vusers else by_chance if arrivals == "poisson" else evenly
        )
        ended, findings = _search(search, place.path, requests, url, sending, telling, rule, schedule_of, quiet=quiet)
    folder = place.keep()
    if not ended:
        why = f"stopped: {rule.hit};" if rule.hit else "interrupted"
        say(f"{why} after {len(search.judged)} trials\nresults: {folder}", quiet=quiet)
        return Exit.CONDITION if rule.hit else Exit.INTERRUPTED
    options = {
        **{str(bound.statistic): bound.limit for bound in goal.bounds},
        "start": start, "max_tps": max_tps, "precision": precision, "trial": trial_s, "trials": trials,
        "budget": budget, "arrivals": arrivals, "vusers": vusers, "think": said(think, shaping.seed),
        **sending.said(), **shaping.said(),
    }  # fmt: skip
    found = [finding.as_dict() for finding in findings] + weaknesses(search)
    text, facts = sentence(search, tps), slo(search, tps)
    about = About(str(log) if log else None, url, options, found, more={"answer": text, "slo": facts})
    report_left_out(requests, quiet=quiet)
    report(folder, about, lambda *_: click.echo(text), plots=not no_plots, as_json=as_json, quiet=quiet)
    if not no_plots:
        from logreplay.analysis.output.plots.hockey_stick import figure, save
        from logreplay.analysis.output.plots.search import trace
        from logreplay.parsers.files import whole

        with whole(folder / "search.png") as fresh:
            save(figure(lambda ax: trace(ax, facts)), fresh)
    say(f"results: {folder}", quiet=quiet)
    return _exit_code(search)


def _search(
    search: "Search",
    folder: Path,
    requests: "RequestStream",
    target: str,
    sending: Sending,
    telling: Telling,
    rule: "StopRule",
    schedule_of: "Callable[[Trial], Schedule]",
    *,
    quiet: bool,
) -> "tuple[bool, list[Finding]]":
    """Run the trials into ``results.csv`` of a folder; say whether the search ended, and what was found besides."""
    from logreplay.replay.checks.cpu_contention import neighbours
    from logreplay.replay.results.recent import RecentRequests
    from logreplay.replay.results.result_log import ResultLog

    path = folder / "results.csv"

    async def main(stop: asyncio.Event) -> "tuple[bool, list[Finding]]":
        sender, findings = await sending.ready(target, path, rate=search.goal.start, duration=_FULL_S)
        here = await sending.is_here(target)
        responses = RecentRequests(ResultLog(path))
        users = search.goal.users
        rate = search.goal.start if users else search.goal.highest or search.goal.start
        async with (
            replayer(sending, sender, responses, rate=rate, closed=users) as engine,
            stopped_by(stop, engine),
        ):
            teller = _Teller(search, audience, quiet=quiet, drawn=telling.progress == "auto")
            with audience.may_set(stop):
                ended = await drive(
                    search,
                    engine,
                    responses,
                    requests,
                    timeout_s=sending.timeout,
                    schedule_of=schedule_of,
                    neighbours=neighbours if here else None,
                    on_begin=teller.begin,
                    on_progress=watched(rule, engine, audience.see),
                    on_end=teller.end,
                )
        return ended, findings + audience.findings

    with telling.audience("find", target, path, free=sending.free, quiet=quiet) as audience:
        return run_in_loop(main)


class _Teller:
    """Tells how a search goes: what runs, a line on stderr for each trial that ended, and the curve below them."""

    def __init__(self, search: "Search", audience: Audience, *, quiet: bool, drawn: bool) -> None:
        self._search, self._audience = search, audience
        bounds = [bound.limit for bound in search.goal.bounds if bound.statistic != "errors"]
        unit = "users" if search.goal.users else "req/s"
        self._curve = GrowingCurve(audience.write, quiet=quiet, drawn=drawn, unit=unit, bound=min(bounds, default=None))

    def begin(self, trial: "Trial") -> None:
        from logreplay.analysis.search.report import heading
        from logreplay.replay.monitor.snapshot import Stage

        if trial.number == 1:
            left = "" if self._search.goal.budget_s is None else "  left of --budget"
            self._curve.say(heading() + left)
        users = self._search.goal.users
        name, rate = f"trial {trial.number}, {trial.phase}", None if users else trial.rate
        self._audience.begin(Stage(name, rate, trial.seconds, level=trial.rate, users=users))

    def end(self, judged: "Judged", ran: "Ran") -> None:
        from logreplay.analysis.search.report import trial_line

        note, verdict = trial_line(judged, self._search.goal), judged.verdict
        self._audience.end(ran, state=_STATES[verdict], note=note)
        budget = self._search.goal.budget_s
        left = f"  {budget - self._search.elapsed:.0f} s" if budget is not None else ""
        point = None if verdict == "void" else point_of(judged.trial.rate, ran, good=verdict == "pass")
        self._curve.say(f"{note}{left}", point)


def _exit_code(search: "Search") -> Exit:
    from logreplay.analysis.search.report import answer_of

    answer = answer_of(search)
    if answer.holds:
        return Exit.OK
    return Exit.CONDITION if answer.why == "not-met" else Exit.INVALID
