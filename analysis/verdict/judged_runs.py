"""Compares runs, or a run with its log, and judges them: are they valid, and does the candidate pass."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from logreplay.analysis.format_time import interval
from logreplay.analysis.input import sources
from logreplay.analysis.input.run_metadata import void_findings
from logreplay.analysis.input.sources import Source
from logreplay.analysis.verdict import compare_log, comparison
from logreplay.analysis.verdict.checks import Check
from logreplay.analysis.verdict.compare_log import Fidelity
from logreplay.analysis.verdict.comparison import Comparison
from logreplay.analysis.verdict.ratio_interval import ALL, DIFFERENT, UNDECIDED
from logreplay.analysis.verdict.shares import FAILS_MORE
from logreplay.core.errors import LogreplayError, UsageError
from logreplay.core.files import check_named_once
from logreplay.core.masking import safe_to_show
from logreplay.core.plural import first_of

_NAMED: Final = 3
"""Rows that are named of those that cannot be judged."""
_FAILED_MORE: Final = 0.01
"""Share of the requests that may fail in the candidate beyond those of the baseline."""
VALID_RUNS: Final = "valid runs"
CANDIDATE: Final = "candidate: at least half of the requests succeed"
_FAILURES: Final = f"failures: not {_FAILED_MORE:.0%} more"


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
    checks.append(_check_valid({run: list(why.values()) for run, why in void.items()}))
    failing_only = {code for why in void.values() for code in why} <= {"target_failing"}  # failures can be judged
    if fail_above is None:
        checks.append(check_without_limit(found))
    elif failing_only:
        checks += gate(found, fail_above)
    else:
        checks.append(Check("times", "unjudged", found.sentence))
    return replace(found, checks=tuple(checks))


def check_runs(runs: Sequence[Source]) -> Sequence[Source]:
    """Check the runs; return those that are logs: none, or the baseline of a single comparison."""
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
    """Check that no two of the runs are copies of one: two runs never agree in every microsecond."""
    for at, run in enumerate(runs):
        for other in runs[:at]:
            if sources.same_rows(other, run):
                names = " and ".join(str(sources.path_of(each) or "a table") for each in (other, run))
                raise LogreplayError(f"{names} hold the same rows: a run does not differ from its copy; name two runs")


def _check_valid(why: Mapping[str, Sequence[str]]) -> Check:
    """Whether the runs are valid, from the findings that make each invalid."""
    runs: dict[str, list[str]] = {}
    for run, findings in why.items():
        if findings:
            runs.setdefault("; ".join(findings), []).append(run)
    texts = [safe_to_show(f"{' and '.join(names)}: {finding}") for finding, names in runs.items()]
    return Check(VALID_RUNS, "unjudged" if texts else "passed", "; ".join(texts))


def check_candidate(text: str, *, failing: bool) -> Check:
    """Whether the candidate of a duet answers, from the finding on its failed requests."""
    return Check(CANDIDATE, "failed" if failing else "passed", text)


def check_without_limit(found: Fidelity | Comparison) -> Check:
    """The times without ``--fail-above``: whatever they are breaks no limit; passed if they are surely not worse."""
    open_ = found.verdict in (None, UNDECIDED, DIFFERENT[0], FAILS_MORE)
    return Check("times", "skipped" if open_ else "passed", found.sentence)


def check_answers(share: float, limit: float) -> Check:
    """Whether the answers pass ``--fail-different``, from the share of the pairs whose responses differ."""
    name = f"answers: not more than {limit:.2%} of the pairs differ"
    if share <= limit:
        return Check(name)
    return Check(name, "failed", f"--fail-different {limit:.2%}: {share:.2%} of the pairs differ")


def gate(found: Fidelity | Comparison, limit: float) -> list[Check]:
    """Whether the candidate passes ``--fail-above``: its failures and its times."""
    return [_check_failures(found), _check_times(found, limit)]


def _check_failures(found: Fidelity | Comparison) -> Check:
    more, low, high = found.failed_more
    text = f"--fail-above: {found.failed[1]:.2%} of the requests failed, {found.failed[0]:.2%} in the baseline"
    if low > _FAILED_MORE:
        return Check(_FAILURES, "failed", text)
    if high <= _FAILED_MORE or more <= 0:
        return Check(_FAILURES)
    text += f": too few failures, those of one moment counted as one, to say whether {_FAILED_MORE:.0%} more fail "
    text += f"({low:+.1%} to {high:+.1%}); run longer"
    return Check(_FAILURES, "passed" if more <= _FAILED_MORE else "unjudged", text)


def _check_times(found: Fidelity | Comparison, limit: float) -> Check:
    name, change = f"times: not slower by more than {limit:.1%}", found.change
    if change is None:
        of = f"the {found.headline}" if isinstance(found, Comparison) else "the change of the service time"
        text = f"--fail-above {limit:.1%}: cannot be judged, since {of} is not known"
        return Check(name, "unjudged", text)
    if slower := found.slower(limit):
        text = f"--fail-above {limit:.1%}: slower by more: {safe_to_show(', '.join(slower))}"
        return Check(name, "failed", text)
    if not (uncertain := found.uncertain(limit)):
        return Check(name)
    if ALL in uncertain:
        ends = f"{100 * change.confidence:.4g}% interval {interval(change.low, change.high)}"
        text = f"cannot be judged: the change may be larger ({ends}); "
        return Check(name, "unjudged", f"--fail-above {limit:.1%}: {text}{change.remedy(limit)}")
    rows = safe_to_show(first_of(uncertain, _NAMED))
    text = f"all requests together pass; too uncertain to judge: {rows} (run longer)"
    return Check(name, text=f"--fail-above {limit:.1%}: {text}")
