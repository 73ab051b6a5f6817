"""Makes one duet, two targets at once: from its frozen value to its folder and its result."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import combinations
from math import ceil, inf
from pathlib import Path
from typing import Any, Final

from logreplay.analysis.input.routes import Routes
from logreplay.analysis.output.file_names import companion_files, logins_beside
from logreplay.analysis.output.folder import write_unfinished
from logreplay.analysis.response_diff.rules import default_ignored
from logreplay.analysis.statistics.swapped import FEWEST
from logreplay.analysis.summary import About
from logreplay.calling.loop_thread import run_in_loop, unless_stopped
from logreplay.calling.mailbox import CallListener, Mailbox
from logreplay.calling.stopping import telling_gaps, warn_of_never, watched
from logreplay.calls.duet_call import NAMES, DuetCall
from logreplay.core.errors import Interrupted, LogreplayError, UsageError
from logreplay.core.record import SWAP_TURN, TARGET
from logreplay.folder_results import DuetResult
from logreplay.inputs.logs import Tell, followed, replayable
from logreplay.inputs.streams import count_on, request_stream
from logreplay.replay.engine.engine import stopped_by
from logreplay.replay.monitor.snapshot import Stage
from logreplay.replay.requests.combine import ForTargets, duet_plan
from logreplay.replay.requests.plan import Plan, signing_part
from logreplay.replay.requests.siege_list import UrlList
from logreplay.replay.requests.sources import RequestSource
from logreplay.replay.results.by_target import ByTarget, DuetJudgement
from logreplay.replay.results.login_log import LoginLog
from logreplay.replay.results.result_log import InSteps, ResultLog, partial_path
from logreplay.replay.results.stop_rules import StopRule
from logreplay.replay.results.verdict import Finding
from logreplay.replay.senders.contract import Sender
from logreplay.replay.senders.endpoint import Endpoint, are_one, is_loopback
from logreplay.replay.senders.multi_target import by_target, target_of
from logreplay.replay.senders.pair_keeper import PairSender, SamplingConfig
from logreplay.result_folder import ResultFolder
from logreplay.runs.engines import replayer
from logreplay.runs.evaluation import evaluating, interrupted, interrupted_late, report_sessions, summarising_part
from logreplay.runs.pair_result import EndedDuet
from logreplay.runs.result_files import further_files, inputs

_GIVEN_AS: Final = {
    **{"baseline": "BASELINE", "candidate": "CANDIDATE", "noise": "--noise"},
    **{"baseline2": "--swap BASELINE2", "candidate2": "--swap CANDIDATE2"},
}
_DEPLOY: Final = "run BASELINE and CANDIDATE2 on one machine, CANDIDATE and BASELINE2 on the other"


def duet_once(call: DuetCall, listener: CallListener) -> DuetResult:
    """Replay a log against two targets at once, and compare them."""
    call, mailbox = call.checked(), Mailbox(listener)
    warn_of_never(call.stop_at, call.sender_rules, mailbox)
    reads = inputs(call)
    others = further_files(call.written, reads)
    with ResultFolder.named(call.output, "duet", reads, force=call.force, others=others) as folder:
        try:
            with ExitStack() as stack:
                stream, plan = _requests(call, stack, mailbox.note)
                _check_length(call, plan)
                ended = replayed(call, folder.path, stream, plan, mailbox)
                count_on(stream)
        except LogreplayError as error:
            paths = [path for name in NAMES if (path := folder.path / f"{name}.csv").exists()]
            rows = [str(path) for path in paths if not str(error).endswith(f"kept in {path}")]
            if not rows:
                raise
            raise LogreplayError(f"{error}; the rows are kept in {' and '.join(rows)}") from error
        except KeyboardInterrupt as error:
            late = folder.measured and isinstance(error, Interrupted) and error.late
            kept = folder.path if folder.measured else None
            mailbox.note(interrupted_late(*_again(folder.path)) if late else interrupted(kept), always=True)
            raise
        with evaluating(mailbox, *_again(folder.place)):
            return ended.result(folder.keep()) if folder.measured else ended.nothing(folder.path)


def _again(folder: Path) -> tuple[str, ...]:
    """The command that compares the rows."""
    return ("compare", *(str(folder / f"{name}.csv") for name in NAMES[:2]))


def _requests(call: DuetCall, stack: ExitStack, tell: Tell) -> tuple[ForTargets, Plan]:
    """The requests of all targets, and when they are due."""
    load = call.load
    stream = request_stream(
        call.request_rules,
        call.sender_rules,
        _source(call, stack, tell),
        stack,
        tell,
        loop=load.loops,
        keep=load.keep,
        skip_idle=load.skip_idle,
        in_time=load.in_time,
        ahead=True,
    )
    if signing_part(stream):
        raise UsageError(
            "duet and a --hook that is marked as signing exclude each other: each target would need a "
            "signature of its own; remove the mark"
        )
    several = ForTargets(stream, len(call.targets), call.request_rules.seed + 2, call.alternate)
    return several, duet_plan(several, load.schedule(call.request_rules, stream), call.turns)


def _source(call: DuetCall, stack: ExitStack, tell: Tell) -> Path | RequestSource:
    if call.load.follow:
        if not isinstance(call.log, Path):
            raise UsageError(f"--follow {call.log}: expected a log file that a server writes")
        return followed(call.log, call.load.duration)
    source = stack.enter_context(replayable(call.log, tell))
    if isinstance(source, UrlList) and source.target:
        raise UsageError(
            f"{source} names its own target, {source.target}, and duet sends to BASELINE and CANDIDATE: name a log"
        )
    return source


def _check_length(call: DuetCall, plan: Plan) -> None:
    """Refuse a duet in which a pair of targets has too few turns for an answer, as far as the length is known."""
    if not call.turns:
        return
    load, seconds = call.load, plan.schedule.duration or inf
    if load.requests and load.tps:
        seconds = min(seconds, load.requests / load.tps)
    every = call.turns.every
    if seconds < (least := 2 * FEWEST * every):
        raise UsageError(
            f"--swap needs {least:g} s at least, and this duet takes {seconds:.3g} s: each pair of targets has "
            f"{FEWEST} turns of {every:g} s; run longer, such as --for {ceil(least)}s, or use a shorter --swap-every"
        )


def checked_targets(endpoints: Mapping[str, Endpoint]) -> Iterator[str]:
    """Yield a note for each two targets that are one; refuse pairs of --swap whose roles are not swapped."""
    for (name, one), (other, another) in combinations(endpoints.items(), 2):
        if not are_one(one, another):
            continue
        what = f"{_GIVEN_AS[name]} and {_GIVEN_AS[other]} name one target, {one.target}"
        if name in ("baseline", "candidate") and other in ("baseline2", "candidate2"):
            raise UsageError(f"{what}: {_DEPLOY}")
        yield f"{what}; any difference between them is due to chance"
    if "baseline2" not in endpoints:
        return
    for own, others in (("baseline", "candidate"), ("candidate", "baseline")):
        second = {address for address in endpoints[f"{own}2"].addresses if not is_loopback(address)}
        if second & {*endpoints[own].addresses} and not second & {*endpoints[others].addresses}:
            raise UsageError(
                f"{_GIVEN_AS[own]} and {_GIVEN_AS[f'{own}2']} are on one machine, {min(second)}, and "
                f"{_GIVEN_AS[others]} on another, so that no role is swapped: {_DEPLOY}"
            )


def _several(makers: Sequence[Callable[..., Sender]], keeping: SamplingConfig | None, **given: Any) -> Sender:
    """The sender of a duet, made of those to each target; it keeps pairs that differ."""
    if keeping is None:
        return by_target([make(**given) for make in makers])
    return PairSender(makers, target_of, keeping, **given)


def replayed(call: DuetCall, folder: Path, stream: ForTargets, plan: Plan, mailbox: Mailbox) -> EndedDuet:
    """Run the plan, and tell how it goes."""
    schedule, load, sender_rules, together = plan.schedule, call.load, call.sender_rules, stream.together
    paths = [folder / f"{name}.csv" for name in call.targets]
    rule, peak = StopRule(call.stop_at, call.stop_asked or str), load.peak * together
    share = together / len(paths)
    keep = SamplingConfig(folder, together, sender_rules.timeout, Routes, default_ignored)
    keeping = keep if call.compares_answers else None
    levels = [(rate * share, seconds) for rate, seconds in load.steps or ()]

    async def main(stop: asyncio.Event) -> EndedDuet:
        # all permissions before the first request
        urls = call.all_targets
        endpoints = [await unless_stopped(stop, sender_rules.endpoint(url, urls.values())) for url in urls.values()]
        for note in checked_targets(dict(zip(urls, endpoints, strict=True))):
            mailbox.note(note)
        makers: list[Callable[..., Sender]] = []
        findings: dict[str, Finding] = {}
        for name, endpoint in zip(urls, endpoints, strict=True):
            rules, length = call.rules_for(name), schedule.duration
            ready = rules.ready(endpoint, paths[0], rate=peak, duration=length, together=together)
            make, found = await unless_stopped(stop, ready)
            makers.append(make)
            findings |= {finding.text: finding for finding in found}
        more = (*((TARGET, SWAP_TURN) if call.swap else ()), *sender_rules.columns)
        logs = [ResultLog(path, force=True, companion_files=companion_files, more=more) for path in paths]
        for made, name in zip(logs if levels else (), call.targets, strict=False):
            write_unfinished(made.growing, About(str(call.log), call.urls_of(name), call.as_summary()))
        divided = [InSteps(log, levels) if levels else log for log in logs]
        results = ByTarget(
            divided, together, [*call.all_targets.values()] if call.swap else (), sender_rules.server_timing or ()
        )
        logins = LoginLog(logins_beside(folder / "results.csv"), several=True)
        about = partial(About, str(call.log), where, call.as_summary())
        async with (
            summarising_part(logs, about, mailbox),
            replayer(sender_rules, partial(_several, makers, keeping), results, logins=logins, rate=peak) as engine,
            stopped_by(stop, engine),
        ):
            with audience.may_set(stop):
                steady = load.steady and load.steady * together
                audience.begin(Stage(rate=steady, planned=schedule.duration))
                show = telling_gaps(audience.see, mailbox.note) if load.in_time else audience.see
                outcome = await engine.run(plan, watched(rule, engine, show))
                rule.ended(outcome.stopped)
                health = DuetJudgement.of(outcome.health, call.all_targets, results.counters, results.lacking)
                outcome = replace(outcome, health=health.whole)
                audience.end(outcome)
        answers = outcome.counters.completed * sender_rules.cookies
        sessions = report_sessions(engine, answers=answers, told=outcome.health.findings)
        told = [*findings.values(), *audience.end_readings(), *sessions, *rule.findings()]
        return EndedDuet(call, stream, plan, outcome, health, told, rule)

    grows, where = partial_path(paths[0], companion_files), " and ".join(call.all_targets.values())
    with call.telling.audience("duet", where, grows, mailbox) as audience:
        return run_in_loop(main, mailbox.fault, mailbox)
