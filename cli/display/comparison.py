"""Prints what differs between runs, and which conditions do not hold."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from logreplay.analysis.format_time import interval, show
from logreplay.analysis.verdict.compare_log import Fidelity
from logreplay.analysis.verdict.comparison import Comparison
from logreplay.analysis.verdict.judged_runs import CANDIDATE, VALID_RUNS
from logreplay.cli.display.tables import OpenTable
from logreplay.cli.display.terminal import print_json, print_text, say
from logreplay.core.masking import masked

if TYPE_CHECKING:
    from logreplay.analysis.verdict.checks import Check


def show_comparison(found: Comparison | Fidelity, runs: Sequence[str], *, as_json: bool) -> None:
    """Print what differs between runs, the answer last, and say which conditions do not hold."""
    for check in found.checks:
        if check.name == VALID_RUNS and check.text:
            say(f"invalid run, its response times do not describe the target: {check.text}")
        elif check.name == CANDIDATE and check.text:
            say(check.text)
    if as_json:
        print_json(found.as_dict())
    else:
        for note in found.notes:
            say(note)
        if isinstance(found, Comparison):
            if found.not_covered:
                say(found.not_covered)
            print_comparison(found, runs)
        else:
            _print_likeness(found)
    say_gates(found.checks)
    if not as_json:
        print_text(found.sentence)


def say_gates(checks: "Iterable[Check]") -> None:
    """Say what the limits of ``--fail-above`` and ``--fail-different`` found."""
    for check in checks:
        if check.text.startswith("--fail"):
            say(check.text)


def print_comparison(found: Comparison, runs: Sequence[str], *, statuses: bool = True) -> None:
    names = {at // 2 + 1: f"{runs[at]} → {runs[at + 1]}" for at in range(0, len(runs), 2)}
    for by in ("pair", "rate", "route", "percentile"):
        rows = found.rows(by)
        if not rows or (by == "pair" and len(names) == 1):
            continue
        table = OpenTable(by, "change", "interval", "requests", "verdict")
        for row in rows:
            of = names[row[by]] if by == "pair" else row[by]
            name = f"{of:g}/s" if isinstance(of, float) else masked(of)
            table.add(
                name, f"{row['ratio'] - 1:+.1%}", interval(row["low"], row["high"]), f"{row['count']:,}", row["verdict"]
            )
        table.print()
    if statuses:
        print_statuses(found)


def print_statuses(found: Comparison | Fidelity) -> None:
    table = OpenTable("status", "became", "requests", words=("became",))
    for old, new, requests in found.statuses:
        table.add(old, new if new != old else "same", f"{requests:,}")
    table.print()
    if found.bytes_changed:
        share, low, high = found.bytes_changed
        print_text(f"bodies of another size: {share:.2%} (95% interval {low:.2%} to {high:.2%})")


def _print_likeness(found: Fidelity) -> None:
    table = OpenTable("route", "requests", "p50 in the log", "p50", "relative to the others")
    for row in found.routes.iter_rows(named=True):
        relative = "–" if row["relative"] is None else f"{row['relative']:.2f}x"
        table.add(masked(row["route"]), f"{row['requests']:,}", show(row["p50_log"]), show(row["p50"]), relative)
    table.print()
    print_statuses(found)
    print_text(f"rhythm: largest distance of the gaps between requests {found.gap_distance:.2f} (0: as in the log)")
