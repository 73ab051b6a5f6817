"""Compares runs, or a run with its log, and judges them: are they valid, and does the candidate pass."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from logreplay.analysis.input import sources
from logreplay.analysis.input.run_metadata import void_findings
from logreplay.analysis.input.sources import Source
from logreplay.analysis.verdict import compare_log, comparison
from logreplay.analysis.verdict.checks import Check
from logreplay.analysis.verdict.compare_log import Fidelity
from logreplay.analysis.verdict.comparison import Comparison
from logreplay.analysis.verdict.gates import check_candidate, check_valid, gate
from logreplay.core.errors import LogreplayError, UsageError
from logreplay.core.files import check_named_once


def compare_judged(
    runs: Sequence[Source], *, tolerance: float | None = None, fail_above: float | None = None
) -> Comparison | Fidelity:
    """Compare runs, and judge what follows.

    Args:
        runs: in turn baseline, candidate, baseline, candidate. A log as the only baseline is compared with its replay.
        tolerance: changes up to this fraction do not count; None: `comparison.usual_tolerance`.
        fail_above: limit of the change of the times, a fraction; None: it is not judged. Limits ``tolerance``.

    Raises:
        UsageError: a run has no candidate, is named twice, or is a log in the place of a run.
        LogreplayError: one of them cannot be read, or is a copy of another.
    """
    files = [run for run in runs if isinstance(run, str | Path)]
    logs = check_runs(runs)
    tolerance = comparison.usual_tolerance(*runs) if tolerance is None else tolerance
    tolerance = tolerance if fail_above is None else min(tolerance, fail_above)
    found: Fidelity | Comparison
    if logs:
        found = compare_log.against_log(*runs, tolerance=tolerance)
    else:
        _check_no_copies(runs)
        found = comparison.compare(*runs, tolerance=tolerance)
    void = {str(run): void_findings(sources.locate(run).resolve()) for run in files if run not in logs}
    checks, first = [], str(runs[0])
    if isinstance(found, Comparison) and found.at_once and not void.get(first):
        failed = void.get(str(runs[1]), {}).pop("target_failing", "")  # of a duet that is a result
        checks.append(check_candidate(failed, failing=bool(failed)))
    checks.append(check_valid({run: list(why.values()) for run, why in void.items()}))
    failing_only = {code for why in void.values() for code in why} <= {"target_failing"}  # failures can be judged
    if fail_above is not None and failing_only:
        checks += gate(found, fail_above)
    else:
        checks.append(Check("times", "passed" if fail_above is None else "unjudged", found.sentence))
    return replace(found, checks=tuple(checks))


def check_runs(runs: Sequence[Source]) -> Sequence[Source]:
    """Return those that are logs: none, or the baseline of a single comparison.

    Raises:
        UsageError: a run has no candidate, is named twice, or is a log in the place of a run.
    """
    files = [run for run in runs if isinstance(run, str | Path)]
    if len(runs) % 2:
        raise UsageError(
            f"{len(runs)} runs: expected a candidate after each baseline, as in A1 B1 A2 B2; {runs[-1]} has none"
        )
    logs = [run for run in files if compare_log.is_log(sources.locate(run))]
    if logs and (len(runs) > 2 or logs != [runs[0]]):
        raise UsageError(f"{logs[-1]} is a log, not a run: compare it with one run, logreplay compare LOG RUN")
    try:
        check_named_once(map(sources.locate, files), "a run does not differ from itself; name each run once")
    except LogreplayError as error:
        raise UsageError(str(error)) from None
    return logs


def _check_no_copies(runs: Sequence[Source]) -> None:
    """Check that no two of the runs are copies of one: two runs never agree in every microsecond.

    Raises:
        LogreplayError: two of them are.
    """
    for at, run in enumerate(runs):
        for other in runs[:at]:
            if sources.same_rows(other, run):
                names = " and ".join(str(sources.path_of(each) or "a table") for each in (other, run))
                raise LogreplayError(f"{names} hold the same rows: a run does not differ from its copy; name two runs")
