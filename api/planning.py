"""Plans: the demand of a log beside the supply of a target that is searched now, or was before."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import inf
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np
import polars as pl

from logreplay.analysis.demand.rates import HOUR, MINUTE
from logreplay.analysis.planning import proof as proving
from logreplay.analysis.planning.autoscaling import pods_over
from logreplay.analysis.planning.forecast import Forecast, read_forecast
from logreplay.analysis.planning.machines import read_law
from logreplay.analysis.planning.plan import DemandGrowth, check_account, check_mix, check_timed, check_whole
from logreplay.analysis.planning.plan import plan as join
from logreplay.analysis.planning.route_mix import LIMIT, ChangedMix, changed_mix, mix_change
from logreplay.analysis.planning.supply import NoAnswer, Supply, supply_of
from logreplay.calls.find_call import FindCall, seed_of, taken_bounds
from logreplay.calls.plan_call import PlanCall
from logreplay.calls.run_call import RunCall
from logreplay.conversion import paths_of, reading_options
from logreplay.core.errors import LogreplayError
from logreplay.core.files import removed_if_empty, scratch_folder, writing
from logreplay.core.masking import masked
from logreplay.core.record import to_csv
from logreplay.core.rows import scan
from logreplay.functions import choice_of, placed, read_call, uninterrupted
from logreplay.log_inspection import inspect_once, no_request
from logreplay.options.load import Load
from logreplay.options.signatures import described
from logreplay.options.spelling import texts_spelled
from logreplay.options.table import READING
from logreplay.parsers.conversion.filters import Filter, instant
from logreplay.parsers.conversion.job import convert
from logreplay.plan_result import PlanResult, check_place
from logreplay.result_folder import free_folder
from logreplay.results import absolute
from logreplay.runs.rate_search import find_once
from logreplay.runs.single import run_once

if TYPE_CHECKING:
    from logreplay.analysis.demand.log_profile import LogProfile
    from logreplay.analysis.planning.plan import MachinePlan
    from logreplay.analysis.planning.proof import Proof
    from logreplay.analysis.statistics.quantiles import Floats
    from logreplay.calling.mailbox import CallListener
    from logreplay.folder_results import FindResult
    from logreplay.log_inspection import InspectResult
    from logreplay.options.parameters import PlanOptions
    from logreplay.parsers.conversion.report import Progress
    from logreplay.results import RunResult

_CONVERTED: Final = "log.csv"
_PART: Final = "proof-of"
_FAILING: Final = "TARGET_FAILING"
_LEAST_PEAK: Final = 5000
"""Requests of the busiest hour from which a search sends only these; fewer would be repeated too often."""
_AFTER_S: Final = 300
"""Seconds of the steepest hour after its rise."""


@described
def plan(
    log: "str | PathLike[str] | Sequence[str | PathLike[str]]",
    target: str | None = None,
    **options: Unpack["PlanOptions"],
) -> PlanResult:
    """Say how many machines carry the demand of a log: at its busiest second, minute and hour, and by hour of the week.

    Describes the log, searches the rate that one machine carries within bounds such as ``p99="300ms"``, and joins both,
    with the uncertainty of each. ``results`` names a search or a sweep made before, from which it plans without load.
    Prints nothing, and writes only to ``output``, a folder. Functions of ``progress`` and ``stop`` are called as by
    `run`. A plan that the measurements do not support is refused: ``plan`` of the result is None, and ``sentence`` says
    why.

    Args:
        log: access log or normalized CSV whose demand counts, or a list of them.
        target: base URL of one machine; None with ``results``.

    Raises:
        BusyError: another run is under way in this process.
        UsageError: parameters are wrong or exclude each other.
        LogreplayError: the log cannot be read, the target not be loaded, or the results not be written.
        Interrupted: Ctrl-C ended the search; ``result`` is the result until then. At a prompt it is returned.
    """
    asked = frozenset(options)
    options["seed"] = seed_of(options.get("seed"))
    values, listener = read_call("plan", options, READING)
    logs, reading = paths_of(log), {name: values.pop(name) for name in READING}
    values |= {"asked": asked, "choice": choice_of(target, values)}
    values["plots"] = values["plots"] and values["output"] is not None
    with placed("plan", values["output"]) as scratch:
        if scratch:
            values["output"] = scratch.path / "plan"
        result = plan_once(plan_call(logs, reading, values), listener)
    result.refusal, result.proofs = texts_spelled((result.refusal, result.proofs), "plan")
    result.notes, result.scratch = texts_spelled(tuple(listener.notes), "plan"), scratch
    if result.search:
        result.search.files, result.search.function = absolute(result.search.files), "plan"
    return uninterrupted(result)


def plan_call(logs: tuple[str, ...], reading: dict[str, Any], values: dict[str, Any]) -> PlanCall:
    """The frozen value of a plan, of the options for reading the logs and its other checked options."""
    own = {name: values.pop(name) for name in PlanCall.__dataclass_fields__ if name in values}
    find = FindCall(log=None, of=", ".join(logs), bounds=taken_bounds(values), **values)
    return PlanCall(logs=logs, reading=reading | {"methods": ""}, find=find, **own)


def plan_once(call: PlanCall, listener: "CallListener", progress: "Progress | None" = None) -> PlanResult:
    """Make a plan; ``progress`` is called while the log is read, about once a block."""
    call = call.checked()
    reading_options(**call.reading)  # refuses wrong values before a file is read
    forecast = read_forecast(call.forecast, call.reading["timezone"] or "UTC") if call.forecast else None
    place, force = call.find.output, call.find.force
    if place and call.results is not None:
        check_place(place, force=force)
    elif place and not force:
        free_folder(place)
    kept = removed_if_empty(place) if place and call.results is not None else nullcontext()  # before hours of reading
    with kept, scratch_folder() as folder:
        result = PlanResult(log=_described(call, folder, progress))
        try:
            _plan(call, result, forecast, folder, listener)
        except NoAnswer as error:
            result.refusal = str(error)
        if place and (call.results is not None or result.search):
            result.save(place, force=force or call.results is None)
    return result


def _described(call: PlanCall, folder: Path, progress: "Progress | None") -> "InspectResult":
    """The contents of the logs, which are read once: for a call that sends they become one normalized CSV."""
    if not call.sends:
        return inspect_once(call.logs, dict(call.reading), progress)
    options = reading_options(**call.reading)
    report = convert(call.logs, folder / _CONVERTED, options, progress)
    if not report.converted:
        raise no_request(call.logs, report, options.filter)
    report.leave_out_idle_zone()
    plain: dict[str, Any] = {**dict.fromkeys(call.reading), "format": "auto", "timezone": call.reading["timezone"]}
    return replace(inspect_once([str(folder / _CONVERTED)], plain), logs=tuple(map(masked, call.logs)), report=report)


def _plan(
    call: PlanCall, result: PlanResult, forecast: Forecast | None, folder: Path, listener: "CallListener"
) -> None:
    """Search where that is asked for, join demand and supply, and prove the plan, or raise `NoAnswer`."""
    profile, limits, report = result.log.profile, call.find.bounds, result.log.report
    check_timed(profile)
    reading = reading_options(**call.reading)
    until = reading.filter.until and instant(reading.filter.until, reading.timezone, "--until")
    check_whole(report.damaged, until or inf)
    refused = report.rejected + report.unreplayable
    judged = replace(reading.filter, since="", until="") != Filter()
    lost = check_account(report.converted, report.filtered, refused, report.sentence(), judged=judged)
    growth = DemandGrowth(share=call.growth or 0.0, front_ends=call.per_machine_of or 1, forecast=forecast)
    law = read_law(call.scaling) if call.scaling else None
    growth.factor(profile)  # refuses a forecast with longer steps than the log
    if call.results is None:
        result.search = search = _search(call, profile, folder, listener)
        if search.unfinished or not search.summary.get("slo", {}).get("found"):
            result.stopped = search.stopped
            raise NoAnswer(search.unfinished or search.summary.get("answer", ""))
        supply = supply_of(search.files[0], limits)
    else:
        supply = supply_of(call.results, limits)
    place = call.costs or call.results
    changed = _changed_mix(call, place, profile, supply) if call.mix and place else None
    made = join(profile, supply, growth, call.reserve, call.reaction, changed, law)
    result.plan = replace(made, lost=lost)
    if call.prove:
        _prove(call, result, result.plan, folder, listener)


def _changed_mix(call: PlanCall, place: Path, profile: "LogProfile", supply: Supply) -> ChangedMix:
    """The change of the mix, of the requests that the supply is measured with."""
    if supply.changed:
        options = ", ".join(f"--{name}" for name in supply.changed)
        raise NoAnswer(f"--mix: {options} changed the routes that were sent, so their costs are not those of the log")
    peak = profile.peak_routes.filter(pl.col("method").is_in(list(supply.methods)))
    return changed_mix(call.mix, place, peak, supply.sent)


def _search(call: PlanCall, profile: "LogProfile", folder: Path, listener: "CallListener") -> "FindResult":
    """Search with the requests of the busiest hour; with the whole log where that hour has few, of the same mix."""
    methods = call.find.sender_rules.methods
    sent = profile.routes.filter(profile.routes["method"].is_in(list(methods)))
    change = mix_change(profile.peak_routes, sent.group_by("route").agg(pl.col("requests").sum()), methods)
    check_mix(replace(change, share=0.0), "a search without them")
    log = folder / _CONVERTED
    hour = profile.peaks.get("hour")
    if hour and hour.requests < profile.requests and (change.share > LIMIT or hour.requests >= _LEAST_PEAK):
        rows = proving.between(scan(log), hour.at, hour.at + HOUR)
        log = _written(rows.drop("start"), folder / "peak.csv")
        listener.note(f"the search sends the {rows.height:,} requests of the busiest hour, one after the other")
    return find_once(replace(call.find, log=log), listener)


def _prove(call: PlanCall, result: PlanResult, made: "MachinePlan", folder: Path, listener: "CallListener") -> None:
    """Replay the parts of the log that the plan is made for; none after one that did not measure the target."""
    if "minute" not in made.demand:
        result.proofs = (proving.unjudged(made.number.number - made.reserve.survive, "the log is shorter than 60 s"),)
        return
    for part in _parts(call, made):
        try:
            drawn = _drawn(call, part, folder)
            ran = _replayed(call, part, drawn, folder, listener)
        except LogreplayError as error:  # the plan stands without its proof
            result.proofs += (proving.unjudged(part.machines, str(error)),)
            return
        result.stopped = ran.stopped
        result.proofs += (_proof(call, made, part, ran, proving.seconds_into(drawn, part.begin)),)
        if ran.stopped.startswith("interrupted") or result.proofs[0].kept is None:
            return


def _parts(call: PlanCall, made: "MachinePlan") -> "Iterator[_Part]":
    """The busiest minute for the planned machines and for one fewer; the steepest hour for an autoscaler."""
    lead, minute = proving.LEAD_S, made.profile.peaks["minute"]
    carrying = made.machines["minute"].number - made.reserve.survive
    for machines in filter(None, (carrying, carrying - 1)):
        shares = np.full(lead + MINUTE, made.grown / machines)
        times = proving.passes(minute.requests, made.grown / machines, call.bounds(made.supply))
        yield _Part(machines, minute.at - lead, shares, times)
    if made.scaling and made.scaling.at is not None:
        begin = max(made.scaling.at + _AFTER_S - HOUR, made.profile.first)
        length = min(HOUR, made.profile.last + 1 - begin)
        pods = pods_over(*made.profile.per_second, made.scaling, made.grown, begin, length)
        yield _Part(0, begin, made.grown / (pods - made.reserve.survive), 1)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the log as one machine gets it.

    Attributes:
        machines: as of `logreplay.analysis.planning.proof.Proof`.
        begin: its first second.
        shares: part of each second's requests that one machine gets.
        times: that it is sent.
    """

    machines: int
    begin: int
    shares: "Floats"
    times: int

    @property
    def name(self) -> str:
        """Its name in words."""
        if not self.machines:
            return "one pod's share of the steepest hour"
        return f"one machine's share of the busiest minute, of {self.machines}"


def _drawn(call: PlanCall, part: _Part, folder: Path) -> pl.DataFrame:
    """The requests of a part that one machine gets; raises where too many are not sent, or there are none."""
    rows = proving.between(scan(folder / _CONVERTED), part.begin, part.begin + len(part.shares))
    sent = rows.filter(rows["op"].is_in(list(call.find.sender_rules.methods)))
    unsent = 1 - sent.height / max(rows.height, 1)
    if unsent > LIMIT:
        raise LogreplayError(
            f"{100 * unsent:.0f} % of its requests have methods that are not sent; send them with --methods; "
            "these may change data on the target"
        )
    shares = part.shares / (1 - unsent)  # as many as planned for, as if the others cost the same
    drawn = proving.share_of(sent, part.begin, shares, part.times, call.find.request_rules.seed)
    if drawn.is_empty():
        raise LogreplayError("none of its requests falls to one machine")
    return drawn


def _replayed(call: PlanCall, part: _Part, drawn: pl.DataFrame, folder: Path, listener: "CallListener") -> "RunResult":
    """Send the requests of a part."""
    find, length = call.find, len(part.shares)
    log = _written(drawn, folder / f"{_PART}-{part.machines}.csv")
    listener.note(f"proof: replaying {part.name}: {drawn.height:,} requests in {part.times * length} s")
    run = RunCall(
        log=log, of=find.of, choice=find.choice, load=Load(speed=1.0), request_rules=find.request_rules,
        sender_rules=find.sender_rules, telling=find.telling, stop_at=find.stop_at, stop_asked=find.stop_asked,
        output=(find.output or folder) / f"proof-{part.machines or 'autoscaler'}.csv", force=True,
    )  # fmt: skip
    return run_once(run, listener)


def _proof(call: PlanCall, made: "MachinePlan", part: _Part, ran: "RunResult", first: float) -> "Proof":
    """Judge the replay of a part, whose first request is due so many seconds into it."""
    from logreplay.analysis.analyze import rows

    if ran.stopped or not ran.valid:
        nothing = proving.unjudged(part.machines, ran.stopped or ran.sentence)
        return replace(nothing, kept=False) if not ran.stopped and ran.verdict == _FAILING else nothing
    found, bounds = rows(ran.files[0]), call.bounds(made.supply)
    return proving.judged(found, bounds, machines=part.machines, first=first, length=len(part.shares))


def _written(rows: pl.DataFrame, path: Path) -> Path:
    """Write rows as a normalized CSV."""
    with writing(path):
        path.write_bytes(to_csv(rows, header=True))
    return path
