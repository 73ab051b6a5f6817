"""Names the limit of a sweep from its rows; a wrong cause is worse than none.

Source of the rules and their constants: simulated systems of known limits, tools/limit_systems.py; docs/accuracy.md
says how often each answer is right.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from logreplay.analysis.input.arrays import RequestArrays
from logreplay.analysis.limit.carried import FEWEST, LOW_RATES, alone
from logreplay.analysis.limit.observations import Observations
from logreplay.analysis.limit.refusals import refusing
from logreplay.analysis.limit.rules import decide
from logreplay.analysis.limit.sentences import TargetLimit, cannot_tell
from logreplay.analysis.statistics.quantiles import Ints
from logreplay.analysis.verdict.saturation import SaturationVerdict
from logreplay.analysis.verdict.stability import CUT, VOID

ERRORS: Final = 0.02
"""Share of failed requests, beyond the share that always fails, from which a step has errors."""
LATE_S: Final = 0.002
LATE: Final = 0.25
"""Lag p95 above which this machine was too busy: the larger of `LATE_S` and this share of the usual response time."""
HELD_BACK: Final = 0.01
"""Share of requests that this machine held back, above which their number in flight does not show the target's."""


@dataclass(frozen=True)
class SortedSteps:
    """Indices of the steps by their verdict.

    Attributes:
        low: stable steps at rates so low that few requests overlap.
        stable: all stable ones.
        overloaded: with a backlog and hardly any errors, in order of rate.
        failing: with errors, in order of rate.
        errors_first: True if errors come at rates at which no backlog grows.
        carried: the highest stable rate, requests/s.
    """

    low: Ints
    stable: Ints
    overloaded: list[int]
    failing: list[int]
    errors_first: bool
    carried: float

    @classmethod
    def of(cls, table: pl.DataFrame, saturation: float) -> "SortedSteps":
        """Sort the steps, in order of their index; ``saturation``: rate up to which stable steps have no queue."""
        words = table["verdict"].to_numpy()
        rate = table["rate"].to_numpy()
        errors, sent = ((table[name] - table["dropped"]).to_numpy() for name in ("errors", "scheduled"))
        errors = errors / np.maximum(sent, 1)
        counts = ~np.isin(words, [CUT, VOID, "outage", "generator-limited"]) & (table["scheduled"].to_numpy() > 0)
        stable = counts & (words == "stable") & (rate <= saturation)
        carried = float(rate[stable].max(initial=0.0))
        bad = counts & ~stable & (rate >= carried)
        late = table["failed_p50"].to_numpy() > table["duration"].to_numpy()  # such failures hide nothing within a step
        failing = bad & (errors > ERRORS + table["error_base"].to_numpy()) & ~late
        order = np.argsort(rate, kind="stable")
        over = bad & table["over"].fill_null(value=False).to_numpy()
        first = order[failing[order]][:1]
        return cls(
            np.flatnonzero(stable & (rate <= LOW_RATES * carried)),
            np.flatnonzero(stable),
            order[(bad & ~failing)[order]].tolist(),
            order[failing[order]].tolist(),
            bool(len(first)) and not over[rate < rate[first].min(initial=0.0)].any(),
            carried,
        )


def limit_of(requests: RequestArrays, verdict: SaturationVerdict) -> TargetLimit | None:
    """Name the limit of a sweep; None if the rows are not of a sweep over rates."""
    if not requests.several_rates or not requests.has_schedule:
        return None
    if verdict.generator_limit is not None:
        return cannot_tell("this machine could not send more; the target was not at its limit")
    if not verdict.saturation.found:
        why = "no rate of the sweep reached it" if verdict.answered else "the steps do not show one"
        return cannot_tell(why)
    place = {label: index for index, label in enumerate(requests.labels)}
    table = verdict.steps.with_columns(place=pl.col("step").replace_strict(place)).sort("place")
    steps, seen = SortedSteps.of(table, verdict.carried or 0.0), Observations.of(requests)
    of_limit = [*steps.overloaded, *steps.failing]
    if of_limit and seen.waited[of_limit].max() > HELD_BACK:
        return cannot_tell("an option, or the wait for a connection, held requests back before they were sent")
    if _disturbed(table, [*of_limit, *steps.low.tolist()]):
        return cannot_tell(
            "requests were sent late: this machine was busy, and a target on it with it; repeat the sweep"
        )
    if steps.errors_first:
        return _of_errors(seen, steps)
    return decide(seen, steps.low, steps.stable, steps.overloaded, requests.routes)


def _disturbed(table: pl.DataFrame, places: list[int]) -> bool:
    """Whether other work on this machine shifted the requests of these steps."""
    lag = table["lag_p95"].to_numpy()[places].max(initial=0.0)
    usual = table.sort("rate")["p50"].drop_nulls().head(1).to_list()
    return bool(lag > max(LATE_S, LATE * (usual[0] if usual else 0.0)))


def _of_errors(seen: Observations, steps: SortedSteps) -> TargetLimit:
    """Name the limit of a target that fails before requests wait."""
    times = seen.took[alone(seen, steps.low if len(steps.low) else steps.stable, steps.carried)]
    service_s = float(times.mean()) if len(times) >= FEWEST else None
    return refusing(seen, steps.failing, service_s) or cannot_tell(
        "requests fail, and neither their rate nor the number in flight decides which do",
        "the target's pools and its error log",
        service_s=service_s,
    )
