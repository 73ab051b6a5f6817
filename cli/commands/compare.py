"""``logreplay compare``: the differences between runs, or between a log and its replay."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from logreplay.cli.display.terminal import say
from logreplay.cli.exit_codes import Exit
from logreplay.cli.options.types import ParsedType, percent, picture
from logreplay.cli.settings.configurable import Configurable

_WIDEST: Final = 4
"""Ratio of the ends of an interval above which it is not printed."""
_FAILED_MORE: Final = 0.01
"""Share of the requests that may fail in the candidate beyond those of the baseline."""

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from logreplay.analysis.verdict.compare_log import Fidelity
    from logreplay.analysis.verdict.comparison import Change, Comparison


@click.command(cls=Configurable)
@click.argument("baseline", type=click.Path(path_type=Path))
@click.argument("candidate", type=click.Path(path_type=Path))
@click.argument("more", nargs=-1, type=click.Path(path_type=Path), metavar="[BASELINE CANDIDATE]...")
@click.option(
    "--tolerance",
    type=percent(most=10),
    default="2%",
    show_default=True,
    metavar="P%",
    help="Call smaller changes none.",
)
@click.option(
    "--fail-above",
    type=percent(most=10),
    metavar="P%",
    help="Exit with 4 if CANDIDATE is slower by more, such as 5%, or if 1% more of its requests failed; with 3 if that "
    "cannot be judged. Limits --tolerance to P%.",
)
@click.option(
    "-o", "--output", type=ParsedType(picture), metavar="FILE", help="Draw the changes into a PNG or SVG file."
)
@click.option("--force", is_flag=True, help="Replace an existing FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def compare(
    baseline: Path,
    candidate: Path,
    more: Sequence[Path],
    tolerance: float,
    fail_above: float | None,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Say whether CANDIDATE is slower or faster than BASELINE, and the smallest change that could be detected.

    Both are result logs or folders that hold one. Runs of the same log are compared request by request, which detects
    changes of 3 % if both runs are long and the machine is steady; other runs are compared by percentiles. If
    BASELINE is the log that CANDIDATE replayed, statuses,
    sizes and times by route are compared.

    One pair of runs does not show how much runs differ by themselves. Make several, in turn, and name all of them in
    this order: they are judged by the spread between the pairs.

    \b
    Example: logreplay compare before.csv after.csv --fail-above 5%
             logreplay compare 1a.csv 1b.csv 2a.csv 2b.csv 3a.csv 3b.csv
    """
    import json

    from logreplay.analysis.input import sources
    from logreplay.analysis.verdict import compare_log, comparison
    from logreplay.parsers.files import check_absent, check_distinct

    runs = (baseline, candidate, *more)
    if output is not None:
        check_distinct([("-o", output)], [(("BASELINE", "CANDIDATE")[at % 2], run) for at, run in enumerate(runs)])
        if not force:
            check_absent(output)
    if len(runs) % 2:
        raise click.UsageError(
            f"{len(runs)} runs: expected a candidate after each baseline, as in A1 B1 A2 B2; {runs[-1]} has none"
        )
    located = [sources.locate(run).resolve() for run in runs]
    logs = [run for run, path in zip(runs, located, strict=True) if compare_log.is_log(path)]
    if logs and (len(more) or logs != [baseline]):
        raise click.UsageError(f"{logs[-1]} is a log, not a run: compare it with one run, logreplay compare LOG RUN")
    if more and (twice := [run for run, path in zip(runs, located, strict=True) if located.count(path) > 1]):
        raise click.UsageError(f"{twice[-1]} is named twice, but each pair needs runs of its own: name each run once")
    if fail_above is not None:
        tolerance = min(tolerance, fail_above)
    found: Fidelity | Comparison
    if logs:
        if output:
            raise click.UsageError(f"-o and the log {baseline} as BASELINE exclude each other: it draws two runs")
        found = compare_log.against_log(baseline, candidate, tolerance=tolerance)
    else:
        found = comparison.compare(*runs, tolerance=tolerance)
    click.echo(json.dumps(found.as_dict(), indent=2) if as_json else found.sentence)
    for note in found.notes if not as_json else ():
        say(note)
    if isinstance(found, comparison.Comparison):
        if not as_json:
            _print_comparison(found, runs, tolerance)
        if output is not None:
            _draw(found, output, tolerance, force=force)
            say(str(output))
    elif not as_json:
        _print_likeness(found)
    return Exit.OK if fail_above is None else _gate(found, fail_above)


def _gate(found: "Fidelity | Comparison", limit: float) -> Exit:
    """Whether the candidate passes; says why not, and where a change of this size could not have been seen."""
    exits = {_gate_failures(found), _gate_times(found.change, limit)}
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


def _gate_times(change: "Change | None", limit: float) -> Exit:
    if change is None:
        say(f"--fail-above {limit:.1%}: cannot be judged, since the change of the times is unknown")
        return Exit.INVALID
    if change.verdict(limit) == "slower":
        return Exit.CONDITION
    if (least := change.detectable(0)) > limit:
        say(
            f"--fail-above {limit:.1%}: a change of this size could not have been detected (smallest ~{least:.1%}); "
            "run longer, or compare several pairs of runs"
        )
    return Exit.OK


def _print_comparison(found: "Comparison", runs: Sequence[Path], tolerance: float) -> None:
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
                {"percentile": name, **vars(change), "verdict": change.verdict(tolerance, among=len(found.quantiles))}
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
    _print_statuses(found)


def _print_likeness(found: "Fidelity") -> None:
    from logreplay.analysis.wording import show
    from logreplay.cli.display.tables import OpenTable

    table = OpenTable("route", "requests", "p50 in the log", "p50", "relative to the others")
    for row in found.by_route.iter_rows(named=True):
        relative = "–" if row["relative"] is None else f"{row['relative']:.2f}x"
        table.add(row["route"], f"{row['requests']:,}", show(row["p50_log"]), show(row["p50"]), relative)
    table.print()
    _print_statuses(found)
    click.echo(f"rhythm: largest distance of the gaps between requests {found.gap_distance:.2f} (0: as in the log)")


def _print_statuses(found: "Comparison | Fidelity") -> None:
    from logreplay.cli.display.tables import OpenTable

    table = OpenTable("status", "became", "requests", words=("became",))
    for old, new, requests in found.transitions.iter_rows():
        table.add(old, new if new != old else "same", f"{requests:,}")
    table.print()
    share, low, high = found.bytes_changed
    click.echo(f"bodies of another size: {share:.2%} ({low:.2%} to {high:.2%})")


def _draw(found: "Comparison", output: Path, tolerance: float, *, force: bool) -> None:
    from logreplay.analysis.output.plots import hockey_stick, overlay
    from logreplay.parsers.files import atomic_path

    shown = overlay.shown(found)

    def draw(ax: "Axes") -> None:
        overlay.changes(ax, shown, tolerance=tolerance).set_title(found.sentence, fontsize=10.5, loc="left")

    with atomic_path(output, force=force) as fresh:
        hockey_stick.save(hockey_stick.figure(draw, size=(9, 1.6 + 0.32 * len(shown))), fresh)
