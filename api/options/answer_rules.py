"""Rules for comparing the responses of two targets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from logreplay.analysis.response_diff.rules import Rules

KEPT: Final = 10
"""Differing pairs of each route that are shown, unless another number is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRules:
    """How answers are compared, as the caller asked for it.

    Attributes:
        ignore: places whose differences do not count.
        keep: differing pairs of each route to show; None: `KEPT`.
    """

    ignore: Sequence[str] = ()
    keep: int | None = None

    @property
    def examples(self) -> int:
        """Differing pairs of each route to show."""
        return KEPT if self.keep is None else self.keep

    @property
    def rules(self) -> "Rules":
        """The rules of ``--ignore``."""
        from logreplay.analysis.response_diff.rules import Rules

        return Rules.of(self.ignore)

    def as_summary(self) -> dict[str, Any]:
        """The options as given, for the summary."""
        return {"ignore": list(self.ignore)} if self.ignore else {}
