"""The contents of summary.json, and the rows a terminal shows of them.

Only numbers of the result log and plain values of the caller come in; nothing is printed here.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from logreplay.analysis.format_time import HOUR_S, between, rounded_up, show, show_rate, show_share
from logreplay.analysis.input import pias
from logreplay.analysis.input.arrays import RequestArrays, those
from logreplay.analysis.input.chunks import SECOND
from logreplay.analysis.input.downcast import CANCELLED, DROPPED, HTTP_ERROR, NET_ERROR, OK
from logreplay.analysis.input.json_values import JsonValue
from logreplay.analysis.input.run_metadata import ClosedLoop, check_kinds
from logreplay.analysis.limit.sentences import TargetLimit
from logreplay.analysis.statistics.failures import ERROR_SHARE
from logreplay.analysis.statistics.quantiles import SMALLEST_SAMPLE, Micros, average, quantile, rank, valid_rank
from logreplay.analysis.statistics.slices import slices
from logreplay.analysis.tables import siege_ab, warmup
from logreplay.analysis.tables.aggregate import run_spans, step_windows
from logreplay.analysis.tables.schedule_accuracy import punctuality
from logreplay.analysis.tables.step_intervals import TRIALS
from logreplay.analysis.tables.users import UsersSweep
from logreplay.analysis.verdict import saturation_sentences as sentences
from logreplay.analysis.verdict.per_second import timed
from logreplay.analysis.verdict.saturation import SaturationVerdict
from logreplay.analysis.verdict.stability import MIX, SPOKEN, VOID
from logreplay.core.masking import masked
from logreplay.core.plural import first_of, number_of
from logreplay.core.quantities import percent
from logreplay.core.rows import left_out
from logreplay.core.validity import deepest, holds_lag, targets_own

SCHEMA: Final = "logreplay/1"
LADDER: Final = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}

OF_ONE_RATE: Final = ("rate", "siege", "ab", "response_s", "ok_response_s", "service_s", "lag_s", "queued_s")
"""Figures that mean something for one rate only."""

_OF_ROWS: Final = (
    *OF_ONE_RATE,
    *("by_step", "steps", "onset", "saturation", "limit", "generator_limit", "costs", "scaling", "punctuality"),
)
"""Keys that come from the rows alone; those of an earlier summary are not kept."""

NO_TIMES: Final = "the log has no response times"
LOG_TIMES: Final = "log $request_time (nginx) or %D (Apache)"
UNTIMED: Final = f"{NO_TIMES}: saturation is not judged and nothing is drawn; {LOG_TIMES}"


@dataclass(frozen=True)
class About:
    """What only the caller knows of a run; all of it plain values that JSON can hold.

    Attributes:
        log: the log that was replayed.
        target: where it was sent.
        options: the options of the run.
        findings: observations that bear on the measurement: ``code``, ``severity``, ``text`` each.
        more: further keys of summary.json.
        closed: users of a sweep over users; None: a rate was sent, or the summary on disk has them.
        limited: this machine's limits that were reached, by label of step; such a step does not describe the target.
        answered: False: a search had no answer, and its verdict is ``NO_ANSWER`` where it would be ``VALID``.
    """

    log: str | None = None
    target: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    findings: Sequence[Mapping[str, Any]] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    closed: ClosedLoop | None = None
    limited: Mapping[int, str] = field(default_factory=dict)
    answered: bool = True


def summarise(
    requests: RequestArrays,
    verdict: SaturationVerdict,
    about: About | None = None,
    users: UsersSweep | None = None,
    limit: TargetLimit | None = None,
    cut: Collection[int] = (),
) -> dict[str, Any]:
    """Return the contents of summary.json.

    ``verdict`` is a word: whether the target was measured; ``answer`` is the sentence that the steps support. Times
    are seconds. In ``response_s`` a request that failed counts as later than any other, and one that the run
    cancelled as it stopped is left out; a percentile that falls on a failed one is null, and ``failed`` says how
    many there are; min, mean and max are those of the others. ``ok_response_s`` has only these. A figure of both that
    the generator's lag reaches is null: ``valid_up_to`` is the share of the times, the shortest, that are the target's.
    ``lag_s`` is of all requests, as in the findings and in the step table.

    Several rates have no common percentile: times, rates and the figures of siege and ab of a sweep
    stand in ``by_step``, once for each step, and not at the top. ``cut`` names steps that were cut short: a sweep that
    was stopped in its first step held no rate.
    """
    about = about or About()
    figures = _figures(requests)
    mixed = requests.several_rates
    value: dict[str, Any] = {
        **_common(verdict, about, findings_of(requests, verdict)),
        **({} if len(requests.labels) > 1 or users else {"answer": _of_one_step(figures, requests, cut)}),
        **({"users": users.as_dict()} if users else {}),
        **{name: figure for name, figure in figures.items() if not (mixed and name in OF_ONE_RATE)},
        "punctuality": _punctuality(requests),
        "started": requests.started.isoformat() if requests.started else None,
        "ended": requests.ended.isoformat() if requests.ended else None,
        "slowest": _slowest(requests, requests.slowest),
        **({"slowest_sampled": _slowest(requests, sampled)} if (sampled := requests.slowest_sampled).height else {}),
    }
    if mixed:
        value["by_step"] = [
            {**_named_step(row), **_figures(requests.of_step(index))}
            for index, row in enumerate(verdict.steps.iter_rows(named=True))
        ]
    if len(requests.labels) > 1:
        value |= _of_steps(verdict)
        value["limit"] = limit.as_dict() if limit else None
        value["generator_limit"] = verdict.generator_limit
        value["limited_steps"] = dict(about.limited)
    return plain({**value, **about.more})  # type: ignore[no-any-return]


def _slowest(requests: RequestArrays, slowest: pl.DataFrame) -> list[dict[str, Any]]:
    return [{**row, "url": masked(row["url"] or "")} for row in slowest.to_dicts() if requests.has_times]


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


_OF_A_RUN: Final = frozenset(("tps", "steps", "ramp", "speed"))
"""Options that say the load of a run."""


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


def _of_one_step(figures: Mapping[str, Any], requests: RequestArrays, cut: Collection[int]) -> str:
    """Return the answer of a run of one step: it has one rate, so no saturation."""
    counts, times = figures["requests"], figures["response_s"]
    known = [f"{name} {show(times[name], failed=True)}" for name in ("p50", "p99") if times[name] is not None]
    answered = times["count"] > times["failed"]
    none = "the response times hold the generator's lag" if answered else "no response as expected"
    told = ", ".join(known) or (none if requests.has_times else f"{NO_TIMES}; {LOG_TIMES}")
    load = f"{show_rate(figures['rate']['sent'], 4)} requests/s"
    if cut:
        load = f"stopped in the first step, {show_rate(requests.rates[0], 4)}/s, which was not held to its end"
    sentence = f"{load}: {told}"
    cancelled, dropped = figures["errors"].get("cancelled", 0), counts["dropped"]
    if failed := failed_of(counts):
        sentence += f"; {percent(failed / counts['sent'])} of the requests failed"
    if dropped:
        sentence += f"; {dropped:,} of {number_of(counts['scheduled'], 'request')} were not sent (dropped)"
    return f"{sentence}; {cancelled} cancelled" if cancelled else sentence


def failed_of(counts: Mapping[str, int]) -> int:
    """Return how many of the requests that were sent failed, by the key ``requests``: dropped ones were not sent."""
    return counts["failed"] - counts.get("dropped", 0)


def _named_step(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"step": row["step"], "offered": row["rate"], "verdict": row["verdict"]}


def _figures(requests: RequestArrays) -> dict[str, Any]:
    """Counts, rates, times and the figures of siege and ab of some requests."""
    not_sent = int((requests.taken_up & ~requests.sent).sum())
    counts = {
        "scheduled": len(requests),
        "sent": int(requests.sent.sum()),
        "not_sent": not_sent,
        "dropped": requests.count(DROPPED),
        "ok": requests.count(OK),
        "http_error": requests.count(HTTP_ERROR),
        "net_error": requests.count(NET_ERROR) - not_sent,
        "failed": (failed := int(requests.failed.sum())),
        "unexpected": failed,  # its earlier name
    }
    assert counts["scheduled"] == counts["sent"] + counts["dropped"] + not_sent
    assert counts["sent"] == counts["ok"] + counts["http_error"] + counts["net_error"]
    answered = counts["ok"] + counts["http_error"]
    offered_s, sent_s, ended_s = run_spans(requests)
    named, served, finished = requests.kinds, siege_ab.served(requests), requests.finished
    times = {
        "siege": siege_ab.siege(requests, served),
        "ab": siege_ab.ab(requests, served),
        **_all_times(finished, failed, siege_ab.served(finished)),
        "lag_s": _times(np.sort(requests.lag), requests.lag),
    }
    return {
        "requests": counts,
        "rate": {
            "offered": counts["scheduled"] / offered_s,
            "sent": counts["sent"] / sent_s,
            "completed": answered / ended_s,
            "goodput": int(requests.good.sum()) / ended_s,
        },
        "elapsed_s": max(requests.last_end - requests.sending[0], 1) / SECOND,
        **(times if requests.has_times else _unknown(times)),
        "errors": {name: count for name, count in named.items() if not name.isdigit()},
        "status": {name: count for name, count in named.items() if name.isdigit()},
        "bytes": int(requests.bytes.sum()),
    }


def _unknown(times: Mapping[str, Any]) -> dict[str, Any]:
    """The same figures without those that would be 0 only because the log has no times."""
    return {
        name: _unknown(value) if isinstance(value, Mapping) else None if isinstance(value, float) else value
        for name, value in times.items()
    }


def _punctuality(requests: RequestArrays) -> dict[str, float] | None:
    """How true the run was to its schedule; None where the file has none."""
    sent = requests.sent
    if not requests.has_schedule:
        return None
    found = punctuality(those(requests.scheduled, sent), those(requests.lag, sent))
    return asdict(found) if found else None


def summarise_seconds(seconds: pl.DataFrame, verdict: SaturationVerdict, about: About | None = None) -> dict[str, Any]:
    """Return what summary.json can say of a run of which only a per-second table is left."""
    about = about or About()
    scheduled, errors = int(seconds["offered"].sum()), int(seconds["errors"].sum())
    dropped = {"dropped": int(seconds["dropped"].sum())} if "dropped" in seconds.columns else {}
    known = seconds.filter(pl.col("mean").is_not_null()).with_columns(timed=timed(seconds))
    mean = (known["mean"] * known["timed"]).sum() / max(int(known["timed"].sum()), 1)
    lost = {
        "code": "only_seconds",
        "severity": "warning",
        "text": "a per-second table has only means: percentiles, requests in flight, kinds of errors and generator lag "
        "are lost, and the backlog is inferred from the growth of response times",
    }
    value = {
        **_common(verdict, about, [lost]),
        "requests": {"scheduled": scheduled, **dropped, "failed": errors, "unexpected": errors},
        "rate": {"offered": scheduled / max(seconds.height, 1)},
        "elapsed_s": float(seconds.height),
        "response_s": {"mean": mean},
        "started": None,
        "ended": None,
        **_of_steps(verdict),
    }
    return plain({**value, **about.more})  # type: ignore[no-any-return]


def _common(verdict: SaturationVerdict, about: About, found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The verdict, the findings, and the facts that only the caller knows."""
    told = {finding.get("code") for finding in about.findings}
    word = "VALID" if about.answered else "NO_ANSWER"
    if "rate_missed" in {each["code"] for each in found}:
        word = "RATE_MISSED"
    findings = [*about.findings, *(each for each in found if each["code"] not in told)]
    return common(about, word if verdict.word == "VALID" else verdict.word, verdict.sentence, findings)


def common(about: About, verdict: str, answer: str, findings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The keys that all summaries of a run, a sweep or a search have."""
    return {
        "schema": SCHEMA,
        "verdict": verdict,
        "answer": answer,
        "findings": [*map(dict, findings)],
        "log": about.log,
        "target": about.target,
        "options": dict(about.options),
    }


def _of_steps(verdict: SaturationVerdict) -> dict[str, Any]:
    rates = {"onset": verdict.onset.as_dict(), "saturation": verdict.saturation.as_dict()}
    return {"steps": verdict.steps.to_dicts(), **rates}


def remembering(summary: Mapping[str, Any], before: JsonValue | None) -> dict[str, Any]:
    """Add to a summary what an earlier one of the same run says and rows cannot.

    That is its log, target, options and findings, the run's own verdict, and what a search or a sweep of users
    answered. A summary of other requests is left aside.
    """
    if before is None or (SCHEMA, summary["started"]) != (before["schema"].value, before["started"].value):
        return dict(summary)  # of another run or program: its values may be of any kind
    if summary["requests"]["scheduled"] != before["requests"]["scheduled"].value:
        return dict(summary)
    check_kinds(before)
    earlier = {name: value for name, value in before.value.items() if name not in _OF_ROWS}
    own = [
        "log",
        "target",
        "options",
        "verdict",
        "limited_steps",
        *(["answer"] if {"slo", "users"} & set(earlier) else []),
    ]
    said = earlier.get("findings", [])
    known = {finding["code"] for finding in said}
    findings = [*said, *(finding for finding in summary["findings"] if finding["code"] not in known)]
    kept = {key: earlier[key] for key in own if earlier.get(key) is not None}
    return {**earlier, **summary, **kept, "findings": findings}


def plain(value: Any) -> Any:
    """Make a value fit for JSON: numbers that are not finite become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    return value


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
    fell_on_failure = bool(failed and _enough(count, p) and rank(count, p) > count - failed)
    late = _is_late(response) and (_enough(count, p) or name not in LADDER)
    return show(response[name], failed=fell_on_failure, late=late)


def _enough(count: int, p: float) -> bool:
    """Whether the p-quantile of this number of requests is given."""
    return count >= (SMALLEST_SAMPLE.get(p, 1) if p >= 0.99 else 1)


def siege_rows(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return rows (figure, value, what it is) of siege's final figures as text."""
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
    enough = step["errors"] < step["scheduled"] if name == "mean" else _enough(step["scheduled"], LADDER[name])
    return show(step[name], failed=step[name] == math.inf, late=enough and _is_late(step))


def _is_late(times: Mapping[str, Any]) -> bool:
    """Whether the generator's lag reaches some of these response times."""
    valid = times.get("valid_up_to")
    return valid is not None and valid < 1


def _all_times(requests: RequestArrays, failed: int, served: Micros) -> dict[str, dict[str, Any]]:
    """Response times of all and of the answered, service times, waits that an option or the target made necessary."""
    answered = requests.outcome <= HTTP_ERROR
    ordered = requests.judged
    ordered.sort()  # in place: 20 million take 80 MB
    good, without_lag = len(ordered) - failed, ordered
    if requests.has_late:
        without_lag = requests.judged_without_lag
        without_lag.sort()
    times = {
        "response_s": {**_valid_times(ordered, without_lag, good), "failed": failed},
        "ok_response_s": _valid_times(ordered[:good], without_lag[:good], good),
    }
    del ordered, without_lag
    of_sent = served if answered.all() else np.sort(those(requests.service, requests.sent))
    return {
        **times,
        "service_s": _times(of_sent, served),
        "queued_s": _times(np.sort(requests.queued), requests.queued),
    }


def _valid_times(ordered: Micros, without_lag: Micros, good: int) -> dict[str, Any]:
    """`_times` of response times without those figures that the generator's lag reaches, and how far it does not.

    Both are sorted; the first ``good`` of each were answered as expected.
    """
    times, lagless = (_times(part, part[:good]) for part in (ordered, without_lag))
    valid = valid_rank((ordered[part], without_lag[part]) for part in slices(len(ordered)))
    for name, p in LADDER.items():
        if rank(len(ordered), p) > valid and math.isfinite(times[name] or 0.0):
            times[name] = None
    for name in ("min", "mean", "max"):
        if times[name] is not None and holds_lag(*(np.array(1e6 * each[name]) for each in (times, lagless))):
            times[name] = None
    return {**times, "valid_up_to": valid / len(ordered) if len(ordered) else 1.0}


def _times(ordered: Micros, some: Micros) -> dict[str, Any]:
    """Quantiles of the ordered; min, mean and max of some of them; microseconds → seconds."""
    least, mean, most = (some.min(), average(some), some.max()) if len(some) else (None,) * 3
    return {
        "count": len(ordered),
        "min": None if least is None else int(least) / SECOND,
        "mean": None if mean is None else mean / SECOND,
        **{name: quantile(ordered, p) if _enough(len(ordered), p) else None for name, p in LADDER.items()},
        "max": None if most is None else int(most) / SECOND,
    }


def findings_of(requests: RequestArrays, verdict: SaturationVerdict) -> list[dict[str, str]]:
    """Return the observations that bear on a verdict: ``code``, ``severity``, ``text`` each."""
    found = []
    dropped = requests.count(DROPPED)
    if dropped + np.count_nonzero(requests.kind == CANCELLED) == len(requests):
        some, when = "or dropped " * bool(dropped), "when the run stopped"
        text = f"no response came before the end: all requests ({len(requests):,}) were cancelled {some}{when}"
        if dropped == len(requests):
            text = f"nothing was measured: all requests ({dropped:,}) were dropped, none was sent"
        found.append({"code": "rate_missed", "severity": "void", "text": text})
    if requests.unreadable:
        lost = pias.lost(requests.unreadable)
        text = "the result log is not read whole: " * bool(lost) + left_out(requests.unreadable)
        found.append({"code": "unreadable_rows", "severity": "warning" if lost else "note", "text": text})
    if requests.found_steps:
        found_steps = number_of(verdict.steps.height, "step was", "steps were")
        text = f"the result log names no steps: {found_steps} found in the number of requests per second"
        found.append({"code": "found_steps", "severity": "note", "text": text})
    if requests.window_s:
        text = f"the result log has no steps: each {requests.window_s:,} seconds count as one"
        found.append({"code": "windows", "severity": "note", "text": text})
    if requests.has_times and not requests.has_schedule:
        text = "the result log has no scheduled times: generator lag is unknown, response time is service time"
        found.append({"code": "no_schedule", "severity": "warning", "text": text})
    if not requests.has_times:
        return [*found, {"code": "no_times", "severity": "warning", "text": UNTIMED}]
    warm_up = warmup.of_first_step(requests, step_windows(requests))
    if warm_up and (text := warm_up.sentence()):
        found.append({"code": "warm_up", "severity": "warning", "text": text})
    if short := too_short(verdict.steps):
        found.append({"code": "short_steps", "severity": "note", "text": short})
    return [*found, *_of_the_target(verdict), *_not_covered(requests, verdict)]


def _not_covered(requests: RequestArrays, verdict: SaturationVerdict) -> Iterator[dict[str, str]]:
    """Finding on the limits of the evidence of a sweep that has an answer."""
    steps = verdict.steps.filter(pl.col("verdict").is_in(("stable", "overloaded", "errors")))
    if requests.several_rates and verdict.answered and steps.height:
        held, by = ("number of users", "users") if "users" in steps.columns else ("rate", "rate")
        fewest = int(steps.group_by(by).len()["len"].to_numpy().min())
        routes, all_count = max(len(requests.routes) - 1, 1), steps.height == verdict.steps.height
        text = sentences.not_covered(held, steps["duration"], fewest, routes, all_count=all_count)
        yield {"code": "not_covered", "severity": "note", "text": text}
        yield from _undecided(verdict)


def _undecided(verdict: SaturationVerdict) -> Iterator[dict[str, str]]:
    """Finding on the highest stable rate where a step so long does not tell it from a rate above the capacity."""
    stable = verdict.steps.filter((pl.col("verdict") == "stable") & pl.col("p50").is_finite()).sort("rate")
    if "users" in stable.columns or not stable.height:
        return
    top, capacity = stable.row(-1, named=True), verdict.saturation.rate
    risen = top["p50"] >= sentences.RISE * stable["p50"][0]
    if (capacity is not None or risen) and (text := sentences.undecided(top["rate"], top["duration"], capacity)):
        yield {"code": "undecided", "severity": "note", "text": text}


def _of_the_target(verdict: SaturationVerdict) -> Iterator[dict[str, str]]:
    """Findings on failures, outages and passing overloads, and on requests that were sent late all the same."""
    steps = verdict.steps
    if verdict.target_failing:
        text = "more than half of the requests failed at every rate: look at one of them with run --crash"
        yield {"code": "target_failing", "severity": "void", "text": text}
        return
    base = steps["error_base"].to_numpy().max(initial=0.0)
    if base > ERROR_SHARE / 2:
        text = f"{show_share(base)} of the requests failed at the lowest rates; the verdict does not count this share "
        yield {"code": "constant_errors", "severity": "warning", "text": text + "as overload; see run --crash"}
    if outages := steps["outage"].drop_nulls().unique(maintain_order=True).to_list():
        text = f"the target had an outage: {', '.join(outages)}; look at its log at that time"
        yield {"code": "outage", "severity": "warning", "text": text}
    carried = steps.filter(pl.col("verdict") == "stable")["rate"].to_numpy().max(initial=0.0)
    passed = pl.col("verdict").is_in(("overloaded", "errors")) & (pl.col("rate") < carried)
    passing = steps.filter(passed & (pl.col("rate") < (verdict.saturation.low or math.inf)))
    if "users" not in steps.columns and (rates := _rates(passing)):  # users set no rate: the target does
        text = f"the target fell behind or failed at {rates}, and carried higher rates: a pause, other load, a cold "
        text += f"cache or late scaling; repeat each rate: sweep --repeat {TRIALS}"
        yield {"code": "passing_overload", "severity": "warning", "text": text}
    yield from _late(verdict)


def _late(verdict: SaturationVerdict) -> Iterator[dict[str, str]]:
    """Finding on steps of which a percentile is not given, because requests were sent late."""
    steps = verdict.steps.filter(~pl.col("generator"))
    deep = pl.col("scheduled").map_elements(deepest, return_dtype=pl.Float64)
    if (late := steps.filter(pl.col("valid_up_to") < deep)).is_empty():
        return
    at = f"at {_rates(late)} " if len(verdict.steps) > 1 else ""
    lag, valid = late["lag_p95"].to_numpy().max(), targets_own(late["valid_up_to"].to_numpy().min())
    text = f"{at}requests were sent late (lag p95 up to {show(lag)}): response times are {valid}, "
    text += "and figures that the lag reaches are left out; stop other processes, and repeat the run"
    yield {"code": "lag", "severity": "warning", "text": text}


def _rates(steps: pl.DataFrame) -> str:
    return first_of([f"{rate:g}/s" for rate in steps["rate"].unique().sort()])


def too_short(steps: pl.DataFrame) -> str:
    """Words for the steps that are too short for a range of p99; none for a run of one step."""
    if steps.height < 2 or (short := steps.filter(pl.col("p99_needs_s").is_not_null())).is_empty():
        return ""
    why = "because requests in one queue are late together"
    text = f"steps are too short for a range of p99 at {_rates(short)}, {why}"
    usable = short.filter(pl.col("p99_needs_s") <= HOUR_S).sort("p99_needs_s")
    if usable.height:
        needed = usable.row(-1, named=True)
        text += f": at {needed['rate']:g}/s a step has to be {rounded_up(needed['p99_needs_s'])} long"
    if usable.height < short.height:
        text += f"; at {_rates(short.filter(pl.col('p99_needs_s') > HOUR_S))} it would take hours, so near saturation"
    return text
