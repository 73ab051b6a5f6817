"""Pictures of one run besides the hockey stick: achieved rates, distributions, course over time.

As in `logreplay.analysis.output.plots.hockey_stick`: each takes an Axes and data, draws, and returns the Axes.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from polars.dataframe.group_by import GroupBy

from logreplay.analysis.format_time import show, show_rate
from logreplay.analysis.input.arrays import RequestArrays
from logreplay.analysis.input.chunks import SECOND
from logreplay.analysis.input.external_metrics import PREFIX, watched_in
from logreplay.analysis.output.plots.hockey_stick import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    by_rate,
    column,
    drawable,
    finish,
    logarithmic,
    milliseconds,
    plain_numbers,
    sent_in_time,
)
from logreplay.analysis.statistics.quantiles import FAILED, Floats, Micros, quantile, valid_rank
from logreplay.analysis.tables.group_times import GroupTimes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS: Final = 140
_HEAT: Final = ListedColormap(colormaps["viridis"](np.linspace(0.12, 0.93, 256)), name="viridis without its ends")
_HEAT_S: Final = 2
_HEAT_ROWS: Final = 90
_HEAT_RATES: Final = 150
_NAMED: Final = 6
"""Most frequent routes that a heat map names."""
_TOGETHER: Final = 2
"""Names that label one band, at most."""
_ROOM_FOR_LEGEND: Final = 1.5
"""Height of a row of the timeline, as a multiple of its highest line: the legend has room above it."""
_APART: Final = 0.035
"""Share of the height of a heat map below which the medians of two routes are one band: two names would overlap."""
_LONGEST_NAME: Final = 32
TIMES_DRAWN: Final = ("p50", "p95")
"""Response times that a timeline shows: more requests than a second has are needed for p99."""
_MOST_POINTS: Final = 1000


def achieved(ax: "Axes", steps: pl.DataFrame) -> "Axes":
    """Draw the sent and the completed rate against the offered rate; errors as an area.

    Where the marks of the sent rate leave the diagonal, this machine was the limit.
    """
    rate, offered, sent, good, errors, dropped, scheduled = by_rate(
        steps, "offered", "sent", "goodput", "errors", "dropped", "scheduled"
    )
    failed = offered * (errors - dropped) / scheduled
    top = float(np.nanmax(np.concatenate((rate, offered, sent)))) * 1.05
    ax.plot([0, top], [0, top], color=GREY, ls=":", lw=1, label="completed = offered")
    ax.fill_between(rate, 0, failed, color=RED, alpha=0.3, lw=0, label="failed")
    ax.plot(rate, good, color=BLUE, marker="o", ms=4, lw=1.6, label="answered as expected")
    ax.plot(rate, sent, color=ORANGE, marker="x", ms=6, lw=0, label="sent")
    ax.set_xlim(0, top)
    ax.set_ylim(0, top)
    ax.set_aspect("equal")
    finish(ax, "offered rate, requests/s", "requests/s")
    return ax


def against_throughput(ax: "Axes", steps: pl.DataFrame) -> "Axes":
    """Draw response time against the completed rate; the curve bends back where the target collapses."""
    rate, good, median, *tails = by_rate(sent_in_time(steps), "goodput", "p50", "p95", "p99")
    for name, style, times in zip(("p50", "p95", "p99"), ("-", "--", ":"), (median, *tails), strict=True):
        shown = 1000 * np.where(np.isinf(times), np.nan, times)
        ax.plot(good, shown, BLUE, ls=style, marker="o", ms=3, lw=1.3, label=_with_gaps(name, times))
    for index in np.unique(np.linspace(0, len(rate) - 1, min(len(rate), 8)).astype(int)):
        if np.isfinite(median[index]):
            ax.annotate(show_rate(rate[index], 4), (good[index], 1000 * median[index]), fontsize=7, color=GREY,
                        xytext=(3, -9), textcoords="offset points")  # fmt: skip
    logarithmic(ax)
    ax.set_xlim(0, float(np.nanmax(good, initial=0.0)) * 1.1 or 1)
    milliseconds(ax.yaxis)
    finish(ax, "answered as expected, requests/s (small numbers: offered)", "response time, ms")
    return ax


def percentiles(ax: "Axes", curves: Mapping[str, Micros], *, slo: tuple[float, float] | None = None) -> "Axes":
    """Draw the whole distribution of times, the tail stretched so that each nine takes the same room.

    Each curve has sorted microseconds, `FAILED` for those that never ended, and ends at 1 - 1/n. A cross marks ``slo``:
    a percentile as a fraction, and its bound in seconds.
    """
    colours = (BLUE, ORANGE, GREEN, RED, GREY)
    lowest, deepest = np.inf, 0.9
    for index, (name, ordered) in enumerate(curves.items()):
        if not len(ordered):
            continue
        deepest = max(deepest, 1 - 1 / len(ordered))
        shares = 1 - np.geomspace(1, 1 / len(ordered), _POINTS)
        times = 1000 * np.array([quantile(ordered, share) for share in shares])
        lowest = min(lowest, 1000 * quantile(ordered, 0.05))
        ax.plot(shares, np.where(np.isinf(times), np.nan, times), color=colours[index % len(colours)], lw=1.5,
                ls=("-", "--", "-.", ":")[index % 4], label=name)  # fmt: skip
    if slo is not None:
        ax.plot([slo[0]], [1000 * slo[1]], marker="+", ms=14, mew=2, color=GREEN, lw=0, label=f"bound {show(slo[1])}")
    ax.set_xscale("function", functions=(_nines, lambda x: 1 - 10.0**-x))
    marks = [mark for mark in (0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999) if mark <= deepest]
    marks = marks[deepest >= 0.9999 :]  # 0 % and 50 % would overlap
    ax.xaxis.set_major_locator(FixedLocator(marks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.6g} %"))
    ax.set_xlim(0, deepest)
    logarithmic(ax)
    if np.isfinite(lowest) and lowest > 0:
        ax.set_ylim(bottom=lowest / 1.5)
    milliseconds(ax.yaxis)
    finish(ax, "share of the requests that took no longer", "time, ms", "lower right")
    return ax


def _nines(share: Any) -> Any:
    return -np.log10(1 - np.clip(share, 0, 1 - 1e-9))


def spread(requests: RequestArrays) -> dict[str, Micros]:
    """Return the curves of `percentiles` for one run: response time, service time and any generator lag.

    No time is of a request that the run cancelled as it stopped.
    """
    finished = requests.finished
    curves: dict[str, Micros] = {
        "response time": _without_the_generators(finished),
        "service time": np.sort(finished.service[finished.sent]),
    }
    if requests.lag.any():
        curves["generator lag"] = np.sort(requests.lag)
    return curves


def spread_by_step(requests: RequestArrays, names: Mapping[int, str]) -> dict[str, Micros]:
    """Return the curves of `percentiles` for some steps, given by label and name: response times."""
    return {
        name: _without_the_generators(requests.of_step(requests.labels.index(label)).finished)
        for label, name in names.items()
    }


def _without_the_generators(requests: RequestArrays) -> Micros:
    """Sorted response times, `FAILED` from where on the generator's lag reaches them: the curve ends there."""
    response = np.sort(requests.judged)
    if requests.has_late:
        response[valid_rank([(response, np.sort(requests.judged_without_lag))]) :] = FAILED
    return response


def heat_map(ax: "Axes", requests: RequestArrays) -> "Axes":
    """Draw how many requests took how long, over time, and the offered rate above it.

    Shows what percentiles hide: several modes, pauses, drift.
    """
    chosen = requests.judged < FAILED
    at, took_ms = requests.scheduled[chosen] / SECOND, np.maximum(requests.response[chosen], 1) / 1000
    end = float(requests.scheduled.max()) / SECOND + _HEAT_S
    times = np.arange(0, end + _HEAT_S, max(_HEAT_S, end / 600))
    if len(took_ms):
        lowest = max(float(np.quantile(took_ms, 0.0005)) / 1.2, 1e-3)
        rows = np.geomspace(lowest, took_ms.max() * 1.05, _HEAT_ROWS)
        counts = np.histogram2d(at, took_ms, (times, rows))[0].T
        counts[counts == 0] = np.nan
        drawn = ax.pcolormesh(times, rows, counts, norm=LogNorm(), cmap=_HEAT, rasterized=True)
        beside = 0.03 if ax.figure.get_layout_engine() else 0.11  # without one, room for the labels of the other scale
        _name_bands(ax, requests, rows)
        bar = ax.figure.colorbar(drawn, ax=ax, pad=beside, label="requests in a cell")
        plain_numbers(bar.ax.yaxis)
    ax.set_yscale("log")
    milliseconds(ax.yaxis)
    ax.set_xlim(0, times[-1])
    ax.set_xlabel("seconds since the start of the run")
    ax.set_ylabel("response time, ms")
    rate = ax.twinx()
    seconds = np.bincount(requests.scheduled // SECOND)
    width = -(-len(seconds) // _HEAT_RATES)  # of more, the line would cover the cells
    means = np.add.reduceat(seconds, np.arange(0, len(seconds), width)) / np.minimum(
        width, len(seconds) - np.arange(0, len(seconds), width)
    )
    rate.step(np.arange(0, len(seconds), width), means, where="post", color=BLUE, lw=0.8, alpha=0.7)
    rate.set_ylabel("offered, requests/s", color=BLUE)
    rate.set_ylim(bottom=0)
    return ax


def _name_bands(ax: "Axes", requests: RequestArrays, rows: Floats) -> None:
    """Name the most frequent routes at the left, each at its median, if these make more than one band.

    In a sweep at its lowest rate: pooled, the medians would tell at which rates a route happened to be asked for.
    """
    if requests.several_rates:
        requests = requests.of_step(int(np.argmin(np.nan_to_num(requests.rates, nan=np.inf))))
    counts = np.bincount(requests.route, minlength=len(requests.routes))
    took = GroupTimes.by(requests, "route", len(requests.routes)).quantile(0.5)
    often = [route for route in np.argsort(-counts)[:_NAMED] if counts[route] and 0 < took[route] < np.inf]
    bands: list[tuple[float, list[str]]] = []
    for route in sorted(often, key=lambda route: took[route]):
        name = drawable(requests.routes[route] or "/", _LONGEST_NAME)
        if bands and math.log(1000 * took[route] / bands[-1][0]) < _APART * math.log(rows[-1] / rows[0]):
            bands[-1][1].append(name)
        else:
            bands.append((1000 * took[route], [name]))
    for at, names in bands if len(bands) > 1 else ():
        more = f" and {len(names) - _TOGETHER} more" if len(names) > _TOGETHER else ""
        ax.text(0.01, at, f"{', '.join(names[:_TOGETHER])}{more}", transform=ax.get_yaxis_transform(), fontsize=7,
                va="center", color="black", parse_math=False,
                bbox={"facecolor": "white", "alpha": 0.8, "lw": 0, "pad": 1.5})  # fmt: skip


def _with_gaps(name: str, times: Floats) -> str:
    """The label of a percentile, with the reason where its line has gaps, or is not there."""
    if np.isinf(times).any():
        return f"{name} (no line where it falls on a failed request)"
    return name if np.isfinite(times).any() else f"{name} (too few requests)"


def timeline(ax: "Axes", seconds: pl.DataFrame, title: str = "") -> "Axes":
    """Draw over time: rates, response times, requests in flight, errors, generator lag, and each external metric.

    A row for each takes the place of the Axes; the last one is returned. Columns ``watch_NAME`` are drawn unchanged.
    Of more than 1,000 seconds several make a point: the mean of the rates, the highest value of all others.
    """
    ax.set_axis_off()
    watched = {name: PREFIX + name for name in watched_in(seconds.columns)}
    highest = (*TIMES_DRAWN, "in_flight", "errors", "lag_max", *watched.values())
    seconds, width = thinned(seconds, ("offered", "completed"), highest)
    number = 5 + len(watched)
    rows = ax.get_subplotspec().subgridspec(number, 1, hspace=0.08)  # type: ignore[union-attr]
    made = ax.figure
    axes = [made.add_subplot(rows[0])]
    axes[0].set_title(title, fontsize=9, loc="left", parse_math=False)
    axes += [made.add_subplot(rows[index], sharex=axes[0]) for index in range(1, number)]
    edge = seconds.tail(1).with_columns(pl.col("second") + width)  # a step is drawn up to the next point
    seconds = pl.concat([seconds, edge])
    at = column(seconds, "second")
    axes[0].step(at, column(seconds, "offered"), color=GREY, lw=1, where="post", label="offered")
    axes[0].step(at, column(seconds, "completed"), color=BLUE, lw=1, where="post", label="completed")
    axes[0].legend(loc="upper left", fontsize=7, ncols=2)
    for name, color in zip(TIMES_DRAWN, (BLUE, ORANGE), strict=True):
        times = column(seconds, name) * 1000
        shown = np.where(np.isfinite(times), times, np.nan)
        axes[1].step(at, shown, color=color, lw=1, where="post", label=_with_gaps(name, times))
    axes[1].legend(loc="upper left", fontsize=7, ncols=2)
    axes[2].fill_between(at, 0, column(seconds, "in_flight"), color=BLUE, alpha=0.4, lw=0, step="post")
    axes[3].fill_between(at, 0, column(seconds, "errors"), color=RED, alpha=0.6, lw=0, step="post")
    lag = column(seconds, "lag_max") * 1000
    axes[4].plot(at, lag, color=ORANGE, lw=1)
    for row, name in zip(axes[5:], watched.values(), strict=True):
        values = column(seconds, name)
        row.plot(at[np.isfinite(values)], values[np.isfinite(values)], color=GREEN, lw=1)
    labels = ("requests/s", "time, ms", "in flight", "errors/s", "lag, ms", *watched)
    for row, label in zip(axes, labels, strict=True):
        row.set_ylabel(drawable(label, _LONGEST_NAME), parse_math=False)
        row.grid(alpha=0.25, lw=0.5)
        row.set_ylim(bottom=0 if row not in axes[5:] else None)
        if row.get_legend():
            row.set_ylim(top=_ROOM_FOR_LEGEND * row.get_ylim()[1])
        row.tick_params(labelbottom=row is axes[-1])
    if not column(seconds, "errors").any():
        axes[3].set_ylim(0, 1)
    if np.nanmax(lag, initial=0.0) > 0:
        axes[4].set_ylim(auto=True)
        axes[4].set_yscale("log")
    plain_numbers(axes[4].yaxis)
    each = f" (each point: the mean rate of {width:,} s, or their highest value)" if width > 1 else ""
    axes[-1].set_xlabel(f"seconds since the start of the run{each}")
    axes[-1].ticklabel_format(axis="x", style="plain")
    axes[-1].set_xlim(0, at[-1])
    return axes[-1]


def thinned(seconds: pl.DataFrame, means: Sequence[str], highest: Sequence[str]) -> tuple[pl.DataFrame, int]:
    """Put neighbouring seconds together until there are few enough to be drawn; return them, and how many each is."""
    table = pl.DataFrame({name: _drawn(seconds, name) for name in ("second", *means, *highest)}).fill_nan(None)
    groups, width = neighbours(table, _MOST_POINTS)
    return groups.agg(pl.col("second").first(), pl.col(means).mean(), pl.col(highest).max()), width


def neighbours(table: pl.DataFrame, most: int) -> tuple[GroupBy, int]:
    """Put neighbouring rows into at most so many groups; return them, and how many rows each has."""
    width = max(1, -(-table.height // most))
    return table.group_by(pl.int_range(pl.len()) // width, maintain_order=True), width


def _drawn(seconds: pl.DataFrame, name: str) -> Floats:
    """A column; the errors without the dropped requests, which never reached the target."""
    values = column(seconds, name)
    if name != "errors" or "dropped" not in seconds.columns:
        return values
    return values - np.nan_to_num(column(seconds, "dropped"))
