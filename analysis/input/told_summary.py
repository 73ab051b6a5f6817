"""Checks an earlier summary.json before its values are used; another program may have written it."""

import math
from typing import Final

from logreplay.analysis.input.json_values import JsonValue

_SEVERITIES: Final = ("info", "note", "warning", "void")
_OBJECTS: Final = ("requests", "options", "users", "costs")
_TEXTS: Final = ("answer", "verdict", "log", "target", "stopped")


def check_kinds(told: JsonValue) -> None:
    """Check the kinds of those values of a summary that its readers rely on.

    Raises:
        LogreplayError: one is of another kind; names it.
    """
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
        told["received_bytes"].number(most=math.inf)


def _listed(told: JsonValue, name: str) -> list[JsonValue]:
    """The values of a list; none if it is not there."""
    value = told[name]
    return [*value.each()] if name in (told.value or {}) else []
