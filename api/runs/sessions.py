"""What became of the sessions of clients: findings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logreplay.replay.engine.engine import Replayer
    from logreplay.replay.results.verdict import Finding


def report_sessions(engine: "Replayer", *, answers: int, told: "Sequence[Finding]" = ()) -> "list[Finding]":
    """The findings on the sessions of the clients of a run that ended.

    Args:
        engine: ran it.
        answers: that came, if clients were to keep cookies; otherwise 0.
        told: findings that are reported besides.
    """
    from logreplay.replay.results.session_findings import session_findings

    if engine.sessions is None:
        return []
    waits_told = any(finding.code == "by_client" for finding in told)
    return list(session_findings(engine.sessions, answers=answers, waits_told=waits_told))
