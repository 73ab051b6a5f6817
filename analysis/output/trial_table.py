"""The table of the trials of a search, as its report shows it, from the values of summary.json."""

import math
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from logreplay.analysis.format_time import show, show_rate, show_share, spoken
from logreplay.analysis.summary import LADDER, in_step

_HEADS: Final = ("trial", "why", "rate", "held", "requests", "verdict")


def trial_rows(summary: Mapping[str, Any], steps: pl.DataFrame) -> list[dict[str, str]]:
    """Return a row for each trial, as text by the head of its column; none for another run than a search.

    ``held`` is how long the rate was judged. A percentile is that of all requests of the trial, as in the step table.

    Args:
        summary: the contents of summary.json.
        steps: the step table, whose labels are the numbers of the trials less 1.
    """
    slo, by_label = summary.get("slo"), {row["step"]: row for row in steps.iter_rows(named=True)}
    try:
        bounds, users = slo["bounds"], slo["unit"] == "users"  # type: ignore[index]
        return [_row(trial, bounds, by_label.get(trial["number"] - 1), users=users) for trial in slo["trials"]]  # type: ignore[index]
    except (KeyError, TypeError, AttributeError, ValueError):
        return []  # no search, or edited by hand


def _row(trial: Mapping[str, Any], bounds: Any, step: Mapping[str, Any] | None, *, users: bool) -> dict[str, str]:
    why, verdict = trial["reason"], trial["verdict"]
    rate = f"{trial['rate']:g}" if users else f"{show_rate(trial['rate'])}/s"
    held = min(trial["judged_s"], trial["seconds"])
    cells = (str(trial["number"]), trial["phase"], rate, f"{held:.0f} s", f"{trial['requests']:,}")
    word = "invalid" if verdict == "void" else verdict
    row = dict(zip(_HEADS, (*cells, f"{word}: {why}" if why else word), strict=True))
    for bound in bounds:
        name, seen = bound["statistic"], trial["seen"].get(bound["statistic"])
        if name == "errors":
            row["failed"] = _share(seen)
            continue
        row[spoken(name)] = "–" if step is None else _figure(step, name)
        if name != "mean":
            row[f"over {show(bound['limit'])}"] = _share(seen)
    return row


def _figure(step: Mapping[str, Any], name: str) -> str:
    return in_step(step, name) if name == "mean" or name in LADDER else show(step[name])


def _share(share: float | None) -> str:
    return "–" if share is None or not math.isfinite(share) else show_share(share)
