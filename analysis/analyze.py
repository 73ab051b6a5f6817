"""Reads a result log and computes its tables, verdict and summary."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from warnings import warn

import polars as pl

from logreplay.analysis.costs.route_costs import RouteCosts, route_costs
from logreplay.analysis.findings import LOG_TIMES, NO_TIMES, UNTIMED
from logreplay.analysis.input import arrays, pias, sources
from logreplay.analysis.input.arrays import RequestArrays
from logreplay.analysis.input.downcast import compact
from logreplay.analysis.input.external_metrics import by_step, maxima, with_watched
from logreplay.analysis.input.json_values import JsonValue
from logreplay.analysis.input.run_metadata import (
    asked_rates,
    checked_summary,
    cut_steps,
    left_out_routes,
    limited_steps,
    recorded,
    sampled_share,
    void_trials,
)
from logreplay.analysis.input.sources import Source
from logreplay.analysis.json_text import finite
from logreplay.analysis.limit.limit import limit_of
from logreplay.analysis.limit.sentences import TargetLimit
from logreplay.analysis.limit.watched import watched_figures
from logreplay.analysis.scaling.scale_out import ScaleOut, of_users
from logreplay.analysis.summary import About, plain, summarise, summarise_seconds
from logreplay.analysis.tables import aggregate
from logreplay.analysis.tables.slow_routes import route_balance
from logreplay.analysis.tables.step_intervals import with_intervals
from logreplay.analysis.tables.users import UsersSweep
from logreplay.analysis.verdict import per_second, saturation, saturation_sentences, stability
from logreplay.analysis.verdict.saturation import SaturationVerdict
from logreplay.analysis.verdict.saturation_sentences import RateEstimate
from logreplay.analysis.verdict.stability import CUT, MIX
from logreplay.core.errors import LogreplayError, LossWarning
from logreplay.core.plural import number_of
from logreplay.core.record import REASON, SCHEMA
from logreplay.core.rows import left_out, schema_of


@dataclass(frozen=True)
class Analysis:
    """All tables of one run.

    Attributes:
        requests: the measured ones; None where only a per-second table is left of the run.
        seconds: per-second table.
        verdict: onset and saturation, with the step table and its evidence.
        summary: the contents of summary.json.
        users: the sweep over users; None if requests were sent at a rate.
        scaling: scalability law of a sweep over users; None: fewer than two numbers of users.
        costs: costs of routes; None: no step left out routes.
        asked: rates of a sweep, also those that it left out.
        earlier: summary.json that was read with the result log; None: there was an `About` in its place, or no file.
    """

    requests: RequestArrays | None
    seconds: pl.DataFrame
    verdict: SaturationVerdict
    summary: dict[str, Any]
    users: UsersSweep | None = None
    costs: RouteCosts | None = None
    scaling: ScaleOut | None = None
    asked: Collection[float] = ()
    earlier: JsonValue | None = None

    @property
    def steps(self) -> pl.DataFrame:
        """Step table with the evidence of each step."""
        return self.verdict.steps


def analyse(
    source: Source,
    about: About | None = None,
    executor: Executor | None = None,
    meanwhile: Sequence[Callable[[RequestArrays], object]] = (),
) -> Analysis:
    """Analyse a result log, or the per-second table that is left of one.

    Args:
        source: results to analyse.
        about: caller's part of the summary: log, target, options, findings.
        executor: reads it in stretches, as `logreplay.analysis.input.arrays.read` says.
        meanwhile: further work on the requests in other threads, the longest first.
    """
    path = sources.path_of(source)
    earlier = None if about or path is None else checked_summary(path)
    before = {"options": about.options, **about.more} if about else earlier.value if earlier else {}
    requests = _read(source, executor, sampled_share(before.get("options")))
    if isinstance(requests, pl.DataFrame):
        verdict = saturation.judge(per_second.judged_seconds(requests))
        summary = summarise_seconds(requests, verdict, about)
        return Analysis(None, requests, verdict, summary, asked=asked_rates(before), earlier=earlier)
    with ThreadPoolExecutor(2) as threads:  # NumPy lets others run meanwhile; with more of them, more memory is needed
        cut, left_out = cut_steps(path, before, requests.labels), left_out_routes(before)
        judging = threads.submit(_judged, requests, about, before, cut, left_out)
        others = [threads.submit(work, requests) for work in meanwhile]
        counting = threads.submit(aggregate.seconds, requests)
        verdict, summary, users = judging.result()
        for other in others:
            other.result()
        seconds = with_watched(counting.result(), path)
        verdict = replace(verdict, steps=by_step(verdict.steps, seconds))
        if "steps" in summary:
            summary["steps"] = plain(verdict.steps.to_dicts())
        if summary.get("limit"):
            figures = watched_figures(seconds, verdict.steps, maxima(path), verdict.saturation.high)
            summary["limit"] = plain(TargetLimit.of(summary["limit"]).beside(figures).as_dict())
        costs = None
        if left_out and requests.has_times:
            costs = route_costs(requests, seconds, verdict.steps, left_out, maxima(path), cut)
            summary["costs"] = finite(costs.as_dict())
            if not several_mixed_rates(verdict.steps):
                summary["answer"] = costs.sentence
        sound = verdict.steps.filter(pl.col("verdict").is_in(["stable", "overloaded"]))["step"].implode()
        scaling = of_users(users.table.filter(pl.col("step").is_in(sound))) if users else None
        if scaling:
            summary["scaling"] = plain(scaling.as_dict())
        return Analysis(requests, seconds, verdict, summary, users, costs, scaling, asked_rates(before), earlier)


def several_mixed_rates(steps: pl.DataFrame) -> bool:
    """Whether all routes together were sent at several rates, so that a saturation could be found."""
    return steps.filter(pl.col("verdict") != MIX)["rate"].n_unique() > 1


def seconds(source: Source) -> pl.DataFrame:
    """Return the per-second table of a result log, `logreplay.analysis.tables.aggregate.seconds`, or a table as read.

    For a per-second table of another tool, columns that it lacks are null.

    Rows that cannot be read are left out, with a warning.
    """
    requests = _read(source)
    _warn(requests, source)
    if isinstance(requests, pl.DataFrame):
        unknown = [pl.lit(None).alias(name) for name in aggregate.SECONDS if name not in requests.columns]
        return requests.with_columns(unknown).select(
            *aggregate.SECONDS, *(name for name in requests.columns if name not in aggregate.SECONDS)
        )
    return with_watched(aggregate.seconds(requests), sources.path_of(source))


def analysed(source: Source) -> Analysis:
    """Analyse a result log of which no summary is shown: rows that cannot be read are left out with a warning."""
    found = analyse(source)
    _warn(found.requests, source)
    return found


def rows(path: Path) -> pl.DataFrame:
    """Return all rows of a result log, or of any normalized CSV: the columns of the file and, in seconds, three more.

    ``service``: connect + latency + xfertime. ``response``: from the scheduled instant: lag + queued + service.
    ``good``: answered as expected. Rows that cannot be read are left out, with a warning.
    """
    opened = sources.OpenedRows.of(path)
    with sources.reading(path):
        found = pl.concat((pl.DataFrame(schema=schema_of(opened.names)), *opened.frames(opened.names)), how="diagonal")
    if REASON in found.columns:
        if lost := pias.lost(Counter(found[REASON].drop_nulls())):
            warn(f"{path}: {left_out(lost)}", LossWarning, stacklevel=3)
        found = found.filter(pl.col(REASON).is_null()).drop(REASON)
    service = pl.col("response") - pl.col("lag") - pl.col("queued")
    missing = (pl.lit(None, SCHEMA[name]).alias(name) for name in sources.COLUMNS if name not in found.columns)
    needed = found.with_columns(missing).select(sources.COLUMNS)
    derived = compact(needed.lazy()).select(service=service / 1e6, response=pl.col("response") / 1e6, good="good")
    return found.hstack(derived.collect())


def timed(source: Source) -> Analysis:
    """`analysed`, where response times are needed."""
    found = analysed(source)
    if found.requests and not found.requests.has_times:
        raise LogreplayError(f"{sources.name_of(source)}: {NO_TIMES}; {LOG_TIMES}")
    return found


def _warn(requests: object, source: Source) -> None:
    if isinstance(requests, RequestArrays) and (lost := pias.lost(requests.unreadable)):
        warn(f"{sources.name_of(source)}: {left_out(lost)}", LossWarning, stacklevel=3)


def _read(source: Source, executor: Executor | None = None, sampled: float = 0.0) -> RequestArrays | pl.DataFrame:
    """The requests of a source; its per-second table, if it is one; see `logreplay.analysis.input.arrays.read`."""
    with sources.reading(source):
        try:
            return arrays.read(source, executor, sampled)
        except LogreplayError:
            path = sources.path_of(source)
            table = pias.seconds_table(path) if path is not None and path.exists() else None
            if table is None:
                raise
            if not table["offered"].sum():
                raise LogreplayError(f"{path}: this per-second table holds no requests") from None
            return table


def _judged(
    requests: RequestArrays,
    about: About | None,
    told: Mapping[str, Any],
    cut: Collection[int],
    left_out: Mapping[int, str],
) -> tuple[SaturationVerdict, dict[str, Any], UsersSweep | None]:
    """Judge the requests; ``told`` is the earlier summary, and ``cut`` and ``left_out`` name steps by their labels."""
    closed, limited = (about.closed, about.limited) if about else (recorded(told), limited_steps(told))
    steps = stability.judged_steps(requests, limited, cut, void_trials(told), left_out)
    if not requests.has_times:
        steps = aggregate.without_times(with_intervals(steps, None))
        verdict = saturation.no_verdict(UNTIMED, steps)
        return verdict, summarise(requests, verdict, about, cut=cut), None
    if closed is None or not set(requests.labels) <= set(closed.users):
        verdict = verdict_on(requests, steps, asked_rates(told))
        limit = None if "slo" in told or left_out else limit_of(requests, verdict)  # a search sets rates by its answers
        return verdict, summarise(requests, verdict, about, limit=limit, cut=cut), None
    users = UsersSweep.of(requests, closed, limited, cut)
    none = RateEstimate(False, "requests were sent by users, who wait for responses, and not at a rate")
    at_a_rate = saturation.judge(steps)
    sentence = at_a_rate.sentence if at_a_rate.target_failing else users.verdict.sentence
    sentence += saturation_sentences.describe_cut_steps(
        f"with {number_of(closed.users[label], 'user')}" for label in sorted(cut)
    )
    steps = with_intervals(steps, None, open_loop=False)
    steps = steps.with_columns(verdict=pl.when(pl.col("step").is_in(list(cut))).then(pl.lit(CUT)).otherwise("verdict"))
    verdict = SaturationVerdict(sentence, none, none, None, users.of_steps(steps), at_a_rate.target_failing)
    return verdict, summarise(requests, verdict, about, users), users


def verdict_on(requests: RequestArrays, steps: pl.DataFrame, asked: Collection[float] = ()) -> SaturationVerdict:
    """Judge a sweep by its steps, of `stability.judged_steps`, and routes; ``asked``: all of its rates."""
    verdict = saturation.judge(steps, asked, route_balance(requests) if requests.several_rates else None)
    return replace(verdict, steps=with_intervals(verdict.steps, verdict.carried))
