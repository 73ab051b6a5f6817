"""Computes the intervals of the percentiles and of the mean of each step that is long enough.

Requests that wait in one queue are late together, so they tell less than independent ones; the design effect says how
much less. A step that was calm by luck shows a design effect that is too small. So it also follows from how near the
rate is to the capacity of the target; or, for p99 of a long step, from the share above p90, which is steadier than that
above p99.

Source: the design effect of Kish, Survey sampling; the relaxation of a queue in heavy traffic, with the factor that the
simulations of docs/accuracy.md gave.
"""

import math
from typing import Final

import numpy as np
import polars as pl

from logreplay.analysis.statistics import estimates
from logreplay.analysis.statistics.quantiles import PERCENTILES, SHARES, SMALLEST_SAMPLE, Bools, Floats, share_interval

TRIALS: Final = 3
"""Fewest steps of a rate for which the interval of p99 comes from their spread (Student's t of its logarithm)."""

OWN_S: Final = 60
"""Shortest step, in seconds, whose own spread is used for its p99, whatever the capacity of the target."""

_OWN: Final = 1.2
"""Design effect of p99 over that of p90 in queues near their capacity."""
_DOUBT: Final = 2.0
"""Standard deviations that are added to the design effect seen within a step."""
_HEAVY: Final = 2.0
"""Factor in the design effect of a queue (`of_queue`)."""
_MOST_VARIATION: Final = 5.0
"""Largest squared variation of service times; more comes from stragglers that hold up no queue."""

SCALES: Final = {"p50": 0.5, "p90": 0.85, "p99": 1.0}
"""Design effect of percentiles over that of p99."""
FEWEST: Final = {"p50": 30, "p90": 200, "p99": SMALLEST_SAMPLE[0.99]}
"""Fewest independent requests (the effective number) for an interval, by percentile."""
OF_MEAN: Final = 2.0
"""Design effect of the mean over that of p99: service times whose squared variation is above 1 need that much."""
_FEWEST_OF_MEAN: Final = 150
_Z: Final = 1.96


def with_intervals(steps: pl.DataFrame, capacity: float | None, *, open_loop: bool = True) -> pl.DataFrame:
    """Add the intervals of the stable steps of `judged_steps`, and leave out the columns that they come from.

    ``capacity``: estimate of the rate at which the target saturates, requests/s; None: it is above all stable rates.
    Not ``open_loop``: users sent requests, and the rate does not show the capacity.

    Added: ``design_effect``: of p99; ``p50_low``, ``p50_high``, likewise of p90, p99 and the mean: ends of the 95 %
    interval, seconds, null where the step is too short. ``p99_needs_s``: length of a step, seconds, for its p99 to
    have an interval; null where it has one, and where the step is short and the capacity unknown.
    """
    if "quantiles" not in steps.columns:
        return steps
    profile, count = steps["quantiles"].to_numpy(), steps["scheduled"].to_numpy().astype(np.float64)
    queue, effect = _effects(steps, profile, capacity if open_loop else math.nan)
    stable = (steps["verdict"] == "stable").to_numpy()
    by_queue, independent = np.where(stable, count / queue, 0.0), np.where(stable, count / effect, 0.0)
    columns = {"design_effect": np.where(np.isfinite(effect), effect, np.nan)}
    for name, scale in SCALES.items():
        number = independent if name == "p99" else by_queue
        ends = np.full((2, steps.height), np.nan)
        for row in np.flatnonzero((number >= FEWEST[name]) & steps[name].is_not_null().to_numpy()):
            ends[:, row] = share_interval(profile[row], PERCENTILES[name], int(min(number[row] / scale, count[row])))
        columns |= {f"{name}_low": ends[0], f"{name}_high": ends[1]}
    columns |= dict(zip(("mean_low", "mean_high"), _of_means(steps, profile, by_queue), strict=True))
    _of_trials(steps, independent, columns)
    short = stable & (independent < FEWEST["p99"]) & (_long(steps) | (capacity is not None))
    needed = FEWEST["p99"] * steps["duration"].to_numpy() / np.where(independent > 0, independent, np.nan)
    columns["p99_needs_s"] = np.where(short & np.isnan(columns["p99_low"]), needed, np.nan)
    added = steps.drop("quantiles", "batch_effects").with_columns(**{k: pl.Series(v) for k, v in columns.items()})
    return added.with_columns(pl.col(*columns).fill_nan(None))


def of_queue(utilisation: Floats, variation: float) -> Floats:
    """Return the design effect of p99 of the response times of a queue: (n,), infinite at its capacity.

    ``utilisation``: rate over capacity; ``variation``: squared coefficient of variation of the service times.
    """
    spare = np.maximum(1 - utilisation, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(1 + _HEAVY * utilisation * (1 + variation) / spare**2)


def _effects(steps: pl.DataFrame, profile: Floats, capacity: float | None) -> tuple[Floats, Floats]:
    """(steps,) the design effect of a queue, and that of p99; infinite where unknown."""
    rates, seconds = steps["rate"].to_numpy(), np.floor(steps["duration"].to_numpy())
    stable = (steps["verdict"] == "stable").to_numpy()
    limit = rates[stable].max(initial=0.0) if capacity is None else capacity
    queue = of_queue(rates / limit, _variation(steps, profile)) if limit > 0 else np.full(len(rates), np.inf)
    of_p90, of_p99 = steps["batch_effects"].to_numpy().T
    doubt = 1 + _DOUBT * np.sqrt(2 / np.maximum(seconds, 1))
    own = np.where(_long(steps) & np.isfinite(of_p90), _OWN * doubt * of_p90, np.inf)
    least, queue = np.fmax(of_p99, 1.0), np.where(np.isfinite(queue), queue, np.inf)
    return np.maximum(least, queue), np.maximum(least, np.minimum(own, queue))


def _long(steps: pl.DataFrame) -> Bools:
    """(steps,) whether the spread within a step is used."""
    return steps["duration"].to_numpy() >= 0.9 * OWN_S


def _variation(steps: pl.DataFrame, profile: Floats) -> float:
    """Squared variation of the service times, from the response times at the lowest stable rate without their floor."""
    stable = steps.with_row_index().filter(pl.col("verdict") == "stable")
    lowest = stable.filter(pl.col("rate") == pl.col("rate").min())["index"].to_list()
    found = [_moments(profile[row]) for row in lowest]
    variations = [(spread / (mean - floor)) ** 2 for floor, mean, spread in found if mean > floor]
    return min(float(np.median(variations)), _MOST_VARIATION) if variations else 0.0


def _moments(quantiles: Floats) -> tuple[float, float, float]:
    """The least, the mean and the standard deviation of the times of which these are the quantiles, seconds."""
    weight = np.diff(SHARES, prepend=0.0)
    some = np.isfinite(quantiles)
    if not weight[some].any():
        return math.nan, math.nan, math.nan
    times, weight = quantiles[some], weight[some] / weight[some].sum()
    mean = float(times @ weight)
    return float(times[0]), mean, math.sqrt(float((times - mean) ** 2 @ weight))


def _of_means(steps: pl.DataFrame, profile: Floats, independent: Floats) -> tuple[Floats, Floats]:
    mean = steps["mean"].fill_null(math.nan).to_numpy()
    spread = np.array([_moments(row)[2] for row in profile])
    known = (independent >= _FEWEST_OF_MEAN) & (mean > 0)
    reach = np.full(len(mean), np.nan)
    reach[known] = _Z * spread[known] / mean[known] * np.sqrt(OF_MEAN / independent[known])
    return mean * np.exp(-reach), mean * np.exp(reach)


def _of_trials(steps: pl.DataFrame, independent: Floats, columns: dict[str, Floats]) -> None:
    """Replace the interval of p99 of rates with `TRIALS` or more, which together are long enough: by their spread."""
    rates, p99 = steps["rate"].to_numpy(), steps["p99"].fill_null(math.nan).to_numpy()
    known = (independent > 0) & np.isfinite(p99) & (p99 > 0)
    for rate in np.unique(rates[known]):
        trials = known & (rates == rate)
        if trials.sum() >= TRIALS and independent[trials].sum() >= FEWEST["p99"]:
            ends = np.exp(estimates.mean(np.log(p99[trials])).ends())
            columns["p99_low"][trials], columns["p99_high"][trials] = ends
