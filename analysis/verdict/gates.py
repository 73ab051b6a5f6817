"""The conditions of a comparison as values: whether its runs are valid, and the limits of ``--fail-above``."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from logreplay.analysis.format_time import interval
from logreplay.analysis.verdict.checks import Check
from logreplay.core.masking import safe_to_show
from logreplay.core.plural import first_of

if TYPE_CHECKING:
    from logreplay.analysis.verdict.compare_log import Fidelity
    from logreplay.analysis.verdict.comparison import Comparison

_NAMED: Final = 3
"""Rows that are named of those that cannot be judged."""
_FAILED_MORE: Final = 0.01
"""Share of the requests that may fail in the candidate beyond those of the baseline."""
VALID_RUNS: Final = "valid runs"
CANDIDATE: Final = "candidate: at least half of the requests succeed"
_FAILURES: Final = f"failures: not {_FAILED_MORE:.0%} more"


def check_valid(why: Mapping[str, Sequence[str]]) -> Check:
    """Whether the runs are valid.

    Args:
        why: findings that make it invalid, for each run.
    """
    runs: dict[str, list[str]] = {}
    for run, findings in why.items():
        if findings:
            runs.setdefault("; ".join(findings), []).append(run)
    texts = [safe_to_show(f"{' and '.join(names)}: {finding}") for finding, names in runs.items()]
    return Check(VALID_RUNS, "unjudged" if texts else "passed", "; ".join(texts))


def check_candidate(text: str, *, failing: bool) -> Check:
    """Whether the candidate of a duet answers, from the finding on its failed requests."""
    return Check(CANDIDATE, "failed" if failing else "passed", text)


def gate(found: "Fidelity | Comparison", limit: float) -> list[Check]:
    """Whether the candidate passes ``--fail-above``: its failures and its times."""
    return [_check_failures(found), _check_times(found, limit)]


def check_answers(share: float, limit: float) -> Check:
    """Whether the answers pass ``--fail-different``.

    Args:
        share: share of the pairs whose responses differ.
        limit: largest allowed share.
    """
    name = f"answers: not more than {limit:.2%} of the pairs differ"
    if share <= limit:
        return Check(name)
    return Check(name, "failed", f"--fail-different {limit:.2%}: {share:.2%} of the pairs differ")


def _check_failures(found: "Fidelity | Comparison") -> Check:
    more, low, high = found.failed_more
    text = f"--fail-above: {found.failed[1]:.2%} of the requests failed, {found.failed[0]:.2%} in the baseline"
    if low > _FAILED_MORE:
        return Check(_FAILURES, "failed", text)
    if high <= _FAILED_MORE or more <= 0:
        return Check(_FAILURES)
    text += f": too few failures, those of one moment counted as one, to say whether {_FAILED_MORE:.0%} more fail "
    text += f"({low:+.1%} to {high:+.1%}); run longer"
    return Check(_FAILURES, "passed" if more <= _FAILED_MORE else "unjudged", text)


def _check_times(found: "Fidelity | Comparison", limit: float) -> Check:
    from logreplay.analysis.verdict.ratio_interval import ALL

    name, change = f"times: not slower by more than {limit:.1%}", found.change
    if change is None:
        text = f"--fail-above {limit:.1%}: cannot be judged, since the change of the times is unknown"
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
