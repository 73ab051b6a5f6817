"""What became of the sessions of clients: the logins of a run, and findings."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logreplay.replay.engine.engine import Replayer
    from logreplay.replay.results.verdict import Finding


def report_sessions(
    engine: "Replayer",
    results: Path,
    *,
    answers: int,
    told: "Sequence[Finding]" = (),
    append: bool = False,
    several: bool = False,
) -> "list[Finding]":
    """Write the logins of a run that ended beside its result log; the findings on the sessions of its clients.

    Args:
        engine: ran it.
        results: the result log.
        answers: that came, if clients were to keep cookies; otherwise 0.
        told: findings that are reported besides.
        append, several: as of `logreplay.replay.results.session_findings.write_logins`.
    """
    from logreplay.analysis.output.file_names import logins_beside
    from logreplay.replay.results.session_findings import session_findings, write_logins

    if engine.sessions is None:
        return []
    write_logins(logins_beside(results), engine.sessions.rows, append=append, several=several)
    waits_told = any(finding.code == "by_client" for finding in told)
    return list(session_findings(engine.sessions, answers=answers, waits_told=waits_told))
