"""Reads what the rows of a run cannot tell from its summary.json, which another program may have written.

That is users, limited steps and validity, and, by its manifest, finished steps.
"""

import json
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, Final

from logreplay.analysis.input.external_metrics import stem
from logreplay.analysis.input.json_values import JsonValue

_CONTROL: Final = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
UNFINISHED: Final = "unfinished"
"""Key of the summary of a run in steps that has not come to its end, or was killed."""
_REMEDY: Final = "correct it, or move the file away"
_OF_FOLDERS: Final = ("results", "seconds", "baseline", "candidate", "noise")
"""Names that logreplay gives to results in a folder; the summary.json of the folder belongs to them."""
_SEVERITIES: Final = ("info", "note", "warning", "void")
_OBJECTS: Final = ("requests", "options", "users", "costs")
_TEXTS: Final = ("answer", "verdict", "judgement", "log", "target", "stopped")


@dataclass(frozen=True)
class ClosedLoop:
    """The settings of a sweep over users.

    Attributes:
        users: number of users of each step, by its label.
        think: mean pause of a user after a response, seconds.
        step_s: length of each step, seconds; infinite: until its last response.
    """

    users: Mapping[int, int]
    think: float
    step_s: float


def recorded(summary: Mapping[str, Any]) -> ClosedLoop | None:
    """Return the settings of a sweep over users, by the summary of the run; None if that names no users."""
    users = summary.get("users")
    try:
        if users:
            return ClosedLoop(
                {int(row["step"]): int(row["users"]) for row in users["steps"]},
                float(users.get("think_s", 0.0)),
                float(users.get("step_s") or inf),  # JSON has no infinity
            )
        options = summary.get("options", {})
        if isinstance(count := options.get("vusers"), int) and count > 1:
            return ClosedLoop({0: count}, _mean_pause(options.get("think")), inf)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return None  # edited by hand
    return None


def limited_steps(summary: Mapping[str, Any]) -> frozenset[int]:
    """Return the labels of the steps in which the replaying machine met a limit, by the summary of the run."""
    steps = summary.get("limited_steps")
    return frozenset(int(name) for name in steps if _is_label(name)) if isinstance(steps, dict) else frozenset()


def asked_rates(summary: Mapping[str, Any]) -> list[float]:
    """Return the rates that a sweep was to measure, by its summary; none where that names none."""
    options = summary.get("options")
    rates = options.get("rates") if isinstance(options, Mapping) else None
    return [rate for rate in rates if isinstance(rate, int | float)] if isinstance(rates, list) else []


def sampled_share(options: Any) -> float:
    """Return the share of the requests whose traces were sampled, by the options of a run; 1 where they name none."""
    share = options.get("trace") if isinstance(options, Mapping) else None
    return float(share) if isinstance(share, int | float) and 0 <= share <= 1 else 1.0


def void_trials(summary: Mapping[str, Any]) -> frozenset[int]:
    """Return the labels of the trials of a search that were not valid, by its summary."""
    slo = summary.get("slo")
    trials = slo.get("trials") if isinstance(slo, Mapping) else None
    try:
        return frozenset(int(each["number"]) - 1 for each in trials or () if each["verdict"] == "void")
    except (KeyError, TypeError, ValueError, OverflowError):
        return frozenset()  # edited by hand


def left_out_routes(summary: Mapping[str, Any]) -> dict[int, str]:
    """Return the route that each step of a sweep leaves out, by label, by its summary; none where it has all."""
    steps = summary.get("left_out_routes")
    told = steps.items() if isinstance(steps, dict) else ()
    return {int(label): route for label, route in told if _is_label(label) and isinstance(route, str)}


def _is_label(text: str) -> bool:
    return text.isdecimal() and len(text) < 10


def cut_steps(results: Path | None, summary: Mapping[str, Any], labels: tuple[int, ...]) -> Collection[int]:
    """Return the labels of the steps that were cut short: those that the manifest of a sweep does not name.

    Without one, it is the last step of a measurement in steps that was stopped or killed, by its summary.
    """
    if results and stem(results).name == "results":
        with suppress(OSError, ValueError, RecursionError, KeyError, TypeError):
            done = json.loads(results.with_name("manifest.json").read_bytes())["done"]
            return {*labels} - {each["index"] for each in done}
    options = summary.get("options")
    in_steps = isinstance(options, Mapping) and (options.get("steps") or options.get("rates"))
    return labels[-1:] if summary.get(UNFINISHED) or (summary.get("stopped") and in_steps) else ()


def void_findings(results: Path) -> dict[str, str]:
    """Return why a run is invalid, text by code, by the summary of a result log; empty if nothing says so."""
    told = summary_of(results).get("findings")
    findings = [each for each in told if isinstance(each, dict)] if isinstance(told, list) else []
    return {str(each.get("code")): str(each.get("text")) for each in findings if each.get("severity") == "void"}


def _without_controls(value: Any) -> Any:
    """A value of JSON; ``?`` replaces what steers a terminal, reorders a line or cannot be written."""
    match value:
        case str():
            return _CONTROL.sub("?", value)
        case list():
            return [_without_controls(part) for part in value]
        case dict():
            return {_CONTROL.sub("?", key): _without_controls(part) for key, part in value.items()}
    return value


def _mean_pause(think: Any) -> float:
    """The mean of a pause as options are written: seconds, or the ends of a range; 0 for those of the log."""
    return (think["low"] + think["high"]) / 2 if isinstance(think, dict) else float(think or 0.0)


def summary_of(results: Path | None) -> dict[str, Any]:
    """Return the contents of the summary.json of a result log; empty if there is none, or no result log."""
    return {} if results is None else dict(checked_summary(results).value)


def checked_summary(results: Path, remedy: str = _REMEDY) -> JsonValue:
    """Return the summary.json of a result log as values to be checked; empty if there is none."""
    name = stem(results)
    own, of_folder = name.with_name(f"{name.name}.summary.json"), results.with_name("summary.json")
    for path in (own, of_folder) if name.name in _OF_FOLDERS else (own,):
        try:
            value = _without_controls(json.loads(path.read_bytes()))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return JsonValue(path, value, remedy)
    return JsonValue(own, {}, remedy)


def check_kinds(told: JsonValue) -> None:
    """Check the kinds of those values of a summary that its readers rely on."""
    for name in _OBJECTS:
        if not isinstance(told.value.get(name, {}), dict):
            raise told[name].wrong("an object")
    options = told["options"]
    for text in (*(told[name] for name in _TEXTS), options["trace_url"], *_listed(options, "stop")):
        if text.value is not None:
            text.text()
    for finding in _listed(told, "findings"):
        finding["code"].text()
        finding["text"].text()
        if finding["severity"].value not in _SEVERITIES:
            raise finding["severity"].wrong(f"one of {', '.join(_SEVERITIES)}")
    for step in _listed(told["users"], "steps"):
        step["users"].number()
        if step["step"].value is not None:
            step["step"].number()
    for bound in _listed(told["slo"], "bounds"):
        bound["statistic"].text()
        bound["limit"].number()
    for trial in _listed(told["slo"], "trials"):
        trial["number"].number()
        trial["verdict"].text()
    if told["received_bytes"].value is not None:
        told["received_bytes"].number(most=inf)


def _listed(told: JsonValue, name: str) -> list[JsonValue]:
    """The values of a list; none if it is not there."""
    value = told[name]
    return [*value.each()] if name in (told.value or {}) else []
