"""The data of the report's interactive charts, as plain values for JSON.

A chart is a list of rows that share their abscissa. A row has its height in pixels, the labels ``x`` and ``y``, and
``series``, each with abscissas and ordinates of its own; null ends a line. A series may have ``across``: two points to
be joined by dashes, between which nothing was measured. Dots ``failed`` mark abscissas; their ordinates mean
nothing. Colours are names of the page's variables.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from logreplay.analysis.analyze import Analysis
from logreplay.analysis.format_time import show
from logreplay.analysis.input.arrays import RequestArrays
from logreplay.analysis.input.external_metrics import PREFIX, watched_in
from logreplay.analysis.output import pictures
from logreplay.analysis.output.plots import single_run
from logreplay.analysis.output.plots.hockey_stick import (
    by_rate,
    column,
    first_overloaded,
    grouped,
    limited_rates,
    percentiles_by_rate,
    sent_in_time,
)
from logreplay.analysis.output.plots.scaling import by_users
from logreplay.analysis.statistics.quantiles import Floats, Micros, quantile
from logreplay.analysis.summary_rows import step_names
from logreplay.analysis.tables.users import UsersSweep
from logreplay.core.masking import terminal_safe

Chart = list[dict[str, Any]]

_DIGITS: Final = 4
_MOST_DOTS: Final = 4000
_MOST_CURVES: Final = 40
_COLOURS: Final = ("mark", "saturation", "good", "onset", "bad", "faint")
_DASHES: Final = (None, [8, 4], [2, 3], [8, 3, 2, 3])


def charts(analysis: Analysis) -> dict[str, Chart]:
    """Return the rows of each interactive chart by the kind of the picture that it stands for."""
    if analysis.users and analysis.requests is not None and analysis.steps.height > 1:
        found = {
            "throughput": _of_users(analysis.users, "requests/s", "throughput"),
            "hockeystick": _of_users(analysis.users, "response time, ms", "p90", "p50", "p99"),
        }
        percentiles, timeline = _percentiles(analysis, analysis.requests), _timeline(analysis)
        return {**found, "percentiles": percentiles, "timeline": timeline}
    found = {"hockeystick": _hockey_stick(analysis)}
    if analysis.requests is not None:
        found["percentiles"] = _percentiles(analysis, analysis.requests)
        found["timeline"] = _timeline(analysis)
        if analysis.steps.height > 1:
            found["achieved"] = _achieved(analysis)
    return found


def _of_users(sweep: UsersSweep, label: str, *names: str) -> Chart:
    """Figures of a sweep over users against their number, with the asymptotes; times in milliseconds."""
    table, verdict = by_users(sweep), sweep.verdict
    users, scale = column(table, "users"), 1 if names == ("throughput",) else 1000
    curves = zip(names, _DASHES, strict=False)
    series = [_series(name, users, scale * column(table, name), dash=dash, dots="solid") for name, dash in curves]
    spans = []
    if verdict.crossing is not None:
        ends = (verdict.crossing_low, verdict.crossing, verdict.crossing_high)
        low, at, high = (float(f"{verdict.crossing if end is None else end:.3g}") for end in ends)
        spans = [{"low": low, "at": at, "high": high, "colour": "onset", "name": "N*", "unit": " users"}]
        if names == ("throughput",):
            rise, plateau = np.array([0.0, verdict.crossing]), np.array([verdict.crossing, users.max()])
            for name, x, y in (
                ("nobody waits: N / (R + Z)", rise, rise * verdict.throughput / verdict.crossing),
                ("plateau", plateau, np.full(2, verdict.throughput)),
            ):
                series.append(_series(name, x, y, dash=_DASHES[1], colour="faint"))
    return [{"height": 340, "x": "users", "y": label, "from": 0, "series": series, "spans": spans}]


def _numbers(values: Floats) -> list[float | None]:
    """Values with `_DIGITS` significant digits; null where there is none."""
    return [float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else None for value in values]


def _series(name: str, x: Floats, y: Floats, **look: Any) -> dict[str, Any]:
    return {"name": terminal_safe(name), "x": _numbers(x), "y": _numbers(y), "colour": "mark", **look}


def _hockey_stick(analysis: Analysis) -> Chart:
    seconds, verdict, limited = analysis.seconds, analysis.verdict, limited_rates(grouped(analysis.steps))
    steps = sent_in_time(grouped(analysis.steps))
    middle = "p50" if "p50" in seconds.columns and np.isfinite(column(steps, "p50")).any() else "mean"
    offered, median = column(seconds, "offered"), 1000 * column(seconds, middle)
    known, failed = np.isfinite(median) & (median > 0), np.unique(offered[np.isinf(median)])
    dots, width = single_run.neighbours(pl.DataFrame({"x": offered[known], "y": median[known]}), _MOST_DOTS)
    drawn = dots.agg(pl.all().sort_by("y").last())
    name = f"{middle} of one second" + f", the highest of {width}" * (width > 1)
    series = [_series(name, column(drawn, "x"), column(drawn, "y"), dots="small", colour="faint")]
    rate, wall = by_rate(steps)[0], first_overloaded(steps)
    percentiles = percentiles_by_rate(steps, middle)
    for (name, times, _), dash in zip(percentiles, _DASHES, strict=False):
        x, y, across = rate, times, {}
        if 0 < wall < len(rate):  # a gap in the line: no rate in between was measured
            ends = slice(wall - 1, wall + 1)
            x, y = np.insert(x, wall, rate[ends].mean()), np.insert(y, wall, np.nan)
            across = {"across": [_numbers(rate[ends]), _numbers(times[ends])]} if np.isfinite(times[ends]).all() else {}
        series.append(_series(name, x, y, dash=dash, dots="solid", **across))
    for name, times, supported in percentiles:
        if not supported.all():
            hollow = f"{name}: too few requests, longest time"
            series.append(_series(hollow, rate[~supported], times[~supported], dots="hollow"))
    if bound := pictures.bound_of(analysis.summary):
        span = np.array([0.0, max(rate.max(), offered.max(initial=0.0))])
        series.append(_series(f"bound {show(bound)}", span, np.full(2, 1000 * bound), dash=_DASHES[1], colour="good"))
    if len(failed):
        top = np.full(len(failed), max((y for one in series for y in one["y"] if y is not None), default=1.0))
        series.append(_series("one second in which most failed", failed, top, dots="failed", colour="bad"))
    bends = (("saturation", verdict.saturation), ("onset", verdict.onset))
    spans = [{"low": b.low, "at": b.rate, "high": b.high, "colour": name, "name": name} for name, b in bends if b.found]
    spans += [
        {"low": low, "at": at, "high": high, "colour": "faint", "name": "replay machine limited"}
        for at, low, high in limited
    ]
    labels = {"x": "offered rate, requests/s", "y": "response time, ms", "from": 0}
    return [{"height": 380, **labels, "log": True, "series": series, "spans": spans}]


def _percentiles(analysis: Analysis, requests: RequestArrays) -> Chart:
    shown: Sequence[str] | None = None
    if requests.several_rates:
        telling, names = pictures.telling_steps(analysis), step_names(analysis.steps, analysis.summary)
        chosen = list(dict.fromkeys((*telling, *names)))[:_MOST_CURVES]
        curves: Mapping[str, Micros] = single_run.spread_by_step(
            requests, {label: name for label, name in names.items() if label in chosen}
        )
        shown = list(telling.values())
    else:
        curves = single_run.spread(requests)
    series = []
    for index, (name, ordered) in enumerate(curves.items()):
        if len(ordered):
            depth = np.linspace(0, np.log10(max(len(ordered), 2)), 80)
            times = np.array([1000 * quantile(ordered, 1 - 10**-nines) for nines in depth])
            positive = np.where(times > 0, times, np.nan)
            look = {"colour": _COLOURS[index % len(_COLOURS)], "dash": _DASHES[index % len(_DASHES)]}
            series.append(_series(name, depth, positive, **look, show=shown is None or name in shown))
    labels = {"x": "share of the requests that took no longer", "y": "time, ms", "at": "share"}
    return [{"height": 340, **labels, "log": True, "nines": True, "series": series}]


def _timeline(analysis: Analysis) -> Chart:
    watched = {name: PREFIX + name for name in watched_in(analysis.seconds.columns)}
    highest = (*single_run.TIMES_DRAWN, "in_flight", "errors", "lag_max", *watched.values())
    seconds, width = single_run.thinned(analysis.seconds, ("offered", "completed"), highest)
    at = column(seconds, "second")

    def row(label: str, *series: dict[str, Any]) -> dict[str, Any]:
        each = f"second (each point: the mean rate of {width} s, or their highest value)" if width > 1 else "second"
        return {
            "height": 150,
            "x": each,
            "at": "second",
            "y": terminal_safe(label),
            "stepped": True,
            "series": list(series),
        }

    return [
        row(
            "requests/s",
            _series("offered", at, column(seconds, "offered"), colour="faint", width=1),
            _series("completed", at, column(seconds, "completed"), width=1),
        ),
        row(
            "time, ms",
            *(
                _series(name, at, 1000 * column(seconds, name), colour=colour)
                for name, colour in zip(single_run.TIMES_DRAWN, ("mark", "saturation"), strict=True)
            ),
        ),
        row("in flight", _series("in flight", at, column(seconds, "in_flight"))),
        row("errors/s", _series("errors", at, column(seconds, "errors"), colour="bad")),
        row("lag, ms", _series("generator lag, highest", at, 1000 * column(seconds, "lag_max"), colour="saturation")),
        *(row(name, _series(name, at, column(seconds, named), colour="good")) for name, named in watched.items()),
    ]


def _achieved(analysis: Analysis) -> Chart:
    rate, sent, good, errors, dropped, scheduled, offered = by_rate(
        grouped(analysis.steps), "sent", "goodput", "errors", "dropped", "scheduled", "offered"
    )
    series = [
        _series("offered", rate, offered, colour="faint", dash=[2, 3]),
        _series("sent", rate, sent, colour="saturation", dots="hollow"),
        _series("answered as expected", rate, good, dots="solid"),
        _series("failed", rate, offered * (errors - dropped) / scheduled, colour="bad", dash=[8, 4]),
    ]
    return [{"height": 400, "x": "offered rate, requests/s", "y": "requests/s", "from": 0, "series": series}]
