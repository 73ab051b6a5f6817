"""Prints what differs between runs, and judges it against the limits of ``--fail-above``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from logreplay.cli.display.terminal import say
from logreplay.cli.exit_codes import Exit

if TYPE_CHECKING:
    from logreplay.analysis.verdict.compare_log import Fidelity
    from logreplay.analysis.verdict.comparison import Comparison

_WIDEST: Final = 4
"""Ratio of the ends of an interval above which it is not printed."""
_FAILED_MORE: Final = 0.01
"""Share of the requests that may fail in the candidate beyond those of the baseline."""


def gate(found: "Fidelity | Comparison", limit: float) -> Exit:
    """Whether the candidate passes; says why not, and where a change of this size could not have been seen."""
    exits = {_gate_failures(found), _gate_times(found, limit)}
    return next(code for code in (Exit.CONDITION, Exit.INVALID, Exit.OK) if code in exits)


def _gate_failures(found: "Fidelity | Comparison") -> Exit:
    more, low, high = found.failed_more
    if more <= _FAILED_MORE:
        return Exit.OK
    text = f"--fail-above: {found.failed[1]:.2%} of the requests failed, {found.failed[0]:.2%} in the baseline"
    if low > _FAILED_MORE:
        say(text)
        return Exit.CONDITION
    say(f"{text}: too few requests to say whether {_FAILED_MORE:.0%} more fail ({low:+.1%} to {high:+.1%}); run longer")
    return Exit.INVALID


def _gate_times(found: "Fidelity | Comparison", limit: float) -> Exit:
    from logreplay.parsers.masking import masked, terminal_safe

    change = found.change
    if change is None:
        say(f"--fail-above {limit:.1%}: cannot be judged, since the change of the times is unknown")
        return Exit.INVALID
    if slower := found.slower(limit):
        say(f"--fail-above {limit:.1%}: slower by more: {terminal_safe(masked(', '.join(slower)))}")
        return Exit.CONDITION
    if (least := change.detectable(0)) > limit:
        say(
            f"--fail-above {limit:.1%}: a change of this size could not have been detected (smallest ~{least:.1%}); "
            "run longer, or compare several pairs of runs"
        )
    return Exit.OK


def print_comparison(found: "Comparison", runs: Sequence[str], tolerance: float) -> None:
    from logreplay.cli.display.tables import OpenTable

    names = {at // 2 + 1: f"{runs[at]} → {runs[at + 1]}" for at in range(0, len(runs), 2)}
    by_pair = [row | {"pair": names[row["pair"]]} for row in found.by_pair.rows(named=True)]
    tables = [
        ("pair", by_pair if len(names) > 1 else []),
        ("rate", found.by_step.rows(named=True)),
        ("route", found.by_route.rows(named=True)),
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
            interval = f"{row['low'] - 1:+.1%} to {row['high'] - 1:+.1%}"
            if row["high"] > _WIDEST * row["low"]:
                interval = "too wide"
            name = f"{row[by]:g}/s" if isinstance(row[by], float) else row[by]
            table.add(name, f"{row['ratio'] - 1:+.1%}", interval, f"{row['count']:,}", row["verdict"])
        table.print()
    print_statuses(found)


def print_statuses(found: "Comparison | Fidelity") -> None:
    from logreplay.cli.display.tables import OpenTable

    table = OpenTable("status", "became", "requests", words=("became",))
    for old, new, requests in found.transitions.iter_rows():
        table.add(old, new if new != old else "same", f"{requests:,}")
    table.print()
    share, low, high = found.bytes_changed
    click.echo(f"bodies of another size: {share:.2%} ({low:.2%} to {high:.2%})")
