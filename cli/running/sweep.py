"""Makes a sweep: from its options to its folder of results and its exit code."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, cast

import click

from logreplay.calling.stopping import stop_rule
from logreplay.cli.display.left_out import report_left_out
from logreplay.cli.exit_codes import Exit
from logreplay.cli.options.log_name import LogName
from logreplay.cli.options.replay import ReplayOptions
from logreplay.cli.running.reporting import report_sweep
from logreplay.cli.running.sweep_runner import sweep_into
from logreplay.core.errors import Interrupted
from logreplay.core.plural import number_of
from logreplay.core.quantities import parse_rates
from logreplay.inputs.logs import replayable
from logreplay.inputs.streams import aim, request_stream
from logreplay.inputs.targets import expect_target, target_or_builtin
from logreplay.options.conflicts import reconciled
from logreplay.options.request_rules import INDEPENDENT, arriving
from logreplay.options.think import Pauses, mean_of, said, thinking
from logreplay.runs.result_files import ResultFolder, inputs

if TYPE_CHECKING:
    from logreplay.analysis.input.closed_loop import ClosedLoop
    from logreplay.inputs.logs import Replayable
    from logreplay.replay.requests.plan import RequestStream
    from logreplay.replay.results.outcome import Outcome
    from logreplay.replay.results.verdict import Finding
    from logreplay.replay.sweeps.manifest import Manifest
    from logreplay.replay.sweeps.steps import At, Course, Order

_SHOWN_LEVELS: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions(ReplayOptions):
    """A sweep, as the user asked for it. Times in seconds."""

    rates: str | None
    log: str | None
    duration: float
    arrivals: str | None
    vusers: Sequence[int] | None
    think: Pauses
    warmup: float | None
    settle: float | None
    repeat: int
    order: str
    keep_going: bool
    restart: bool
    refine: bool
    resume: Path | None
    no_plots: bool

    def checked(self) -> Self:
        """Return the options, with one worker where others of them need that.

        Raises:
            UsageError: two of them exclude each other; names both.
        """
        users = {"--vusers": min(self.vusers)} if self.vusers else {}
        sender_rules = reconciled(
            self.sender_rules, self.request_rules, users=users, numbered="--settle" if self.settle else ""
        )
        if self.think and not self.vusers:
            raise click.UsageError("--think needs users: add --vusers 1,10,50")
        if self.vusers and self.arrivals:
            raise click.UsageError(
                f"--arrivals {self.arrivals} and --vusers exclude each other: a user sends when the response before "
                "has come; give RATES"
            )
        _ = self.levels  # before LOG is looked for: the user may have exchanged the two
        if self.resume and self.output:
            raise click.UsageError("--resume and -o exclude each other: a resumed sweep stays in its folder")
        if self.refine and self.vusers:
            raise click.UsageError("--refine and --vusers exclude each other: name more user counts instead")
        for option, given in (("--vusers", self.vusers), ("--arrivals log", self.arrivals == "log")):
            if self.settle and given:
                raise click.UsageError(f"--settle and {option} exclude each other; use a longer --for instead")
        return replace(self, sender_rules=sender_rules, arrivals=None if self.vusers else self.arrivals or INDEPENDENT)

    @property
    def levels(self) -> Sequence[float]:
        """What the steps ask for: rates, or users.

        Raises:
            UsageError: neither is given, or RATES cannot be read.
        """
        if self.vusers:
            return self.vusers
        if self.rates is None:
            raise click.UsageError("RATES are missing: give rates such as 50..400, or --vusers 1,10,50")
        try:
            return parse_rates(self.rates)
        except ValueError as error:
            raise click.UsageError(f"RATES: {error}") from None

    @property
    def described(self) -> str:
        """Each step with its rate or users, the duration of all, and why they are too few, in words."""
        from logreplay.analysis.verdict.saturation import foreseen

        levels = [f"{level:g}" for level in self.levels]
        shown = levels if len(levels) <= _SHOWN_LEVELS else [*levels[: _SHOWN_LEVELS - 2], "...", levels[-1]]
        unit, again = " users" if self.vusers else "/s", f", {self.repeat} times" if self.repeat > 1 else ""
        course = self.course
        seconds = course.warm_up + sum(step.seconds + course.settle for step in course.steps())
        count = number_of(len(levels), "step")
        judged = not (self.vusers or self.refine or self.resume)
        note = f"\nnote: {why}" if judged and (why := foreseen(self.levels, self.duration)) else ""
        return f"{count}: {', '.join(shown)}{unit}, {self.duration:g} s each{again}; about {seconds:g} s{note}"

    @property
    def course(self) -> "Course":
        """The steps, and the pauses between them."""
        from logreplay.replay.sweeps.steps import Course

        order, going = cast("Order", self.order), self.keep_going or bool(self.vusers)
        warmup, settle, restart = self.warmup or 0, self.settle or 0, bool(self.restarts)
        return Course(
            self.levels, self.duration, warmup, settle, self.repeat, order, self.request_rules.seed, going, restart
        )

    @property
    def restarts(self) -> tuple[str, ...]:
        """The options for which each step begins at the start of the log; empty if steps read on.

        In the bursts of the log each step must have the same ones: the log is not equally busy everywhere.
        """
        return ("--restart",) * self.restart + ("--arrivals log",) * (self.arrivals == "log")

    def at(self, stream: "RequestStream") -> "At":
        """What makes the schedule of a step."""
        from logreplay.replay.schedules.users import Users

        if not self.vusers:
            return arriving(self.arrivals or INDEPENDENT, stream, self.request_rules)
        think = thinking(self.think, self.request_rules.seed)
        return lambda count, seconds, _: Users(int(count), think, seconds)

    @property
    def closed_loop(self) -> "ClosedLoop | None":
        """The users of the steps; None if requests are sent at a rate."""
        from logreplay.analysis.input.closed_loop import ClosedLoop

        users = {step.index: int(step.rate) for step in self.course.steps()}
        return ClosedLoop(users, mean_of(self.think), self.duration) if self.vusers else None

    def said(self) -> dict[str, Any]:
        """What the user said, for the summary and for whoever resumes the sweep."""
        levels = list(self.levels)
        return {
            **({"vusers": levels, "think": said(self.think, self.request_rules.seed)}
               if self.vusers else {"rates": levels, "arrivals": self.arrivals}),
            "for": self.duration, "warmup": self.warmup, "settle": self.settle, "repeat": self.repeat,
            "order": self.order, "restart": bool(self.restarts),
            **self.request_rules.said(), **self.sender_rules.said(),
        }  # fmt: skip


def sweep_rates(options: SweepOptions) -> Exit:
    """Replay a log at each rate, or with each number of users, and report the curve.

    Raises:
        UsageError: options exclude each other.
        LogreplayError: the log cannot be read, the target not be loaded, or the results not be written.
    """
    from logreplay.runs.repeated_urls import repeated_urls

    options = options.checked()
    options.warn_beyond_timeout({})
    rule, terminal, choice = stop_rule(options.stop_at), options.terminal(), options.choice
    log = LogName().convert(options.log, None, None) if options.log else None
    with _folder(options) as folder:
        with ExitStack() as stack, _telling_of_steps(options, folder):
            csv = stack.enter_context(replayable(log, terminal.note, expect_target=partial(expect_target, choice)))
            manifest = _manifest(options, csv, folder)
            url = stack.enter_context(
                target_or_builtin(choice, csv, terminal.note, given=options.log is not None, announce=options.announce)
            )
            stream = request_stream(
                options.request_rules,
                options.sender_rules,
                csv,
                stack,
                terminal.note,
                loop=True,
                in_time=options.arrivals == "log",
                ahead=bool(options.vusers),
            )
            aim(options.request_rules, url)
            outcomes, findings = sweep_into(
                manifest, stream, url, options.course, options.sender_rules, rule, options.telling,
                at=options.at(stream), closed=bool(options.vusers), refine=options.refine,
                described=options.described, terminal=terminal,
            )  # fmt: skip
            urls, repeated = repeated_urls(
                stream,
                options.request_rules,
                folder.path,
                options.restarts,
                each="step",
                bundled=not log,
                tell=terminal.note,
            )
            findings += repeated
        if not folder.measured:
            stopped = next((outcome.stopped for outcome in outcomes if outcome.stopped), "")
            limit = next((outcome.health.limit for outcome in outcomes), "")
            options.say(f"no judged request was sent: {stopped or limit or 'the log holds nothing to replay'}")
            return (Exit.CONDITION if rule.hit else Exit.INTERRUPTED) if stopped else Exit.FAILED
        half = not rule.hit and any(outcome.stopped or outcome.lost for outcome in outcomes)
        place = folder.path if half else folder.keep()
        with _telling_of_steps(options, folder) if half else nullcontext():
            return _report(
                options, place, url, stream, outcomes,
                findings + warnings_of_steps(manifest, outcomes) + rule.findings(), urls,
                limited_steps(manifest, outcomes), by_rule=bool(rule.hit),
            )  # fmt: skip


@contextmanager
def _telling_of_steps(options: SweepOptions, folder: ResultFolder) -> Iterator[None]:
    """Say of an interruption that leaves no report how many steps are made, and where they are."""
    from logreplay.core.errors import LogreplayError
    from logreplay.replay.sweeps.manifest import Manifest

    try:
        yield
    except Interrupted:
        done, steps = 0, len(options.course.steps())
        with suppress(LogreplayError):
            manifest = Manifest.read(folder.path)
            done, steps = len(manifest.done), steps + len(manifest.refined)
        if folder.measured:
            options.say(
                f"interrupted: {done} of {steps} steps are done; the rows are kept; {_resuming(options, folder.path)}"
            )
        else:
            options.say("interrupted before the first step: nothing was measured")
        raise


def _resuming(options: SweepOptions, folder: Path) -> str:
    """How to make the missing steps."""
    instead = "in place of -o " if options.output else ""
    return f"the same command with --resume {shlex.quote(str(folder))} {instead}makes the missing steps"


def _folder(options: SweepOptions) -> ResultFolder:
    reads = inputs(options.log, options.request_rules, options.sender_rules)
    if options.resume:
        from logreplay.core.errors import LogreplayError
        from logreplay.replay.sweeps.manifest import Manifest

        replaces = False
        with suppress(LogreplayError):  # `_manifest` says what is wrong
            replaces = Manifest.read(options.resume).replaces == str(options.resume.resolve().parent)
        return ResultFolder.resumed(options.resume, reads, replaces=replaces)
    return ResultFolder.named(options.output, "sweep", reads, force=options.force)


def _manifest(options: SweepOptions, csv: "Replayable", folder: ResultFolder) -> "Manifest":
    """What belongs to the sweep, and which steps are made: nothing yet, or what the one to go on with left behind.

    Raises:
        LogreplayError: other arguments or another log than those of the sweep to go on with.
    """
    from logreplay.replay.sweeps.manifest import Manifest, fingerprint

    what = {"log": fingerprint(csv), "target": options.target or "built-in", **options.said()}
    if options.request_rules.files:
        what["files"] = {str(path): fingerprint(path) for path in options.request_rules.files}
    if not options.resume:
        return Manifest(folder.path, what, replaces=str(folder.path.resolve().parent) if folder.replaces else "")
    manifest = Manifest.read(options.resume)
    manifest.check(what)
    steps = len(options.course.steps())
    options.say(f"{options.resume}: {len(manifest.done)} of {steps} steps already done; resuming")
    return manifest


def _report(
    options: SweepOptions,
    folder: Path,
    url: str,
    stream: "RequestStream",
    outcomes: "Sequence[Outcome]",
    findings: "list[Finding]",
    urls: dict[str, Any],
    limited: "Mapping[int, str]",
    *,
    by_rule: bool,
) -> Exit:
    """Write and print the findings; ``by_rule``: a condition of --stop came true."""
    from logreplay.analysis.summary import About
    from logreplay.replay.results.verdict import RunVerdict

    lost = any(outcome.lost for outcome in outcomes)
    verdict = {"verdict": str(RunVerdict.GENERATOR_BOUND)} if lost else {}
    more: dict[str, Any] = {"left_out": dict(stream.left_out), **urls, **verdict}
    report_left_out(stream, quiet=options.quiet)
    told = [finding.as_dict() for finding in findings]
    stopped = next((outcome.stopped for outcome in outcomes if outcome.stopped), "")
    about = About(options.log, url, options.said(), told, more, options.closed_loop, limited)
    valid = report_sweep(folder, about, plots=not options.no_plots, as_json=options.as_json, quiet=options.quiet)
    if lost:
        options.say(f"a worker was lost: repeat its step with --resume {folder}")
    if stopped:
        why = f"stopped: {stopped}" if by_rule else stopped
        options.say(f"{why}; the rows are kept; {_resuming(options, folder)}")
        return Exit.CONDITION if by_rule else Exit.INTERRUPTED
    return Exit.OK if valid else Exit.INVALID


def limited_steps(manifest: "Manifest", outcomes: "Sequence[Outcome]") -> dict[int, str]:
    """The steps of a sweep, those made before a resumption too, in which this machine met a limit; and which."""
    limits = {each.step.index: each.limit for each in manifest.done}
    limits |= {each.step: each.health.limit for each in outcomes}
    return {step: limit for step, limit in limits.items() if limit}


def warnings_of_steps(manifest: "Manifest", outcomes: "Sequence[Outcome]") -> "list[Finding]":
    """What spoils steps of a sweep, or held requests back in them; those made before a resumption too.

    Of outcomes also that of an unfinished step.
    """
    from logreplay.replay.results.verdict import held_back_in_steps
    from logreplay.replay.sweeps.steps import of_the_generator

    done = {each.step.index for each in manifest.done}
    others = [outcome for outcome in outcomes if outcome.step not in done]
    spoilt = [finding for each in manifest.done for finding in each.warnings] + list(of_the_generator(others))
    waits = [each.waits for each in manifest.done] + [outcome.evidence.waits for outcome in others]
    return spoilt + held_back_in_steps(waits)
