"""Finds onset and saturation in the steps of a run, each with a range or the reason for its absence.

A "knee" moves with the scale of the axes, so none is reported. Two rates are. **Onset**: the rate from which response
times rise. **Saturation**: the rate from which the backlog grows or errors start. A flat or gently rising curve has
neither: the reason is given instead of a number.
"""

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from logreplay.analysis.statistics import queueing
from logreplay.analysis.statistics.quantiles import Floats
from logreplay.analysis.verdict import stability

FEWEST_STEPS: Final = 5
GIVES_UP_AFTER: Final = 2
"""Bad steps in a row after which a sweep goes no higher: if it had no others, that is the answer."""
FEWEST_REQUESTS: Final = 100
RISE: Final = 3.0
NEAR: Final = 0.075
"""Share of a rate: so close to saturation steps of ten seconds are good or bad by chance."""


@dataclass(frozen=True)
class Bend:
    """A rate at which the curve changes, or why there is none.

    Attributes:
        found: whether there is one.
        why: what it rests on, or why there is none.
        rate: requests/s.
        low: lower end of the range that holds it (about 95 %).
        high: upper end.
    """

    found: bool
    why: str
    rate: float | None = None
    low: float | None = None
    high: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """The form of summary.json."""
        return asdict(self) if self.found else {"found": False, "why": self.why}


@dataclass(frozen=True)
class SaturationVerdict:
    """What a sweep says.

    Attributes:
        sentence: the answer in words.
        onset: the rate from which response times rise.
        saturation: the rate from which the backlog grows or errors start.
        generator_limit: highest rate this machine could send, where that ended the measurement; else None.
        steps: the step table with the evidence of each step.
    """

    sentence: str
    onset: Bend
    saturation: Bend
    generator_limit: float | None
    steps: pl.DataFrame = field(repr=False)


def judge(table: pl.DataFrame) -> SaturationVerdict:
    """Find onset and saturation in the steps of a run, or say why there is none.

    Args:
        table: steps with their evidence, of `stability.judged_steps`.
    """
    usable = by_rate(table.filter((pl.col("scheduled") >= FEWEST_REQUESTS) & pl.col("rate").is_not_nan()))
    all_bad = usable.select((pl.col("over") | pl.col("failing")) & ~pl.col("generator")).to_series().all()
    if usable.height < FEWEST_STEPS and not (usable.height >= GIVES_UP_AFTER and all_bad):
        text = f"not enough data: {usable.height} rates with {FEWEST_REQUESTS} requests or more, {FEWEST_STEPS} needed"
        return SaturationVerdict(text, Bend(False, text), Bend(False, text), None, table)
    rates = usable["rate"].to_numpy()
    bad = (usable["over"] | usable["failing"]).to_numpy()
    generator = usable["generator"].to_numpy()
    first_generator, first_bad = persistent(generator), persistent(bad)
    if first_generator is not None and (first_bad is None or first_generator <= first_bad + 1):
        return _generator_limited(usable, first_generator, table)
    if first_bad == 0:
        text = f"saturated already at the lowest rate, {rates[0]:g}/s: sweep lower"
        return SaturationVerdict(text, Bend(False, text), Bend(False, text), None, table)
    onset = find_onset(usable[: (first_bad + 1) if first_bad else usable.height])
    if first_bad is None:
        return _none(usable, onset, table)
    saturation = _saturation(usable, first_bad)
    sentence = f"saturation ~{saturation.rate:.0f}/s ({saturation.low:g}–{saturation.high:g}): {saturation.why}"
    return SaturationVerdict(sentence + _collapse(usable), onset, saturation, None, table)


def by_rate(steps: pl.DataFrame) -> pl.DataFrame:
    """Return one row per rate, ascending: of several trials their sums and medians, and what at least half of them are.

    Args:
        steps: with their evidence.
    """
    bad = pl.col("over") | pl.col("failing")
    mostly_over = pl.col("over").sum() >= (~pl.col("over") & pl.col("failing")).sum()
    medians = ("mean", "p50", "p90", "p95", "p99", "sent", "completed", "goodput", "slope", "lag_p95")
    return (
        steps.group_by("rate")
        .agg(
            pl.col("scheduled", "errors", "net_errors").sum(),
            pl.col(medians).median(),
            pl.col("failure").drop_nulls().first(),
            over=_half(bad) & mostly_over,
            failing=_half(bad) & (_half(pl.col("failing")) | ~mostly_over),
            generator=_half(pl.col("generator")),
        )
        .sort("rate")
    )


def _half(flag: pl.Expr) -> pl.Expr:
    return flag.mean() >= 0.5


def persistent(bad: "np.ndarray[Any, np.dtype[np.bool_]]") -> int | None:
    """Return the first bad step that stays bad: so are 3 of the next 4, or all that remain; None if none does."""
    for index in np.flatnonzero(bad):
        following = bad[index + 1 : index + 5]
        if following.all() or following.sum() >= 3:
            return int(index)
    return None


def find_onset(steps: pl.DataFrame) -> Bend:
    """Fit two straight lines to the logarithm of p90 against rate, and return where they meet if they bend at all.

    Args:
        steps: steps in order of rate, those after the first bad one left out. Where p90 is not known, the mean serves.
    """
    name = _known(steps, "p90", "mean")
    frame = steps.filter(pl.col(name).is_finite() & (pl.col(name) > 0))
    if frame.height < FEWEST_STEPS:
        return Bend(False, "too few steps before saturation to find the onset")
    x, y = frame["rate"].to_numpy(), np.log(frame[name].to_numpy())
    rise = math.exp(float(y.max() - y[0]))
    if rise < RISE:
        return Bend(False, f"response times stay at their floor ({name} rose {rise:.1f}x)")
    grid = np.linspace(x[1], x[-2], 200)
    errors = np.array([_bent_fit(x, y, at)[0] for at in grid])
    best = int(errors.argmin())
    at = float(grid[best])
    bent, (_, first, change) = _bent_fit(x, y, at)
    straight = float(np.sum((y - np.polyval(np.polyfit(x, y, 1), x)) ** 2))
    n = len(x)
    gain = n * math.log(max(straight, 1e-12) / max(bent, 1e-12)) - 2 * math.log(n)
    if gain <= 6 or first + change <= 3 * max(first, 0.0) or best in (0, len(grid) - 1):
        return Bend(False, f"response times rise without a bend ({name} rose {rise:.1f}x)")
    near = grid[errors <= bent * (1 + 3.84 / max(n - 4, 1))]
    low, high = widened(x, int(np.searchsorted(x, at)))  # no rate between two steps was tried
    return Bend(True, f"{name} begins to rise", at, min(float(near[0]), low), max(float(near[-1]), high))


def _bent_fit(x: Floats, y: Floats, at: float) -> tuple[float, tuple[float, float, float]]:
    """Least squares of a + b x + c max(x - at, 0): the squared error and (a, b, c)."""
    design = np.column_stack([np.ones_like(x), x, np.maximum(x - at, 0.0)])
    solved = np.linalg.lstsq(design, y, rcond=None)[0]
    return float(np.sum((y - design @ solved) ** 2)), (float(solved[0]), float(solved[1]), float(solved[2]))


def _saturation(usable: pl.DataFrame, first: int) -> Bend:
    rates = usable["rate"].to_numpy()
    low, high = widened(rates, first)
    guesses = _capacities(usable, first) if usable["over"][first] else [_one_percent_errors(usable, first)]
    near = [guess for guess in guesses if low <= guess <= high]
    rate = float(np.median(near) if near else rates[first - 1 : first + 1].mean())
    return Bend(True, _why(usable, first), rate, low, high)


def _capacities(usable: pl.DataFrame, first: int) -> list[float]:
    """What the overloaded steps say the capacity is: what they achieved, and how fast they fell behind.

    While r requests/s come and c are served, waiting grows by r/c - 1 seconds a second, until the time-out cuts it
    off. What a server achieves in overload may fall from step to step: then the first step says most.
    """
    rates = usable["rate"].to_numpy()[first : first + 5]
    growing = usable["slope"].to_numpy()[first : first + 5]
    cut_off = (usable["net_errors"] / usable["scheduled"]).to_numpy()[first : first + 5] > 0.5
    fluid = (rates / (1 + np.maximum(growing, 0.0)))[~cut_off]
    guesses = [float(np.median(fluid))] if len(fluid) else []
    achieved = usable["completed"].drop_nulls().to_numpy()[first : first + 3]
    if len(achieved):
        guesses.append(float(max(achieved[0], np.median(achieved))))
    return guesses


def _one_percent_errors(usable: pl.DataFrame, first: int) -> float:
    """The rate at which 1 % fail, on the line between the last good step and the first failing one."""
    ends = usable[first - 1 : first + 1]
    return float(np.interp(stability.ERROR_SHARE, ends["errors"] / ends["scheduled"], ends["rate"]))


def widened(rates: Floats, first_bad: int) -> tuple[float, float]:
    """Return the bracket [last good, first bad], one step wider on each side: it holds saturation in about 95 %.

    Where steps are small, it is wider by `NEAR` at least: close to saturation a step is good or bad by chance.
    """
    good, bad = float(rates[first_bad - 1]), float(rates[first_bad])
    low = float(rates[first_bad - 2]) if first_bad >= 2 else max(2 * good - bad, 0.0)
    high = float(rates[first_bad + 1]) if first_bad + 1 < len(rates) else 2 * bad - good
    return min(low, (1 - NEAR) * good), max(high, (1 + NEAR) * bad)


def _why(usable: pl.DataFrame, first: int) -> str:
    row = usable.row(first, named=True)
    good = usable.row(first - 1, named=True)["rate"]
    if row["over"]:
        return f"the backlog grows from {good:g}–{row['rate']:g}/s on"
    errors = f"errors from {good:g}–{row['rate']:g}/s ({row['failure']})"
    return f"{errors}, response times flat: rate limiter or load shedding"


def _generator_limited(usable: pl.DataFrame, first: int, table: pl.DataFrame) -> SaturationVerdict:
    row = usable.row(first, named=True)
    limit = float(usable["sent"].to_numpy()[: first + 1].max())
    text = (
        f"replay machine limited at {limit:.0f}/s (generator lag p95 {1000 * row['lag_p95']:.0f} ms): "
        "the target was not tested beyond"
    )
    return SaturationVerdict(text, Bend(False, text), Bend(False, text), limit, table)


def _none(usable: pl.DataFrame, onset: Bend, table: pl.DataFrame) -> SaturationVerdict:
    high = float(usable["rate"].to_numpy().max())
    name = _known(usable, "p99", "p95", "mean")
    tail = usable[name].drop_nulls().to_numpy()
    rise = float(tail.max() / tail[0]) if len(tail) and tail[0] > 0 else 1.0
    if rise < RISE:
        text = f"no saturation up to {round(high, 1):g}/s: response times stay flat ({name} rose {rise:.1f}x)"
    else:
        text = f"no saturation up to {round(high, 1):g}/s; response times rise"
        text += (
            f" (onset ~{onset.rate:.0f}/s, range {onset.low:g}–{onset.high:g})"
            if onset.found
            else f" ({name} rose {rise:.1f}x)"
        )
        found = queueing.fit(usable["rate"].to_numpy(), usable["mean"].to_numpy())
        if found and found.usable and onset.found:  # a straight rise looks like a queue, too
            text += (
                f"; queueing fit suggests ~{found.capacity:.0f}/s (rho {found.utilisation:.2f} reached; rough, ±15 %)"
            )
    return SaturationVerdict(text, onset, Bend(False, text), None, table)


def _known(steps: pl.DataFrame, *names: str) -> str:
    """The first of these columns that has a time for enough steps; else the last."""
    return next((name for name in names if steps[name].is_finite().sum() >= FEWEST_STEPS), names[-1])


def _collapse(usable: pl.DataFrame) -> str:
    """Words for goodput that falls by more than a fifth under its peak while more is offered.

    Steps in which most requests ran into the time-out are left out: there, goodput depends on the time-out.
    """
    goodput = usable.filter(pl.col("net_errors") < 0.5 * pl.col("scheduled"))["goodput"].drop_nulls().to_numpy()
    if not len(goodput):
        return ""
    peak = int(goodput.argmax())
    return "; congestion collapse" if goodput[peak:].min() < 0.8 * goodput[peak] else ""
