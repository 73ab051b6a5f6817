"""Writes the report: one HTML file that needs nothing else, verdict on top.

All that comes from logs and responses is escaped. Pictures are drawn into the page, in its colours; where JavaScript
runs, uPlot shows interactive charts in their place. The Content-Security-Policy runs only these two scripts.
"""

import base64
import hashlib
import io
import json
import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from markupsafe import Markup

from logreplay.analysis import summary_rows
from logreplay.analysis.analyze import Analysis
from logreplay.analysis.costs.route_costs import cost_rows
from logreplay.analysis.format_time import between, show, show_range, show_rate
from logreplay.analysis.input.arrays import RequestArrays
from logreplay.analysis.input.chunks import SECOND
from logreplay.analysis.input.external_metrics import watched_in
from logreplay.analysis.input.run_metadata import sampled_share
from logreplay.analysis.output import charts, pictures
from logreplay.analysis.output.plots import hockey_stick, scaling
from logreplay.analysis.output.template import rendered, resource
from logreplay.analysis.output.trace_links import is_sampled, link
from logreplay.analysis.output.trial_table import SearchAnswer, search_answer, trial_rows
from logreplay.analysis.summary import failed_of
from logreplay.analysis.tables import aggregate
from logreplay.core.files import atomic_path
from logreplay.core.masking import safe_to_show
from logreplay.core.record import TRACE_ID

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK: Final = "#010203"
"""Colour of text and frames in a drawing, replaced by that of the page, which is light or dark."""

_MOST_NAMED: Final = 12
"""Rates that are named one by one."""
_ROUTES: Final = 30
_CAPTIONS: Final = {
    "hockeystick": (
        "Response time against offered rate",
        "Each small dot is one second. Curves are percentiles of the steps.",
    ),
    "achieved": (
        "Achieved against offered",
        "Sent below the diagonal: this machine was the limit. Answered below it: the target was.",
    ),
    "throughput": (
        "Response time against throughput",
        "The same steps by completed rate. The curve bends back where the target collapses.",
    ),
    "percentiles": ("Distribution", "Share of the requests that took no longer; each further nine is as wide."),
    "heatmap": (
        "Response times over time",
        "Brighter: more requests. Shows pauses, drift and several modes. "
        "Names: routes whose medians differ, in a sweep at its lowest rate.",
    ),
    "timeline": (
        "Rates, response times, backlog, errors and generator lag over time",
        "In flight: requests sent and not yet answered at the end of each second.",
    ),
}
_OF_USERS: Final = {
    "throughput": (
        "Throughput against users",
        "Dashed: nobody waits, each user adds as much. They cross the plateau at N*: more users wait for each other.",
    ),
    "hockeystick": ("Response time against users", "Beyond N*, each user adds to the wait of all."),
}
_STYLE: Final[dict[Any, Any]] = {
    **dict.fromkeys(("text.color", "xtick.color", "ytick.color"), INK),
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "axes.titlecolor"), INK),
    **dict.fromkeys(("axes.facecolor", "figure.facecolor", "legend.facecolor", "legend.edgecolor"), "none"),
    "svg.hashsalt": "logreplay",
    "font.size": 10,
    "legend.framealpha": 0,
}


def write(folder: Path, analysis: Analysis, kept: Collection[str] = ()) -> None:
    """Write ``hockeystick.png`` and ``report.html`` into a folder; of a sweep over users also ``users.png`` and
    ``scaling.png``; none of the files to be ``kept``."""
    drawing = partial(pictures.draw, analysis=analysis, title=True)
    drawn: dict[str, Callable[[Axes], Axes]] = {"hockeystick.png": partial(drawing, kind="hockeystick")}
    if "throughput" in pictures.kinds(analysis) and analysis.users:
        drawn["users.png"] = partial(drawing, kind="throughput")
    if analysis.scaling:
        drawn["scaling.png"] = partial(scaling.scaling, found=analysis.scaling, unit="users")
    for file in sorted(drawn.keys() - kept):
        with atomic_path(folder / file) as fresh:
            hockey_stick.save(hockey_stick.figure(drawn[file]), fresh)
    if "report.html" in kept:
        return
    with atomic_path(folder / "report.html") as fresh:
        fresh.write_text(html(analysis), encoding="utf-8")


def html(analysis: Analysis) -> str:
    """Return the report as the text of an HTML page."""
    filters: dict[str, Callable[..., Any]] = {
        "time": lambda seconds: show(seconds, failed=seconds == np.inf),
        "figure": summary_rows.in_step,
        "between": between,
        "count": lambda number: "–" if number is None else f"{number:,.0f}",
        "shown": safe_to_show,
        "option": _option,
        "rate": lambda number: "–" if number is None else show_rate(number, 4),
    }
    interactive, answer = charts.charts(analysis), search_answer(analysis.summary, analysis.steps)
    library, script = resource("uplot/uPlot.iife.min.js"), resource("charts.js")
    return rendered(
        "report.html.j2",
        filters,
        costs=[
            (safe_to_show(name), *cells) if place else (name, *cells)
            for place, (name, *cells) in enumerate(cost_rows(analysis.costs.routes) if analysis.costs else ())
        ],
        library=Markup(library),  # both are files of this package
        script=Markup(script),
        hashes=[_hash(library), _hash(script)],
        licence=resource("uplot/LICENSE.txt"),
        chart_style=Markup(resource("uplot/uPlot.min.css")),
        charts=_embedded(interactive),
        chart_kinds=list(interactive),
        run=analysis.summary,
        limit=[safe_to_show(sentence) for sentence in summary_rows.limit_sentences(analysis.summary).values()],
        headline=answer.headline if answer else "",
        protocol=summary_rows.protocol(analysis.summary["target"], analysis.summary["options"]),
        tiles=_tiles(analysis, answer),
        trials=trial_rows(analysis.summary, analysis.steps),
        steps=analysis.steps.to_dicts() if analysis.steps.height > 1 else [],
        word=partial(summary_rows.verdict_word, limit=summary_rows.saturation_rate(analysis.summary)),
        names=summary_rows.step_names(analysis.steps, analysis.summary),
        whole=None if "by_step" in analysis.summary else _tables(analysis.summary, analysis.requests),
        parts=_parts(analysis),
        slowest=_slowest(analysis),
        slowest_sampled=_slowest(analysis, sampled=True),
        pictures=_pictures(analysis),
        halves=() if analysis.users else ("achieved", "throughput"),
    )


def _hash(script: str) -> str:
    """The source that lets the Content-Security-Policy run this script and no other."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _embedded(value: Any) -> Markup:
    """JSON for a script element: without ``<``, ``>`` and ``&``, so that no text in it ends the element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _tables(figures: Mapping[str, Any], requests: RequestArrays | None) -> dict[str, Any]:
    """The tables of requests that were sent at one rate: times, kinds, routes, the figures of siege and ab."""
    ladder = {"heads": summary_rows.latency_heads(figures), "ladder": summary_rows.latency_rows(figures)}
    tables: dict[str, Any] = {**ladder, "kinds": [], "routes": [], "ab": None}
    if requests is None:
        return tables
    kinds = requests.kinds
    return tables | {
        "kinds": [(name, count, count / kinds.total()) for name, count in kinds.most_common()],
        "routes": aggregate.by_route(requests).head(_ROUTES).to_dicts(),
        "siege": summary_rows.siege_rows(figures),
        "ab": summary_rows.ab_rows(figures),
        "ab_counts": summary_rows.ab_counts(figures),
    }


def _parts(analysis: Analysis) -> list[dict[str, Any]]:
    """The tables of each step of a sweep, by rate; the last stable one, otherwise the first, is open."""
    requests, by_step = analysis.requests, analysis.summary.get("by_step", [])
    if requests is None or not by_step:
        return []
    stable = summary_rows.last_stable(analysis.steps)
    steps = {row["step"]: row for row in analysis.steps.iter_rows(named=True)}
    parts = [
        {
            **steps[figures["step"]],
            "last_stable": figures["step"] == stable,
            **_tables(figures, requests.of_step(requests.labels.index(figures["step"]))),
        }
        for figures in by_step
    ]
    order = list(summary_rows.step_names(analysis.steps, analysis.summary))
    parts.sort(key=lambda part: order.index(part["step"]))
    opened = next((part for part in parts if part["last_stable"]), parts[0])
    return [{**part, "open": part is opened} for part in parts]


def _slowest(analysis: Analysis, *, sampled: bool = False) -> list[dict[str, Any]]:
    """The slowest requests of all steps, or of those whose trace was sampled, with the step and the link of each."""
    if analysis.requests is None:
        return []
    options = analysis.summary["options"]
    share, url = sampled_share(options), options.get("trace_url")
    starts = analysis.steps.sort("start").select("step", at=_micros("start"))
    found = analysis.requests.slowest_sampled if sampled else analysis.requests.slowest
    slowest = found.with_row_index("place").sort("scheduled").with_columns(at=_micros("scheduled"))
    rows = slowest.join_asof(starts, on="at").sort("place").to_dicts()
    return [
        {"link": link(url, each) if is_sampled(each := row.get(TRACE_ID) or "", share) else None, **row} for row in rows
    ]


def _micros(name: str) -> pl.Expr:
    """Seconds as whole microseconds: as fractions, equal instants may differ in their last digit."""
    return (pl.col(name) * SECOND).round().cast(pl.Int64)


def _tiles(analysis: Analysis, answer: SearchAnswer | None) -> list[tuple[str, str, str]]:
    """The figures at the top: (name, value, remark)."""
    run, verdict = analysis.summary, analysis.verdict
    tiles = list(answer.tiles) if answer else []
    for name, bend in () if answer else (("saturation", verdict.saturation), ("onset", verdict.onset)):
        if bend.found and bend.low is not None and bend.high is not None:
            tiles.append((name, f"~{show_rate(bend.rate or 0.0)}/s", f"{show_range(bend.low, bend.high)}/s"))
    counts = run["requests"]
    unsent = counts.get("dropped", 0) + counts.get("not_sent", 0)
    missing = f", {unsent:,} not sent" if unsent else ""
    tiles.append(("requests", f"{counts['scheduled']:,}", f"{failed_of(counts):,} failed{missing}"))
    label = answer.label if answer else summary_rows.last_stable(analysis.steps) if "by_step" in run else None
    best = None if label is None else analysis.steps.row(by_predicate=pl.col("step") == label, named=True)
    names = summary_rows.step_names(analysis.steps, run)
    where = "from the scheduled send time"
    if answer and label is not None:
        where = f"at {names[label]}, the confirmation"
    elif best:
        limit = summary_rows.saturation_rate(run)
        where = f"at {summary_rows.place_of_stable(best, names[best['step']], limit)}"
    times = best or run.get("response_s", {})
    for name in ("p50", "p99"):
        if times.get(name) is not None or (not best and name in times):
            value = summary_rows.in_step(best, name) if best else summary_rows.shown(times, name)
            tiles.append((f"response time {name}", value, where))
    lag, late = run.get("lag_s", {}).get("p99"), "how late this machine sent"
    if best:
        worst = analysis.steps.sort(pl.col("lag_p99").fill_null(-1.0)).row(-1, named=True)
        lag, late = worst["lag_p99"], f"at {names[worst['step']]}, the highest of all steps"
    if lag is not None:
        tiles.append(("generator lag p99", show(lag), late))
    return tiles


def _option(value: Any) -> str:
    """The value of an option in words: numbers without trailing zeros, lists with commas."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, list):
        return ", ".join(map(_option, value))
    return f"{value:g}" if isinstance(value, float) else value if isinstance(value, str) else json.dumps(value)


def _pictures(analysis: Analysis) -> list[tuple[str, str, str, str, Markup]]:
    """(kind, name, description, note on points left out, drawing) of each picture that the data allow."""
    found = []
    for kind in pictures.kinds(analysis):
        name, what = (_OF_USERS if analysis.users else _CAPTIONS).get(kind, _CAPTIONS[kind])
        if kind == "hockeystick":
            measured = pictures.caption(analysis)
            what = f"{what} {measured[0].upper()}{measured[1:]}."
            if (
                not analysis.users
                and 0 < hockey_stick.first_overloaded(analysis.steps) < analysis.steps["rate"].n_unique()
            ):
                what += " Grey dashes join the last stable to the first overloaded step: no rate between was measured."
            what += _failed(analysis)
        drawn = _left_out(analysis) if kind == "percentiles" else ""
        watched = len(watched_in(analysis.seconds.columns))
        height = 5.6 + watched if kind == "timeline" else 5.0 if kind == "hockeystick" else 3.9
        size = (5.2, 4.8) if kind in ("achieved", "throughput") and not analysis.users else (5.6, height)
        found.append((kind, name, what, drawn, svg(partial(pictures.draw, analysis=analysis, kind=kind), size, name)))
    return found


def _failed(analysis: Analysis) -> str:
    """Name the rates at which p99 falls on a failed request, as a sentence; empty if it does at none."""
    rates = [] if analysis.users else hockey_stick.rates_failed(analysis.steps, "p99").tolist()
    if not rates:
        return ""
    at = (
        ", ".join(show_rate(rate, 4) for rate in rates)
        if len(rates) <= _MOST_NAMED
        else f"{len(rates)} rates from {show_rate(rates[0], 4)}"
    )
    return f" p99 is failed, as it falls on a failed request, at {at}/s{' on' * (len(rates) > _MOST_NAMED)}."


def _left_out(analysis: Analysis) -> str:
    """Name the steps that the picture of the distribution leaves out, as a sentence; empty if it shows all."""
    drawn = pictures.telling_steps(analysis)
    if analysis.requests is None or not analysis.requests.several_rates or analysis.steps.height <= max(len(drawn), 1):
        return ""
    names = summary_rows.step_names(analysis.steps, analysis.summary)
    left = [name for label, name in names.items() if label not in drawn]
    if len(left) > 20:
        return f"Drawn: {len(drawn)} of {analysis.steps.height} steps."
    return f"Left out: {'; '.join(left)}."


def svg(draw: "Callable[[Axes], object]", size: tuple[float, float], title: str) -> Markup:
    """Draw a picture as SVG that takes text and frames from the colour of the page."""
    text = io.StringIO()
    made = hockey_stick.figure(draw, size=size, changes=_STYLE)
    with hockey_stick.style(_STYLE):
        made.savefig(text, format="svg", dpi=110, metadata={"Date": None})
    drawn = text.getvalue()
    drawn = drawn[drawn.index("<svg") :].replace(INK, "currentColor").replace(hockey_stick.BLUE, "var(--mark)")
    drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL)
    drawn = re.sub(r'(?<=[\s"])width="[\d.]+pt"', "", drawn, count=1)
    drawn = re.sub(r'(?<=[\s"])height="[\d.]+pt"', "", drawn, count=1)
    label = f'<svg role="img" aria-label="{Markup.escape(title)}" '
    return Markup(label + drawn.removeprefix("<svg "))  # made by matplotlib, which escapes all text
