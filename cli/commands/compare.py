"""``logreplay compare``: the differences between runs, or between a log and its replay."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from logreplay.cli.display.terminal import say
from logreplay.cli.exit_codes import of_checks
from logreplay.cli.options.from_table import options
from logreplay.cli.options.types import ParsedType, percent
from logreplay.cli.settings.configurable import Configurable
from logreplay.cli.settings.share import share_option
from logreplay.core.quantities import picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from logreplay.analysis.verdict.compare_log import Fidelity
    from logreplay.analysis.verdict.comparison import Comparison


@click.command(cls=Configurable)
@click.argument("baseline", type=click.Path(path_type=Path))
@click.argument("candidate", required=False, type=click.Path(path_type=Path), metavar="CANDIDATE")
@click.argument("more", nargs=-1, type=click.Path(path_type=Path), metavar="[BASELINE CANDIDATE]...")
@click.option(
    "--tolerance",
    type=percent(most=10),
    metavar="P%",
    help="Ignore changes up to this.  [default: 2%; 1% in a duet]",
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
@options
@click.option("--force", is_flag=True, help="Replace an existing FILE.")
@share_option
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def compare(
    baseline: Path,
    candidate: Path | None,
    more: Sequence[Path],
    tolerance: float | None,
    fail_above: float | None,
    output: Path | None,
    junit: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Say whether CANDIDATE is slower or faster than BASELINE, and the smallest change that could be detected.

    Both are result logs or folders that hold one. Runs of the same log are compared request by request, which detects
    changes of 3 % if both runs are long and the machine is steady; other runs are compared by percentiles. The result
    logs of a duet are compared as duet does. If BASELINE is the log that CANDIDATE replayed, statuses, sizes and times
    by route are compared.

    One pair of runs does not show how much runs differ by themselves. Make several, in turn, and name all of them in
    this order: they are judged by the spread between the pairs.

    \b
    Example: logreplay compare before.csv after.csv --fail-above 5%
             logreplay compare 1a.csv 1b.csv 2a.csv 2b.csv 3a.csv 3b.csv
    """
    import json

    from logreplay.analysis.input import sources
    from logreplay.analysis.input.closed_loop import void_findings
    from logreplay.analysis.output.junit import write_junit
    from logreplay.analysis.verdict import compare_log, comparison
    from logreplay.analysis.verdict.gates import Check, check_candidate, check_valid, gate
    from logreplay.cli.display.comparison import print_comparison, say_gates
    from logreplay.core.errors import LogreplayError
    from logreplay.core.files import check_absent, check_distinct, check_named_once

    if candidate is None:
        if not sources.locate(baseline).exists():  # the folder of a duet has both, and the error names them
            raise LogreplayError(f"{baseline}: no such file")
        raise click.UsageError(f"CANDIDATE is missing: name the run to compare with {baseline}")
    runs = (baseline, candidate, *more)
    if written := [(option, path) for option, path in (("-o", output), ("--junit", junit)) if path is not None]:
        check_distinct(written, [(("BASELINE", "CANDIDATE")[at % 2], run) for at, run in enumerate(runs)])
    if output is not None and not force:
        check_absent(output)
    if len(runs) % 2:
        raise click.UsageError(
            f"{len(runs)} runs: expected a candidate after each baseline, as in A1 B1 A2 B2; {runs[-1]} has none"
        )
    located = [sources.locate(run).resolve() for run in runs]
    logs = [run for run in runs if compare_log.is_log(sources.locate(run))]
    if logs and (len(more) or logs != [baseline]):
        raise click.UsageError(f"{logs[-1]} is a log, not a run: compare it with one run, logreplay compare LOG RUN")
    try:
        check_named_once(map(sources.locate, runs), "a run does not differ from itself; name each run once")
    except LogreplayError as error:
        raise click.UsageError(str(error)) from None
    if tolerance is None:
        tolerance = comparison.usual_tolerance(*runs)
    if fail_above is not None:
        tolerance = min(tolerance, fail_above)
    found: Fidelity | Comparison
    if logs:
        if output:
            raise click.UsageError(f"-o and the log {baseline} as BASELINE exclude each other: it draws two runs")
        found = compare_log.against_log(baseline, candidate, tolerance=tolerance)
    else:
        found = comparison.compare(*runs, tolerance=tolerance)
    void = {str(run): void_findings(path) for run, path in zip(runs, located, strict=True) if run not in logs}
    checks = []
    if isinstance(found, comparison.Comparison) and found.at_once and not void[str(baseline)]:
        failed = void[str(candidate)].pop("target_failing", "")  # of a duet that is a result
        checks = [check_candidate(failed, failing=bool(failed))]
        if failed:
            say(failed)
    checks.append(valid := check_valid({run: list(why.values()) for run, why in void.items()}))
    if valid.text:
        say(f"invalid run, its response times do not describe the target: {valid.text}")
    click.echo(json.dumps(found.as_dict(), indent=2) if as_json else found.sentence)
    for note in found.notes if not as_json else ():
        say(note)
    if isinstance(found, comparison.Comparison):
        if not as_json:
            print_comparison(found, [str(run) for run in runs])
        if output is not None:
            _draw(found, output, force=force)
            say(str(output))
    elif not as_json:
        _print_likeness(found)
    failing_only = {code for why in void.values() for code in why} <= {"target_failing"}  # failures can be judged
    if fail_above is not None and failing_only:
        checks += gate(found, fail_above)
    else:
        checks.append(Check("times", text=found.sentence))
    if junit:
        write_junit(junit, "compare", checks)
    say_gates(checks)
    return of_checks(checks)


def _print_likeness(found: "Fidelity") -> None:
    from logreplay.analysis.wording import show
    from logreplay.cli.display.comparison import print_statuses
    from logreplay.cli.display.tables import OpenTable

    table = OpenTable("route", "requests", "p50 in the log", "p50", "relative to the others")
    for row in found.routes.iter_rows(named=True):
        relative = "–" if row["relative"] is None else f"{row['relative']:.2f}x"
        table.add(row["route"], f"{row['requests']:,}", show(row["p50_log"]), show(row["p50"]), relative)
    table.print()
    print_statuses(found)
    click.echo(f"rhythm: largest distance of the gaps between requests {found.gap_distance:.2f} (0: as in the log)")


def _draw(found: "Comparison", output: Path, *, force: bool) -> None:
    from logreplay.analysis.output.plots import hockey_stick, overlay
    from logreplay.core.files import atomic_path

    rows = len(overlay.shown(found))

    def draw(ax: "Axes") -> None:
        overlay.changes(ax, found).set_title(found.sentence, fontsize=10.5, loc="left")

    with atomic_path(output, force=force) as fresh:
        hockey_stick.save(hockey_stick.figure(draw, size=(9, 1.6 + 0.32 * rows)), fresh)
