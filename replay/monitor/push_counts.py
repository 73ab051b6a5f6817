"""Counts of pushes of metrics. A light module: the process that sends loads it too."""

from dataclasses import dataclass
from typing import Final

from logreplay.core.masking import masked

LAST_S: Final = 4.0
"""Longest time for the last push."""


@dataclass(frozen=True, slots=True)
class PushCounts:
    """What became of the pushes so far.

    Attributes:
        url: address of the collector.
        made: number of pushes.
        failed: number of pushes that no collector accepted.
        why: reason of the last failure.
    """

    url: str = ""
    made: int = 0
    failed: int = 0
    why: str = ""

    def and_one(self, why: str) -> "PushCounts":
        """With one more, and why it failed; empty: it did not."""
        return PushCounts(self.url, self.made + 1, self.failed + bool(why), why or self.why)

    def sentence(self) -> str:
        """For people; empty if none failed."""
        if not self.failed:
            return ""
        hint = "; port 4317 is for gRPC, OTLP over HTTP has port 4318" if ":4317" in self.url else ""
        return f"--otlp {masked(self.url)}: {self.failed} of {self.made} pushes failed, the last one: {self.why}{hint}"
