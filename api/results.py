"""What calls give back."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from contextlib import ExitStack

    import pandas as pd

    from logreplay.replay.requests.plan import RequestStream
    from logreplay.replay.results.outcome import Outcome
    from logreplay.replay.results.verdict import Finding
    from logreplay.replay.senders.contract import Exchange


@dataclass(frozen=True, slots=True)
class RunCheck:
    """One condition of a call.

    Attributes:
        name: of the condition.
        state: whether it holds.
        text: the figures behind it.
    """

    name: str
    state: Literal["passed", "failed", "unjudged"] = "passed"
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """One replay that ended. Times in seconds.

    Attributes:
        outcome: of the engine.
        findings: observations that bear on the measurement.
        summary: the contents of summary.json; empty if no request was due.
        files: the result log, and what was written beside it.
        course: what the generator did, in lines.
        culprit: the exchange at which the run was stopped.
        stopped: why it ended before its plan did, in words; empty if it did not.
        by_rule: a condition stopped it.
        checks: the conditions of the call, and the validity.
        requests_left_out: says which requests were not sent.
        notes: sentences that were told while it ran.
    """

    outcome: "Outcome"
    findings: "tuple[Finding, ...]"
    summary: dict[str, Any]
    files: tuple[Path, ...]
    course: tuple[str, ...]
    culprit: "Exchange | None"
    stopped: str
    by_rule: bool
    checks: tuple[RunCheck, ...]
    requests_left_out: "RequestStream"
    notes: tuple[str, ...] = ()
    scratch: "ExitStack | None" = None

    def __fspath__(self) -> str:
        return str(self.files[0])

    def __repr__(self) -> str:
        return f"<RunResult {self.sentence}>"

    @property
    def verdict(self) -> str:
        """``VALID``, or why the run does not describe the target."""
        return str(self.outcome.health.verdict)

    @property
    def valid(self) -> bool:
        """Whether the target was measured, and not this machine or nothing but failures."""
        return self.outcome.health.valid

    @property
    def passed(self) -> bool:
        """Whether every check holds."""
        return all(check.state == "passed" for check in self.checks)

    @property
    def sentence(self) -> str:
        """The result in one line."""
        counts = self.outcome.counters
        p99 = self.summary.get("response_s", {}).get("p99")
        times = f", p99 {p99 * 1000:.3g} ms" if p99 is not None else ""
        return f"{self.verdict}: {counts.sent:,} requests sent, {counts.failed:,} failed{times}"

    @property
    def folder(self) -> Path | None:
        """Where the files are; None if they go with this result."""
        return None if self.scratch else self.files[0].parent

    @cached_property
    def requests(self) -> "pd.DataFrame":
        """One row for each request, as `logreplay.analysis.load` returns them."""
        from logreplay.analysis.api import load

        return load(self.files[0])

    @cached_property
    def seconds(self) -> "pd.DataFrame":
        """One row for each second, as `logreplay.analysis.seconds` returns them."""
        from logreplay.analysis.api import seconds

        return seconds(self.files[0])

    def close(self) -> None:
        """Remove the files, if they go with this result."""
        if self.scratch:
            self.scratch.close()
