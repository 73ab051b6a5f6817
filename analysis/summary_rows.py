"""Rows and words of summary.json, as a terminal and a page show them."""

import math
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from logreplay.analysis.format_time import between, show, show_rate
from logreplay.analysis.limit.sentences import TargetLimit
from logreplay.analysis.statistics.quantiles import rank
from logreplay.analysis.summary import LADDER, is_given
from logreplay.analysis.verdict import saturation_sentences as sentences
from logreplay.analysis.verdict.stability import MIX, SPOKEN, VOID
from logreplay.core.plural import number_of

_OF_A_RUN: Final = frozenset(("tps", "steps", "ramp", "speed"))
"""Options that say the load of a run."""


def limit_sentences(summary: Mapping[str, Any]) -> dict[str, str]:
    """Return the sentences on the limit of a sweep and on the watched figures, by name; none without a limit."""
    limit, saturation = summary.get("limit"), summary.get("saturation")
    if not (limit and saturation and saturation["found"]):
        return {}
    found = TargetLimit.of(limit)
    return {"limit": found.sentence, **({"watched": found.watched_sentence} if found.watched_sentence else {})}


def last_stable(steps: pl.DataFrame) -> int | None:
    """Return the label of the stable step of the highest rate, the last of several; None if there is none.

    A rate at which half of the trials or more were not stable does not count, as in the verdict.
    """
    stable, steps = pl.col("verdict") == "stable", steps.filter(~pl.col("verdict").is_in([VOID, MIX]))
    found = steps.filter(stable & (stable.mean().over("rate") > 0.5)).sort("rate", maintain_order=True)
    return int(found["step"][-1]) if found.height else None


def place_of_stable(step: Mapping[str, Any], name: str, limit: float | None) -> str:
    """Return words for the step of `last_stable`: ``225/s, the highest stable step``, and whether it is at the limit.

    Args:
        step: its row.
        name: see `step_names`.
        limit: see `saturation_rate`.
    """
    return f"{name}, the highest stable step{', at the limit' * (verdict_word(step, limit) != 'stable')}"


def step_names(steps: pl.DataFrame, summary: Mapping[str, Any]) -> dict[int, str]:
    """Return the name of each step by its label, in order of rate: ``250/s``, ``250/s, trial 2``, ``8 users``.

    Steps that are stretches of a recorded log are called windows. The trials of a search have their own numbers, and so
    have the steps of a run.
    """
    searched = isinstance(summary.get("slo"), Mapping)
    windows = "windows" in (finding["code"] for finding in summary["findings"])
    of_run = not (searched or windows) and bool(_OF_A_RUN & {*summary.get("options", ())})
    again = "window" if windows else "step" if of_run else "trial"
    users = {row["step"]: row["users"] for row in summary.get("users", {}).get("steps", []) if "step" in row}
    labels: dict[str, list[int]] = {}
    order = sorted(zip(steps["step"], steps["rate"], strict=True), key=lambda step: (users.get(step[0], 0), step[1]))
    for label, rate in order:
        count = users.get(label)
        name = f"{show_rate(rate, 4)}/s" if count is None else number_of(count, "user")
        labels.setdefault(name, []).append(label)
    return {
        label: f"{name}, {again} {label + 1 if searched or of_run else number}" if searched or len(trials) > 1 else name
        for name, trials in labels.items()
        for number, label in enumerate(trials, 1)
    }


def protocol(target: str | None, options: Mapping[str, Any]) -> str:
    """Return the protocol of a run as text, such as ``HTTP/2, TLS``; empty if no target is known."""
    if not target:
        return ""
    version = options.get("http", "1.1")
    return ("HTTP as in the log" if version == "log" else f"HTTP/{version}") + ", TLS" * target.startswith("https:")


def latency_heads(summary: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the heads of `latency_rows` after the first; ``queued`` only if a request was."""
    queued = summary.get("queued_s", {}).get("max")
    return ("response time", "service time", "generator lag", *(["queued"] if queued else []))


def latency_rows(summary: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return rows (figure, and those of `latency_heads`) as text, for a table on a terminal."""
    if "service_s" not in summary:
        return [("mean", show(summary["response_s"]["mean"]), "–", "–")]
    response = summary["response_s"]
    others = [summary[name] for name in ("service_s", "lag_s", "queued_s")][: len(latency_heads(summary)) - 1]
    return [
        (name, shown(response, name), *(show(times[name]) for times in others))
        for name in ("min", "mean", *LADDER, "max")
    ]


def shown(response: Mapping[str, Any], name: str) -> str:
    """Return a figure of the response times as text, such as ``35.1 ms``; where it is null the reason, if it has one.

    ``response``: as in summary.json; ``name``: a percentile, or ``min``, ``mean``, ``max``, which fail if all did.
    """
    count, failed, p = response["count"], response["failed"], LADDER.get(name, 0.0)
    fell_on_failure = bool(failed and is_given(count, p) and rank(count, p) > count - failed)
    late = _is_late(response) and (is_given(count, p) or name not in LADDER)
    return show(response[name], failed=fell_on_failure, late=late)


def siege_rows(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return siege's final figures as rows of text: name, value, meaning."""
    figures = summary["siege"]
    return [
        (name.replace("_", " "), f"{_number(figures[name])}{unit}", meaning)
        for name, unit, meaning in (
            ("transactions", "", "responses but 408, 500–509"),
            ("availability", " %", "share of the requests sent"),
            ("elapsed_time", " s", "until the last one ended"),
            ("data_transferred", " MB", "of 2^20 bytes, bodies"),
            ("response_time", " s", "mean service time"),
            ("transaction_rate", " /s", ""),
            ("throughput", " MB/s", ""),
            ("concurrency", "", "mean requests in flight"),
            ("successful_transactions", "", "status below 400, 401, 407"),
            ("failed_transactions", "", "408, 500–509, no answer"),
            ("longest_transaction", " s", "service time"),
            ("shortest_transaction", " s", "service time"),
        )
    ]


def ab_rows(summary: Mapping[str, Any]) -> tuple[list[tuple[str, ...]], list[tuple[str, str]]]:
    """Return ab's table of connection times and its ladder, as text: service times."""
    tables = summary["ab"]
    spread = [
        (name, *(show(tables[name][figure]) for figure in ("min", "mean", "sd", "median", "max")))
        for name in ("connect", "processing", "waiting", "total")
    ]
    return spread, [(f"{percent} %", show(value)) for percent, value in tables["served_within"].items()]


def ab_counts(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return ab's counts and rates as rows (name, value) of text, without those that are not known."""
    tables, received = summary["ab"], summary.get("received_bytes")
    mean = tables["total"]["mean"]
    rows = (
        ("Complete requests", tables["complete_requests"], "", 1),
        ("Failed requests", tables["failed_requests"], "", 1),
        ("Non-2xx responses", tables["non_2xx_responses"], "", 1),
        ("Keep-Alive requests", tables.get("keep_alive_requests"), "", 1),
        ("Total transferred", received, " bytes", 1),
        ("HTML transferred", tables.get("html_transferred"), " bytes", 1),
        ("Requests per second", tables["requests_per_second"], " [#/sec] (mean)", 1.0),
        ("Time per request", mean, " [ms] (mean)", 1000.0),
        ("Time per request", tables["time_per_request"], " [ms] (mean, across all concurrent requests)", 1000.0),
    )
    return [(name, f"{_number(value * scale)}{unit}") for name, value, unit, scale in rows if value is not None]


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def saturation_rate(summary: Mapping[str, Any]) -> float | None:
    """Return the rate of saturation, requests/s; None if none was found, and of users, who set no rate."""
    rate: float | None = None if summary.get("users") else summary.get("saturation", {}).get("rate")
    return rate


def verdict_word(step: Mapping[str, Any], limit: float | None) -> str:
    """Return the verdict on a step as people read it; ``limit``: of `saturation_rate`.

    ``at limit``: a stable step at saturation or above. ``invalid``: it did not measure the target.
    """
    near = limit is not None and step["rate"] > (1 - sentences.LEAST_APART) * limit
    word: str = SPOKEN.get(step["verdict"], step["verdict"] or "–")
    return "at limit" if word == "stable" and near else word


def step_rows(steps: pl.DataFrame, limit: float | None = None) -> list[tuple[str, ...]]:
    """Return rows (rate or users, sent, goodput, errors, mean, p50 to p99, its interval, lag p95, verdict) as text.

    The interval is empty in all rows if none is known. ``limit``: of `saturation_rate`.
    """
    known = steps.height and "p99_low" in steps.columns and steps["p99_low"].is_not_null().any()
    return [
        (
            f"{row['users']}" if "users" in row else show_rate(row["rate"], 4),
            *("–" if row[name] is None else f"{row[name]:.1f}" for name in ("sent", "goodput")),
            str(row["errors"] - row["dropped"]),
            *(in_step(row, name) for name in ("mean", "p50", "p90", "p95", "p99")),
            between(row) if known else "–",
            show(row["lag_p95"]),
            verdict_word(row, limit),
        )
        for row in steps.iter_rows(named=True)
    ]


def in_step(step: Mapping[str, Any], name: str) -> str:
    """Return a figure of a row of the step table as text; where there is none the reason, if it has one."""
    enough = step["errors"] < step["scheduled"] if name == "mean" else is_given(step["scheduled"], LADDER[name])
    return show(step[name], failed=step[name] == math.inf, late=enough and _is_late(step))


def _is_late(times: Mapping[str, Any]) -> bool:
    """Whether the generator's lag reaches some of these response times."""
    valid = times.get("valid_up_to")
    return valid is not None and valid < 1
