"""Searches for the highest rate that keeps a bound: from the options to the folder of results and the exit code."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from logreplay.calling.audience import Audience
from logreplay.calling.loop_thread import run_in_loop, unless_stopped
from logreplay.calling.stopping import stop_rule, watched
from logreplay.cli.display.bug_report import tell_of_loop
from logreplay.cli.display.left_out import report_left_out
from logreplay.cli.display.live_curve import GrowingCurve, point_of
from logreplay.cli.display.progress import Terminal
from logreplay.cli.display.words import print_arrivals
from logreplay.cli.exit_codes import Exit
from logreplay.cli.options.replay import ReplayOptions
from logreplay.cli.running.reporting import evaluating, report
from logreplay.cli.signals import SIGNALS
from logreplay.core.errors import Interrupted
from logreplay.core.plural import number_of
from logreplay.inputs.logs import replayable
from logreplay.inputs.streams import aim, request_stream
from logreplay.inputs.targets import expect_target, target_or_builtin
from logreplay.options.conflicts import reconciled
from logreplay.options.request_rules import INDEPENDENT
from logreplay.options.think import Pauses, said, thinking
from logreplay.runs.engines import replayer
from logreplay.runs.result_files import ResultFolder, further_files, inputs
from logreplay.runs.sessions import report_sessions
from logreplay.runs.trials import by_chance, drive, evenly, users

if TYPE_CHECKING:
    from logreplay.analysis.search.search import Goal, Judged, Search, Trial
    from logreplay.inputs.logs import Log
    from logreplay.replay.requests.plan import RequestStream
    from logreplay.replay.results.outcome import Outcome as Ran
    from logreplay.replay.results.stop_rules import StopRule
    from logreplay.replay.results.verdict import Finding, Waits
    from logreplay.replay.schedules.rates import Schedule
    from logreplay.replay.senders.contract import Sender

BOUNDS: Final = ("p50", "p90", "p95", "p99", "p999", "p9999", "p99999", "mean", "max")
"""Statistics of the response time that can be bounded."""
_FULL_S: Final = 60.0
_STATES: Final = {"pass": "carried", "fail": "overloaded", "void": "void"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FindOptions(ReplayOptions):
    """A search, as the user asked for it. Times in seconds."""

    log: "Log | None"
    limits: Mapping[str, float | None]
    max_errors: float
    start: float
    max_tps: float | None
    precision: float
    trial_s: float | None
    trials: int
    budget: float
    arrivals: str | None
    vusers: bool
    restart: bool
    think: Pauses | None
    tps: float | None
    no_plots: bool
    junit: Path | None

    @property
    def goal(self) -> "Goal":
        """The searched quantity.

        Raises:
            UsageError: no bound is given, or the figures do not go together.
        """
        from logreplay.analysis.search.search import Goal
        from logreplay.analysis.search.slo import Bound

        if self.think and not self.vusers:
            raise click.UsageError("--think needs users: add --vusers")
        if self.vusers and self.arrivals:
            raise click.UsageError(
                f"--arrivals {self.arrivals} and --vusers exclude each other: a user sends when the response before "
                "has come; leave out one of them"
            )
        bounds = [Bound(name, limit) for name in BOUNDS if (limit := self.limits[name]) is not None]
        if not bounds:
            raise click.UsageError("a bound is missing: give one, such as --p99 300ms")
        try:
            bounds.append(Bound("errors", self.max_errors))
            start = max(round(self.start), 1) if self.vusers else self.start
            return Goal(
                tuple(bounds), start, self.max_tps, self.precision, self.trial_s, self.trials, self.budget, self.vusers
            )
        except ValueError as error:
            raise click.UsageError(str(error)) from None

    @property
    def schedule_of(self) -> "Callable[[Trial], Schedule]":
        """What makes the schedule of a trial."""
        if self.vusers:
            return users(thinking(self.think or 0.0, self.request_rules.seed))
        return evenly if self.arrivals == "even" else by_chance(self.request_rules.seed)

    @property
    def arrives(self) -> str | None:
        """How requests arrive; None: users send them."""
        return None if self.vusers else self.arrivals or INDEPENDENT

    def said(self, goal: "Goal") -> dict[str, Any]:
        """What the user said, for the summary."""
        return {
            **{str(bound.statistic): bound.limit for bound in goal.bounds},
            "start": goal.start, "max_tps": self.max_tps, "precision": self.precision, "trial": self.trial_s,
            "trials": self.trials, "budget": self.budget, "arrivals": self.arrives, "vusers": self.vusers,
            "restart": self.restart, "seed": self.request_rules.seed,
            "think": said(self.think, self.request_rules.seed),
            **self.sender_rules.said(), **self.request_rules.said(),
        }  # fmt: skip


def find_rate(options: FindOptions) -> Exit:
    """Search for the highest rate that keeps the bounds, and report it.

    Raises:
        UsageError: options exclude each other.
        LogreplayError: the log cannot be read, the target not be loaded, or the results not be written.
    """
    from logreplay.analysis.search.search import Search
    from logreplay.runs.repeated_urls import repeated_urls

    search, quiet, terminal, choice = Search(options.goal), options.quiet, options.terminal(), options.choice
    fewest = {"--start": int(search.goal.start)} if options.vusers else {}
    sender_rules = reconciled(options.sender_rules, options.request_rules, users=fewest, numbered="find")
    options = replace(options, sender_rules=sender_rules)
    options.warn_beyond_timeout({f"--{name}": limit for name, limit in options.limits.items() if limit is not None})
    reads = inputs(options.log, options.request_rules, sender_rules)
    others = further_files({"--junit": options.junit}, reads)
    with ResultFolder.named(options.output, "find", reads, force=options.force, others=others) as place:
        with ExitStack() as stack:
            csv = stack.enter_context(
                replayable(options.log, terminal.note, expect_target=partial(expect_target, choice))
            )
            url = stack.enter_context(
                target_or_builtin(choice, csv, terminal.note, given=options.log is not None, announce=options.announce)
            )
            requests = request_stream(
                options.request_rules,
                sender_rules,
                csv,
                stack,
                terminal.note,
                loop=True,
                ahead=bool(options.vusers),
            )
            aim(options.request_rules, url)
            rule = stop_rule(options.stop_at)
            try:
                cut, findings = _search(search, options, place.path, requests, url, rule, terminal)
            except Interrupted:
                options.say(_unfinished("interrupted", search, place))
                raise
            if cut:
                why, code = _cut(cut, rule)
                options.say(_unfinished(why, search, place))
                return code
            restarts, bundled = ("--restart",) * options.restart, not options.log
            with evaluating("logreplay", "analyze", str(place.path)):
                urls, repeated = repeated_urls(
                    requests,
                    options.request_rules,
                    place.path,
                    restarts,
                    each="trial",
                    bundled=bundled,
                    tell=terminal.note,
                )
            findings += repeated
        folder = place.keep()
        report_left_out(requests, quiet=quiet)
        return _report(search, options, folder, url, [finding.as_dict() for finding in findings], urls)


def _cut(trial: "Ran", rule: "StopRule") -> tuple[str, Exit]:
    """Why a search ended in a trial, and the exit code."""
    if rule.hit:
        return f"stopped: {rule.hit}", Exit.CONDITION
    if trial.lost:
        return f"{trial.health.limit}; the search ended", Exit.INVALID
    return "interrupted", Exit.INTERRUPTED


def _unfinished(why: str, search: "Search", place: ResultFolder) -> str:
    """The sentence for a search without an answer: why it ended, its trials, the rate known so far, the folder."""
    from logreplay.analysis.search.report import so_far

    known = f": {text}" if (text := so_far(search)) else ""
    count = len(search.judged)
    kept = f"; the rows are kept; a search cannot be resumed\nresults: {place.path}"
    return f"{why} after {number_of(count, 'trial')}{known}{kept if place.measured else '; nothing was measured'}"


def _report(
    search: "Search",
    options: FindOptions,
    folder: Path,
    url: str,
    found: "list[dict[str, Any]]",
    urls: "dict[str, Any]",
) -> Exit:
    """Write and print the answer of a search that ended."""
    from logreplay.analysis.search.report import answer_of, sentence, slo, weaknesses
    from logreplay.analysis.summary import About

    text, facts = sentence(search, options.tps), slo(search, options.tps) | {"seed": options.request_rules.seed}
    log, more = str(options.log) if options.log else None, {"answer": text, "slo": facts, **urls}
    answer = answer_of(search)
    if not search.trials or answer.why == "generator":
        more["verdict"] = "GENERATOR_BOUND"
    elif answer.holds:  # it rests on a valid trial, whatever others were
        more["verdict"] = "VALID"
    answered = answer.holds or answer.why == "not-met"
    about = About(log, url, options.said(search.goal), found + weaknesses(search), more=more, answered=answered)
    plots = not options.no_plots

    def show(*_: object) -> None:
        click.echo(text)
        if not options.quiet:
            print_arrivals(about.options)
            seed = options.request_rules.seed
            click.echo(f"seed: {seed}; --seed {seed} repeats the same random choices")

    summary = report(folder, about, show, plots=plots, as_json=options.as_json, quiet=options.quiet)
    if plots:
        from logreplay.analysis.output.plots.hockey_stick import figure, save
        from logreplay.analysis.output.plots.search import trace
        from logreplay.core.files import atomic_path

        with atomic_path(folder / "search.png") as fresh:
            save(figure(lambda ax: trace(ax, facts)), fresh)
    options.say(f"verdict: {summary['verdict']}\nresults: {folder}")
    failed = Exit.CONDITION if answer.why == "not-met" and summary["verdict"] == "VALID" else Exit.INVALID
    code = Exit.OK if answer.holds else failed
    if options.junit:
        from logreplay.analysis.output.junit import write_junit
        from logreplay.analysis.verdict.gates import Check

        state: Final = "passed" if answer.holds else "failed" if failed is Exit.CONDITION else "unjudged"
        write_junit(options.junit, "find", [Check("a rate keeps the bounds", state, text)])
    return code


def _search(
    search: "Search",
    options: FindOptions,
    folder: Path,
    requests: "RequestStream",
    target: str,
    rule: "StopRule",
    terminal: Terminal,
) -> "tuple[Ran | None, list[Finding]]":
    """Run the trials into ``results.csv`` of a folder; return the trial in which it ended early, and the findings."""
    from logreplay.analysis.output.file_names import logins_beside
    from logreplay.analysis.output.folder import remove_unfinished, write_unfinished
    from logreplay.analysis.summary import About
    from logreplay.replay.checks.cpu_contention import cpu_contention
    from logreplay.replay.engine.engine import stopped_by
    from logreplay.replay.results.login_log import LoginLog
    from logreplay.replay.results.recent import RecentRequests
    from logreplay.replay.results.result_log import ResultLog
    from logreplay.replay.results.verdict import held_back_in_steps

    path, sender_rules, goal = folder / "results.csv", options.sender_rules, search.goal

    async def ready() -> "tuple[Callable[[], Sender], list[Finding], bool]":
        endpoint = await sender_rules.endpoint(target)
        made = await sender_rules.ready(endpoint, path, rate=goal.start, duration=_FULL_S)
        return *made, sender_rules.is_here(endpoint)

    async def main(stop: asyncio.Event) -> "tuple[Ran | None, list[Finding]]":
        sender, findings, here = await unless_stopped(stop, ready())
        responses = RecentRequests(ResultLog(path))
        write_unfinished(path, About(str(options.log) if options.log else None, target, options.said(goal)))
        rate = goal.start if goal.users else goal.highest or goal.start
        async with (
            replayer(
                sender_rules, sender, responses, logins=LoginLog(logins_beside(path)), rate=rate, closed=goal.users
            ) as engine,
            stopped_by(stop, engine),
        ):
            teller = _Teller(search, audience, terminal, drawn=options.telling.progress == "auto")
            if here and (busy := await cpu_contention()):
                teller.warn(busy)
            with audience.may_set(stop):
                cut = await drive(
                    search,
                    engine,
                    responses,
                    requests,
                    schedule_of=options.schedule_of,
                    restart=options.restart,
                    contention=cpu_contention if here else None,
                    on_begin=teller.begin,
                    on_progress=watched(rule, engine, audience.see),
                    on_end=teller.end,
                )
        answers = teller.answered * sender_rules.cookies
        sessions = report_sessions(engine, answers=answers)
        told = [*findings, *audience.findings, *held_back_in_steps(teller.waits), *rule.findings()]
        if not cut:
            remove_unfinished(path)
        return cut, [*told, *sessions]

    with options.telling.audience("find", target, path, terminal) as audience, SIGNALS.hearing():
        return run_in_loop(main, tell_of_loop)


class _Teller:
    """Tells how a search goes: what runs, a line on stderr for each trial that ended, and the curve below them.

    Attributes:
        answered: requests of its trials with a whole response.
        waits: of the requests of its trials.
    """

    def __init__(self, search: "Search", audience: Audience, terminal: Terminal, *, drawn: bool) -> None:
        self._search, self._audience, self._warned = search, audience, False
        self.answered = 0
        self.waits: list[Waits] = []
        bounds = [bound.limit for bound in search.goal.bounds if bound.statistic != "errors"]
        unit = "users" if search.goal.users else "req/s"
        self._curve = GrowingCurve(
            terminal.write, quiet=terminal.quiet, drawn=drawn, unit=unit, bound=min(bounds, default=None)
        )

    def begin(self, trial: "Trial") -> None:
        from logreplay.analysis.search.report import heading, unconfirmable
        from logreplay.replay.monitor.snapshot import Stage

        if trial.number == 1:
            if note := unconfirmable(self._search.goal):
                self._curve.say(note)
            left = "" if self._search.goal.budget_s is None else "  left of --budget"
            self._curve.say(heading() + left)
        users = self._search.goal.users
        name, rate = f"trial {trial.number}, {trial.phase}", None if users else trial.rate
        self._audience.begin(Stage(name, rate, trial.seconds, level=trial.rate, users=users))

    def warn(self, why: str) -> None:
        """Say once, as early as it is known, that trials will be invalid, and what to do."""
        if not self._warned:
            self._curve.say(
                f"note: {why}; trials that fail meanwhile are invalid, and two of them at one rate end the search "
                "below it: stop other programs, or use another machine for the target or for logreplay"
            )
        self._warned = True

    def end(self, judged: "Judged", ran: "Ran") -> None:
        from logreplay.analysis.search.report import trial_line

        self.answered += ran.counters.completed
        self.waits.append(ran.evidence.waits)
        note, verdict = trial_line(judged, self._search.goal), judged.verdict
        self._audience.end(ran, state=_STATES[verdict], note=note)
        budget = self._search.goal.budget_s
        left = f"  {max(round(budget - self._search.elapsed), 0)} s" if budget is not None else ""
        point = None if verdict == "void" else point_of(judged.trial.rate, ran, good=verdict == "pass")
        self._curve.say(f"{note}{left}", point)
        if verdict == "void":
            self.warn(f"trial {judged.trial.number} is invalid")
