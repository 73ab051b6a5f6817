"""Evaluates a measurement: findings on sessions, the conditions of the call, the files that show the rows."""

import shlex
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from logreplay.analysis.output.folder import write_beside
from logreplay.analysis.summary import About
from logreplay.analysis.verdict.checks import Check
from logreplay.calling.mailbox import CallListener
from logreplay.core.errors import LogreplayError
from logreplay.replay.engine.engine import Replayer
from logreplay.replay.results.session_findings import session_findings
from logreplay.replay.results.stop_rules import StopRule
from logreplay.replay.results.verdict import Finding, RunVerdict, Severity

STOP_FUNCTION: Final = "stop function"
"""The name of the check of the functions of ``stop``."""


def report_sessions(engine: Replayer, *, answers: int, told: Sequence[Finding] = ()) -> list[Finding]:
    """The findings on the sessions of the clients of a run that ended.

    Args:
        engine: ran it.
        answers: that came, if clients were to keep cookies; otherwise 0.
        told: findings that are reported besides.
    """
    if engine.sessions is None:
        return []
    waits_told = any(finding.code == "by_client" for finding in told)
    return list(session_findings(engine.sessions, answers=answers, waits_told=waits_told))


def stop_checks(rule: StopRule) -> Iterator[Check]:
    """Whether the conditions of ``--stop`` came true, and the functions of the caller."""
    for condition in rule.conditions:
        name, refused = f"--stop {condition.text}", rule.refused.get(condition.text)
        if rule.hit.startswith(f"{condition.text}: "):
            yield Check(name, "failed", rule.hit)
        elif refused:
            yield Check(name, "unjudged", f"{refused} with the generator's lag, and not without it")
        else:
            yield Check(name, "passed", "")
    if rule.asked is not str:
        hit = rule.hit if rule.hit == rule.asked() else ""
        yield Check(STOP_FUNCTION, "failed" if hit else "passed", hit)


def heard(check: Check, asked: str) -> Check:
    """The check, failed if it is that of the functions of ``stop`` and one asked for the end after the last request."""
    late = check.name == STOP_FUNCTION and check.state == "passed" and asked
    return Check(STOP_FUNCTION, "failed", asked) if late else check


class Written(Protocol):
    """A result log."""

    @property
    def rows(self) -> Path | None:
        """The file that holds its rows now; None: there are none."""


Describe = Callable[[list[dict[str, Any]], dict[str, Any]], About]
"""Makes the caller's part of a summary from the findings: further keys and values."""


@asynccontextmanager
async def summarising_part(logs: Sequence[Written], about: Describe, listener: CallListener) -> AsyncIterator[None]:
    """If an error ends the run, write a summary beside each result log that says why its rows end."""
    try:
        yield
    except Exception as error:
        text = f"an error ended the run, and requests that were in flight then may have no row: {error}"
        told = [Finding("ended_by_error", Severity.VOID, text).as_dict()]
        more = {"verdict": str(RunVerdict.GENERATOR_BOUND), "stopped": str(error)}
        for path in (log.rows for log in logs if log.rows):
            try:
                write_beside(path, about(told, more))
            except LogreplayError as failed:
                listener.note(f"{failed}; when there is space, write the summary with: logreplay analyze {path}")
        raise


def interrupted(rows: Path | None) -> str:
    """The sentence on an interruption while requests were sent; ``rows``: where they are; None: there are none."""
    kept = f"; the rows are kept: {rows}" if rows else " before the first request: nothing was measured"
    return f"interrupted{kept}"


def interrupted_late(*command: str) -> str:
    """The sentence on an interruption after the last request; ``command`` evaluates the rows, which are kept."""
    again = shlex.join(("logreplay", *command))
    return f"interrupted while the rows were evaluated; they are kept; evaluate them with: {again}"


@contextmanager
def evaluating(listener: CallListener, *command: str) -> Iterator[None]:
    """If the block is interrupted, say that the rows are kept, and which command evaluates them."""
    try:
        yield
    except KeyboardInterrupt:
        listener.note(interrupted_late(*command), always=True)
        raise
