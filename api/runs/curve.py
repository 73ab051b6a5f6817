"""Makes a sweep: from its frozen value to its folder of results and its result."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from logreplay.analysis.output.folder import write_folder
from logreplay.analysis.summary import About, failed_of
from logreplay.analysis.verdict.checks import check_valid
from logreplay.calling.busy import used_by_thread
from logreplay.calling.mailbox import CallListener, Mailbox
from logreplay.calling.stopping import warn_of_never
from logreplay.calls.sweep_call import SweepCall
from logreplay.core.errors import LogreplayError
from logreplay.core.plural import number_of
from logreplay.folder_results import SweepResult
from logreplay.inputs.logs import BUNDLED, Tell, replayable
from logreplay.inputs.route_mixes import route_mixes
from logreplay.inputs.streams import bind_target, count_on, left_out, request_stream
from logreplay.inputs.targets import expect_target, target_or_builtin
from logreplay.replay.results.outcome import Outcome, addresses_of
from logreplay.replay.results.stop_rules import StopRule
from logreplay.replay.results.verdict import Finding, RunVerdict, held_back_in_steps, metrics_missed
from logreplay.replay.sweeps.manifest import Manifest, fingerprint
from logreplay.replay.sweeps.step_log import JUDGED
from logreplay.replay.sweeps.steps import generator_findings
from logreplay.result_folder import ResultFolder
from logreplay.runs.evaluation import evaluating, stop_checks
from logreplay.runs.repeated_urls import repeated_urls
from logreplay.runs.result_files import inputs
from logreplay.runs.sweep_steps import sweep_into

if TYPE_CHECKING:
    from logreplay.inputs.logs import Replayable


def sweep_once(call: SweepCall, listener: CallListener) -> SweepResult:
    """Replay a log at each rate, or with each number of users."""
    call, mailbox = call.checked(), Mailbox(listener)
    warn_of_never(call.stop_at, call.sender_rules, mailbox, users=max(call.vusers) if call.vusers else None)
    with used_by_thread() as stack:
        folder = stack.enter_context(_folder(call))
        unfinished = partial(_telling_of_steps, call, folder, mailbox)
        with unfinished():
            expect = partial(expect_target, call.choice)
            log = stack.enter_context(replayable(call.log, mailbox.note, expect_target=expect))
            manifest = _manifest(call, log, folder, mailbox.note)
            url = stack.enter_context(
                target_or_builtin(call.choice, log, mailbox.note, given=call.log is not None, announce=call.announce)
            )
        return sweep_to(url, call, log, folder, manifest, stack, mailbox, unfinished)


def sweep_to(
    url: str,
    call: SweepCall,
    log: "Replayable",
    folder: ResultFolder,
    manifest: Manifest,
    stack: ExitStack,
    mailbox: Mailbox,
    unfinished: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> SweepResult:
    """Sweep a target with a log, and put the result together."""
    with unfinished():
        streaming = partial(
            request_stream,
            call.request_rules,
            call.sender_rules,
            log,
            stack,
            loop=True,
            in_time=call.arrivals == "log",
            ahead=bool(call.vusers),
        )
        stream = streaming(mailbox.note)
        if call.routes:
            call = replace(call, mixes=route_mixes(stream, lambda shape: streaming(lambda _: None, last=shape)))
        bind_target(call.request_rules, url)
        rule = StopRule(call.stop_at, call.stop_asked or str)
        outcomes, findings = sweep_into(call, manifest, stream, url, rule, mailbox)
        count_on(stream)
        urls, repeated = repeated_urls(
            stream, call.request_rules, folder.path, call.restarts,
            each="step", bundled=call.log is None, tell=mailbox.note,
        )  # fmt: skip
    stopped = next((outcome.stopped for outcome in outcomes if outcome.stopped), "")
    rule.ended(stopped)
    lost = any(outcome.lost for outcome in outcomes)
    half = not rule.hit and (bool(stopped) or lost)
    place, summary = folder.path if half or not folder.measured else folder.place, dict[str, Any]()
    steps: pl.DataFrame | None = None
    with ExitStack() as telling:
        if half:
            telling.enter_context(unfinished())
        if folder.measured:
            telling.enter_context(evaluating(mailbox, "analyze", str(place)))
            if not half:
                folder.keep()
            findings += [*repeated, *warnings_of_steps(manifest, outcomes), *rule.findings()]
            verdict = {"verdict": str(RunVerdict.GENERATOR_BOUND)} if lost else {}
            addresses = addresses_of(manifest.unfinished(outcomes), manifest.addresses)
            more = {"stopped": stopped or None, **verdict, **addresses, **_left_out_routes(call)}
            about = About(
                str(call.log or BUNDLED),
                url,
                {**call.as_summary(), **({"stop": [each.text for each in call.stop_at]} if call.stop_at else {})},
                [finding.as_dict() for finding in findings],
                {"left_out": dict(stream.left_out), **urls, **more},
                call.closed_loop,
                limited_steps(manifest, outcomes),
            )
            summary, steps = write_folder(place / JUDGED, place, about, plots=call.plots)
            if outcomes:
                mailbox.note(account(summary))
    return SweepResult(
        summary=summary,
        files=(place / JUDGED,),
        step_table=steps,
        checks=(
            *stop_checks(rule),
            check_valid("valid sweep", {"answered": False, **summary}),
        ),
        stopped=f"stopped: {stopped}" if stopped and rule.hit else stopped,
        by_rule=bool(rule.hit),
        lost=lost,
        left_out=left_out(stream, in_time=call.arrivals == "log"),
        why_nothing=""
        if summary
        else stopped or next((one.why_nothing for one in outcomes), "all steps were made before"),
    )


@contextmanager
def _telling_of_steps(call: SweepCall, folder: ResultFolder, listener: CallListener) -> Iterator[None]:
    """After an interruption that leaves no report, say how many steps are done and where their rows are."""
    try:
        yield
    except KeyboardInterrupt:
        done, steps = 0, len(call.course.steps())
        with suppress(LogreplayError):
            manifest = Manifest.read(folder.path)
            done, steps = len(manifest.done), steps + len(manifest.refined)
        if folder.measured:
            among = "" if call.routes else f" of {steps}"
            told = f"interrupted: {done}{among} steps are done; the rows are kept; {call.resuming(folder.path)}"
        else:
            told = "interrupted before the first step: nothing was measured"
        listener.note(told, always=True)
        raise


def _folder(call: SweepCall) -> ResultFolder:
    reads = inputs(call)
    if not call.resume:
        return ResultFolder.named(call.output, "sweep", reads, force=call.force)
    replaces = False
    with suppress(LogreplayError):  # `_manifest` says what is wrong
        replaces = Manifest.read(call.resume).replaces == str(call.resume.resolve().parent)
    return ResultFolder.resumed(call.resume, reads, replaces=replaces)


def _manifest(call: SweepCall, log: "Replayable", folder: ResultFolder, tell: Tell) -> Manifest:
    """The manifest of the sweep: a new one, or that of the sweep to resume, with the steps that are done."""
    what = {"log": fingerprint(log), "target": call.choice.named or "built-in", **call.as_summary()}
    if call.request_rules.files:
        what["files"] = {str(path): fingerprint(path) for _, path in call.request_rules.files}
    if not call.resume:
        replaces = str(folder.path.resolve().parent) if folder.replaces else ""
        return Manifest(folder.path, what, replaces=replaces, log=str(call.log or BUNDLED))
    manifest = Manifest.read(call.resume)
    manifest.check(what, str(call.log or BUNDLED))
    among = "" if call.routes else f" of {len(call.course.steps())}"
    tell(f"{call.resume}: {len(manifest.done)}{among} steps already done; resuming")
    return manifest


def account(summary: Mapping[str, Any]) -> str:
    """What became of all requests, and why some statuses of 400 and above do not count as failed, in words."""
    counts = summary["requests"]
    sent, ok, http, net = (counts[name] for name in ("sent", "ok", "http_error", "net_error"))
    cancelled = summary["errors"].get("cancelled", 0) - counts["not_sent"]
    expected = http - (failed_of(counts) - net + cancelled)
    one = "of the http_error has a status of 400 or above in the log, too, and does not count as failed"
    many = one.replace("has", "have").replace("does", "do")
    stopped = f", {cancelled:,} of them cancelled" if cancelled else ""
    as_logged = f"; {number_of(expected, one, many)}" if expected else ""
    return f"all steps: sent {sent:,} = ok {ok:,} + http_error {http:,} + net_error {net:,}{stopped}{as_logged}"


def _left_out_routes(call: SweepCall) -> dict[str, dict[str, str]]:
    """The route that each step leaves out, by its label, for the summary; nothing if none does."""
    steps = {str(step.index): call.mixes[step.mix - 1].left_out for step in call.course.steps() if step.mix}
    return {"left_out_routes": steps} if steps else {}


def limited_steps(manifest: Manifest, outcomes: Sequence[Outcome]) -> dict[int, str]:
    """The limit that this machine met, by the step in which it did; with the steps made before a resumption."""
    limits = {each.step.index: each.limit for each in manifest.done}
    limits |= {each.step: each.health.limit for each in outcomes}
    return {step: limit for step, limit in limits.items() if limit}


def warnings_of_steps(manifest: Manifest, outcomes: Sequence[Outcome]) -> list[Finding]:
    """Findings on steps that the generator spoiled or in which it held requests back, also before a resumption.

    ``outcomes`` may hold that of an unfinished step.
    """
    others = manifest.unfinished(outcomes)
    spoilt = [finding for each in manifest.done for finding in each.warnings] + list(generator_findings(others))
    waits = [each.waits for each in manifest.done] + [outcome.evidence.waits for outcome in others]
    made = {outcome.step for outcome in outcomes}
    resumed = any(each.step.index not in made for each in manifest.done)  # their responses may have had every metric
    return spoilt + held_back_in_steps(waits) + ([] if resumed else metrics_missed(each.evidence for each in outcomes))
