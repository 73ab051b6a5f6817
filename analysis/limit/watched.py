"""Tells which watched figures reached their maximum at saturation, which are ruled out, and which grow with the queue.

A figure that is flat above saturation does not prove a limit: all figures that follow the throughput are flat there.
So a ceiling needs a known maximum, and a figure that was at it at low rates too was not brought there by the load.
Source: tests/analysis/limit/test_watched.py and docs/howto/why-it-bends.md, with real servers.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import numpy as np
import polars as pl

from logreplay.analysis.input.external_metrics import PREFIX, watched_in
from logreplay.analysis.limit.carried import LOW_RATES
from logreplay.analysis.statistics.quantiles import Floats

Kind = Literal["ceiling", "ruled_out", "symptom"]

REACHED: Final = 0.9
"""Share of its maximum at which a figure counts as at its maximum."""
RULED_OUT: Final = 0.7
BEYOND: Final = 1.1
"""Share of its maximum above which the stated maximum is wrong: one process may use more than one core."""
GROWS: Final = 1.3
"""A figure that grows by more than this many times the growth of the rate follows the queue, not the rate."""
_OVER: Final = ("overloaded", "errors")
FEWEST: Final = 2
"""Fewest readings of a step. The first second does not count: its reading is partly of the step before."""

_MEANINGS: Final = {
    "cpu": ("the processors", "the processors are busy"),
    "process": (
        "one busy process",
        "one process is as busy as one core allows: more processes, or less work for each request",
    ),
    "thread": ("one busy thread", "one thread is always busy: spread its work"),
    "descriptors": ("the open files", "the limit of open files is reached"),
    "connections": ("the connections", "all connections are taken"),
    "memory_mib": ("the memory", "the memory is full"),
}
"""The cause that a figure stands for, and the finding where it is at its maximum."""
_LOCKED: Final = "the threads of one process share one core: a lock of the interpreter; start more processes"
_PROCESSOR_TIMES: Final = ("cpu", "process", "thread")
_WANTED: Final = ("waiting", "throttled")
"""Figures that count threads that wait for a processor: such a process uses less processor time than it needs."""
_WIDER: Final = {"thread": ("process", "cpu"), "process": ("cpu",)}
"""Figures that include another one."""


@dataclass(frozen=True)
class WatchedFigure:
    """A watched figure that is evidence on the limit.

    Attributes:
        name: name of the figure.
        kind: ``ceiling``: it reached its maximum as the target saturated; ``ruled_out``: it stayed well below;
            ``symptom``: it grows with the queue.
        value: mean of its readings in the saturating step.
        maximum: value that it cannot exceed; None if it is not known.
        text: in words.
    """

    name: str
    kind: Kind
    value: float
    maximum: float | None
    text: str

    def as_dict(self) -> dict[str, Any]:
        """The values, for JSON."""
        return asdict(self)


def watched_figures(
    seconds: pl.DataFrame, steps: pl.DataFrame, maxima: Mapping[str, float], most: float | None = None
) -> list[WatchedFigure]:
    """Return the watched figures of a sweep that are evidence on its limit.

    Args:
        most: upper end of the saturation's range, requests/s: a stable step above it was only too short to show its
            overload.
    """
    steps = steps.filter(pl.col("verdict").is_in(["stable", *_OVER])).sort("rate")
    rates = steps["rate"].to_numpy()
    stable = (steps["verdict"] == "stable").to_numpy() & (rates <= (math.inf if most is None else most))
    carried = float(rates[stable].max(initial=0.0))
    over = ~stable & (rates >= carried)
    low = stable & (rates <= max(LOW_RATES * carried, rates.min(initial=np.inf)))
    labels = steps["step"].to_list()
    means = {name: _means(seconds, PREFIX + name, labels) for name in watched_in(seconds.columns)}
    kinds: dict[str, Kind] = {}
    for name, values in means.items():
        base, _, figure = name.rpartition("_")
        held = [means.get(f"{base}_{other}") for other in _WANTED if figure in _PROCESSOR_TIMES]
        wanted = values + np.sum([np.nan_to_num(each) for each in held if each is not None], axis=0)
        decisive = np.concatenate([wanted[stable][-1:], wanted[over]])  # a failing target may do less in some of these
        if kind := _kind(values[low], values[stable], values[over], rates[over], maxima.get(name), decisive):
            kinds[name] = kind
    found = []
    for name, kind in kinds.items():
        means_over, maximum = means[name][over], maxima.get(name)
        text = _text(name, means_over, maximum, kinds)
        found.append(WatchedFigure(name, kind, float(means_over[0]), maximum, text))
    return found


def _kind(
    low: Floats, stable: Floats, over: Floats, rates: Floats, maximum: float | None, decisive: Floats
) -> Kind | None:
    """Kind of evidence on the limit; None if a figure is not evidence.

    Args:
        low, stable, over: means at low rates, in all stable steps and in the overloaded ones, in order of rate.
        rates: rates of the overloaded steps, requests/s.
        decisive: means of the highest stable step and of the overloaded ones, if other figures did not hold it back.
    """
    if not len(over) or np.isnan(over).any():
        return None
    if maximum is None:
        offered = rates[-1] / rates[0]
        above = over[0] > GROWS * max(_most(stable), 0.0)
        return "symptom" if above and offered > 1 and over[-1] > GROWS * offered * over[0] else None
    share = over / maximum
    if max(share.max(), _most(stable) / maximum) > BEYOND:
        return None
    if share.max() < RULED_OUT:
        return "ruled_out" if np.max(decisive / maximum) < RULED_OUT else None
    rose = 0 <= _most(low) < REACHED * maximum
    return "ceiling" if share.min() >= REACHED and rose else None


def told(figures: Iterable[WatchedFigure]) -> str:
    """Join the texts of the figures, without those that follow from others; empty without figures."""
    figures = list(figures)
    known = {(each.kind, each.name): each.value for each in figures}
    order: tuple[Kind, ...] = ("ceiling", "ruled_out", "symptom")
    return "; ".join(each.text for kind in order for each in figures if each.kind == kind and not _follows(each, known))


def _means(seconds: pl.DataFrame, column: str, labels: Sequence[int]) -> Floats:
    """The mean of each step without its first second; NaN where too few readings are known.

    A pool is full or empty at each reading: only the mean of many readings is its use.
    """
    later = seconds.filter(pl.col("second") > pl.col("second").min().over("step"))
    grouped = later.group_by("step").agg(
        pl.when(pl.col(column).count() >= FEWEST).then(pl.col(column).mean()).alias("mean")
    )
    by_label = dict(grouped.iter_rows())
    return np.array([np.nan if by_label.get(label) is None else by_label[label] for label in labels], float)


def _most(values: Floats) -> float:
    """The highest known value; -1 if none is known."""
    return float(np.max(values[~np.isnan(values)], initial=-1.0))


def _text(name: str, over: Floats, maximum: float | None, kinds: Mapping[str, Kind]) -> str:
    base, _, figure = name.rpartition("_")
    if name.endswith("memory_mib"):
        figure = "memory_mib"
    elif figure in _WIDER and not base:
        figure = ""  # a series of the user, not of a preset
    if maximum is None:
        return f"{name} {over[0]:.3g} → {over[-1]:.3g}: grows with the queue"
    of = f"{name} {_near(float(over[0]), maximum)} of {maximum:.6g}"
    cause, full = _MEANINGS.get(figure, ("this", "at its maximum"))
    if kinds[name] == "ruled_out":
        return f"{of}: not {cause}"
    if figure in _WIDER and kinds.get(f"{base}_cpu") == "ceiling":
        return f"{of}: {_MEANINGS['cpu'][1]}"
    if figure == "process" and kinds.get(f"{base}_thread") == "ruled_out":
        return f"{of}: {_LOCKED}"
    return f"{of}: {full}"


def _near(value: float, maximum: float) -> str:
    """Format a value with as many digits as show how far it is from its maximum."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if maximum < 100 else f"{value:.0f}"


def _follows(figure: WatchedFigure, known: Mapping[tuple[Kind, str], float]) -> bool:
    """Whether another figure implies this one: all processors are busy, or all of them use less than one."""
    base, _, name = figure.name.rpartition("_")
    wider = [known.get((figure.kind, f"{base}_{other}")) for other in _WIDER.get(name, ())]
    least = figure.kind != "ruled_out"
    return any(value is not None and (least or value < RULED_OUT) for value in wider)
