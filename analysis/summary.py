"""The contents of summary.json.

Only numbers of the result log and plain values of the caller come in; nothing is printed here.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from logreplay.analysis.findings import LOG_TIMES, NO_TIMES, findings_of
from logreplay.analysis.format_time import show, show_rate
from logreplay.analysis.input.arrays import RequestArrays, those
from logreplay.analysis.input.chunks import SECOND
from logreplay.analysis.input.downcast import DROPPED, HTTP_ERROR, NET_ERROR, OK
from logreplay.analysis.input.json_values import JsonValue
from logreplay.analysis.input.run_metadata import ClosedLoop, check_kinds
from logreplay.analysis.limit.sentences import TargetLimit
from logreplay.analysis.statistics.quantiles import SMALLEST_SAMPLE, Micros, average, lag_in, quantile, valid_rank
from logreplay.analysis.statistics.slices import slices
from logreplay.analysis.tables import siege_ab
from logreplay.analysis.tables.aggregate import run_spans
from logreplay.analysis.tables.schedule_accuracy import punctuality
from logreplay.analysis.tables.users import UsersSweep
from logreplay.analysis.verdict.per_second import timed
from logreplay.analysis.verdict.saturation import SaturationVerdict
from logreplay.core.masking import masked
from logreplay.core.plural import number_of
from logreplay.core.quantities import percent
from logreplay.core.validity import holds_lag

SCHEMA: Final = "logreplay/1"
LADDER: Final = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}

OF_ONE_RATE: Final = ("rate", "siege", "ab", "response_s", "ok_response_s", "service_s", "lag_s", "queued_s")
"""Figures that mean something for one rate only."""

_OF_ROWS: Final = (
    *OF_ONE_RATE,
    *(
        "by_step",
        "steps",
        "onset",
        "saturation",
        "answered",
        "limit",
        "generator_limit",
        "costs",
        "scaling",
        "punctuality",
    ),
)
"""Keys that come from the rows alone; those of an earlier summary are not kept."""


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
    lag = np.sort(requests.lag)
    times = {
        "siege": siege_ab.siege(requests, served),
        "ab": siege_ab.ab(requests, served),
        **_all_times(finished, failed, siege_ab.served(finished), lag),
        "lag_s": _times(lag, requests.lag),
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
    return {"steps": verdict.steps.to_dicts(), **rates, "answered": verdict.answered}


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


def is_given(count: int, p: float) -> bool:
    """Whether the p-quantile of this number of requests is given."""
    return count >= (SMALLEST_SAMPLE.get(p, 1) if p >= 0.99 else 1)


def _all_times(requests: RequestArrays, failed: int, served: Micros, lag: Micros) -> dict[str, dict[str, Any]]:
    """Response times of all and of the answered, service times, waits that an option or the target made necessary.

    ``lag``: sorted.
    """
    answered = requests.outcome <= HTTP_ERROR
    ordered = requests.judged
    ordered.sort()  # in place: 20 million take 80 MB
    good, without_lag = len(ordered) - failed, ordered
    if requests.has_late:
        without_lag = requests.judged_without_lag
        without_lag.sort()
    times = {
        "response_s": {**_valid_times(ordered, without_lag, lag, good), "failed": failed},
        "ok_response_s": _valid_times(ordered[:good], without_lag[:good], lag, good),
    }
    del ordered, without_lag
    of_sent = served if answered.all() else np.sort(those(requests.service, requests.sent))
    return {
        **times,
        "service_s": _times(of_sent, served),
        "queued_s": _times(np.sort(requests.queued), requests.queued),
    }


def _valid_times(ordered: Micros, without_lag: Micros, lag: Micros, good: int) -> dict[str, Any]:
    """`_times` of response times without those figures that the generator's lag reaches, and how far it does not.

    All are sorted; the first ``good`` times of each were answered as expected.
    """
    times, lagless = (_times(part, part[:good]) for part in (ordered, without_lag))
    valid = valid_rank((ordered[part], without_lag[part]) for part in slices(len(ordered)))
    for name, p in LADDER.items():
        given = times[name] is not None and math.isfinite(times[name])
        if given and lag_in(p, ordered, without_lag, lag, valid) is not None:
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
        **{name: quantile(ordered, p) if is_given(len(ordered), p) else None for name, p in LADDER.items()},
        "max": None if most is None else int(most) / SECOND,
    }
