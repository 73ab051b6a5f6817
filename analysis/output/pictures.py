"""Draws the pictures of one analysis by name."""

import textwrap
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from logreplay.analysis.analyze import Analysis
from logreplay.analysis.output.plots import hockey_stick, scaling, single_run
from logreplay.analysis.summary_rows import step_names
from logreplay.core.errors import UsageError
from logreplay.core.masking import safe_to_show
from logreplay.core.plural import number_of
from logreplay.core.quantities import seconds_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_HEAT_TITLE: Final = "Response times over time; brighter: more requests; names: routes, each at its median"


def kinds(analysis: Analysis) -> Sequence[str]:
    """Return the names of the pictures that the data allow."""
    if analysis.requests is None:
        return ("hockeystick",)
    if analysis.users and analysis.steps.height > 1:
        return ("throughput", "hockeystick", "percentiles", "heatmap", "timeline")
    if analysis.steps.height == 1:
        return ("hockeystick", "percentiles", "heatmap", "timeline")
    return ("hockeystick", "achieved", "throughput", "percentiles", "heatmap", "timeline")


def has_curve(analysis: Analysis) -> bool:
    """Whether a run has several rates, or users."""
    return analysis.steps["rate"].n_unique() > 1 or bool(analysis.users)


def usual_kind(analysis: Analysis) -> str:
    """The default picture of a run: a curve over rates, or a timeline if the run has one rate."""
    return "hockeystick" if has_curve(analysis) else kinds(analysis)[-1]


def draw(
    ax: "Axes", analysis: Analysis, kind: str, *, slo: float | None = None, linear: bool = False, title: bool = False
) -> "Axes":
    """Draw one of the `kinds` of pictures of a run; ``slo``: bound of the response time, seconds.

    A hockey stick has the bound of `bound_of` if none is given. Its title is the verdict, with target, log and steps in
    a caption below; that of a timeline is target, log and steps; that of a heat map explains its colours and names. Of
    a sweep over users, ``hockeystick`` and ``throughput`` have the users as their horizontal axis.
    """
    requests, verdict = analysis.requests, analysis.verdict
    if analysis.users and kind in ("throughput", "hockeystick"):
        if title:
            ax.set_title(verdict.sentence, fontsize=10.5, loc="left", wrap=True, parse_math=False)
        if kind == "throughput":
            return scaling.throughput(ax, analysis.users)
        return scaling.response_time(ax, analysis.users, slo)
    if kind == "hockeystick":
        return hockey_stick.hockey_stick(
            ax,
            analysis.seconds,
            analysis.steps,
            verdict=verdict.sentence if title else "",
            caption=textwrap.fill(caption(analysis), 115) if title else "",
            saturation=verdict.saturation.as_dict(),
            onset=verdict.onset.as_dict(),
            slo=bound_of(analysis.summary) if slo is None else slo,
            linear=linear,
        )
    if requests is None or kind not in kinds(analysis):
        raise UsageError(f"kind={kind!r}: these data allow {', '.join(kinds(analysis))}", ("kind",))
    if kind == "achieved":
        return single_run.achieved(ax, hockey_stick.grouped(analysis.steps))
    if kind == "throughput":
        return single_run.against_throughput(ax, hockey_stick.grouped(analysis.steps))
    if kind == "percentiles":
        several = requests.several_rates
        curves = (
            single_run.spread_by_step(requests, telling_steps(analysis)) if several else single_run.spread(requests)
        )
        single_run.percentiles(ax, curves, slo=(0.99, slo) if slo else None)
        if len(curves) < analysis.steps.height and several:
            ax.legend(loc="lower right", fontsize=8, title=f"{len(curves)} of {analysis.steps.height} steps")
        return ax
    if kind == "heatmap":
        if title:
            ax.set_title(_HEAT_TITLE, fontsize=10.5, loc="left")
        return single_run.heat_map(ax, requests)
    return single_run.timeline(ax, analysis.seconds, textwrap.fill(caption(analysis), 115) if title else "")


def bound_of(summary: Mapping[str, Any]) -> float | None:
    """Return the bound on the response time that a search or a sweep was given, seconds: the longest of several.

    That of a sweep is in its ``--stop`` conditions.
    """
    facts = summary.get("slo")
    given = facts.get("bounds", ()) if isinstance(facts, Mapping) else ()
    limits = [each["limit"] for each in given if each["statistic"] != "errors"]
    for text in summary["options"].get("stop", ()):
        figure, _, limit = str(text).partition(">")
        with suppress(ValueError):
            limits += [seconds_of(limit.partition("/")[0])] if figure.strip() in ("p50", "p99") else []
    return max(limits, default=None)


def caption(analysis: Analysis) -> str:
    """Return the caption of a picture: target, log, steps and their length, number of requests."""
    run, steps = analysis.summary, analysis.steps
    names = (("target", run["target"]), ("log", run["log"]))
    parts = [f"{name} {_short(str(value))}" for name, value in names if value]
    shortest, longest = float(steps["duration"].min()), float(steps["duration"].max())  # type: ignore[arg-type]
    ends = [f"{length:.0f}" if length >= 9.5 else f"{length:.2g}" for length in (shortest, longest)]
    length = "–".join(dict.fromkeys(ends))
    parts.append(f"{number_of(steps.height, 'step')} of {length} s")
    return " · ".join((*parts, number_of(run["requests"]["scheduled"], "request")))


def _short(name: str) -> str:
    """A name that can be drawn, its secrets masked, its beginning and end kept."""
    drawn = safe_to_show(name)
    return drawn if len(drawn) <= 60 else f"{drawn[:29]}…{drawn[-30:]}"


def telling_steps(analysis: Analysis) -> dict[int, str]:
    """Return label and name of up to four steps worth comparing: the lowest, half-way, the last stable, the first not.

    Of several trials at a rate the first speaks for it.
    """
    ordered = analysis.steps.sort("rate", maintain_order=True).unique("rate", keep="first", maintain_order=True)
    stable = ordered.filter(pl.col("verdict") == "stable")["step"].to_list()
    others = ordered.filter(pl.col("verdict") != "stable")["step"].to_list()
    chosen = [*stable[:1], *stable[len(stable) // 2 : len(stable) // 2 + 1], *stable[-1:], *others[:1]]
    return {label: name for label, name in step_names(analysis.steps, analysis.summary).items() if label in chosen}
