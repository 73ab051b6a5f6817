"""The conditions of a call, and the answers that have them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

State: TypeAlias = Literal["passed", "failed", "unjudged", "skipped"]


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of a call.

    Attributes:
        name: name of the condition.
        state: ``passed``, ``failed``, ``unjudged`` where the figures do not tell, or ``skipped`` where no
            condition was set or the measurement has no answer.
        text: the figures behind it.
    """

    name: str
    state: State = "passed"
    text: str = ""


def check_valid(name: str, summary: Mapping[str, Any]) -> Check:
    """Whether a measurement is valid, by its summary; skipped if it was ended early, or its steps give no answer."""
    open_ = summary.get("stopped") or not (summary.get("answered", True) or summary.get("users"))
    state: State = "unjudged" if summary.get("verdict") != "VALID" else "skipped" if open_ else "passed"
    return Check(name, state, "" if state == "passed" else str(summary.get("stopped") or summary.get("answer") or ""))


class CheckedAnswer:
    """What an answer shares with the results of runs: its checks, and how it shows itself."""

    sentence: str
    notes: Sequence[str] = ()

    if TYPE_CHECKING:

        @property
        def checks(self) -> tuple[Check, ...]:
            """The conditions, and whether they hold."""

    @property
    def passed(self) -> bool:
        """Whether every check was made and holds."""
        return all(check.state == "passed" for check in self.checks)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.sentence}>"

    def _repr_html_(self) -> str:
        from logreplay.analysis.notebook_view import html

        return html(self.sentence, self.notes)
