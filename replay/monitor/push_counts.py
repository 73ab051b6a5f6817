"""Counts of pushes of metrics. A light module: the process that sends loads it too."""

from dataclasses import dataclass
from typing import Final

from logreplay.core.masking import masked

LAST_S: Final = 4.0
"""Longest time for the last push."""


@dataclass(frozen=True, slots=True)
class PushCounts:
    """Counts of the pushes so far.

    Attributes:
        url: address of the collector.
        made: number of pushes.
        failed: number of pushes that no collector accepted.
        why: reason of the last failure.
        ended: True if the state at the end was among them.
    """

    url: str = ""
    made: int = 0
    failed: int = 0
    why: str = ""
    ended: bool = False

    def and_one(self, why: str, *, ended: bool = False) -> "PushCounts":
        """With one more, why it failed (empty: it did not), and whether it was that of the end."""
        return PushCounts(self.url, self.made + 1, self.failed + bool(why), why or self.why, ended)

    def sentence(self) -> str:
        """For people, once the run is over; empty if none failed."""
        found = []
        if self.failed:
            hint = "; port 4317 is for gRPC, OTLP over HTTP has port 4318" if ":4317" in self.url else ""
            found.append(f"{self.failed} of {self.made} pushes failed, the last one: {self.why}{hint}")
        if not self.ended:
            found.append("the state at the end was not pushed: the process that pushes did not do so in time")
        return f"--otlp {masked(self.url)}: {'; '.join(found)}" if found else ""
