"""``logreplay compare``: the differences between two runs, or between a log and its replay."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from logreplay.cli.display.terminal import say
from logreplay.cli.exit_codes import Exit
from logreplay.cli.options.types import ParsedType, percent, picture
from logreplay.cli.settings.configurable import Configurable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from logreplay.analysis.verdict.compare_log import Fidelity
    from logreplay.analysis.verdict.comparison import Comparison


@click.command(cls=Configurable, short_help="Say whether one run is slower than another.")
@click.argument("baseline", type=click.Path(path_type=Path))
@click.argument("candidate", type=click.Path(path_type=Path))
@click.option(
    "--tolerance",
    type=percent(most=10),
    default="2%",
    show_default=True,
    metavar="P%",
    help="Call smaller changes none.",
)
@click.option(
    "--fail-above", type=percent(most=10), metavar="P%", help="Exit with 4 if CANDIDATE is slower by more, such as 5%."
)
@click.option(
    "-o", "--output", type=ParsedType(picture), metavar="FILE", help="Draw the changes into a PNG or SVG file."
)
@click.option("--force", is_flag=True, help="Replace an existing FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def compare(
    baseline: Path,
    candidate: Path,
    tolerance: float,
    fail_above: float | None,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Say whether CANDIDATE is slower or faster than BASELINE, and the smallest change that could be detected.

    Both are result logs or folders that hold one. Runs of the same log are compared request by request, which detects
    changes of 3 %; other runs are compared by percentiles. If BASELINE is the log that CANDIDATE replayed, statuses,
    sizes and times by route are compared.

    \b
    Example: logreplay compare before.csv after.csv --fail-above 5%
    """
    import json

    from logreplay.analysis.input import sources
    from logreplay.analysis.verdict import compare_log, comparison
    from logreplay.parsers.files import check_absent, check_distinct

    if output is not None:
        check_distinct([("-o", output)], [("BASELINE", baseline), ("CANDIDATE", candidate)])
        if not force:
            check_absent(output)
    if compare_log.is_log(sources.locate(baseline)):
        _refuse_gates(baseline, fail_above=fail_above, output=output)
        likeness = compare_log.against_log(baseline, candidate)
        click.echo(json.dumps(likeness.as_dict(), indent=2) if as_json else likeness.sentence)
        if not as_json:
            _print_likeness(likeness)
        return Exit.OK
    found = comparison.compare(baseline, candidate, tolerance=tolerance)
    click.echo(json.dumps(found.as_dict(), indent=2) if as_json else found.sentence)
    if not as_json:
        _print_comparison(found)
    if output is not None:
        _draw(found, output, tolerance, force=force)
        say(str(output))
    failed = fail_above is not None and found.change is not None and found.change.verdict(tolerance) == "slower"
    return Exit.CONDITION if failed and found.change.ratio > 1 + fail_above else Exit.OK  # type: ignore[union-attr,operator]


def _refuse_gates(baseline: Path, *, fail_above: float | None, output: Path | None) -> None:
    """Refuse the options that have no meaning where BASELINE is a log: it says how the requests were spread.

    Raises:
        UsageError: names the option and the log.
    """
    tolerance = click.get_current_context().get_parameter_source("tolerance") is not ParameterSource.DEFAULT
    for option, given in (("--fail-above", fail_above is not None), ("--tolerance", tolerance), ("-o", bool(output))):
        if given:
            raise click.UsageError(
                f"{option} and the log {baseline} as BASELINE exclude each other: response times are compared between "
                "two result logs; give the result log of a run as BASELINE"
            )


def _print_comparison(found: "Comparison") -> None:
    from logreplay.cli.display.tables import OpenTable

    for note in found.notes:
        say(note)
    tables = [
        ("rate", found.by_step.rows(named=True)),
        ("route", found.by_route.rows(named=True)),
        (
            "percentile",
            [{"percentile": name, **vars(change), "verdict": ""} for name, change in found.quantiles.items()],
        ),
    ]
    for by, rows in tables:
        if not rows:
            continue
        table = OpenTable(by, "change", "95 % interval", "requests", "verdict")
        for row in rows:
            interval = f"{row['low'] - 1:+.1%} to {row['high'] - 1:+.1%}"
            name = f"{row[by]:g}/s" if isinstance(row[by], float) else row[by]
            table.add(name, f"{row['ratio'] - 1:+.1%}", interval, f"{row['count']:,}", row["verdict"])
        table.print()
    _print_statuses(found)


def _print_likeness(found: "Fidelity") -> None:
    from logreplay.analysis.wording import show
    from logreplay.cli.display.tables import OpenTable

    for note in found.notes:
        say(note)
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
