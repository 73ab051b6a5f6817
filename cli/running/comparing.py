"""Prints what differs between runs, and judges it against the limits of ``--fail-above``."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import click

from logreplay.cli.display.junit import Check
from logreplay.cli.display.terminal import say
from logreplay.cli.exit_codes import Exit

if TYPE_CHECKING:
    from logreplay.analysis.verdict.compare_log import Fidelity
    from logreplay.analysis.verdict.comparison import Comparison

_WIDEST: Final = 4
"""Ratio of the ends of an interval above which it is not printed."""
_NAMED: Final = 3
"""Rows that are named of those that cannot be judged."""
_FAILED_MORE: Final = 0.01
"""Share of the requests that may fail in the candidate beyond those of the baseline."""
_FAILURES: Final = f"failures: not {_FAILED_MORE:.0%} more"


def check_valid(why: Mapping[str, Sequence[str]]) -> Check:
    """Whether the runs are valid; says which are not.

    Args:
        why: of each run the findings that make it invalid.
    """
    from logreplay.core.masking import masked, terminal_safe

    runs: dict[str, list[str]] = {}
    for run, findings in why.items():
        if findings:
            runs.setdefault("; ".join(findings), []).append(run)
    texts = [terminal_safe(masked(f"{' and '.join(names)}: {finding}")) for finding, names in runs.items()]
    for text in texts:
        say(f"invalid run, its response times do not describe the target: {text}")
    return Check("valid runs", Exit.INVALID if texts else Exit.OK, "; ".join(texts))


def check_candidate(text: str, *, failing: bool) -> Check:
    """Whether the candidate of a duet answers, from the finding on its failed requests."""
    return Check("candidate: at least half of the requests succeed", Exit.CONDITION if failing else Exit.OK, text)


def gate(found: "Fidelity | Comparison", limit: float) -> list[Check]:
    """Whether the candidate passes; says why not, and what could not be judged."""
    checks = [_check_failures(found), _check_times(found, limit)]
    for check in checks:
        if check.text:
            say(check.text)
    return checks


def _check_failures(found: "Fidelity | Comparison") -> Check:
    more, low, high = found.failed_more
    if more <= _FAILED_MORE:
        return Check(_FAILURES)
    text = f"--fail-above: {found.failed[1]:.2%} of the requests failed, {found.failed[0]:.2%} in the baseline"
    if low > _FAILED_MORE:
        return Check(_FAILURES, Exit.CONDITION, text)
    text += f": too few failures, those of one moment counted as one, to say whether {_FAILED_MORE:.0%} more fail "
    text += f"({low:+.1%} to {high:+.1%}); run longer"
    return Check(_FAILURES, Exit.INVALID, text)


def _check_times(found: "Fidelity | Comparison", limit: float) -> Check:
    from logreplay.analysis.verdict.change import ALL
    from logreplay.core.masking import masked, terminal_safe

    name, change = f"times: not slower by more than {limit:.1%}", found.change
    if change is None:
        text = f"--fail-above {limit:.1%}: cannot be judged, since the change of the times is unknown"
        return Check(name, Exit.INVALID, text)
    if slower := found.slower(limit):
        text = f"--fail-above {limit:.1%}: slower by more: {terminal_safe(masked(', '.join(slower)))}"
        return Check(name, Exit.CONDITION, text)
    if not (uncertain := found.uncertain(limit)):
        return Check(name)
    if ALL in uncertain:
        text = f"cannot be judged: the change may be larger (95 % interval {_interval(change.low, change.high)}); "
        return Check(name, Exit.INVALID, f"--fail-above {limit:.1%}: {text}run longer, or on a quieter machine")
    more = f" and {len(uncertain) - _NAMED} more rows" if len(uncertain) > _NAMED else ""
    rows = terminal_safe(masked(", ".join(uncertain[:_NAMED])))
    text = f"all requests together pass; too uncertain to judge: {rows}{more} (run longer)"
    return Check(name, text=f"--fail-above {limit:.1%}: {text}")


def time_rows(found: "Comparison") -> list[dict[str, str]]:
    """The changes of a duet as rows of a table: percentiles, then routes, secrets masked."""
    from logreplay.core.masking import masked

    return [
        {"of": masked(name), "change": f"{change.ratio - 1:+.1%}", "95 % interval": _interval(change.low, change.high),
         "requests": f"{change.count:,}", "verdict": found.verdicts[name]}
        for name, change in (*found.quantiles.items(), *found.routes.items())
    ]  # fmt: skip


def _interval(low: float, high: float) -> str:
    return "too wide" if high > _WIDEST * low else f"{low - 1:+.1%} to {high - 1:+.1%}"


def print_comparison(found: "Comparison", runs: Sequence[str], *, statuses: bool = True) -> None:
    from logreplay.cli.display.tables import OpenTable

    names = {at // 2 + 1: f"{runs[at]} → {runs[at + 1]}" for at in range(0, len(runs), 2)}
    by_pair = [row | {"pair": names[row["pair"]]} for row in found.rows("pair")]
    tables = [
        ("pair", by_pair if len(names) > 1 else []),
        ("rate", found.rows("rate")),
        ("route", found.rows("route")),
        (
            "percentile",
            [
                {"percentile": name, **vars(change), "verdict": found.verdicts[name]}
                for name, change in found.quantiles.items()
            ],
        ),
    ]
    for by, rows in tables:
        if not rows:
            continue
        table = OpenTable(by, "change", "95 % interval", "requests", "verdict")
        for row in rows:
            name = f"{row[by]:g}/s" if isinstance(row[by], float) else row[by]
            table.add(
                name,
                f"{row['ratio'] - 1:+.1%}",
                _interval(row["low"], row["high"]),
                f"{row['count']:,}",
                row["verdict"],
            )
        table.print()
    if statuses:
        print_statuses(found)


def print_statuses(found: "Comparison | Fidelity") -> None:
    from logreplay.cli.display.tables import OpenTable

    table = OpenTable("status", "became", "requests", words=("became",))
    for old, new, requests in found.statuses:
        table.add(old, new if new != old else "same", f"{requests:,}")
    table.print()
    if found.bytes_changed:
        share, low, high = found.bytes_changed
        click.echo(f"bodies of another size: {share:.2%} (95 % interval {low:.2%} to {high:.2%})")
