"""Words for the codes of a summary, and its answer in lines."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from logreplay.cli.display.terminal import print_text

if TYPE_CHECKING:
    from logreplay.results import Result

ARRIVALS: Final = {
    "poisson": "at random (poisson), as of independent visitors; --arrivals even spaces them evenly",
    "even": "evenly spaced (even); independent visitors arrive at random: --arrivals poisson",
    "log": "in the bursts of the log (log)",
}
"""Spacing of requests, in words."""


def explained(result: "Result") -> str:
    """The verdict on a run; ``VALID`` with its meaning."""
    if result.verdict != "VALID":
        return result.verdict
    late = any(each.code == "lag" for each in result.findings)
    return f"VALID ({'except figures that the lag reaches' if late else 'the generator kept its schedule'})"


def print_arrivals(options: Mapping[str, Any]) -> None:
    """Print on stdout how requests arrived; nothing if no rate was given."""
    if kind := options.get("arrivals"):
        print_text(f"arrivals: {ARRIVALS[kind]}")


def answer_lines(summary: Mapping[str, Any]) -> list[str]:
    """Return the lines of a summary on the limit of a sweep, and its answers, the last lines."""
    from logreplay.analysis.summary_rows import limit_sentences

    limit = limit_sentences(summary)
    return [*(f"{what}: {sentence}" for what, sentence in limit.items()), *answers(summary)]


def answers(summary: Mapping[str, Any]) -> list[str]:
    """Return the answer of a summary; last, that on the costs of routes, which the sweep was made for."""
    costs = summary.get("costs", {}).get("sentence", "")
    return list(dict.fromkeys(filter(None, (summary["answer"], costs))))
