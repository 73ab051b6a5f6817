"""A run as its caller asked for it: one frozen value."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

from logreplay.calls.sending_call import CallOfOneTarget
from logreplay.options.load import Load


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCall(CallOfOneTarget):
    """One replay, as the caller asked for it.

    Attributes:
        load: schedule of the requests.
        crash: end the run at the first failure.
        show: is given the text of each exchange.
    """

    load: Load
    crash: bool = False
    show: Callable[[str], object] | None = None

    def checked(self) -> Self:
        """Refuse values that exclude each other; return the same, with one worker where others of them need that."""
        load = self.load.checked()
        fewest = {"--vusers": load.vusers} if load.vusers else {}
        return replace(
            self, load=load, sender_rules=self.reconciled(load, users=fewest, steered=self.telling.control is not None)
        )

    def as_summary(self) -> dict[str, Any]:
        """The options as given, for the summary."""
        return {
            **self.load.as_summary(self.request_rules.seed),
            **self.request_rules.as_summary(),
            **self.sender_rules.as_summary(),
        }
