"""``logreplay sweep``: a step per rate, and the curve."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from click.core import ParameterSource

from logreplay.cli.display.terminal import say
from logreplay.cli.exit_codes import Exit
from logreplay.cli.options.conflicts import reconciled
from logreplay.cli.options.progress import Telling, WithLive, telling_options
from logreplay.cli.options.requests import ARRIVALS, Shaping, arriving, shaping_options
from logreplay.cli.options.sender import Sending, sending_options
from logreplay.cli.options.stop import stop_option, stop_rule
from logreplay.cli.options.think import Pauses, mean_of, parse_pauses, said, thinking
from logreplay.cli.options.types import Duration, ParsedType, Pause, UsersType, parse_rates
from logreplay.cli.running.log_and_target import LogName, new_name, replayable, target_or_builtin
from logreplay.cli.running.outputs import ResultFolder, inputs
from logreplay.cli.running.reporting import report_sweep
from logreplay.cli.running.requests import report_left_out, request_stream
from logreplay.cli.running.sweep_runner import sweep_into

if TYPE_CHECKING:
    from logreplay.replay.requests.plan import RequestStream
    from logreplay.replay.results.outcome import Outcome
    from logreplay.replay.results.stop_rules import Condition
    from logreplay.replay.results.verdict import Finding
    from logreplay.replay.schedules.users import UniformThink
    from logreplay.replay.sweeps.steps import At, Order


@click.command(
    cls=WithLive,
    short_help="A step per rate, and where the curve bends.",
    yields_to={
        "workers": {"hook"},
        "arrivals": {"vusers"},
        "refine": {"vusers"},
        "settle": {"vusers", "arrivals"},
        "output": {"resume"},
    },
    needs={"think": {"vusers"}},
)
@click.argument("rates", required=False, metavar="RATES")
@click.argument("log", required=False)
@click.argument("target", required=False)
@click.option("--for", "duration", type=Duration(), default="10s", show_default=True, help="How long each step is.")
@ARRIVALS
@click.option(
    "--vusers", type=UsersType(), metavar="N,N,…", help="Instead of RATES: so many users who wait, step by step."
)
@click.option(
    "--think",
    type=ParsedType(parse_pauses),
    default=0.0,
    metavar="D|D..D",
    help="Pause of a user after each response, or a range to draw each pause from evenly; default: none.",
)
@click.option("--warmup", type=Pause(), help="Send at the lowest rate first; not judged, kept in warmup.csv.")
@click.option("--settle", type=Pause(), help="Before each step, send at its rate; not judged, likewise.")
@click.option(
    "--repeat", type=click.IntRange(1, 1000), default=1, show_default=True, help="Go through all rates N times."
)
@click.option("--order", type=click.Choice(["given", "up", "down", "shuffle"]), default="given", show_default=True)
@click.option("--keep-going", is_flag=True, help="Go on after two rates in a row that the target did not carry.")
@click.option("--refine", is_flag=True, help="Afterwards, smaller steps where the target saturates.")
@click.option("--resume", type=click.Path(path_type=Path), help="Folder of an interrupted sweep: make what is missing.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder to write; default: named after the time.")
@click.option("--force", is_flag=True, help="Write into an existing OUTPUT.")
@click.option("--no-plots", is_flag=True, help="Tables and summary only.")
@click.option("--json", "as_json", is_flag=True, help="Print summary.json on stdout instead of tables.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@stop_option
@telling_options
@shaping_options
@sending_options
def sweep(
    rates: str | None,
    log: str | None,
    target: str | None,
    duration: float,
    arrivals: str,
    vusers: Sequence[int] | None,
    think: Pauses,
    warmup: float | None,
    settle: float | None,
    repeat: int,
    order: str,
    keep_going: bool,
    refine: bool,
    resume: Path | None,
    output: Path | None,
    force: bool,
    no_plots: bool,
    as_json: bool,
    quiet: bool,
    stop_at: "Sequence[Condition]",
    telling: Telling,
    shaping: Shaping,
    sending: Sending,
) -> int:
    """Replay LOG against TARGET at each of RATES, and find where the response-time curve bends.

    RATES are requests per second: 50..400, 50..400:25 or 10,20,50. Every step sends the log from its beginning;
    between steps all answers are waited for. After two rates in a row that the target did not carry, no higher one
    is tried. Every finished step is on disk: an interrupted sweep goes on where it was, if called again with the
    same arguments and --resume DIR.

    LOG is an access log or a normalized CSV, without it the bundled sample log; TARGET is http://HOST:PORT, without
    it a built-in one. Exit code 4: a condition of --stop came true.

    \b
    Example:
      logreplay sweep 50..400 access.log http://127.0.0.1:8080 --for 30s --stop 'errors>5%/10s' -o sweep
      logreplay sweep --vusers 1,10,50,100,200,300 access.log http://127.0.0.1:8080
    """
    from logreplay.analysis.summary import About
    from logreplay.replay.sweeps.manifest import Manifest, fingerprint
    from logreplay.replay.sweeps.steps import Course

    sending = reconciled(sending, shaping)
    if vusers and _rates_win(rates):
        vusers, think = None, 0.0
    if vusers:
        rates, log, target = None, *_without_rates(rates, log, target)
    if think and not vusers:
        raise click.UsageError("--think is for users who wait: add --vusers 1,10,50")
    if resume and output:
        raise click.UsageError("--resume goes on in its own folder; leave -o out")
    if refine and vusers:
        raise click.UsageError("--refine needs RATES: of users, give more of them where it matters")
    if settle and (vusers or arrivals != "even"):
        raise click.UsageError("--settle needs rates that are sent evenly; a longer --for does without it")
    levels = _levels(rates, vusers)
    keep_going = keep_going or bool(vusers)
    course = Course(levels, duration, warmup or 0, settle or 0, repeat, cast("Order", order), shaping.seed, keep_going)
    how = (
        {"vusers": list(levels), "think": said(think, shaping.seed)}
        if vusers
        else {"rates": list(levels), "arrivals": arrivals}
    )
    options = {
        **how, "for": duration, "warmup": warmup, "settle": settle, "repeat": repeat, "order": order,
        **shaping.said(), **sending.said(),
    }  # fmt: skip
    reads = inputs(log, shaping, sending)
    place = click.get_current_context().with_resource(
        ResultFolder.resumed(resume, reads)
        if resume
        else ResultFolder.new(output or new_name("sweep"), reads, force=force)
    )
    rule = stop_rule(stop_at)
    with ExitStack() as stack:
        csv = stack.enter_context(replayable(LogName().convert(log, None, None) if log else None, quiet=quiet))
        what = {"log": fingerprint(csv), "target": target or "built-in", **options}
        if shaping.files:
            what["files"] = {str(path): fingerprint(path) for path in shaping.files}
        if resume:
            manifest = Manifest.read(resume)
            manifest.check(what)
            say(f"{resume}: {len(manifest.done)} of {len(course.steps())} steps are made; going on", quiet=quiet)
        else:
            manifest = Manifest(place.path, what)
        url = stack.enter_context(target_or_builtin(target, csv, quiet=quiet))
        in_time = arrivals == "log"
        stream = request_stream(shaping, csv, stack, methods=sending.methods, loop=True, in_time=in_time, quiet=quiet)
        at = _users(thinking(think, shaping.seed)) if vusers else arriving(arrivals, stream, shaping)
        make = partial(sweep_into, manifest, stream, url, course, sending, rule, telling)
        outcomes, findings = make(at=at, closed=bool(vusers), refine=refine, quiet=quiet)
    folder = place.keep()
    more: dict[str, Any] = {"left_out": dict(stream.left_out)}
    if vusers:
        users = {step.index: int(step.rate) for step in course.steps()}
        more["users"] = _judge_users(folder, users, duration, mean_of(think))
        more["answer"] = more["users"]["sentence"]
    told = [finding.as_dict() for finding in (*findings, *of_ourselves(outcomes))]
    about = About(log, url, options, told, more)
    report_left_out(stream, quiet=quiet)
    say(_rounds(outcomes, stream), quiet=quiet or not stream.usable)
    stopped = next((outcome.stopped for outcome in outcomes if outcome.stopped), "")
    if stopped:
        say(f"stopped: {stopped}; go on with --resume {folder}", quiet=quiet)
    valid = report_sweep(folder, about, plots=not no_plots, as_json=as_json, quiet=quiet)
    if any(outcome.lost for outcome in outcomes):
        say(f"its step is to be made again: go on with --resume {folder}", quiet=quiet)
    if stopped:
        return Exit.CONDITION if rule.hit else Exit.INTERRUPTED
    return Exit.OK if valid and not any(outcome.lost for outcome in outcomes) else Exit.INVALID


def of_ourselves(outcomes: "Sequence[Outcome]") -> "Iterator[Finding]":
    """What voids steps and lies with us, not with the target: who was too slow, or was lost."""
    from logreplay.replay.results.verdict import RunVerdict, Severity

    for outcome in outcomes:
        if outcome.health.verdict is RunVerdict.GENERATOR_BOUND:
            for finding in outcome.health.findings:
                if finding.severity is Severity.VOID:
                    yield replace(finding, text=f"at {outcome.offered:g}/s: {finding.text}")


def _rates_win(rates: str | None) -> bool:
    """Return whether RATES are typed, and the users come from the settings."""
    source = click.get_current_context().get_parameter_source
    typed, users = (source(name) is ParameterSource.COMMANDLINE for name in ("rates", "vusers"))
    try:
        return typed and not users and bool(parse_rates(rates or ""))
    except ValueError:
        return False


def _without_rates(*given: str | None) -> tuple[str | None, str | None]:
    """LOG and TARGET where no RATES are given: what was typed moves up, what was not comes from the settings."""
    source = click.get_current_context().get_parameter_source
    names = ("rates", "log", "target")
    typed = [value for name, value in zip(names, given, strict=True) if source(name) is ParameterSource.COMMANDLINE]
    if len(typed) > 2:
        raise click.UsageError("--vusers stands instead of RATES: give LOG and TARGET only")
    log, target = [*typed, *given[1 + len(typed) :]]
    return log, target


def _levels(rates: str | None, vusers: Sequence[int] | None) -> Sequence[float]:
    """What the steps ask for: rates, or users."""
    if vusers:
        return vusers
    if rates is None:
        raise click.UsageError("at which rates? Give RATES, such as 50..400, or --vusers 1,10,50")
    try:
        return parse_rates(rates)
    except ValueError as error:
        raise click.UsageError(f"RATES: {error} or, for several, 50..400, 50..400:25 or 10,20,50") from None


def _users(think: "float | UniformThink") -> "At":
    from logreplay.replay.schedules.users import Users

    return lambda count, seconds: Users(int(count), think, seconds)


def _judge_users(folder: Path, users: Mapping[int, int], duration: float, mean_think: float) -> dict[str, Any]:
    """Write ``users.csv``, and say what it says."""
    from logreplay.analysis.input import arrays
    from logreplay.analysis.tables.users import judge_users, users_table
    from logreplay.parsers.files import write_whole

    table = users_table(arrays.read(folder / "results.csv"), users, duration)
    write_whole(folder / "users.csv", table.write_csv())
    return {**judge_users(table, mean_think).as_dict(), "steps": table.to_dicts()}


def _rounds(outcomes: "Sequence[Outcome]", stream: "RequestStream") -> str:
    """How often the log was gone through."""
    rounds = ", ".join(f"{outcome.scheduled / max(1, stream.usable):.2f}" for outcome in outcomes)
    return f"each step went through the log so many times: {rounds}"
