"""The answer of a search and the table of its trials, as its report shows them, from the values of summary.json."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from logreplay.analysis.format_time import show, show_range, show_rate, show_share, spoken
from logreplay.analysis.search import report
from logreplay.analysis.summary import LADDER
from logreplay.analysis.summary_rows import in_step
from logreplay.analysis.verdict.stability import SPOKEN

_HEADS: Final = ("trial", "why", "rate", "held", "requests", "verdict")


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The answer of a search that found a rate.

    Attributes:
        headline: the answer in one line.
        tiles: its figures: (name, value, remark).
        label: label of the step that confirmed it.
    """

    headline: str
    tiles: Sequence[tuple[str, str, str]]
    label: int


def search_answer(summary: Mapping[str, Any], steps: pl.DataFrame) -> SearchAnswer | None:
    """Return the answer of a search; None for another run, and for a search that found no rate."""
    try:
        slo = summary["slo"]
        headline, proofs = report.headline(slo), [each for each in slo["trials"] if each["rate"] == slo["held_rate"]]
        label = proofs[-1]["number"] - 1 if headline and proofs else None
        if label is not None and label in steps["step"]:
            return SearchAnswer(headline, _tiles(slo), label)
    except (KeyError, TypeError, AttributeError, ValueError):
        pass  # no search, edited by hand, or of an older version
    return None


def trial_rows(summary: Mapping[str, Any], steps: pl.DataFrame) -> list[dict[str, str]]:
    """Return a row for each trial, as text by the head of its column; none for another run than a search.

    ``held`` is how long the rate was judged. A percentile is that of all requests of the trial, as in the step table,
    whose labels are the numbers of the trials less 1.
    """
    slo, by_label = summary.get("slo"), {row["step"]: row for row in steps.iter_rows(named=True)}
    try:
        bounds, users = slo["bounds"], slo["unit"] == "users"  # type: ignore[index]
        return [_row(trial, bounds, by_label.get(trial["number"] - 1), users=users) for trial in slo["trials"]]  # type: ignore[index]
    except (KeyError, TypeError, AttributeError, ValueError):
        return []  # no search, or edited by hand


def _tiles(slo: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    unit = " users" if slo["unit"] == "users" else "/s"
    tiles = [("holds", f"{slo['rate']:g}{unit}", f"held for {slo['held_s']:.0f} s")]
    if capacity := slo["capacity"]:
        ends = show_range(*(slo["range"] or (capacity, capacity)))
        tiles.append(("capacity", f"~{show_rate(capacity)}{unit}", f"{ends}{unit}, 90 % range"))
    if slo["machines"] and slo.get("demand"):  # older versions did not write the latter
        tiles.append(("machines", f"{slo['machines']:,}", f"for {slo['demand']:g}/s"))
    return tiles


def _row(trial: Mapping[str, Any], bounds: Any, step: Mapping[str, Any] | None, *, users: bool) -> dict[str, str]:
    why, verdict = trial["reason"], trial["verdict"]
    rate = f"{trial['rate']:g}" if users else f"{show_rate(trial['rate'])}/s"
    held = min(trial["judged_s"], trial["seconds"])
    cells = (str(trial["number"]), trial["phase"], rate, f"{held:.0f} s", f"{trial['requests']:,}")
    word = SPOKEN.get(verdict, verdict)
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
