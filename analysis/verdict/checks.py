"""The conditions of a call, and the answers that have them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of a call.

    Attributes:
        name: name of the condition.
        state: ``passed``, ``failed``, or ``unjudged`` where the figures do not tell.
        text: the figures behind it.
    """

    name: str
    state: Literal["passed", "failed", "unjudged"] = "passed"
    text: str = ""


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
        """Whether every check holds."""
        return all(check.state == "passed" for check in self.checks)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.sentence}>"

    def _repr_html_(self) -> str:
        from logreplay.analysis.notebook_view import html

        return html(self.sentence, self.notes)
